// The cursor of a task and its open request; no row when the task does not exist.
// mode: read
// params: space, task
// returns: key, version, open, text, psa, isu, options, requests, steps
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
OPTIONAL MATCH (r:Request {key: t.key + '/request:' + toStringOrNull(t.open)}) USING INDEX r:Request(key)
RETURN t.key AS key, t.version AS version, t.open AS open, r.text AS text, t.psa AS psa, t.isu AS isu,
  t {.psa, .isu, .compress, .maintain, .revise, .isolate_states, .held} AS options,
  toIntegerOrNull(t.next_request) - 1 AS requests, toIntegerOrNull(t.next_step) - 1 AS steps
