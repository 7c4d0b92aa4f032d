// What a fork at a step takes over that is not in the path or the status: headings as they ended, raw calls that ran since, the boundary's chain.
// mode: write
// params: space, task, op, at
// returns: finished, calls, chain, recent, disclosed, rejected, refused, feedback
// why: the origin is locked, so that what a revise there is moving is told as it was, and two forks do not wait for each other's raw results.
// why: a heading's finish is looked for in the ledger only where what it caches is of a later time, and from the next heading back: a
// request that is followed by another is never open again, so the first message found is it.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op // lock
WITH t
MATCH (c:Step {key: t.key + '/step:' + toString($p.at)}) USING INDEX c:Step(key)
CALL (t, c) {
  UNWIND range(1, c.request) AS number
  MATCH (r:Request {key: t.key + '/request:' + toString(number)}) USING INDEX r:Request(key)
  OPTIONAL MATCH (after:Request {key: t.key + '/request:' + toString(number + 1)}) USING INDEX after:Request(key)
  CALL (t, c, r, after) {
    WITH t, r, CASE WHEN after.opened_step < $p.at THEN after.opened_step ELSE $p.at END AS until
    WHERE coalesce(r.finished_step > $p.at, true) AND coalesce(r.number <> c.open, true)
      AND coalesce(r.abandoned_step > $p.at, true) AND coalesce(r.cut_step > $p.at, true)
    MATCH (s:Step) USING INDEX s:Step(task, number)
    WHERE s.task = t.key AND s.number >= r.opened_step AND s.number <= until
    WITH s WHERE s.request = r.number AND s.message IS NOT NULL AND s.kind <> 'open' AND coalesce(s.abandoned_step, $p.at + 1) > $p.at
    WITH s ORDER BY s.task DESC, s.number DESC LIMIT 1
    RETURN collect(s.number)[0] AS finish
  }
  WITH number, CASE WHEN r.finished_step <= $p.at THEN r.finished_step ELSE finish END AS finish
  RETURN collect({number: number, step: finish}) AS finished
}
CALL (t) {
  MATCH (s:Step) USING INDEX s:Step(task, number) WHERE s.task = t.key AND s.number > $p.at
  WITH s WHERE s.irreversible IS NOT NULL
  MATCH (x:TraceNode {key: s.node}) USING INDEX x:TraceNode(key)
  CALL (s, x) {
    MATCH (x)<-[:CHILD_OF]-(o)
    WITH CASE WHEN o:RawObservation AND o.tool IN s.irreversible THEN o END AS o ORDER BY o.position
    RETURN collect(o {.id, .tool, .arguments, known: o.content IS NOT NULL}) AS ran
  }
  WITH s, ran ORDER BY s.number
  RETURN collect({step: s.number, ran: ran}) AS calls
}
CALL (c) {
  MATCH (top:SummaryNode {key: c.p_t}) USING INDEX top:SummaryNode(key)
  MATCH (top)-[:CHILD_OF*0..]->(s)
  WITH s ORDER BY s.rank
  RETURN collect(s {.key, .last}) AS chain
}
CALL (c) {
  MATCH (low:TraceNode {key: c.boundary}) USING INDEX low:TraceNode(key)
  RETURN low.depth AS depth
}
CALL (c, depth) {
  MATCH (b:TraceNode {key: c.p_b}) USING INDEX b:TraceNode(key)
  MATCH p = (b)-[:CHILD_OF*0..]->(n)
  WHERE all(m IN nodes(p) WHERE m.depth > depth)
  WITH n ORDER BY n.depth
  RETURN collect(n {.key, .hash}) AS recent
}
CALL (t, c) {
  CALL (t, c) {
    MATCH (d:Step) USING INDEX d:Step(scope) WHERE d.scope = t.key + '#' + toString(c.open)
    RETURN d
    UNION ALL
    MATCH (d:Step) USING INDEX d:Step(left_scope) WHERE d.left_scope = t.key + '#' + toString(c.open)
    RETURN d
  }
  WITH d WHERE d.number <= $p.at AND coalesce(d.abandoned_step, $p.at + 1) > $p.at
  WITH d.disclosed AS ids, d.disclosed_steps AS steps, d.number AS number ORDER BY number
  UNWIND range(0, coalesce(size(ids), 0) - 1) AS i
  RETURN collect({id: ids[i], step: coalesce(steps[i], number)}) AS disclosed
}
OPTIONAL MATCH (l:Step {key: t.key + '/step:' + toString(c.last_step)}) USING INDEX l:Step(key)
OPTIONAL MATCH (h:Step {key: t.key + '/step:' + toString(c.feedback_step)}) USING INDEX h:Step(key)
RETURN finished, calls, chain, recent, disclosed, l.rejected AS rejected, l.refused AS refused, h.note AS feedback
