// C and R of MAGE by a walk from the leaf to the root: what `task/path` reads without one.
// mode: read
// params: space, task
// returns: p_b, p_t, summaries, recent
// why: kept to be measured against; H is not even read. A node that no summary of the path covers is in R.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
MATCH (b:TraceNode {key: t.p_b}) USING INDEX b:TraceNode(key)
CALL (b) {
  MATCH (b) ((x)-[:CHILD_OF]->(y:TraceNode))* (n)
  RETURN n
}
CALL (n) {
  MATCH (n)<-[:COVERS]-(s)
  RETURN [s IN collect(CASE WHEN s:OnPath THEN s END) | s][0] AS over
}
CALL (n, over) {
  WITH n WHERE over IS NULL
  MATCH (n)<-[:CHILD_OF]-(o)
  WITH CASE WHEN o:RawObservation THEN o {.id, .tool, .arguments, .content, .position} END AS o ORDER BY o.position
  RETURN collect(o) AS results
}
WITH t, n, over, results ORDER BY n.depth
WITH t, collect(DISTINCT over {.key, .rank, .boundary, .text, .verdict, .note}) AS summaries,
  collect(CASE WHEN over IS NULL THEN n {.key, .number, .depth, results: results} END) AS recent
RETURN t.p_b AS p_b, t.p_t AS p_t, summaries, recent
