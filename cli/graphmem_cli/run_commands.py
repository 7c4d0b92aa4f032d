"""Commands that let a model answer a request: run, and resume, which goes on with one that was left open.

Both call `graphmem.agent.run`. Owns how tools are found (`module:attribute`, with the current folder searched first)
and the command that is said to go on with. Invariants: stdout has the answer and nothing else, whatever a tool prints;
the key comes from the environment, and every text is searched for it before it is stored or shown.
"""

import importlib
import shlex
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from graphmem import inspect
from graphmem.agent import BLOCKS, ONE_OBJECT, Form, FullContext, RunLimits, Tool, run, tools_of
from graphmem.errors import (
    GraphmemError,
    InvalidValueError,
    ModelLoginError,
    NoOpenRequestError,
    NotFoundError,
    RequestOpenError,
    was_interrupted,
)
from graphmem.graph import Graph
from graphmem.llm.openai_chat import KEY_VARIABLE, URL_VARIABLE, OpenAIChatModel
from graphmem_cli.options import (
    Command,
    Reach,
    connection_options,
    json_option,
    print_json,
    say,
    space_option,
    typed,
)
from graphmem_cli.run_telling import Telling
from graphmem_cli.tables import visible

_COUNT: Final = click.IntRange(min=1, max=2**31)
_OPTIONS: Final = (
    click.option("--task", required=True, help="The task; it is made with its first request."),
    click.option(
        "--tools",
        "tool_names",
        multiple=True,
        metavar="MODULE:ATTRIBUTE",
        help="Functions, graphmem.agent.Tool, or pairs of an OpenAI tool schema and its function. Repeatable.",
    ),
    click.option(
        "--model", required=True, envvar="GRAPHMEM_MODEL", show_envvar=True, help="As the endpoint spells it."
    ),
    click.option(
        "--base-url", envvar=URL_VARIABLE, show_envvar=True, help="Of an OpenAI-compatible API. Default: OpenAI's."
    ),
    click.option(
        "--key-variable",
        default=KEY_VARIABLE,
        show_default=True,
        metavar="NAME",
        help="The environment variable with the key for that API.",
    ),
    click.option("--json-output", is_flag=True, help="Ask the model for one JSON object by a schema, not four blocks."),
    click.option("--full-context", is_flag=True, help="Show the whole history and no states, to compare with (B.3)."),
    click.option("--max-steps", type=_COUNT, default=50, show_default=True, help="Model invocations of this run."),
    click.option("--max-tokens", type=_COUNT, help="Tokens read and written by this run."),
    click.option(
        "--max-unreadable", type=_COUNT, default=3, show_default=True, help="Unreadable outputs in a row, shown back."
    ),
    click.option("--max-seconds", type=click.FloatRange(min=0, min_open=True), help="Seconds of this run."),
    click.option(
        "--policy", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="A file with what to keep to."
    ),
    click.option("--show-output", is_flag=True, help="What the model writes, as it comes, to stderr."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """The options of both commands."""

    task: str
    tool_names: tuple[str, ...]
    model: str
    base_url: str | None
    key_variable: str
    json_output: bool
    full_context: bool
    max_steps: int
    max_tokens: int | None
    max_seconds: float | None
    max_unreadable: int
    policy: Path | None
    show_output: bool

    def tools(self) -> tuple[Tool, ...]:
        """The tools that the options name."""
        return tools_of([imported(name) for name in self.tool_names])

    def chat_model(self, tools: Iterable[Tool]) -> OpenAIChatModel:
        """The model; nothing is asked of it yet."""
        schema = None
        if self.json_output:
            from graphmem.state.schema import step_output_schema  # takes a while to load

            schema = step_output_schema(tools=[tool.name for tool in tools])
        return OpenAIChatModel(
            self.model, base_url=self.base_url, key_variable=self.key_variable, response_schema=schema
        )

    def form(self, graph: Graph) -> Form:
        """How the model is shown the run."""
        if self.full_context:
            return FullContext(reader=graph.connection)
        return ONE_OBJECT if self.json_output else BLOCKS

    def limits(self) -> RunLimits:
        """What the run may take."""
        return RunLimits(
            steps=self.max_steps, tokens=self.max_tokens, seconds=self.max_seconds, unreadable=self.max_unreadable
        )

    def policy_text(self) -> str:
        """The text of the policy.

        Raises:
            InvalidValueError: the file holds something else.
        """
        try:
            return self.policy.read_text(encoding="utf-8").strip() if self.policy is not None else ""
        except UnicodeDecodeError as error:
            raise InvalidValueError(f"{self.policy} is not a text in UTF-8") from error


def _options(function: Command) -> Command:
    command: Any = space_option(connection_options(json_option(function)))
    for option in reversed(_OPTIONS):
        command = option(command)
    return command  # type: ignore[no-any-return]  # click's decorators give back a command


@click.command("run")
@click.argument("request")
@_options
def run_command(request: str, reach: Reach, space: str, as_json: bool, **options: Any) -> None:
    """Let a model answer REQUEST with tools, and keep the run in the graph.

    What happens is told on stderr, the answer goes to stdout. Ctrl-C, a limit or a crash leaves the request open, and
    `graphmem resume` goes on with it. A request that is open with the same text goes on, too.
    """
    if not request.strip():
        raise click.UsageError("REQUEST is empty")
    _run(request, reach, space, _Wanted(**options), as_json)


@click.command("resume")
@_options
def resume_command(reach: Reach, space: str, as_json: bool, **options: Any) -> None:
    """Go on with the open request of a task, after Ctrl-C, a limit or a crash.

    Calls that were left without a result are told to the model as such ("outcome unknown") and not run again.
    """
    _run(None, reach, space, _Wanted(**options), as_json)


def _run(request: str | None, reach: Reach, space: str, wanted: _Wanted, as_json: bool) -> None:
    if wanted.json_output and wanted.full_context:
        raise click.UsageError("--full-context is a form of its own; give it without --json-output")
    importlib.import_module("openai")  # the extra is asked for before a request is opened
    tools = wanted.tools()
    model = wanted.chat_model(tools)
    telling = Telling(wanted.model, shows_output=wanted.show_output, hide=model.hidden)
    policy = wanted.policy_text()
    resume = _resume_command()
    with reach.graph(redact=model.hidden) as graph:
        task = graph.space(space).task(wanted.task)
        try:
            with redirect_stdout(sys.stderr), telling.waits():
                answer = run(
                    task,
                    request,
                    model,
                    tools,
                    policy=policy,
                    form=wanted.form(graph),
                    limits=wanted.limits(),
                    on_event=telling,
                )
        except BaseException as error:
            if was_interrupted(error):
                which = "the request, if it was opened," if telling.request is None else f"request {telling.request}"
                say(f"\n{which} stays open. To go on: {typed(resume)}")
                raise KeyboardInterrupt from None
            if isinstance(error, GraphmemError):
                error.command = error.command or _helps(error, telling, resume, space, wanted.task)
            raise
    _print(answer, telling, model, space, wanted.task, as_json)


def _helps(error: GraphmemError, telling: Telling, resume: str, space: str, task: str) -> str | None:
    """The command that goes on, or that shows why it does not."""
    if isinstance(error, NoOpenRequestError):
        return inspect.command("requests", task, space=space)
    if isinstance(error, NotFoundError):
        return inspect.command("tasks", space=space)
    if isinstance(error, ModelLoginError):
        return None if telling.request is None else resume
    return resume if telling.request is not None or isinstance(error, RequestOpenError) else None


def _print(answer: str, telling: Telling, model: OpenAIChatModel, space: str, task: str, as_json: bool) -> None:
    answer = model.hidden(answer)
    if model.left_out:
        say(f"the endpoint does not take {', '.join(model.left_out)} as given; it was left out or replaced")
    if as_json:
        print_json(
            {
                "space": space,
                "task": task,
                "request": telling.request,
                "answer": answer,
                "steps": telling.steps,
                "usage": telling.counted(),
                "left_out": model.left_out,
            }
        )
        return
    say(f"request {telling.request} is answered, in {telling.steps} {'step' if telling.steps == 1 else 'steps'}")
    click.echo(visible(answer, newlines=True))


def _resume_command() -> str:
    """The command that goes on with what this one began: its own options."""
    context = click.get_current_context()
    words = ["graphmem", "resume"]
    for option in context.command.params:
        name = option.name or ""
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not is_given or not isinstance(option, click.Option):
            continue
        value, flag = context.params[name], option.opts[-1]
        values = value if option.multiple else [value]
        words += [flag] if option.is_flag else [word for one in values for word in (flag, str(one))]
    return shlex.join(words)


def imported(name: str) -> object:
    """What stands at `module:attribute`; the current folder is searched first.

    Raises:
        InvalidValueError: there is nothing, or the module cannot be imported.
    """
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise InvalidValueError(f"--tools {name!r} is not MODULE:ATTRIBUTE, such as my_tools:TOOLS")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:  # the module is foreign code: whatever it raises is for its author to read
        raise InvalidValueError(
            f"--tools {name}: {module_name} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise InvalidValueError(f"--tools {name}: {module_name} has no {attribute}")
        found = getattr(found, part)
    return found


commands = (run_command, resume_command)
