// What the server is, and which schema the database has.
// mode: read
// params: none
// returns: server, version, checksums
CALL dbms.components() YIELD name, versions
WITH versions[0] AS server WHERE name = 'Neo4j Kernel'
OPTIONAL MATCH (s:Schema {key: 'graphmem'})
RETURN server, s.version AS version, s.checksums AS checksums
