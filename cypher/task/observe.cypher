// Takes the results of the pending calls: grows the tree by one node, or merges into its identical child, and keeps the raw results.
// mode: write
// params: space, task, op, step, calls_hash, p_b, attempt, author, node, hash, name, results, call_ids, irreversible, hints
// returns: verdict, version, number, hash, merged, stored, notes
// why: guarded by `pending_step` alone: the tools really ran, whatever moved the version meanwhile.
// why: a merge brings back the text of a result that was pruned: it has come again, and is the same by the hash of the node.
// why: the key is the hash of the parent's key and the content, so that an identical child is a plain MERGE (MAGE, Algorithm 1, lines 5-12).
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op
WITH t
OPTIONAL MATCH (k:Step {attempt: $p.attempt}) USING INDEX k:Step(attempt)
WITH t, k, t.next_step AS n, CASE WHEN k.abandoned_step IS NOT NULL THEN 'abandoned' WHEN k IS NOT NULL THEN 'replay'
    WHEN coalesce(t.pending_step, 0) <> $p.step THEN 'not pending' WHEN t.pending_hash <> $p.calls_hash OR t.p_b <> $p.p_b THEN 'other calls' ELSE 'ok' END AS verdict
CALL (t, verdict, n) {
  WITH t, n WHERE verdict = 'ok'
  MATCH (parent:TraceNode {key: t.p_b}) USING INDEX parent:TraceNode(key)
  MERGE (x:TraceNode {key: $p.node})
    ON CREATE SET x.space = t.space, x.task = t.key, x.name = toString(t.next_node) + ' ' + $p.name, x.number = t.next_node,
      x.depth = parent.depth + 1, x.from_step = n, x.hash = $p.hash, x.fresh = n
  MERGE (x)-[:CHILD_OF]->(parent)
  SET x:OnPath
  WITH t, n, x, coalesce(x.fresh = n, false) AS fresh
  SET t.p_b = x.key, t.next_node = t.next_node + CASE WHEN fresh THEN 1 ELSE 0 END, t.next_step = n + 1, t.version = t.version + 1,
    t.observed_step = n, t.pending_step = null, t.pending_hash = null
  CREATE (step:Step {key: t.key + '/step:' + toString(n), space: t.space, task: t.key, number: n, name: toString(n) + ' observe',
    kind: 'observe', author: $p.author, attempt: $p.attempt, request: t.open, of_step: $p.step, node: x.key, visited: x.number,
    merged: NOT fresh, call_ids: $p.call_ids, irreversible: $p.irreversible})
  SET step += t {.version, .p_b, .p_t, .boundary, .open, .pending_step, .observed_step, .last_step, .feedback_step, .request_depth, .next_node}
  WITH t, x, n, fresh
  CALL (t, x, n, fresh) {
    UNWIND CASE WHEN fresh THEN range(1, size($p.results)) ELSE [] END AS i
    WITH t, x, n, i, 'obs:' + toString(x.number) + '.' + toString(i) AS id, $p.results[i - 1] AS result
    CREATE (o:RawObservation {key: t.key + '/' + id, space: t.space, task: t.key, id: id, name: id + ' ' + result.tool, position: i,
      tool: result.tool, arguments: result.arguments, content: result.content, request: t.open, from_step: n})-[:CHILD_OF]->(x)
    RETURN count(o) AS made
  }
  CALL (t, x, n, fresh) {
    UNWIND CASE WHEN fresh THEN [] ELSE range(1, size($p.results)) END AS i
    MATCH (o:RawObservation {key: t.key + '/obs:' + toString(x.number) + '.' + toString(i)}) USING INDEX o:RawObservation(key)
    WITH o, i, n WHERE o.pruned_step IS NOT NULL
    SET o.content = $p.results[i - 1].content, o.restored_step = n, o.pruned_step = null, o.bytes = null, o.sha256 = null
  }
  CALL (x, fresh) {
    WITH x WHERE NOT fresh
    MATCH (x)<-[:COVERS]-(s)
    WITH s ORDER BY s.from_step DESC
    RETURN collect(CASE WHEN s.verdict = 'failed' AND NOT s:OnPath THEN s.note END)[0..$p.hints] AS notes
  }
  RETURN max(x.number) AS number, sum(made) AS stored, count(CASE WHEN NOT fresh THEN 1 END) > 0 AS merged, collect(notes)[0] AS notes
}
OPTIONAL MATCH (x:TraceNode {key: k.node}) USING INDEX x:TraceNode(key)
RETURN verdict, t.version AS version, coalesce(number, x.number) AS number, coalesce(x.hash, $p.hash) AS hash, coalesce(k.merged, merged) AS merged, stored, notes
