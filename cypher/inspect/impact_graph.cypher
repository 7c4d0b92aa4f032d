// What rests on a state, as a picture: the states that refer to it, and what refers to them; without an id, of the state in view to which most others refer.
// mode: read
// params: space, task, id
// returns: node, relation, other, arrow
// why: arrows lead to first versions, so that the walk begins at the first one; `graphmem impact` follows the present ones, and raw results and steps too. At most 82 nodes.
MATCH (t:Task {key: $p.space + '/' + $p.task})
CALL (t) {
  MATCH (s:Live) USING INDEX s:Live(task, request, born, position)
  WHERE s.task = t.key AND s.request IS NOT NULL AND s.born IS NOT NULL AND s.position IS NOT NULL AND s.id = coalesce($p.id, s.id)
  WITH s, COUNT { MATCH (f:State {key: s.lineage})<-[:DERIVES|FOLLOWS]-(g) WHERE g.id <> s.id } AS fits
  RETURN s ORDER BY fits DESC, s.from_step DESC, s.position DESC LIMIT 1
}
MATCH (f:State {key: s.lineage})
CALL (t, f) {
  MATCH (f)<-[:DERIVES|FOLLOWS|SUPERSEDES*1..6]-(m:State)
  WITH DISTINCT m, t WHERE m.task = t.key
  RETURN collect(m)[0..56] AS resting
}
CALL (s, f, resting) {
  UNWIND [s, f] + resting AS n
  RETURN DISTINCT n
  UNION
  UNWIND [s, f] AS g
  MATCH (g)-[:SUPPORTS]->(n:State)
  RETURN DISTINCT n LIMIT 12
  UNION
  UNWIND [s] + resting AS g
  MATCH (g)-[:CHILD_OF]->(n:Request)
  RETURN DISTINCT n LIMIT 12
}
WITH collect(n) AS nodes
UNWIND nodes AS node
OPTIONAL MATCH (node)-[arrow]->(other) WHERE other IN nodes
RETURN node, type(arrow) AS relation, other, arrow
