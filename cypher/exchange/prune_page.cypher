// Raw results that a run of steps observed and that still have their text, to be pruned.
// mode: read
// params: space, task, after, until, limit_step
// returns: key, content
// why: the ledger leads to every result by seeks; a text that came again later is as old as its last coming.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  MATCH (s:Step) USING INDEX s:Step(task, number)
  WHERE s.task = t.key AND s.number > $p.after AND s.number <= $p.until
  WITH s WHERE s.kind = 'observe' AND NOT coalesce(s.merged, false)
  UNWIND range(1, size(s.call_ids)) AS i
  RETURN t.key + '/obs:' + toString(s.visited) + '.' + toString(i) AS key
}
MATCH (o:RawObservation {key: key}) USING INDEX o:RawObservation(key)
WITH o WHERE o.content IS NOT NULL AND o.pruned_step IS NULL AND coalesce(o.restored_step, 0) <= $p.limit_step
RETURN o.key AS key, o.content AS content
