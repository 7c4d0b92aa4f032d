// Raw results that do not hang on their trace node, and trace nodes whose results are not numbered from 1.
// mode: read
// params: space, limit
// returns: key, what
CALL () {
  MATCH (n:TraceNode)
  WHERE ($p.space IS NULL OR n.space = $p.space) AND n.depth > 0
  CALL (n) {
    MATCH (n)<-[:CHILD_OF]-(o:RawObservation)
    WITH o ORDER BY o.position
    RETURN collect(o.position) AS positions
  }
  WITH n, positions WHERE (positions = [] OR positions <> range(1, size(positions))) AND NOT (positions = [] AND n.copied_step IS NOT NULL AND n.number = 0)
  RETURN n.key AS key, CASE WHEN positions = [] THEN 'it has no raw result' ELSE 'its raw results are not numbered from 1' END AS what
  UNION ALL
  MATCH (o:RawObservation)
  WHERE $p.space IS NULL OR o.space = $p.space
  CALL (o) {
    MATCH (o)-[:CHILD_OF]->(n)
    RETURN collect(CASE WHEN coalesce(n.task = o.task OR n.copied_step IS NULL, true) THEN n END) AS nodes
  }
  OPTIONAL MATCH (p:Step {key: o.task + '/step:' + toStringOrNull(o.pruned_step)})
  WITH o, p, nodes, nodes[0] AS n
  WITH o, [
    CASE WHEN size(nodes) <> 1 OR NOT n:TraceNode THEN 'it does not hang on one trace node' END,
    CASE WHEN n.task <> o.task THEN 'its trace node belongs to another task' END,
    CASE WHEN coalesce(o.id <> 'obs:' + toStringOrNull(n.number) + '.' + toStringOrNull(o.position), n IS NOT NULL)
      THEN 'its id is not the number of its node and its position' END,
    CASE WHEN coalesce(o.key <> o.task + '/' + o.id, true) THEN 'its key is not its task and id' END,
    CASE WHEN o.from_step <> n.from_step THEN 'it did not come with its trace node' END,
    CASE WHEN o.pruned_step IS NOT NULL AND coalesce(p.kind <> 'prune' OR NOT o.id IN [] + p.pruned OR o.bytes IS NULL OR o.sha256 IS NULL OR NOT o.content STARTS WITH '[pruned: ', true)
      THEN 'it is pruned by no step that says so, or its size and hash are gone' END,
    CASE WHEN o.pruned_step IS NULL AND coalesce(o.bytes, o.sha256) IS NOT NULL THEN 'it has the size or hash of a pruned text and is not pruned' END,
    CASE WHEN o.tool IS NULL OR o.arguments IS NULL THEN 'it does not say which call it answers' END
  ] AS found
  UNWIND [f IN found WHERE f IS NOT NULL] AS what
  RETURN o.key AS key, what
}
RETURN key, what
ORDER BY key, what LIMIT coalesce($p.limit, 100)
