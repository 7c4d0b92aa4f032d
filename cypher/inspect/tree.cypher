// The execution tree as the ledger grew it, one row a step: the trace node, the summary or the request that it made, and the states it changed.
// mode: read
// params: space, task, first, limit
// returns: step, kind, of_step, request, abandoned_step, p_b, node, made, summary, asked, added, updated, removed
// why: steps are numbered without a gap, so that a tree of any size is read in pages of `limit` steps, each by seeks; `first` begins a page.
// why: `made` is null where an observation walked a node again: `node` then names it, and its first step has it.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  MATCH (s:Step) USING INDEX s:Step(task, number)
  WHERE s.task = t.key AND s.number >= coalesce($p.first, 1) AND s.number < coalesce($p.first, 1) + coalesce($p.limit, 1000)
  RETURN s
}
OPTIONAL MATCH (n:TraceNode {key: CASE WHEN s.kind = 'observe' AND NOT coalesce(s.merged, false) THEN s.node END}) USING INDEX n:TraceNode(key)
OPTIONAL MATCH (c:SummaryNode {key: CASE WHEN s.kind <> 'maintain' THEN coalesce(s.about, s.top) END}) USING INDEX c:SummaryNode(key)
OPTIONAL MATCH (r:Request {key: CASE WHEN s.kind = 'open' THEN s.task + '/request:' + toStringOrNull(s.request) END}) USING INDEX r:Request(key)
CALL (n) {
  OPTIONAL MATCH (n)-[:CHILD_OF]->(m)
  RETURN m.key AS parent
}
CALL (c) {
  OPTIONAL MATCH (c)-[:CHILD_OF]->(m)
  RETURN m.key AS above
}
RETURN s.number AS step, s.kind AS kind, s.of_step AS of_step, s.request AS request, s.abandoned_step AS abandoned_step, s.p_b AS p_b, s.node AS node,
  n {.key, .number, .depth, .name, .from_step, copied: n.copied_step IS NOT NULL, parent: parent} AS made,
  c {.key, .boundary, .rank, .name, .last, .verdict, .from_step, copied: c.copied_step IS NOT NULL, parent: above, text: left(c.text, 1000),
    note: left(c.note, 1000)} AS summary,
  r {.number, .opened_step, .finished_step, .abandoned_step, text: left(r.text, 1000), is_open: coalesce(r.number = t.open, false)} AS asked,
  s.added AS added, s.updated AS updated, s.removed AS removed
ORDER BY step
