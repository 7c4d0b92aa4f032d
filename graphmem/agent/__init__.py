"""The agent room: an example loop over any model and tools, its prompts, and the demo.

Nothing below this room knows of it. `demo` is imported by name, since it brings a simulated world along.
"""

from graphmem.agent.events import Event, Invocation
from graphmem.agent.forms import BLOCKS, ONE_OBJECT, Form, FullContext
from graphmem.agent.limits import RunLimits
from graphmem.agent.loop import Upkeep, run
from graphmem.agent.prompts import full_context_message, system_message
from graphmem.agent.tools import Tool, tools_of

__all__ = [
    "BLOCKS",
    "ONE_OBJECT",
    "Event",
    "Form",
    "FullContext",
    "Invocation",
    "RunLimits",
    "Tool",
    "Upkeep",
    "full_context_message",
    "run",
    "system_message",
    "tools_of",
]
