"""The tree of recorded conversations: looked back to, revised, forked, and every command of the debugger on it."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

import graphmem
from graphmem.exchange import Run
from graphmem.inspect import audit
from graphmem_cli.group import cli

from .player import Player


@pytest.fixture
def played(space: graphmem.Space, run: Run) -> graphmem.Task:
    """The run as a task, all of it played."""
    player = Player(space, run)
    player.play()
    return space.task(player.task)


def test_every_step_of_a_recorded_run_can_be_looked_back_to(played: graphmem.Task) -> None:
    last = played.now()
    for step in range(1, last.step + 1):
        then = played.at(step)
        path = then.path()
        depths = [s.boundary for s in path.summaries] + [n.number for n in path.recent]
        assert depths == sorted(set(depths))
        assert [s.id for s in then.states()] == sorted(
            {s.id for s in then.states()}, key=[s.id for s in then.states()].index
        )
    now, past = played.path().to_dict(), last.path().to_dict()
    assert {**past, "at": None} == now


def test_a_recorded_run_is_forked_and_revised_in_the_middle(
    played: graphmem.Task, graph: graphmem.Graph, space: graphmem.Space
) -> None:
    summaries = played.path().summaries
    if not summaries:  # nothing was called in it
        with pytest.raises(graphmem.NothingToReviseError):
            played.revise(feedback="look again")
        return
    target = summaries[len(summaries) // 2]
    before = {s.id for s in played.at(target.from_step).states()}
    fork = played.fork("copy")
    assert {s.id: s.value for s in fork.now().states()} == {s.id: s.value for s in played.now().states()}
    dry = played.revise(target, feedback="look again", dry_run=True)
    gone = played.revise(target, feedback="look again")
    assert (dry.left, dry.returned, dry.kept) == (gone.left, gone.returned, gone.kept)
    now = played.now().states()
    assert not {s.id for s in now} & set(gone.left)
    assert {s.id for s in now if s.kind is graphmem.StateKind.JUDGEMENT} <= before
    assert [s.key for s in played.path().summaries] == [s.key for s in summaries[: len(summaries) // 2]]
    assert {s.id for s in fork.now().states()} >= set(gone.left)
    assert graphmem.compare(played, fork).b.actions
    assert not audit(graph.connection, space.name)


def test_every_command_of_the_debugger_answers_on_a_recorded_run(
    played: graphmem.Task, server_env: Mapping[str, str], tmp_path: Path
) -> None:
    env = {**server_env, "GRAPHMEM_SPACE": played.space}
    state = played.now().states()[-1].id
    steps = range(played.now().step, 0, -1)
    raw = next((n.results[0].id for step in steps for n in played.at(step).path().recent), None)
    page = tmp_path / "tree.html"
    name = played.name
    commands = [
        ["path", name],
        ["path", name, "--at", "3"],
        ["prompt", name, "--at", "3"],
        ["tree", name],
        ["tree", name, "--all"],
        ["tree", name, "--html", str(page)],
        ["diff", name, "3", "."],
        ["why", name, state],
        ["blame", name, state],
        ["impact", name, state],
        ["grep", name, "the", "--all"],
        ["log", name],
        ["fork", name, "other", "--dry-run"],
        ["fork", name, "other"],
    ]
    if raw is not None:
        commands += [
            ["why", name, raw],
            ["impact", name, raw],
            ["maintain", name, "--dry-run"],
            ["revise", name, "0", "--feedback", "x", "--dry-run"],
            ["maintain", name, "--fail", "not enough"],
            ["revise", name, "0", "--feedback", "x"],
        ]
    for arguments in commands:
        once = arguments[0] in ("fork", "revise", "maintain")
        for form in ([],) if once else ([], ["--json"]):
            answer = CliRunner().invoke(cli, [*arguments, *form], env=env)
            assert (answer.exit_code, "Traceback" in answer.output) == (0, False), (arguments, answer.output[-500:])
            if form:
                json.loads(answer.stdout)
    assert page.read_text(encoding="utf-8").startswith("<!")
