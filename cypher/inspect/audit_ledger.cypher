// Steps that are missing, misnumbered, or that name what is not there (README, rules 2 and 3).
// mode: read
// params: space, limit
// returns: key, what
CALL () {
  MATCH (t:Task)
  WHERE $p.space IS NULL OR t.space = $p.space
  CALL (t) {
    UNWIND CASE WHEN t.next_step > 1 AND t.next_step IS :: INTEGER THEN range(coalesce(t.first_step, 1), t.next_step - 1) ELSE [] END AS number
    OPTIONAL MATCH (s:Step {key: t.key + '/step:' + toStringOrNull(number)})
    WITH number, s WHERE s IS NULL LIMIT coalesce($p.limit, 100)
    RETURN 'step ' + toStringOrNull(number) + ' is missing from its ledger' AS what
  }
  RETURN t.key AS key, what
  UNION ALL
  MATCH (s:Step)
  WHERE $p.space IS NULL OR s.space = $p.space
  OPTIONAL MATCH (t:Task {key: s.task})
  OPTIONAL MATCH (before:Step {key: s.task + '/step:' + toStringOrNull(CASE WHEN s.number > 1 THEN s.number - 1 END)})
  OPTIONAL MATCH (r:Request {key: s.task + '/request:' + toStringOrNull(s.request)})
  OPTIONAL MATCH (b:TraceNode {key: s.p_b})
  OPTIONAL MATCH (p:SummaryNode {key: s.p_t})
  OPTIONAL MATCH (w:TraceNode {key: s.boundary})
  OPTIONAL MATCH (n:TraceNode {key: s.node})
  WITH s, [
    CASE WHEN coalesce(s.key <> s.task + '/step:' + toStringOrNull(s.number), true) THEN 'its key is not its task and number' END,
    CASE WHEN s.number < 1 OR s.number >= t.next_step THEN 'its number was not given out yet' END,
    CASE WHEN s.kind IS NULL THEN 'it does not say what it did' END,
    CASE WHEN s.attempt IS NOT NULL AND NOT s.attempt STARTS WITH s.task + '!' THEN 'its attempt key does not begin with space and task' END,
    CASE WHEN s.version < before.version OR s.version > t.version THEN 'its version does not lie between those of its neighbours' END,
    CASE WHEN r IS NULL THEN 'its request does not exist' END,
    CASE WHEN b IS NULL OR p IS NULL OR w IS NULL THEN 'its p_b, p_t or boundary is no node' END,
    CASE WHEN s.node IS NOT NULL AND coalesce(n.number <> s.visited, n IS NULL OR s.kind <> 'fork') THEN 'the trace node that it visited does not exist' END
  ] AS found
  UNWIND [f IN found WHERE f IS NOT NULL] AS what
  RETURN s.key AS key, what
}
RETURN key, what
ORDER BY key, what LIMIT coalesce($p.limit, 100)
