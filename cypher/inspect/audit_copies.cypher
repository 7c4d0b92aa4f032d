// Forks that do not go on from where their origin stood, copies that are not what they were made from, and states that did not come along.
// mode: read
// params: space, limit
// returns: key, what
// why: a copy differs from its original in key, task, from_step and in whether it is the first of its task; an original may have ended since.
CALL () {
  MATCH (t:Task)
  WHERE ($p.space IS NULL OR t.space = $p.space) AND (t.origins IS NOT NULL OR t.first_step IS NOT NULL)
  WITH t, ([] + coalesce(t.origins, []))[-1] AS origin
  OPTIONAL MATCH (f:Step {key: t.key + '/step:' + toStringOrNull(t.first_step)})
  OPTIONAL MATCH (o:Task {key: origin})
  OPTIONAL MATCH (c:Step {key: origin + '/step:' + toStringOrNull(f.of_step)})
  WITH t, [
    CASE WHEN coalesce(f.kind <> 'fork', true) THEN 'its first step made no fork' END,
    CASE WHEN coalesce(o.space <> t.space, true) THEN 'its origin is no task of its space' END,
    CASE WHEN coalesce(c.number <> toIntegerOrNull(f.number) - 1, true) THEN 'its first step does not follow the one where it was forked' END,
    CASE WHEN coalesce(([] + t.origin_nodes)[-1] <> c.next_node, true) THEN 'its own trace nodes are not numbered on from its origin' END,
    CASE WHEN [] + t.origins <> [] + coalesce(o.origins, []) + origin THEN 'its origins are not its origin and those of it' END,
    CASE WHEN coalesce(f.version <> toIntegerOrNull(c.version) + 1 OR f.open <> c.open OR f.request <> c.request, false) OR (f.open IS NULL) <> (c.open IS NULL)
      THEN 'it did not begin with the version and the request of that step' END
  ] AS found
  UNWIND [f IN found WHERE f IS NOT NULL] AS what
  RETURN t.key AS key, what
  UNION ALL
  MATCH (n)
  WHERE (n:TraceNode OR n:SummaryNode OR n:State) AND ($p.space IS NULL OR n.space = $p.space) AND n.copied_step IS NOT NULL
  OPTIONAL MATCH (t:Task {key: n.task})
  CALL (n) {
    MATCH (n)-[:DERIVES]->(o)
    RETURN collect(CASE WHEN (o:TraceNode AND n:TraceNode) OR (o:SummaryNode AND n:SummaryNode) OR (o:State AND n:State AND o.id = n.id) THEN o END) AS originals
  }
  WITH n, t, originals, originals[0] AS o
  CALL (n, o) {
    MATCH (n)<-[:CHILD_OF]-(x)
    WITH collect(CASE WHEN x:RawObservation THEN x END) AS mine
    CALL (o) {
      MATCH (o)<-[:CHILD_OF]-(y)
      RETURN collect(CASE WHEN y:RawObservation THEN y END) AS theirs
    }
    RETURN size(mine) <> size(theirs) OR any(x IN mine WHERE NOT x IN theirs) AS strays
  }
  WITH n, [
    CASE WHEN size(originals) <> 1 THEN 'it is a copy of not exactly one of its kind' END,
    CASE WHEN o.task <> ([] + coalesce(t.origins, []))[-1] THEN 'it is a copy from a task that is not its origin' END,
    CASE WHEN n.copied_step <> o.from_step OR n.copied_step >= t.first_step THEN 'its copied_step is not the step of its original, before the fork' END,
    CASE WHEN coalesce(n.from_step <> t.first_step, t IS NOT NULL) THEN 'it is a copy and did not come with the fork' END,
    CASE WHEN n:TraceNode AND o:TraceNode AND (coalesce(n.number <> o.number OR n.hash <> o.hash OR n.depth <> o.depth, n.number IS NULL) OR coalesce(strays, false))
      THEN 'it differs from its original in number, content, depth or raw results' END,
    CASE WHEN n:SummaryNode AND o:SummaryNode AND coalesce(n.rank <> o.rank OR n.boundary <> o.boundary, true) THEN 'it differs from its original in rank or boundary' END,
    CASE WHEN n:State AND o:State AND (coalesce(n.lineage <> o.lineage OR n.born <> o.born OR n.position <> o.position OR n.request <> o.request OR n.summary <> o.summary
        OR n.value <> o.value OR n.refs_at <> coalesce(o.refs_at, o.key), true) OR [l IN labels(n) WHERE l <> 'Live'] <> [l IN labels(o) WHERE l <> 'Live'])
      THEN 'it differs from its original in what a copy keeps' END,
    CASE WHEN n:State AND o.to_step < t.first_step THEN 'its original was not in view where it was forked' END
  ] AS found
  UNWIND [f IN found WHERE f IS NOT NULL] AS what
  RETURN n.key AS key, what
  UNION ALL
  MATCH (t:Task)
  WHERE ($p.space IS NULL OR t.space = $p.space) AND t.origins IS NOT NULL
  CALL (t) {
    MATCH (v:State) USING INDEX v:State(task, from_step)
    WHERE v.task = ([] + t.origins)[-1] AND v.from_step < toIntegerOrNull(t.first_step)
    WITH t, v WHERE coalesce(v.to_step >= t.first_step, true)
    OPTIONAL MATCH (c:State {key: t.key + '/state:' + v.id + '@' + toStringOrNull(t.first_step)})
    WITH v, c WHERE c IS NULL
    RETURN 'the state ' + coalesce(v.id, '(no id)') + ' was in view where it was forked and did not come along' AS what
  }
  RETURN t.key AS key, what
}
RETURN key, what
ORDER BY key, what LIMIT coalesce($p.limit, 100)
