// S of MAGE (3.2): the summaries to p_t (C), the trace nodes since the last compression (R), and what was tried from here (H).
// mode: read
// params: space, task, hints
// returns: version, open, p_b, p_t, boundary, depth, summaries, recent, nodes, more_nodes, siblings, more_siblings, whole, feedback, options, observed
// why: C is walked up from `p_t` (one hop a summary), R is the range of the path below the boundary: nothing is walked from the root.
// why: READ mode: the reader holds the answer against its own structure (depths and ranks without a gap, nothing named that was not found) and reads again when it is torn.
// why: what abandoned steps wrote at a node is a seek on an index that holds abandoned steps only; what came with the calls of the node is of the step before.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  OPTIONAL MATCH (low:TraceNode {key: t.boundary}) USING INDEX low:TraceNode(key)
  RETURN low.depth AS depth, low.number AS boundary
}
CALL (t) {
  MATCH (top:SummaryNode {key: t.p_t}) USING INDEX top:SummaryNode(key)
  MATCH (top)-[:CHILD_OF*0..]->(s)
  WITH s ORDER BY s.rank
  RETURN collect(s {.key, .rank, .boundary, .last, .text, .verdict, .note, .from_step, .written, copied: s.copied_step IS NOT NULL, told: []}) AS summaries
}
CALL (t, depth) {
  MATCH (n:OnPath) USING INDEX n:OnPath(task, depth) WHERE n.task = t.key AND n.depth > depth
  CALL (n) {
    MATCH (n)<-[:CHILD_OF]-(o)
    WITH CASE WHEN o:RawObservation THEN o {.id, .tool, .arguments, .content, .position} END AS o ORDER BY o.position
    RETURN collect(o) AS results
  }
  CALL (n) {
    MATCH (d:Step) USING INDEX d:Step(p_b, abandoned_step) WHERE d.p_b = n.key AND d.abandoned_step > 0
    WITH d ORDER BY d.number DESC LIMIT $p.hints
    OPTIONAL MATCH (output:Step {key: n.task + '/step:' + toString(CASE d.kind WHEN 'observe' THEN d.of_step END)}) USING INDEX output:Step(key)
    WITH d, CASE WHEN output.abandoned_step > 0 THEN output END AS output
    RETURN collect([] + coalesce(d.added, []) + coalesce(d.updated, []) + coalesce(output.added, []) + coalesce(output.updated, [])) AS wrote
  }
  WITH n, results, wrote ORDER BY n.depth
  RETURN collect(n {.key, .number, .depth, .from_step, results: results, wrote: wrote}) AS recent
}
CALL (t) {
  OPTIONAL MATCH (b:TraceNode {key: t.p_b}) USING INDEX b:TraceNode(key)
  CALL (b) {
    MATCH (b)<-[:CHILD_OF]-(k)
    WITH CASE WHEN k:TraceNode THEN k END AS k ORDER BY k.number DESC
    RETURN collect(k) AS kids
  }
  CALL (kids) {
    UNWIND kids[0..$p.hints] AS k
    CALL (k) {
      MATCH (k)<-[:CHILD_OF]-(o)
      WITH CASE WHEN o:RawObservation THEN o {.id, .tool, .arguments, .position, content: left(o.content, 400), characters: size(o.content)} END AS o ORDER BY o.position
      RETURN collect(o) AS results
    }
    CALL (k) {
      MATCH (k)<-[:COVERS]-(s)
      WITH s ORDER BY s.from_step DESC
      RETURN collect(s {.key, .text, .verdict, .note, .from_step, told: []})[0..$p.hints] AS covers
    }
    CALL (k) {
      MATCH (d:Step) USING INDEX d:Step(p_b, abandoned_step) WHERE d.p_b = k.key AND d.abandoned_step > 0
      WITH d ORDER BY d.number DESC LIMIT $p.hints
      OPTIONAL MATCH (output:Step {key: k.task + '/step:' + toString(CASE d.kind WHEN 'observe' THEN d.of_step END)}) USING INDEX output:Step(key)
      WITH d, CASE WHEN output.abandoned_step > 0 THEN output END AS output
      RETURN collect([] + coalesce(d.added, []) + coalesce(d.updated, []) + coalesce(output.added, []) + coalesce(output.updated, [])) AS wrote
    }
    RETURN collect(k {.key, .number, .depth, .from_step, results: results, covers: covers, wrote: wrote}) AS nodes
  }
  RETURN b.key AS found, nodes, size(kids[$p.hints..]) AS more_nodes
}
CALL (t) {
  MATCH (top:SummaryNode {key: t.p_t}) USING INDEX top:SummaryNode(key)
  MATCH (top)<-[:CHILD_OF]-(s)
  WITH s ORDER BY s.from_step DESC
  WITH collect(s {.key, .rank, .boundary, .text, .verdict, .note, .from_step, .written, copied: false, told: []}) AS all
  RETURN all[0..$p.hints] AS siblings, size(all[$p.hints..]) AS more_siblings
}
OPTIONAL MATCH (f:Step {key: t.key + '/step:' + toString(t.feedback_step)}) USING INDEX f:Step(key)
OPTIONAL MATCH (seen:Step {key: t.key + '/step:' + toString(t.observed_step)}) USING INDEX seen:Step(key)
RETURN t.version AS version, t.open AS open, t.p_b AS p_b, t.p_t AS p_t, boundary, depth, summaries, recent, nodes, more_nodes, siblings, more_siblings,
  found = t.p_b AND depth IS NOT NULL AND coalesce(f.number, 0) = coalesce(t.feedback_step, 0) AND coalesce(seen.number, 0) = coalesce(t.observed_step, 0) AS whole,
  f.note AS feedback, t {.psa, .isu, .compress, .maintain, .revise, .isolate_states} AS options, seen.node AS observed
