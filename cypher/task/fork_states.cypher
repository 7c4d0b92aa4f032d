// Gives a fork the states in view at its step, as versions that keep lineage, birth, position and where their refs were given; and ends its headings as they were.
// mode: write
// params: space, task, name, at, finished
// returns: copied
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
MATCH (f:Task {key: $p.space + '/' + $p.name}) USING INDEX f:Task(key)
CALL (f) {
  UNWIND $p.finished AS row
  MATCH (r:Request {key: f.key + '/request:' + toString(row.number)}) USING INDEX r:Request(key)
  SET r.finished_step = row.step, r.cut_step = CASE WHEN row.step IS NULL AND r.abandoned_step IS NULL AND coalesce(f.open <> r.number, true) THEN f.first_step END
}
CALL (t, f) {
  MATCH (o:State) USING INDEX o:State(first_of, request, born, position)
  WHERE o.first_of = t.key AND o.request IS NOT NULL AND o.born <= $p.at AND o.position IS NOT NULL
  CALL (o) {
    MATCH (v:State) USING INDEX v:State(task, lineage, from_step)
    WHERE v.task = o.task AND v.lineage = o.lineage AND v.from_step <= $p.at
    WITH v ORDER BY v.task DESC, v.lineage DESC, v.from_step DESC LIMIT 1
    RETURN CASE WHEN coalesce(v.to_step, $p.at + 1) > $p.at THEN v END AS v
  }
  WITH f, v WHERE v IS NOT NULL
  MATCH (r:Request {key: f.key + '/request:' + toString(v.request)}) USING INDEX r:Request(key)
  CREATE (c:State:Live:$([l IN labels(v) WHERE NOT l IN ['State', 'Live']]) {key: f.key + '/state:' + v.id + '@' + toString(f.first_step),
    live_key: f.key + '/state:' + v.id, space: f.space, task: f.key, id: v.id, name: v.name, summary: v.summary, value: v.value, request: v.request,
    from_step: f.first_step, lineage: v.lineage, born: v.born, position: v.position, refs_at: coalesce(v.refs_at, v.key), first_of: f.key,
    copied_step: v.from_step})
  CREATE (c)-[:CHILD_OF]->(r)
  CREATE (c)-[:DERIVES]->(v)
  RETURN count(c) AS copied
}
RETURN copied
