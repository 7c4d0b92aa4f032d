// The active path of a task: its finished subgoals (C) from the root, then the uncompressed trace nodes (R).
// mode: read
// params: space, task, limit
// returns: part, place, number, name, text, verdict, from_step, key
// why: C is walked up from `p_t` (one hop a summary), R is the range of the path below the boundary: nothing is walked from the root.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  MATCH (b:TraceNode {key: t.boundary}) USING INDEX b:TraceNode(key)
  RETURN b.depth AS depth
}
CALL (t, depth) {
  MATCH (top:SummaryNode {key: t.p_t}) USING INDEX top:SummaryNode(key)
  MATCH (top)-[:CHILD_OF*0..]->(s:SummaryNode)
  RETURN 'C' AS part, s.rank AS place, s.boundary AS number, s.name AS name, left(toStringOrNull(s.text), 400) AS text, s.verdict AS verdict,
    s.from_step AS from_step, s.key AS key
  UNION ALL
  WITH t, depth
  MATCH (n:OnPath) USING INDEX n:OnPath(task, depth)
  WHERE n.task = t.key AND n.depth > depth
  RETURN 'R' AS part, n.depth AS place, n.number AS number, n.name AS name, null AS text, null AS verdict, n.from_step AS from_step,
    n.key AS key
}
RETURN part, place, number, name, text, verdict, from_step, key
ORDER BY part, place LIMIT coalesce($p.limit, 1000)
