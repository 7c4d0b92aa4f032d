"""Commands that operate on the tree by hand: compress, maintain, revise, fork; each with --dry-run.

Each calls one method of the task. Owns the words in which their answers are told; what is refused is told by the
library.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import click

from graphmem import inspect
from graphmem.graph import Graph
from graphmem.task import Task
from graphmem.trace import Path, RanCall, Revised, Ruling, Summary
from graphmem.vocabulary import json_text, short_name
from graphmem_cli.options import (
    Command,
    Reach,
    connection_options,
    json_option,
    number_option,
    print_json,
    space_option,
)
from graphmem_cli.tables import page_width, visible, wrapped
from graphmem_cli.tree_commands import advised

_dry_run = click.option("--dry-run", is_flag=True, help="Say what would happen; write nothing.")
_author: Final = "command line"
_DIGITS: Final = 18


def _options(function: Command) -> Command:
    return space_option(connection_options(json_option(function)))


def _on(reach: Reach, space: str, task: str, work: Callable[[Task], Any], *, lists: str = "path") -> Any:
    """What is made of a task that must exist."""
    with reach.graph() as graph, advised(graph, space, task, lists=lists):
        return work(graph.space(space).task(task))


def _target(text: str | None) -> str | int | None:
    """A boundary where it is a number, else a key."""
    return int(text) if text is not None and text.isdecimal() and len(text) < _DIGITS else text


def _say(lines: Iterator[str]) -> None:
    for line in lines:
        for part in wrapped(line, columns=page_width(), rest="    "):
            click.echo(visible(part))


@click.command()
@click.argument("task")
@click.argument("text", required=False)
@_dry_run
@_options
def compress(reach: Reach, space: str, task: str, text: str | None, dry_run: bool, as_json: bool) -> None:
    """Replace what was done since the last compression by a summary.

    Without TEXT a rule writes it: each call, and how its result begins.
    """

    with reach.graph() as graph, advised(graph, space, task, lists="path"):
        on = graph.space(space).task(task)
        made = on.compress(text, author=_author, dry_run=dry_run)
        covered = [node.number for node in on.path().recent] if dry_run else _covered(graph, made, space, task)
    if as_json:
        print_json({"summary": made.to_dict(), "covers": covered, "dry_run": dry_run})
        return
    would = "would cover" if dry_run else "covers"
    _say(iter([f"summary from {made.boundary} {would} {_numbers(covered)}: {made.text}"]))


def _covered(graph: Graph, made: Summary, space: str, task: str) -> list[int]:
    """What a summary covers: another writer may have gone on since it was asked for."""
    found = inspect.why(graph.connection, space, task, made.key)
    return [covered.node for covered in found.covers] if isinstance(found, inspect.SummaryReason) else []


def _numbers(numbers: list[int]) -> str:
    return " to ".join(str(number) for number in dict.fromkeys((*numbers[:1], *numbers[-1:])))


@click.command()
@click.argument("task")
@click.argument("summary", required=False)
@click.option("--pass", "passes", is_flag=True, help="It is right.")
@click.option("--fail", "feedback", metavar="FEEDBACK", help="It is wrong, and why; what to do instead.")
@_dry_run
@_options
def maintain(
    reach: Reach,
    space: str,
    task: str,
    summary: str | None,
    passes: bool,
    feedback: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Record your verdict on a finished subgoal, the newest or the one that starts at SUMMARY.

    A verdict moves nothing: `graphmem revise` goes back. With --dry-run: what a judge would be shown.
    """
    if not dry_run and passes == (feedback is not None):
        raise click.UsageError("give --pass, or --fail FEEDBACK")
    if feedback is not None and not feedback.strip():
        raise click.UsageError("--fail needs FEEDBACK: what is wrong and what to do instead")

    def work(on: Task) -> Any:
        if dry_run:
            return on.case(_target(summary))
        return on.maintain(
            _target(summary), lambda _case: Ruling(passed=passes, feedback=feedback or ""), author=_author
        )

    done = _on(reach, space, task, work)
    if as_json:
        print_json(done.to_dict() | {"dry_run": dry_run})
        return
    if dry_run:
        _say(_case_lines(done))
        return
    why = "came with the fork and is judged in its origin" if done.copied else "has another text by now"
    stands = "" if done.on_path else "; the summary is not on the path any more"
    stands = stands if done.stands else f"; the summary {why}, so it changes nothing"
    _say(iter([f"step {done.step}: {'passed' if done.passed else f'failed: {done.feedback}'}{stands}"]))


def _case_lines(case: Any) -> Iterator[str]:
    yield f"instruction: {case.instruction}"
    yield from (f"preference {id_}: {text} {json_text(case.values[id_])}" for id_, text in case.preferences)
    for node in case.trace:
        for seen in node.results:
            result = "(outcome unknown)" if seen.content is None else short_name(seen.content, characters=200)
            yield f"{node.number}: {seen.tool} {json_text(seen.arguments)} -> {result}"
    if case.summary is not None:
        yield f"summary {case.summary.boundary} [{case.summary.verdict}]: {case.summary.text}"


@click.command()
@click.argument("task")
@click.argument("target", required=False)
@click.option("--feedback", help="What went wrong and what to do instead. Default: the note of the target.")
@click.option(
    "--world",
    type=click.Choice(["unchanged", "restored"]),
    default="unchanged",
    show_default=True,
    help="Whether what the tools did stands, or was put back too.",
)
@_dry_run
@_options
def revise(
    reach: Reach,
    space: str,
    task: str,
    target: str | None,
    feedback: str | None,
    world: str,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Go back to where a finished subgoal starts; it and everything after it leaves the path.

    TARGET is the number where it starts, as `graphmem path` lists it. Without one, what was done since the last
    compression is left.
    """

    def work(on: Task) -> tuple[Revised, dict[str, list[int]]]:
        done = on.revise(
            _target(target),
            feedback=feedback or ("dry run" if dry_run else None),
            world=world,
            author=_author,
            dry_run=dry_run,
        )
        return done, _off_path(on.at(done.step - 1).path(), on.at(done.boundary_step).path())

    done, off_path = _on(reach, space, task, work)
    if as_json:
        print_json(done.to_dict() | {"off_path": off_path, "dry_run": dry_run})
    else:
        _say(_revised_lines(done, off_path, dry_run=dry_run))


def _off_path(before: Path, after: Path) -> dict[str, list[int]]:
    """Where the summaries start, and the numbers of the nodes, that are on the first path alone."""
    kept = {summary.key for summary in after.summaries} | {node.key for node in after.recent}
    return {
        "summaries": [summary.boundary for summary in before.summaries if summary.key not in kept],
        "nodes": [node.number for node in before.recent if node.key not in kept],
    }


def _revised_lines(done: Revised, off_path: dict[str, list[int]], *, dry_run: bool) -> Iterator[str]:
    went = "would go" if dry_run else f"step {done.step} went"
    yield f"{went} back to step {done.boundary_step}; request {done.request} goes on"
    for what, numbers in (("finished subgoals", off_path["summaries"]), ("recent actions", off_path["nodes"])):
        if numbers:
            yield f"  off the path: {what} {', '.join(map(str, numbers))}"
    for what, ids in (
        ("leaves the view", done.left),
        ("has its value of then again", done.returned),
        ("stays, for it was really made", done.kept),
        ("stays removed", done.stays_removed),
        ("does not return, for another state has its id", done.clashes),
    ):
        if ids:
            yield f"  {what}: {', '.join(ids)}"
    if done.requests:
        yield f"  abandoned requests: {', '.join(map(str, done.requests))}"
    yield from map(_ran_line, done.irreversible)


def _ran_line(call: RanCall) -> str:
    known = "" if call.known else " (outcome unknown)"
    return f"  cannot be undone: {call.tool} {call.arguments}, {call.id} in step {call.step}{known}"


@click.command()
@click.argument("task")
@click.argument("name")
@number_option("--at", "The step to go on from. Default: the last one.")
@_dry_run
@_options
def fork(reach: Reach, space: str, task: str, name: str, at: int | None, dry_run: bool, as_json: bool) -> None:
    """Make the task NAME, which goes on from a step of TASK as if nothing had come after it."""

    def work(on: Task) -> dict[str, Any]:
        moment = on.now() if at is None else on.at(at)
        path, states = moment.path(), moment.states()
        plain: dict[str, Any] = {
            "task": name,
            "at": moment.step,
            "summaries": [summary.boundary for summary in path.summaries],
            "recent": [node.number for node in path.recent],
            "states": [state.id for state in states],
            "dry_run": dry_run,
        }
        origin = (
            on.fork_origin(name, at=moment.step) if dry_run else on.fork(name, at=moment.step, author=_author).origin()
        )
        return plain | {"irreversible": [] if origin is None else [call.to_dict() for call in origin.irreversible]}

    done = _on(reach, space, task, work, lists="log")
    if as_json:
        print_json(done)
        return
    would = "would go" if dry_run else "goes"
    _say(
        iter(
            [
                f"{name} {would} on from step {done['at']} of {task}: {len(done['summaries'])} finished subgoals, "
                f"{len(done['recent'])} recent actions, {len(done['states'])} states",
                *(_ran_line(RanCall(**call)) for call in done["irreversible"]),
            ]
        )
    )


commands: Final[tuple[click.Command, ...]] = (compress, maintain, revise, fork)
