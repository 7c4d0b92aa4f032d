// The tasks of a space by name, and where each stands.
// mode: read
// params: space, limit
// returns: task, open, text, pending, version, requests, steps, nodes, psa, isu
// why: `text` is that of the open request, else of the last one, cut for the eye. One odd task must not hide the others: what is no number is null.
MATCH (t:Task) USING INDEX t:Task(space, name)
WHERE t.space = $p.space AND t.name IS :: STRING NOT NULL
WITH t ORDER BY t.space, t.name LIMIT coalesce($p.limit, 1000)
OPTIONAL MATCH (r:Request {key: t.key + '/request:' + toStringOrNull(coalesce(t.open, toIntegerOrNull(t.next_request) - 1))}) USING INDEX r:Request(key)
RETURN t.name AS task, t.open AS open, left(toStringOrNull(r.text), 200) AS text, t.pending_step AS pending, t.version AS version,
  toIntegerOrNull(t.next_request) - 1 AS requests, toIntegerOrNull(t.next_step) - 1 AS steps, toIntegerOrNull(t.next_node) - 1 AS nodes, t.psa AS psa, t.isu AS isu
ORDER BY task
