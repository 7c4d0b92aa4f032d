// The active path of a task: its finished subgoals (C) from the root, the uncompressed trace nodes (R), and what was tried from here (H) with the notes.
// mode: read
// params: space, task, limit
// returns: part, place, number, name, text, verdict, note, from_step, key
// why: C is walked up from `p_t` (one hop a summary), R is the range of the path below the boundary: nothing is walked from the root.
// why: H is what hangs below `p_t` (subgoals) and below `p_b` (actions; their note is that of a failed subgoal over them), off the path.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  MATCH (b:TraceNode {key: t.boundary}) USING INDEX b:TraceNode(key)
  RETURN b.depth AS depth
}
CALL (t, depth) {
  MATCH (top:SummaryNode {key: t.p_t}) USING INDEX top:SummaryNode(key)
  MATCH (top)-[:CHILD_OF*0..]->(s:SummaryNode)
  RETURN 'C' AS part, s.rank AS place, s.boundary AS number, s.name AS name, left(toStringOrNull(s.text), 400) AS text, s.verdict AS verdict,
    left(toStringOrNull(s.note), 400) AS note, s.from_step AS from_step, s.key AS key
  UNION ALL
  WITH t, depth
  MATCH (n:OnPath) USING INDEX n:OnPath(task, depth)
  WHERE n.task = t.key AND n.depth > depth
  RETURN 'R' AS part, n.depth AS place, n.number AS number, n.name AS name, null AS text, null AS verdict, null AS note, n.from_step AS from_step,
    n.key AS key
  UNION ALL
  WITH t
  MATCH (top:SummaryNode {key: t.p_t}) USING INDEX top:SummaryNode(key)
  MATCH (top)<-[:CHILD_OF]-(s)
  RETURN 'H' AS part, s.from_step AS place, s.boundary AS number, s.name AS name, left(toStringOrNull(s.text), 400) AS text, s.verdict AS verdict,
    left(toStringOrNull(s.note), 400) AS note, s.from_step AS from_step, s.key AS key
  UNION ALL
  WITH t
  MATCH (b:TraceNode {key: t.p_b}) USING INDEX b:TraceNode(key)
  CALL (b) {
    MATCH (b)<-[:CHILD_OF]-(k)
    WITH CASE WHEN k:TraceNode THEN k END AS k
    RETURN collect(k) AS kids
  }
  UNWIND kids AS k
  CALL (k) {
    MATCH (k)<-[:COVERS]-(s)
    WITH s ORDER BY s.from_step DESC
    RETURN collect(CASE WHEN s.verdict = 'failed' THEN s.note END)[0] AS note
  }
  RETURN 'H' AS part, k.from_step AS place, k.number AS number, k.name AS name, null AS text, CASE WHEN note IS NOT NULL THEN 'failed' END AS verdict,
    left(toStringOrNull(note), 400) AS note, k.from_step AS from_step, k.key AS key
}
RETURN part, place, number, name, text, verdict, note, from_step, key
ORDER BY CASE part WHEN 'C' THEN 1 WHEN 'R' THEN 2 ELSE 3 END, place, number LIMIT coalesce($p.limit, 1000)
