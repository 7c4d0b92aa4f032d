// What counts now in a task: its requests, the states in view, and the active path.
// mode: read
// params: space, task
// returns: n
MATCH (n:Task|Request|Live|OnPath)
WHERE n.space = $p.space AND (n.task = $p.space + '/' + $p.task OR n.key = $p.space + '/' + $p.task)
RETURN n LIMIT 90
