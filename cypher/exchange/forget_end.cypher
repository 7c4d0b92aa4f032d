// Deletes the node of a held task, the last of it; not while a step of it is there.
// mode: write
// params: space, task, op
// returns: deleted
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op
WITH t
CALL (t) {
  MATCH (s:Step) USING INDEX s:Step(task, number) WHERE s.task = t.key AND s.number > 0
  RETURN count(s) AS steps
}
WITH t, steps = 0 AND t.held = 'forget' AS deleted
FOREACH (n IN CASE WHEN deleted THEN [t] ELSE [] END | DETACH DELETE n)
RETURN deleted
