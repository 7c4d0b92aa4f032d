// Nodes with a label of ours and no key, space, name or task, with one that does not fit, or with a value of another type (README, rules 1 and 5).
// mode: read
// params: space, limit
// returns: key, what
// why: a node without its space is still found by the space that its task or key begins with.
// why: labels are free for everybody, so a value may be of any type. No audit fails at one: toString, -, IN and range do, `toStringOrNull`, comparisons and `[] +` do not.
MATCH (n)
WHERE n:Task OR n:Request OR n:Step OR n:TraceNode OR n:SummaryNode OR n:RawObservation OR n:State OR n:Entry OR n:Topic OR n:Hook
  OR n:Live OR n:OnPath
WITH n, CASE WHEN n.space IS NULL THEN split(toStringOrNull(coalesce(n.task, n.key, '')), '/')[0] ELSE n.space END AS space
WHERE $p.space IS NULL OR space = $p.space
OPTIONAL MATCH (t:Task {key: n.task})
WITH n, [
  CASE WHEN n.key IS NULL THEN 'it has no key' END,
  CASE WHEN n.space IS NULL THEN 'it has no space' END,
  CASE WHEN n.name IS NULL THEN 'it has no name' END,
  CASE WHEN n:Task AND n.key <> n.space + '/' + n.name THEN 'its key is not its space and name' END,
  CASE WHEN n.task IS NULL AND NOT (n:Task OR n:Entry OR n:Topic OR n:Hook) THEN 'it belongs to no task' END,
  CASE WHEN n.task IS NOT NULL AND t IS NULL THEN 'its task does not exist' END,
  CASE WHEN t.space <> n.space THEN 'its space is not that of its task' END,
  CASE WHEN n:Live AND NOT n:State THEN 'it is :Live but no state' END,
  CASE WHEN n:OnPath AND NOT (n:TraceNode OR n:SummaryNode) THEN 'it is :OnPath but no node of the tree' END
] + [property IN ['key', 'space', 'name', 'task', 'id', 'live_key', 'lineage', 'attempt', 'summary', 'value', 'text', 'content']
  WHERE NOT n[property] IS :: STRING | 'its ' + property + ' is no text']
  + [property IN ['number', 'request', 'version', 'depth', 'rank', 'position', 'born', 'from_step', 'to_step', 'open', 'next_request', 'next_step', 'next_node']
  WHERE NOT n[property] IS :: INTEGER | 'its ' + property + ' is no whole number'] AS found
UNWIND [f IN found WHERE f IS NOT NULL] AS what
RETURN coalesce(n.key, ':' + head(labels(n)) + ' ' + coalesce(n.name, '(no name)')) AS key, what
ORDER BY key, what LIMIT coalesce($p.limit, 100)
