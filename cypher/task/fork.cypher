// Makes a task that goes on from a step of another: its cursor, headings, finished subgoals (C), recent nodes (R) and the boundary node.
// mode: write
// params: space, task, name, at, op, attempt, author, root, chain, recent, disclosed, disclosed_steps, rejected, refused, behind, note
// returns: verdict, number, task, copied
// why: nothing large is copied: raw results hang below the copies as they hang below the originals, the nodes of C stay in the origin.
// why: keys of the copies are made of the new task's own roots, so that what is grown there merges and is reused as in any task.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
MATCH (c:Step {key: t.key + '/step:' + toString($p.at)}) USING INDEX c:Step(key)
MERGE (f:Task {key: $p.space + '/' + $p.name})
  ON CREATE SET f.space = t.space, f.name = $p.name, f.made = $p.op
SET f.lock = $p.op
WITH t, c, f
OPTIONAL MATCH (k:Step {attempt: $p.attempt}) USING INDEX k:Step(attempt)
WITH t, c, f, k, CASE WHEN k IS NOT NULL THEN 'replay' WHEN coalesce(f.made <> $p.op, true) THEN 'exists' ELSE 'ok' END AS verdict, c.number + 1 AS n
CALL (t, c, f, verdict, n) {
  WITH t, c, f, n WHERE verdict = 'ok'
  SET f += t {.psa, .isu, .compress, .maintain, .revise, .isolate_states}
  SET f.made = null, f.version = c.version + 1, f.next_step = n + 1, f.first_step = n, f.next_node = c.next_node, f.next_request = c.request + 1,
    f.open = c.open, f.request_depth = c.request_depth, f.origins = coalesce(t.origins, []) + t.key,
    f.origin_nodes = coalesce(t.origin_nodes, []) + c.next_node, f.last_step = n, f.feedback_step = CASE WHEN $p.note IS NOT NULL THEN n END,
    f.observed_step = CASE WHEN c.observed_step IS NOT NULL THEN n END
  WITH t, c, f, n
  CALL (t, c, f) {
    MATCH (b:TraceNode {key: c.boundary}) USING INDEX b:TraceNode(key)
    CREATE (r:TraceNode:OnPath {key: $p.root, space: f.space, task: f.key, name: b.name, number: b.number, depth: b.depth, from_step: c.number + 1,
      hash: b.hash, copied_step: b.from_step})
    CREATE (r)-[:CHILD_OF]->(f)
    CREATE (r)-[:DERIVES]->(b)
    WITH r, b
    MATCH (b)<-[:CHILD_OF]-(o)
    WITH r, CASE WHEN o:RawObservation THEN o END AS o
    FOREACH (x IN CASE WHEN o IS NULL THEN [] ELSE [o] END | CREATE (x)-[:CHILD_OF]->(r))
  }
  CALL (c, f) {
    UNWIND $p.recent AS row
    MATCH (b:TraceNode {key: row.origin}) USING INDEX b:TraceNode(key)
    CREATE (x:TraceNode:OnPath {key: row.key, space: f.space, task: f.key, name: b.name, number: b.number, depth: b.depth, from_step: c.number + 1,
      hash: b.hash, copied_step: b.from_step})
    CREATE (x)-[:DERIVES]->(b)
    WITH row, x, b
    MATCH (b)<-[:CHILD_OF]-(o)
    WITH x, CASE WHEN o:RawObservation THEN o END AS o
    FOREACH (y IN CASE WHEN o IS NULL THEN [] ELSE [o] END | CREATE (y)-[:CHILD_OF]->(x))
  }
  CALL () {
    UNWIND $p.recent AS row
    MATCH (x:TraceNode {key: row.key}) USING INDEX x:TraceNode(key)
    MATCH (above:TraceNode {key: row.parent}) USING INDEX above:TraceNode(key)
    CREATE (x)-[:CHILD_OF]->(above)
  }
  CALL (c, f) {
    UNWIND $p.chain AS row
    MATCH (b:SummaryNode {key: row.origin}) USING INDEX b:SummaryNode(key)
    CREATE (s:SummaryNode:OnPath {key: row.key, space: f.space, task: f.key, name: b.name, text: row.text, verdict: row.verdict, note: row.note,
      rank: b.rank, boundary: b.boundary, last: row.last, from_step: c.number + 1, copied_step: b.from_step})
    CREATE (s)-[:DERIVES]->(b)
  }
  CALL () {
    UNWIND $p.chain AS row
    WITH row WHERE row.parent IS NOT NULL
    MATCH (s:SummaryNode {key: row.key}) USING INDEX s:SummaryNode(key)
    MATCH (above:SummaryNode {key: row.parent}) USING INDEX above:SummaryNode(key)
    CREATE (s)-[:CHILD_OF]->(above)
  }
  CALL () {
    MATCH (s:SummaryNode {key: $p.chain[-1].key}) USING INDEX s:SummaryNode(key)
    MATCH (r:TraceNode {key: $p.root}) USING INDEX r:TraceNode(key)
    CREATE (s)-[:COVERS]->(r)
  }
  SET f.p_t = $p.chain[-1].key, f.boundary = $p.root, f.p_b = CASE WHEN size($p.recent) > 0 THEN $p.recent[-1].key ELSE $p.root END
  CREATE (step:Step {key: f.key + '/step:' + toString(n), space: f.space, task: f.key, number: n, name: toString(n) + ' fork', kind: 'fork',
    author: $p.author, attempt: $p.attempt, request: c.request, top: f.p_t, note: $p.note, rejected: $p.rejected, refused: $p.refused,
    disclosed: $p.disclosed, disclosed_steps: $p.disclosed_steps, scope: CASE WHEN $p.disclosed IS NOT NULL THEN f.key + '#' + toString(c.open) END, of_step: c.number, result: $p.behind,
    node: CASE WHEN c.observed_step IS NOT NULL THEN f.p_b END})
  SET step += f {.version, .p_b, .p_t, .boundary, .open, .pending_step, .observed_step, .last_step, .feedback_step, .request_depth, .next_node}
  WITH t, c, f
  UNWIND range(1, c.request) AS number
  MATCH (r:Request {key: t.key + '/request:' + toString(number)}) USING INDEX r:Request(key)
  WITH c, f, r WHERE r.opened_step <= c.number
  CREATE (h:Request {key: f.key + '/request:' + toString(r.number), space: f.space, task: f.key, number: r.number, name: r.name, text: r.text,
    opened_step: r.opened_step, copied_step: r.opened_step, abandoned_step: CASE WHEN r.abandoned_step <= c.number THEN r.abandoned_step END})-[:CHILD_OF]->(f)
  RETURN count(h) AS headings
}
RETURN verdict, coalesce(k.number, n) AS number, CASE WHEN verdict = 'replay' THEN k.task ELSE f.key END AS task, headings AS copied
