// The indexes of the database and whether they are online; those of constraints among them.
// mode: read
// params: none
// returns: name, state
SHOW INDEXES YIELD name, state, type
WHERE type <> 'LOOKUP'
RETURN name, state ORDER BY name
