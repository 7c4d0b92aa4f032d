// A raw result verbatim: the call, what came back, the trace node and step it belongs to, and the states in view that cite it.
// mode: read
// params: space, task, id
// returns: id, tool, arguments, content, node, node_name, on_path, from_step, asked_step, request, cited_by, pruned_step
// why: results of nodes from before a fork belong to an origin; on the fork's path are those of the nodes that it copied and those below its summaries.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
MATCH (o:RawObservation {key: coalesce([i IN range(0, size(coalesce(t.origins, [])) - 1) WHERE toIntegerOrNull(split(substring($p.id, 4), '.')[0]) < t.origin_nodes[i] | t.origins[i]][0], t.key) + '/' + $p.id})
  USING INDEX o:RawObservation(key)
CALL (t, o) {
  MATCH (o)-[:CHILD_OF]->(n)
  WITH n, CASE WHEN n.task = t.key THEN 0 WHEN n.task = o.task THEN 1 ELSE 2 END AS far ORDER BY far LIMIT 1
  RETURN n
}
CALL (t, n) {
  WITH t, n WHERE n.task <> t.key
  MATCH (n)<-[:COVERS]-(s)
  MATCH (s) ((a)<-[:DERIVES]-(b))+ (c)
  RETURN count(CASE WHEN c.task = t.key AND c:OnPath THEN 1 END) > 0 AS below
}
OPTIONAL MATCH (s:Step {key: o.task + '/step:' + toStringOrNull(o.from_step)}) USING INDEX s:Step(key)
CALL (t, o) {
  MATCH (o)<-[:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]-(g)
  RETURN collect(CASE WHEN g:State AND (g.task = t.key OR g.task IN t.origins) THEN g END)[0..200] AS givers
}
CALL (t, givers) {
  UNWIND givers AS g
  MATCH (l:State {live_key: t.key + '/state:' + g.id}) USING INDEX l:State(live_key)
  WITH DISTINCT l, g WHERE coalesce(l.refs_at, l.key) = g.key
  WITH l ORDER BY l.id
  RETURN collect(DISTINCT l.id) AS cited_by
}
RETURN o.id AS id, o.tool AS tool, o.arguments AS arguments, o.content AS content, n.number AS node, n.name AS node_name,
  CASE WHEN n.task = t.key THEN n:OnPath ELSE below END AS on_path, o.from_step AS from_step, s.of_step AS asked_step, s.request AS request, cited_by, o.pruned_step AS pruned_step
