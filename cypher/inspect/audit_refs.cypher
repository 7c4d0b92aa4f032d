// Refs that lead where none may: to a later version, into another task or space, to itself, to what was not there yet.
// mode: read
// params: space, limit
// returns: key, what
// why: an arrow between equal ids is the store's own, a version to the one before it; every other one is a ref of the model.
CALL () {
  MATCH (g:State)-[r:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]->(m)
  WHERE $p.space IS NULL OR g.space = $p.space
  WITH g, m, type(r) AS relation, coalesce(type(r) = 'SUPERSEDES' AND m:State AND m.id = g.id, false) AS own, coalesce(type(r) = 'DERIVES' AND m:State AND m.id = g.id AND g.copied_step IS NOT NULL, false) AS copy
  OPTIONAL MATCH (t:Task {key: g.task})
  WITH g, m, relation, own, copy, m.task IN [] + coalesce(t.origins, []) AS inherited
  WITH g, m, relation, [
    CASE WHEN own AND coalesce(m.lineage <> g.lineage OR m.from_step >= g.from_step, true) THEN 'leads to no earlier version of its lineage' END,
    CASE WHEN NOT (m:State OR m:RawObservation OR m:Entry) THEN 'leads to neither a state, a raw result nor a memory' END,
    CASE WHEN m.space <> g.space THEN 'leads into another space' WHEN m.task <> g.task AND NOT copy AND NOT inherited THEN 'leads into another task' END,
    CASE WHEN copy AND coalesce(m.lineage <> g.lineage OR m.from_step <> g.copied_step OR NOT inherited, true) THEN 'leads to what it is no copy of' END,
    CASE WHEN NOT own AND NOT copy AND m:State AND m.key <> m.lineage THEN 'leads to a later version instead of the first one' END,
    CASE WHEN NOT own AND NOT copy AND m:State AND m.task = g.task AND m.id = g.id THEN 'leads from a state to itself' END,
    CASE WHEN m.task = g.task AND m.from_step > g.from_step THEN 'leads to what began after it was given' END
  ] AS found
  UNWIND [f IN found WHERE f IS NOT NULL] AS fault
  RETURN g.key AS key, 'its ' + relation + ' to ' + coalesce(toStringOrNull(m.key), '(no key)') + ' ' + fault AS what
  UNION ALL
  MATCH (s:State)
  WHERE ($p.space IS NULL OR s.space = $p.space) AND s.refs_at IS NOT NULL
  OPTIONAL MATCH (g:State {key: s.refs_at})
  WITH s, [
    CASE WHEN g IS NULL THEN 'its refs_at names no version' END,
    CASE WHEN g.lineage <> s.lineage THEN 'its refs_at names a version of another lineage' END,
    CASE WHEN g.lineage = s.lineage AND g.from_step >= s.from_step THEN 'its refs_at names a version that was not there yet' END,
    CASE WHEN g.refs_at IS NOT NULL THEN 'its refs_at names a version that has its refs from elsewhere' END,
    CASE WHEN EXISTS { (s)-[:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]->(m) WHERE coalesce(m.id <> s.id, true) }
      THEN 'it has refs of its own beside its refs_at' END
  ] AS found
  UNWIND [f IN found WHERE f IS NOT NULL] AS what
  RETURN s.key AS key, what
}
RETURN key, what
ORDER BY key, what LIMIT coalesce($p.limit, 100)
