"""The system messages of the runtime prompt templates (FlowState, B.3), kept as text files beside this module.

Owns the templates and how their fields are filled. Those of rules are ours (`…_rules`), the rest is the paper's.
Invariant: only the named fields are replaced, in one pass, so that braces of JSON in a template or in what is filled
in stay as they are.
"""

import functools
import re
from collections.abc import Collection, Iterable, Mapping
from importlib import resources

from graphmem.agent.tools import Tool

_NO_POLICY = "(none)"


@functools.cache
def prompt(name: str) -> str:
    """The text of `prompts/<name>.txt`, without the line break at its end."""
    return resources.files("graphmem.agent").joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")


def fill(template: str, fields: Mapping[str, str]) -> str:
    """The template with `{name}` replaced for each of the fields, and nothing else."""
    names = "|".join(map(re.escape, fields))
    return re.sub(rf"\{{({names})\}}", lambda found: fields[found.group(1)], template)


def system_message(
    tools: Iterable[Tool],
    *,
    policy: str = "",
    rules: str | None = None,
    psa: bool = True,
    isu: bool = True,
    path: bool = False,
    without: Collection[str] = (),
    one_object: bool = False,
) -> str:
    """FlowState's system instruction: `policy` of the task, the tools, and `rules` in place of our `react_rules`.

    Without `psa` or `isu` (§4.1) the rules of what the task does not have give way to a sentence. With `path` the model
    is told how to read C, R and H, and of its own calls `compress` and `revise` (MAGE, §3.3), but for what the task is
    `without` (§4.4). With `one_object` it is to answer with one JSON object (`graphmem.state.schema`) instead of the
    four blocks.
    """
    rules = f"{prompt('react_rules')}\n\n{prompt('status_rules')}" if rules is None else rules
    rules = f"{rules}\n\n{_path_rules(without)}" if path else rules
    fields = {"react_rules": rules, "task_policy": policy or _NO_POLICY, "available_tools": described(tools)}
    template = prompt("flowstate")
    for name, is_on, block in (
        ("Incremental State Update", isu, "state_delta"),
        ("Progressive State Access", psa, "state_focus"),
    ):
        if not is_on:
            template = re.sub(
                rf"(?s)### {name}\n.*?(?=###|</instructions>)", f"- Leave {block} empty: [].\n\n", template
            )
    if one_object:
        before, _, rest = template.partition("<output_protocol>\n")
        after = rest.partition("</output_protocol>")[2]
        template = f"{before}<output_protocol>\n\n{prompt('json_protocol')}\n\n</output_protocol>{after}"
    return fill(template, fields)


def _path_rules(without: Collection[str]) -> str:
    """How the path is read, and the calls by which it is kept."""
    calls = {name: f'- {{"name": "{name}"' for name in ("compress", "revise")}
    gone = [start for name, start in calls.items() if name in without]
    gone += ["These calls "] if len(gone) == len(calls) else []
    parts = prompt("path_rules").split("\n\n")
    return "\n\n".join(part for part in parts if not part.startswith(tuple(gone)))


def full_context_message(tools: Iterable[Tool], *, policy: str = "") -> str:
    """The system instruction of B.3's full-context agent, to be compared with."""
    fields = {
        "react_rules": prompt("full_context_rules"),
        "task_policy": policy or _NO_POLICY,
        "available_tools": described(tools),
        "react_output_protocol": prompt("react_output_protocol"),
    }
    return fill(prompt("full_context"), fields)


def described(tools: Iterable[Tool]) -> str:
    """The tools as a model is told of them, one JSON object a line."""
    return "\n".join(tool.described() for tool in tools) or _NO_POLICY
