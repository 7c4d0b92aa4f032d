"""What one server may reach: one task of one space, some of the tools, and replies of a certain length.

The values here come from the command line and the environment of the server. Invariant: nothing that a model says
changes them.
"""

from dataclasses import dataclass, field
from typing import Final

from graphmem.errors import InvalidValueError
from graphmem.graph import Graph
from graphmem.llm.tokens import Tokenizer, WhenUsed
from graphmem.store import Connection
from graphmem.task import Task
from graphmem.vocabulary import check_name, whole_number

REPLY_TOKENS: Final = 8_000
LEAST_TOKENS: Final = 1_000
AUTHOR: Final = "mcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A graph and the task in it that is served. `without`: names of tools that are not offered.

    `reply_tokens`: what a reply may take, counted by `tokenizer`.
    """

    graph: Graph
    space: str
    name: str
    read_only: bool = False
    without: frozenset[str] = frozenset()
    reply_tokens: int = REPLY_TOKENS
    tokenizer: Tokenizer = field(default_factory=WhenUsed)

    def __post_init__(self) -> None:
        check_name("space", self.space)
        check_name("task", self.name)
        whole_number("reply_tokens", self.reply_tokens, least=LEAST_TOKENS, most=1_000_000)
        if self.read_only and not self.graph.connection.read_only:
            raise InvalidValueError("a scope that only reads needs a graph that was opened with read_only=True")

    @property
    def task(self) -> Task:
        """The task."""
        return self.graph.space(self.space).task(self.name)

    @property
    def reader(self) -> Connection:
        """What reads are run on."""
        return self.graph.connection

    @property
    def index_tokens(self) -> int:
        """How much of a status its index may take: half of a reply.

        A step is validated against the same fold as the status that the model was shown, so this is the same for both.
        """
        return self.reply_tokens // 2
