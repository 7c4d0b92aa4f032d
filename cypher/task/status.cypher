// What the open request shows: the Historical State Index, the Active State, the latest observation, reasons, pending calls.
// mode: write
// params: space, task, op, request, low, lines, heads, neighbours
// returns: version, open, text, psa, isu, p_b, p_t, in_r, lines, heads, unfolded, active, observation, rejected, refused, pending_step, calls
// why: the Task is locked first, so that no commit can fall between two parts of the answer (a reader without it sees torn ones).
// why: headings are those of the states shown and the newest ones, so that no state stands without its request.
// why: `low` is the number of the open request, or 0 without PSA, where every historical state is active.
// why: a plan made on an empty database stays: every seek is hinted, a hop and the next seek stand in separate CALLs, and what a
// hop ends at is tested inside collect, since a WHERE on it lets the planner begin with an index instead (7,004 hits for 600).
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op // lock
WITH t
CALL (t) {
  MATCH (s:Live) USING INDEX s:Live(task, request, born, position)
  WHERE s.task = t.key AND s.request < $p.low AND s.born IS NOT NULL AND s.position IS NOT NULL
  WITH s ORDER BY s.task DESC, s.request DESC, s.born DESC, s.position DESC LIMIT $p.lines
  RETURN collect({request: s.request, id: s.id, summary: s.summary}) AS lines
}
CALL (lines) {
  WITH [l IN lines | l.request] AS filled, CASE WHEN size(lines) = $p.lines AND lines[-1].request > $p.low - $p.heads
    THEN lines[-1].request WHEN $p.low > $p.heads THEN $p.low - $p.heads ELSE 1 END AS first
  UNWIND filled + range(first, $p.low - 1) AS number
  WITH DISTINCT number ORDER BY number
  MATCH (r:Request {key: $p.space + '/' + $p.task + '/request:' + toString(number)}) USING INDEX r:Request(key)
  RETURN collect({number: number, text: r.text, abandoned: r.abandoned_step IS NOT NULL}) AS heads
}
CALL (t) {
  MATCH (d:Step) USING INDEX d:Step(scope) WHERE d.scope = t.key + '#' + toString($p.request)
  WITH d.disclosed AS ids, d.disclosed_steps AS steps, d.number AS number
  UNWIND range(0, coalesce(size(ids), 0) - 1) AS i
  RETURN collect({id: ids[i], step: coalesce(steps[i], number)}) AS disclosed
}
CALL (t, disclosed) {
  UNWIND [d IN disclosed WHERE d.id STARTS WITH 'request:'] AS d
  WITH t, toInteger(substring(d.id, 8)) AS number
  MATCH (r:Request {key: t.key + '/request:' + toString(number)}) USING INDEX r:Request(key)
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
  OPTIONAL MATCH (s:State {live_key: t.key + '/state:' + d.id}) USING INDEX s:State(live_key)
  OPTIONAL MATCH (o:RawObservation {key: coalesce([i IN range(0, size(coalesce(t.origins, [])) - 1) WHERE toIntegerOrNull(split(substring(d.id, 4), '.')[0]) < t.origin_nodes[i] | t.origins[i]][0], t.key) + '/' + d.id})
    USING INDEX o:RawObservation(key)
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
  OPTIONAL MATCH (given:State {key: x.refs_at}) USING INDEX given:State(key)
  WITH t, x, step, coalesce(given, x) AS g
  CALL (g) {
    MATCH (g)-[r:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]->(m)
    RETURN collect(CASE WHEN m.id <> g.id THEN {type: type(r), id: m.id, key: m.key, at: m.from_step, raw: m:RawObservation} END) AS outs
  }
  CALL (t, outs) {
    UNWIND outs AS o
    OPTIONAL MATCH (l:State {live_key: t.key + '/state:' + o.id}) USING INDEX l:State(live_key)
    WITH o, o.raw OR coalesce(l.lineage = o.key, false) AS visible
    RETURN collect({type: o.type, id: o.id, incoming: false, visible: visible, at: o.at}) AS own
  }
  OPTIONAL MATCH (first:State {key: x.lineage}) USING INDEX first:State(key)
  WITH t, x, step, own, coalesce(first, x) AS f
  CALL (t, f) {
    MATCH (f)<-[r:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]-(m)
    RETURN collect(CASE WHEN m:State AND m.id <> f.id AND (m.task = t.key OR m.task IN t.origins) THEN {type: type(r), id: m.id, key: m.key, lineage: m.lineage, at: m.from_step} END) AS ins
  }
  CALL (t, ins) {
    UNWIND ins AS i
    MATCH (l:State {live_key: t.key + '/state:' + i.id}) USING INDEX l:State(live_key)
    WITH i, l WHERE l.lineage = i.lineage AND coalesce(l.refs_at, l.key) = i.key
    RETURN collect({type: i.type, id: i.id, incoming: true, visible: true, at: i.at}) AS others
  }
  CALL (own, others) {
    UNWIND [r IN own WHERE r.visible] + others AS r
    WITH r ORDER BY r.at DESC, r.id
    RETURN collect(r) AS related
  }
  WITH x, step, own, related
  RETURN collect({node: CASE WHEN x:State THEN x {.id, .key, .lineage, .born, .position, .request, .refs_at, .summary, .value}
      ELSE x {.id, .tool, .arguments, .content, .request} END, labels: labels(x), step: step, refs: own, related: related[0..$p.neighbours],
    rest: [r IN related[$p.neighbours..] | toLower(r.type) + CASE WHEN r.incoming THEN ' (incoming)' ELSE '' END]}) AS active
}
OPTIONAL MATCH (seen:Step {key: t.key + '/step:' + toString(t.observed_step)}) USING INDEX seen:Step(key)
OPTIONAL MATCH (n:TraceNode {key: seen.node}) USING INDEX n:TraceNode(key)
CALL (n) {
  MATCH (n)<-[:CHILD_OF]-(o)
  WITH CASE WHEN o:RawObservation THEN o {.id, .tool, .arguments, .content, .position} END AS o
  ORDER BY o.position
  RETURN collect(o) AS observation
}
OPTIONAL MATCH (l:Step {key: t.key + '/step:' + toString(t.last_step)}) USING INDEX l:Step(key)
OPTIONAL MATCH (q:Step {key: t.key + '/step:' + toString(t.pending_step)}) USING INDEX q:Step(key)
OPTIONAL MATCH (r:Request {key: t.key + '/request:' + toString(t.open)}) USING INDEX r:Request(key)
RETURN t.version AS version, t.open AS open, r.text AS text, t.psa AS psa, t.isu AS isu, t.p_b AS p_b, t.p_t AS p_t,
  t.p_b <> t.boundary AS in_r, lines, heads, unfolded, active, observation, l.rejected AS rejected, l.refused AS refused,
  t.pending_step AS pending_step, q.calls AS calls
