"""The only room that moves a task's cursor: handles for tasks and requests, and their repository."""

from graphmem.task.compare import Comparison, Differing, Side
from graphmem.task.context import Context
from graphmem.task.forking import Origin
from graphmem.task.past import Past
from graphmem.task.prompt import Prompt
from graphmem.task.request import Request
from graphmem.task.status import Status
from graphmem.task.task import Task

__all__ = ["Comparison", "Context", "Differing", "Origin", "Past", "Prompt", "Request", "Side", "Status", "Task"]
