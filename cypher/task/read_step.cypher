// One step of the ledger: what it was, what its status had folded away, and the cursor after it.
// mode: read
// params: space, task, step
// returns: number, kind, request, open, output, fold, joined, path_tokens, pending_step, next_node, p_b, p_t, boundary, first_step, steps, origin
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
OPTIONAL MATCH (s:Step {key: t.key + '/step:' + toString($p.step)}) USING INDEX s:Step(key)
RETURN s.number AS number, s.kind AS kind, s.request AS request, s.open AS open, s.output AS output, s.fold AS fold, s.joined AS joined,
  s.path_tokens AS path_tokens, s.pending_step AS pending_step, s.next_node AS next_node, s.p_b AS p_b, s.p_t AS p_t, s.boundary AS boundary,
  coalesce(t.first_step, 1) AS first_step, t.next_step - 1 AS steps, t.origins[-1] AS origin
