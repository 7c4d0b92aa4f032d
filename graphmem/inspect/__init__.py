"""Looking at the graph: tasks, states, the ledger, why; named read-only queries; the audit; Neo4j Browser.

Whatever the command line shows is a function here, over a connection (`graph.connection`), and answers with frozen
values. Nothing is written, and a task is looked at without being locked.
"""

from graphmem.inspect.audits import audit, audit_names
from graphmem.inspect.disclosure import disclose
from graphmem.inspect.doctor import Check, examine
from graphmem.inspect.named import named_queries, paste, run_named
from graphmem.inspect.reads import command, log, requests, require_space, require_task, show, spaces, states, tasks
from graphmem.inspect.reasons import why
from graphmem.inspect.search import Hit, search
from graphmem.inspect.tree import tree
from graphmem.inspect.tree_page import write_tree_page
from graphmem.inspect.tree_values import Tree, TreeNode, TreeRequest, Written
from graphmem.inspect.values import (
    Disclosure,
    Evidence,
    Finding,
    LogLine,
    Named,
    RawResult,
    Reader,
    Reasoned,
    RequestLine,
    ShownRef,
    ShownVersion,
    SpaceLine,
    StateLine,
    Table,
    TaskLine,
)

__all__ = [
    "Check",
    "Disclosure",
    "Evidence",
    "Finding",
    "Hit",
    "LogLine",
    "Named",
    "RawResult",
    "Reader",
    "Reasoned",
    "RequestLine",
    "ShownRef",
    "ShownVersion",
    "SpaceLine",
    "StateLine",
    "Table",
    "TaskLine",
    "Tree",
    "TreeNode",
    "TreeRequest",
    "Written",
    "audit",
    "audit_names",
    "command",
    "disclose",
    "examine",
    "log",
    "named_queries",
    "paste",
    "requests",
    "require_space",
    "require_task",
    "run_named",
    "search",
    "show",
    "spaces",
    "states",
    "tasks",
    "tree",
    "why",
    "write_tree_page",
]
