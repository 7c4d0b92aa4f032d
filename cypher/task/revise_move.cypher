// Third statement of a revise: the step, the cursor back at the restored summary, what was written after it abandoned.
// mode: write
// params: space, task, attempt, op, author, output, back, restored, rank, depth, p_b, boundary, low, reopened, about, tail, note, world, fold, usage, joined, path_tokens
// returns: number, version, abandoned, undisclosed, requests
// why: the step that opened the request which goes on is not abandoned: its number and its attempt stand.
// why: disclosures of an abandoned step leave the status with it: `scope` is what the status seeks, `left_scope` what `at` seeks.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
WITH t, t.next_step AS n
CALL (t, n) {
  UNWIND CASE WHEN $p.tail IS NULL THEN [] ELSE [$p.tail] END AS tail
  MATCH (above:SummaryNode {key: t.p_t}) USING INDEX above:SummaryNode(key)
  MATCH (low:TraceNode {key: t.boundary}) USING INDEX low:TraceNode(key)
  MERGE (s:SummaryNode {key: $p.about})
    ON CREATE SET s.space = t.space, s.task = t.key, s.rank = above.rank + 1, s.boundary = low.number, s.last = t.p_b, s.from_step = n
  MERGE (s)-[:CHILD_OF]->(above)
  SET s.name = tail.name, s.text = tail.text, s.written = n
  WITH t, s, low.depth AS depth
  MATCH (x:OnPath) USING INDEX x:OnPath(task, depth) WHERE x.task = t.key AND x.depth > depth
  MERGE (s)-[:COVERS]->(x)
}
CALL () {
  MATCH (s:SummaryNode {key: $p.about}) USING INDEX s:SummaryNode(key)
  SET s.verdict = 'failed', s.note = $p.note
}
CALL (t) {
  MATCH (top:SummaryNode {key: t.p_t}) USING INDEX top:SummaryNode(key)
  MATCH p = (top)-[:CHILD_OF*0..]->(s)
  WHERE all(m IN nodes(p) WHERE m.rank > $p.rank)
  REMOVE s:OnPath
}
CALL (t) {
  MATCH (x:OnPath) USING INDEX x:OnPath(task, depth) WHERE x.task = t.key AND x.depth > $p.depth
  REMOVE x:OnPath
}
CALL (t, n) {
  MATCH (x:Step) USING INDEX x:Step(task, number) WHERE x.task = t.key AND x.number > $p.back AND x.number < n
  WITH x WHERE x.abandoned_step IS NULL AND NOT (x.kind = 'open' AND x.request = $p.reopened)
  SET x.abandoned_step = n, x.left_scope = x.scope, x.scope = null
  RETURN count(x) AS abandoned, reduce(ids = [], d IN collect(x.disclosed) | ids + d) AS undisclosed
}
CALL (t, n) {
  UNWIND range($p.low, t.next_request - 1) AS number
  MATCH (r:Request {key: t.key + '/request:' + toString(number)}) USING INDEX r:Request(key)
  WITH r, n, r.opened_step > $p.back AND r.number <> $p.reopened AND r.abandoned_step IS NULL AS leaves,
    r.finished_step > $p.back AS cut
  SET r.abandoned_step = CASE WHEN leaves THEN n ELSE r.abandoned_step END,
    r.cut_step = CASE WHEN cut AND NOT leaves AND r.number <> $p.reopened THEN n ELSE r.cut_step END,
    r.finished_step = CASE WHEN cut AND NOT leaves THEN null ELSE r.finished_step END
  RETURN [x IN collect(CASE WHEN leaves THEN r.number END) | x] AS requests
}
SET t.p_t = $p.restored, t.p_b = $p.p_b, t.boundary = $p.boundary, t.feedback_step = n, t.next_step = n + 1, t.version = t.version + 1,
  t.open = $p.reopened, t.observed_step = null, t.last_step = n,
  t.request_depth = CASE WHEN t.request_depth < $p.depth THEN t.request_depth ELSE $p.depth END
CREATE (step:Step {key: t.key + '/step:' + toString(n), space: t.space, task: t.key, number: n, name: toString(n) + ' revise', kind: 'revise',
  author: $p.author, attempt: $p.attempt, op: $p.op, request: t.open, output: $p.output, top: $p.restored, about: $p.about, text: $p.tail.text, note: $p.note,
  boundary_step: $p.back, world: $p.world, fold: $p.fold, usage: $p.usage, joined: $p.joined, path_tokens: $p.path_tokens})
SET step += t {.version, .p_b, .p_t, .boundary, .open, .pending_step, .observed_step, .last_step, .feedback_step, .request_depth, .next_node}
RETURN n AS number, t.version AS version, abandoned, undisclosed, requests
