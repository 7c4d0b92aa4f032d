// The ledger of a task, one row a step, oldest first; the newest ones where there are more than the limit.
// mode: read
// params: space, task, request, first, last, limit
// returns: number, kind, author, request, calls, added, updated, removed, rejected, refused, disclosed, message, node, merged, of_step, answered, version, text, note, verdict, about, world, boundary_step, abandoned_step, origin, result
// why: the steps of a request lie between its opening and its finish, or the opening of the next one: a verdict can come after the finish.
// why: `abandoned_step` is the revise that left a step behind.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
OPTIONAL MATCH (r:Request {key: t.key + '/request:' + toString($p.request)}) USING INDEX r:Request(key)
OPTIONAL MATCH (later:Request {key: t.key + '/request:' + toString($p.request + 1)}) USING INDEX later:Request(key)
WITH t, later, CASE WHEN $p.request IS NULL THEN 1 ELSE coalesce(toIntegerOrNull(r.opened_step), toIntegerOrNull(t.next_step)) END AS opened,
  coalesce(CASE WHEN $p.request IS NOT NULL THEN toIntegerOrNull(r.finished_step) END, toIntegerOrNull(t.next_step)) AS finished
WITH t, opened, CASE WHEN $p.request IS NULL OR coalesce(toIntegerOrNull(later.opened_step), toIntegerOrNull(t.next_step)) <= finished THEN finished
  ELSE coalesce(toIntegerOrNull(later.opened_step), toIntegerOrNull(t.next_step)) END AS finished
WITH t, CASE WHEN opened > coalesce($p.first, 1) THEN opened ELSE $p.first END AS low,
  CASE WHEN $p.last IS NULL OR finished < $p.last THEN finished ELSE $p.last END AS high
CALL (t, low, high) {
  MATCH (s:Step) USING INDEX s:Step(task, number)
  WHERE s.task = t.key AND s.number >= coalesce(low, 1) AND s.number <= high
  WITH s WHERE s.request = coalesce($p.request, s.request)
  WITH s ORDER BY s.task DESC, s.number DESC LIMIT coalesce($p.limit, 200)
  RETURN s
}
OPTIONAL MATCH (a:Step {key: CASE WHEN s.kind = 'observe' THEN s.task + '/step:' + toStringOrNull(s.of_step) END}) USING INDEX a:Step(key)
OPTIONAL MATCH (c:SummaryNode {key: s.about}) USING INDEX c:SummaryNode(key)
RETURN s.number AS number, s.kind AS kind, s.author AS author, s.request AS request, s.calls AS calls, s.added AS added,
  s.updated AS updated, s.removed AS removed, s.rejected AS rejected, s.refused AS refused, s.disclosed AS disclosed,
  left(toStringOrNull(s.message), 400) AS message, s.visited AS node, s.merged AS merged, s.of_step AS of_step, a.calls AS answered, s.version AS version,
  left(toStringOrNull(s.text), 400) AS text, left(toStringOrNull(s.note), 400) AS note, s.verdict AS verdict, c.boundary AS about, s.world AS world,
  s.boundary_step AS boundary_step, s.abandoned_step AS abandoned_step, CASE WHEN s.kind = 'fork' THEN substring(t.origins[-1], size(t.space) + 1) END AS origin,
  CASE WHEN s.kind = 'revise' THEN s.result END AS result
ORDER BY number
