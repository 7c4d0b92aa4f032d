"""The text of a ReAct-style log, cut into episodes and these into what stands behind each mark.

Owns where an episode begins (a rule with a number; `Context:`, `Question:` or `Claim:`; a rule before marks) and what
is a mark: one of the words at the beginning of a line, with a number that goes on where they are numbered, since a page
that was looked at may begin a line with one too. Invariant: what is behind a mark is everything up to the next one, but
for the line ending, or the blank line, that parts them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_MARK: Final = re.compile(
    r"^(?:(?:\d+ )?(Context|Question|Claim)|"
    r"(Reflections?|Thought|Action Input|Action|Act|Observation|Obs|Final Answer|Correct answer)(?: (\d+))?): ?",
    re.MULTILINE,
)
_NAMES: Final = {"Claim": "Question", "Reflection": "Reflections", "Act": "Action", "Obs": "Observation"}
_ORDER: Final = ("Thought", "Action", "Action Input", "Observation")
_EPISODE: Final = re.compile(r"^-{5,}\n(\d+)\n(?=Action|Thought|Question)", re.MULTILINE)
_RULE: Final = re.compile(r"^-{5,}[ \t]*\n", re.MULTILINE)
_TRIAL: Final = re.compile(r"^#*\s*BEGIN TRIAL (\d+)", re.MULTILINE)
_HEADING: Final = re.compile(r"\s*(?:-{5,}.*|#{5,}\s*|BEGIN TRIAL .*|Trial summary: .*)?\s*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What stands behind a mark. `line`: which line of its episode it is on, from 0."""

    name: str
    text: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """The text of one episode. `number`: where it has one; `is_alone`: no other follows, which something would part."""

    text: str
    number: str = ""
    trial: int = 0
    is_alone: bool = True


def names(text: str) -> set[str]:
    """Which marks there are in a text."""
    return {_name(found) for found in _MARK.finditer(text)}


def episodes(text: str) -> Iterator[Episode]:
    """The episodes of a log, in order."""
    trials = [(found.start(), int(found[1])) for found in _TRIAL.finditer(text)]
    numbered = list(_EPISODE.finditer(text))
    starts = [(found.start(), found.end(), str(found[1])) for found in numbered]
    starts = starts or [(at, at, "") for at in _asked(text) or _ruled(text) or [0]]
    ends = [*(start for start, _, _ in starts[1:]), len(text)]
    for (start, begin, number), end in zip(starts, ends, strict=True):
        trial = max((n for at, n in trials if at < start), default=0)
        is_alone = len(starts) == 1 and not number
        yield Episode(text=_trimmed(text[begin:end]), number=number, trial=trial, is_alone=is_alone)


def marks(text: str, *, is_alone: bool) -> tuple[str, tuple[Mark, ...]]:
    """What comes before the first mark of an episode, and what stands behind each."""
    found = list(_going_on(list(_MARK.finditer(text))))
    if not found:
        return text, ()
    ends = [*(mark.start() for mark in found[1:]), len(text)]
    parts = [(_name(mark), text[mark.end() : end], mark.start()) for mark, end in zip(found, ends, strict=True)]
    observed = [part for name, part, _ in parts[:-1] if name == "Observation"]
    parting = "\n\n" if observed and all(part.endswith("\n\n") for part in observed) else "\n"
    made = []
    for i, (name, part, start) in enumerate(parts):
        is_end = i == len(parts) - 1 and not is_alone
        what = _unparted(part, "\n\n" if is_end else parting) if name == "Observation" else part.rstrip("\n")
        made.append(Mark(name=name, text=what, line=text.count("\n", 0, start)))
    return text[: found[0].start()], tuple(made)


def _name(found: re.Match[str]) -> str:
    name = str(found[1] or found[2])
    return _NAMES.get(name, name)


def _unparted(text: str, parting: str) -> str:
    return text.removesuffix(parting) if text.endswith(parting) else text.removesuffix("\n")


def _asked(text: str) -> list[int]:
    """Where something is asked; a question right behind its context belongs to it."""
    starts: list[int] = []
    is_context = False
    for found in _MARK.finditer(text):
        if found[1] is None:
            is_context = False
        elif not (is_context and found[1] != "Context"):
            starts.append(found.start())
            is_context = found[1] == "Context"
    return starts


def _ruled(text: str) -> list[int]:
    """Where rules part episodes: those behind which there is a mark before the next one."""
    starts = [0, *(found.end() for found in _RULE.finditer(text))]
    ends = [*starts[1:], len(text)]
    with_marks = [start for start, end in zip(starts, ends, strict=True) if _MARK.search(text, start, end)]
    first = [start for start in with_marks if (found := _MARK.search(text, start)) and found[3] in (None, "1")]
    return first if len(first) == len(with_marks) > 1 else []


def _trimmed(text: str) -> str:
    """An episode without the rules and headings that follow it."""
    end = len(text)
    while (start := text.rfind("\n", 0, max(end - 1, 0)) + 1) and _HEADING.match(text[start:end]):
        end = start
    return text if text[end:].isspace() else text[:end]


def _going_on(found: Sequence[re.Match[str]]) -> Iterator[re.Match[str]]:
    """The marks of turns that go on: a line of an observation may begin like a mark, of an earlier turn or of none."""
    has_numbers = any(mark[3] is not None for mark in found)
    turn, last = 0, -1
    for mark in found:
        name = _name(mark)
        order = _ORDER.index(name) if name in _ORDER else -1
        if name == "Reflections":
            turn, last = 0, -1  # what follows is another trial
        if order < 0 or not has_numbers:
            yield mark
        elif mark[3] is not None and (turn, last) < (int(mark[3]), order) and int(mark[3]) <= turn + 1:
            turn, last = int(mark[3]), order
            yield mark
