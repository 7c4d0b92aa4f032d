// The trace nodes from one to the root of its task, newest first; where the task is a fork, the last one names its original.
// mode: read
// params: space, key, limit
// returns: number, depth, name, key, original, on
// why: a walk from leaf to root, for looking and comparing: no prompt is made of it.
MATCH (b:TraceNode {key: $p.key}) USING INDEX b:TraceNode(key) WHERE b.space = $p.space
MATCH (b)-[:CHILD_OF*0..]->(n:TraceNode)
CALL (n) {
  MATCH (n)-[:DERIVES*0..]->(o:TraceNode)
  RETURN collect(o.key)[-1] AS original
}
CALL (n) {
  MATCH (n)-[:DERIVES]->(o:TraceNode)
  RETURN collect(o.key)[0] AS on
}
RETURN n.number AS number, n.depth AS depth, n.name AS name, n.key AS key, original, on
ORDER BY depth DESC LIMIT coalesce($p.limit, 1000000)
