// Puts what is left of raw results in the place of their texts: size, hash, and the words that say so wherever a text is shown.
// mode: write
// params: space, task, op, author, limit_step, rows
// returns: verdict, pruned, step
// why: what a fork shows may be a result of its origin, so the versions of forks are raised as well: a status read before cannot be answered.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op
WITH t, t.next_step AS n, CASE WHEN t.held IS NOT NULL THEN 'held' ELSE 'ok' END AS verdict
CALL (t, n, verdict) {
  UNWIND CASE WHEN verdict = 'ok' THEN $p.rows ELSE [] END AS row
  MATCH (o:RawObservation {key: row.key}) USING INDEX o:RawObservation(key)
  WITH n, o, row WHERE o.pruned_step IS NULL AND o.content IS NOT NULL AND coalesce(o.restored_step, 0) <= $p.limit_step
  SET o.content = row.text, o.bytes = row.bytes, o.sha256 = row.sha256, o.pruned_step = n
  RETURN collect(o.id) AS ids
}
CALL (t, n, ids) {
  WITH t, n, ids WHERE size(ids) > 0
  SET t.next_step = n + 1, t.version = t.version + 1
  CREATE (step:Step {key: t.key + '/step:' + toString(n), space: t.space, task: t.key, number: n, name: toString(n) + ' prune',
    kind: 'prune', author: $p.author, op: $p.op, request: t.next_request - 1, pruned: ids})
  SET step += t {.version, .p_b, .p_t, .boundary, .open, .pending_step, .observed_step, .last_step, .feedback_step, .request_depth, .next_node}
}
CALL (t, ids) {
  WITH t, ids WHERE size(ids) > 0
  MATCH (f:Task) USING INDEX f:Task(space, name) WHERE f.space = t.space AND f.name >= ''
  WITH t, f WHERE t.key IN f.origins
  SET f.version = f.version + 1
}
RETURN verdict, size(ids) AS pruned, n AS step
