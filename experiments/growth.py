"""How long a prompt gets as a run goes on: full history, FlowState, MAGE, and both (the paper's Figure 4).

`python -m experiments.growth --steps 500` plays two scripted runs: one of many requests of ten calls each, one of a
single long request. Results of tools are JSON of 40 to 1,600 tokens, the same for every way. After each subgoal of six
calls the agent compresses it; of the states it wrote there it keeps one and removes the rest. A script decides, no
model does: the figures say what is shown, not how well it is used. A prompt is measured before each call, without a
system message. `--json FILE` and `--svg FILE` keep numbers and plot.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import graphmem
from experiments.growth_plot import plot
from experiments.place import open_graph
from graphmem import Access, Operation, Ref, Relation, StateKind, StepOutput, ToolCall, ToolResult
from graphmem.llm.tokens import Tokenizer, o200k
from graphmem.state.protocol import render_output
from graphmem.vocabulary import Json, json_text

WAYS = ("full history", "FlowState", "MAGE", "both")
SCRIPTS: Mapping[str, int] = {"requests of 10 calls": 10, "one long request": 0}
_GOAL = 6
_MARKS = (50, 100, 200, 300, 400, 500)
_WORDS = ("delayed", "confirmed", "window", "refundable", "transfer", "platform", "meal", "economy", "priority", "late")
_ERASE = "MATCH (n {space: $p.space}) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS"


def results(seed: int = 4) -> Iterator[str]:
    """What tools answer: lists of records, most of them short and some long."""
    random = Random(seed)
    while True:
        records: list[Json] = [
            {
                "id": f"R{random.randrange(10**6)}",
                "from": f"2026-0{random.randint(1, 9)}-{random.randint(10, 28)}T{random.randint(10, 23)}:00",
                "price": random.randint(40, 900),
                "note": " ".join(random.choices(_WORDS, k=random.randint(3, 9))),
            }
            for _ in range(round(math.exp(random.uniform(0, math.log(50)))))
        ]
        yield json_text({"count": len(records), "records": records})


class Run:
    """A run of one script. `history` is what a model without memory would have to be told."""

    def __init__(self, task: graphmem.Task, tokenizer: Tokenizer, request_calls: int) -> None:
        self.task, self.tokenizer, self.request_calls = task, tokenizer, request_calls
        self.history = 0
        self.written: list[str] = []
        self.seen: tuple[str, str] | None = None
        self.results = results()
        self.begin(0)

    def begin(self, number: int) -> None:
        """Open a request; all but the first ask for a state of the one before."""
        text = (
            f"Part {number + 1} of the journey: find the connection that costs least, hold it, and say what it costs."
        )
        self.request = self.task.request(text)
        self._told(text)
        earlier = [line.id for entry in self.request.status().index for line in entry.states]
        if earlier:
            self.request.step(
                self.task.prompt(), StepOutput(access=(Access(target=earlier[-1], reason="what was held before"),))
            )

    def call(self, number: int) -> dict[str, int]:
        """One call; the lengths of the prompt before it in each way."""
        prompt = self.task.prompt()
        assert prompt.path is not None
        lengths = (
            self.history,
            self.tokenizer.count(prompt.status.text()),
            self.tokenizer.count(f"{prompt.path.text()}\n\n{prompt.status.query}"),
            prompt.tokens,
        )
        call = ToolCall(name="search_connections", arguments={"leg": number, "sort": "price", "changes": number % 3})
        result = self.request.step(prompt, StepOutput(delta=self._concluded(number), tool_calls=(call,)))
        content = next(self.results)
        (raw,) = self.request.observe(result, [ToolResult(call_id=result.calls[0].id, content=content)])
        self.seen = raw, content
        self._told(render_output(StepOutput(tool_calls=(call,))))
        self._told(content)
        return dict(zip(WAYS, lengths, strict=True))

    def compress(self, number: int) -> None:
        """End a subgoal: one of its states stays."""
        delta = self._concluded(number)
        gone = self.written[:-1] if delta else self.written[:-2]
        delta += tuple(Operation(operation="remove", id=id_) for id_ in gone)
        if delta:
            self.request.step(self.task.prompt(), StepOutput(delta=delta))
        self.task.compress(
            f"Compared the connections of legs up to {number}; the cheapest one without a change is held."
        )
        self.written = []

    def finish(self, number: int) -> None:
        """End a request with its final response."""
        text = f"The cheapest connection of part {number} is held until tonight; it costs {40 + number} EUR."
        self.request.step(self.task.prompt(), StepOutput(delta=self._concluded(number), message=text))
        self._told(text)
        self.written = []

    def _concluded(self, number: int) -> tuple[Operation, ...]:
        """A state about the latest observation, when it was not told yet."""
        if self.seen is None:
            return ()
        (raw, content), self.seen = self.seen, None
        best: Json = json.loads(content)["records"][0]
        id_ = f"offer-{number}"
        self.written.append(id_)
        return (
            Operation(
                operation="add",
                id=id_,
                kind=StateKind.KNOWLEDGE,
                summary=f"Leg {number}: the cheapest of {content.count('price')} connections, with its price and notes",
                value=best,
                has_value=True,
                refs=(Ref(relation=Relation.DERIVES, target=raw),),
            ),
        )

    def _told(self, text: str) -> None:
        self.history += self.tokenizer.count(text)


def play(task: graphmem.Task, steps: int, request_calls: int) -> list[dict[str, int]]:
    """The lengths of the prompt before each call."""
    run = Run(task, o200k(), request_calls)
    lengths = []
    for number in range(1, steps + 1):
        lengths.append(run.call(number))
        if request_calls and number % request_calls == 0 and number < steps:
            run.finish(number // request_calls)
            run.begin(number // request_calls)
        elif (number % request_calls if request_calls else number) % _GOAL == 0:
            run.compress(number)
    return lengths


def measure(steps: int) -> dict[str, Any]:
    """The curves of every script, and the numbers at some lengths, on the server of GRAPHMEM_URI, or one of its own."""
    figures: dict[str, Any] = {}
    with open_graph() as graph:
        space = graph.space(f"growth-{uuid4().hex[:12]}")
        for i, (script, request_calls) in enumerate(SCRIPTS.items()):
            lengths = play(space.task(f"run-{i}"), steps, request_calls)
            curves = {way: [row[way] for row in lengths] for way in WAYS}
            marks = [mark for mark in _MARKS if mark < steps] + [steps]
            figures[script] = {
                "prompt": {mark: {way: _mean(curves[way][:mark]) for way in WAYS} for mark in marks},
                "total": {mark: {way: sum(curves[way][:mark]) for way in WAYS} for mark in marks},
                "curves": curves,
            }
        graph.connection.run("experiment/erase", _ERASE, {"space": space.name})
    return figures


def _mean(lengths: Sequence[int]) -> int:
    """Of the last ten, since a prompt gets shorter with each compression."""
    last = lengths[-10:]
    return round(sum(last) / len(last))


def table(figures: Mapping[str, Any]) -> str:
    """The figures for people."""
    lines: list[str] = []
    for script, figure in figures.items():
        titles: tuple[tuple[str, Callable[[int], str]], ...] = (
            ("prompt", lambda n: f"{n:,}"),
            ("total", lambda n: f"{n / 1000:,.0f} k"),
        )
        for title, told in titles:
            lines += ["", f"{script + ', ' + title:32}" + "".join(f"{way:>14}" for way in WAYS)]
            for mark, row in figure[title].items():
                lines.append(f"  {mark:>5} steps{'':20}" + "".join(f"{told(row[way]):>14}" for way in WAYS))
    return "\n".join(lines[1:])


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--svg", type=Path)
    options = parser.parse_args()
    figures = measure(options.steps)
    print(table(figures))
    if options.json is not None:
        options.json.write_text(json.dumps(figures) + "\n", encoding="utf-8")
    if options.svg is not None:
        curves = {script: figure["curves"] for script, figure in figures.items()}
        options.svg.write_text(plot(curves), encoding="utf-8")


if __name__ == "__main__":
    main()
