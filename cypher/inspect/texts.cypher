// Every text of a task by the step that brought it: requests, calls, messages, raw results, states, summaries, feedback, refused outputs.
// mode: read
// params: space, task, first, limit, characters, all
// returns: step, what, id, in_view, size, text
// why: steps are numbered without a gap, so that a task of any size is read in pages of `limit` steps, each by seeks; `first` begins a page.
// why: a text is cut at `characters` and its `size` told, so that a page has a bound; without `all` only what is in view or on the path.
// why: what came with a fork is told at its first step: the copies of C, R and the states; the nodes below C stay in the origin.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  MATCH (s:Step) USING INDEX s:Step(task, number)
  WHERE s.task = t.key AND s.number >= coalesce($p.first, 1) AND s.number < coalesce($p.first, 1) + coalesce($p.limit, 1000)
  RETURN s
}
CALL (t, s) {
  WITH t, s WHERE s.kind IN ['open', 'fork']
  UNWIND CASE WHEN s.kind = 'fork' THEN range(1, toIntegerOrNull(s.request)) ELSE [s.request] END AS number
  MATCH (r:Request {key: t.key + '/request:' + toStringOrNull(number)}) USING INDEX r:Request(key)
  RETURN 1 AS place, number AS nth, 'request' AS what, 'request:' + toStringOrNull(r.number) AS id, r.abandoned_step IS NULL AS in_view, r.text AS text
  UNION ALL
  WITH s WHERE s.calls IS NOT NULL
  RETURN 2 AS place, 0 AS nth, 'call' AS what, null AS id, s.abandoned_step IS NULL AS in_view, s.calls AS text
  UNION ALL
  WITH s WHERE s.message IS NOT NULL AND s.kind <> 'open'
  RETURN 3 AS place, 0 AS nth, 'message' AS what, null AS id, s.abandoned_step IS NULL AS in_view, s.message AS text
  UNION ALL
  WITH s WHERE s.kind = 'refused' AND s.output IS NOT NULL
  RETURN 4 AS place, 0 AS nth, 'refused' AS what, null AS id, false AS in_view, s.output AS text
  UNION ALL
  WITH s WHERE s.kind = 'fork' OR (s.kind = 'observe' AND NOT coalesce(s.merged, false))
  MATCH (b:TraceNode {key: CASE WHEN s.kind = 'fork' THEN s.p_b ELSE s.node END}) USING INDEX b:TraceNode(key)
  MATCH (b) ((x)-[:CHILD_OF]->(y WHERE s.kind = 'fork' AND y.depth IS NOT NULL)){0,} (n)
  CALL (n) {
    MATCH (n)<-[:CHILD_OF]-(o)
    RETURN CASE WHEN o:RawObservation THEN o END AS o
  }
  RETURN 5 AS place, n.depth * 1000 + o.position AS nth, 'raw result' AS what, o.id AS id, n:OnPath AS in_view, o.content AS text
  UNION ALL
  WITH t, s
  MATCH (v:State) USING INDEX v:State(task, from_step)
  WHERE v.task = t.key AND v.from_step = s.number
  RETURN 6 AS place, v.position AS nth, 'state' AS what, v.id AS id, v:Live AS in_view, v.id + '\n' + v.summary + '\n' + v.value AS text
  UNION ALL
  WITH s WHERE s.text IS NOT NULL OR s.kind = 'fork'
  MATCH (b:SummaryNode {key: CASE WHEN s.kind = 'fork' THEN s.p_t ELSE s.about END}) USING INDEX b:SummaryNode(key)
  MATCH (b) ((x)-[:CHILD_OF]->(y WHERE s.kind = 'fork' AND y.rank > 0)){0,} (c WHERE c.rank > 0)
  RETURN 7 AS place, c.rank AS nth, 'summary' AS what, toStringOrNull(c.boundary) AS id,
    c:OnPath AND coalesce(c.written = s.number, s.kind = 'fork') AS in_view, CASE WHEN s.kind = 'fork' THEN c.text ELSE s.text END AS text
  UNION ALL
  WITH t, s WHERE s.note IS NOT NULL
  OPTIONAL MATCH (c:SummaryNode {key: s.about}) USING INDEX c:SummaryNode(key)
  CALL (c) {
    OPTIONAL MATCH (c)-[:CHILD_OF]->(above)
    RETURN above.key AS above
  }
  RETURN 8 AS place, 0 AS nth, 'feedback' AS what, toStringOrNull(c.boundary) AS id, coalesce(t.feedback_step = s.number, false)
    OR coalesce(s.kind = 'maintain' AND s.of_step = c.written AND (c:OnPath OR above = t.p_t), false)
    OR coalesce(s.kind = 'revise' AND above = t.p_t AND s.abandoned_step IS NULL, false) AS in_view, s.note AS text
}
WITH s, place, nth, what, id, in_view, text WHERE text IS NOT NULL AND (in_view OR coalesce($p.all, false))
RETURN s.number AS step, what, id, in_view, size(text) AS size, left(text, coalesce($p.characters, 400)) AS text
ORDER BY step, place, nth, id
