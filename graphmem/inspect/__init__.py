"""Looking at the graph: tasks, states, the ledger; why, impact, blame; named queries; the audit; Neo4j Browser.

Whatever the command line shows is a function here, over a connection (`graph.connection`), and answers with frozen
values. Nothing is written, and a task is looked at without being locked.
"""

from graphmem.inspect.asking import Answer, ask
from graphmem.inspect.audits import audit, audit_names
from graphmem.inspect.blame import blame
from graphmem.inspect.disclosure import disclose
from graphmem.inspect.doctor import Check, examine
from graphmem.inspect.impact import impact
from graphmem.inspect.named import named_queries, paste, run_named
from graphmem.inspect.reads import command, log, requests, require_space, require_task, show, spaces, states, tasks
from graphmem.inspect.reason_values import (
    Affected,
    AffectedRequest,
    Blame,
    BlamedPart,
    CoveredNode,
    Impact,
    RawReason,
    Reason,
    ResultName,
    StepReason,
    SummaryReason,
    Told,
    WroteState,
)
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
    Subgoal,
    Table,
    TaskLine,
    WrittenBy,
)

__all__ = [
    "Affected",
    "AffectedRequest",
    "Answer",
    "Blame",
    "BlamedPart",
    "Check",
    "CoveredNode",
    "Disclosure",
    "Evidence",
    "Finding",
    "Hit",
    "Impact",
    "LogLine",
    "Named",
    "RawReason",
    "RawResult",
    "Reader",
    "Reason",
    "Reasoned",
    "RequestLine",
    "ResultName",
    "ShownRef",
    "ShownVersion",
    "SpaceLine",
    "StateLine",
    "StepReason",
    "Subgoal",
    "SummaryReason",
    "Table",
    "TaskLine",
    "Told",
    "Tree",
    "TreeNode",
    "TreeRequest",
    "Written",
    "WrittenBy",
    "WroteState",
    "ask",
    "audit",
    "audit_names",
    "blame",
    "command",
    "disclose",
    "examine",
    "impact",
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
