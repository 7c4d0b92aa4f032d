// S of MAGE (3.2) as it was after a step: C, R and H, with the notes and verdicts of that time.
// mode: read
// params: space, task, at, hints
// returns: version, open, p_b, p_t, boundary, summaries, recent, nodes, more_nodes, siblings, more_siblings, feedback, options, observed
// why: C is walked up from the p_t of that step, R from its p_b to its boundary: |C| + |R| hops, whatever came before or after.
// why: no quantified pattern: it keeps the nodes behind every end that it finds, which for a long R is the square of its length.
// why: text, verdict and note of a summary are what the steps about it told until then (`told`), folded by the reader.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
MATCH (c:Step {key: t.key + '/step:' + toString($p.at)}) USING INDEX c:Step(key)
MATCH (low:TraceNode {key: c.boundary}) USING INDEX low:TraceNode(key)
CALL (c) {
  MATCH (top:SummaryNode {key: c.p_t}) USING INDEX top:SummaryNode(key)
  MATCH (top)-[:CHILD_OF*0..]->(s)
  CALL (s) {
    MATCH (a:Step) USING INDEX a:Step(about, number) WHERE a.about = s.key AND a.number <= $p.at
    WITH a ORDER BY a.about, a.number
    RETURN collect(a {.number, .kind, .of_step, .verdict, .note, text: coalesce(a.text, a.message)}) AS told
  }
  WITH s, told ORDER BY s.rank
  RETURN collect(s {.key, .rank, .boundary, .last, .text, .verdict, .note, .from_step, .written, copied: s.copied_step IS NOT NULL, told: told}) AS summaries
}
CALL (c, low) {
  MATCH (b:TraceNode {key: c.p_b}) USING INDEX b:TraceNode(key)
  MATCH p = (b)-[:CHILD_OF*0..]->(n)
  WHERE all(m IN nodes(p) WHERE m.depth > low.depth)
  CALL (n) {
    MATCH (n)<-[:CHILD_OF]-(o)
    WITH CASE WHEN o:RawObservation THEN o {.id, .tool, .arguments, .content, .position} END AS o ORDER BY o.position
    RETURN collect(o) AS results
  }
  CALL (n) {
    MATCH (d:Step) USING INDEX d:Step(p_b, abandoned_step) WHERE d.p_b = n.key AND d.abandoned_step > 0 AND d.abandoned_step <= $p.at
    WITH d ORDER BY d.number DESC LIMIT $p.hints
    OPTIONAL MATCH (output:Step {key: n.task + '/step:' + toString(CASE d.kind WHEN 'observe' THEN d.of_step END)}) USING INDEX output:Step(key)
    WITH d, CASE WHEN output.abandoned_step <= $p.at THEN output END AS output
    RETURN collect([] + coalesce(d.added, []) + coalesce(d.updated, []) + coalesce(output.added, []) + coalesce(output.updated, [])) AS wrote
  }
  WITH n, results, wrote ORDER BY n.depth
  RETURN collect(n {.key, .number, .depth, .from_step, results: results, wrote: wrote}) AS recent
}
CALL (c) {
  MATCH (b:TraceNode {key: c.p_b}) USING INDEX b:TraceNode(key)
  CALL (b) {
    MATCH (b)<-[:CHILD_OF]-(k)
    WITH CASE WHEN k:TraceNode AND k.from_step <= $p.at THEN k END AS k ORDER BY k.number DESC
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
      RETURN collect(CASE WHEN s.from_step <= $p.at THEN s END)[0..$p.hints] AS over
    }
    CALL (over) {
      UNWIND over AS s
      CALL (s) {
        MATCH (a:Step) USING INDEX a:Step(about, number) WHERE a.about = s.key AND a.number <= $p.at
        WITH a ORDER BY a.about, a.number
        RETURN collect(a {.number, .kind, .of_step, .verdict, .note, text: coalesce(a.text, a.message)}) AS told
      }
      RETURN collect(s {.key, .text, .verdict, .note, .from_step, told: told}) AS covers
    }
    CALL (k) {
      MATCH (d:Step) USING INDEX d:Step(p_b, abandoned_step) WHERE d.p_b = k.key AND d.abandoned_step > 0 AND d.abandoned_step <= $p.at
      WITH d ORDER BY d.number DESC LIMIT $p.hints
      OPTIONAL MATCH (output:Step {key: k.task + '/step:' + toString(CASE d.kind WHEN 'observe' THEN d.of_step END)}) USING INDEX output:Step(key)
      WITH d, CASE WHEN output.abandoned_step <= $p.at THEN output END AS output
      RETURN collect([] + coalesce(d.added, []) + coalesce(d.updated, []) + coalesce(output.added, []) + coalesce(output.updated, [])) AS wrote
    }
    RETURN collect(k {.key, .number, .depth, .from_step, results: results, covers: covers, wrote: wrote}) AS nodes
  }
  RETURN nodes, size(kids[$p.hints..]) AS more_nodes
}
CALL (c) {
  MATCH (top:SummaryNode {key: c.p_t}) USING INDEX top:SummaryNode(key)
  CALL (top) {
    MATCH (top)<-[:CHILD_OF]-(s)
    WITH CASE WHEN s.from_step <= $p.at THEN s END AS s ORDER BY s.from_step DESC
    RETURN collect(s) AS all
  }
  CALL (all) {
    UNWIND all[0..$p.hints] AS s
    CALL (s) {
      MATCH (a:Step) USING INDEX a:Step(about, number) WHERE a.about = s.key AND a.number <= $p.at
      WITH a ORDER BY a.about, a.number
      RETURN collect(a {.number, .kind, .of_step, .verdict, .note, text: coalesce(a.text, a.message)}) AS told
    }
    RETURN collect(s {.key, .rank, .boundary, .last, .text, .verdict, .note, .from_step, .written, copied: false, told: told}) AS siblings
  }
  RETURN siblings, size(all[$p.hints..]) AS more_siblings
}
OPTIONAL MATCH (f:Step {key: t.key + '/step:' + toString(c.feedback_step)}) USING INDEX f:Step(key)
OPTIONAL MATCH (seen:Step {key: t.key + '/step:' + toString(c.observed_step)}) USING INDEX seen:Step(key)
RETURN c.version AS version, c.open AS open, c.p_b AS p_b, c.p_t AS p_t, low.number AS boundary, summaries, recent, nodes, more_nodes, siblings, more_siblings,
  f.note AS feedback, t {.psa, .isu, .compress, .maintain, .revise, .isolate_states} AS options, seen.node AS observed
