// A raw result verbatim: the call, what came back, the trace node and step it belongs to, and the states in view that cite it.
// mode: read
// params: space, task, id
// returns: id, tool, arguments, content, node, node_name, on_path, from_step, asked_step, request, cited_by
MATCH (o:RawObservation {key: $p.space + '/' + $p.task + '/' + $p.id}) USING INDEX o:RawObservation(key)
MATCH (o)-[:CHILD_OF]->(n)
OPTIONAL MATCH (s:Step {key: o.task + '/step:' + toStringOrNull(o.from_step)}) USING INDEX s:Step(key)
CALL (o) {
  MATCH (o)<-[:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]-(g)
  RETURN collect(CASE WHEN g:State AND g.task = o.task THEN g END)[0..200] AS givers
}
CALL (o, givers) {
  UNWIND givers AS g
  MATCH (l:State {live_key: o.task + '/state:' + g.id}) USING INDEX l:State(live_key)
  WITH DISTINCT l, g WHERE coalesce(l.refs_at, l.key) = g.key
  WITH l ORDER BY l.id
  RETURN collect(DISTINCT l.id) AS cited_by
}
RETURN o.id AS id, o.tool AS tool, o.arguments AS arguments, o.content AS content, n.number AS node, n.name AS node_name,
  n:OnPath AS on_path, o.from_step AS from_step, s.of_step AS asked_step, s.request AS request, cited_by
