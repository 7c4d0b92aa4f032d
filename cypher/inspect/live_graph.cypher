// What counts now in a task: its requests, the states in view, the active path and what was observed on it.
// mode: read
// params: space, task
// returns: t, rs, live, path
MATCH (t:Task {key: $p.space + '/' + $p.task})
CALL (t) { MATCH (r:Request)-[:CHILD_OF]->(t) WITH r ORDER BY r.number DESC LIMIT 12 RETURN collect(r) AS rs }
CALL (t) { MATCH (s:Live) WHERE s.task=t.key RETURN collect(s) AS live }
CALL (t) { MATCH (s:OnPath) WHERE s.task=t.key RETURN collect(s) AS path }
RETURN t, rs, live, path
