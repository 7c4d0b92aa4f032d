// What a fork was given with its first step: headings, the nodes of R and of C, each with the relations that lead from it.
// mode: read
// params: space, task
// returns: labels, properties, above, relations
// why: copies are never left by a revise, so they are the chains above the cursor that the fork's own step keeps.
// why: raw results of copied nodes belong to an origin; their arrows to the copies came with the fork and are told with it.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
MATCH (s:Step {key: t.key + '/step:' + toString(t.first_step)}) USING INDEX s:Step(key)
CALL (t, s) {
  UNWIND range(1, s.request) AS number
  MATCH (r:Request {key: t.key + '/request:' + toString(number)}) USING INDEX r:Request(key)
  WITH r WHERE r.copied_step IS NOT NULL
  RETURN r AS n
  UNION ALL
  MATCH (b:TraceNode {key: s.p_b}) USING INDEX b:TraceNode(key)
  MATCH (b)-[:CHILD_OF*0..]->(x)
  WITH x WHERE x:TraceNode
  WITH x ORDER BY x.depth
  RETURN x AS n
  UNION ALL
  MATCH (top:SummaryNode {key: s.p_t}) USING INDEX top:SummaryNode(key)
  MATCH (top)-[:CHILD_OF*0..]->(x)
  WITH x ORDER BY x.rank
  RETURN x AS n
}
CALL (n) {
  MATCH (n)-[r]->(m)
  RETURN collect({type: type(r), properties: properties(r), from: n.key, key: m.key, task: m.task, owner: n.task}) AS outgoing
}
CALL (t, n) {
  MATCH (n)<-[r:CHILD_OF]-(o)
  RETURN collect(CASE WHEN o:RawObservation AND o.task <> t.key THEN {type: type(r), properties: properties(r), from: o.key, key: n.key, task: o.task, owner: n.task} END) AS incoming
}
CALL (n) {
  MATCH (n)-[:CHILD_OF]->(p)
  RETURN collect(CASE WHEN (n:TraceNode AND p:TraceNode) OR (n:SummaryNode AND p:SummaryNode) THEN p.key END)[0] AS above
}
RETURN labels(n) AS labels, properties(n) AS properties, above, outgoing + incoming AS relations
