"""Prune: the texts of old raw results go, what they were stays, and whatever shows them says so."""

import hashlib
import json
from uuid import uuid4

import pytest

import graphmem
from graphmem import Space, StepOutput, Task, ToolCall
from graphmem.errors import InvalidValueError, StaleStatusError
from graphmem.exchange.pruning import Age
from graphmem.inspect import audit, show, why
from graphmem.inspect.values import RawResult
from graphmem.store import Connection, query
from tests.acceptance.speech import access, add
from tests.acceptance.tree_speech import grow
from tests.acceptance.whole_space import holding, whole


@pytest.fixture
def mark() -> str:
    return f"m{uuid4().hex}"


def told(text: str) -> str:
    data = text.encode()
    return f"[pruned: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}]"


def raw_result(connection: Connection, space: str, task: str, id_: str) -> RawResult:
    found = show(connection, space, task, id_)
    assert isinstance(found, RawResult)
    return found


def shown(moment: graphmem.Past) -> str:
    return moment.status().text() + moment.path().text()


def three_requests(space: Space, mark: str, name: str = "t") -> Task:
    """Two finished requests and an open one, each with a result that holds the mark and a state that cites it."""
    task = space.task(name)
    for number in (1, 2, 3):
        request = task.request(f"request {number}")
        grow(request, f"ä {mark} {number}", arguments={"n": number})
        request.step(request.status(), StepOutput(delta=(add(f"s{number}", f"obs:{number}.1"),)))
        if number < 3:
            request.step(request.status(), StepOutput(message=f"done {number}"))
    return task


def test_texts_go_and_id_size_hash_and_call_stay(space: Space, connection: Connection, mark: str) -> None:
    three_requests(space, mark)
    before = raw_result(connection, space.name, "t", "obs:1.1")
    done = space.prune("t", raw_older_than="1 request")
    size = len(f"ä {mark} 1".encode())
    assert (done.results, done.bytes, done.dry_run) == (2, 2 * size, False)
    assert holding(connection, mark) == 1
    after = raw_result(connection, space.name, "t", "obs:1.1")
    assert after.content == told(f"ä {mark} 1")
    assert (after.id, after.tool, after.arguments, after.node) == (
        before.id,
        before.tool,
        before.arguments,
        before.node,
    )
    assert (before.pruned_step, after.pruned_step) == (None, space.task("t").now().step)
    assert raw_result(connection, space.name, "t", "obs:3.1").content == f"ä {mark} 3"
    rows = connection.run(
        "tests/left", "MATCH (o:RawObservation {key: $p.key}) RETURN o.bytes AS bytes, o.sha256 AS sha256",
        {"key": f"{space.name}/t/obs:1.1"},
    )  # fmt: skip
    assert rows == [{"bytes": size, "sha256": hashlib.sha256(f"ä {mark} 1".encode()).hexdigest()}]
    assert audit(connection, space.name) == ()


@pytest.mark.parametrize(
    ("age", "left"),
    [("0 steps", 0), ("0 requests", 0), ("1 request", 1), ("2 requests", 2), ("3 requests", 3), ("99 requests", 3),
     ("2 steps", 1), ("1 step", 0), ("9999 steps", 3)],
)  # fmt: skip
def test_age_is_counted_in_steps_or_requests(
    space: Space, connection: Connection, mark: str, age: str, left: int
) -> None:
    task = three_requests(space, mark)
    if age == "1 step":  # the last result was observed one step before the last one; with this two
        task.compress("c")
    before = whole(connection, space.name)
    dry = space.prune("t", raw_older_than=age, dry_run=True)
    assert (dry.results, dry.dry_run) == (3 - left, True)
    assert whole(connection, space.name) == before
    assert space.prune("t", raw_older_than=age).results == 3 - left
    assert holding(connection, mark) == left
    again = space.prune("t", raw_older_than=age)
    assert again.results == 0 or age == "2 steps"  # a prune is a step itself
    assert audit(connection, space.name) == ()


def test_what_is_no_age_is_refused(space: Space) -> None:
    space.task("t").request("go")
    for age in ("", "3", "3 days", "-1 steps", "1.5 steps", "steps", "3 requests ago", "9" * 30 + " steps"):
        with pytest.raises(InvalidValueError, match="no other clock"):
            space.prune("t", raw_older_than=age)
    assert Age.of(" 1 step ") == Age(count=1, unit="step")
    with pytest.raises(graphmem.NotFoundError):
        space.prune("none", raw_older_than="1 step")


def test_status_path_why_and_the_past_say_so(space: Space, connection: Connection, mark: str) -> None:
    task = three_requests(space, mark)
    request = task.open_request()
    request.step(request.status(), StepOutput(access=access("s1")))
    request.step(request.status(), StepOutput(access=access("obs:1.1")))
    step = task.now().step
    seen = shown(task.at(step))
    status = request.status()
    assert f"ä {mark} 1" in seen
    space.prune("t", raw_older_than="0 steps")
    # The version was raised: what was read before cannot be answered.
    with pytest.raises(StaleStatusError):
        request.step(status, StepOutput(delta=(add("late"),)))
    for number in (1, 3):  # the one was disclosed, the other is recent
        assert told(f"ä {mark} {number}") in task.prompt().text()
    assert task.path().recent[0].results[0].content == told(f"ä {mark} 3")
    raw = next(state for state in request.status().active if state.id == "obs:1.1")
    assert raw.value == told(f"ä {mark} 1")
    # Steps before the prune: the text is gone, everything else is as it was.
    assert shown(task.at(step)) == seen.replace(f"ä {mark} 1", told(f"ä {mark} 1")).replace(
        f"ä {mark} 3", told(f"ä {mark} 3")
    )
    assert mark not in task.prompt(at=step).text() + task.prompt(at=3).text()
    reasons = json.dumps(why(connection, space.name, "t", "s1").to_dict())
    assert told(f"ä {mark} 1") in reasons
    # It can be cited and asked for as before.
    result = request.step(request.status(), StepOutput(delta=(add("more", "obs:1.1", "obs:3.1"),)))
    assert (result.added, result.rejected) == (("more",), ())
    assert holding(connection, mark) == 0
    assert audit(connection, space.name) == ()


def test_a_text_that_comes_again_is_there_again(space: Space, connection: Connection, mark: str) -> None:
    task = space.task("t")
    request = task.request("go")
    grow(request, mark, arguments={"a": 1})
    grow(request, None, "known")
    space.prune("t", raw_older_than="0 steps")
    task.revise(feedback="again")
    grown = grow(request, mark, arguments={"a": 1})
    assert grown.merged
    assert request.status().observation[0].content == mark
    # Its age is that of its last coming.
    assert space.prune("t", raw_older_than="1 step", dry_run=True).results == 0
    pair = (
        (ToolCall(name="look", arguments={"of": "?"}), ToolCall(name="look", arguments={"of": "known"})),
        [None, "known"],
    )
    (loaded,) = task.grow_many([pair], attempt="again")
    assert loaded.merged
    assert raw_result(connection, space.name, "t", "obs:2.2").content == "known"
    assert raw_result(connection, space.name, "t", "obs:2.1").content is None
    assert audit(connection, space.name) == ()


def test_forks_show_what_is_left_and_their_versions_are_raised(space: Space, connection: Connection, mark: str) -> None:
    task = three_requests(space, mark)
    fork = task.fork("f")
    deep = fork.fork("g")
    statuses = [branch.open_request().status() for branch in (fork, deep)]
    space.prune("t", raw_older_than="0 steps")
    for branch, status in zip((fork, deep), statuses, strict=True):
        with pytest.raises(StaleStatusError):
            branch.open_request().step(status, StepOutput(delta=(add("late"),)))
        assert told(f"ä {mark} 3") in branch.path().text()
        assert raw_result(connection, space.name, branch.name, "obs:1.1").content == told(f"ä {mark} 1")
    grow(fork.open_request(), f"own {mark}", arguments={"a": 1})
    space.prune("f", raw_older_than="0 steps")
    assert holding(connection, mark) == 0
    assert audit(connection, space.name) == ()


def test_batches_are_steps_of_their_own(space: Space, connection: Connection) -> None:
    task = space.task("t")
    task.request("load")
    task.grow_many([((ToolCall(name="look", arguments={"i": i}),), [f"r{i}"]) for i in range(1_100)], attempt="a")
    last = task.now().step
    done = space.prune("t", raw_older_than="100 steps")
    assert (done.results, done.batches) == (1_050, 3)
    assert task.now().step == last + 3
    assert audit(connection, space.name) == ()


def test_damage_is_found(space: Space, connection: Connection, mark: str) -> None:
    three_requests(space, mark)
    space.prune("t", raw_older_than="0 steps")
    key = {"key": f"{space.name}/t/obs:1.1"}
    connection.run("tests/plant", "MATCH (o:RawObservation {key: $p.key}) SET o.sha256 = null", key)
    assert [finding.key for finding in audit(connection, space.name)] == [key["key"]]


def test_an_export_keeps_what_is_left(space: Space, connection: Connection, mark: str, tmp_path: object) -> None:
    three_requests(space, mark)
    space.prune("t", raw_older_than="1 request")
    before = whole(connection, space.name)
    file = f"{tmp_path}/t.jsonl"
    space.export(file)
    space.forget()
    space.load(file)
    assert whole(connection, space.name) == before


def test_a_page_is_found_by_seeks(space: Space, connection: Connection) -> None:
    hits = []
    for name, size in (("t", 60), ("u", 400)):
        task = space.task(name)
        task.request("load")
        task.grow_many([((ToolCall(name="look", arguments={"i": i}),), ["r"]) for i in range(size)], attempt="a")
        p = {"space": space.name, "task": name, "after": 20, "until": 40, "limit_step": 90}
        hits.append(connection.profile(query("exchange/prune_page"), p))
    assert hits[0] == hits[1]
