// What the step that made a fork keeps of its origin.
// mode: read
// params: space, task, step
// returns: result
MATCH (s:Step {key: $p.space + '/' + $p.task + '/step:' + toString($p.step)}) USING INDEX s:Step(key)
RETURN s.result AS result
