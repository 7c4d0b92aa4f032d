"""A judge without a model: what a finished subgoal shows of having failed, by the words of any agent's trace.

Pure. Five signs, none of them of one file: a result that says it failed, a result with nothing in it, something made up
where it should be found, giving up, and an answer that begins as an earlier one did. It can see no wrong reasoning and
no wrong number. Invariant: a judge that has judged the same subgoals in the same order says the same.
"""

import re
from collections.abc import Iterator
from typing import Final

from graphmem import Case, Ruling

FAILED: Final = "a result says that it failed"
EMPTY: Final = "a result has nothing in it"
MADE_UP: Final = "something is assumed that should be found"
GAVE_UP: Final = "it says that it cannot be done"
REPEATED: Final = "it begins as an earlier answer did"
SIGNS: Final = (FAILED, EMPTY, MADE_UP, GAVE_UP, REPEATED)
_WORDS: Final = {
    FAILED: re.compile(
        r"exit ?code:? [1-9]|execution failed|traceback \(most recent|\b\w*(?:error|exception)\b:"
        r"|\bHTTP (?:error )?[45]\d\d\b|\b(?:40[134]|50[0-4])\b.{0,20}(?:not found|forbidden|unauthorized|error)"
        r"|no such file|timed? ?out|(?:access|permission) denied|\bnot found\b|no results\b|returned no\b",
        re.IGNORECASE,
    ),
    EMPTY: re.compile(r"(?:\A|output:)\s*(?:\[\]|\{\}|none|null|nan)?\s*\Z", re.IGNORECASE),
    MADE_UP: re.compile(
        r"\b(?:assum(?:e|ing|ption)s?|hypothetical(?:ly)?|simulat(?:e|ed|ing)|placeholder|mock(?:ed)?|pretend|dummy"
        r"|for the sake of|fabricat\w+)\b",
        re.IGNORECASE,
    ),
    GAVE_UP: re.compile(
        r"\b(?:unable to|not able to|could ?n[o'’]t|can ?n[o'’]t|unfortunately|apologi[sz]e|sorry)\b", re.IGNORECASE
    ),
}
_BEGINS = 200  # characters by which an answer is known again


class FailureJudge:
    """A judge of one run, subgoal after subgoal; it remembers how their answers began. `signs`: those it looks for."""

    def __init__(self, signs: tuple[str, ...] = SIGNS) -> None:
        self.signs = signs
        self._begun: set[str] = set()

    def __call__(self, case: Case) -> Ruling:
        """It fails when one of the signs is there, which the feedback names."""
        found = [sign for sign in self._found(case) if sign in self.signs]
        return Ruling(passed=not found, feedback="; ".join(dict.fromkeys(found)))

    def _found(self, case: Case) -> Iterator[str]:
        for node in case.trace:
            texts = [seen.content or "" for seen in node.results]
            yield from (sign for sign, words in _WORDS.items() if any(words.search(text) for text in texts))
            begins = " ".join(texts[0].split())[:_BEGINS]
            if begins in self._begun:
                yield REPEATED
            self._begun.add(begins)
