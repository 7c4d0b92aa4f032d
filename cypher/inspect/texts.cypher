// The texts of a task in pages by step: versions of states, raw results, summaries, requests and what was put out.
// mode: read
// params: space, task, first, last
// returns: what, id, step, in_view, texts
// why: a range of the ledger is a page: each node began in one step, and is read once by the index of its kind.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  MATCH (s:State) USING INDEX s:State(task, from_step)
  WHERE s.task = t.key AND s.from_step >= coalesce($p.first, 1) AND s.from_step <= coalesce($p.last, 500)
  RETURN 'state' AS what, s.id AS id, s.from_step AS step, s:Live AS in_view, [s.id, s.summary, s.value] AS texts
  UNION ALL
  MATCH (x:Step) USING INDEX x:Step(task, number)
  WHERE x.task = t.key AND x.number >= coalesce($p.first, 1) AND x.number <= coalesce($p.last, 500)
  CALL (x) {
    WITH x WHERE x.kind = 'observe' AND NOT x.merged
    MATCH (n:TraceNode {key: x.node}) USING INDEX n:TraceNode(key)
    MATCH (n)<-[:CHILD_OF]-(o:RawObservation)
    RETURN 'raw result' AS what, o.id AS id, n:OnPath AS in_view, [o.tool, o.arguments, o.content] AS texts
    UNION ALL
    WITH x WHERE x.kind = 'open'
    RETURN 'request' AS what, 'request:' + toString(x.request) AS id, x.abandoned_step IS NULL AS in_view, [x.message] AS texts
    UNION ALL
    WITH x WHERE NOT x.kind IN ['open', 'observe', 'fork']
    RETURN 'step' AS what, 'step:' + toString(x.number) AS id, x.abandoned_step IS NULL AS in_view, [x.message, x.text, x.note, x.calls] AS texts
  }
  RETURN what, id, x.number AS step, in_view, texts
}
RETURN what, id, step, in_view, [text IN texts WHERE text IS NOT NULL] AS texts
ORDER BY step, what, id
