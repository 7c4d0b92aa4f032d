// Steps by number as the ledger of a task has them, those before a fork in its origins: who wrote, at which node, below which finished subgoal, and what became of it.
// mode: read
// params: space, task, numbers
// returns: number, kind, author, request, asked, standing, origin, node, abandoned_step, feedback, summary
// why: the subgoal is the summary below p_t that was the first to be written after the step and before the step was abandoned; a step at which a summary became the top, or was confirmed or restored as it, belongs to that one.
// why: what an origin did after the fork (a finish, a revise) is no part of the fork's past; in the fork the summary is named by its copy.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  UNWIND range(0, size(coalesce(t.origins, []))) AS i
  WITH i, (coalesce(t.origins, []) + t.key)[i] AS key
  MATCH (o:Task {key: key}) USING INDEX o:Task(key)
  WITH i, o ORDER BY i
  WITH collect({task: o.key, low: coalesce(o.first_step, 1)}) AS levels
  RETURN [i IN range(0, size(levels) - 1) | {task: levels[i].task, low: levels[i].low, high: coalesce(levels[i + 1].low - 1, 9223372036854775807)}] AS ledger
}
UNWIND $p.numbers AS number
WITH t, ledger, number, [l IN ledger WHERE l.low <= number AND number <= l.high][0] AS place
MATCH (s:Step {key: place.task + '/step:' + toString(number)}) USING INDEX s:Step(key)
WITH t, ledger, number, place, s, CASE WHEN s.abandoned_step <= place.high THEN s.abandoned_step END AS left_in
OPTIONAL MATCH (r:Request {key: place.task + '/request:' + toStringOrNull(s.request)}) USING INDEX r:Request(key)
OPTIONAL MATCH (own_request:Request {key: t.key + '/request:' + toStringOrNull(s.request)}) USING INDEX own_request:Request(key)
OPTIONAL MATCH (x:Step {key: place.task + '/step:' + toStringOrNull(left_in)}) USING INDEX x:Step(key)
OPTIONAL MATCH (b:TraceNode {key: s.p_b}) USING INDEX b:TraceNode(key)
OPTIONAL MATCH (above:SummaryNode {key: CASE WHEN s.top IS NULL AND s.kind <> 'maintain' THEN s.p_t END}) USING INDEX above:SummaryNode(key)
CALL (above, ledger) {
  MATCH (above) ((c)<-[:DERIVES]-(d))* (q)
  WITH CASE WHEN q.task IN [l IN ledger | l.task] THEN q END AS q
  RETURN collect(q) AS tops
}
CALL (tops) {
  UNWIND tops AS q
  MATCH (q)<-[:CHILD_OF]-(c)
  RETURN collect(CASE WHEN c:SummaryNode THEN c END) AS kids
}
CALL (ledger, s, left_in, kids) {
  UNWIND kids AS c
  MATCH (a:Step) USING INDEX a:Step(about, number)
  WHERE a.about = c.key AND a.number > s.number
  WITH s, left_in, c, a, [l IN ledger WHERE l.task = a.task][0].high AS high
  WHERE a.number <= high AND a.number <= coalesce(left_in, a.number) AND coalesce(a.text, a.message) IS NOT NULL AND a.kind <> 'maintain'
    AND (a.kind <> 'revise' OR a.number = left_in)
  RETURN c ORDER BY a.number LIMIT 1
  UNION
  WITH coalesce(s.top, CASE WHEN s.kind = 'maintain' THEN s.about END) AS named
  MATCH (c:SummaryNode {key: named}) USING INDEX c:SummaryNode(key)
  WITH c WHERE c.rank > 0
  RETURN c
  UNION
  RETURN null AS c
}
WITH t, number, place, s, left_in, r, coalesce(own_request, r) AS heading, x, b, collect(c)[0] AS c
CALL (t, c) {
  MATCH (c) ((m)<-[:DERIVES]-(d))* (q)
  WITH c, q, CASE WHEN q.task = t.key THEN 0 ELSE 1 END AS far ORDER BY far LIMIT 1
  RETURN collect(CASE WHEN far = 0 THEN q ELSE c END)[0] AS own
}
RETURN number, s.kind AS kind, s.author AS author, s.request AS request, left(toStringOrNull(r.text), 400) AS asked,
  CASE WHEN heading.number = t.open THEN 'open' WHEN heading.abandoned_step IS NOT NULL THEN 'abandoned'
    WHEN heading.finished_step IS NULL AND heading.cut_step IS NOT NULL THEN 'cut' WHEN heading IS NOT NULL THEN 'finished' END AS standing,
  CASE WHEN place.task <> t.key THEN substring(place.task, size(t.space) + 1) END AS origin, b.number AS node, left_in AS abandoned_step,
  x.note AS feedback, own {.key, .boundary, .verdict, .note, text: left(own.text, 400), on_path: own:OnPath} AS summary
ORDER BY number
