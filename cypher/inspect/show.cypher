// Every version of a state, oldest first: what it said, from which step to which, and what it refers to.
// mode: read
// params: space, task, id, limit
// returns: id, kind, key, lineage, request, born, from_step, to_step, in_view, summary, value, refs, refs_step
// why: in a fork the versions of its origins up to the fork are shown too; the one that it copied ends there.
// why: refs hang on the version in which they were given; a later one that keeps them names it in `refs_at`.
// why: an arrow between equal ids is the store's own (a version to the one before it) and no ref.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  UNWIND range(0, size(coalesce(t.origins, []))) AS i
  WITH i, (coalesce(t.origins, []) + t.key)[i] AS key
  MATCH (o:Task {key: key}) USING INDEX o:Task(key)
  WITH i, o ORDER BY i
  WITH collect({task: o.key, low: coalesce(o.first_step, 1)}) AS levels
  RETURN [i IN range(0, size(levels) - 1) | {task: levels[i].task, low: levels[i].low, high: coalesce(levels[i + 1].low - 1, 9223372036854775807)}] AS ledger
}
UNWIND ledger AS level
WITH t, level, $p.id AS id
CALL (level, id) {
  MATCH (s:State) USING INDEX s:State(task, id)
  WHERE s.task = level.task AND s.id = id
  RETURN s
}
WITH t, level, s WHERE s.from_step <= level.high
WITH t, level, s ORDER BY s.from_step DESC LIMIT coalesce($p.limit, 50)
CALL (s) {
  MATCH (g:State {key: coalesce(s.refs_at, s.key)}) USING INDEX g:State(key)
  RETURN g
}
CALL (g) {
  MATCH (g)-[r:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]->(m)
  WHERE m.id <> g.id
  WITH r, m ORDER BY type(r), m.id
  RETURN collect({relation: toLower(type(r)), id: m.id, key: m.key}) AS refs
}
RETURN s.id AS id, toLower([l IN labels(s) WHERE NOT l IN ['State', 'Live']][0]) AS kind, s.key AS key, s.lineage AS lineage,
  s.request AS request, s.born AS born, s.from_step AS from_step,
  CASE WHEN s.task <> t.key AND coalesce(s.to_step > level.high, true) THEN level.high + 1 ELSE s.to_step END AS to_step,
  s:Live AND s.task = t.key AS in_view, s.summary AS summary, s.value AS value, refs, CASE WHEN size(refs) > 0 THEN g.from_step END AS refs_step
ORDER BY from_step
