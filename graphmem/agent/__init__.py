"""The agent room: an example loop over any model and tools, its prompts, and the demo.

Nothing below this room knows of it. `demo` is imported by name, since it brings a simulated world along.
"""

from graphmem.agent.loop import Invocation, Upkeep, run
from graphmem.agent.prompts import full_context_message, system_message
from graphmem.agent.tools import Tool

__all__ = ["Invocation", "Tool", "Upkeep", "full_context_message", "run", "system_message"]
