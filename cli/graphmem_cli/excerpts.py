"""The lines of a raw result that a state most likely rests on, for the eye.

Pure, and a guess by shared words and numbers: what a state really rests on is the whole result. Invariant: the pieces
come in their order, and `GAP` stands wherever something was left out.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

GAP: Final = "…"

_PIECES: Final = 3
_PIECE: Final = re.compile(r".{60,159}(?:[,;}\]]|\.(?= ))|.{1,159}(?: |$)|.{1,160}")
_WORD: Final = re.compile(r"[^\W_]+")


def excerpt(content: str, about: str, *, is_whole: bool = True) -> list[str]:
    """Up to three lines of `content`: those that share words and numbers with `about`, rare ones before frequent ones.

    A long line counts as several; where nothing is shared, the first ones. `is_whole`: nothing follows `content`.
    """
    pieces = [piece.strip() for line in content.split("\n") for piece in _PIECE.findall(line) if piece.strip()]
    held = [_words(piece) for piece in pieces]
    frequent = Counter(word for words in held for word in words)
    wanted = _words(about)
    scores = [sum(1 / frequent[word] for word in wanted & words) for words in held]
    best = sorted(range(len(pieces)), key=lambda i: -scores[i])[:_PIECES]
    chosen = sorted(i for i in best if scores[i] > 0 or not any(scores))
    return list(_with_gaps(pieces, chosen, is_whole=is_whole))


def _with_gaps(pieces: Sequence[str], chosen: Sequence[int], *, is_whole: bool) -> Iterator[str]:
    following = 0
    for i in chosen:
        if i > following:
            yield GAP
        yield pieces[i]
        following = i + 1
    if following < len(pieces) or not is_whole:
        yield GAP


def _words(text: str) -> set[str]:
    """Numbers, and words long enough to mean something."""
    return {word for word in _WORD.findall(text.lower()) if len(word) > 2 or word.isdecimal()}
