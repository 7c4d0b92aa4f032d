// Records a verdict about the text of a summary (MAGE, Algorithm 1, lines 40-45), or about the trace where Compress is off.
// mode: write
// params: space, task, op, attempt, author, key, of_step, verdict, note
// returns: verdict, number, about, told, note, stands, on_path
// why: a verdict raises no version. It changes what the summary is said to be only while the text that was judged is the one it has.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op
WITH t
OPTIONAL MATCH (k:Step {attempt: $p.attempt}) USING INDEX k:Step(attempt)
OPTIONAL MATCH (s:SummaryNode {key: CASE WHEN k IS NULL THEN $p.key ELSE k.about END}) USING INDEX s:SummaryNode(key)
WITH t, k, s, t.next_step AS n, CASE WHEN k.abandoned_step IS NOT NULL THEN 'abandoned' WHEN k IS NOT NULL THEN 'replay'
    WHEN NOT coalesce(t.maintain, true) THEN 'off' WHEN $p.key IS NOT NULL AND coalesce(s.task <> t.key, true) THEN 'missing' ELSE 'ok' END AS verdict
CALL (t, s, verdict, n) {
  WITH t, s, n WHERE verdict = 'ok'
  SET t.next_step = n + 1
  CREATE (step:Step {key: t.key + '/step:' + toString(n), space: t.space, task: t.key, number: n, name: toString(n) + ' maintain',
    kind: 'maintain', author: $p.author, attempt: $p.attempt, request: t.next_request - 1, about: s.key, of_step: $p.of_step, verdict: $p.verdict, note: $p.note})
  SET step += t {.version, .p_b, .p_t, .boundary, .open, .pending_step, .observed_step, .last_step, .feedback_step, .request_depth, .next_node}
  WITH s WHERE s.written = $p.of_step
  SET s.verdict = $p.verdict, s.note = $p.note
}
RETURN verdict, coalesce(k.number, n) AS number, s.key AS about, coalesce(k.verdict, $p.verdict) AS told, CASE WHEN k IS NULL THEN $p.note ELSE k.note END AS note,
  coalesce(s.written = coalesce(k.of_step, $p.of_step), s IS NULL) AS stands, coalesce(s:OnPath, true) AS on_path
