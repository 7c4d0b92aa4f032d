// Grows a chain of nodes at once: for each row what `step` with its calls and `observe` with their results would write, one after another.
// mode: write
// params: space, task, op, request, version, step, p_b, author, results_author, fold, rows, hints
// returns: verdict, low, merged, stored, linked
// why: keys follow from the parent's key and the content, so they are all known before; rows that merge come first, since a new node has no children.
// why: the guard has `next_step` beside the version: a verdict raises no version, and the numbers of the steps are told by the caller.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op
WITH t, t.next_node AS low, CASE WHEN coalesce(t.open, 0) <> $p.request THEN 'closed' WHEN t.pending_step IS NOT NULL THEN 'pending'
    WHEN t.version <> $p.version OR t.next_step <> $p.step OR t.p_b <> $p.p_b THEN 'moved' ELSE 'ok' END AS verdict
WITH t, low, verdict, CASE WHEN verdict = 'ok' THEN $p.rows ELSE [] END AS rows
CALL (rows) {
  UNWIND rows AS row
  MATCH (x:TraceNode {key: row.node}) USING INDEX x:TraceNode(key)
  RETURN count(x) AS known
}
CALL (t) {
  MATCH (b:TraceNode {key: t.p_b}) USING INDEX b:TraceNode(key)
  RETURN b.depth AS depth
}
CALL (t, rows, low, known, depth) {
  UNWIND rows AS row
  WITH t, row, depth, $p.step + 2 * row.i AS n, row.i >= known AS fresh, low + CASE WHEN row.i > known THEN row.i - known ELSE 0 END AS next
  MERGE (x:TraceNode {key: row.node})
    ON CREATE SET x.space = t.space, x.task = t.key, x.name = toString(next) + ' ' + row.name, x.number = next,
      x.depth = depth + row.i + 1, x.from_step = n + 1, x.hash = row.hash, x.fresh = n + 1
  SET x:OnPath
  CREATE (:Step {key: t.key + '/step:' + toString(n), space: t.space, task: t.key, number: n, name: toString(n) + ' step', kind: 'step',
    author: $p.author, attempt: row.attempt, op: $p.op, request: $p.request, output: row.output, repairs: row.repairs, calls: row.calls, fold: $p.fold,
    version: $p.version + 2 * row.i + 1, p_b: row.parent, p_t: t.p_t, boundary: t.boundary, open: t.open, pending_step: n, last_step: n,
    feedback_step: t.feedback_step, request_depth: t.request_depth, next_node: next})
  CREATE (:Step {key: t.key + '/step:' + toString(n + 1), space: t.space, task: t.key, number: n + 1, name: toString(n + 1) + ' observe', kind: 'observe',
    author: $p.results_author, attempt: row.observe_attempt, request: t.open, of_step: n, node: x.key, visited: x.number, merged: NOT fresh,
    call_ids: row.call_ids, irreversible: row.irreversible, version: $p.version + 2 * row.i + 2, p_b: x.key, p_t: t.p_t, boundary: t.boundary,
    open: t.open, observed_step: n + 1, last_step: n, feedback_step: t.feedback_step, request_depth: t.request_depth,
    next_node: next + CASE WHEN fresh THEN 1 ELSE 0 END})
  WITH t, row, x, n, fresh
  CALL (t, row, x, n, fresh) {
    UNWIND CASE WHEN fresh THEN range(1, size(row.results)) ELSE [] END AS i
    WITH t, x, n, i, 'obs:' + toString(x.number) + '.' + toString(i) AS id, row.results[i - 1] AS result
    CREATE (o:RawObservation {key: t.key + '/' + id, space: t.space, task: t.key, id: id, name: id + ' ' + result.tool, position: i,
      tool: result.tool, arguments: result.arguments, content: result.content, request: t.open, from_step: n + 1})-[:CHILD_OF]->(x)
    RETURN count(o) AS made
  }
  CALL (t, row, x, n, fresh) {
    UNWIND CASE WHEN fresh THEN [] ELSE range(1, size(row.results)) END AS i
    MATCH (o:RawObservation {key: t.key + '/obs:' + toString(x.number) + '.' + toString(i)}) USING INDEX o:RawObservation(key)
    WITH row, o, i, n WHERE o.pruned_step IS NOT NULL
    SET o.content = row.results[i - 1].content, o.restored_step = n + 1, o.pruned_step = null, o.bytes = null, o.sha256 = null
  }
  RETURN sum(made) AS stored
}
CALL (rows) {
  UNWIND rows AS row
  MATCH (x:TraceNode {key: row.node}) USING INDEX x:TraceNode(key)
  MATCH (above:TraceNode {key: row.parent}) USING INDEX above:TraceNode(key)
  MERGE (x)-[:CHILD_OF]->(above)
  RETURN count(x) AS linked
}
CALL (rows, known) {
  UNWIND rows AS row
  WITH row WHERE row.i < known
  MATCH (x:TraceNode {key: row.node}) USING INDEX x:TraceNode(key)
  CALL (x) {
    MATCH (x)<-[:COVERS]-(s)
    WITH s ORDER BY s.from_step DESC
    RETURN collect(CASE WHEN s.verdict = 'failed' AND NOT s:OnPath THEN s.note END)[0..$p.hints] AS notes
  }
  WITH row, x, notes ORDER BY row.i
  RETURN collect({number: x.number, notes: notes}) AS merged
}
CALL (t, rows, low, known) {
  WITH t, low, known, rows WHERE size(rows) > 0
  SET t.p_b = rows[-1].node, t.next_node = low + size(rows) - known, t.next_step = $p.step + 2 * size(rows), t.version = $p.version + 2 * size(rows),
    t.observed_step = $p.step + 2 * size(rows) - 1, t.last_step = $p.step + 2 * size(rows) - 2, t.pending_step = null, t.pending_hash = null
}
RETURN verdict, low, merged, stored, linked
