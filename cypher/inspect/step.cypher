// One step of the ledger of a task, before a fork that of its origin: what it said and did, the states that it wrote, the results that its calls had.
// mode: read
// params: space, task, step
// returns: number, kind, author, calls, message, text, note, verdict, of_step, about, world, boundary_step, result, refused, output, wrote, removed, observed, results
// why: an observation follows its step closely: only verdicts and a compress can come between.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  UNWIND range(0, size(coalesce(t.origins, []))) AS i
  WITH i, (coalesce(t.origins, []) + t.key)[i] AS key
  MATCH (o:Task {key: key}) USING INDEX o:Task(key)
  WITH i, o ORDER BY i
  WITH collect({task: o.key, low: coalesce(o.first_step, 1)}) AS levels
  RETURN [i IN range(0, size(levels) - 1) | {task: levels[i].task, low: levels[i].low, high: coalesce(levels[i + 1].low - 1, 9223372036854775807)}] AS ledger
}
WITH t, ledger, coalesce($p.step, t.next_step - 1) AS number
WITH t, number, [l IN ledger WHERE l.low <= number AND number <= l.high][0] AS place
MATCH (s:Step {key: place.task + '/step:' + toString(number)}) USING INDEX s:Step(key)
CALL (t, s, place) {
  MATCH (v:State) USING INDEX v:State(task, from_step)
  WHERE v.task = place.task AND v.from_step = s.number
  WITH t, v WHERE v.copied_step IS NULL
  WITH t, v ORDER BY v.position, v.id LIMIT 200
  OPTIONAL MATCH (l:State {live_key: t.key + '/state:' + v.id}) USING INDEX l:State(live_key)
  RETURN collect({id: v.id, kind: toLower([x IN labels(v) WHERE NOT x IN ['State', 'Live']][0]), lineage: v.lineage, summary: v.summary,
    in_view: coalesce(l.lineage = v.lineage, false)}) AS wrote
}
CALL (s, place) {
  WITH s, place WHERE s.kind <> 'observe' AND s.calls IS NOT NULL
  MATCH (o:Step) USING INDEX o:Step(task, number)
  WHERE o.task = place.task AND o.number > s.number AND o.number <= place.high
  WITH s, o WHERE o.kind = 'observe' AND o.of_step = s.number
  RETURN o ORDER BY o.task, o.number LIMIT 1
  UNION
  WITH s WHERE s.kind = 'observe'
  RETURN s AS o
  UNION
  RETURN null AS o
}
WITH t, s, wrote, collect(o)[0] AS o
OPTIONAL MATCH (n:TraceNode {key: o.node}) USING INDEX n:TraceNode(key)
CALL (n) {
  MATCH (n)<-[:CHILD_OF]-(q)
  WITH CASE WHEN q:RawObservation THEN q {.id, .key, .tool, .arguments} END AS q, q.position AS place ORDER BY place
  RETURN collect(q) AS results
}
OPTIONAL MATCH (c:SummaryNode {key: s.about}) USING INDEX c:SummaryNode(key)
RETURN s.number AS number, s.kind AS kind, s.author AS author, s.calls AS calls, s.message AS message, s.text AS text, s.note AS note, s.verdict AS verdict,
  s.of_step AS of_step, c {.key, .boundary, .verdict, .note, text: left(c.text, 400), on_path: c:OnPath} AS about, s.world AS world,
  s.boundary_step AS boundary_step, s.result AS result, s.refused AS refused, s.output AS output, wrote, s.removed AS removed,
  o {.number, node: n.number, .merged} AS observed, results
