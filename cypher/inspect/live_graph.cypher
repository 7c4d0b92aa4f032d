// What counts now in a task, as a picture: its newest requests, the states in view, the active path; each with its arrows to the others.
// mode: read
// params: space, task
// returns: node, relation, other, arrow
// why: 90 nodes at most, because Neo4j Browser cannot be read beyond; the newest of each kind, by seeks, so that a long task costs no more.
MATCH (t:Task {key: $p.space + '/' + $p.task})
CALL (t) {
  RETURN t AS n
  UNION
  WITH t UNWIND range(coalesce(toIntegerOrNull(t.next_request), 1) - 8, coalesce(toIntegerOrNull(t.next_request), 1) - 1) AS number
  MATCH (n:Request {key: t.key + '/request:' + toString(number)})
  RETURN n
  UNION
  MATCH (n:Live) USING INDEX n:Live(task, request, born, position)
  WHERE n.task = t.key AND n.request IS NOT NULL AND n.born IS NOT NULL AND n.position IS NOT NULL
  RETURN n ORDER BY n.task DESC, n.request DESC, n.born DESC, n.position DESC LIMIT 40
  UNION
  MATCH (n:OnPath) USING INDEX n:OnPath(task, depth) WHERE n.task = t.key AND n.depth IS NOT NULL
  RETURN n ORDER BY n.task DESC, n.depth DESC LIMIT 32
  UNION
  MATCH (:SummaryNode {key: t.p_t})-[:CHILD_OF*0..8]->(n:SummaryNode)
  RETURN n
}
WITH collect(n) AS nodes
UNWIND nodes AS node
OPTIONAL MATCH (node)-[arrow]->(other) WHERE other IN nodes
RETURN node, type(arrow) AS relation, other, arrow
