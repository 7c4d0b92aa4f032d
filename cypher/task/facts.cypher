// What the ids named by an output are, beyond what its status showed.
// mode: read
// params: space, task, attempt, ids
// returns: version, open, seen, facts
// why: a folded id is in view without being shown; its membership is one seek here, not a longer status.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
OPTIONAL MATCH (k:Step {attempt: $p.attempt}) USING INDEX k:Step(attempt)
CALL (t) {
  UNWIND $p.ids AS id
  OPTIONAL MATCH (s:State {live_key: t.key + '/state:' + id}) USING INDEX s:State(live_key)
  OPTIONAL MATCH (o:RawObservation {key: coalesce([i IN range(0, size(coalesce(t.origins, [])) - 1) WHERE toIntegerOrNull(split(substring(id, 4), '.')[0]) < t.origin_nodes[i] | t.origins[i]][0], t.key) + '/' + id})
    USING INDEX o:RawObservation(key)
  OPTIONAL MATCH (r:Request {key: t.key + '/' + id}) USING INDEX r:Request(key)
  CALL (t, o) {
    MATCH (o)-[:CHILD_OF]->(n)
    RETURN count(CASE WHEN n:OnPath AND n.task = t.key AND n.depth > t.request_depth THEN 1 END) > 0 AS observed
  }
  CALL (t, o) {
    MATCH (o)<-[:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]-(g)
    RETURN collect(CASE WHEN g:State AND (g.task = t.key OR g.task IN t.origins) THEN g END) AS givers
  }
  CALL (t, givers) {
    UNWIND givers AS g
    MATCH (l:State {live_key: t.key + '/state:' + g.id}) USING INDEX l:State(live_key)
    WITH l WHERE coalesce(l.refs_at, l.key) = g.key
    RETURN collect(l.id) AS cited_by
  }
  CALL (t, r) {
    MATCH (l:Live) USING INDEX l:Live(task, request, born, position)
    WHERE l.task = t.key AND l.request = r.number AND l.born IS NOT NULL AND l.position IS NOT NULL
    RETURN count(l) AS live
  }
  RETURN collect({id: id, request: s.request, raw: o IS NOT NULL, observed: observed, cited_by: cited_by,
    heading: r IS NOT NULL AND r.number < t.open AND (r.abandoned_step IS NULL OR live > 0),
    abandoned: r.abandoned_step IS NOT NULL, live: live}) AS facts
}
RETURN t.version AS version, t.open AS open, k IS NOT NULL AS seen, facts
