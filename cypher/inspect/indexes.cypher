// The indexes of the database and whether they are online; those of constraints among them.
// mode: read
// params: none
// returns: name, state, type, labels, properties, constraint
SHOW INDEXES YIELD name, state, type, labelsOrTypes, properties, owningConstraint
WHERE type <> 'LOOKUP'
RETURN name, state, type, labelsOrTypes AS labels, properties, owningConstraint AS constraint ORDER BY name
