"""Revise: one transaction of a few short statements, with the table of what happens to states between them.

Find (lock, target, boundary) → changes since → move (cursor, tree, ledger) → versions. The table is
`graphmem.trace.restore`; a delta that came with the model's own revise is validated against S before the restoration
and after it, and folded with what returns, so that there is one version of an id and Step. Invariant: nothing is
written unless all of it is.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graphmem.errors import StoreError
from graphmem.state.rules import validate_across
from graphmem.state.values import ActiveState, StepOutput, Version
from graphmem.state.view import Fact, Plan, View, request_number
from graphmem.store import Connection, Run, query
from graphmem.task.forking import ran_calls
from graphmem.task.repository import Commit, json_list, operation_id, ref_row, version_row
from graphmem.task.tree import seen
from graphmem.trace import RanCall, Restoration, Revised, StateVersion, World, restoration, rule_summary, summary_key
from graphmem.trace.values import TraceNode
from graphmem.vocabulary import Relation, StateKind, json_text, short_name, words

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked for: the target by key or boundary (neither: the tail), and what came with the model's own call."""

    attempt: str
    author: str
    target: str | None = None
    boundary: int | None = None
    feedback: str | None = None
    world: World = World.UNCHANGED
    commit: Commit | None = None
    output: StepOutput = field(default_factory=StepOutput)
    view: View | None = None
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The verdict, the row of what was found, and what was done."""

    verdict: str
    found: Row
    revised: Revised | None = None
    plan: Plan = field(default_factory=Plan)
    is_own: bool = True


class _RolledBack(Exception):  # noqa: N818  # the way out of a transaction, and no error
    """What a dry run came to, on its way out of the transaction."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


class Revising:
    """The transaction on one task. States follow the branch; without `isolate_states` the tree alone moves."""

    def __init__(self, connection: Connection, space: str, task: str) -> None:
        self._connection = connection
        self._names = {"space": space, "task": task}

    def revise(self, wanted: Wanted, *, dry_run: bool = False) -> Outcome:
        """Go back, or say why not. `dry_run`: everything is done and rolled back."""
        op = operation_id()

        def work(run: Run) -> Outcome:
            outcome = self._whole(run, wanted, op=op)
            if dry_run:
                raise _RolledBack(outcome)
            return outcome

        try:
            return self._connection.transact("task/revise", work)
        except _RolledBack as rolled_back:
            return rolled_back.outcome

    def _whole(self, run: Run, wanted: Wanted, *, op: str) -> Outcome:
        commit = wanted.commit
        rows = run(
            query("task/revise_find"),
            {
                **self._names,
                "op": op,
                "attempt": wanted.attempt,
                "version": None if commit is None else commit.version,
                "request": None if commit is None else commit.request,
                "target": wanted.target,
                "boundary": wanted.boundary,
            },
        )
        if not rows:
            return Outcome(verdict="missing", found={})
        found = rows[0]
        if found["verdict"] == "replay":
            done = found["done"]
            text = done["result"]
            return Outcome(
                verdict="replay",
                found=found,
                revised=None if text is None else revised_from(json.loads(text)),
                is_own=done["op"] == op,
            )
        if found["verdict"] != "ok":
            return Outcome(verdict=found["verdict"], found=found)
        note = wanted.feedback or (found["target"] or {}).get("note")
        if not note:
            return Outcome(verdict="no feedback", found=found)
        return self._go_back(run, wanted, found, note, op=op)

    def _go_back(self, run: Run, wanted: Wanted, found: Row, note: str, *, op: str) -> Outcome:
        back = found["back"]
        changes = run(query("task/revise_changes"), {**self._names, "back": back["number"], "depth": found["depth"]})[0]
        versions = [_state_version(row) for row in changes["versions"]] if found["isolates"] else []
        restored = restoration(versions, back=back["number"], world=wanted.world)
        moved = run(query("task/revise_move"), self._move(wanted, found, note, op))[0]
        plan = Plan()
        if wanted.view is not None:
            facts = run(
                query("task/facts"),
                {**self._names, "attempt": wanted.attempt, "ids": sorted({*wanted.unknown, *_named(wanted.output)})},
            )[0]
            after = _after(wanted.view, restored, moved["undisclosed"], [_fact(fact) for fact in facts["facts"]])
            plan = validate_across(wanted.output, wanted.view, after)
        revised = Revised(
            step=moved["number"],
            version=moved["version"],
            about=_about(found),
            boundary_step=back["number"],
            world=wanted.world,
            request=found["reopened"],
            left=restored.left,
            returned=restored.returned,
            kept=restored.kept,
            stays_removed=restored.stays_removed,
            clashes=restored.clashes,
            irreversible=ran_calls(changes["calls"]),
            requests=tuple(moved["requests"]),
        )
        self._write(run, restored, plan, revised, found["reopened"])
        return Outcome(verdict="ok", found=found, revised=revised, plan=plan)

    def _move(self, wanted: Wanted, found: Row, note: str, op: str) -> dict[str, Any]:
        commit, back = wanted.commit, found["back"]
        tail = None
        if found["target"] is None:
            text = rule_summary([_node(node) for node in found["tail"] or ()])
            tail = {"text": text, "name": short_name(text)}
        return {
            **self._names,
            "attempt": wanted.attempt,
            "op": op,
            "author": wanted.author,
            "output": None if commit is None else commit.output,
            "fold": None if commit is None else list(commit.fold),
            "usage": None if commit is None else commit.usage,
            "joined": None if commit is None else commit.joined or None,
            "path_tokens": None if commit is None else commit.path_tokens,
            "back": back["number"],
            "restored": found["restored"]["key"],
            "rank": found["restored"]["rank"],
            "depth": found["depth"],
            "p_b": back["p_b"],
            "boundary": back["boundary"],
            "low": back["request"],
            "reopened": found["reopened"],
            "about": _about(found),
            "tail": tail,
            "note": note,
            "world": str(wanted.world),
        }

    def _write(self, run: Run, restored: Restoration, plan: Plan, revised: Revised, request: int) -> None:
        rows = {item.version.id: _returning_row(item.version, item.previous) for item in restored.returning}
        refs = [(version.id, ref) for version in plan.versions for ref in version.refs]
        ends = {version.key for version in restored.ends}
        for new in plan.versions:
            row = version_row(new) | {"request": request}
            if new.id in rows:
                row["previous"] = rows[new.id]["previous"]
            elif new.previous is not None and new.previous.version is not None:
                ends.add(new.previous.version.key)
            rows[new.id] = row
        for gone in plan.removed:
            if rows.pop(gone.id, None) is None and gone.version is not None:
                ends.add(gone.version.key)
        told = {
            "added": list(plan.added) or None,
            "updated": list(plan.updated) or None,
            "removed": [state.id for state in plan.removed] or None,
            "rejected": json_list([reason.to_dict() for reason in plan.rejected]),
            "disclosed": list(plan.disclosed) or None,
            "result": json_text(revised.to_dict()),
        }
        written = run(
            query("task/write_versions"),
            {
                **self._names,
                "number": revised.step,
                "ends": sorted(ends),
                "rows": list(rows.values()),
                "state_refs": [ref_row(id_, ref) for id_, ref in refs if not ref.target.startswith("obs:")],
                "raw_refs": [ref_row(id_, ref) for id_, ref in refs if ref.target.startswith("obs:")],
                "told": told,
            },
        )[0]
        meant = (len(ends), len(rows), len(refs))
        touched = (written["ended"], written["created"], written["linked"])
        if touched != meant:
            raise StoreError(
                f"revise refused: it meant to end, create and link {meant} but touched {touched}; nothing was written. "
                "Run `graphmem doctor`.",
                command="graphmem doctor",
            )


def refused_reason(outcome: Outcome) -> str | None:
    """Why the model's own revise could not be done, as it is told; None when it was, or when the caller is wrong."""
    targets = ", ".join(str(target["boundary"]) for target in outcome.found.get("targets") or ()) or "none"
    match outcome.verdict:
        case "off path":
            return f"that is not the step of a completed subgoal on the path; those that are: {targets}"
        case "empty":
            return f"nothing was done since the last completed subgoal; name the step of one: {targets}"
        case "copied":
            return f"what is behind belongs to the task this one is a fork of; steps to go back to: {targets}"
    return None


def revised_from(plain: Mapping[str, Any]) -> Revised:
    """A `Revised` from its plain form, as a Step keeps it."""
    lists = {k: tuple(v) for k, v in plain.items() if isinstance(v, list) and k != "irreversible"}
    ran = tuple(RanCall(**call) for call in plain["irreversible"])
    return Revised(**{**plain, **lists, "world": World(plain["world"]), "irreversible": ran})


def _about(found: Row) -> str:
    """The summary that is popped: the target, or the tail closed as one."""
    if found["target"] is not None:
        return str(found["target"]["key"])
    return summary_key(found["restored"]["key"], found["p_b"])


def _node(row: Row) -> TraceNode:
    results = tuple(seen({**result, "id": ""}) for result in row["results"])
    return TraceNode(key="", number=row["number"], results=results)


def _state_version(row: Row) -> StateVersion:
    return StateVersion(
        **{
            name: row[name]
            for name in ("key", "id", "summary", "request", "from_step", "to_step", "lineage", "born", "position")
        },
        kind=StateKind(row["kind"]),
        value_text=row["value"],
        refs_at=row["refs_at"] or row["key"],
        refs=tuple((ref["type"], ref["id"]) for ref in row["refs"]),
        cites=tuple((cite["id"], cite["on_path"]) for cite in row["cites"]),
    )


def _returning_row(version: StateVersion, previous: str) -> dict[str, Any]:
    return {
        "label": version.kind.label,
        "id": version.id,
        "name": short_name(words(version.id)) or version.id,
        "summary": version.summary,
        "value": version.value_text,
        "position": version.position,
        "previous": previous,
        "lineage": version.lineage,
        "born": version.born,
        "refs_at": version.refs_at,
        "request": version.request,
    }


def _named(output: StepOutput) -> set[str]:
    """Raw results and requests that the output names: with the restoration others cite or hold them, or none does."""
    named = {ref.target for op in output.delta for ref in op.refs or ()} | {item.target for item in output.access}
    return {target for target in named if target.startswith(("obs:", "request:"))}


def _fact(row: Row) -> Fact:
    return Fact(**{**row, "cited_by": tuple(row["cited_by"])})


def _after(before: View, restored: Restoration, undisclosed: Sequence[str], facts: Sequence[Fact]) -> View:
    """S once the restoration is in view: the disclosures `undisclosed` left with the steps that made them.

    The cursor has moved already, so what was observed is known from the facts. These still name the versions that end
    as those which cite a raw result; what a returning one cites is known from it.
    """
    left, back = frozenset(restored.left), {item.version.id: item.version for item in restored.returning}
    own = {id_: state for id_, state in before.own.items() if id_ not in left}
    own |= {id_: _active(version) for id_, version in back.items() if version.request == before.request}
    earlier = {id_ for id_, version in back.items() if version.request != before.request}
    cited = frozenset(raw for version in back.values() for raw, _ in version.cites)
    opened = frozenset(raw for id_ in own.keys() & back.keys() for raw, _ in back[id_].cites)
    ended = {version.id for version in restored.ends}
    gone = {f.id for f in facts if f.abandoned and f.live + restored.more(request_number(f.id)) == 0}
    now = [replace(f, cited_by=tuple(id_ for id_ in f.cited_by if id_ not in ended)) for f in facts if f.id not in gone]
    after = replace(
        before,
        own=own,
        disclosed=before.disclosed - left - frozenset(undisclosed),
        historical=(before.historical - left) | earlier,
        tool_refs=opened,
        citable=cited,
        headings=before.headings - {request_number(id_) for id_ in gone},
        unfolded=frozenset(k for k in before.unfolded if f"request:{k}" not in undisclosed),
    )
    return after.with_facts(f for f in now if f.id not in left or f.id in back)


def _active(version: StateVersion) -> ActiveState:
    """A state of the boundary as an update is folded onto it."""
    refs = frozenset((Relation(type_.lower()), id_) for type_, id_ in version.refs)
    return ActiveState(
        id=version.id,
        kind=version.kind,
        summary=version.summary,
        value=None,
        related=(),
        own=True,
        request=version.request,
        version=Version(
            key=version.key,
            lineage=version.lineage,
            born=version.born,
            position=version.position,
            request=version.request,
            value_text=version.value_text,
            refs_at=version.refs_at,
            refs=refs,
        ),
    )
