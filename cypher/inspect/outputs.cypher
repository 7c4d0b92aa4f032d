// What was said at steps, word for word: the output of a model as it came, those before a fork in its origins.
// mode: read
// params: space, task, numbers
// returns: number, author, output
MATCH (t:Task {key: $p.space + '/' + $p.task}) USING INDEX t:Task(key)
CALL (t) {
  UNWIND range(0, size(coalesce(t.origins, []))) AS i
  WITH i, (coalesce(t.origins, []) + t.key)[i] AS key
  MATCH (o:Task {key: key}) USING INDEX o:Task(key)
  WITH i, o ORDER BY i
  WITH collect({task: o.key, low: coalesce(o.first_step, 1)}) AS levels
  RETURN [i IN range(0, size(levels) - 1) | {task: levels[i].task, low: levels[i].low, high: coalesce(levels[i + 1].low - 1, 9223372036854775807)}] AS ledger
}
UNWIND $p.numbers AS number
WITH number, [l IN ledger WHERE l.low <= number AND number <= l.high][0] AS place
MATCH (s:Step {key: place.task + '/step:' + toString(number)}) USING INDEX s:Step(key)
RETURN number, s.author AS author, s.output AS output
ORDER BY number
