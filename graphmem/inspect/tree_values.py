"""The execution tree as values: both layers flat, parents before their children, and how they stand to each other.

What follows from the nodes alone is computed here, once and without recursion: the active path (from the cursor), which
summary owns a trace node, children, sizes. Invariant: nothing here reads the graph.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from graphmem.state.values import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Written(Value):
    """What one step changed in the states; `abandoned_step`: the revise that left it."""

    step: int
    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    abandoned_step: int | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """+added ~updated -removed."""
        signs = (("+", self.added), ("~", self.updated), ("-", self.removed))
        return tuple(f"{sign}{id_}" for sign, ids in signs for id_ in ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode(Value):
    """A node of either layer. `number`: ℓ, of a summary the ℓ at which it starts; `depth`: of a summary its rank.

    `parent`: key of the node above in its layer. `last`: key of the last trace node that a summary covers, `text` its
    text. `asked_step` made the calls whose results `from_step` observed; `visits`: the steps that came by, the first
    one included; `requests`: in which. `written`: what steps changed while the cursor stood here. `copied`: it came
    with a fork, or it is the root.
    """

    key: str
    layer: Literal["trace", "summary"]
    parent: str | None
    number: int
    depth: int
    name: str
    from_step: int
    on_path: bool = False
    copied: bool = False
    asked_step: int | None = None
    visits: tuple[int, ...] = ()
    requests: tuple[int, ...] = ()
    written: tuple[Written, ...] = ()
    verdict: str | None = None
    note: str | None = None
    text: str | None = None
    last: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRequest(Value):
    """A request of the user; `at`: key of the trace node where the cursor stood when it was opened, or, when that was
    left and it goes on, where the cursor stands.

    `standing`: `cut` is one whose answer was taken back while a later request went on.
    """

    number: int
    standing: Literal["open", "finished", "abandoned", "cut"]
    opened_step: int
    finished_step: int | None
    abandoned_step: int | None
    text: str
    at: str | None


@dataclass(frozen=True, kw_only=True)
class Tree(Value):
    """The tree of a task as of `last_step`. `nodes`: the bottom layer; `summaries`: the top layer, without its root.

    `cursor` is p_b, `boundary` where R begins; `origin`: the task (space included) that a fork came from.
    """

    space: str
    task: str
    version: int
    last_step: int
    open: int | None
    cursor: str
    boundary: str
    origin: str | None
    requests: tuple[TreeRequest, ...]
    nodes: tuple[TreeNode, ...] = field(repr=False)
    summaries: tuple[TreeNode, ...] = field(repr=False)

    @cached_property
    def at(self) -> Mapping[str, TreeNode]:
        """The trace nodes by key."""
        return {node.key: node for node in self.nodes}

    @cached_property
    def root(self) -> TreeNode:
        """The trace node from which everything grew."""
        return self.nodes[0]

    @cached_property
    def covers(self) -> Mapping[str, tuple[TreeNode, ...]]:
        """What each summary covers, in order; nothing where that stayed in the origin of a fork."""
        return {summary.key: tuple(reversed(list(self._covered(summary)))) for summary in self.summaries}

    def _covered(self, summary: TreeNode) -> Sequence[TreeNode]:
        found: list[TreeNode] = []
        node = None if summary.copied else self.at.get(summary.last or "")
        while node is not None and node.number > summary.number and len(found) < len(self.nodes):
            found.append(node)
            node = self.at.get(node.parent or "")
        return found

    @cached_property
    def owner(self) -> Mapping[str, TreeNode]:
        """The summary to which a trace node belongs: on the path the one of C, elsewhere the youngest over it."""
        owner: dict[str, TreeNode] = {}
        for summary in sorted(self.summaries, key=lambda s: (s.on_path, s.from_step)):
            for node in self.covers[summary.key]:
                if node.on_path == summary.on_path:
                    owner[node.key] = summary
        return owner

    @cached_property
    def also(self) -> Mapping[str, tuple[TreeNode, ...]]:
        """Summaries that own none of the nodes they cover, by the last one: the path, or a younger one, goes there."""
        owning = {summary.key for summary in self.owner.values()}
        found: dict[str, list[TreeNode]] = defaultdict(list)
        for summary in self.summaries:
            if not summary.copied and summary.key not in owning:
                found[summary.last or ""].append(summary)
        return {key: tuple(summaries) for key, summaries in found.items()}

    @cached_property
    def children(self) -> Mapping[str, tuple[TreeNode, ...]]:
        """The children of each trace node, oldest first; the one on the path last."""
        found: dict[str, list[TreeNode]] = defaultdict(list)
        for node in self.nodes[1:]:
            found[node.parent or ""].append(node)
        return {key: tuple(sorted(kids, key=lambda n: (n.on_path, n.number))) for key, kids in found.items()}

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """How many trace nodes stand at and below each."""
        sizes: Counter[str] = Counter()
        for node in reversed(self.nodes):
            sizes[node.key] += 1
            if node.key != self.root.key:
                sizes[node.parent or ""] += sizes[node.key]
        return sizes

    def onward(self, node: TreeNode) -> TreeNode | None:
        """The child with which a drawing goes straight on: the one on the path, elsewhere the youngest."""
        kids = self.children.get(node.key, ())
        return None if not kids or node.key == self.cursor else kids[-1]

    def to_dict(self) -> dict[str, Any]:
        """Both layers in one list of nodes."""
        names = ("space", "task", "version", "last_step", "open", "cursor", "boundary", "origin")
        return {name: getattr(self, name) for name in names} | {
            "requests": [request.to_dict() for request in self.requests],
            "nodes": [node.to_dict() for node in (*self.summaries, *self.nodes)],
        }
