// First statement of a revise: locks the task and says what would be restored, and to which step of the ledger.
// mode: write
// params: space, task, op, attempt, version, request, target, boundary
// returns: verdict, number, version, p_b, open, reopened, target, restored, depth, back, tail, targets, origin, isolates, done
// why: restored is the parent of the target (MAGE, Algorithm 1, line 53), or p_t when only the tail is popped.
// why: `back` is the latest step at which it became or was confirmed as the top: one seek on an index ordered by number.
// why: what lies below a summary that was copied into a fork was the top in no step of it; only there can R have nothing that can be popped.
// why: with no request open the last one is reopened, so that a final answer that was rejected need not be asked for again.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op
WITH t
OPTIONAL MATCH (k:Step {attempt: $p.attempt}) USING INDEX k:Step(attempt)
CALL (t) {
  MATCH (top:SummaryNode {key: t.p_t}) USING INDEX top:SummaryNode(key)
  MATCH (top)-[:CHILD_OF*0..]->(s)
  WITH s ORDER BY s.rank
  RETURN collect(s) AS chain
}
WITH t, k, chain, [s IN chain WHERE s.rank > 0 AND (s.key = $p.target OR s.boundary = $p.boundary)][0] AS target,
  $p.target IS NULL AND $p.boundary IS NULL AS popping
WITH t, k, chain, target, popping, CASE WHEN popping THEN chain[-1] WHEN target IS NOT NULL THEN chain[target.rank - chain[0].rank - 1] END AS restored
CALL (restored, target) {
  WITH restored WHERE target.copied_step IS NULL
  MATCH (b:Step) USING INDEX b:Step(top, number) WHERE b.top = restored.key AND b.number > 0
  RETURN b ORDER BY b.top DESC, b.number DESC LIMIT 1
  UNION ALL
  WITH restored WHERE restored IS NULL OR target.copied_step IS NOT NULL
  RETURN null AS b
}
OPTIONAL MATCH (low:TraceNode {key: b.p_b}) USING INDEX low:TraceNode(key)
CALL (t, popping, low) {
  WITH t, low WHERE popping AND t.p_b <> low.key
  MATCH (x:OnPath) USING INDEX x:OnPath(task, depth) WHERE x.task = t.key AND x.depth > low.depth
  CALL (x) {
    MATCH (x)<-[:CHILD_OF]-(o)
    WITH CASE WHEN o:RawObservation THEN o {.tool, .arguments, content: left(o.content, 200), .position} END AS o ORDER BY o.position
    RETURN collect(o) AS results
  }
  WITH x, results ORDER BY x.depth
  RETURN collect({number: x.number, results: results}) AS tail
}
WITH t, k, chain, target, popping, restored, b, low, tail, CASE WHEN t.held IS NOT NULL THEN 'missing' WHEN k.abandoned_step IS NOT NULL THEN 'abandoned' WHEN k IS NOT NULL THEN 'replay'
    WHEN NOT coalesce(t.revise, true) THEN 'off'
    WHEN $p.request IS NOT NULL AND coalesce(t.open, 0) <> $p.request THEN 'closed'
    WHEN $p.version IS NOT NULL AND t.version <> $p.version THEN 'stale'
    WHEN t.pending_step IS NOT NULL THEN 'pending' WHEN restored IS NULL THEN 'off path' WHEN target.copied_step IS NOT NULL THEN 'copied'
    WHEN popping AND t.p_b = low.key THEN CASE WHEN t.p_b <> t.boundary OR (restored.copied_step IS NOT NULL AND restored.rank > 0) THEN 'copied' ELSE 'empty' END
    ELSE 'ok' END AS verdict
RETURN verdict, t.next_step AS number, t.version AS version, t.p_b AS p_b, t.open AS open, coalesce(t.open, t.next_request - 1) AS reopened,
  CASE WHEN target IS NOT NULL THEN target {.key, .boundary, .note, .text} END AS target, restored {.key, .rank} AS restored, low.depth AS depth,
  b {.number, .p_b, .boundary, .request} AS back, tail,
  [s IN chain WHERE s.rank > 0 AND s.copied_step IS NULL | s {.key, .boundary, .text}] AS targets,
  CASE WHEN t.origins IS NOT NULL THEN {task: t.origins[-1], step: t.first_step - 1} END AS origin,
  coalesce(t.isolate_states, true) AS isolates,
  CASE WHEN k IS NOT NULL THEN k {.number, .version, .result, .kind, .op, .p_b, .output, .added, .updated, .removed, .rejected, .disclosed, .calls, .message, .repairs, .refused, .about} END AS done
