// The status of the request that was open after a step, as it was then.
// mode: read
// params: space, task, at, lines, heads, neighbours
// returns: version, open, text, psa, isu, p_b, p_t, in_r, lines, heads, unfolded, active, observation, rejected, refused, pending_step, calls
// why: lineages are read in the order of the index from their first versions, each with one seek for its version of that time: an update more costs nothing.
// why: a disclosure counts when its step was not abandoned by then: `scope` holds those that still count, `left_scope` those that did.
// why: hops and seeks stand apart as in `status`, for the same reason.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
MATCH (c:Step {key: t.key + '/step:' + toString($p.at)}) USING INDEX c:Step(key)
WITH t, c, CASE WHEN coalesce(t.psa, true) THEN c.open ELSE 0 END AS low
CALL (t, low) {
  MATCH (f:State) USING INDEX f:State(first_of, request, born, position)
  WHERE f.first_of = t.key AND f.request < low AND f.born IS NOT NULL AND f.position IS NOT NULL
  WITH f ORDER BY f.first_of DESC, f.request DESC, f.born DESC, f.position DESC
  CALL (f) {
    MATCH (v:State) USING INDEX v:State(task, lineage, from_step)
    WHERE v.task = f.task AND v.lineage = f.lineage AND v.from_step <= $p.at
    WITH v ORDER BY v.task DESC, v.lineage DESC, v.from_step DESC LIMIT 1
    RETURN CASE WHEN coalesce(v.to_step, $p.at + 1) > $p.at THEN v END AS v
  }
  WITH v WHERE v IS NOT NULL
  WITH v LIMIT $p.lines
  RETURN collect({request: v.request, id: v.id, summary: v.summary}) AS lines
}
CALL (t, lines, low) {
  WITH t, [l IN lines | l.request] AS filled, low, CASE WHEN size(lines) = $p.lines AND lines[-1].request > low - $p.heads
    THEN lines[-1].request WHEN low > $p.heads THEN low - $p.heads ELSE 1 END AS first
  UNWIND filled + range(first, low - 1) AS number
  WITH DISTINCT t, number ORDER BY number
  MATCH (r:Request {key: t.key + '/request:' + toString(number)}) USING INDEX r:Request(key)
  RETURN collect({number: number, text: r.text, abandoned: coalesce(r.abandoned_step <= $p.at, false)}) AS heads
}
CALL (t, c) {
  CALL (t, c) {
    MATCH (d:Step) USING INDEX d:Step(scope) WHERE d.scope = t.key + '#' + toString(c.open)
    RETURN d
    UNION ALL
    MATCH (d:Step) USING INDEX d:Step(left_scope) WHERE d.left_scope = t.key + '#' + toString(c.open)
    RETURN d
  }
  WITH d WHERE d.number <= $p.at AND coalesce(d.abandoned_step, $p.at + 1) > $p.at
  WITH d.disclosed AS ids, d.disclosed_steps AS steps, d.number AS number ORDER BY number
  UNWIND range(0, coalesce(size(ids), 0) - 1) AS i
  RETURN collect({id: ids[i], step: coalesce(steps[i], number)}) AS disclosed
}
CALL (t, disclosed) {
  UNWIND [d IN disclosed WHERE d.id STARTS WITH 'request:'] AS d
  WITH t, toInteger(substring(d.id, 8)) AS number
  MATCH (r:Request {key: t.key + '/request:' + toString(number)}) USING INDEX r:Request(key)
  CALL (t, number) {
    MATCH (f:State) USING INDEX f:State(first_of, request, born, position)
    WHERE f.first_of = t.key AND f.request = number AND f.born IS NOT NULL AND f.position IS NOT NULL
    WITH f ORDER BY f.first_of, f.request, f.born, f.position
    CALL (f) {
      MATCH (v:State) USING INDEX v:State(task, lineage, from_step)
      WHERE v.task = f.task AND v.lineage = f.lineage AND v.from_step <= $p.at
      WITH v ORDER BY v.task DESC, v.lineage DESC, v.from_step DESC LIMIT 1
      RETURN CASE WHEN coalesce(v.to_step, $p.at + 1) > $p.at THEN v END AS v
    }
    RETURN [x IN collect(CASE WHEN v IS NOT NULL THEN {request: number, id: v.id, summary: v.summary} END) | x] AS states
  }
  RETURN collect({number: number, text: r.text, abandoned: coalesce(r.abandoned_step <= $p.at, false), states: states}) AS unfolded
}
CALL (t, disclosed) {
  UNWIND [d IN disclosed WHERE NOT d.id STARTS WITH 'request:'] AS d
  CALL (t, d) {
    MATCH (f:State) USING INDEX f:State(first_of, id) WHERE f.first_of = t.key AND f.id = d.id
    CALL (f) {
      MATCH (v:State) USING INDEX v:State(task, lineage, from_step)
      WHERE v.task = f.task AND v.lineage = f.lineage AND v.from_step <= $p.at
      WITH v ORDER BY v.task DESC, v.lineage DESC, v.from_step DESC LIMIT 1
      RETURN CASE WHEN coalesce(v.to_step, $p.at + 1) > $p.at THEN v END AS v
    }
    RETURN collect(v)[0] AS s
  }
  OPTIONAL MATCH (o:RawObservation {key: coalesce([i IN range(0, size(coalesce(t.origins, [])) - 1) WHERE toIntegerOrNull(split(substring(d.id, 4), '.')[0]) < t.origin_nodes[i] | t.origins[i]][0], t.key) + '/' + d.id})
    USING INDEX o:RawObservation(key)
  WITH d, coalesce(s, o) AS x WHERE x IS NOT NULL
  RETURN collect({node: x, step: d.step}) AS shown
}
CALL (t, c, low) {
  MATCH (f:State) USING INDEX f:State(first_of, request, born, position)
  WHERE f.first_of = t.key AND f.request >= low AND f.request <= c.open AND f.born IS NOT NULL AND f.position IS NOT NULL
  WITH f ORDER BY f.first_of, f.request, f.born, f.position
  CALL (f) {
    MATCH (v:State) USING INDEX v:State(task, lineage, from_step)
    WHERE v.task = f.task AND v.lineage = f.lineage AND v.from_step <= $p.at
    WITH v ORDER BY v.task DESC, v.lineage DESC, v.from_step DESC LIMIT 1
    RETURN CASE WHEN coalesce(v.to_step, $p.at + 1) > $p.at THEN v END AS v
  }
  WITH v WHERE v IS NOT NULL
  RETURN collect({node: v, step: v.born}) AS mine
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
    CALL (t, o) {
      OPTIONAL MATCH (v:State) USING INDEX v:State(task, lineage, from_step)
      WHERE v.task = t.key AND v.lineage = o.key AND v.from_step <= $p.at
      WITH v ORDER BY v.task DESC, v.lineage DESC, v.from_step DESC LIMIT 1
      RETURN v IS NOT NULL AND coalesce(v.to_step, $p.at + 1) > $p.at AS there
    }
    RETURN collect({type: o.type, id: o.id, incoming: false, visible: o.raw OR there, at: o.at}) AS own
  }
  OPTIONAL MATCH (first:State {key: x.lineage}) USING INDEX first:State(key)
  WITH t, x, step, own, coalesce(first, x) AS f
  CALL (t, f) {
    MATCH (f)<-[r:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]-(m)
    RETURN collect(CASE WHEN m:State AND m.id <> f.id AND (m.task = t.key OR m.task IN t.origins) THEN {type: type(r), id: m.id, key: m.key, lineage: m.lineage, at: m.from_step} END) AS ins
  }
  CALL (t, ins) {
    UNWIND ins AS i
    CALL (t, i) {
      MATCH (v:State) USING INDEX v:State(task, lineage, from_step)
      WHERE v.task = t.key AND v.lineage = i.lineage AND v.from_step <= $p.at
      WITH v ORDER BY v.task DESC, v.lineage DESC, v.from_step DESC LIMIT 1
      RETURN coalesce(v.to_step, $p.at + 1) > $p.at AND coalesce(v.refs_at, v.key) = i.key AS counts
    }
    WITH i WHERE counts
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
OPTIONAL MATCH (seen:Step {key: t.key + '/step:' + toString(c.observed_step)}) USING INDEX seen:Step(key)
OPTIONAL MATCH (n:TraceNode {key: seen.node}) USING INDEX n:TraceNode(key)
CALL (n) {
  MATCH (n)<-[:CHILD_OF]-(o)
  WITH CASE WHEN o:RawObservation THEN o {.id, .tool, .arguments, .content, .position} END AS o
  ORDER BY o.position
  RETURN collect(o) AS observation
}
OPTIONAL MATCH (l:Step {key: t.key + '/step:' + toString(c.last_step)}) USING INDEX l:Step(key)
OPTIONAL MATCH (q:Step {key: t.key + '/step:' + toString(c.pending_step)}) USING INDEX q:Step(key)
OPTIONAL MATCH (r:Request {key: t.key + '/request:' + toString(c.open)}) USING INDEX r:Request(key)
RETURN c.version AS version, c.open AS open, r.text AS text, t.psa AS psa, t.isu AS isu, c.p_b AS p_b, c.p_t AS p_t,
  c.p_b <> c.boundary AS in_r, lines, heads, unfolded, active, observation, l.rejected AS rejected, l.refused AS refused,
  c.pending_step AS pending_step, q.calls AS calls
