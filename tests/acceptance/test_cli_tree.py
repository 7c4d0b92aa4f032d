"""The commands on the tree: what they tell, what a dry run leaves alone, what odd input is answered."""

import json
from collections.abc import Iterator, Mapping
from typing import LiteralString
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result

import graphmem
from graphmem import StateKind
from graphmem.store import Connection
from graphmem_cli.group import cli
from graphmem_cli.tables import visible

from .speech import add, call, say, update

ERASE: LiteralString = "MATCH (n {space: $p.space}) DETACH DELETE n"
COUNT: LiteralString = "MATCH (n {space: $p.space}) RETURN count(n) AS nodes, sum(coalesce(n.version, 0)) AS versions"
ODD = "wrong \x1b[2J\u202e 取消"


@pytest.fixture
def story(graph: graphmem.Graph, connection: Connection) -> Iterator[str]:
    """A task `trip`: a finished subgoal (0), a branch that was left, and one action on the path; steps 1 to 12."""
    name = f"test-{uuid4().hex[:12]}"
    task = graph.space(name).task("trip", irreversible=("book",))
    request = task.request("Book a room")
    (raw,) = call(request, "hotel A is quiet")
    say(request, add("quiet", raw))
    task.compress("looked at hotels")
    (booked,) = call(request, ODD, tool="book")
    say(request, add("choice", kind=StateKind.JUDGEMENT), add("booking", booked, kind=StateKind.ARTIFACT))
    say(request, update("quiet", summary="not so quiet"))
    task.revise(feedback="read the conditions first")
    call(request, "the conditions", tool="read")
    yield name
    connection.run("tests/erase", ERASE, {"space": name})


@pytest.fixture
def env(server_env: Mapping[str, str], story: str) -> dict[str, str | None]:
    unset = dict.fromkeys(("GRAPHMEM_HOME", "GRAPHMEM_DATABASE", "COLUMNS"))
    return {**unset, **server_env, "GRAPHMEM_SPACE": story}


def run(env: Mapping[str, str | None], *arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), env=dict(env), prog_name="graphmem")


def told(env: Mapping[str, str | None], *arguments: str) -> str:
    answer = run(env, *arguments)
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def as_json(env: Mapping[str, str | None], *arguments: str) -> object:
    return json.loads(told(env, *arguments, "--json"))


def test_path_tells_c_r_and_h_and_is_the_value_as_json(env: dict[str, str | None], graph: graphmem.Graph) -> None:
    text = told(env, "path", "trip")
    for part in ("looked at hotels", "the conditions", "H        read the conditions first", "tried: book"):
        assert part in text
    path = graph.space(str(env["GRAPHMEM_SPACE"])).task("trip").path()
    assert as_json(env, "path", "trip") == json.loads(json.dumps(path.to_dict()))


def test_path_of_a_step_is_that_of_then(env: dict[str, str | None]) -> None:
    text = told(env, "path", "trip", "--at", "7")
    assert "book" in text
    assert "read the conditions" not in text
    assert "\x1b" not in text


def test_prompt_is_the_text_word_for_word(env: dict[str, str | None], graph: graphmem.Graph) -> None:
    task = graph.space(str(env["GRAPHMEM_SPACE"])).task("trip")
    assert told(env, "prompt", "trip").rstrip("\n") == visible(task.prompt().text(), newlines=True)
    plain = as_json(env, "prompt", "trip", "--at", "9")
    assert isinstance(plain, dict)
    assert plain["text"] == task.prompt(at=9).text()
    assert plain["tokens"] > 0


def test_diff_says_where_two_moments_part_and_what_differs(env: dict[str, str | None]) -> None:
    text = told(env, "diff", "trip", "9", ".")
    assert "they part at node 1" in text
    assert "- state choice: summary of choice" in text
    assert "+ action 3" in text
    plain = as_json(env, "diff", "trip", "4", "9")
    assert isinstance(plain, dict)
    assert [d["id"] for d in plain["differing"]] == ["quiet"]
    assert told(env, "diff", "trip", ".", ".").strip() == "nothing differs"


def test_diff_of_a_fork_and_its_origin(env: dict[str, str | None]) -> None:
    told(env, "fork", "trip", "plan-b", "--at", "9")
    plain = as_json(env, "diff", "trip", ".", "plan-b")
    assert isinstance(plain, dict)
    assert plain["parted_at"] == 1
    assert "choice" in dict(plain["b"]["states"])
    assert plain["b"]["values"]["choice"] == {"of": "choice"}
    again = as_json(env, "diff", "trip", ".", "plan-b@")
    assert again == plain
    assert as_json(env, "fork", "trip", "plan-b", "--at", "9", "--dry-run") != []
    assert "a fork: what came before step 10" in run(env, "grep", "plan-b", "hotel").stderr


def test_grep_finds_what_is_in_view_and_with_all_what_was_left(env: dict[str, str | None]) -> None:
    assert "obs:2.1" not in told(env, "grep", "trip", "wrong")
    text = told(env, "grep", "trip", "WRONG", "-i", "--all")
    assert "raw result obs:2.1 (step 7, out of view)" in text
    assert "\x1b" not in text
    hits = as_json(env, "grep", "trip", "^hotel A")
    assert isinstance(hits, list)
    assert [(hit["what"], hit["id"]) for hit in hits] == [("raw result", "obs:1.1")]


@pytest.mark.parametrize(("pattern", "why"), [("", "empty"), ("(", "no regular expression")])
def test_a_bad_pattern_is_said_to_be_one(env: dict[str, str | None], pattern: str, why: str) -> None:
    answer = run(env, "grep", "trip", pattern)
    assert answer.exit_code == 1
    assert why in answer.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("compress", "trip", "--dry-run"),
        ("compress", "trip", "read it", "--dry-run"),
        ("maintain", "trip", "0", "--dry-run"),
        ("revise", "trip", "--dry-run"),
        ("revise", "trip", "0", "--feedback", "x", "--world", "restored", "--dry-run"),
        ("fork", "trip", "plan-b", "--dry-run"),
        ("fork", "trip", "plan-b", "--at", "9", "--dry-run"),
    ],
)
def test_a_dry_run_answers_and_writes_nothing(
    env: dict[str, str | None], connection: Connection, arguments: tuple[str, ...]
) -> None:
    p = {"space": env["GRAPHMEM_SPACE"]}
    before = connection.run("tests/count", COUNT, p)
    assert told(env, *arguments)
    assert as_json(env, *arguments)
    assert connection.run("tests/count", COUNT, p) == before


def test_a_dry_revise_names_what_the_real_one_does(env: dict[str, str | None]) -> None:
    arguments = ("revise", "trip", "0", "--feedback", "all of it", "--world", "restored")
    would, did = as_json(env, *arguments, "--dry-run"), as_json(env, *arguments)
    assert isinstance(would, dict)
    assert isinstance(did, dict)
    names = ("left", "returned", "kept", "clashes", "boundary_step", "irreversible", "request")
    assert {name: would[name] for name in names} == {name: did[name] for name in names}
    assert did["left"] == ["quiet", "booking"]
    assert [call_["tool"] for call_ in did["irreversible"]] == ["book"]
    assert would["off_path"] == did["off_path"] == {"summaries": [0], "nodes": [3]}


def test_the_operations_by_hand_do_what_they_say(env: dict[str, str | None], graph: graphmem.Graph) -> None:
    task = graph.space(str(env["GRAPHMEM_SPACE"])).task("trip")
    assert "covers 3: read them" in told(env, "compress", "trip", "read them")
    assert "passed" in told(env, "maintain", "trip", "--pass")
    assert [s.verdict for s in task.path().summaries] == ["unchecked", "passed"]
    assert "failed: too slow" in told(env, "maintain", "trip", "1", "--fail", "too slow")
    text = told(env, "revise", "trip", "1")
    assert "went back to step" in text
    assert task.path().hints.feedback == "too slow"
    assert "plan-c goes on from step" in told(env, "fork", "trip", "plan-c")


def test_a_verdict_on_what_came_with_a_fork_is_said_to_change_nothing_and_why(env: dict[str, str | None]) -> None:
    told(env, "fork", "trip", "plan-b")
    assert "came with the fork and is judged in its origin" in told(env, "maintain", "plan-b", "0", "--fail", "no")
    assert "[unchecked]" in told(env, "path", "plan-b")
    assert "summary:0 as it came with the fork failed: no" in told(env, "log", "plan-b")
    assert "failed, about the text that came with the fork: no" in told(env, "why", "plan-b", "summary:0")


def test_diff_tells_a_verdict_and_refs_that_alone_differ(env: dict[str, str | None], graph: graphmem.Graph) -> None:
    told(env, "fork", "trip", "plan-b")
    told(env, "maintain", "trip", "0", "--fail", "too loud")
    task = graph.space(str(env["GRAPHMEM_SPACE"])).task("trip")
    say(task.open_request(), update("booking", "supports>quiet"))
    lines = told(env, "diff", "trip", ".", "plan-b").split("\n")
    assert lines[0] == "the same actions on both sides"
    assert "- subgoal 0: looked at hotels [failed: too loud]" in lines
    assert "+ subgoal 0: looked at hotels [unchecked]" in lines
    assert "    -supports quiet" in lines


def test_a_verdict_on_what_was_left_is_said_to_be_off_the_path(env: dict[str, str | None]) -> None:
    key = json.loads(told(env, "revise", "trip", "0", "--feedback", "no", "--json"))["about"]
    assert "the summary is not on the path any more" in told(env, "maintain", "trip", key, "--fail", "worse")
    assert "worse" in told(env, "path", "trip")


def test_path_tells_which_states_were_written_where_something_was_tried(env: dict[str, str | None]) -> None:
    told(env, "revise", "trip", "--feedback", "not that either")
    lines = told(env, "path", "trip").split("\n")
    (at,) = (i for i, line in enumerate(lines) if "tried: book {" in line)
    assert set(lines[at + 1].split(": ")[1].split(", ")) == {"choice", "booking", "quiet"}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("path", "nope"), "there is no task"),
        (("path", "trip", "--at", "999"), "has no step 999"),
        (("prompt", "trip", "--at", "9223372036854775807"), "has no step"),
        (("diff", "trip", "1", "nope@1"), "there is no task"),
        (("diff", "trip", "1", "x@y"), "there is no task 'x@y'"),
        (("diff", "trip", "1", "@3"), "is not a name"),
        (("diff", "trip", "1", "9" * 5_000), "is no number of a step"),
        (("diff", "trip", "1", "0"), "step must be a whole number"),
        (("diff", "trip", "1", "trip@99"), "try: graphmem log trip"),
        (("diff", "trip", ".", "nope"), "try: graphmem tasks"),
        (("path", "a/b"), "try: graphmem path --help"),
        (("path", "trip", "--at", "999"), "try: graphmem log trip"),
        (("grep", "trip", "("), "try: graphmem grep --help"),
        (("maintain", "trip", "no-key", "--pass"), "try: graphmem path trip"),
        (("revise", "trip", "9" * 30, "--feedback", "x"), "try: graphmem path trip"),
        (("revise", "trip", "\x1b[2J", "--feedback", "x"), "Those that can be gone back to"),
        (("fork", "trip", "a b"), "is not a name"),
        (("fork", "trip", "trip", "--dry-run"), "try: graphmem tasks"),
        (("fork", "trip", "plan-b", "--at", "6"), "try: graphmem status trip"),
        (("fork", "trip", "plan-b", "--at", "999"), "try: graphmem log trip"),
        (("maintain", "trip", "77", "--pass"), "no summary of the path starts at 77"),
        (("revise", "trip", "77", "--feedback", "x"), "Those that can be gone back to (boundary: text): 0: looked"),
        (("revise", "trip"), "give feedback"),
        (("fork", "trip", "trip"), "there is a task 'trip'"),
        (("fork", "trip", "plan-b", "--at", "6"), "calls wait for their results"),
        (("compress", "trip", " "), "is empty"),
        (("grep", "nope", "x"), "there is no task"),
    ],
)
def test_what_cannot_be_done_is_a_sentence_and_exit_code_1(
    env: dict[str, str | None], arguments: tuple[str, ...], why: str
) -> None:
    answer = run(env, *arguments)
    assert answer.exit_code == 1
    assert why in answer.stderr
    assert "Traceback" not in answer.output
    assert "\ntry: graphmem " in answer.stderr
    assert "\x1b" not in answer.output


def test_maintain_wants_one_verdict(env: dict[str, str | None]) -> None:
    assert run(env, "maintain", "trip").exit_code == 2
    assert run(env, "maintain", "trip", "--pass", "--fail", "x").exit_code == 2
    assert "what is wrong" in run(env, "maintain", "trip", "--fail", " ").stderr


def test_wrong_usage_is_exit_code_2(env: dict[str, str | None]) -> None:
    assert run(env, "prompt", "trip", "--at", "9", "--budget-tokens", "9").exit_code == 2
    assert run(env, "path", "trip", "--at", "9" * 30).exit_code == 2


def test_the_statements_of_a_transaction_are_shown(env: dict[str, str | None]) -> None:
    answer = run(env, "revise", "trip", "--feedback", "x", "--dry-run", "--show-cypher")
    assert answer.exit_code == 0
    for part in (":param", "SET t.lock = $p.op", "boundary_step: $p.back", "$p.ends"):
        assert part in answer.stderr


def test_another_space_has_none_of_it(env: dict[str, str | None]) -> None:
    for arguments in (
        ("path", "trip"),
        ("prompt", "trip"),
        ("grep", "trip", "x"),
        ("revise", "trip", "--feedback", "x"),
    ):
        answer = run({**env, "GRAPHMEM_SPACE": f"{env['GRAPHMEM_SPACE']}-other"}, *arguments)
        assert answer.exit_code == 1
        assert "there is no" in answer.stderr
