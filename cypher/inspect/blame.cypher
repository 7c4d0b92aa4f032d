// Every version of a state with the step that wrote it, oldest first, through forks to the origins: whence each part of it comes.
// mode: read
// params: space, task, id
// returns: step, id, kind, summary, value, refs, to_step, copied_step, origin, step_kind, author, request, abandoned_step, boundary_step, note, result
// why: a copy that a fork made is a row of its own and wrote nothing; `result` of a revise says which versions it brought back, and `boundary_step` from when.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  UNWIND range(0, size(coalesce(t.origins, []))) AS i
  WITH i, (coalesce(t.origins, []) + t.key)[i] AS key
  MATCH (o:Task {key: key}) USING INDEX o:Task(key)
  WITH i, o ORDER BY i
  WITH collect({task: o.key, low: coalesce(o.first_step, 1)}) AS levels
  RETURN [i IN range(0, size(levels) - 1) | {task: levels[i].task, low: levels[i].low, high: coalesce(levels[i + 1].low - 1, 9223372036854775807)}] AS ledger
}
CALL (t, ledger) {
  OPTIONAL MATCH (l:State {live_key: t.key + '/state:' + $p.id}) USING INDEX l:State(live_key)
  CALL (ledger, l) {
    UNWIND CASE WHEN l IS NULL THEN ledger ELSE [] END AS level
    MATCH (s:State) USING INDEX s:State(task, id)
    WHERE s.task = level.task AND s.id = $p.id
    WITH s, level WHERE s.from_step <= level.high
    WITH s ORDER BY s.from_step DESC LIMIT 1
    RETURN collect(s.lineage) AS ended
  }
  RETURN CASE WHEN l IS NULL THEN ended ELSE [l.lineage] END AS named
}
UNWIND named AS lineage
UNWIND ledger AS level
CALL (level, lineage) {
  MATCH (v:State) USING INDEX v:State(task, lineage, from_step)
  WHERE v.task = level.task AND v.lineage = lineage AND v.from_step <= level.high
  RETURN v
}
CALL (v) {
  MATCH (g:State {key: coalesce(v.refs_at, v.key)}) USING INDEX g:State(key)
  RETURN g
}
CALL (g) {
  MATCH (g)-[r:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]->(m)
  WITH CASE WHEN m.id <> g.id THEN toLower(type(r)) + ' ' + m.id END AS ref ORDER BY ref
  RETURN collect(ref) AS refs
}
OPTIONAL MATCH (s:Step {key: v.task + '/step:' + toString(v.from_step)}) USING INDEX s:Step(key)
RETURN v.from_step AS step, v.id AS id, toLower([l IN labels(v) WHERE NOT l IN ['State', 'Live']][0]) AS kind, v.summary AS summary, v.value AS value, refs,
  CASE WHEN v.to_step <= level.high THEN v.to_step END AS to_step, v.copied_step AS copied_step,
  CASE WHEN v.task <> t.key THEN substring(v.task, size(t.space) + 1) END AS origin, s.kind AS step_kind, s.author AS author, s.request AS request,
  CASE WHEN s.abandoned_step <= level.high THEN s.abandoned_step END AS abandoned_step, s.boundary_step AS boundary_step, s.note AS note,
  CASE WHEN s.kind = 'revise' THEN s.result END AS result
ORDER BY step
