"""Real failures: trials part in the tree where they part in the recording, and what the judge without a model is worth.

Floors for `experiments.failures_trials` and `experiments.failures_labelled`; the figures are theirs.
"""

from pathlib import Path
from typing import Any

import pytest

import graphmem
from experiments import failures_labelled, failures_trials
from experiments.failure_judge import FailureJudge
from graphmem.llm.tokens import o200k

from .cuts import cut

_LOADED = 3


@pytest.fixture
def data(pytestconfig: pytest.Config) -> Path:
    return Path(str(pytestconfig.getoption("--runs")))


@pytest.mark.parametrize("name", ["tau-bench", "swe-agent"])
def test_trials_of_every_task_part_in_the_tree_where_they_part_in_the_recording(
    space: graphmem.Space, graph: graphmem.Graph, data: Path, name: str
) -> None:
    sources = failures_trials.sources(data, name)
    assert sources
    _hold(failures_trials.measure(graph, space, sources))


def test_a_trial_begins_with_the_lesson_that_was_recorded_with_it(
    space: graphmem.Space, graph: graphmem.Graph, data: Path, tmp_path: Path
) -> None:
    (whole,) = failures_trials.sources(data, "reflexion")
    some = failures_trials.Source(files=tuple(cut(path, tmp_path) for path in whole.files))
    told = failures_trials.measure(graph, space, [some])
    _hold(told)
    assert told["lesson told by H"] == told["with a lesson"] == told["further trials"]


def _hold(told: dict[str, Any]) -> None:
    assert told["further trials"] > 0
    assert told["fork equal"] == told["further trials"]
    assert told["tasks with equal nodes"] == told["tasks"]
    assert told["steps shared, mean"] > 0


@pytest.mark.parametrize("file", failures_labelled.FILES)
def test_revise_goes_back_where_the_judge_says(space: graphmem.Space, data: Path, file: str) -> None:
    logs = list(failures_labelled.read(data / "who-and-when" / f"{file}.jsonl"))
    for i, log in enumerate(sorted(logs, key=lambda log: len(log.steps))[:_LOADED]):
        told = failures_labelled.revised(space.task(f"log-{i}"), log, FailureJudge())
        assert told == failures_labelled.judged(log, FailureJudge())


@pytest.mark.parametrize("file", failures_labelled.FILES)
def test_the_judge_finds_the_mistake_more_often_than_going_back_to_a_random_subgoal(data: Path, file: str) -> None:
    logs = list(failures_labelled.read(data / "who-and-when" / f"{file}.jsonl"))
    tokens = [[o200k().count(text) for _, text in log.steps] for log in logs]
    chosen = failures_labelled.over(logs, tokens, [[failures_labelled.judged(log, FailureJudge())[0]] for log in logs])
    random = failures_labelled.over(logs, tokens, [range(len(log.subgoals())) for log in logs])
    assert chosen["exact"] > random["exact"]
    assert chosen["distance"] < random["distance"]
