// Which steps of a recording a task has already, and where the task stands.
// mode: read
// params: space, task, attempts, after
// returns: steps, open, pending_step, beyond, found
// why: `beyond` is the first request opened or output committed after step `after`: what the recording does not know of.
// why: nothing is walked: one seek for each attempt, and one on the ledger in its order.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  UNWIND range(0, size($p.attempts) - 1) AS i
  MATCH (s:Step {attempt: $p.attempts[i]}) USING INDEX s:Step(attempt)
  OPTIONAL MATCH (x:TraceNode {key: s.node}) USING INDEX x:TraceNode(key)
  WITH i, s, x ORDER BY i
  RETURN collect({i: i, number: s.number, request: s.request, hash: x.hash}) AS found
}
CALL (t) {
  OPTIONAL MATCH (s:Step) USING INDEX s:Step(task, number)
  WHERE s.task = t.key AND s.number > $p.after AND s.kind IN ['open', 'step', 'refused']
  WITH s ORDER BY s.task, s.number LIMIT 1
  RETURN s.number AS beyond
}
RETURN t.next_step - 1 AS steps, t.open AS open, t.pending_step AS pending_step, beyond, found
