"""What a model is shown without a memory: the whole history, its last messages, or those that BM25 finds.

Pure. BM25 comes from `bm25s` (the extra `measure`); where that is not installed, it is left out. Invariant: what does
not fit the budget is not shown, but for the request and the latest message, which every way shows.
"""

import importlib
import importlib.util
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from graphmem.exchange.measuring.script import Message, Moment, Script

Count = Callable[[str], int]


def full(script: Script, moment: Moment) -> tuple[Message, ...]:
    """Everything that was said."""
    return script.messages[: moment.seen]


def last(script: Script, moment: Moment, budget_tokens: int, count: Count) -> tuple[Message, ...]:
    """As many of the last messages as fit."""
    messages = full(script, moment)
    order = range(len(messages) - 1, -1, -1)
    return _chosen(messages, order, _always(messages), budget_tokens, count, skips=False)


def has_bm25() -> bool:
    """Whether BM25 can be asked."""
    return importlib.util.find_spec("bm25s") is not None


def bm25(script: Script, moment: Moment, budget_tokens: int, count: Count) -> tuple[Message, ...]:
    """The best messages that fit, for a query of the request's text, the tools and the names of their parameters.

    These are what the rule-based access goes by as well.
    """
    messages = full(script, moment)
    asked = script.run.rounds[moment.round].text
    query = _words(" ".join((asked, *moment.tools, *moment.parameters)))
    scores = _scores([_words(message.shown) for message in messages], query)
    order = sorted(range(len(messages)), key=lambda i: (-scores[i], -i))
    return _chosen(messages, order, _always(messages), budget_tokens, count, skips=True)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _scores(documents: Sequence[list[str]], query: list[str]) -> list[float]:
    if not query or not any(documents):
        return [0.0] * len(documents)
    library: Any = importlib.import_module("bm25s")
    index = library.BM25(k1=1.5, b=0.75, method="lucene")
    index.index(list(documents), show_progress=False)
    return [float(score) for score in index.get_scores(list(dict.fromkeys(query)))]


def _always(messages: Sequence[Message]) -> set[int]:
    """The request that is open, and the latest message."""
    asked = max(i for i, message in enumerate(messages) if message.kind == "user")
    return {asked, len(messages) - 1}


def _chosen(
    messages: Sequence[Message],
    order: Iterable[int],
    always: set[int],
    budget_tokens: int,
    count: Count,
    *,
    skips: bool,
) -> tuple[Message, ...]:
    """Messages in an order of preference until the budget is used; `skips`: one that does not fit is passed over."""
    chosen = set(always)
    left = budget_tokens - sum(count(messages[i].shown) for i in chosen)
    for i in order:
        if i in chosen:
            continue
        size = count(messages[i].shown)
        if size <= left:
            chosen.add(i)
            left -= size
        elif not skips:
            break
    return tuple(messages[i] for i in sorted(chosen))
