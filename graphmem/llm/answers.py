"""What an OpenAI-compatible endpoint answered: the text, whole or in pieces, its usage, and why it ended.

Owns the reading of completions and of streams of chunks, by the SDK's own types. Invariant: a completion is made only
of an answer that says that it ended; half an answer is an error.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from graphmem.errors import AnswerCutError, AnswerRefusedError, ModelError
from graphmem.llm.chat import Completion, OnText
from graphmem.vocabulary import short_name

if TYPE_CHECKING:
    from openai import Stream
    from openai.types.chat import ChatCompletion, ChatCompletionChunk

_COUNTS: Final = ("prompt_tokens", "completion_tokens", "total_tokens")


class BrokenOffError(Exception):
    """The stream ended before the answer did. Never leaves the model."""


def whole(answer: "ChatCompletion") -> Completion:
    """The completion of an answer that came in one piece.

    Raises:
        AnswerCutError, AnswerRefusedError: it is none, or half of one.
        ModelError: it is something else.
    """
    choices = getattr(answer, "choices", None)
    first = choices[0] if isinstance(choices, list) and choices else None
    message = getattr(first, "message", None)
    if message is None:
        raise not_a_completion(answer)
    finish, usage = getattr(first, "finish_reason", None), usage_of(getattr(answer, "usage", None))
    return ended(_text(message, "content"), finish or "stop", _text(message, "refusal"), usage)


def streamed(chunks: "Stream[ChatCompletionChunk]", on_text: OnText | None, check: Callable[[], None]) -> Completion:
    """The completion of a stream, each piece told as it comes; `check` is called with each.

    Raises:
        BrokenOffError: it ended before the answer did.
        AnswerCutError, AnswerRefusedError: as `whole`.
    """
    pieces: list[str] = []
    refusal, finish, usage, count = "", None, None, 0
    for count, chunk in enumerate(chunks, 1):  # noqa: B007  counted for what is empty
        check()
        usage = usage_of(getattr(chunk, "usage", None)) or usage
        choices = getattr(chunk, "choices", None)
        for choice in choices[:1] if isinstance(choices, list) else ():
            finish = getattr(choice, "finish_reason", None) or finish
            delta = getattr(choice, "delta", None)
            refusal += _text(delta, "refusal")
            piece = _text(delta, "content")
            if piece:
                pieces.append(piece)
                if on_text is not None:
                    on_text(piece)
    if finish is None:
        if not count:
            raise not_a_completion("an empty stream")
        raise BrokenOffError
    return ended("".join(pieces), finish, refusal, usage)


def _text(message: object, name: str) -> str:
    found = getattr(message, name, None)
    return found if isinstance(found, str) else ""


def ended(text: str, finish: str, refusal: str, usage: Mapping[str, int] | None) -> Completion:
    """The completion of an answer that ended for the reason `finish`.

    Raises:
        AnswerCutError, AnswerRefusedError: for a reason that makes it none.
    """
    if finish == "length":
        raise AnswerCutError(
            f"the answer ended at the limit of its tokens, after {len(text):,} characters: allow more "
            "(max_completion_tokens), or ask for less in one step.",
            text=text,
            usage=usage,
        )
    if finish == "content_filter":
        raise AnswerRefusedError("a content filter of the endpoint withheld the answer; rephrase what is asked.")
    if refusal and not text:
        raise AnswerRefusedError(f"the model declined to answer: {short_name(refusal, characters=300)}")
    return Completion(text=text, usage=usage)


def usage_of(usage: Any) -> Mapping[str, int] | None:
    """What an answer cost, in one flat mapping; cached tokens are part of those of the prompt."""
    if usage is None or not hasattr(usage, "model_dump"):
        return None
    given: dict[str, Any] = usage.model_dump(warnings="none")
    prompt, output = given.get("prompt_tokens_details") or {}, given.get("completion_tokens_details") or {}
    counts = {name: given.get(name) for name in _COUNTS}
    counts["cached_tokens"] = prompt.get("cached_tokens", given.get("prompt_cache_hit_tokens"))
    counts["reasoning_tokens"] = output.get("reasoning_tokens")
    return {name: count for name, count in counts.items() if isinstance(count, int) and count >= 0} or None


def not_a_completion(answer: object) -> ModelError:
    """The error for an answer of another kind."""
    told = answer if isinstance(answer, str) else type(answer).__name__
    return ModelError(
        f"the endpoint answered with something else than a chat completion ({short_name(told, characters=120)!r}): "
        "is base_url the one of an OpenAI-compatible API, with its /v1?"
    )
