// Gives an imported task its cursor, and lets go of it.
// mode: write
// params: space, task, op, mark, properties
// returns: verdict
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op
WITH t, CASE WHEN t.held = 'import' AND t.held_mark = $p.mark THEN 'ok' WHEN t.held IS NULL THEN 'done' ELSE 'lost' END AS verdict
CALL (t, verdict) {
  WITH t WHERE verdict = 'ok'
  SET t = $p.properties
}
RETURN verdict
