// The active path of a task, as a picture: finished subgoals (C) with what they cover, the newest nodes (R among them) and the raw results of R.
// mode: read
// params: space, task
// returns: node, relation, other, arrow
// why: at most 89 nodes, the newest of each kind: Neo4j Browser cannot be read beyond.
MATCH (t:Task {key: $p.space + '/' + $p.task})
CALL (t) {
  RETURN t AS n
  UNION
  MATCH (:SummaryNode {key: t.p_t})-[:CHILD_OF*0..23]->(n:SummaryNode)
  RETURN n
  UNION
  MATCH (n:OnPath) USING INDEX n:OnPath(task, depth) WHERE n.task = t.key AND n.depth IS NOT NULL
  RETURN n ORDER BY n.task DESC, n.depth DESC LIMIT 40
  UNION
  MATCH (b:TraceNode {key: t.boundary})
  MATCH (x:OnPath) USING INDEX x:OnPath(task, depth) WHERE x.task = t.key AND x.depth > b.depth
  WITH x ORDER BY x.task DESC, x.depth DESC LIMIT 12
  MATCH (x)<-[:CHILD_OF]-(n:RawObservation)
  RETURN n LIMIT 24
}
WITH collect(n) AS nodes
UNWIND nodes AS node
OPTIONAL MATCH (node)-[arrow]->(other) WHERE other IN nodes
RETURN node, type(arrow) AS relation, other, arrow
