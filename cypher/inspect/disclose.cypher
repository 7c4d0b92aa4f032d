// What Progressive State Access would show of each id in the open request, or in the next one when none is open.
// mode: read
// params: space, task, ids
// returns: id, request, psa, node, kind, state_request, in_s, raw, cited, heading, text, states, related, rest
// why: facts only; whether an id is accepted is decided by the same rules as an access of a model (graphmem.state.rules).
// why: a hop and the next seek stand in separate CALLs: a plan made on an empty database stays.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
WITH t, coalesce(t.open, t.next_request) AS request
CALL (t, request) {
  MATCH (d:Step) USING INDEX d:Step(scope)
  WHERE d.scope = t.key + '#' + toStringOrNull(request)
  UNWIND d.disclosed AS id
  RETURN collect(id) AS disclosed
}
UNWIND range(0, size($p.ids) - 1) AS place
WITH t, request, disclosed, place, $p.ids[place] AS id
OPTIONAL MATCH (s:State {live_key: t.key + '/state:' + id}) USING INDEX s:State(live_key)
OPTIONAL MATCH (o:RawObservation {key: coalesce([i IN range(0, size(coalesce(t.origins, [])) - 1) WHERE toIntegerOrNull(split(substring(id, 4), '.')[0]) < t.origin_nodes[i] | t.origins[i]][0], t.key) + '/' + id})
  USING INDEX o:RawObservation(key)
OPTIONAL MATCH (r:Request {key: t.key + '/' + id}) USING INDEX r:Request(key)
CALL (t, o) {
  MATCH (o)<-[:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]-(g)
  RETURN collect(CASE WHEN g:State AND (g.task = t.key OR g.task IN t.origins) THEN g END) AS givers
}
CALL (t, request, disclosed, givers) {
  UNWIND givers AS g
  MATCH (l:State {live_key: t.key + '/state:' + g.id}) USING INDEX l:State(live_key)
  WITH l WHERE coalesce(l.refs_at, l.key) = g.key AND (l.request = request OR l.id IN disclosed)
  RETURN count(l) > 0 AS cited
}
CALL (t, r) {
  MATCH (l:Live) USING INDEX l:Live(task, request, born, position)
  WHERE l.task = t.key AND l.request = r.number AND l.born IS NOT NULL AND l.position IS NOT NULL
  WITH l ORDER BY l.task, l.request, l.born, l.position
  RETURN collect({id: l.id, summary: l.summary}) AS states
}
WITH t, request, disclosed, place, id, s, o, r, cited, states, coalesce(s, o) AS x
OPTIONAL MATCH (given:State {key: x.refs_at}) USING INDEX given:State(key)
WITH t, request, disclosed, place, id, s, o, r, cited, states, x, coalesce(given, x) AS g
CALL (g) {
  MATCH (g)-[e:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]->(m)
  RETURN collect(CASE WHEN m.id <> g.id THEN {type: type(e), node: m, raw: m:RawObservation} END) AS outs
}
CALL (t, outs) {
  UNWIND outs AS e
  OPTIONAL MATCH (l:State {live_key: t.key + '/state:' + e.node.id}) USING INDEX l:State(live_key)
  WITH e WHERE e.raw OR l.lineage = e.node.key
  RETURN collect({type: e.type, id: e.node.id, incoming: false, at: e.node.from_step}) AS own
}
OPTIONAL MATCH (first:State {key: x.lineage}) USING INDEX first:State(key)
WITH t, request, disclosed, place, id, s, o, r, cited, states, x, own, coalesce(first, x) AS f
CALL (t, f) {
  MATCH (f)<-[e:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]-(m)
  RETURN collect(CASE WHEN m:State AND m.id <> f.id AND (m.task = t.key OR m.task IN t.origins) THEN {type: type(e), node: m} END) AS ins
}
CALL (t, ins) {
  UNWIND ins AS e
  MATCH (l:State {live_key: t.key + '/state:' + e.node.id}) USING INDEX l:State(live_key)
  WITH e, l WHERE l.lineage = e.node.lineage AND coalesce(l.refs_at, l.key) = e.node.key
  RETURN collect({type: e.type, id: l.id, incoming: true, at: e.node.from_step}) AS others
}
CALL (own, others) {
  UNWIND own + others AS e
  WITH e ORDER BY e.at DESC, e.id
  RETURN collect(e) AS related
}
RETURN id, request, t.psa AS psa, properties(x) AS node, toLower([l IN labels(s) WHERE NOT l IN ['State', 'Live']][0]) AS kind,
  s.request AS state_request, id IN disclosed AS in_s, o IS NOT NULL AS raw, cited,
  r IS NOT NULL AND r.number < request AND (r.abandoned_step IS NULL OR size(states) > 0) AS heading, r.text AS text, states,
  related[0..50] AS related, [e IN related[50..] | toLower(e.type) + CASE WHEN e.incoming THEN ' (incoming)' ELSE '' END] AS rest
ORDER BY place
