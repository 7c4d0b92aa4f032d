// Damage, each planted alone in the healthy run of test_audit.py: what the audits must say of it, all of it and nothing
// else, then the statement. $p.t and $p.u are the keys of two tasks, $p.w of one with a branch that
// was left, $p.f of its fork, $p.space their space.

// identity: it has no name
MATCH (s:Live {task: $p.t, id: 'fact'}) REMOVE s.name

// identity: it has no space
MATCH (o:RawObservation {task: $p.t, id: 'obs:1.2'}) REMOVE o.space

// identity: it has no key
CREATE (:Topic {space: $p.space, name: 'x'})

// covers: it covers more or fewer nodes than lie between its boundary and its last node
// covers: its last node does not exist
// identity: its task does not exist
// steps: its from_step, 1, is no step of its task
CREATE (:SummaryNode {key: $p.t + 'x', space: $p.space, name: 'x', task: $p.t + 'x', rank: 0, boundary: 0, from_step:
1, verdict: 'passed'})

// cursor: its boundary is not the last node that p_t covers
// cursor: p_b is no trace node on its path
// cursor: p_t is no summary on its path
// identity: its key is not its space and name
CREATE (t:Task {key: $p.t + 'x', space: $p.space, name: 'y', next_step: 1, next_request: 1})

// identity: it is :Live but no state
MATCH (o:RawObservation {task: $p.t, id: 'obs:1.2'}) SET o:Live

// identity: it is :OnPath but no node of the tree
// path: the path forks below it
MATCH (o:RawObservation {task: $p.t, id: 'obs:1.2'}) SET o:OnPath

// states: its live_key and its label :Live disagree
// states: its to_step and its label :Live disagree
MATCH (s:Live {task: $p.t, id: 'fact'}) REMOVE s:Live

// states: its live_key and its label :Live disagree
MATCH (s:Live {task: $p.t, id: 'fact'}) REMOVE s.live_key

// states: its live_key is not that of its id
MATCH (s:Live {task: $p.t, id: 'fact'}) SET s.live_key = s.live_key + 'x'

// refs: leads to a later version instead of the first one
// states: first_of is not where it belongs: on first versions only
// states: its key is not its id and from_step: one version of an id and step
// versions: its lineage has no first version
// versions: the step that began it does not say so
MATCH (s:State {task: $p.t, id: 'choice'}) SET s.key = s.key + '9'

// states: it ends before it begins
// versions: nothing follows where it ended, though that step did not remove it: a gap
MATCH (s:State {task: $p.t, id: 'gone', from_step: 4}) SET s.to_step = 4

// states: its id is reserved
// versions: the step that began it does not say so
MATCH (s:State {task: $p.t, id: 'wish'}) SET s.id = 'obs:9.9', s.key = $p.t + '/state:obs:9.9@2', s.lineage = $p.t +
'/state:obs:9.9@2', s.live_key = $p.t + '/state:obs:9.9'

// states: it is not of exactly one kind
MATCH (s:State {task: $p.t, id: 'wish'}) SET s:Artifact

// states: first_of is not where it belongs: on first versions only
MATCH (s:Live {task: $p.t, id: 'fact'}) SET s.first_of = s.task

// states: it lacks its summary, value, birth or position
MATCH (s:Live {task: $p.t, id: 'fact'}) REMOVE s.value

// states: it does not hang on its request alone
MATCH (s:Live {task: $p.t, id: 'fact'}) MATCH (s)-[e:CHILD_OF]->() DELETE e

// versions: it is in view when its next version begins: they overlap
// versions: nothing follows where it ended, though that step did not remove it: a gap
MATCH (s:State {task: $p.t, id: 'fact', from_step: 4}) SET s.to_step = 7

// versions: nothing follows where it ended, though that step did not remove it: a gap
MATCH (s:State {task: $p.t, id: 'fact', from_step: 4}) SET s.to_step = 5

// versions: the step that began it does not say so
// versions: the step that replaced it does not say so
MATCH (s:Step {task: $p.t, number: 6}) SET s.updated = []

// versions: it differs from its first version in task, id, birth, position, request or kind
MATCH (s:Live {task: $p.t, id: 'fact'}) SET s.position = 9

// versions: its next version has no arrow to it
MATCH (s:Live {task: $p.t, id: 'fact'}) MATCH (s)-[e:SUPERSEDES]->({id: 'fact'}) DELETE e

// versions: nothing follows where it ended, though that step did not remove it: a gap
MATCH (s:Live {task: $p.t, id: 'choice'}) REMOVE s:Live, s.live_key SET s.to_step = 7

// results: it did not come with its trace node
// steps: its from_step, 99, is no step of its task
MATCH (n:TraceNode {task: $p.u, number: 1}) SET n.from_step = 99

// steps: it has no from_step
MATCH (n:SummaryNode {task: $p.u}) REMOVE n.from_step

// refs: leads to a later version instead of the first one
MATCH (g:State {task: $p.t, id: 'choice'})-[e:DERIVES]->() MATCH (m:Live {task: $p.t, id: 'wish'}) MATCH (l:State
{task: $p.t, id: 'fact', from_step: 6}) CREATE (g)-[:DERIVES]->(l)

// refs: leads into another task
MATCH (s:Live {task: $p.t, id: 'fact'}) MATCH (x:State {task: $p.u, id: 'x'}) CREATE (s)-[:FOLLOWS]->(x)

// refs: leads to neither a state, a raw result nor a memory
MATCH (s:Live {task: $p.t, id: 'fact'}) MATCH (r:Request {task: $p.t, number: 1}) CREATE (s)-[:FOLLOWS]->(r)

// refs: leads from a state to itself
MATCH (s:Live {task: $p.t, id: 'wish'}) CREATE (s)-[:FOLLOWS]->(s)

// refs: leads to what began after it was given
MATCH (s:Live {task: $p.t, id: 'wish'}) MATCH (m:Live {task: $p.t, id: 'choice'}) CREATE (s)-[:SUPPORTS]->(m)

// refs: leads to no earlier version of its lineage
MATCH (s:State {task: $p.t, id: 'gone', from_step: 4}) MATCH (m:Live {task: $p.t, id: 'gone'}) CREATE
(m)-[:SUPERSEDES]->(s)

// refs: its refs_at names no version
MATCH (s:Live {task: $p.t, id: 'gone'}) SET s.refs_at = 'nowhere'

// refs: its refs_at names a version of another lineage
MATCH (s:Live {task: $p.t, id: 'gone'}) MATCH (m:Live {task: $p.t, id: 'choice'}) SET s.refs_at = m.key

// refs: its refs_at names a version that has its refs from elsewhere
// refs: its refs_at names a version that was not there yet
MATCH (s:Live {task: $p.t, id: 'gone'}) SET s.refs_at = s.key

// refs: it has refs of its own beside its refs_at
MATCH (s:Live {task: $p.t, id: 'gone'}) MATCH (m:Live {task: $p.t, id: 'wish'}) CREATE (s)-[:FOLLOWS]->(m)

// ledger: step 11 is missing from its ledger
MATCH (s:Step {task: $p.t, number: 11}) DETACH DELETE s

// ledger: its number was not given out yet
MATCH (s:Step {task: $p.t, number: 6}) MATCH (t:Task {key: $p.t}) CREATE (x:Step) SET x = s {.*, attempt: null, key:
'x'}, x.number = t.next_step, x.version = t.version, x.key = $p.t + '/step:' + toString(t.next_step)

// ledger: its attempt key does not begin with space and task
MATCH (s:Step {task: $p.t, number: 6}) SET s.attempt = 'else/' + s.attempt

// ledger: its version does not lie between those of its neighbours
MATCH (s:Step {task: $p.t, number: 6}) SET s.version = 1

// ledger: it does not say what it did
MATCH (s:Step {task: $p.t, number: 3}) REMOVE s.kind

// ledger: its p_b, p_t or boundary is no node
MATCH (s:Step {task: $p.t, number: 3}) SET s.p_b = 'x'

// ledger: the trace node that it visited does not exist
MATCH (s:Step {task: $p.t, number: 3}) SET s.visited = 9

// ledger: its request does not exist
MATCH (s:Step {task: $p.t, number: 3}) SET s.request = 9

// requests: request 4 is missing
MATCH (t:Task {key: $p.t}) SET t.next_request = t.next_request + 1

// requests: another step finished it
// requests: it is neither open, finished nor abandoned
MATCH (r:Request {task: $p.t, number: 2}) REMOVE r.finished_step

// requests: it is open though it ended
// requests: its finished_step is not the one that finished it
MATCH (r:Request {task: $p.t, number: 3}) SET r.finished_step = 14

// requests: its opened_step is not the one that opened it
MATCH (r:Request {task: $p.t, number: 2}) SET r.opened_step = 10

// requests: it does not hang on its task alone
MATCH (r:Request {task: $p.t, number: 2}) MATCH (t:Task {key: $p.u}) CREATE (r)-[:CHILD_OF]->(t)

// cursor: its cursor is not where the last step of the ledger left it
// cursor: p_b is no trace node on its path
// path: the path ends at it and the cursor is elsewhere
MATCH (t:Task {key: $p.t}) SET t.p_b = 'x'

// cursor: its boundary is not the last node that p_t covers
// cursor: its cursor is not where the last step of the ledger left it
// path: the path ends at it and the cursor is elsewhere
// path: the path goes on below the cursor
MATCH (t:Task {key: $p.t}) MATCH (s:SummaryNode {task: $p.t, rank: 0}) SET t.p_t = s.key

// cursor: its boundary is not the last node that p_t covers
// cursor: its cursor is not where the last step of the ledger left it
MATCH (t:Task {key: $p.t}) MATCH (b:TraceNode {key: t.p_b}) SET t.boundary = b.key

// cursor: its open request does not exist
// requests: it is neither open, finished nor abandoned
MATCH (t:Task {key: $p.u}) SET t.open = 7

// cursor: its pending_step is no step with calls
MATCH (t:Task {key: $p.t}) SET t.pending_step = 15

// cursor: calls are pending that were answered
MATCH (t:Task {key: $p.t}) SET t.pending_step = 16

// cursor: the calls of its last step have no results and are not pending
MATCH (t:Task {key: $p.t}) REMOVE t.pending_step

// cursor: its observed_step is no observation
MATCH (t:Task {key: $p.t}) SET t.observed_step = 16

// path: the path ends at it and the cursor is elsewhere
// path: the path forks below it
// results: its id is not the number of its node and its position
MATCH (r:TraceNode {task: $p.u, number: 0}) CREATE (n:TraceNode:OnPath {key: $p.u + '?', space: $p.space, task: $p.u,
name: 'x', number: 1, depth: 1, from_step: 2}) CREATE (n)-[:CHILD_OF]->(r) CREATE (n)<-[:CHILD_OF]-(:RawObservation
{key: $p.u + '/obs:1.2', id: 'obs:1.2', position: 1, space: $p.space, task: $p.u, name: 'x', tool: 'x', arguments:
'{}', from_step: 2})

// path: it is on the path and its parent is not
// path: the path ends at it and the cursor is elsewhere
MATCH (n:TraceNode {task: $p.t, number: 2}) REMOVE n:OnPath

// path: its depth or rank is not that of its parent + 1
MATCH (t:Task {key: $p.t}) MATCH (b:TraceNode {key: t.p_b}) SET b.depth = 9

// path: it has not exactly one parent
// path: its depth or rank is not that of its parent + 1
// path: the path forks below it
MATCH (t:Task {key: $p.t}) MATCH (b:TraceNode {key: t.p_b}) MATCH (r:TraceNode {task: $p.t, number: 0}) CREATE
(b)-[:CHILD_OF]->(r)

// path: its number was not given out yet
MATCH (t:Task {key: $p.t}) SET t.next_node = 4

// covers: it covers more or fewer nodes than lie between its boundary and its last node
// covers: it does not cover its last node
MATCH (t:Task {key: $p.t}) MATCH (s:SummaryNode {key: t.p_t}) MATCH (s)-[e:COVERS]->(:TraceNode) DELETE e

// covers: it covers more or fewer nodes than lie between its boundary and its last node
MATCH (t:Task {key: $p.t}) MATCH (s:SummaryNode {key: t.p_t}) MATCH (b:TraceNode {key: t.p_b}) MATCH
(s)-[e:COVERS]->(x) WITH s, b, e, x CREATE (s)-[:COVERS]->(b)

// covers: it covers a node that does not hang on its chain
// covers: it does not cover its last node
MATCH (t:Task {key: $p.t}) MATCH (s:SummaryNode {key: t.p_t}) MATCH (x:TraceNode {task: $p.u, number: 1}) MATCH
(s)-[e:COVERS]->() DELETE e CREATE (s)-[:COVERS]->(x)

// covers: its boundary is not the last node of its parent
MATCH (t:Task {key: $p.t}) MATCH (s:SummaryNode {key: t.p_t}) SET s.boundary = 1

// covers: its verdict is none
// told: its verdict is not what the steps about it say
MATCH (t:Task {key: $p.t}) MATCH (s:SummaryNode {key: t.p_t}) SET s.verdict = 'fine'

// results: its raw results are not numbered from 1
MATCH (o:RawObservation {task: $p.t, id: 'obs:1.1'}) DETACH DELETE o

// results: it has no raw result
MATCH (o:RawObservation {task: $p.u, id: 'obs:1.1'}) DETACH DELETE o

// results: it does not hang on one trace node
MATCH (o:RawObservation {task: $p.t, id: 'obs:1.2'}) MATCH (o)-[e:CHILD_OF]->() DELETE e

// results: its key is not its task and id
MATCH (o:RawObservation {task: $p.t, id: 'obs:1.2'}) SET o.key = o.key + 'x'

// results: it did not come with its trace node
MATCH (o:RawObservation {task: $p.t, id: 'obs:1.2'}) SET o.from_step = 5

// results: it does not say which call it answers
MATCH (o:RawObservation {task: $p.t, id: 'obs:1.2'}) REMOVE o.tool

// branches: the revise of step 10 went back before it, and it was not abandoned with it
// branches: what it disclosed is not shown though it stands
MATCH (s:Step {task: $p.w, number: 9}) REMOVE s.abandoned_step

// branches: it is abandoned by no revise that went back before it
MATCH (s:Step {task: $p.w, number: 4}) SET s.abandoned_step = 10

// branches: it is abandoned and what it disclosed is still shown
MATCH (s:Step {task: $p.w, number: 9}) SET s.scope = s.left_scope

// branches: what it disclosed is shown to no request
MATCH (s:Step {task: $p.w, number: 9}) REMOVE s.left_scope

// branches: it does not say where it went back to, or why
// told: its note is not what the steps about it say
MATCH (s:Step {task: $p.w, kind: 'revise'}) REMOVE s.note

// branches: it holds no verdict
// branches: it is abandoned by no revise that went back before it
// told: no step gave it its text
MATCH (s:Step {task: $p.w, number: 6}) SET s.kind = 'maintain', s.abandoned_step = 10

// branches: it is abandoned by no revise that went back before it
// branches: the step that it went back to did not make the summary that it restored the top
MATCH (s:Step {task: $p.w, number: 10}) SET s.boundary_step = 7

// branches: the summary that it restored became the top after the step that it went back to
MATCH (s:Step {task: $p.w, number: 8}) MATCH (r:Step {task: $p.w, number: 10}) SET s.top = r.top

// branches: it did not put the cursor where that step had it
// ledger: its p_b, p_t or boundary is no node
MATCH (s:Step {task: $p.w, number: 10}) SET s.p_b = s.p_b + 'x'

// branches: its feedback is not the one that stands after it
MATCH (s:Step {task: $p.w, number: 10}) SET s.feedback_step = 1

// branches: what it disclosed is shown to another request
MATCH (s:Step {task: $p.w, number: 9}) SET s.left_scope = s.left_scope + '1'

// branches: the revise of step 10 went back before it, and it was not abandoned with it
// branches: it is abandoned by no revise that went back before it
MATCH (s:Step {task: $p.w, number: 8}) SET s.abandoned_step = 12

// requests: another step finished it
// requests: its finished_step is not the one that finished it
MATCH (r:Request {task: $p.t, number: 1}) SET r.finished_step = 7

// branches: it is abandoned by no revise that went back before it
// requests: the step that finished it is abandoned
MATCH (s:Step {task: $p.t, number: 8}) SET s.abandoned_step = 18

// requests: it and the step that opened it were not abandoned together
// requests: its abandoned_step is no revise that went back before it
MATCH (r:Request {task: $p.t, number: 1}) SET r.abandoned_step = 14

// requests: its cut_step is neither a revise nor a fork
// requests: its finish was cut off and it is finished
MATCH (r:Request {task: $p.t, number: 1}) SET r.cut_step = 10

// requests: it is no copy of the request of its origin
MATCH (r:Request {task: $p.f, number: 1}) SET r.text = 'another'

// requests: it is of the origin and no copy
MATCH (r:Request {task: $p.f, number: 1}) REMOVE r.copied_step

// told: no step gave it its text
MATCH (s:Step {task: $p.w, kind: 'compress'}) REMOVE s.text

// told: its text is not of the step that it names
MATCH (s:SummaryNode:OnPath {task: $p.w, rank: 1}) SET s.written = 3

// told: its text is not the last one that was given
MATCH (s:SummaryNode:OnPath {task: $p.w, rank: 1}) SET s.text = 'x'

// told: its verdict is not what the steps about it say
MATCH (s:SummaryNode {task: $p.w, verdict: 'failed'}) SET s.verdict = 'passed'

// told: its note is not what the steps about it say
MATCH (s:SummaryNode {task: $p.w, verdict: 'failed'}) REMOVE s.note

// told: its verdict is not what the steps about it say
MATCH (s:SummaryNode {task: $p.f, rank: 1}) SET s.verdict = 'passed'

// copies: it is a copy of not exactly one of its kind
MATCH (n:TraceNode {task: $p.f, number: 2})-[e:DERIVES]->() DELETE e

// copies: it differs from its original in rank or boundary
// copies: it is a copy from a task that is not its origin
// copies: its copied_step is not the step of its original, before the fork
// told: its text is not the last one that was given
MATCH (n:SummaryNode {task: $p.f, rank: 1})-[e:DERIVES]->() MATCH (x:SummaryNode {task: $p.t,
rank: 2}) DELETE e CREATE (n)-[:DERIVES]->(x)

// copies: its copied_step is not the step of its original, before the fork
MATCH (n:TraceNode {task: $p.f, number: 2}) SET n.copied_step = n.copied_step + 1

// copies: it differs from its original in number, content, depth or raw results
MATCH (n:TraceNode {task: $p.f, number: 2}) SET n.hash = 'x'

// copies: it differs from its original in number, content, depth or raw results
// results: it has no raw result
MATCH (n:TraceNode {task: $p.f, number: 4})<-[e:CHILD_OF]-(:RawObservation) DELETE e

// copies: it differs from its original in what a copy keeps
MATCH (v:State {task: $p.f, id: 'fact', from_step: 13}) SET v.summary = 'x'

// copies: its original was not in view where it was forked
// states: its to_step and its label :Live disagree
// versions: nothing follows where it ended, though that step did not remove it: a gap
MATCH (v:State {task: $p.w, id: 'fact', from_step: 9}) SET v.to_step = 11

// copies: the state fact was in view where it was forked and did not come along
MATCH (v:State {task: $p.f, id: 'fact', from_step: 13}) DETACH DELETE v

// copies: its first step made no fork
// ledger: the trace node that it visited does not exist
// versions: it is a copy and did not come with the fork, or the other way round
// versions: the step that began it does not say so
MATCH (s:Step {task: $p.f, number: 13}) SET s.kind = 'open'

// copies: it did not begin with the version and the request of that step
// copies: its first step does not follow the one where it was forked
// copies: its own trace nodes are not numbered on from its origin
MATCH (s:Step {task: $p.f, number: 13}) SET s.of_step = 11

// copies: it did not begin with the version and the request of that step
// copies: it is a copy from a task that is not its origin
// copies: its first step does not follow the one where it was forked
// copies: its origin is no task of its space
// copies: its own trace nodes are not numbered on from its origin
// refs: leads to what it is no copy of
// requests: it is no copy of the request of its origin
// versions: it differs from its first version in task, id, birth, position, request or kind
MATCH (t:Task {key: $p.f}) SET t.origins = ['x']

// copies: its origins are not its origin and those of it
MATCH (t:Task {key: $p.f}) SET t.origins = [$p.t] + t.origins

// copies: its own trace nodes are not numbered on from its origin
MATCH (t:Task {key: $p.f}) SET t.origin_nodes = [3]

// copies: it did not begin with the version and the request of that step
MATCH (s:Step {task: $p.f, number: 13}) SET s.open = null
