"""The index folds to its budget: the newest states stay, and what is hidden is named."""

from graphmem.state.index import Heading, Index, Line, fold


def folded(states: dict[int, int], *, requests: int, lines: int, heads: int = 200, budget: int | None = None) -> Index:
    """The index of so many states by request, read as the graph is: `lines` + 1 states, their headings, the newest."""
    newest = [
        Line(request=r, id=f"s{r}.{i}", summary="x" * 10)
        for r in range(requests, 0, -1)
        for i in range(states.get(r, 0), 0, -1)
    ]
    read = newest[: lines + 1]
    first = read[-1].request if len(read) > lines else 1
    numbers = sorted({line.request for line in read} | set(range(max(first, requests + 1 - heads), requests + 1)))
    headings = [Heading(number=n, text=f"request {n}") for n in numbers]
    return fold(read, headings, (), request=requests + 1, lines=lines, budget_tokens=budget, count=len)


def shown(index: Index) -> dict[int, list[str]]:
    return {entry.request: [line.id for line in entry.states] for entry in index.entries}


def test_an_index_that_fits_is_whole() -> None:
    index = folded({1: 2, 3: 1}, requests=3, lines=3)
    assert shown(index) == {1: ["s1.1", "s1.2"], 2: [], 3: ["s3.1"]}
    assert (index.folded, index.folded_ranges, index.fold) == (False, (), (3,))


def test_newest_states_stay_though_many_requests_without_states_came_after_them() -> None:
    index = folded({1: 2, 2: 3}, requests=5, lines=2, heads=2)
    assert shown(index) == {2: ["s2.2", "s2.3"], 4: [], 5: []}
    assert index.folded_ranges == ((1, 1), (3, 3))
    assert index.entries[0].cut


def test_a_long_silence_hides_no_state() -> None:
    index = folded({1: 1}, requests=500, lines=200)
    assert shown(index)[1] == ["s1.1"]
    assert index.folded_ranges == ((2, 300),)


def test_without_a_line_the_newest_headings_stay_and_say_that_states_are_hidden() -> None:
    index = folded({1: 1, 3: 2}, requests=4, lines=0)
    assert shown(index) == {3: [], 4: []}
    assert [entry.cut for entry in index.entries] == [True, False]
    assert index.folded_ranges == ((1, 2),)


def test_a_token_budget_counts_headings_and_states_and_cuts_from_the_oldest() -> None:
    whole = folded({1: 5, 2: 5, 3: 5}, requests=3, lines=100)
    for budget in range(0, 500, 7):
        index = folded({1: 5, 2: 5, 3: 5}, requests=3, lines=100, budget=budget)
        states = [id_ for ids in shown(index).values() for id_ in ids]
        everything = [id_ for ids in shown(whole).values() for id_ in ids]
        assert states == everything[len(everything) - len(states) :]
        assert sum(len(id_) + 10 for id_ in states) <= budget
        assert index.folded == (len(states) < len(everything))
        assert index.fold[0] == len(states)


def test_an_abandoned_request_stands_only_while_a_state_of_it_is_in_view() -> None:
    headings = [Heading(number=1, text="a", abandoned=True), Heading(number=2, text="b", abandoned=True)]
    lines = [Line(request=2, id="s", summary="x")]
    index = fold(lines, headings, (), request=3, lines=10, budget_tokens=None, count=len)
    assert [(entry.request, entry.abandoned) for entry in index.entries] == [(2, True)]
    assert index.folded_ranges == ()


def test_a_request_that_was_asked_for_is_whole_and_last() -> None:
    text = "long " * 200
    asked = Heading(number=1, text=text, states=(Line(request=1, id="old", summary="x"),))
    headings = [Heading(number=1, text=text), Heading(number=2, text="b")]
    lines = [Line(request=2, id="s", summary="x"), Line(request=1, id="old", summary="x")]
    index = fold(lines, headings, (asked,), request=3, lines=1, budget_tokens=None, count=len)
    assert [(entry.request, [line.id for line in entry.states]) for entry in index.entries] == [
        (2, ["s"]),
        (1, ["old"]),
    ]
    assert (index.entries[-1].text, index.folded_ranges) == (text, ())
