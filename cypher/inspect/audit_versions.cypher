// Versions of a lineage that overlap, leave a gap, are not chained, or differ in what a lineage keeps (README, rules 1 and 2).
// mode: read
// params: space, limit
// returns: key, what
// why: a gap is damage unless the step that ended the version says that it removed the state; only a revise ends and returns versions without naming them.
MATCH (v:State)
WHERE $p.space IS NULL OR v.space = $p.space
CALL (v) {
  MATCH (w:State) USING INDEX w:State(task, lineage, from_step)
  WHERE w.task = v.task AND w.lineage = v.lineage AND w.from_step > toIntegerOrNull(v.from_step)
  WITH w ORDER BY w.task, w.lineage, w.from_step LIMIT 1
  RETURN collect(w)[0] AS next
}
OPTIONAL MATCH (f:State {key: v.lineage})
OPTIONAL MATCH (t:Task {key: v.task})
OPTIONAL MATCH (b:Step {key: v.task + '/step:' + toStringOrNull(v.from_step)})
OPTIONAL MATCH (e:Step {key: v.task + '/step:' + toStringOrNull(v.to_step)})
WITH v, [
  CASE WHEN f IS NULL THEN 'its lineage has no first version' END,
  CASE WHEN (f.task <> v.task AND NOT f.task IN [] + coalesce(t.origins, [])) OR f.id <> v.id OR f.born <> v.born OR f.position <> v.position OR f.request <> v.request
      OR [l IN labels(f) WHERE l <> 'Live'] <> [l IN labels(v) WHERE l <> 'Live']
    THEN 'it differs from its first version in task, id, birth, position, request or kind' END,
  CASE WHEN next IS NOT NULL AND coalesce(v.to_step > next.from_step, true) THEN 'it is in view when its next version begins: they overlap' END,
  CASE WHEN e.kind <> 'revise' AND coalesce(next.from_step <> v.to_step, true) AND NOT v.id IN [] + coalesce(e.removed, [])
    THEN 'nothing follows where it ended, though that step did not remove it: a gap' END,
  CASE WHEN e.kind <> 'revise' AND next.from_step = v.to_step AND NOT v.id IN [] + coalesce(e.updated, []) THEN 'the step that replaced it does not say so' END,
  CASE WHEN (b.kind = 'fork') <> (v.copied_step IS NOT NULL) THEN 'it is a copy and did not come with the fork, or the other way round' END,
  CASE WHEN NOT b.kind IN ['revise', 'fork'] AND NOT v.id IN [] + coalesce(CASE WHEN v.key = v.lineage THEN b.added ELSE b.updated END, [])
    THEN 'the step that began it does not say so' END,
  CASE WHEN next IS NOT NULL AND NOT EXISTS { (next)-[:SUPERSEDES]->(v) } THEN 'its next version has no arrow to it' END
] AS found
UNWIND [f IN found WHERE f IS NOT NULL] AS what
RETURN v.key AS key, what
ORDER BY key, what LIMIT coalesce($p.limit, 100)
