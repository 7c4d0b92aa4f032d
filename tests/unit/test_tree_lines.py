"""The tree in a terminal, on trees made in memory: folded, unfolded, deep and wide; nothing here needs a server."""

from dataclasses import replace

from experiments.tree_page import example
from graphmem.inspect import Tree
from graphmem_cli.tree_lines import tree_lines


def lines(tree: Tree, *, depth: int = 20, branch_depth: int = 3, unfold: bool = False) -> list[str]:
    return list(tree_lines(tree, depth=depth, branch_depth=branch_depth, unfold=unfold, columns=100))


def test_a_long_run_is_folded_to_a_screen() -> None:
    tree, _ = example(10_000, 300)
    shown = lines(tree)
    assert len(shown) < 60
    assert shown[0].endswith("nodes more above; --depth shows them")
    assert shown[-1].endswith("<- cursor")


def test_what_is_folded_above_and_below_is_counted() -> None:
    tree, _ = example(2_000, 10)
    shown = lines(tree, depth=5, branch_depth=2)
    above = int(shown[0].split()[1].replace(",", ""))
    tail = sum(1 for line in shown if line.startswith("* ") and "request" not in line)
    assert above + tail == len(tree.nodes)
    deep = lines(tree, depth=10**9, branch_depth=2)
    assert any("… 48 nodes more below; --depth shows them" in line for line in deep)


def test_everything_unfolded_names_every_node_once() -> None:
    tree, _ = example(3_000, 30)
    shown = lines(tree, depth=2**63, branch_depth=2**63, unfold=True)
    named = [int(words[1]) for line in shown if len(words := line.strip("│├└─ ").split()) > 2 and words[2] == "search"]
    assert sorted(named) == [node.number for node in tree.nodes[1:]]


def test_a_chain_of_branches_needs_no_recursion() -> None:
    """Each node has two children, and the chain goes on in the older one: as many indents as nodes."""
    tree, _ = example(20, 1)
    root, one = tree.nodes[0], tree.nodes[1]
    nodes, above = [root], root.key
    for i in range(1, 4_001, 2):
        below = replace(one, key=f"a{i}", number=i, parent=above, on_path=False, written=())
        nodes += [below, replace(below, key=f"b{i}", number=i + 1)]
        above = below.key
    deep = replace(tree, nodes=tuple(nodes), summaries=(), cursor=root.key)
    shown = lines(deep, depth=2**63, branch_depth=2**63, unfold=True)
    assert len(shown) > 4_000
    assert max(map(len, shown)) <= 100


def test_a_wide_node_shows_its_newest_branches() -> None:
    tree, _ = example(20, 1)
    root, one = tree.nodes[0], tree.nodes[1]
    kid = replace(one, parent=root.key, on_path=False)
    many = [replace(kid, key=f"k{i}", number=i, name=f"{i} kid", from_step=i) for i in range(1, 301)]
    wide = replace(tree, nodes=(root, *many), summaries=(), cursor=root.key)
    shown = lines(wide)
    assert "… 290 older branches (290 nodes); --depth shows them" in shown[1]
    assert any("o 300 kid" in line for line in shown)
    assert len(shown) < 2 + 2 * 11


def test_no_text_of_a_model_drives_the_terminal() -> None:
    tree, _ = example(30, 2)
    odd = tuple(replace(summary, text="a\x1b[2J", note="b\nc\u202e") for summary in tree.summaries)
    text = "\n".join(lines(replace(tree, summaries=odd)))
    assert "\x1b" not in text
    assert "\u202e" not in text
