// How large a task is: numbers given out, states in view by kind, nodes on the active path.
// mode: read
// params: space, task
// returns: what, count
// why: states and path are counted from their partial indexes: the cost is what is in view, not what was ever written.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  UNWIND [{what: 'requests', count: toIntegerOrNull(t.next_request) - 1}, {what: 'steps', count: toIntegerOrNull(t.next_step) - 1}, {what: 'trace nodes', count: toIntegerOrNull(t.next_node) - 1}] AS given
  RETURN 1 AS place, given.what AS what, given.count AS count
  UNION ALL
  WITH t
  MATCH (n:OnPath) USING INDEX n:OnPath(task, depth)
  WHERE n.task = t.key AND n.depth >= 0
  RETURN 2 AS place, 'trace nodes on the path, with the root' AS what, count(n) AS count
  UNION ALL
  WITH t
  MATCH (s:Live) USING INDEX s:Live(task, request, born, position)
  WHERE s.task = t.key AND s.request >= 0 AND s.born IS NOT NULL AND s.position IS NOT NULL
  RETURN 3 AS place, 'states in view: ' + toLower([l IN labels(s) WHERE NOT l IN ['State', 'Live']][0]) AS what, count(s) AS count
}
RETURN what, count ORDER BY place, what
