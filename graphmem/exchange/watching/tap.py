"""An HTTP client whose chat completions are overheard.

Stands in for the client that it is given (httpx or httpx2, synchronous or not), is an instance of the same class to
whoever asks, and hands on every call: requests go out and answers come back as they would, streams piece by piece. When
an answer is over, `hear` gets the bodies. Invariant: nothing that happens here reaches the caller, but what the client
itself raises.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from graphmem.exchange.watching.wire import is_chat_completion


class Listener(Protocol):
    """Who is told."""

    def hear(self, question: bytes, answer: bytes, content_type: str) -> None:
        """A chat completion is over: the bodies of request and response."""
        ...

    def miss(self, path: str) -> None:
        """Something else was asked for."""
        ...

    def settle(self) -> None:
        """The client is about to be closed."""
        ...


logger = logging.getLogger("graphmem")


class _StandIn:
    """Whatever it stands for, to `isinstance` and to everybody who asks for an attribute."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    __class__: Any = property(lambda self: type(self._inner))

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":  # while it is being copied
            raise AttributeError(name)
        return getattr(self._inner, name)


class Tapped(_StandIn):
    """A synchronous HTTP client. `hear(question, answer, content type)` is called before the answer is given back."""

    def __init__(self, inner: Any, listener: Listener) -> None:
        super().__init__(inner)
        self._listener = listener

    def send(self, request: Any, **how: Any) -> Any:
        """What the client sends back."""
        response = self._inner.send(request, **how)
        if _is_overheard(self._listener, request, response):
            if response.is_closed:
                _hear_whole(self._listener, request, response)
            else:
                response.stream = _Stream(response, lambda said: _hear_stream(self._listener, request, response, said))
        return response

    def close(self) -> None:
        """Close the client."""
        _settle(self._listener)
        self._inner.close()


class AsyncTapped(_StandIn):
    """An asynchronous HTTP client; `hear` runs in a thread, so that the event loop goes on."""

    def __init__(self, inner: Any, listener: Listener) -> None:
        super().__init__(inner)
        self._listener = listener

    async def send(self, request: Any, **how: Any) -> Any:
        """What the client sends back."""
        response = await self._inner.send(request, **how)
        if _is_overheard(self._listener, request, response):
            if response.is_closed:
                await _in_thread(lambda: _hear_whole(self._listener, request, response))
            else:
                response.stream = _AsyncStream(
                    response, lambda said: _hear_stream(self._listener, request, response, said)
                )
        return response

    async def aclose(self) -> None:
        """Close the client."""
        await _in_thread(lambda: _settle(self._listener))
        await self._inner.aclose()


class _Stream(_StandIn):
    """The bytes of a response, kept as they pass."""

    def __init__(self, response: Any, over: Callable[[list[bytes]], None]) -> None:
        super().__init__(response.stream)
        self._over: Callable[[list[bytes]], None] | None = over
        self._said: list[bytes] = []

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._inner:
            self._said.append(piece)
            yield piece

    def close(self) -> None:
        self._inner.close()
        over, self._over = self._over, None
        if over is not None:
            over(self._said)


class _AsyncStream(_StandIn):
    """The bytes of a response, kept as they pass."""

    def __init__(self, response: Any, over: Callable[[list[bytes]], None]) -> None:
        super().__init__(response.stream)
        self._over: Callable[[list[bytes]], None] | None = over
        self._said: list[bytes] = []

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._inner:
            self._said.append(piece)
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
        over, self._over = self._over, None
        if over is not None:
            await _in_thread(lambda: over(self._said))


def _is_overheard(listener: Listener, request: Any, response: Any) -> bool:
    if response.status_code != 200:
        return False
    if is_chat_completion(request.method, request.url.path):
        return True
    with _nothing_raised():
        listener.miss(request.url.path)
    return False


def _hear_whole(listener: Listener, request: Any, response: Any) -> None:
    with _nothing_raised():
        listener.hear(request.content, response.content, response.headers.get("content-type", ""))


def _hear_stream(listener: Listener, request: Any, response: Any, said: list[bytes]) -> None:
    with _nothing_raised():
        kept = {k: v for k, v in response.headers.items() if k.lower() in ("content-type", "content-encoding")}
        again = type(response)(200, headers=kept, content=b"".join(said))  # it knows how to undo the encoding
        listener.hear(request.content, again.content, kept.get("content-type", ""))


def _settle(listener: Listener) -> None:
    with _nothing_raised():
        listener.settle()


@contextmanager
def _nothing_raised() -> Iterator[None]:
    """Whatever is wrong with what was overheard, the caller has an answer to get."""
    try:
        yield
    except Exception:  # see above; a stream that was broken off may not even be decoded
        logger.exception("an exchange could not be recorded")


async def _in_thread(work: Callable[[], None]) -> None:
    from anyio import to_thread

    await to_thread.run_sync(work)
