// The raw results that the open request has observed on the active path, in order.
// mode: read
// params: space, task
// returns: ids
// why: read only without ISU, where a rule links the final response to all of them (FlowState, B.5).
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  MATCH (n:OnPath) USING INDEX n:OnPath(task, depth) WHERE n.task = t.key AND n.depth > t.request_depth
  RETURN n
}
CALL (n) {
  MATCH (n)<-[:CHILD_OF]-(o)
  RETURN CASE WHEN o:RawObservation THEN o END AS o
}
WITH o, n ORDER BY n.depth, o.position
RETURN collect(o.id) AS ids
