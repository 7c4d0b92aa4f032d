// The requests of a task in order, the newest ones where there are more than the limit.
// mode: read
// params: space, task, limit
// returns: number, standing, opened_step, finished_step, abandoned_step, cut_step, text
// why: `cut`: a revise left its finish behind, and it goes on under a later request.
// why: numbers are contiguous, so each request is one seek on its key.
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  WITH t, CASE WHEN t.next_request > 1 AND t.next_request IS :: INTEGER THEN t.next_request ELSE 1 END AS next
  WITH t, next, next - coalesce($p.limit, 1000) AS low
  UNWIND range(CASE WHEN low < 1 THEN 1 ELSE low END, next - 1) AS number
  MATCH (r:Request {key: t.key + '/request:' + toString(number)}) USING INDEX r:Request(key)
  RETURN r, number
}
RETURN number, CASE WHEN number = t.open THEN 'open' WHEN r.abandoned_step IS NOT NULL THEN 'abandoned'
    WHEN r.finished_step IS NULL AND r.cut_step IS NOT NULL THEN 'cut' ELSE 'finished' END AS standing,
  r.opened_step AS opened_step, r.finished_step AS finished_step, r.abandoned_step AS abandoned_step,
  CASE WHEN r.finished_step IS NULL THEN r.cut_step END AS cut_step, r.text AS text
ORDER BY number
