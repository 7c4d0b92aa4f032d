// What the open request shows: the Historical State Index, the Active State, the latest observation, reasons, pending calls.
// mode: write
// params: space, task, op, request, low, lines, heads, neighbours
// returns: version, open, text, psa, isu, p_b, p_t, in_r, lines, heads, unfolded, active, observation, rejected, refused, pending_step, calls
// why: the Task is locked first, so that no commit can fall between two parts of the answer (a reader without it sees torn ones).
// why: `low` is the number of the open request, or 0 without PSA, where every historical state is active.
// why: a hop and the next seek stand in separate CALLs, and every ordered seek is hinted: a plan made on an empty database stays.
MATCH (t:Task {key: $p.space + '/' + $p.task})
SET t.lock = $p.op // lock
WITH t
CALL (t) {
  MATCH (s:Live) USING INDEX s:Live(task, request, born, position)
  WHERE s.task = t.key AND s.request < $p.low AND s.born IS NOT NULL AND s.position IS NOT NULL
  WITH s ORDER BY s.task DESC, s.request DESC, s.born DESC, s.position DESC LIMIT $p.lines
  RETURN collect({request: s.request, id: s.id, summary: s.summary}) AS lines
}
CALL (lines) {
  WITH CASE WHEN size(lines) = $p.lines AND lines[-1].request > $p.low - $p.heads THEN lines[-1].request
    WHEN $p.low > $p.heads THEN $p.low - $p.heads ELSE 1 END AS first
  UNWIND range(first, $p.low - 1) AS number
  MATCH (r:Request {key: $p.space + '/' + $p.task + '/request:' + toString(number)})
  RETURN collect({number: number, text: r.text, abandoned: r.abandoned_step IS NOT NULL}) AS heads
}
CALL (t) {
  MATCH (d:Step) USING INDEX d:Step(scope) WHERE d.scope = t.key + '#' + toString($p.request)
  UNWIND d.disclosed AS id
  RETURN collect({id: id, step: d.number}) AS disclosed
}
CALL (t, disclosed) {
  UNWIND [d IN disclosed WHERE d.id STARTS WITH 'request:'] AS d
  WITH t, toInteger(substring(d.id, 8)) AS number
  MATCH (r:Request {key: t.key + '/request:' + toString(number)})
  CALL (t, number) {
    MATCH (s:Live) USING INDEX s:Live(task, request, born, position)
    WHERE s.task = t.key AND s.request = number AND s.born IS NOT NULL AND s.position IS NOT NULL
    WITH s ORDER BY s.task, s.request, s.born, s.position
    RETURN collect({request: number, id: s.id, summary: s.summary}) AS states
  }
  RETURN collect({number: number, text: r.text, abandoned: r.abandoned_step IS NOT NULL, states: states}) AS unfolded
}
CALL (t, disclosed) {
  UNWIND [d IN disclosed WHERE NOT d.id STARTS WITH 'request:'] AS d
  OPTIONAL MATCH (s:State {live_key: t.key + '/state:' + d.id})
  OPTIONAL MATCH (o:RawObservation {key: t.key + '/' + d.id})
  WITH d, coalesce(s, o) AS x WHERE x IS NOT NULL
  RETURN collect({node: x, step: d.step}) AS shown
}
CALL (t) {
  MATCH (s:Live) USING INDEX s:Live(task, request, born, position)
  WHERE s.task = t.key AND s.request >= $p.low AND s.request <= $p.request AND s.born IS NOT NULL AND s.position IS NOT NULL
  WITH s ORDER BY s.task, s.request, s.born, s.position
  RETURN collect({node: s, step: s.born}) AS mine
}
CALL (t, mine, shown) {
  UNWIND mine + shown AS a
  WITH t, a.node AS x, a.step AS step
  CALL (x) {
    WITH x WHERE x:State
    MATCH (g:State {key: coalesce(x.refs_at, x.key)})
    MATCH (g)-[r:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]->(m) WHERE m.id <> g.id
    RETURN collect({type: type(r), node: m, raw: m:RawObservation}) AS outs
  }
  CALL (t, outs) {
    UNWIND outs AS o
    OPTIONAL MATCH (l:State {live_key: t.key + '/state:' + o.node.id})
    WITH o, o.raw OR coalesce(l.lineage = o.node.key, false) AS visible
    ORDER BY o.node.from_step DESC, o.node.id
    RETURN collect({type: o.type, id: o.node.id, incoming: false, visible: visible}) AS own
  }
  OPTIONAL MATCH (first:State {key: x.lineage})
  WITH t, x, step, own, coalesce(first, x) AS f
  CALL (t, f) {
    MATCH (f)<-[r:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]-(m:State) WHERE m.id <> f.id AND m.task = t.key
    RETURN collect({type: type(r), node: m}) AS ins
  }
  CALL (t, ins) {
    UNWIND ins AS i
    MATCH (l:State {live_key: t.key + '/state:' + i.node.id})
    WITH i, l WHERE l.lineage = i.node.lineage AND coalesce(l.refs_at, l.key) = i.node.key
    WITH i, l ORDER BY l.from_step DESC, l.id
    RETURN collect({type: i.type, id: l.id, incoming: true, visible: true}) AS others
  }
  WITH x, step, own, own + others AS related
  RETURN collect({node: x, labels: labels(x), step: step, refs: [r IN own | {type: r.type, id: r.id, visible: r.visible}][0..$p.neighbours],
    refs_count: size(own), related: [r IN related WHERE r.visible][0..$p.neighbours],
    rest: [r IN [v IN related WHERE v.visible][$p.neighbours..] | CASE WHEN r.incoming THEN '<' ELSE '' END + r.type]}) AS active
}
CALL (t) {
  MATCH (s:Step {key: t.key + '/step:' + toString(t.observed_step)})
  MATCH (n:TraceNode {key: s.node})
  MATCH (n)<-[:CHILD_OF]-(o:RawObservation)
  WITH o ORDER BY o.position
  RETURN collect(o) AS observation
}
MATCH (b:TraceNode {key: t.p_b})
OPTIONAL MATCH (l:Step {key: t.key + '/step:' + toString(t.last_step)})
OPTIONAL MATCH (q:Step {key: t.key + '/step:' + toString(t.pending_step)})
OPTIONAL MATCH (r:Request {key: t.key + '/request:' + toString(t.open)})
RETURN t.version AS version, t.open AS open, r.text AS text, t.psa AS psa, t.isu AS isu, t.p_b AS p_b, t.p_t AS p_t,
  t.p_b <> t.boundary AS in_r, lines, heads, unfolded, active, observation, l.rejected AS rejected, l.refused AS refused,
  t.pending_step AS pending_step, q.calls AS calls
