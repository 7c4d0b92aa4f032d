// What was tried beside the path and failed, as a picture: the newest such summaries with the nodes they cover, and the summaries and nodes of the path from which they leave.
// mode: read
// params: space, task
// returns: node, relation, other, arrow
// why: a failed branch hangs below a summary of the path; nothing is walked from the root. At most 87 nodes.
MATCH (t:Task {key: $p.space + '/' + $p.task})
CALL (t) {
  MATCH (:SummaryNode {key: t.p_t})-[:CHILD_OF*0..]->(s:SummaryNode)
  RETURN collect(s) AS chain
}
CALL (t, chain) {
  UNWIND chain AS above
  MATCH (above)<-[:CHILD_OF]-(s:SummaryNode)
  WHERE s.verdict = 'failed' AND NOT s:OnPath
  WITH above, s ORDER BY s.from_step DESC LIMIT 14
  RETURN collect(s) AS failed, collect(DISTINCT above) AS from
}
CALL (t, chain, failed, from) {
  RETURN t AS n
  UNION
  UNWIND chain[0..8] + failed + from AS n
  RETURN DISTINCT n
  UNION
  UNWIND failed AS s
  MATCH (s)-[:COVERS]->(n)
  RETURN DISTINCT n LIMIT 36
  UNION
  UNWIND from AS s
  MATCH (n:TraceNode {key: s.last})
  RETURN n
}
WITH collect(n) AS nodes
UNWIND nodes AS node
OPTIONAL MATCH (node)-[arrow]->(other) WHERE other IN nodes
RETURN node, type(arrow) AS relation, other, arrow
