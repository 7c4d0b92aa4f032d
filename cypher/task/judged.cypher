// What Maintain shows a judge (MAGE, Algorithm 1, lines 37-39): the request, the covered trace, the summary, the preferences in view.
// mode: read
// params: space, task, key
// returns: key, rank, boundary, text, verdict, note, from_step, copied, on_path, of_step, request, asked, trace, preferences
// why: `of_step` is the step that wrote the text which is judged; a verdict that comes late is told by it from one about another text.
// why: a summary that came with a fork covers what its original covers, which stays in the origin.
// why: without a summary (`key` null: without Compress) the trace is everything since the boundary.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
OPTIONAL MATCH (s:SummaryNode {key: $p.key}) USING INDEX s:SummaryNode(key)
WITH t, CASE WHEN s.task = t.key THEN s END AS s
CALL (s) {
  MATCH (s) ((a WHERE a.copied_step IS NOT NULL)-[:DERIVES]->(b))* (o WHERE o.copied_step IS NULL)
  RETURN collect({node: o, until: a[-1].from_step})[0] AS source
}
OPTIONAL MATCH (w:Step {key: t.key + '/step:' + toString(s.written)}) USING INDEX w:Step(key)
CALL (source) {
  WITH source WHERE source.until IS NOT NULL
  MATCH (c:Step) USING INDEX c:Step(about, number) WHERE c.about = source.node.key AND c.number < source.until
  WITH c WHERE c.kind <> 'maintain' AND coalesce(c.text, c.message) IS NOT NULL
  WITH c ORDER BY c.about DESC, c.number DESC LIMIT 1
  RETURN collect(c.request)[0] AS copied
}
WITH t, s, source.node AS source, coalesce(w.request, copied, t.open, t.next_request - 1) AS number
OPTIONAL MATCH (r:Request {key: t.key + '/request:' + toString(number)}) USING INDEX r:Request(key)
CALL (source) {
  MATCH (source)-[:COVERS]->(x)
  RETURN collect(x) AS covered
}
OPTIONAL MATCH (low:TraceNode {key: CASE WHEN s IS NULL THEN t.boundary END}) USING INDEX low:TraceNode(key)
CALL (t, low) {
  MATCH (x:OnPath) USING INDEX x:OnPath(task, depth) WHERE x.task = t.key AND x.depth > low.depth
  RETURN collect(x) AS since
}
WITH t, s, r, number, covered + since AS nodes
CALL (nodes) {
  UNWIND nodes AS x
  CALL (x) {
    MATCH (x)<-[:CHILD_OF]-(o)
    WITH CASE WHEN o:RawObservation THEN o {.id, .tool, .arguments, .content, .position} END AS o ORDER BY o.position
    RETURN collect(o) AS results
  }
  WITH x, results ORDER BY x.depth
  RETURN collect(x {.key, .number, .depth, .from_step, results: results, wrote: []}) AS trace
}
CALL (t) {
  MATCH (v:Live) USING INDEX v:Live(task, request, born, position)
  WHERE v.task = t.key AND v.request IS NOT NULL AND v.born IS NOT NULL AND v.position IS NOT NULL
  WITH v ORDER BY v.task, v.request, v.born, v.position
  RETURN collect(CASE WHEN v:Preference THEN v {.id, .summary, .value} END) AS preferences
}
RETURN s.key AS key, s.rank AS rank, s.boundary AS boundary, s.text AS text, s.verdict AS verdict, s.note AS note, s.from_step AS from_step,
  s.copied_step IS NOT NULL AS copied, s:OnPath AS on_path, s.written AS of_step, number AS request, r.text AS asked, trace, preferences
