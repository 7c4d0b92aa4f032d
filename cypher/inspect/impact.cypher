// What rests on a state or a raw result, one level up: the states that refer to it, and those that it supports.
// mode: read
// params: space, task, id, targets
// returns: target, id, kind, raw, summary, request, from_step, to_step, in_view, written, node, dependents
// why: refs point at the first version of a lineage, so that `targets` of the next level are keys of first versions: `graphmem impact` asks level by level.
// why: a giver counts while the present version of its lineage carries the refs that were given there; one out of view is named too, and said to be so.
// why: "a supports b" makes b rest on a (B.3). Whatever cites a raw result rests on it.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  UNWIND range(0, size(coalesce(t.origins, []))) AS i
  WITH i, (coalesce(t.origins, []) + t.key)[i] AS key
  MATCH (o:Task {key: key}) USING INDEX o:Task(key)
  WITH i, o ORDER BY i
  WITH collect({task: o.key, low: coalesce(o.first_step, 1)}) AS levels
  RETURN [i IN range(0, size(levels) - 1) | {task: levels[i].task, low: levels[i].low, high: coalesce(levels[i + 1].low - 1, 9223372036854775807)}] AS ledger
}
CALL (t, ledger) {
  OPTIONAL MATCH (l:State {live_key: t.key + '/state:' + $p.id}) USING INDEX l:State(live_key)
  CALL (ledger, l) {
    UNWIND CASE WHEN l IS NULL THEN ledger ELSE [] END AS level
    MATCH (s:State) USING INDEX s:State(task, id)
    WHERE s.task = level.task AND s.id = $p.id
    WITH s, level WHERE s.from_step <= level.high
    WITH s ORDER BY s.from_step DESC LIMIT 1
    RETURN collect(s.lineage) AS ended
  }
  RETURN CASE WHEN l IS NULL THEN ended ELSE [l.lineage] END AS named
}
OPTIONAL MATCH (r:RawObservation {key: coalesce([i IN range(0, size(coalesce(t.origins, [])) - 1) WHERE toIntegerOrNull(split(substring($p.id, 4), '.')[0]) < t.origin_nodes[i] | t.origins[i]][0], t.key) + '/' + $p.id})
  USING INDEX r:RawObservation(key)
WITH t, ledger, CASE WHEN $p.targets IS NULL THEN named + [k IN [r.key] WHERE k IS NOT NULL] ELSE $p.targets END AS targets
UNWIND targets AS target
OPTIONAL MATCH (f:State {key: target}) USING INDEX f:State(key)
OPTIONAL MATCH (o:RawObservation {key: target}) USING INDEX o:RawObservation(key)
WITH t, ledger, target, f, o WHERE coalesce(f, o) IS NOT NULL
CALL (ledger, f) {
  WITH ledger, f.key AS lineage
  UNWIND ledger AS level
  CALL (level, lineage) {
    MATCH (v:State) USING INDEX v:State(task, lineage, from_step)
    WHERE v.task = level.task AND v.lineage = lineage AND v.from_step <= level.high
    RETURN v ORDER BY v.task DESC, v.lineage DESC, v.from_step DESC LIMIT 1
  }
  RETURN v ORDER BY v.from_step DESC LIMIT 1
  UNION
  WITH f WHERE f IS NULL
  RETURN null AS v
}
CALL (v) {
  OPTIONAL MATCH (v) ((a)-[:DERIVES]->(b) WHERE a.copied_step IS NOT NULL AND a.id = b.id)* (w WHERE w.copied_step IS NULL)
  RETURN w.from_step AS written
}
CALL (t, o) {
  MATCH (o)-[:CHILD_OF]->(n)
  WITH n ORDER BY n.task = t.key DESC LIMIT 1
  RETURN collect(n)[0] AS n
}
CALL (t, n) {
  WITH t, n WHERE n.task <> t.key
  MATCH (n)<-[:COVERS]-(s)
  MATCH (s) ((a)<-[:DERIVES]-(b))+ (c)
  RETURN count(CASE WHEN c.task = t.key AND c:OnPath THEN 1 END) > 0 AS below
}
WITH t, ledger, target, f, o, v, written, n, below, coalesce(f, o) AS x
CALL (t, o, x) {
  MATCH (x)<-[r:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]-(g)
  RETURN collect(CASE WHEN g:State AND g.id <> x.id AND (g.task = t.key OR g.task IN t.origins) AND (o IS NOT NULL OR type(r) <> 'SUPPORTS')
    THEN {relation: toLower(type(r)), node: g} END)[0..200] AS givers
}
CALL (ledger, givers) {
  UNWIND givers AS giver
  CALL (ledger, giver) {
    WITH ledger, giver.node.lineage AS lineage
    UNWIND ledger AS level
    CALL (level, lineage) {
      MATCH (w:State) USING INDEX w:State(task, lineage, from_step)
      WHERE w.task = level.task AND w.lineage = lineage AND w.from_step <= level.high
      RETURN w ORDER BY w.task DESC, w.lineage DESC, w.from_step DESC LIMIT 1
    }
    RETURN w ORDER BY w.from_step DESC LIMIT 1
  }
  WITH giver, w WHERE coalesce(w.refs_at, w.key) = giver.node.key
  WITH giver, w ORDER BY w.from_step, w.id
  RETURN collect({relation: giver.relation, id: w.id, key: w.lineage}) AS citing
}
OPTIONAL MATCH (given:State {key: coalesce(v.refs_at, v.key)}) USING INDEX given:State(key)
CALL (given) {
  MATCH (given)-[:SUPPORTS]->(m)
  WITH CASE WHEN m:State AND m.id <> given.id THEN {relation: 'supports', id: m.id, key: m.lineage} END AS m ORDER BY m.id
  RETURN collect(m)[0..200] AS supported
}
RETURN target, x.id AS id, toLower([l IN labels(v) WHERE NOT l IN ['State', 'Live']][0]) AS kind, o IS NOT NULL AS raw,
  CASE WHEN o IS NULL THEN v.summary ELSE o.tool + ' ' + o.arguments END AS summary, CASE WHEN o IS NULL THEN v.request ELSE o.request END AS request,
  CASE WHEN o IS NULL THEN v.from_step ELSE o.from_step END AS from_step, v.to_step AS to_step,
  CASE WHEN o IS NULL THEN v:Live AND v.task = t.key WHEN n.task = t.key THEN n:OnPath ELSE below END AS in_view,
  CASE WHEN o IS NULL THEN written ELSE o.from_step END AS written, n.number AS node, citing + supported AS dependents
