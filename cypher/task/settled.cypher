// Waits until the commit of a task's last step is there as a whole.
// mode: write
// params: space, task, op
// returns: steps
// why: a reader without the lock can see the newest Step by one index before the others name what was written with it.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op // lock
WITH t
RETURN t.next_step - 1 AS steps
