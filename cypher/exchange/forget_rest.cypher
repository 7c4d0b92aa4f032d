// Deletes what names one of some held tasks and hangs on no step of a ledger, so much at a time.
// mode: write
// params: space, keys, limit
// returns: kinds
// why: in a sound graph there is nothing; it looks at every node of our labels, and is run once, after all pages.
CALL () {
  MATCH (n:Step|Request|TraceNode|SummaryNode|RawObservation|State)
  WHERE n.space = $p.space AND n.task IN $p.keys
  RETURN n LIMIT $p.limit
}
WITH collect(n) AS found
WITH found, [n IN found | [l IN labels(n) WHERE NOT l IN ['State', 'Live', 'OnPath']][0]] AS kinds
FOREACH (n IN found | DETACH DELETE n)
RETURN kinds
