// Versions of states whose marker, keys, kind or request do not fit (README, rule 1).
// mode: read
// params: space, limit
// returns: key, what
// why: the constraint on live_key keeps one version of an id in view only as long as live_key and :Live stand together.
MATCH (s:State)
WHERE $p.space IS NULL OR s.space = $p.space
WITH s, [
  CASE WHEN (s.live_key IS NOT NULL) <> (s:Live) THEN 'its live_key and its label :Live disagree' END,
  CASE WHEN (s.to_step IS NULL) <> (s:Live) THEN 'its to_step and its label :Live disagree' END,
  CASE WHEN s.live_key <> s.task + '/state:' + s.id THEN 'its live_key is not that of its id' END,
  CASE WHEN coalesce(s.key <> s.task + '/state:' + s.id + '@' + toStringOrNull(s.from_step), true)
    THEN 'its key is not its id and from_step: one version of an id and step' END,
  CASE WHEN s.to_step <= s.from_step THEN 'it ends before it begins' END,
  CASE WHEN s.id STARTS WITH 'obs:' OR s.id STARTS WITH 'request:' OR s.id STARTS WITH 'memory:' THEN 'its id is reserved' END,
  CASE WHEN size([l IN labels(s) WHERE l IN ['Preference', 'Knowledge', 'Attribute', 'Judgement', 'Artifact']]) <> 1
    THEN 'it is not of exactly one kind' END,
  CASE WHEN coalesce(s.first_of, '') <> CASE WHEN s.key = s.lineage OR s.copied_step IS NOT NULL THEN s.task ELSE '' END
    THEN 'first_of is not where it belongs: on first versions only' END,
  CASE WHEN s.summary IS NULL OR s.value IS NULL OR s.born IS NULL OR s.position IS NULL
    THEN 'it lacks its summary, value, birth or position' END,
  CASE WHEN COUNT { (s)-[:CHILD_OF]->() } <> 1
      OR NOT EXISTS { (s)-[:CHILD_OF]->(r:Request) WHERE r.key = s.task + '/request:' + toStringOrNull(s.request) }
    THEN 'it does not hang on its request alone' END
] AS found
UNWIND [f IN found WHERE f IS NOT NULL] AS what
RETURN s.key AS key, what
ORDER BY key, what LIMIT coalesce($p.limit, 100)
