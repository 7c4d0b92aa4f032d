// The tasks of a space with what each was forked from, origins before their forks.
// mode: read
// params: space
// returns: name, key, origins, held
MATCH (t:Task) USING INDEX t:Task(space, name)
WHERE t.space = $p.space AND t.name >= ''
WITH t ORDER BY size(coalesce(t.origins, [])), t.name
RETURN t.name AS name, t.key AS key, coalesce(t.origins, []) AS origins, t.held AS held
