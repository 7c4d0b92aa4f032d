// Last statement of a revise: versions that end, versions that begin, their refs; and what the step says of it.
// mode: write
// params: space, task, number, ends, rows, state_refs, raw_refs, told
// returns: ended, created, linked
// why: arrows of refs are made after all versions (a MATCH in the same CALL would not see them), to the first version of the lineage named.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  UNWIND $p.ends AS key
  MATCH (o:State {key: key}) USING INDEX o:State(key)
  REMOVE o:Live
  SET o.live_key = null, o.to_step = $p.number
  RETURN count(o) AS ended
}
CALL (t) {
  UNWIND $p.rows AS row
  MATCH (r:Request {key: t.key + '/request:' + toString(row.request)}) USING INDEX r:Request(key)
  CREATE (v:State:Live:$(row.label))-[:CHILD_OF]->(r)
  SET v.key = t.key + '/state:' + row.id + '@' + toString($p.number), v.live_key = t.key + '/state:' + row.id, v.space = t.space, v.task = t.key,
    v.id = row.id, v.name = row.name, v.summary = row.summary, v.value = row.value, v.request = row.request, v.from_step = $p.number,
    v.lineage = coalesce(row.lineage, t.key + '/state:' + row.id + '@' + toString($p.number)), v.born = coalesce(row.born, $p.number),
    v.position = row.position, v.refs_at = row.refs_at, v.first_of = CASE WHEN row.lineage IS NULL THEN t.key END
  RETURN count(v) AS created
}
CALL (t) {
  UNWIND $p.rows AS row
  WITH t, row WHERE row.previous IS NOT NULL
  MATCH (v:State {live_key: t.key + '/state:' + row.id}) USING INDEX v:State(live_key)
  MATCH (o:State {key: row.previous}) USING INDEX o:State(key)
  CREATE (v)-[:SUPERSEDES]->(o)
  RETURN count(*) AS replaced
}
CALL (t) {
  UNWIND $p.state_refs AS ref
  MATCH (v:State {live_key: t.key + '/state:' + ref.source}) USING INDEX v:State(live_key)
  MATCH (l:State {live_key: t.key + '/state:' + ref.target}) USING INDEX l:State(live_key)
  MATCH (m:State {key: l.lineage}) USING INDEX m:State(key)
  CREATE (v)-[:$(ref.type)]->(m)
  RETURN count(*) AS linked_states
}
CALL (t) {
  UNWIND $p.raw_refs AS ref
  WITH t, ref, coalesce([i IN range(0, size(coalesce(t.origins, [])) - 1) WHERE toIntegerOrNull(split(substring(ref.target, 4), '.')[0]) < t.origin_nodes[i] | t.origins[i]][0], t.key) AS owner
  MATCH (v:State {live_key: t.key + '/state:' + ref.source}) USING INDEX v:State(live_key)
  MATCH (m:RawObservation {key: owner + '/' + ref.target}) USING INDEX m:RawObservation(key)
  CREATE (v)-[:$(ref.type)]->(m)
  RETURN count(*) AS linked_raw
}
CALL (t) {
  MATCH (s:Step {key: t.key + '/step:' + toString($p.number)}) USING INDEX s:Step(key)
  SET s += $p.told
  SET s.scope = CASE WHEN s.disclosed IS NOT NULL THEN t.key + '#' + toString(s.request) END
}
RETURN ended, created, linked_states + linked_raw AS linked
