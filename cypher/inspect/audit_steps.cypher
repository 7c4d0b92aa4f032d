// Nodes that name a step which the ledger does not have, or name none where they must (README, rule 3).
// mode: read
// params: space, limit
// returns: key, what
MATCH (n)
WHERE (n:State OR n:TraceNode OR n:SummaryNode OR n:RawObservation OR n:Request) AND ($p.space IS NULL OR n.space = $p.space)
CALL (n) {
  UNWIND [{name: 'from_step', number: n.from_step, must: NOT n:Request}, {name: 'to_step', number: n.to_step, must: false},
    {name: 'opened_step', number: n.opened_step, must: n:Request}, {name: 'finished_step', number: n.finished_step, must: false},
    {name: 'abandoned_step', number: n.abandoned_step, must: false}] AS named
  OPTIONAL MATCH (t:Task {key: n.task})
  WITH n, named WHERE (named.must OR named.number IS NOT NULL) AND NOT coalesce(n:Request AND named.number < t.first_step, false)
  OPTIONAL MATCH (s:Step {key: n.task + '/step:' + toStringOrNull(named.number)})
  WITH named, s WHERE s IS NULL
  RETURN CASE WHEN named.number IS NULL THEN 'it has no ' + named.name
    ELSE 'its ' + named.name + ', ' + coalesce(toStringOrNull(named.number), 'a list') + ', is no step of its task' END AS what
}
RETURN n.key AS key, what
ORDER BY key, what LIMIT coalesce($p.limit, 100)
