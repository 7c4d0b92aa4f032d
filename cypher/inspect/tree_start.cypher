// Where the tree of a task begins and where its cursor stands: the roots, what a fork brought with it, the last step.
// mode: read
// params: space, task
// returns: version, open, last, p_b, p_t, boundary, origin, nodes, summaries, requests
// why: what no later step grew is walked up from the cursor of the first one: two roots, in a fork the copies of C and R.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
OPTIONAL MATCH (f:Step {key: t.key + '/step:' + toString(coalesce(t.first_step, 1))}) USING INDEX f:Step(key)
CALL (f) {
  OPTIONAL MATCH (b:TraceNode {key: f.p_b}) USING INDEX b:TraceNode(key)
  OPTIONAL MATCH (b)-[:CHILD_OF*0..]->(n)
  CALL (n) {
    OPTIONAL MATCH (n)-[:CHILD_OF]->(m)
    RETURN CASE WHEN m:TraceNode THEN m.key END AS above
  }
  WITH n, above ORDER BY n.depth
  RETURN collect(CASE WHEN n:TraceNode THEN n {.key, .number, .depth, .name, .from_step, copied: n.copied_step IS NOT NULL, parent: above} END) AS nodes
}
CALL (f) {
  OPTIONAL MATCH (b:SummaryNode {key: f.p_t}) USING INDEX b:SummaryNode(key)
  OPTIONAL MATCH (b)-[:CHILD_OF*0..]->(s)
  CALL (s) {
    OPTIONAL MATCH (s)-[:CHILD_OF]->(m)
    RETURN m.key AS above
  }
  WITH s, above ORDER BY s.rank
  RETURN collect(CASE WHEN s:SummaryNode THEN s {.key, .boundary, .rank, .name, .last, .verdict, .from_step, copied: s.copied_step IS NOT NULL, parent: above,
    text: left(s.text, 1000), note: left(s.note, 1000)} END) AS summaries
}
CALL (t, f) {
  UNWIND CASE WHEN f.kind = 'fork' THEN range(1, toIntegerOrNull(f.request)) ELSE [] END AS number
  MATCH (r:Request {key: t.key + '/request:' + toString(number)}) USING INDEX r:Request(key)
  RETURN collect(r {.number, .opened_step, .finished_step, .abandoned_step, text: left(r.text, 1000), is_open: coalesce(r.number = t.open, false)}) AS requests
}
RETURN t.version AS version, t.open AS open, t.next_step - 1 AS last, t.p_b AS p_b, t.p_t AS p_t, t.boundary AS boundary, t.origins[-1] AS origin,
  nodes, summaries, requests
