// Deletes what a space holds beside its tasks, so much at a time.
// mode: write
// params: space, limit
// returns: kinds
CALL () {
  MATCH (n:Entry|Topic|Hook)
  WHERE n.space = $p.space
  RETURN n LIMIT $p.limit
}
WITH collect(n) AS found
WITH found, [n IN found | labels(n)[0]] AS kinds
FOREACH (n IN found | DETACH DELETE n)
RETURN kinds
