"""The texts that Neo4j Browser is opened with: the style sheet, the guide, and the first query for its editor.

Names of spaces and tasks are put into the texts as Cypher literals, for a person to read and to run; they are checked
first (letters, digits and `._:@-`), so that no quote and no mark-up comes with them. graphmem itself runs none of these.
"""

from pathlib import Path
from typing import Final

from graphmem.store import query
from graphmem.vocabulary import check_name

_FOLDER: Final = Path(__file__).parent

# Without a task: what there is to look at.
_TASKS: Final = "MATCH (r:Request)-[:CHILD_OF]->(t:Task)\nRETURN r, t LIMIT 60\n"


def style() -> str:
    """The style sheet (GraSS)."""
    return (_FOLDER / "live.grass").read_text(encoding="utf-8")


def first_query(space: str | None = None, task: str | None = None) -> str:
    """What the editor holds: the live graph of a task; without one, all tasks with their requests."""
    if space is None or task is None:
        return _TASKS
    return fill(query("inspect/live_graph").text, space, task)


def guide(address: str, space: str | None = None, task: str | None = None) -> str:
    """The guide for Browser's side bar; `address` is where the style sheet is."""
    text = (_FOLDER / "guide.html").read_text(encoding="utf-8")
    text = text.replace("{{address}}", address).replace("{{first}}", first_query(space, task).strip())
    return fill(text, space or "SPACE", task or "TASK")


def fill(text: str, space: str, task: str) -> str:
    """A text in which `$p.space` and `$p.task` are literals."""
    names = {"$p.space": check_name("space", space), "$p.task": check_name("task", task)}
    for parameter, name in names.items():
        text = text.replace(parameter, f"'{name}'")
    return text
