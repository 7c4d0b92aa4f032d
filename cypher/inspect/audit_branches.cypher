// Steps that a revise left behind without marking them, or that are marked and were not; revises that went back elsewhere (README, rule 3).
// mode: read
// params: space, limit
// returns: key, what
// why: a step between a revise's boundary and the revise is abandoned, but for the opening one of the request that goes on; every other one is not.
CALL () {
  MATCH (s:Step)
  WHERE ($p.space IS NULL OR s.space = $p.space) AND s.kind = 'revise'
  CALL (s) {
    MATCH (x:Step) USING INDEX x:Step(task, number)
    WHERE x.task = s.task AND x.number > s.boundary_step AND x.number < s.number
    WITH x WHERE coalesce(x.abandoned_step > s.number, true) AND NOT (x.kind = 'open' AND coalesce(x.request = s.request, false))
    RETURN x
  }
  RETURN x.key AS key, 'the revise of step ' + toStringOrNull(s.number) + ' went back before it, and it was not abandoned with it' AS what
  UNION ALL
  MATCH (s:Step)
  WHERE ($p.space IS NULL OR s.space = $p.space) AND s.kind = 'revise'
  OPTIONAL MATCH (b:Step {key: s.task + '/step:' + toStringOrNull(s.boundary_step)})
  CALL (s) {
    MATCH (c:Step) USING INDEX c:Step(top, number)
    WHERE c.top = s.top AND c.number > s.boundary_step AND c.number < s.number
    RETURN count(c) AS later
  }
  WITH s, [
    CASE WHEN coalesce(b.top <> s.top, true) THEN 'the step that it went back to did not make the summary that it restored the top' END,
    CASE WHEN later > 0 THEN 'the summary that it restored became the top after the step that it went back to' END,
    CASE WHEN coalesce(s.p_t <> s.top OR s.p_b <> b.p_b OR s.boundary <> b.boundary, b IS NOT NULL) THEN 'it did not put the cursor where that step had it' END,
    CASE WHEN s.feedback_step <> s.number THEN 'its feedback is not the one that stands after it' END
  ] AS found
  UNWIND [f IN found WHERE f IS NOT NULL] AS what
  RETURN s.key AS key, what
  UNION ALL
  MATCH (s:Step)
  WHERE $p.space IS NULL OR s.space = $p.space
  OPTIONAL MATCH (r:Step {key: s.task + '/step:' + toStringOrNull(s.abandoned_step)})
  WITH s, [
    CASE WHEN s.abandoned_step IS NOT NULL AND coalesce(r.kind <> 'revise' OR s.number <= r.boundary_step OR s.number >= r.number, true)
      THEN 'it is abandoned by no revise that went back before it' END,
    CASE WHEN s.scope IS NOT NULL AND s.abandoned_step IS NOT NULL THEN 'it is abandoned and what it disclosed is still shown' END,
    CASE WHEN s.left_scope IS NOT NULL AND s.abandoned_step IS NULL THEN 'what it disclosed is not shown though it stands' END,
    CASE WHEN s.disclosed IS NOT NULL AND s.scope IS NULL AND s.left_scope IS NULL THEN 'what it disclosed is shown to no request' END,
    CASE WHEN coalesce(s.scope, s.left_scope) <> s.task + '#' + toStringOrNull(s.request) THEN 'what it disclosed is shown to another request' END,
    CASE WHEN s.kind = 'revise' AND coalesce(s.boundary_step >= s.number OR s.note IS NULL, true) THEN 'it does not say where it went back to, or why' END,
    CASE WHEN s.kind = 'maintain' AND coalesce(NOT s.verdict IN ['passed', 'failed'], true) THEN 'it holds no verdict' END
  ] AS found
  UNWIND [f IN found WHERE f IS NOT NULL] AS what
  RETURN s.key AS key, what
}
RETURN key, what
ORDER BY key, what LIMIT coalesce($p.limit, 100)
