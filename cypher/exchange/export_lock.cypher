// Locks a task until the transaction ends, and says where it stands: no commit is on its way then.
// mode: write
// params: space, task, op
// returns: properties, first, last
// why: a reader without the lock can see the cursor of a commit before the nodes that came with it.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op // lock
RETURN properties(t) AS properties, toIntegerOrNull(coalesce(t.first_step, 1)) AS first, toIntegerOrNull(t.next_step) - 1 AS last
