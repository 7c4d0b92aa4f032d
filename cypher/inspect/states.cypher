// The states in view of a task, or of one request of it, in order of their appearance.
// mode: read
// params: space, task, request, limit
// returns: request, id, kind, summary, born, from_step
MATCH (s:Live) USING INDEX s:Live(task, request, born, position)
WHERE s.task = $p.space + '/' + $p.task AND s.request >= coalesce($p.request, 0)
  AND s.request <= coalesce($p.request, 9223372036854775807) AND s.born IS NOT NULL AND s.position IS NOT NULL
WITH s ORDER BY s.task, s.request, s.born, s.position LIMIT coalesce($p.limit, 1000)
RETURN s.request AS request, s.id AS id, toLower([l IN labels(s) WHERE NOT l IN ['State', 'Live']][0]) AS kind, s.summary AS summary,
  s.born AS born, s.from_step AS from_step
