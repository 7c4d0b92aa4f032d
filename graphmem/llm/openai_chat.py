"""A chat model behind any OpenAI-compatible endpoint, by the official SDK (extra `agent`, imported at the first call).

Owns the tries: what to leave out where the endpoint refuses it, how long to wait, when to give up. Settings are those
of FlowState's evaluation (B.5). Invariants: the key comes from the environment, is read at the first call and stands
in no text that leaves this module; an answer is given back whole or not at all.
"""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from graphmem.errors import AnswerCutError, InvalidValueError, ModelError, ModelLoginError
from graphmem.llm.answers import BrokenOffError, streamed, whole
from graphmem.llm.chat import Completion, Message, OnText
from graphmem.llm.failures import Failure
from graphmem.llm.parameters import (
    OPENAI_URL,
    Body,
    is_about_thinking,
    json_schema_format,
    thinking_off,
    without,
    without_length,
    without_thinking,
)
from graphmem.vocabulary import Json, whole_number

if TYPE_CHECKING:
    import openai

logger = logging.getLogger("graphmem.llm")

KEY_VARIABLE: Final = "OPENAI_API_KEY"
URL_VARIABLE: Final = "OPENAI_BASE_URL"
_CONNECT_SECONDS: Final = 10.0
_HIDDEN: Final = "***"
_SHORTEST_KEY: Final = 8  # a shorter one would be found in ordinary words
_NO_KEY: Final = "none"  # what a local server is sent, since the SDK must send something


class OpenAIChatModel:
    """A model of an OpenAI-compatible endpoint. Making one reads and asks nothing.

    `base_url`: by default that of `OPENAI_BASE_URL`, else OpenAI's own. `key_variable` names the environment variable
    that holds the key; it is sent to `base_url` and to nobody else. `response_schema`: a JSON Schema that every answer
    must follow (structured outputs). `thinking=False` switches thinking off where the endpoint knows how; `body` is
    sent along as it is. A setting that the endpoint refuses is left out from then on, and listed in `left_out`.
    `timeout_seconds` is for one try: for the whole answer, or between two pieces of a stream.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_variable: str = KEY_VARIABLE,
        temperature: float | None = 0.1,
        top_p: float | None = 1.0,
        max_completion_tokens: int | None = 32_768,
        thinking: bool = False,
        response_schema: Mapping[str, Json] | None = None,
        body: Mapping[str, Json] | None = None,
        timeout_seconds: float = 600.0,
        retries: int = 5,
    ) -> None:
        if not isinstance(model, str) or not model.strip():
            raise InvalidValueError("model must be the name of a model, as the endpoint spells it")
        if base_url is not None:
            _check_url(base_url)
        self.model = model
        self.base_url = base_url
        self.key_variable = key_variable
        self.left_out: tuple[str, ...] = ()
        self._thinking = thinking
        self._timeout_seconds = timeout_seconds
        self._retries = whole_number("retries", retries, most=100)
        schema = None if response_schema is None else json_schema_format(response_schema)
        settings: dict[str, Json] = {
            "temperature": temperature,
            "top_p": top_p,
            "max_completion_tokens": max_completion_tokens,
            "response_format": schema,
            **(body or {}),
        }
        self._body: Body = {name: value for name, value in settings.items() if value is not None}
        self._client: openai.OpenAI | None = None
        self._key = ""
        self._is_proven = False

    def __repr__(self) -> str:
        return f"OpenAIChatModel({self.model!r}, base_url={self.base_url!r})"

    def complete(self, messages: Sequence[Message]) -> Completion:
        """The answer to these messages.

        Raises:
            ModelLoginError, ModelMissingError, ModelUnreachableError, RateLimitError, ContextLengthError: see each.
            AnswerCutError: the answer ended at the limit of its tokens.
            AnswerRefusedError: a content filter, or the model itself, declined.
            ModelError: the endpoint answered otherwise than it should.
        """
        return self._tried(messages, None, streams=False, seconds=None)

    def stream(
        self, messages: Sequence[Message], on_text: OnText | None = None, *, timeout_seconds: float | None = None
    ) -> Completion:
        """The answer, with `on_text` told of each piece of it; an empty piece says that the answer begins anew.

        `timeout_seconds`: when to give up, all retries included. Raises as `complete`.
        """
        return self._tried(messages, on_text, streams=True, seconds=timeout_seconds)

    def hidden(self, text: str) -> str:
        """The text with the key in it, if it is there, made unreadable; for a graph's `redact`."""
        key = self._key or os.environ.get(self.key_variable, "")
        return text.replace(key, _HIDDEN) if len(key) >= _SHORTEST_KEY else text

    def _tried(
        self, messages: Sequence[Message], on_text: OnText | None, *, streams: bool, seconds: float | None
    ) -> Completion:
        deadline = None if seconds is None else monotonic() + seconds
        client, tries = self._opened(), 0
        body = self._body
        while True:
            heard = None if on_text is None else _Heard(on_text, self._key)
            try:
                found = self._once(client, messages, body, heard, streams=streams, deadline=deadline)
            except ModelError as error:
                raise self._safe(error) from None
            except _failures() as error:
                failure = Failure(error)
            else:
                self._is_proven = True
                if heard is not None:
                    heard.end()
                return replace(found, text=self.hidden(found.text))
            # The SDK's error holds the request, and that the key: it ends here, and is nobody's cause.
            fewer = self._fewer(body, failure)
            if fewer is not None:
                body = fewer
                continue
            wait = failure.wait_seconds(tries)
            is_late = deadline is not None and wait is not None and monotonic() + wait >= deadline
            if wait is None or tries >= self._retries or is_late:
                raise self._safe(failure.error(self.model, self._where(), self.key_variable))
            logger.info("asking %s again in %.1f s: %s %s", self.model, wait, failure.kind, failure.status or "")
            sleep(wait)
            tries += 1
            if heard is not None and heard.anything:
                heard.on_text("")

    def _once(
        self,
        client: "openai.OpenAI",
        messages: Sequence[Message],
        body: Body,
        on_text: OnText | None,
        *,
        streams: bool,
        deadline: float | None,
    ) -> Completion:
        import openai

        seconds = self._timeout_seconds
        if deadline is not None:
            seconds = max(0.001, min(seconds, deadline - monotonic()))
        asked: Any = {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "timeout": openai.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS)),
            "extra_body": {name: value for name, value in body.items() if streams or name != "stream_options"},
        }
        if not streams:
            return whole(client.chat.completions.create(**asked))

        def check() -> None:
            if deadline is not None and monotonic() > deadline:
                raise openai.APITimeoutError(chunks.response.request)

        with client.chat.completions.create(stream=True, **asked) as chunks:
            return streamed(chunks, on_text, check)

    def _fewer(self, body: Body, failure: Failure) -> Body | None:
        """A body that the endpoint may take where it refused this one."""
        if not failure.is_refusal:
            return None
        found = without(body, failure.words, failure.param)
        if found is not None:
            self._body, name = found
            if not is_about_thinking(name):
                self.left_out = (*dict.fromkeys((*self.left_out, name)),)
                logger.info("%s takes no %s as it was given; doing without", self.model, name)
            return self._body
        if failure.is_too_long:
            return without_length(body)  # for this call: what is left of the context may do for the answer
        fewer = None if self._is_proven or failure.status == 404 else without_thinking(body)
        self._body = self._body if fewer is None else fewer
        return fewer

    def _opened(self) -> "openai.OpenAI":
        """The client, made at the first call.

        Raises:
            ModelLoginError: there is no key, and OpenAI's own endpoint needs one.
        """
        if self._client is None:
            import openai

            url = self._url()
            key = os.environ.get(self.key_variable, "").strip()
            if not key and (urlsplit(url).hostname or "").endswith("openai.com"):
                raise ModelLoginError(f"there is no key for {self._where()}: set {self.key_variable}.")
            if not key.isascii() or not key.isprintable():
                raise ModelLoginError(f"{self.key_variable} holds characters that no key has: set a valid one.")
            self._key = key
            off = {} if self._thinking else thinking_off(url)
            self._body = {**off, "stream_options": {"include_usage": True}, **self._body}
            self._client = openai.OpenAI(api_key=key or _NO_KEY, base_url=url, max_retries=0)
        return self._client

    def _url(self) -> str:
        return self.base_url or _check_url(os.environ.get(URL_VARIABLE) or OPENAI_URL)

    def _where(self) -> str:
        parts = urlsplit(self._url())
        return f"{parts.scheme}://{parts.netloc}{parts.path}"

    def _safe(self, error: ModelError) -> ModelError:
        error.args = (self.hidden(str(error)),)
        if isinstance(error, AnswerCutError):
            error.text = self.hidden(error.text)
        return error


def _failures() -> tuple[type[Exception], ...]:
    import openai

    return (openai.OpenAIError, BrokenOffError, json.JSONDecodeError, UnicodeDecodeError)


class _Heard:
    """The callback without the key: what may be the beginning of it is held back until it is known not to be."""

    def __init__(self, on_text: OnText, key: str) -> None:
        self.on_text = on_text
        self.anything = False
        self._key = key if len(key) >= _SHORTEST_KEY else ""
        self._held = ""

    def __call__(self, piece: str) -> None:
        text = self._held + piece
        if self._key:
            text = text.replace(self._key, _HIDDEN)
        begun = next((n for n in range(len(self._key) - 1, 0, -1) if text.endswith(self._key[:n])), 0)
        text, self._held = text[: len(text) - begun], text[len(text) - begun :]
        if text:
            self.anything = True
            self.on_text(text)

    def end(self) -> None:
        """The answer is whole: what was held back is no key."""
        if self._held:
            self.on_text(self._held)


def _check_url(url: str) -> str:
    """The URL, if it is one of HTTP without a secret in it.

    Raises:
        InvalidValueError: it is not.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidValueError("base_url is not a URL such as https://api.openai.com/v1")
    if parts.username is not None or parts.password is not None:
        raise InvalidValueError("base_url holds a user or password; a key comes from the environment alone")
    return url
