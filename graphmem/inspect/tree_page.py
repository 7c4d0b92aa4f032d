"""The execution tree as one page for a browser: no network, no library, and nothing out of the graph becomes mark-up.

The page holds the tree as JSON in a data block; its own script reads it and writes texts as texts. The policy in its
head allows this script and this style, by their hashes, and nothing else. Contents are cut so that a
browser can open the page: `BUDGET` characters of contents at most, `LONGEST` of each, fewer where there are many.
Invariant: the same tree gives the same bytes.
"""

import base64
import hashlib
import html
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

from graphmem.errors import InvalidValueError
from graphmem.inspect.reads import legible
from graphmem.inspect.tree import pages
from graphmem.inspect.tree_values import Tree, TreeNode, TreeRequest
from graphmem.inspect.values import Reader

BUDGET: Final = 16_000_000
LONGEST: Final = 4_000
SHORTEST: Final = 200

_MARK: Final = '<meta name="generator" content="graphmem tree">'
_SCRIPTS: Final = ("tree_rows.js", "tree_paint.js", "tree_panel.js", "tree.js")
_SLOT: Final = re.compile(r"\{\{(\w+)\}\}")
_UNSAFE: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_UNSAFE_ANY: Final = re.compile("[<>&\u2028\u2029]")


def write_tree_page(reader: Reader, tree: Tree, file: Path) -> Path:
    """Write the page of a tree to a file, whole or not at all; the path it has.

    Raises:
        InvalidValueError: the file is there and is no such page, or it is a folder.
    """
    target = file.resolve()
    if target.is_dir():
        raise InvalidValueError(f"{file} is a folder; name a file in it.")
    if target.exists() and not _is_page(target):
        raise InvalidValueError(f"{file} is there and is no page of graphmem; it stays. Name another file.")
    text = tree_page(tree, contents(reader, tree))
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    return target


def _is_page(file: Path) -> bool:
    with file.open("rb") as opened:
        return _MARK.encode() in opened.read(2_000)


def contents(reader: Reader, tree: Tree) -> dict[str, Any]:
    """The calls of each node by its key, and the versions of states by step; long texts cut."""
    longest = max(SHORTEST, min(LONGEST, BUDGET // max(1, 2 * len(tree.nodes))))
    rest = _Rest(BUDGET)
    calls: dict[str, list[dict[str, Any]]] = defaultdict(list)
    states: dict[int, list[dict[str, Any]]] = defaultdict(list)
    highest = max(node.number for node in tree.nodes)
    with legible(tree.space, tree.task):
        for row in pages(reader, "inspect/tree_results", tree.space, tree.task, last=highest, characters=longest):
            calls[row["node"]].append(_call(row, rest))
        for row in pages(reader, "inspect/tree_states", tree.space, tree.task, last=tree.last_step, characters=longest):
            states[row["step"]].append(_state(row, rest))
    return {"calls": calls, "states": states, "longest": longest}


class _Rest:
    """What is left of the budget of a page."""

    def __init__(self, characters: int) -> None:
        self._characters = characters

    def take(self, text: str | None) -> str | None:
        """The text, or nothing of it when it is too much."""
        if text is None or len(text) > self._characters:
            return None if text is None else ""
        self._characters -= len(text)
        return text


def _call(row: Mapping[str, Any], rest: _Rest) -> dict[str, Any]:
    return {
        "id": row["id"],
        "tool": row["tool"],
        "arguments": rest.take(row["arguments"]),
        "text": rest.take(row["content"]),
        "length": row["length"],
    }


def _state(row: Mapping[str, Any], rest: _Rest) -> dict[str, Any]:
    kept = {name: row[name] for name in ("id", "kind", "in_view", "to_step", "length", "refs")}
    return kept | {"summary": rest.take(row["summary"]), "value": rest.take(row["value"])}


def tree_page(tree: Tree, found: Mapping[str, Any]) -> str:
    """The page of a tree with these contents."""
    script, style = "".join(_file(name) for name in _SCRIPTS), _file("tree.css")
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'"
    slots = {
        "policy": f"{policy}; form-action 'none'",
        "mark": _MARK,
        "title": html.escape(f"{tree.task} · {tree.space}"),
        "style": style,
        "script": script,
        "data": embedded(_data(tree, found)),
    }
    return _SLOT.sub(lambda slot: slots[slot[1]], _file("tree.html"))


def embedded(value: object) -> str:
    """JSON that neither ends the element it stands in nor breaks a line of script."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return _UNSAFE_ANY.sub(lambda found: _UNSAFE[found[0]], text)


def _file(name: str) -> str:
    return (resources.files("graphmem.inspect") / "pages" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data(tree: Tree, found: Mapping[str, Any]) -> dict[str, Any]:
    """The tree as the script reads it: nodes and summaries by their place, names short since there are many."""
    places = {node.key: place for place, node in enumerate(tree.nodes)}
    owners = {summary.key: place for place, summary in enumerate(tree.summaries)}
    return {
        "space": tree.space,
        "task": tree.task,
        "version": tree.version,
        "last": tree.last_step,
        "origin": tree.origin,
        "cursor": places.get(tree.cursor, 0),
        "longest": found["longest"],
        "requests": [_request(request, places) for request in tree.requests],
        "summaries": [_summary(tree, summary, places) for summary in tree.summaries],
        "nodes": [_node(tree, node, places, owners, found) for node in tree.nodes],
    }


def _request(request: TreeRequest, places: Mapping[str, int]) -> dict[str, Any]:
    steps = (request.opened_step, request.finished_step, request.abandoned_step)
    at = places.get(request.at or "", -1)
    return {"n": request.number, "is": request.standing, "text": request.text, "steps": steps, "at": at}


def _summary(tree: Tree, summary: TreeNode, places: Mapping[str, int]) -> dict[str, Any]:
    covered = tree.covers[summary.key]
    return {
        "n": summary.number,
        "on": int(summary.on_path),
        "text": summary.text,
        "verdict": summary.verdict,
        "note": summary.note,
        "step": summary.from_step,
        "copied": int(summary.copied),
        "from": covered[0].number if covered else summary.number,
        "to": covered[-1].number if covered else summary.number,
        "size": len(covered),
        "also": places[summary.last or ""] if summary in tree.also.get(summary.last or "", ()) else -1,
    }


def _node(
    tree: Tree,
    node: TreeNode,
    places: Mapping[str, int],
    owners: Mapping[str, int],
    found: Mapping[str, Any],
) -> dict[str, Any]:
    owner = tree.owner.get(node.key)
    asked = None if not node.requests else node.requests[-1 if node.on_path else 0]
    return {
        "up": -1 if node is tree.root else places.get(node.parent or "", 0),
        "n": node.number,
        "name": node.name,
        "on": int(node.on_path),
        "of": -1 if owner is None else owners[owner.key],
        "r": asked,
        "step": node.from_step,
        "asked": node.asked_step,
        "visits": node.visits,
        "copied": int(node.copied),
        "calls": found["calls"].get(node.key, []),
        "wrote": list(_wrote(node, found["states"])),
    }


def _wrote(node: TreeNode, states: Mapping[int, Any]) -> Iterator[dict[str, Any]]:
    for written in node.written:
        yield {
            "step": written.step,
            "left": written.abandoned_step,
            "words": written.words,
            "states": states.get(written.step, []),
        }
