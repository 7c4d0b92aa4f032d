// Deletes a run of steps of a held task, with all that they made and every relation to it.
// mode: write
// params: space, task, op, after, until
// returns: kinds, verdict
// why: every node of a task names the step that made it, so the ledger leads to all of them by seeks; copies of a fork go with its first step.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op
WITH t, CASE WHEN t.held = 'forget' THEN 'ok' ELSE 'lost' END AS verdict
CALL (t, verdict) {
  CALL (t, verdict) {
    WITH t, verdict WHERE verdict = 'ok'
    MATCH (s:Step) USING INDEX s:Step(task, number)
    WHERE s.task = t.key AND s.number > $p.after AND s.number <= $p.until
    CALL (t, s) {
      RETURN s AS n
      UNION ALL
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
      WITH t, s WHERE s.kind = 'fork'
      UNWIND range(1, s.request) AS number
      MATCH (r:Request {key: t.key + '/request:' + toString(number)}) USING INDEX r:Request(key)
      WITH r WHERE r.copied_step IS NOT NULL
      RETURN r AS n
      UNION ALL
      WITH t, s WHERE s.kind = 'fork'
      MATCH (b:TraceNode {key: s.p_b}) USING INDEX b:TraceNode(key)
      MATCH (b)-[:CHILD_OF*0..]->(x)
      WITH x WHERE x:TraceNode
      RETURN x AS n
      UNION ALL
      WITH t, s WHERE s.kind = 'fork'
      MATCH (top:SummaryNode {key: s.p_t}) USING INDEX top:SummaryNode(key)
      MATCH (top)-[:CHILD_OF*0..]->(y)
      RETURN y AS n
    }
    RETURN n
    UNION ALL
    WITH t, verdict WHERE verdict = 'ok'
    MATCH (v:State) USING INDEX v:State(task, from_step)
    WHERE v.task = t.key AND v.from_step > $p.after AND v.from_step <= $p.until
    RETURN v AS n
  }
  RETURN collect(DISTINCT n) AS found
}
WITH verdict, found, [n IN found | [l IN labels(n) WHERE NOT l IN ['State', 'Live', 'OnPath']][0]] AS kinds
FOREACH (n IN found | DETACH DELETE n)
RETURN kinds, verdict
