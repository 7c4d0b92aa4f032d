"""What recorded files hold, read here by other means than the product's, and files cut down to some of their runs.

Owns one way for each folder: the observations of every run in the order of the file, and the text of a part of it.
Invariant: a cut holds whole runs, as they stand in the file.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

_AGENTS: Final = ("WebSurfer", "FileSurfer", "Assistant", "ComputerTerminal", "Computer_terminal")
_FOLDERS: Final = ("react-webshop", "reflexion", "swe-agent", "tau-bench", "who-and-when")
_BEHIND: Final = r"Thought \d+: |Thought: |Reflections:|Correct answer: |\nQuestion: |\nContext: |\n-----"
_KINDS: Final = (".json", ".jsonl", ".traj", ".txt")


def files(folder: Path) -> tuple[Path, ...]:
    """Every file of recorded runs."""
    found = (path for name in _FOLDERS for path in sorted((folder / name).rglob("*")))
    return tuple(path for path in found if path.suffix in _KINDS)


def observations(path: Path) -> list[str]:
    """What the tools of all runs returned, in order."""
    text = path.read_bytes().decode()
    match path.suffix:
        case ".traj":
            value = json.loads(text)
            steps = [step["observation"] for step in value.get("trajectory") or ()]
            return steps or _contents(value["history"], "role", ("tool",))
        case ".json":
            return [seen for run in json.loads(text) for seen in _contents(run["traj"], "role", ("tool",))]
        case ".jsonl":
            return [seen for line in text.splitlines() for seen in _of_record(json.loads(line))]
        case _ if not _episodes(text):
            return re.findall(rf"(?ms)^Observation(?: \d+)?: (.*?)(?=\n(?:{_BEHIND})|\s*\Z)", text)
        case _:
            return [seen for part in _episodes(text) for seen in _unnumbered(part)]


def count(path: Path) -> int:
    """How many runs there are, at least: a question may have been tried several times behind one another."""
    text = path.read_bytes().decode()
    match path.suffix:
        case ".traj":
            return 1
        case ".json":
            return len(json.loads(text))
        case ".jsonl":
            return len(text.splitlines())
        case _:
            return len(_episodes(text)) or len(_questions(text))


def cut(path: Path, into: Path) -> Path:
    """A file with a few of the runs: every file has some, and all trials of what it has."""
    target = into / path.name
    text = path.read_bytes().decode()
    match path.suffix:
        case ".json":
            runs = json.loads(text)
            kept = sorted({str(run["task_id"]) for run in runs})[::12]
            target.write_text(json.dumps([run for run in runs if str(run["task_id"]) in kept]), "utf-8")
        case ".jsonl":
            target.write_bytes("\n".join(text.splitlines()[::9]).encode())
        case ".txt":
            target.write_bytes(_cut_text(text).encode())
        case _:
            target.write_bytes(text.encode())
    return target


def _contents(messages: list[dict[str, Any]], key: str, names: tuple[str, ...]) -> list[str]:
    return [message["content"] for message in messages if message.get(key) in names]


def _of_record(record: dict[str, Any]) -> list[str]:
    if "messages_display" in record:
        parts = re.split(r"(?m)^(user|assistant|tool): ", record["messages_display"])[1:]
        spoken = zip(parts[::2], parts[1::2], strict=True)
        return [said.removesuffix("\n") for role, said in spoken if role == "tool"]
    key = "name" if "name" in record["history"][0] else "role"
    return _contents(record["history"], key, _AGENTS)


def _questions(text: str) -> list[str]:
    return ["Question: " + part for part in re.split(r"(?m)^Question: ", text)[1:]]


def _episodes(text: str) -> list[str]:
    return re.findall(r"(?ms)^-----------------\n(\d+\n.*?)^-------------\n", text)


def _unnumbered(part: str) -> list[str]:
    return re.findall(r"(?ms)^Observation: (.*?)\n\n(?=Action: |\d+ [\d.]+ [\d.]+ [\d.]+\n)", part)


def _cut_text(text: str) -> str:
    if _episodes(text):
        return "".join(f"-----------------\n{part}-------------\n" for part in _episodes(text)[::20])
    return "".join(_cut_trial(text, keep=_asked(text)))


def _asked(text: str) -> Callable[[str], bool]:
    """A part of the questions: those of the first trial that have the most text in all trials, and a few others."""
    first = text.partition("BEGIN TRIAL 2")[0]
    asked = [part.splitlines()[0] for part in _questions(first)][::12]
    return lambda part: any(part.startswith(question) for question in asked)


def _cut_trial(text: str, *, keep: Callable[[str], bool]) -> Iterator[str]:
    for number, trial in enumerate(re.split(r"(?m)^BEGIN TRIAL \d+\n", text)[1:] or [text], 1):
        yield f"BEGIN TRIAL {number}\n\n"
        for part in _questions(trial):
            if keep(part):
                yield re.split(r"(?m)^-{5,} BEGIN|^#{5,}", part)[0]
