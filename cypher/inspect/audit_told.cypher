// Summaries whose text, verdict or note is not what the steps about them tell; of a copy, what was told of its original until the fork.
// mode: read
// params: space, limit
// returns: key, what
// why: a new text makes the verdict unchecked again, a verdict counts while the text that it judged is the present one, a revise fails what it pops.
MATCH (s:SummaryNode)
WHERE ($p.space IS NULL OR s.space = $p.space) AND s.rank > 0
OPTIONAL MATCH (t:Task {key: s.task})
CALL (s) {
  MATCH (s)-[:DERIVES]->(o:SummaryNode)
  RETURN collect(o)[0] AS original
}
WITH s, CASE WHEN s.copied_step IS NULL THEN s ELSE original END AS source, CASE WHEN s.copied_step IS NOT NULL THEN toIntegerOrNull(t.first_step) END AS until
CALL (source, until) {
  MATCH (a:Step) USING INDEX a:Step(about, number)
  WHERE a.about = source.key AND a.number > 0
  WITH a WHERE until IS NULL OR a.number < until
  WITH a ORDER BY a.number
  RETURN collect(a) AS steps
}
WITH s, source, steps, [a IN steps WHERE a.kind <> 'maintain' AND coalesce(a.text, a.message) IS NOT NULL][-1] AS w
WITH s, source, w, [a IN steps WHERE a.number >= w.number AND (a.kind = 'revise' OR a.kind = 'maintain' AND a.of_step = w.number)][-1] AS said
WITH s, w, CASE WHEN w IS NULL THEN source.text ELSE coalesce(w.text, w.message) END AS text,
  CASE WHEN w IS NULL THEN source.verdict WHEN said IS NULL THEN 'unchecked' WHEN said.kind = 'revise' THEN 'failed' ELSE said.verdict END AS verdict,
  CASE WHEN w IS NULL THEN source.note ELSE said.note END AS note
WITH s, [
  CASE WHEN s.copied_step IS NULL AND w IS NULL THEN 'no step gave it its text' END,
  CASE WHEN s.copied_step IS NULL AND coalesce(s.written <> w.number, w IS NOT NULL) THEN 'its text is not of the step that it names' END,
  CASE WHEN coalesce(s.text <> text, NOT (s.text IS NULL AND text IS NULL)) THEN 'its text is not the last one that was given' END,
  CASE WHEN coalesce(s.verdict <> verdict, NOT (s.verdict IS NULL AND verdict IS NULL)) THEN 'its verdict is not what the steps about it say' END,
  CASE WHEN coalesce(s.note <> note, NOT (s.note IS NULL AND note IS NULL)) THEN 'its note is not what the steps about it say' END
] AS found
UNWIND [f IN found WHERE f IS NOT NULL] AS what
RETURN s.key AS key, what
ORDER BY key, what LIMIT coalesce($p.limit, 100)
