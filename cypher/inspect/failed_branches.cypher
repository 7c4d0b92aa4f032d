// What was tried beside the path and failed: the summaries off it, with the note that says why, newest first.
// mode: read
// params: space, task, limit
// returns: boundary, key, text, note, from_step, written, left_in, nodes, calls
// why: C is walked up from `p_t`, and a failed branch hangs below a summary of it: nothing is walked from the root. What failed inside of a branch is found in `tree`.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  MATCH (top:SummaryNode {key: t.p_t}) USING INDEX top:SummaryNode(key)
  MATCH (top)-[:CHILD_OF*0..]->(above)
  RETURN above
}
CALL (above) {
  MATCH (above)<-[:CHILD_OF]-(s)
  RETURN collect(CASE WHEN s.verdict = 'failed' AND NOT s:OnPath THEN s END) AS failed
}
UNWIND failed AS s
WITH t, s ORDER BY coalesce(s.written, s.from_step) DESC LIMIT coalesce($p.limit, 100)
CALL (s) {
  MATCH (s)-[:COVERS]->(n)
  WITH n ORDER BY n.depth
  RETURN collect(n.number) AS nodes, collect(n.name) AS calls
}
CALL (s) {
  MATCH (a:Step) USING INDEX a:Step(about, number) WHERE a.about = s.key AND a.number > 0
  WITH a ORDER BY a.about DESC, a.number DESC
  RETURN collect(CASE WHEN a.kind = 'revise' THEN a.number END)[0] AS left_in
}
RETURN s.boundary AS boundary, s.key AS key, left(s.text, 400) AS text, left(s.note, 400) AS note, s.from_step AS from_step, s.written AS written, left_in,
  nodes, calls
ORDER BY written DESC
