// Restores relations to other tasks, where both ends are there.
// mode: write
// params: space, task, op, outside
// returns: restored
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op
WITH t
CALL (t) {
  UNWIND $p.outside AS row
  MATCH (a:TraceNode|SummaryNode|RawObservation|State {key: row.from})
  MATCH (b:TraceNode|SummaryNode|RawObservation|State {key: row.to})
  WITH t, row, a, b WHERE a.space = t.space AND b.space = t.space AND t.key IN [a.task, b.task]
  MERGE (a)-[r:$(row.type)]->(b)
  SET r = row.properties
  RETURN count(r) AS restored
}
RETURN restored
