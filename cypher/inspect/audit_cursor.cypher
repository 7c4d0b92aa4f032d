// Tasks whose cursor points where it cannot: off the path, past the boundary, at a step or request that is not the one.
// mode: read
// params: space, limit
// returns: key, what
MATCH (t:Task)
WHERE $p.space IS NULL OR t.space = $p.space
OPTIONAL MATCH (b:TraceNode {key: t.p_b})
OPTIONAL MATCH (s:SummaryNode {key: t.p_t})
OPTIONAL MATCH (w:TraceNode {key: t.boundary})
OPTIONAL MATCH (r:Request {key: t.key + '/request:' + toStringOrNull(t.open)})
OPTIONAL MATCH (q:Step {key: t.key + '/step:' + toStringOrNull(t.pending_step)})
OPTIONAL MATCH (o:Step {key: t.key + '/step:' + toStringOrNull(t.observed_step)})
OPTIONAL MATCH (l:Step {key: t.key + '/step:' + toStringOrNull(t.last_step)})
OPTIONAL MATCH (z:Step {key: t.key + '/step:' + toStringOrNull(CASE WHEN t.next_step > 1 THEN t.next_step - 1 END)})
CALL (t) {
  MATCH (a:Step) USING INDEX a:Step(task, number)
  WHERE a.task = t.key AND a.number > toIntegerOrNull(t.pending_step)
  RETURN count(CASE WHEN a.of_step = t.pending_step THEN 1 END) AS answers
}
WITH t, [
  CASE WHEN t.held IS NOT NULL THEN 'an import or a forget of it is going on, or was interrupted: run it again' END,
  CASE WHEN coalesce(NOT b:OnPath OR b.task <> t.key, true) THEN 'p_b is no trace node on its path' END,
  CASE WHEN coalesce(NOT s:OnPath OR s.task <> t.key, true) THEN 'p_t is no summary on its path' END,
  CASE WHEN coalesce(s.last <> t.boundary, true) OR w IS NULL THEN 'its boundary is not the last node that p_t covers' END,
  CASE WHEN b.depth < w.depth THEN 'p_b lies above its boundary' END,
  CASE WHEN t.open IS NOT NULL AND r IS NULL THEN 'its open request does not exist' END,
  CASE WHEN t.pending_step IS NOT NULL AND coalesce(q.kind <> 'step' OR q.calls IS NULL, true) THEN 'its pending_step is no step with calls' END,
  CASE WHEN t.pending_step IS NOT NULL AND coalesce(t.open <> q.request, true) THEN 'calls are pending whose request is not open' END,
  CASE WHEN answers > 0 THEN 'calls are pending that were answered' END,
  CASE WHEN l.kind = 'step' AND l.calls IS NOT NULL AND t.pending_step IS NULL AND coalesce(t.observed_step, 0) < t.last_step
    THEN 'the calls of its last step have no results and are not pending' END,
  CASE WHEN t.observed_step IS NOT NULL AND coalesce(NOT o.kind IN ['observe', 'fork'], true) THEN 'its observed_step is no observation' END,
  CASE WHEN t.last_step IS NOT NULL AND l IS NULL THEN 'its last_step does not exist' END,
  CASE WHEN z.p_b <> t.p_b OR z.p_t <> t.p_t OR z.boundary <> t.boundary THEN 'its cursor is not where the last step of the ledger left it' END
] AS found
UNWIND [f IN found WHERE f IS NOT NULL] AS what
RETURN t.key AS key, what
ORDER BY key, what LIMIT coalesce($p.limit, 100)
