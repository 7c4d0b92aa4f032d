// What a state rests on, one level down: the present version of it, its refs, the raw evidence among them, and the states that support it.
// mode: read
// params: space, task, id, lineages
// returns: lineage, id, kind, summary, value, request, from_step, to_step, in_view, written, given_step, refs, supporters
// why: a ref points at the first version of a lineage and counts for its present one, so the next level is a seek on the lineage, not an arrow: `graphmem why` asks level by level with `lineages`.
// why: "a supports b" stands on a (B.3: from the declaring state to its target); what b rests on is then found against the arrow.
// why: in a fork a lineage that was out of view at the fork has its last version in an origin; `ledger` says up to which step each origin counts. `written` is the step that wrote the version which a fork copied.
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
WITH t, ledger, CASE WHEN $p.lineages IS NULL THEN named ELSE $p.lineages END AS lineages
UNWIND lineages AS lineage
CALL (ledger, lineage) {
  UNWIND ledger AS level
  CALL (level, lineage) {
    MATCH (v:State) USING INDEX v:State(task, lineage, from_step)
    WHERE v.task = level.task AND v.lineage = lineage AND v.from_step <= level.high
    RETURN v ORDER BY v.task DESC, v.lineage DESC, v.from_step DESC LIMIT 1
  }
  RETURN v ORDER BY v.from_step DESC LIMIT 1
}
CALL (v) {
  MATCH (v) ((a)-[:DERIVES]->(b) WHERE a.copied_step IS NOT NULL AND a.id = b.id)* (o WHERE o.copied_step IS NULL)
  RETURN o.from_step AS written
}
CALL (v) {
  MATCH (g:State {key: coalesce(v.refs_at, v.key)}) USING INDEX g:State(key)
  RETURN g
}
CALL (g) {
  MATCH (g)-[r:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]->(m)
  RETURN collect(CASE WHEN m.id <> g.id THEN {relation: toLower(type(r)), node: m, raw: m:RawObservation} END) AS outs
}
CALL (outs) {
  UNWIND outs AS o
  OPTIONAL MATCH (s:Step {key: o.node.task + '/step:' + toStringOrNull(o.node.from_step)}) USING INDEX s:Step(key)
  WITH o, s ORDER BY o.raw, o.node.from_step, o.node.id
  RETURN collect(CASE WHEN o.raw
    THEN {relation: o.relation, id: o.node.id, tool: o.node.tool, arguments: o.node.arguments, content: left(toStringOrNull(o.node.content), 10000),
      characters: size(toStringOrNull(o.node.content)), step: o.node.from_step, request: s.request}
    ELSE {relation: o.relation, id: o.node.id, lineage: o.node.lineage} END) AS refs
}
CALL (lineage) {
  MATCH (f:State {key: lineage}) USING INDEX f:State(key)
  RETURN f
}
CALL (t, f) {
  MATCH (f)<-[:SUPPORTS]-(h)
  RETURN collect(CASE WHEN h:State AND (h.task = t.key OR h.task IN t.origins) AND h.id <> f.id THEN h END)[0..200] AS givers
}
CALL (t, givers) {
  UNWIND givers AS h
  MATCH (l:State {live_key: t.key + '/state:' + h.id}) USING INDEX l:State(live_key)
  WITH l, h WHERE l.lineage = h.lineage AND coalesce(l.refs_at, l.key) = h.key
  WITH l ORDER BY l.from_step, l.id LIMIT 50
  RETURN collect({id: l.id, lineage: l.lineage}) AS supporters
}
RETURN lineage, v.id AS id, toLower([l IN labels(v) WHERE NOT l IN ['State', 'Live']][0]) AS kind, v.summary AS summary, v.value AS value,
  v.request AS request, v.from_step AS from_step, v.to_step AS to_step, v:Live AND v.task = t.key AS in_view, written,
  CASE WHEN size(refs) > 0 THEN g.from_step END AS given_step, refs, supporters
