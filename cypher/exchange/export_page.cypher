// What a run of steps wrote: the steps, the requests they opened, the nodes they grew with their raw results, summaries, versions; each with the relations that lead from it.
// mode: read
// params: space, task, after, until
// returns: labels, properties, above, relations
// why: every node of a task names the step that made it, so the ledger leads to all of them by seeks, a page at a time, parents before children, what a step names before the step.
// why: an arrow from a raw result to a fork's copy of its node belongs to the fork.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  MATCH (s:Step) USING INDEX s:Step(task, number)
  WHERE s.task = t.key AND s.number > $p.after AND s.number <= $p.until
  CALL (t, s) {
    WITH t, s WHERE s.kind = 'open'
    MATCH (r:Request {key: t.key + '/request:' + toString(s.request)}) USING INDEX r:Request(key)
    RETURN r AS n
    UNION ALL
    WITH t, s WHERE s.kind = 'open' AND s.number = 1
    MATCH (x:TraceNode {key: s.p_b}) USING INDEX x:TraceNode(key)
    RETURN x AS n
    UNION ALL
    WITH t, s WHERE s.kind = 'open' AND s.number = 1
    MATCH (y:SummaryNode {key: s.p_t}) USING INDEX y:SummaryNode(key)
    RETURN y AS n
    UNION ALL
    WITH t, s WHERE s.kind = 'observe' AND NOT coalesce(s.merged, false)
    MATCH (x:TraceNode {key: s.node}) USING INDEX x:TraceNode(key)
    RETURN x AS n
    UNION ALL
    WITH t, s WHERE s.kind = 'observe' AND NOT coalesce(s.merged, false)
    UNWIND range(1, size(s.call_ids)) AS i
    MATCH (o:RawObservation {key: t.key + '/obs:' + toString(s.visited) + '.' + toString(i)}) USING INDEX o:RawObservation(key)
    RETURN o AS n
    UNION ALL
    WITH t, s WHERE s.about IS NOT NULL
    MATCH (y:SummaryNode {key: s.about}) USING INDEX y:SummaryNode(key)
    WITH s, y WHERE y.from_step = s.number AND y.copied_step IS NULL
    RETURN y AS n
    UNION ALL
    RETURN s AS n
  }
  RETURN n
  UNION ALL
  MATCH (v:State) USING INDEX v:State(task, from_step)
  WHERE v.task = t.key AND v.from_step > $p.after AND v.from_step <= $p.until
  RETURN v AS n
}
CALL (t, n) {
  MATCH (n)-[r]->(m)
  WITH n, r, m WHERE NOT (n:RawObservation AND m.task <> t.key)
  RETURN collect({type: type(r), properties: properties(r), from: n.key, key: m.key, task: m.task, owner: n.task}) AS relations
}
CALL (n) {
  MATCH (n)-[:CHILD_OF]->(p)
  RETURN collect(CASE WHEN (n:TraceNode AND p:TraceNode) OR (n:SummaryNode AND p:SummaryNode) THEN p.key END)[0] AS above
}
RETURN labels(n) AS labels, properties(n) AS properties, above, relations
