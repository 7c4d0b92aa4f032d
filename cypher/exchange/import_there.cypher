// What stands under some keys, and how many relations between pairs of them: to compare a task with its export.
// mode: read
// params: space, keys, relations
// returns: nodes, counts
CALL () {
  UNWIND $p.keys AS key
  MATCH (n:Task|Request|Step|TraceNode|SummaryNode|RawObservation|State {key: key})
  WITH n WHERE n.space = $p.space
  RETURN collect({key: n.key, labels: labels(n), properties: properties(n)}) AS nodes
}
CALL () {
  UNWIND range(0, size($p.relations) - 1) AS i
  WITH i, $p.relations[i] AS row
  MATCH (a:Request|TraceNode|SummaryNode|RawObservation|State {key: row.from})-[r]->(b)
  WITH i, row, r, b WHERE b.key = row.to AND type(r) = row.type
  WITH i, count(r) AS found
  RETURN collect({i: i, found: found}) AS counts
}
RETURN nodes, counts
