// Commits one validated output: the delta, disclosures, the decision; a message finishes the request and compresses its tail.
// mode: write
// params: space, task, request, op, version, attempt, kind, author, output, repairs, refused, calls, calls_hash, message, added, updated, removed, rejected, disclosed, fold, usage, joined, path_tokens, unseen, ends, rows, state_refs, raw_refs, finish, compress, summary_key, summary_name
// returns: verdict, number, version, p_b, ended, created, linked, step, summary
// why: the lock comes before the check, the attempt key before the version; everything after `ok` reads what this statement wrote.
// why: `unseen` are ids of adds that a folded index may hide; when one is in view the verdict is `taken` and nothing is written.
// why: a part of the output that is empty comes as null and is not stored.
// why: arrows of refs are made after all nodes of the delta (a MATCH in the same CALL would not see them), to the first version of the lineage named.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
SET t.lock = $p.op
WITH t
OPTIONAL MATCH (k:Step {attempt: $p.attempt}) USING INDEX k:Step(attempt)
CALL (t) {
  UNWIND $p.unseen AS id
  MATCH (s:State {live_key: t.key + '/state:' + id}) USING INDEX s:State(live_key)
  RETURN count(s) AS taken
}
WITH t, k, CASE WHEN k.abandoned_step IS NOT NULL THEN 'abandoned' WHEN k IS NOT NULL THEN 'replay'
    WHEN coalesce(t.open, 0) <> $p.request THEN 'closed' WHEN t.version <> $p.version THEN 'stale'
    WHEN t.pending_step IS NOT NULL THEN 'pending' WHEN taken > 0 THEN 'taken' ELSE 'ok' END AS verdict
WITH t, k, verdict, verdict = 'ok' AS ok, t.next_step AS n
CALL (t, ok, n) {
  UNWIND CASE WHEN ok THEN $p.ends ELSE [] END AS key
  MATCH (o:State {key: key}) USING INDEX o:State(key)
  REMOVE o:Live
  SET o.live_key = null, o.to_step = n
  RETURN count(o) AS ended
}
CALL (t, ok, n) {
  UNWIND CASE WHEN ok THEN $p.rows ELSE [] END AS row
  MATCH (r:Request {key: t.key + '/request:' + toString($p.request)}) USING INDEX r:Request(key)
  CREATE (v:State:Live:$(row.label))-[:CHILD_OF]->(r)
  SET v.key = t.key + '/state:' + row.id + '@' + toString(n), v.live_key = t.key + '/state:' + row.id, v.space = t.space, v.task = t.key,
    v.id = row.id, v.name = row.name, v.summary = row.summary, v.value = row.value, v.request = $p.request, v.from_step = n,
    v.lineage = coalesce(row.lineage, t.key + '/state:' + row.id + '@' + toString(n)), v.born = coalesce(row.born, n),
    v.position = row.position, v.refs_at = row.refs_at, v.first_of = CASE WHEN row.lineage IS NULL THEN t.key END
  RETURN count(v) AS created
}
CALL (t, ok) {
  UNWIND CASE WHEN ok THEN $p.rows ELSE [] END AS row
  WITH t, row WHERE row.previous IS NOT NULL
  MATCH (v:State {live_key: t.key + '/state:' + row.id}) USING INDEX v:State(live_key)
  MATCH (o:State {key: row.previous}) USING INDEX o:State(key)
  CREATE (v)-[:SUPERSEDES]->(o)
  RETURN count(*) AS replaced
}
CALL (t, ok) {
  UNWIND CASE WHEN ok THEN $p.state_refs ELSE [] END AS ref
  MATCH (v:State {live_key: t.key + '/state:' + ref.source}) USING INDEX v:State(live_key)
  MATCH (l:State {live_key: t.key + '/state:' + ref.target}) USING INDEX l:State(live_key)
  MATCH (m:State {key: l.lineage}) USING INDEX m:State(key)
  CREATE (v)-[:$(ref.type)]->(m)
  RETURN count(*) AS linked_states
}
CALL (t, ok) {
  UNWIND CASE WHEN ok THEN $p.raw_refs ELSE [] END AS ref
  WITH t, ref, coalesce([i IN range(0, size(coalesce(t.origins, [])) - 1) WHERE toIntegerOrNull(split(substring(ref.target, 4), '.')[0]) < t.origin_nodes[i] | t.origins[i]][0], t.key) AS owner
  MATCH (v:State {live_key: t.key + '/state:' + ref.source}) USING INDEX v:State(live_key)
  MATCH (m:RawObservation {key: owner + '/' + ref.target}) USING INDEX m:RawObservation(key)
  CREATE (v)-[:$(ref.type)]->(m)
  RETURN count(*) AS linked_raw
}
WITH t, k, verdict, ok, n, ended, created, linked_states + linked_raw AS linked, 
  ok AND ($p.finish OR $p.compress IS NOT NULL) AND coalesce(t.compress, true) AND t.p_b <> t.boundary AS covering
CALL (t, n, covering) {
  UNWIND CASE WHEN covering THEN [1] ELSE [] END AS once
  MATCH (above:SummaryNode {key: t.p_t}) USING INDEX above:SummaryNode(key)
  MATCH (low:TraceNode {key: t.boundary}) USING INDEX low:TraceNode(key)
  MATCH (last:TraceNode {key: t.p_b}) USING INDEX last:TraceNode(key)
  MERGE (s:SummaryNode {key: $p.summary_key})
    ON CREATE SET s.space = t.space, s.task = t.key, s.rank = above.rank + 1, s.boundary = low.number, s.last = last.key, s.from_step = n
  MERGE (s)-[:CHILD_OF]->(above)
  SET s:OnPath, s.name = $p.summary_name, s.text = coalesce($p.compress, $p.message), s.verdict = 'unchecked', s.note = null, s.written = n
  WITH t, s, low.depth AS depth, last
  SET t.p_t = s.key, t.boundary = last.key, t.feedback_step = null
  WITH t, s, depth
  MATCH (x:OnPath) USING INDEX x:OnPath(task, depth) WHERE x.task = t.key AND x.depth > depth
  MERGE (s)-[:COVERS]->(x)
}
CALL (t, ok, n, covering) {
  WITH t, n, covering WHERE ok
  SET t.next_step = n + 1, t.version = t.version + 1, t.last_step = n,
    t.observed_step = CASE WHEN $p.kind = 'refused' THEN t.observed_step END,
    t.pending_step = CASE WHEN $p.calls_hash IS NOT NULL THEN n END, t.pending_hash = $p.calls_hash, t.open = CASE WHEN $p.finish THEN null ELSE t.open END
  CREATE (step:Step {key: t.key + '/step:' + toString(n), space: t.space, task: t.key, number: n, name: toString(n) + ' ' + $p.kind,
    kind: $p.kind, author: $p.author, attempt: $p.attempt, op: $p.op, request: $p.request, output: $p.output, repairs: $p.repairs,
    refused: $p.refused, calls: $p.calls, message: $p.message, added: $p.added, updated: $p.updated, removed: $p.removed,
    rejected: $p.rejected, disclosed: $p.disclosed, fold: $p.fold, usage: $p.usage, joined: $p.joined, path_tokens: $p.path_tokens,
    scope: CASE WHEN $p.disclosed IS NOT NULL THEN t.key + '#' + toString($p.request) END, text: CASE WHEN covering THEN $p.compress END,
    top: CASE WHEN ($p.finish OR covering) AND t.p_b = t.boundary THEN t.p_t END, about: CASE WHEN covering THEN t.p_t END})
  SET step += t {.version, .p_b, .p_t, .boundary, .open, .pending_step, .observed_step, .last_step, .feedback_step, .request_depth, .next_node}
}
CALL (t, ok, n) {
  UNWIND CASE WHEN ok AND $p.finish THEN [1] ELSE [] END AS once
  MATCH (r:Request {key: t.key + '/request:' + toString($p.request)}) USING INDEX r:Request(key)
  SET r.finished_step = n
}
RETURN verdict, n AS number, t.version AS version, t.p_b AS p_b, ended, created, linked,
  k {.op, .number, .version, .kind, .added, .updated, .removed, .rejected, .disclosed, .calls, .message, .repairs, .refused, .p_b, .about} AS step,
  CASE WHEN covering THEN t.p_t END AS summary
