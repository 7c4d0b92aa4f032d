// Every state in view after a step, in order of appearance, with its refs as they were.
// mode: read
// params: space, task, at
// returns: states
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  MATCH (f:State) USING INDEX f:State(first_of, request, born, position)
  WHERE f.first_of = t.key AND f.request IS NOT NULL AND f.born <= $p.at AND f.position IS NOT NULL
  WITH f ORDER BY f.first_of, f.request, f.born, f.position
  CALL (f) {
    MATCH (v:State) USING INDEX v:State(task, lineage, from_step)
    WHERE v.task = f.task AND v.lineage = f.lineage AND v.from_step <= $p.at
    WITH v ORDER BY v.task DESC, v.lineage DESC, v.from_step DESC LIMIT 1
    RETURN CASE WHEN coalesce(v.to_step, $p.at + 1) > $p.at THEN v END AS v
  }
  WITH v WHERE v IS NOT NULL
  MATCH (g:State {key: coalesce(v.refs_at, v.key)}) USING INDEX g:State(key)
  CALL (g) {
    MATCH (g)-[r:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]->(m)
    RETURN [x IN collect(CASE WHEN m.id <> g.id THEN {type: type(r), id: m.id, incoming: false, visible: true, at: m.from_step} END) | x] AS refs
  }
  RETURN collect({node: v {.id, .key, .lineage, .born, .position, .request, .refs_at, .summary, .value}, labels: labels(v), step: v.born,
    refs: refs, related: refs, rest: []}) AS states
}
RETURN states
