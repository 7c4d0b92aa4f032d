// Requests that are missing, misnumbered, or neither open, finished nor abandoned.
// mode: read
// params: space, limit
// returns: key, what
CALL () {
  MATCH (t:Task)
  WHERE $p.space IS NULL OR t.space = $p.space
  CALL (t) {
    UNWIND CASE WHEN t.next_request > 1 AND t.next_request IS :: INTEGER THEN range(1, t.next_request - 1) ELSE [] END AS number
    OPTIONAL MATCH (r:Request {key: t.key + '/request:' + toStringOrNull(number)})
    WITH number, r WHERE r IS NULL LIMIT coalesce($p.limit, 100)
    RETURN 'request ' + toStringOrNull(number) + ' is missing' AS what
  }
  RETURN t.key AS key, what
  UNION ALL
  MATCH (r:Request)
  WHERE $p.space IS NULL OR r.space = $p.space
  OPTIONAL MATCH (t:Task {key: r.task})
  OPTIONAL MATCH (o:Step {key: r.task + '/step:' + toStringOrNull(r.opened_step)})
  OPTIONAL MATCH (f:Step {key: r.task + '/step:' + toStringOrNull(r.finished_step)})
  OPTIONAL MATCH (a:Step {key: r.task + '/step:' + toStringOrNull(r.abandoned_step)})
  OPTIONAL MATCH (c:Step {key: r.task + '/step:' + toStringOrNull(r.cut_step)})
  OPTIONAL MATCH (h:Request {key: ([] + coalesce(t.origins, []))[-1] + '/request:' + toStringOrNull(r.number)})
  CALL (r) {
    MATCH (s:Step) USING INDEX s:Step(task, number)
    WHERE s.task = r.task AND s.number > toIntegerOrNull(r.opened_step)
    WITH s WHERE s.request = r.number AND s.message IS NOT NULL AND s.kind <> 'open' AND s.abandoned_step IS NULL
    RETURN max(s.number) AS finish
  }
  WITH r, [
    CASE WHEN coalesce(r.key <> r.task + '/request:' + toStringOrNull(r.number), true) THEN 'its key is not its task and number' END,
    CASE WHEN r.number < 1 OR r.number >= t.next_request THEN 'its number was not given out yet' END,
    CASE WHEN r.finished_step IS NULL AND r.abandoned_step IS NULL AND r.cut_step IS NULL AND coalesce(t.open <> r.number, true)
      THEN 'it is neither open, finished nor abandoned' END,
    CASE WHEN (r.finished_step IS NOT NULL OR r.abandoned_step IS NOT NULL) AND t.open = r.number THEN 'it is open though it ended' END,
    CASE WHEN o.kind <> 'open' OR o.request <> r.number THEN 'its opened_step is not the one that opened it' END,
    CASE WHEN f.request <> r.number OR (f IS NOT NULL AND f.message IS NULL) THEN 'its finished_step is not the one that finished it' END,
    CASE WHEN r.abandoned_step IS NULL AND coalesce(r.finished_step <> finish, r.finished_step IS NULL AND finish IS NOT NULL) THEN 'another step finished it' END,
    CASE WHEN r.abandoned_step IS NULL AND f.abandoned_step IS NOT NULL THEN 'the step that finished it is abandoned' END,
    CASE WHEN r.abandoned_step <> coalesce(o.abandoned_step, CASE WHEN o IS NOT NULL THEN 0 END) OR (r.abandoned_step IS NULL AND o.abandoned_step IS NOT NULL)
      THEN 'it and the step that opened it were not abandoned together' END,
    CASE WHEN a.kind <> 'revise' OR coalesce(a.boundary_step >= r.opened_step OR a.request = r.number, false) THEN 'its abandoned_step is no revise that went back before it' END,
    CASE WHEN r.cut_step IS NOT NULL AND coalesce(NOT c.kind IN ['revise', 'fork'], true) THEN 'its cut_step is neither a revise nor a fork' END,
    CASE WHEN r.cut_step IS NOT NULL AND r.finished_step IS NOT NULL THEN 'its finish was cut off and it is finished' END,
    CASE WHEN r.copied_step IS NOT NULL AND coalesce(r.copied_step <> r.opened_step OR h.opened_step <> r.opened_step OR h.text <> r.text OR r.opened_step >= t.first_step, true)
      THEN 'it is no copy of the request of its origin' END,
    CASE WHEN r.copied_step IS NULL AND r.opened_step < t.first_step THEN 'it is of the origin and no copy' END,
    CASE WHEN COUNT { (r)-[:CHILD_OF]->() } <> 1 OR NOT EXISTS { (r)-[:CHILD_OF]->(x:Task) WHERE x.key = r.task }
      THEN 'it does not hang on its task alone' END
  ] AS found
  UNWIND [f IN found WHERE f IS NOT NULL] AS what
  RETURN r.key AS key, what
}
RETURN key, what
ORDER BY key, what LIMIT coalesce($p.limit, 100)
