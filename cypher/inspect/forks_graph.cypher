// Two tasks side by side, as a picture: a task and a fork of it (or its origin), each with its newest states in view and its path, and what the one took over from the other.
// mode: read
// params: space, task, other
// returns: node, relation, other, arrow
// why: a copy in a fork derives from its original, so that these arrows join the two pictures. At most 78 nodes.
MATCH (t:Task {key: $p.space + '/' + $p.task})
CALL (t) {
  WITH t, coalesce($p.other, '') AS named
  OPTIONAL MATCH (o:Task) USING INDEX o:Task(space, name)
  WHERE o.space = t.space AND o.name IS NOT NULL
    AND CASE WHEN named = '' THEN t.key IN o.origins OR o.key IN t.origins ELSE o.name = named END
  WITH o ORDER BY o.next_step DESC LIMIT 1
  RETURN o
}
CALL (t, o) {
  UNWIND [t, o] AS n
  WITH n WHERE n IS NOT NULL
  RETURN n
  UNION
  UNWIND [t, o] AS x
  CALL (x) {
    MATCH (n:Live) USING INDEX n:Live(task, request, born, position)
    WHERE n.task = x.key AND n.request IS NOT NULL AND n.born IS NOT NULL AND n.position IS NOT NULL
    RETURN n ORDER BY n.task DESC, n.request DESC, n.born DESC, n.position DESC LIMIT 16
  }
  RETURN n
  UNION
  UNWIND [t, o] AS x
  CALL (x) {
    MATCH (n:OnPath) USING INDEX n:OnPath(task, depth) WHERE n.task = x.key AND n.depth IS NOT NULL
    RETURN n ORDER BY n.task DESC, n.depth DESC LIMIT 16
  }
  RETURN n
  UNION
  UNWIND [t, o] AS x
  MATCH (:SummaryNode {key: x.p_t})-[:CHILD_OF*0..4]->(n:SummaryNode)
  RETURN n
  UNION
  UNWIND [t, o] AS x
  MATCH (n:Request {key: x.key + '/request:' + toString(x.next_request - 1)})
  RETURN n
}
WITH collect(n) AS nodes
UNWIND nodes AS node
OPTIONAL MATCH (node)-[arrow]->(other) WHERE other IN nodes
RETURN node, type(arrow) AS relation, other, arrow
