// Versions of states by the step that wrote them, with what each refers to, a page of steps at a time.
// mode: read
// params: space, task, first, limit, characters
// returns: step, id, kind, in_view, to_step, summary, value, length, refs
// why: refs hang on the version in which they were given; of many the first twenty by id.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  MATCH (s:State) USING INDEX s:State(task, from_step)
  WHERE s.task = t.key AND s.from_step >= coalesce($p.first, 1) AND s.from_step < coalesce($p.first, 1) + coalesce($p.limit, 1000)
  RETURN s
}
OPTIONAL MATCH (g:State {key: coalesce(s.refs_at, s.key)}) USING INDEX g:State(key)
CALL (g) {
  OPTIONAL MATCH (g)-[r:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]->(m)
  WITH CASE WHEN m.id <> g.id THEN toLower(type(r)) + ' ' + m.id END AS ref ORDER BY ref
  RETURN collect(ref)[0..20] AS refs
}
RETURN s.from_step AS step, s.id AS id, toLower([l IN labels(s) WHERE NOT l IN ['State', 'Live']][0]) AS kind, s:Live AS in_view, s.to_step AS to_step,
  left(s.summary, coalesce($p.characters, 400)) AS summary, left(s.value, coalesce($p.characters, 400)) AS value, size(s.value) AS length, refs
ORDER BY step, id
