// Summaries that do not cover exactly the trace nodes from their boundary to their last node (MAGE, 3.3).
// mode: read
// params: space, limit
// returns: key, what
// why: where each covered node has its parent in the cover or at the boundary, and their number is the difference of the depths, the cover is the whole chain.
// why: in a fork the nodes of C stay in the origin: of its copies only the top one covers a node, the copy of the boundary.
MATCH (s:SummaryNode)
WHERE $p.space IS NULL OR s.space = $p.space
OPTIONAL MATCH (last:TraceNode {key: s.last})
WITH s, last, s.copied_step IS NOT NULL AS copied, s.copied_step IS NOT NULL AND coalesce(last.task <> s.task, false) AS inner
CALL (s) {
  MATCH (s)-[:CHILD_OF]->(above:SummaryNode)
  RETURN collect(above)[0] AS above
}
OPTIONAL MATCH (low:TraceNode {key: above.last})
CALL (s) {
  MATCH (s)-[:COVERS]->(x)
  RETURN collect(x) AS covered
}
CALL (s, low, covered) {
  UNWIND covered AS x
  WITH s, low, x
  WHERE s.copied_step IS NULL
  WITH s, low, x
  WHERE coalesce(x.task <> s.task, true)
    OR (s.rank > 0 AND NOT EXISTS { (x)-[:CHILD_OF]->(p:TraceNode) WHERE p.key = low.key OR EXISTS { (s)-[:COVERS]->(p) } })
  RETURN count(x) AS strays
}
WITH s, [
  CASE WHEN last IS NULL THEN 'its last node does not exist' END,
  CASE WHEN last IS NOT NULL AND NOT last IN covered AND NOT inner THEN 'it does not cover its last node' END,
  CASE WHEN size(covered) <> CASE WHEN inner THEN 0 WHEN s.rank = 0 OR copied THEN 1 ELSE toFloatOrNull(last.depth) - toFloatOrNull(low.depth) END
    THEN 'it covers more or fewer nodes than lie between its boundary and its last node' END,
  CASE WHEN strays > 0 THEN 'it covers a node that does not hang on its chain' END,
  CASE WHEN NOT copied AND s.boundary <> CASE WHEN s.rank = 0 THEN 0 ELSE low.number END THEN 'its boundary is not the last node of its parent' END,
  CASE WHEN coalesce(NOT s.verdict IN ['unchecked', 'passed', 'failed'], true) THEN 'its verdict is none' END
] AS found
UNWIND [f IN found WHERE f IS NOT NULL] AS what
RETURN s.key AS key, what
ORDER BY key, what LIMIT coalesce($p.limit, 100)
