// Where a task stands when it is exported: the properties of its node, and the first and last step of its ledger.
// mode: read
// params: space, task
// returns: properties, first, last
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
RETURN properties(t) AS properties, toIntegerOrNull(coalesce(t.first_step, 1)) AS first, toIntegerOrNull(t.next_step) - 1 AS last
