// A finished subgoal, by its key or as `summary:ℓ`: what it covers, and what the steps about it said.
// mode: read
// params: space, task, id
// returns: key, boundary, rank, text, verdict, note, on_path, from_step, written, origin, covers, told, siblings
// why: of several that start at one ℓ the one on the path is meant, else the newest; the others are `siblings`, to be asked for by key.
// why: off the path they are found below the summary that ends at ℓ, which is a seek on the first raw result of ℓ.
// why: a copy in a fork covers what its original covers; steps of an origin count up to the fork.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  UNWIND range(0, size(coalesce(t.origins, []))) AS i
  WITH i, (coalesce(t.origins, []) + t.key)[i] AS key
  MATCH (o:Task {key: key}) USING INDEX o:Task(key)
  WITH i, o ORDER BY i
  WITH collect({task: o.key, low: coalesce(o.first_step, 1)}) AS levels
  RETURN [i IN range(0, size(levels) - 1) | {task: levels[i].task, low: levels[i].low, high: coalesce(levels[i + 1].low - 1, 9223372036854775807)}] AS ledger
}
OPTIONAL MATCH (k:SummaryNode {key: $p.id}) USING INDEX k:SummaryNode(key)
WITH t, ledger, CASE WHEN k.task IN [l IN ledger | l.task] THEN k END AS k,
  CASE WHEN $p.id STARTS WITH 'summary:' THEN toIntegerOrNull(substring($p.id, 8)) END AS boundary
CALL (t) {
  MATCH (top:SummaryNode {key: t.p_t}) USING INDEX top:SummaryNode(key)
  MATCH (top)-[:CHILD_OF*0..]->(s)
  WITH s ORDER BY s.rank
  RETURN collect(s) AS chain
}
WITH t, ledger, k, chain, coalesce(k.boundary, boundary) AS boundary,
  coalesce([i IN range(0, size(coalesce(t.origins, [])) - 1) WHERE coalesce(k.boundary, boundary) < t.origin_nodes[i] | t.origins[i]][0], t.key) AS owner
OPTIONAL MATCH (a:RawObservation {key: owner + '/obs:' + toString(boundary) + '.1'}) USING INDEX a:RawObservation(key)
CALL (t, a) {
  MATCH (a)-[:CHILD_OF]->(n)
  RETURN collect(CASE WHEN n:TraceNode AND n.task = t.key THEN n END)[0] AS n
}
CALL (n) {
  MATCH (n)<-[:COVERS]-(s)
  RETURN collect(CASE WHEN s:SummaryNode AND s.last = n.key THEN s END) AS ending
}
CALL (chain, boundary, ending) {
  UNWIND ending + [s IN chain WHERE s.rank = 0 AND boundary = 0] AS above
  MATCH (above)<-[:CHILD_OF]-(c)
  RETURN collect(DISTINCT CASE WHEN c:SummaryNode THEN c END) AS kids
}
CALL (chain, boundary, kids) {
  UNWIND kids + [s IN chain WHERE s.boundary = boundary AND s.rank > 0] AS c
  WITH DISTINCT c, CASE WHEN c:OnPath THEN 0 ELSE 1 END AS away
  ORDER BY away, coalesce(c.written, c.from_step) DESC
  RETURN collect(c)[0..50] AS candidates
}
WITH t, ledger, coalesce(k, candidates[0]) AS c, candidates
WITH t, ledger, c, candidates WHERE c IS NOT NULL
CALL (c) {
  MATCH (c) ((a)-[:DERIVES]->(b) WHERE a.copied_step IS NOT NULL)* (o)
  WITH c, o, CASE WHEN o.copied_step IS NULL THEN o END AS real
  RETURN collect(o) AS forms, collect(real)[0] AS first
}
CALL (first) {
  MATCH (first)-[:COVERS]->(x)
  CALL (x) {
    MATCH (x)<-[:CHILD_OF]-(o)
    WITH CASE WHEN o:RawObservation THEN o {.id, .key, .tool, .arguments} END AS o, o.position AS place ORDER BY place
    RETURN collect(o) AS results
  }
  WITH x, results ORDER BY x.depth
  RETURN collect({node: x.number, name: x.name, step: x.from_step, results: results}) AS covers
}
CALL (ledger, forms) {
  UNWIND forms AS form
  WITH ledger, form
  MATCH (a:Step) USING INDEX a:Step(about, number) WHERE a.about = form.key AND a.number > 0
  WITH a, [l IN ledger WHERE l.task = a.task][0].high AS high
  WITH a, high WHERE a.number <= high
  WITH a, high ORDER BY a.number
  RETURN collect(a {.number, .kind, .author, .request, .of_step, .verdict, .note, text: coalesce(a.text, a.message),
    abandoned_step: CASE WHEN a.abandoned_step <= high THEN a.abandoned_step END}) AS told
}
RETURN c.key AS key, c.boundary AS boundary, c.rank AS rank, c.text AS text, c.verdict AS verdict, c.note AS note, c:OnPath AND c.task = t.key AS on_path,
  first.from_step AS from_step, first.written AS written, CASE WHEN first.task <> t.key THEN substring(first.task, size(t.space) + 1) END AS origin,
  covers, told, [s IN candidates WHERE s.key <> c.key | s {.key, .verdict, .note, .from_step, text: left(s.text, 200)}] AS siblings
