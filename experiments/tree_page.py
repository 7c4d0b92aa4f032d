"""The page of `graphmem tree --html` in a real browser: how long a frame takes while it is panned, zoomed and searched.

`python -m experiments.tree_page --nodes 10000 --branches 300` makes a tree in memory, writes its page, opens it in
Chromium and prints the figures as JSON; `--page FILE` opens a page that is there, `--shots DIR` keeps pictures. Needs
Chromium (the environment variable CHROME, or on the PATH) and the package `websockets`; no server and no network.
"""

import argparse
import asyncio
import base64
import importlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphmem.inspect.tree_page import tree_page
from graphmem.inspect.tree_values import Tree, TreeNode, TreeRequest, Written

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FRAMES = 240
_COVERED = 12

_PAN = """new Promise(done => {
  const canvas = document.getElementById('tree'), deltas = []; let last = 0, left = FRAMES;
  const box = canvas.getBoundingClientRect(), x = box.left + 300, y = box.top + 300;
  const event = (deltaY, shiftKey) => canvas.dispatchEvent(
    new WheelEvent('wheel', {deltaY, shiftKey, clientX: x, clientY: y, cancelable: true}));
  const frame = now => {
    if (last) deltas.push(now - last);
    last = now;
    ACT
    if (left--) requestAnimationFrame(frame); else done(deltas);
  };
  requestAnimationFrame(frame);
})"""
_ACTS = {
    "pan": "event(left % 2 ? 180 : 150, true);",
    "pan_fast": "event(left > FRAMES / 2 ? 6000 : -6000, true);",
    "zoom": "event(left > FRAMES / 2 ? 60 : -60, false);",
}


def example(nodes: int, branches: int) -> tuple[Tree, dict[str, Any]]:
    """A tree of that size, and contents: a long path with failed branches along it, half of them below a summary."""
    each = max(1, nodes // (4 * branches))
    path_length = nodes - branches * each
    gap = max(1, path_length // (branches + 1))
    made = [_trace(0, None, 0, on_path=True)]
    summaries: list[TreeNode] = []
    path = [made[0]]
    number = itertools.count(1)
    for step in range(1, path_length):
        node = _trace(next(number), path[-1], step, on_path=True, request=1 + 10 * step // path_length)
        made.append(node)
        path.append(node)
        if step % gap == 0 and step < gap * (branches + 1):
            _branch(made, summaries, number, path[-1], each, fails=step // gap % 3 > 0)
    tail = max(0, len(path) - 1 - (len(path) - 1) % _COVERED - _COVERED)
    for start in range(0, tail, _COVERED):
        first, last = path[start], path[start + _COVERED]
        summaries.append(_summary(first, last, "did a part of the work, and found the fee", "passed", None))
    requests = tuple(
        TreeRequest(
            number=i + 1,
            standing="open" if i == 9 else "finished",
            opened_step=path[len(path) * i // 10].from_step,
            finished_step=None if i == 9 else path[len(path) * (i + 1) // 10 - 1].from_step,
            abandoned_step=None,
            text=f"What the user asked for in request {i + 1}",
            at=path[len(path) * i // 10].key,
        )
        for i in range(10)
    )
    tree = Tree(
        space="example",
        task="long-run",
        version=3 * nodes,
        last_step=3 * nodes,
        open=10,
        cursor=path[-1].key,
        boundary=path[tail].key,
        origin=None,
        requests=requests,
        nodes=tuple(made),
        summaries=tuple(summaries),
    )
    calls = {node.key: [_call(node)] for node in made[1:]}
    return tree, {"calls": calls, "states": {}, "longest": 800}


def _branch(
    made: list[TreeNode],
    summaries: list[TreeNode],
    number: Iterator[int],
    parent: TreeNode,
    length: int,
    *,
    fails: bool,
) -> None:
    below = parent
    for depth in range(length):
        below = _trace(next(number), below, parent.depth + depth + 1, on_path=False, request=parent.requests[0])
        made.append(below)
    if fails:
        note = f"the fee of {parent.number % 97} USD was not read before the booking"
        summaries.append(_summary(parent, below, "booked without reading the fee", "failed", note))


def _trace(number: int, parent: TreeNode | None, depth: int, *, on_path: bool, request: int = 0) -> TreeNode:
    written = (Written(step=3 * number + 1, added=(f"fact{number}",)),) if number % 5 == 0 else ()
    return TreeNode(
        key=f"n{number}",
        layer="trace",
        parent=None if parent is None else parent.key,
        number=number,
        depth=depth,
        name=f"{number} search flights OSL {number % 31}" if number else "0 root",
        from_step=3 * number,
        on_path=on_path,
        visits=(3 * number,),
        requests=(request,) if number else (),
        written=written,
    )


def _summary(first: TreeNode, last: TreeNode, text: str, verdict: str, note: str | None) -> TreeNode:
    return TreeNode(
        key=f"s{last.number}",
        layer="summary",
        parent=None,
        number=first.number,
        depth=1,
        name=text,
        from_step=last.from_step + 1,
        on_path=last.on_path,
        verdict=verdict,
        note=note,
        text=text,
        last=last.key,
    )


def _call(node: TreeNode) -> dict[str, Any]:
    text = f"flight {node.number} to Oslo leaves at {node.number % 24}:00 and costs {node.number % 400} USD. " * 6
    arguments = json.dumps({"to": "OSL", "day": node.number % 31})
    return {
        "id": f"obs:{node.number}.1",
        "tool": "search_flights",
        "arguments": arguments,
        "text": text,
        "length": 5000,
    }


class Tab:
    """A page of the browser, spoken to over its DevTools protocol."""

    def __init__(self, socket: Any) -> None:
        self._socket, self._ids = socket, itertools.count(1)
        self.told: list[str] = []

    async def command(self, method: str, **params: Any) -> Any:
        """Run a command and wait for its answer; errors that the page logs are kept in `told`."""
        id_ = next(self._ids)
        await self._socket.send(json.dumps({"id": id_, "method": method, "params": params}))
        while True:
            message = json.loads(await self._socket.recv())
            if message.get("id") == id_:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            if message.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.told.append(json.dumps(message["params"])[:400])
            if message.get("method") == "Network.requestWillBeSent":
                self.told.append(f"asks for {message['params']['request']['url'][:100]}")

    async def value(self, script: str) -> Any:
        """What an expression is in the page."""
        answer = await self.command("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:600])
        return answer["result"].get("value")

    async def shot(self, file: Path) -> None:
        """A picture of the page."""
        file.write_bytes(base64.b64decode((await self.command("Page.captureScreenshot", format="png"))["data"]))


@contextmanager
def browser(size: str = "1500,900") -> Iterator[int]:
    """A headless Chromium of its own; the port of its DevTools protocol."""
    found = os.environ.get("CHROME") or next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        raise SystemExit("no Chromium: set CHROME to its program, or put it on the PATH")
    home = Path(tempfile.mkdtemp(prefix="tree-page-"))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    flags += [f"--user-data-dir={home}", "--remote-debugging-port=0", "--remote-allow-origins=*"]
    nowhere = subprocess.DEVNULL
    running = subprocess.Popen(
        [found, *flags, f"--window-size={size}", "about:blank"], stdout=nowhere, stderr=nowhere, start_new_session=True
    )
    try:
        yield _port(home / "DevToolsActivePort")
    finally:
        os.killpg(running.pid, signal.SIGTERM)
        running.wait()
        shutil.rmtree(home, ignore_errors=True)


def _port(file: Path) -> int:
    for _ in range(200):
        if file.is_file() and file.read_text().strip():
            return int(file.read_text().splitlines()[0])
        time.sleep(0.1)
    raise SystemExit("Chromium did not start within 20 seconds")


async def opened(port: int) -> Tab:
    """The first page of a browser."""
    connect = importlib.import_module("websockets").connect
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
        page = next(one for one in json.load(answer) if one["type"] == "page")
    tab = Tab(await connect(page["webSocketDebuggerUrl"], max_size=None))
    for domain in ("Page", "Runtime", "Log", "Network"):
        await tab.command(f"{domain}.enable")
    return tab


async def figures(port: int, page: Path, shots: Path | None) -> dict[str, Any]:
    """Open the page, drive it, and say what each frame took, in milliseconds."""
    tab = await opened(port)
    begins = time.monotonic()
    await tab.command("Page.navigate", url=page.resolve().as_uri())
    while not await tab.value("document.readyState === 'complete' && document.querySelectorAll('#legend span').length"):
        await asyncio.sleep(0.05)
    found: dict[str, Any] = {"bytes": page.stat().st_size, "open_ms": round(1000 * (time.monotonic() - begins))}
    if shots is not None:
        await tab.shot(shots / "first.png")
    found["folded"] = await _frames(tab)
    found["unfold_all_ms"] = await tab.value(_timed("document.getElementById('unfold').click()"))
    found["unfolded"] = await _frames(tab)
    if shots is not None:
        await _press(tab, "0")
        await tab.shot(shots / "unfolded.png")
    question = "const w = document.getElementById('words'); w.value = 'oslo leaves at 7'; w.form.requestSubmit()"
    found["search_ms"] = await tab.value(_timed(question))
    found["hits"] = await tab.value("document.getElementById('hits').textContent")
    if shots is not None:
        await tab.shot(shots / "search.png")
    return found | {"told": [line for line in tab.told if not line.startswith("asks for file:")]}


def _timed(script: str) -> str:
    return f"(() => {{ const begins = performance.now(); {script}; return performance.now() - begins }})()"


async def _press(tab: Tab, key: str) -> None:
    await tab.value(
        f"document.getElementById('tree').dispatchEvent(new KeyboardEvent('keydown', {{key: {json.dumps(key)}}}))"
    )


async def _frames(tab: Tab) -> dict[str, Mapping[str, float]]:
    found: dict[str, Mapping[str, float]] = {}
    for name, act in _ACTS.items():
        measured = await tab.value(_PAN.replace("ACT", act).replace("FRAMES", str(_FRAMES)))
        found[name] = _percentiles(measured)
    return found


def _percentiles(deltas: list[float]) -> dict[str, float]:
    ordered = sorted(deltas)
    places = {"median": 0.5, "p95": 0.95, "p99": 0.99}
    figures = {name: ordered[int(place * (len(ordered) - 1))] for name, place in places.items()} | {"most": ordered[-1]}
    return {name: round(value, 1) for name, value in figures.items()}


def main() -> None:
    """Make or take a page, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--branches", type=int, default=300)
    parser.add_argument("--page", type=Path, help="a page that is there, instead of one that is made")
    parser.add_argument("--shots", type=Path, help="a folder for pictures")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, browser() as port:
        page: Path = given.page or Path(folder) / "tree.html"
        if given.page is None:
            page.write_text(tree_page(*example(given.nodes, given.branches)), encoding="utf-8")
        if given.shots is not None:
            given.shots.mkdir(parents=True, exist_ok=True)
        print(json.dumps(asyncio.run(figures(port, page, given.shots)), indent=2))


if __name__ == "__main__":
    main()
