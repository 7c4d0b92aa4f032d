// Locks a task until the transaction ends, so that it stands still while it is read.
// mode: write
// params: space, task, op
// returns: key
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op // lock
RETURN t.key AS key
