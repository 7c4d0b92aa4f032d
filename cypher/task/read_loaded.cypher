// Where a task stands, and which steps of a load it has already, with the nodes that they grew.
// mode: read
// params: space, task, attempts
// returns: version, open, p_b, next_step, is_pending, done
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  UNWIND range(0, size($p.attempts) - 1) AS i
  MATCH (s:Step {attempt: $p.attempts[i]}) USING INDEX s:Step(attempt)
  OPTIONAL MATCH (o:Step {key: t.key + '/step:' + toString(s.number + 1)}) USING INDEX o:Step(key)
  OPTIONAL MATCH (x:TraceNode {key: CASE WHEN o.of_step = s.number THEN o.node END}) USING INDEX x:TraceNode(key)
  WITH i, s, o, x ORDER BY i
  RETURN collect({i: i, abandoned: s.abandoned_step IS NOT NULL, number: x.number, hash: x.hash, merged: o.merged}) AS done
}
RETURN t.version AS version, t.open AS open, t.p_b AS p_b, t.next_step AS next_step, t.pending_step IS NOT NULL AS is_pending, done
