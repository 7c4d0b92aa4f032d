// Holds a task that is about to be forgotten: its cursor goes first, so that nobody writes to it or reads half of it.
// mode: write
// params: space, task, op
// returns: first, last
// why: what is kept is what leads along the ledger, should the forget be interrupted.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op
WITH t, coalesce(t.first_step, 1) AS first, t.next_step - 1 AS last, t.origins AS origins
SET t = {key: t.key, space: t.space, name: t.name, held: 'forget', first_step: first, next_step: last + 1, origins: origins}
RETURN first, coalesce(last, 0) AS last
