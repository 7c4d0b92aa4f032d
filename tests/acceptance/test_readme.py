"""The README is true: its quickstart runs, every symbol it names exists, and so does every query folder."""

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import graphmem
from graphmem.state.protocol import render_output
from graphmem.state.values import StepOutput, ToolCall
from graphmem.store.queries import folder
from tests.openai_server import KEY, openai_server, says

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def resolve(dotted: str) -> object:
    """What a dotted name stands for: the longest module, then attributes."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        return found
    raise AssertionError(dotted)


def test_the_quickstart_runs_and_prints_what_it_says(space: graphmem.Space, server_env: Mapping[str, str]) -> None:
    code = README.split("<!-- quickstart -->\n```python\n")[1].split("```\n<!-- /quickstart -->")[0]
    code = code.replace('"alice"', f'"{space.name}"')
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **server_env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("('fee-a',) (Reason(")
    assert "'fee-a'" in lines[1]
    assert lines[2] == "{'usd': 80} obs:1.1"


def test_the_model_example_runs_and_prints_what_it_says(space: graphmem.Space, server_env: Mapping[str, str]) -> None:
    code = README.split("<!-- model -->\n```python\n")[1].split("```\n<!-- /model -->")[0]
    code = code.replace('"alice"', f'"{space.name}"')
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env={**os.environ, **server_env}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "It is 12 degrees.\n", "")


def test_the_live_example_asks_the_model_and_prints_its_answer(
    space: graphmem.Space, server_env: Mapping[str, str]
) -> None:
    code = README.split("<!-- live -->\n```python\n")[1].split("```\n<!-- /live -->")[0]
    code = code.replace('"alice"', f'"{space.name}"')
    command = [sys.executable, "-W", "error", "-c", code]
    call = StepOutput(tool_calls=(ToolCall(name="weather", arguments={"city": "Oslo"}),))
    answers = [says(render_output(output)) for output in (call, StepOutput(message="It is 12 degrees."))]
    with openai_server(answers) as model:
        env = {**os.environ, **server_env, "OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": KEY}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "It is 12 degrees.\n", "")
    assert '"degrees":12' in model.requests[1].json["messages"][-1]["content"]


def test_the_record_example_runs_and_prints_what_it_says(space: graphmem.Space, server_env: Mapping[str, str]) -> None:
    code = README.split("<!-- record -->\n```python\n")[1].split("```\n<!-- /record -->")[0]
    code = code.replace('"alice"', f'"{space.name}"')
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env={**os.environ, **server_env}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


def test_the_watch_example_runs_and_what_was_said_is_in_the_graph_when_it_ends(
    space: graphmem.Space, server_env: Mapping[str, str], tmp_path: Path
) -> None:
    code = README.split("<!-- watch -->\n```python\n")[1].split("```\n<!-- /watch -->")[0]
    code = code.replace('"alice"', f'"{space.name}"')
    command = [sys.executable, "-W", "error", "-c", code]
    with openai_server([says("It is 12 degrees.")]) as model:
        keys = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": KEY, "GRAPHMEM_HOME": str(tmp_path)}
        env = {**os.environ, **server_env, **keys}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "It is 12 degrees.\n", "")
    assert [state.summary for state in space.task("chat").now().states()] == ["It is 12 degrees."]
    assert list((tmp_path / "unwritten").iterdir()) == []


def test_the_tree_example_runs_and_prints_what_it_says(space: graphmem.Space, server_env: Mapping[str, str]) -> None:
    code = README.split("<!-- tree -->\n```python\n")[1].split("```\n<!-- /tree -->")[0]
    code = code.replace('"alice"', f'"{space.name}"')
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env={**os.environ, **server_env}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "('choice',) book_hotel",
        "C cannot be cancelled: read the conditions first",
        "choice",
        "<agent_status>",
        "Booked hotel C",
    ]


@pytest.mark.parametrize("dotted", sorted(set(re.findall(r"`(graphmem(?:\.\w+)+)[`(]", README))))
def test_every_symbol_of_the_readme_exists(dotted: str) -> None:
    if not dotted.endswith((".json", ".py")):
        assert resolve(dotted) is not None


def test_a_symbol_that_does_not_exist_is_found() -> None:
    with pytest.raises((AttributeError, AssertionError)):
        resolve("graphmem.state.rules.nothing")


def test_every_query_folder_of_the_readme_exists() -> None:
    named = set(re.findall(r"`cypher/([\w/]+?)/?`", README))
    assert [name for name in named if not ((folder() / name).is_dir() or (folder() / f"{name}.cypher").is_file())] == []


def test_every_error_message_that_names_a_command_names_one_that_exists() -> None:
    commands = set(re.findall(r"^  ([\w-]+)  ", README.split("Commands:")[1].split("```")[0], re.MULTILINE))
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "graphmem").rglob("*.py"))
    named = set(re.findall(r"`graphmem ([\w-]+)", sources))
    assert named - commands == set()
