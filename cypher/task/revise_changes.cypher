// Second statement of a revise: every version that began or ended since a step, with the raw results it cites, and the calls that really ran.
// mode: read
// params: space, task, back, depth
// returns: versions, calls
// why: two ranges of the ledger; it costs what changed, not what the task holds.
// why: what a fork inherited below C hangs on nodes of its origin; it is on the path when a summary of which C has a copy covers them.
// why: calls are those of every observation since, on branches left before as well: the world has had them all.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  CALL (t) {
    MATCH (v:State) USING INDEX v:State(task, from_step) WHERE v.task = t.key AND v.from_step > $p.back
    RETURN v
    UNION
    MATCH (v:State) USING INDEX v:State(task, to_step) WHERE v.task = t.key AND v.to_step > $p.back
    RETURN v
  }
  MATCH (g:State {key: coalesce(v.refs_at, v.key)}) USING INDEX g:State(key)
  CALL (g) {
    MATCH (g)-[r:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]->(m)
    RETURN collect(CASE WHEN m.id <> g.id THEN {type: type(r), id: m.id, node: m, raw: m:RawObservation} END) AS refs
  }
  CALL (t, refs) {
    UNWIND [r IN refs WHERE r.raw] AS ref
    WITH t, ref.node AS o
    CALL (t, o) {
      MATCH (o)-[:CHILD_OF]->(n)
      RETURN count(CASE WHEN n:OnPath AND n.task = t.key AND n.depth <= $p.depth THEN 1 END) > 0 AS found
    }
    CALL (t, o, found) {
      WITH t, o WHERE NOT found AND o.task <> t.key
      MATCH (o)-[:CHILD_OF]->(n)
      MATCH (n)<-[:COVERS]-(s)
      MATCH (s)<-[:DERIVES*1..]-(c)
      RETURN count(CASE WHEN c.task = t.key THEN 1 END) > 0 AS inherited
    }
    RETURN collect({id: o.id, on_path: found OR inherited}) AS cites
  }
  RETURN collect(v {.key, .id, .summary, .value, .request, .from_step, .to_step, .lineage, .born, .position, .refs_at,
    kind: toLower([l IN labels(v) WHERE NOT l IN ['State', 'Live']][0]), refs: [r IN refs | {type: r.type, id: r.id}], cites: cites}) AS versions
}
CALL (t) {
  MATCH (s:Step) USING INDEX s:Step(task, number) WHERE s.task = t.key AND s.number > $p.back
  WITH s WHERE s.irreversible IS NOT NULL
  MATCH (x:TraceNode {key: s.node}) USING INDEX x:TraceNode(key)
  CALL (s, x) {
    MATCH (x)<-[:CHILD_OF]-(o)
    WITH CASE WHEN o:RawObservation AND o.tool IN s.irreversible THEN o END AS o ORDER BY o.position
    RETURN collect(o {.id, .tool, .arguments, known: o.content IS NOT NULL}) AS ran
  }
  WITH s, ran ORDER BY s.number
  RETURN collect({step: s.number, ran: ran}) AS calls
}
RETURN versions, calls
