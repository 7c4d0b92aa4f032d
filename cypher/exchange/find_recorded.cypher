// Which steps of a recording a task has already, in a fork those of its origin up to the fork too, and where the task stands.
// mode: read
// params: space, task, attempts, after
// returns: steps, open, pending_step, beyond, found
// why: `attempts` are the keys without the prefix of the task, so that the origin's are sought by the same.
// why: `beyond` is the first request opened or output committed after step `after`: what the recording does not know of.
// why: nothing is walked: one seek for each attempt, and one on each ledger in its order.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
WITH t, [{key: t.key, below: t.next_step}] + CASE WHEN t.origins IS NULL THEN [] ELSE [{key: t.origins[-1], below: t.first_step}] END AS owners
CALL (owners) {
  UNWIND range(0, size($p.attempts) - 1) AS i
  UNWIND owners AS owner
  MATCH (s:Step {attempt: owner.key + '!' + $p.attempts[i]}) USING INDEX s:Step(attempt)
  WHERE s.number < owner.below
  OPTIONAL MATCH (x:TraceNode {key: s.node}) USING INDEX x:TraceNode(key)
  WITH i, s, x ORDER BY i
  RETURN collect({i: i, number: s.number, request: s.request, hash: x.hash}) AS found
}
CALL (owners) {
  UNWIND owners AS owner
  CALL (owner) {
    MATCH (s:Step) USING INDEX s:Step(task, number)
    WHERE s.task = owner.key AND s.number > $p.after AND s.number < owner.below AND s.kind IN ['open', 'step', 'refused']
    WITH s ORDER BY s.task, s.number LIMIT 1
    RETURN s.number AS number
  }
  RETURN min(number) AS beyond
}
RETURN t.next_step - 1 AS steps, t.open AS open, t.pending_step AS pending_step, beyond, found
