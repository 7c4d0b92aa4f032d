// Compress (MAGE, Algorithm 1): covers the trace from the boundary to p_b by a summary, a new one or the one with the same cover.
// mode: write
// params: space, task, op, attempt, author, p_b, p_t, key, text, name, unseen
// returns: verdict, version, number, key, covered
// why: the key of the summary is made of p_t and p_b, so the cursor must still stand where it was read: `moved` is read again.
// why: a fallback (`unseen`) never hides an observation that the model has not been shown yet.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op
WITH t
OPTIONAL MATCH (k:Step {attempt: $p.attempt}) USING INDEX k:Step(attempt)
WITH t, k, t.next_step AS n, CASE WHEN k.abandoned_step IS NOT NULL THEN 'abandoned' WHEN k IS NOT NULL THEN 'replay'
    WHEN NOT coalesce(t.compress, true) THEN 'off' WHEN t.p_b = t.boundary THEN 'empty' WHEN t.p_b <> $p.p_b OR t.p_t <> $p.p_t THEN 'moved'
    WHEN $p.unseen AND t.observed_step IS NOT NULL THEN 'unseen' ELSE 'ok' END AS verdict
CALL (t, verdict, n) {
  WITH t, n WHERE verdict = 'ok'
  MATCH (above:SummaryNode {key: t.p_t}) USING INDEX above:SummaryNode(key)
  MATCH (low:TraceNode {key: t.boundary}) USING INDEX low:TraceNode(key)
  MATCH (last:TraceNode {key: t.p_b}) USING INDEX last:TraceNode(key)
  MERGE (s:SummaryNode {key: $p.key})
    ON CREATE SET s.space = t.space, s.task = t.key, s.rank = above.rank + 1, s.boundary = low.number, s.last = last.key, s.from_step = n
  MERGE (s)-[:CHILD_OF]->(above)
  SET s:OnPath, s.name = $p.name, s.text = $p.text, s.verdict = 'unchecked', s.note = null, s.written = n
  SET t.p_t = s.key, t.boundary = last.key, t.feedback_step = null, t.next_step = n + 1, t.version = t.version + 1
  CREATE (step:Step {key: t.key + '/step:' + toString(n), space: t.space, task: t.key, number: n, name: toString(n) + ' compress',
    kind: 'compress', author: $p.author, attempt: $p.attempt, request: t.next_request - 1, text: $p.text, top: s.key, about: s.key})
  SET step += t {.version, .p_b, .p_t, .boundary, .open, .pending_step, .observed_step, .last_step, .feedback_step, .request_depth, .next_node}
  WITH t, s, low.depth AS depth
  MATCH (x:OnPath) USING INDEX x:OnPath(task, depth) WHERE x.task = t.key AND x.depth > depth
  MERGE (s)-[:COVERS]->(x)
  RETURN count(x) AS covered
}
RETURN verdict, t.version AS version, coalesce(k.number, n) AS number, coalesce(k.about, $p.key) AS key, covered
