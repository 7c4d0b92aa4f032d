// Makes the node of a task that is about to be imported, held until all of it is there; or says what stands under that name.
// mode: write
// params: space, task, op, mark, line
// returns: held, mark, line, properties
// why: a task that is held is refused by every operation, so nobody writes into half of one.
MERGE (t:Task {key: $p.space + '/' + $p.task})
  ON CREATE SET t.space = $p.space, t.name = $p.task, t.held = 'import', t.held_mark = $p.mark, t.held_line = $p.line
SET t.lock = $p.op
RETURN t.held AS held, t.held_mark AS mark, t.held_line AS line, properties(t) AS properties
