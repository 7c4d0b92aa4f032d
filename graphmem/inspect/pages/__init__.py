"""The texts that Neo4j Browser is opened with: the style sheet, the guide, and the first query for its editor.

A name of a space or task becomes a literal in queries that a person reads and runs; it is checked first (letters,
digits and `._:@-`), so that neither a quote nor mark-up comes with it. graphmem itself runs none of these texts. The
colours of the legend are read from the style sheet: they stand in one place.
"""

import html
import re
from pathlib import Path
from typing import Final

from graphmem.store import query
from graphmem.vocabulary import check_name

_FOLDER: Final = Path(__file__).parent
_COLOUR: Final = re.compile(r"^node\.(\w+) \{ color: (#\w{6});", re.MULTILINE)
_ANCHOR: Final = "MATCH (t:Task {key: $p.space + '/' + $p.task})"

_QUERIES: Final = ("path_graph", "failed_graph", "failed_branches", "why_graph", "impact_graph", "forks_graph")

_LEGEND: Final = (
    ("Task", "the task"),
    ("Request", "one request of the user"),
    ("Preference", "what the user wants"),
    ("Knowledge", "a fact found"),
    ("Attribute", "a property of the surroundings"),
    ("Judgement", "a conclusion or decision"),
    ("Artifact", "something made, such as a booking"),
    ("TraceNode", "calls of one step, with their results"),
    ("SummaryNode", "a finished subgoal"),
    ("RawObservation", "a raw result, verbatim"),
)


def style() -> str:
    """The style sheet (GraSS)."""
    return (_FOLDER / "live.grass").read_text(encoding="utf-8")


def first_query(space: str | None = None, task: str | None = None) -> str:
    """What the editor holds: the live graph of a task; without one, of the task with the longest ledger."""
    return f"// What counts now: requests, states in view, the active path\n{_typed('live_graph', space, task)}"


def guide(address: str, space: str | None = None, task: str | None = None) -> str:
    """The guide for Browser's side bar; `address` is where the style sheet is."""
    text = (_FOLDER / "guide.html").read_text(encoding="utf-8")
    colours = dict(_COLOUR.findall(style()))
    legend = "\n".join(_legend_row(colours[label], label, meaning) for label, meaning in _LEGEND)
    queries = {"first": first_query(space, task), "anchor": anchor(space, task)}
    queries |= {name: _typed(name, space, task) for name in _QUERIES}
    escaped = {name: html.escape(text, quote=False) for name, text in queries.items()}
    parts = {**colours, **escaped, "address": address, "legend": legend}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], text)


def _typed(name: str, space: str | None, task: str | None) -> str:
    """A named query as a person runs it: the task a literal, and what may be left out `null`."""
    text = query(f"inspect/{name}").text
    for line in (f"{_ANCHOR} USING INDEX t:Task(key)", _ANCHOR):
        text = text.replace(line, anchor(space, task))
    return re.sub(r"\$p\.\w+", "null", text).strip()


def _legend_row(colour: str, label: str, meaning: str) -> str:
    return (
        '<tr><td><span style="display: inline-block; width: 14px; height: 14px; border: 1px solid #FFFFFF; '
        f'border-radius: 8px; background: {colour}"></span></td>'
        f'<td style="padding: 0 12px"><b>{label}</b></td><td>{meaning}</td></tr>'
    )


def anchor(space: str | None, task: str | None) -> str:
    """The line that finds the task, with literals, since it is pasted: a name holds nothing that would end a string."""
    if space is not None and task is not None:
        return f"MATCH (t:Task {{key: '{check_name('space', space)}/{check_name('task', task)}'}})"
    given = {"space": space, "name": task}
    named = ", ".join(f"{key}: '{check_name(key, name)}'" for key, name in given.items() if name is not None)
    return f"MATCH (t:Task{f' {{{named}}}' if named else ''})\nWITH t ORDER BY t.next_step DESC LIMIT 1"
