// Writes some lines of an export: their nodes, then the relations between nodes of the task, then those to other tasks that are there.
// mode: write
// params: space, task, op, mark, line, nodes, relations, outside
// returns: verdict, created, linked, restored
// why: the line reached is kept in the same transaction, so a batch is written once, whoever is killed when.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op
WITH t, CASE WHEN coalesce(t.held <> 'import' OR t.held_mark <> $p.mark, true) THEN 'lost' WHEN t.held_line >= $p.line THEN 'done' ELSE 'ok' END AS verdict
CALL (t, verdict) {
  UNWIND CASE WHEN verdict = 'ok' THEN $p.nodes ELSE [] END AS row
  CREATE (n:$(row.labels))
  SET n = row.properties
  RETURN count(n) AS created
}
CALL (t, verdict) {
  UNWIND CASE WHEN verdict = 'ok' THEN $p.relations ELSE [] END AS row
  MATCH (a:Request|TraceNode|SummaryNode|RawObservation|State {key: row.from})
  MATCH (b:Task|Request|TraceNode|SummaryNode|RawObservation|State {key: row.to})
  WITH t, row, a, b WHERE a.task = t.key AND coalesce(b.task, b.key) = t.key
  CREATE (a)-[r:$(row.type)]->(b)
  SET r = row.properties
  RETURN count(r) AS linked
}
CALL (t, verdict) {
  UNWIND CASE WHEN verdict = 'ok' THEN $p.outside ELSE [] END AS row
  MATCH (a:TraceNode|SummaryNode|RawObservation|State {key: row.from})
  MATCH (b:TraceNode|SummaryNode|RawObservation|State {key: row.to})
  WITH t, row, a, b WHERE a.space = t.space AND b.space = t.space AND t.key IN [a.task, b.task]
  MERGE (a)-[r:$(row.type)]->(b)
  SET r = row.properties
  RETURN count(r) AS restored
}
SET t.held_line = CASE WHEN verdict = 'ok' THEN $p.line ELSE t.held_line END
RETURN verdict, created, linked, restored
