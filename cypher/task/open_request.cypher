// Opens the next request of a task, and makes the task with both roots of its tree when it is new.
// mode: write
// params: space, task, op, attempt, text, name, author, options, root, root_summary
// returns: verdict, number, text, step, version, psa, isu, open, options
// why: MERGE locks the Task under its constraint, so two writers cannot both find it without an open request.
// why: both roots are on the path from the start: Compress always finds a boundary.
MERGE (t:Task {key: $p.space + '/' + $p.task})
  ON CREATE SET t.space = $p.space, t.name = $p.task, t.version = 0, t.next_step = 1, t.next_node = 1, t.next_request = 1,
    t.psa = coalesce($p.options.psa, true), t.isu = coalesce($p.options.isu, true), t.compress = coalesce($p.options.compress, true),
    t.maintain = coalesce($p.options.maintain, true), t.revise = coalesce($p.options.revise, true),
    t.isolate_states = coalesce($p.options.isolate_states, true)
SET t.lock = $p.op
WITH t
OPTIONAL MATCH (k:Step {attempt: $p.attempt}) USING INDEX k:Step(attempt)
WITH t, k, t.next_step AS n, t.next_request AS number,
  CASE WHEN t.held IS NOT NULL THEN 'held' WHEN k.abandoned_step IS NOT NULL THEN 'abandoned' WHEN k IS NOT NULL THEN 'replay'
    WHEN any(name IN keys($p.options) WHERE coalesce(t[name], true) <> coalesce($p.options[name], t[name], true)) THEN 'options'
    WHEN t.open IS NOT NULL THEN 'open' ELSE 'ok' END AS verdict
CALL (t, verdict, n) {
  WITH t WHERE verdict = 'ok' AND n = 1
  CREATE (r:TraceNode:OnPath {key: $p.root, space: t.space, task: t.key, name: '0 root', number: 0, depth: 0, from_step: 1})
  CREATE (s:SummaryNode:OnPath {key: $p.root_summary, space: t.space, task: t.key, name: 'root', text: '', boundary: 0,
    last: r.key, rank: 0, verdict: 'passed', from_step: 1})
  CREATE (r)-[:CHILD_OF]->(t)
  CREATE (s)-[:COVERS]->(r)
  SET t.p_b = r.key, t.p_t = s.key, t.boundary = r.key
}
CALL (t, verdict, n, number) {
  WITH t WHERE verdict = 'ok'
  MATCH (b:TraceNode {key: t.p_b}) USING INDEX b:TraceNode(key)
  CREATE (:Request {key: t.key + '/request:' + toString(number), space: t.space, task: t.key, number: number,
    name: toString(number) + ' ' + $p.name, text: $p.text, opened_step: n})-[:CHILD_OF]->(t)
  SET t.open = number, t.next_request = number + 1, t.next_step = n + 1, t.version = t.version + 1, t.request_depth = b.depth,
    t.pending_step = null, t.observed_step = null, t.last_step = null
  CREATE (step:Step {key: t.key + '/step:' + toString(n), space: t.space, task: t.key, number: n, name: toString(n) + ' open',
    kind: 'open', author: $p.author, attempt: $p.attempt, request: number, message: $p.text, top: CASE WHEN n = 1 THEN t.p_t END})
  SET step += t {.version, .p_b, .p_t, .boundary, .open, .pending_step, .observed_step, .last_step, .feedback_step, .request_depth, .next_node}
}
WITH t, k, verdict, CASE verdict WHEN 'ok' THEN number WHEN 'replay' THEN k.request ELSE t.open END AS number,
  CASE verdict WHEN 'ok' THEN n ELSE k.number END AS step
OPTIONAL MATCH (r:Request {key: t.key + '/request:' + toString(number)}) USING INDEX r:Request(key)
RETURN verdict, number, r.text AS text, step, t.version AS version, t.psa AS psa, t.isu AS isu, t.open AS open,
  t {.psa, .isu, .compress, .maintain, .revise, .isolate_states, .held} AS options
