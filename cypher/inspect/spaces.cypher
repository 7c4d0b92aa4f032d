// The spaces that have a task, by name, and how many tasks each has.
// mode: read
// params: limit
// returns: space, tasks
// why: the index has them in order, so that the first spaces are counted without reading the others.
MATCH (t:Task) USING INDEX t:Task(space, name)
WHERE t.space IS :: STRING NOT NULL AND t.name IS NOT NULL
WITH t.space AS space, count(*) AS tasks ORDER BY space LIMIT coalesce($p.limit, 1000)
RETURN space, tasks
ORDER BY space
