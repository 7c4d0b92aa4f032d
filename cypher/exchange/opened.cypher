// The step that opened a request.
// mode: read
// params: space, task, request
// returns: step
MATCH (r:Request {key: $p.space + '/' + $p.task + '/request:' + toString($p.request)}) USING INDEX r:Request(key)
RETURN r.opened_step AS step
