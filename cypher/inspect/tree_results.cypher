// The raw results of trace nodes by their number ℓ, each with its beginning and its length, a page of nodes at a time.
// mode: read
// params: space, task, first, limit, characters
// returns: node, id, tool, arguments, content, length, request, step
// why: the first result of ℓ has a key that is made of ℓ, so a page is seeks; in a fork the results of older nodes are those of the origins.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
UNWIND range(coalesce($p.first, 1), coalesce($p.first, 1) + coalesce($p.limit, 1000) - 1) AS number
WITH t, number, [i IN range(0, size(coalesce(t.origins, [])) - 1) WHERE t.origin_nodes[i] > number | t.origins[i]][0] AS origin
MATCH (a:RawObservation {key: coalesce(origin, t.key) + '/obs:' + toString(number) + '.1'}) USING INDEX a:RawObservation(key)
CALL (t, a) {
  MATCH (a)-[:CHILD_OF]->(n)
  RETURN collect(CASE WHEN n:TraceNode AND n.task = t.key THEN n END)[0] AS n
}
CALL (n) {
  MATCH (n)<-[:CHILD_OF]-(o)
  WITH CASE WHEN o:RawObservation THEN o END AS o ORDER BY o.position
  RETURN collect(o) AS results
}
UNWIND results AS o
RETURN n.key AS node, o.id AS id, o.tool AS tool, left(o.arguments, coalesce($p.characters, 400)) AS arguments,
  left(o.content, coalesce($p.characters, 400)) AS content, size(o.content) AS length, o.request AS request, o.from_step AS step
ORDER BY number, o.position
