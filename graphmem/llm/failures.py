"""What went wrong with an endpoint, as an error of graphmem that says what to do; and whether to ask again.

Owns the mapping of the SDK's errors. Invariant: no key and no request is in what is made here, only words of the
endpoint, shortened.
"""

import email.utils
import random
import re
import time
from collections.abc import Mapping
from typing import Any, Final

from graphmem.errors import (
    AnswerRefusedError,
    ContextLengthError,
    ModelError,
    ModelLoginError,
    ModelMissingError,
    ModelUnreachableError,
    RateLimitError,
)
from graphmem.llm.answers import BrokenOffError
from graphmem.vocabulary import short_name

_AGAIN: Final = (408, 409, 425, 429)
_UNANSWERED: Final = ("APIConnectionError", "APITimeoutError", "APIError")
_FIRST_WAIT_SECONDS: Final = 0.5
_LONGEST_WAIT_SECONDS: Final = 30.0
_PATIENCE_SECONDS: Final = 300.0  # an endpoint that asks for more is not waited for
_TOLD_CHARACTERS: Final = 400
_TOO_LONG: Final = re.compile(
    r"context[_ ](length|size|window)|maximum context|prompt is too long|input (is|length) (too long|exceeds)", re.I
)
_FILTERED: Final = re.compile(r"content[_ ]?(filter|policy|management)|responsible ?ai", re.I)
_USED_UP: Final = re.compile(r"insufficient_quota|insufficient balance|exceeded your current quota|billing", re.I)


class Failure:
    """One failed try at an endpoint: what the SDK raised, and what it says of status, code and words."""

    def __init__(self, error: Exception) -> None:
        self.kind = type(error).__name__
        self.status = _status(error)
        self.param: str | None = getattr(error, "param", None)
        self.words = _words(error)
        self.has_broken_off = isinstance(error, BrokenOffError)
        response = getattr(error, "response", None)
        self.headers: Mapping[str, str] = {} if response is None else response.headers

    @property
    def is_refusal(self) -> bool:
        """Whether the endpoint refuses the request as it stands, so that another one may do."""
        return self.status in (400, 404, 422)

    @property
    def is_too_long(self) -> bool:
        """Whether the prompt, or prompt and answer together, are longer than the model takes."""
        return self.status in (400, 413, 422) and _TOO_LONG.search(self.words) is not None

    def wait_seconds(self, tries: int) -> float | None:
        """How long to wait before the next try, as the endpoint says or longer each time; None: do not try again."""
        answered = self.status is not None
        if answered and self.status not in _AGAIN and not (self.status or 0) >= 500:
            return None
        if not answered and not self.has_broken_off and self.kind not in _UNANSWERED:
            return None
        if self.status == 429 and _USED_UP.search(self.words):
            return None
        asked = retry_after(self.headers)
        if asked is not None:
            return asked if asked <= _PATIENCE_SECONDS else None
        return min(_FIRST_WAIT_SECONDS * 2.0**tries, _LONGEST_WAIT_SECONDS) * random.uniform(0.75, 1)

    def error(self, model: str, where: str, key_variable: str) -> ModelError:
        """The error to raise."""
        said = f" It says: {self.words}" if self.words else ""
        match self.status:
            case 401 | 403:
                return ModelLoginError(f"{where} refused the key in {key_variable}: set a valid one.{said}")
            case 404:
                return ModelMissingError(
                    f"{where} knows no model {model!r}, or is no chat endpoint: check the name, and that base_url "
                    f"ends as the provider says, mostly in /v1.{said}"
                )
            case 429 if _USED_UP.search(self.words):
                return RateLimitError(f"the quota at {where} is used up: add to it, or use another endpoint.{said}")
            case 429:
                return RateLimitError(f"{where} asks for patience: go on later, or with fewer at once.{said}")
            case None:
                return self._unanswered(where)
            case status if status >= 500 or status in _AGAIN:
                return ModelUnreachableError(f"{where} fails with status {status}: go on later.{said}")
        return self._refused(where, said)

    def _unanswered(self, where: str) -> ModelError:
        if self.has_broken_off:
            return ModelUnreachableError(f"the answer of {where} broke off each time: go on later.")
        if self.kind == "APITimeoutError":
            return ModelUnreachableError(f"{where} did not answer in time: go on later, or raise timeout_seconds.")
        if self.kind == "APIConnectionError":
            return ModelUnreachableError(f"nobody answers at {where}: check base_url, and that the endpoint is up.")
        if self.kind == "APIError":
            return ModelUnreachableError(f"the answer of {where} ended in an error: go on later. It says: {self.words}")
        return ModelError(f"{where} answered with what is no JSON: is base_url that of a chat endpoint, with its /v1?")

    def _refused(self, where: str, said: str) -> ModelError:
        if self.is_too_long:
            return ContextLengthError(
                f"the prompt is longer than the model at {where} takes: take one with more context, or show less "
                f"(index_tokens, compress).{said}"
            )
        if _FILTERED.search(self.words):
            return AnswerRefusedError(f"a content filter of {where} refused the prompt; rephrase what is asked.{said}")
        return ModelError(f"{where} refused the request with status {self.status}.{said}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that `Retry-After` asks for, given as seconds or as a date; None when it does not."""
    for name, divisor in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / divisor)
        except (KeyError, ValueError):
            continue
    try:
        when = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except (TypeError, ValueError):
        return None
    return max(0.0, when.timestamp() - time.time())


def _status(error: Exception) -> int | None:
    """The status of the answer; an error inside of a stream has it as its code, if at all."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status
    code = str(getattr(error, "code", None) or "")
    return int(code) if re.fullmatch(r"[45]\d\d", code) else None


def _words(error: Exception) -> str:
    """What the endpoint says, on one line."""
    body: Any = getattr(error, "body", None)
    code = getattr(error, "code", None)
    if isinstance(body, dict):
        body = body.get("message") or body.get("error") or body.get("detail") or body
    told = body if body is not None else getattr(error, "message", None) or error
    words = short_name(f"{told}", characters=_TOLD_CHARACTERS)
    return words if not code or str(code) in words else f"{words} ({code})"
