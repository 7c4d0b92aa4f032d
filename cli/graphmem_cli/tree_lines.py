"""The execution tree for a terminal: one line a node, branches where they leave, as `git log --graph` draws commits.

A chain of nodes is a column; what leaves it stands indented below the line that it leaves. What is folded says how much
it is. Nothing recurses: a chain that meets a branch hands it to the loop, so that no tree is too deep. Invariant: every
text out of the graph goes through `visible`, and no indent takes the room of the text.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from graphmem.inspect import Tree, TreeNode, TreeRequest
from graphmem.vocabulary import short_name
from graphmem_cli.tables import cut, page_width, visible

_WORDS: Final = 8
_TEXT: Final = 60
_NOTE: Final = 300
_BRANCHES: Final = 10


@dataclass(frozen=True, slots=True)
class _Item:
    """One place of a chain: a node, or the nodes that a summary owns; alone, a summary or request without nodes."""

    nodes: tuple[TreeNode, ...] = ()
    summary: TreeNode | None = None
    heading: bool = False
    request: TreeRequest | None = None


_Lines = Iterator["str | _Lines"]


def tree_lines(tree: Tree, *, depth: int, branch_depth: int, unfold: bool, columns: int | None) -> Iterator[str]:
    """The lines, oldest first: `depth` levels of the active path, `branch_depth` of what left it."""
    drawing = _Drawing(tree, depth, branch_depth, unfold, columns)
    running: list[_Lines] = [drawing.trunk()]
    while running:
        line = next(running[-1], None)
        if line is None:
            running.pop()
        elif isinstance(line, str):
            yield line
        else:
            running.append(line)


class _Drawing:
    """One tree being drawn."""

    def __init__(self, tree: Tree, depth: int, branch_depth: int, unfold: bool, columns: int | None) -> None:
        self._tree = tree
        self._depth, self._branch_depth, self._unfold, self._columns = depth, branch_depth, unfold, columns
        self._requests = {request.number: request for request in tree.requests}
        self._alone = _requests_alone(tree)

    def trunk(self) -> _Lines:
        tree = self._tree
        copied = [_Item(summary=s) for s in tree.summaries if s.copied]
        headings = [_Item(request=request) for request in self._alone.get(None, ())]
        items = [*headings, *copied, *self._items(tree.root)]
        hidden, shown = items[: -self._depth], items[-self._depth :]
        first = next((item.nodes[0] for item in shown if item.nodes), tree.root)
        nodes = tree.sizes[tree.root.key] - tree.sizes[first.key]
        if hidden:
            yield self._line("", f"… {_nodes(nodes)} more above; --depth shows them")
        asked = next((_asked_in(item.nodes[-1]) for item in reversed(hidden) if item.nodes), None)
        yield self._chain(shown, "", "", asked, None)

    def _items(self, start: TreeNode) -> list[_Item]:
        tree, items, node = self._tree, list[_Item](), start
        following: TreeNode | None = node
        before: TreeNode | None = None
        while following is not None:
            node, owner = following, tree.owner.get(following.key)
            run = [node]
            following = tree.onward(node)
            while owner and not self._unfold and following and tree.owner.get(following.key) is owner:
                run.append(following)
                following = tree.onward(following)
            items.append(_Item(tuple(run), owner, self._unfold and owner is not before))
            before = owner
        return items

    def _chain(self, items: Sequence[_Item], first: str, rest: str, asked: int | None, depth: int | None) -> _Lines:
        """The items below each other, each followed by what leaves it."""
        for place, item in enumerate(items):
            now = _asked_in(item.nodes[-1]) if item.nodes else asked
            if now is not None and now != asked:
                request = self._requests.get(now)
                if request is not None:
                    yield self._line(first, _request_text(request), _mark(item))
                    first = rest
                asked = now
            for line in self._item_lines(item, first, rest):
                yield line
                first = rest
            leaving = self._leaving(item)
            for i, branch in enumerate(leaving, start=1):
                is_last = i == len(leaving) and place + 1 == len(items)
                yield self._branch(branch, item, rest, is_last, asked, None if depth is None else depth - place)

    def _branch(
        self,
        branch: TreeNode | _Item | str,
        item: _Item,
        rest: str,
        is_last: bool,
        asked: int | None,
        depth: int | None,
    ) -> _Lines:
        first, below = (f"{rest}└─ ", f"{rest}   ") if is_last else (f"{rest}├─ ", f"{rest}│  ")
        if isinstance(branch, str):
            yield self._line(first, branch)
        elif isinstance(branch, _Item):
            yield self._chain([branch], first, below, asked, depth)
        else:
            items, levels = self._items(branch), max(1, self._branch_depth if depth is None else depth)
            if branch.parent is not None and branch.parent != item.nodes[-1].key:
                yield self._line(first, "", f"from {self._tree.at[branch.parent].number}:")
                first = below
            yield self._chain(items[:levels], first, below, asked, levels)
            if len(items) > levels:
                more = self._tree.sizes[items[levels].nodes[0].key]
                yield self._line(below, f"… {_nodes(more)} more below; --depth shows them")

    def _leaving(self, item: _Item) -> list[TreeNode | _Item | str]:
        """What leaves an item, oldest first; of very many the newest."""
        tree, found = self._tree, list[tuple[int, TreeNode | _Item]]()
        for node in item.nodes:
            onward = tree.onward(node)
            found += [(kid.from_step, kid) for kid in tree.children.get(node.key, ()) if kid is not onward]
            found += [(summary.from_step, _Item(summary=summary)) for summary in tree.also.get(node.key, ())]
            found += [(request.opened_step, _Item(request=request)) for request in self._alone.get(node.key, ())]
        found.sort(key=lambda pair: pair[0])
        width = max(_BRANCHES, self._branch_depth)
        left_out, shown = found[:-width], [branch for _, branch in found[-width:]]
        if not left_out:
            return list(shown)
        nodes = sum(tree.sizes[branch.key] for _, branch in left_out if isinstance(branch, TreeNode))
        return [f"… {len(left_out):,} older branches ({_nodes(nodes)}); --depth shows them", *shown]

    def _item_lines(self, item: _Item, first: str, rest: str) -> Iterator[str]:
        mark = _mark(item)
        if item.request is not None:
            yield self._line(first, _request_text(item.request), mark)
            return
        here = "  <- cursor" if any(node.key == self._tree.cursor for node in item.nodes) else ""
        summary = item.summary
        if summary is not None and (item.heading or not self._unfold or not item.nodes):
            yield self._line(first, self._summary_text(summary, item, "" if item.heading else here), mark)
            first = rest
            if summary.note:
                yield self._line(first, f"note: {short_name(summary.note, characters=_NOTE)}", " ")
        if summary is None or self._unfold:
            for node in item.nodes:
                again = f"  (walked {len(node.visits)} times)" if len(node.visits) > 1 else ""
                yield self._line(first, f"{node.name}{_written([node])}{again}{here}", _node_mark(node))

    def _summary_text(self, summary: TreeNode, item: _Item, here: str) -> str:
        text = short_name(summary.text or "", characters=_TEXT)
        written = "" if item.heading else _written(item.nodes)
        return f"summary {summary.number}, {summary.verdict}: {text} [{self._extent(summary)}]{written}{here}"

    def _extent(self, summary: TreeNode) -> str:
        """What a summary covers; where it owns less of it, the rest is shown under another."""
        covered = self._tree.covers[summary.key]
        if not covered:
            return "in the origin"
        reach = f"{_nodes(len(covered))}: {covered[0].number}"
        reach += f" to {covered[-1].number}" if len(covered) > 1 else ""
        own = sum(1 for node in covered if self._tree.owner.get(node.key) is summary)
        return reach if own == len(covered) else f"{reach}, {len(covered) - own} of them shown above"

    def _line(self, first: str, text: str, mark: str = " ") -> str:
        """One line behind its mark; a deep indent loses its left."""
        room = (self._columns or page_width()) // 2
        indent = first if len(first) <= room else f"…{first[len(first) - room + 1 :]}"
        line = f"{indent}{mark} {visible(text)}".rstrip()
        return line if self._columns is None else cut(line, self._columns)


def _requests_alone(tree: Tree) -> Mapping[str | None, Sequence[TreeRequest]]:
    """Requests that no node stands for, by the node at which they were opened; None for those that a fork brought."""
    told = {_asked_in(node) for node in tree.nodes}
    found: dict[str | None, list[TreeRequest]] = defaultdict(list)
    for request in tree.requests:
        if request.number not in told:
            found[request.at].append(request)
    return found


def _asked_in(node: TreeNode) -> int | None:
    """The request that a node is shown under: of the last walk on the path, elsewhere of the first one."""
    return None if not node.requests else node.requests[-1 if node.on_path else 0]


def _mark(item: _Item) -> str:
    if item.request is not None:
        return "o" if item.request.standing == "abandoned" else "*"
    if item.summary is not None and not item.summary.on_path and item.summary.verdict == "failed":
        return "x"
    return _node_mark(item.nodes[0]) if item.nodes else ("*" if item.summary and item.summary.on_path else "o")


def _node_mark(node: TreeNode) -> str:
    return "*" if node.on_path else "o"


def _request_text(request: TreeRequest) -> str:
    origin = ", in the origin" if request.at is None else ""
    return f"request {request.number} ({request.standing}{origin}): {short_name(request.text, characters=_TEXT)}"


def _written(nodes: Iterable[TreeNode]) -> str:
    """The states that were written at nodes; on the path, those that abandoned steps wrote apart."""
    stays: list[str] = []
    left: list[str] = []
    for node in nodes:
        for written in node.written:
            (left if node.on_path and written.abandoned_step is not None else stays).extend(written.words)
    text = f"  {_some(stays)}" if stays else ""
    return text + (f"  (left: {_some(left)})" if left else "")


def _some(words: Sequence[str]) -> str:
    more = f" … {len(words) - _WORDS} more" if len(words) > _WORDS else ""
    return " ".join(words[:_WORDS]) + more


def _nodes(count: int) -> str:
    return f"{count:,} node" if count == 1 else f"{count:,} nodes"
