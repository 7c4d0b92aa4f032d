// What a state in view rests on, as a picture: states and raw results that it refers to, the nodes these hang on, the summaries over them; without an id, of the newest state that has reasons.
// mode: read
// params: space, task, id
// returns: node, relation, other, arrow
// why: a ref is drawn from the version in which it was given to the first version of what it names; `graphmem why` follows the present ones. At most 86 nodes.
MATCH (t:Task {key: $p.space + '/' + $p.task})
CALL (t) {
  MATCH (s:Live) USING INDEX s:Live(task, request, born, position)
  WHERE s.task = t.key AND s.request IS NOT NULL AND s.born IS NOT NULL AND s.position IS NOT NULL AND s.id = coalesce($p.id, s.id)
  WITH s, EXISTS { (s)-[:DERIVES|SUPPORTS|FOLLOWS]->() } AS fits
  RETURN s ORDER BY fits DESC, s.from_step DESC, s.position DESC LIMIT 1
}
CALL (s) {
  MATCH (s)-[:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES*1..6]->(m)
  WITH DISTINCT m LIMIT 48
  RETURN collect(m) AS grounds
}
CALL (t, s, grounds) {
  MATCH (s)-[:CHILD_OF]->(n:Request)
  RETURN n
  UNION
  UNWIND [s] + grounds AS n
  RETURN n
  UNION
  UNWIND grounds AS o
  MATCH (o:RawObservation)-[:CHILD_OF]->(n:TraceNode)
  WHERE n.task = t.key
  RETURN DISTINCT n LIMIT 24
  UNION
  UNWIND grounds AS o
  MATCH (o:RawObservation)-[:CHILD_OF]->(x:TraceNode)<-[:COVERS]-(n:SummaryNode)
  WHERE n.task = t.key
  RETURN DISTINCT n LIMIT 12
}
WITH collect(n) AS nodes
UNWIND nodes AS node
OPTIONAL MATCH (node)-[arrow]->(other) WHERE other IN nodes
RETURN node, type(arrow) AS relation, other, arrow
