"""A server that speaks the OpenAI chat API over real HTTP, and answers as it was scripted.

Owns the wire: JSON and server-sent events, errors, delays, bodies cut off. What it was asked stands in `requests`, byte
for byte. Invariant: an answer is the same whether the client asks for a stream or not; a script that has run out is
answered with status 418, so that a test that calls once too often fails.
"""

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-test-0123456789abcdef"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer. `body` is a completion, or whatever JSON (or text) an error has.

    `cut_after`: the connection ends after so many events of a stream. `delay_seconds`: before the status line, and
    `pause_seconds` before each event.
    """

    body: Mapping[str, Any] | str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    is_gzipped: bool = False
    cut_after: int | None = None
    delay_seconds: float = 0.0
    pause_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What came over the wire."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.body)


Scripted = Reply | Callable[[Any], Reply]


def call(name: str, arguments: Mapping[str, Any] | str, id: str) -> dict[str, Any]:
    """A tool call as a message has it."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": id, "type": "function", "function": {"name": name, "arguments": text}}


def completion(*messages: Mapping[str, Any], finish: str | None = None, **usage: Any) -> dict[str, Any]:
    """A chat completion with these messages as its choices."""
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": None, "refusal": None, **message},
            "finish_reason": finish or ("tool_calls" if message.get("tool_calls") else "stop"),
            "logprobs": None,
        }
        for index, message in enumerate(messages)
    ]
    counted = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30, **usage}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "scripted",
        "choices": choices,
        "usage": counted,
    }


def says(text: str, **how: Any) -> Reply:
    """An answer in words. `how`: fields of the reply."""
    return Reply(body=completion({"content": text}), **how)


def calls(*made: Mapping[str, Any], text: str | None = None, **how: Any) -> Reply:
    """An answer that calls tools."""
    return Reply(body=completion({"content": text, "tool_calls": list(made)}), **how)


def fails(status: int, message: str = "no", **how: Any) -> Reply:
    """An error as the API words it."""
    error = {"message": message, "type": "scripted", "param": None, "code": None}
    return Reply(body={"error": error}, status=status, **how)


def chunks(body: Mapping[str, Any], *, with_usage: bool) -> Iterator[dict[str, Any]]:
    """A completion as the chunks of a stream: texts in pieces of four characters, the arguments of calls too."""
    head = {**{k: v for k, v in body.items() if k not in ("choices", "usage")}, "object": "chat.completion.chunk"}
    if with_usage:
        head["usage"] = None

    def chunk(index: int, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": index, "delta": delta, "finish_reason": finish, "logprobs": None}]}

    for choice in body["choices"]:
        index, message = choice["index"], choice["message"]
        yield chunk(index, {"role": "assistant", "content": "" if message["content"] else None})
        for piece in _pieces(message["content"] or ""):
            yield chunk(index, {"content": piece})
        yield from (chunk(index, {"tool_calls": [delta]}) for delta in _call_deltas(message.get("tool_calls") or ()))
        yield chunk(index, {}, choice["finish_reason"])
    if with_usage:
        yield {**head, "choices": [], "usage": body["usage"]}


def _call_deltas(made: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for number, one in enumerate(made):
        opening = {"name": one["function"]["name"], "arguments": ""}
        yield {"index": number, "id": one["id"], "type": "function", "function": opening}
        for piece in _pieces(one["function"]["arguments"]):
            yield {"index": number, "function": {"arguments": piece}}


def _pieces(text: str) -> Iterable[str]:
    return (text[i : i + 4] for i in range(0, len(text), 4))


class OpenAIServer:
    """A server that is up: `url` for a client's `base_url`, `requests` for what it was asked, in order."""

    def __init__(self, script: Iterable[Scripted]) -> None:
        self._script = iter(script)
        self._lock = threading.Lock()
        self.requests: list[Asked] = []
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.http.daemon_threads = True

    @property
    def url(self) -> str:
        """The base URL of the API."""
        return f"http://127.0.0.1:{self.http.server_address[1]}/v1"

    def next(self, asked: Asked) -> Reply:
        """The answer to a request, which is remembered."""
        with self._lock:
            self.requests.append(asked)
            scripted = next(self._script, None)
        if scripted is None:
            return fails(418, "the script has run out")
        return scripted if isinstance(scripted, Reply) else scripted(asked.json)


@contextmanager
def openai_server(script: Iterable[Scripted]) -> Iterator[OpenAIServer]:
    """A scripted server for the length of a block."""
    server = OpenAIServer(script)
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
        thread.join()


def _handler(server: OpenAIServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # status, headers and body in one packet where they are one answer

        def log_message(self, *_: Any) -> None:
            """Nothing: the test has `requests`."""

        def do_POST(self) -> None:
            """Answer."""
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked = Asked(path=self.path, headers=dict(self.headers.items()), body=body)
            reply = server.next(asked)
            time.sleep(reply.delay_seconds)
            try:
                if reply.status == 200 and not isinstance(reply.body, str) and asked.json.get("stream"):
                    options = asked.json.get("stream_options") or {}
                    self._stream(reply, chunks(reply.body, with_usage=bool(options.get("include_usage"))))
                else:
                    self._whole(reply)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client has gone, as some tests want

        def _whole(self, reply: Reply) -> None:
            is_text = isinstance(reply.body, str)
            data = (reply.body if isinstance(reply.body, str) else json.dumps(reply.body)).encode()
            headers = {"Content-Type": "text/plain" if is_text else "application/json", **reply.headers}
            if reply.is_gzipped:
                data, headers["Content-Encoding"] = gzip.compress(data), "gzip"
            headers["Content-Length"] = str(len(data))
            self._head(reply.status, headers)
            self.wfile.write(data)
            self.wfile.flush()

        def _stream(self, reply: Reply, events: Iterable[Mapping[str, Any]]) -> None:
            self._head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked", **reply.headers})
            for number, event in enumerate(events):
                if number == reply.cut_after:
                    self.wfile.flush()
                    self.close_connection = True
                    return
                time.sleep(reply.pause_seconds)
                self._chunk(f"data: {json.dumps(event)}\n\n".encode())
            self._chunk(b"data: [DONE]\n\n")
            self._chunk(b"")

        def _chunk(self, data: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

        def _head(self, status: int, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

    return Handler
