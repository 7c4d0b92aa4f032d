// Nodes of the tree that hang wrongly, and marks :OnPath that are not exactly the ancestors of p_b and p_t.
// mode: read
// params: space, limit
// returns: key, what
// why: local checks only. Where every marked node has a marked parent, and each but p_b or p_t exactly one marked child, the marks are one chain from the root to it; no path is walked.
MATCH (n)
WHERE (n:TraceNode OR n:SummaryNode) AND ($p.space IS NULL OR n.space = $p.space)
OPTIONAL MATCH (t:Task {key: n.task})
CALL (n) {
  MATCH (n)-[:CHILD_OF]->(p)
  RETURN collect(p) AS parents
}
WITH n, t, parents, parents[0] AS p, COUNT { (n)<-[:CHILD_OF]-(:OnPath) } AS followers,
  coalesce(n.depth, n.rank) AS place, CASE WHEN n:TraceNode THEN n.depth = 0 OR (n.copied_step IS NOT NULL AND coalesce(parents[0]:Task, false)) ELSE n.rank = 0 END AS root
WITH n, [
  CASE WHEN place IS NULL THEN 'it has no depth or rank' END,
  CASE WHEN size(parents) <> CASE WHEN root AND n:SummaryNode THEN 0 ELSE 1 END THEN 'it has not exactly one parent' END,
  CASE WHEN root AND n:TraceNode AND size(parents) = 1 AND NOT p:Task THEN 'it has depth 0 and is no root' END,
  CASE WHEN NOT root AND size(parents) = 1 AND NOT (n:TraceNode AND p:TraceNode OR n:SummaryNode AND p:SummaryNode)
    THEN 'its parent is not of its layer' END,
  CASE WHEN p.task <> n.task THEN 'its parent belongs to another task' END,
  CASE WHEN NOT root AND place <> toFloatOrNull(coalesce(p.depth, p.rank)) + 1 THEN 'its depth or rank is not that of its parent + 1' END,
  CASE WHEN n:OnPath AND NOT root AND NOT p:OnPath THEN 'it is on the path and its parent is not' END,
  CASE WHEN n:OnPath AND followers <> CASE WHEN n.key IN [t.p_b, t.p_t] THEN 0 ELSE 1 END
    THEN CASE WHEN followers > 1 THEN 'the path forks below it' WHEN followers = 1 THEN 'the path goes on below the cursor'
      ELSE 'the path ends at it and the cursor is elsewhere' END END,
  CASE WHEN n.number >= t.next_node THEN 'its number was not given out yet' END
] AS found
UNWIND [f IN found WHERE f IS NOT NULL] AS what
RETURN n.key AS key, what
ORDER BY key, what LIMIT coalesce($p.limit, 100)
