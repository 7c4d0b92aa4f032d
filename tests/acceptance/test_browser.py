"""What Neo4j Browser is given, on the real server: a sign-in that works there, queries that run without a warning."""

import base64
import hashlib
import html
import http.client
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import neo4j
import pytest

import graphmem
from graphmem.inspect.browser import BrowserPages
from graphmem.inspect.pages import first_query, guide
from graphmem.store import Connection, query

ORIGIN = "http://127.0.0.1:7474"
VERIFIER = "v" * 43


def queries(space: str | None, task: str | None) -> list[str]:
    """Every query of the guide, as Browser puts it into the editor."""
    text = guide("http://127.0.0.1:1", space, task)
    return [html.unescape(found) for found in re.findall(r'<pre class="[^"]*runnable">(.*?)</pre>', text, re.DOTALL)]


def run_as_browser(env: Mapping[str, str], text: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows and notifications of a text that a person runs."""
    auth = (env["GRAPHMEM_USER"], env["GRAPHMEM_PASSWORD"])
    with neo4j.GraphDatabase.driver(env["GRAPHMEM_URI"], auth=auth, telemetry_disabled=True) as driver:
        done = driver.execute_query(text)
    told = [s.status_description for s in done.summary.gql_status_objects if s.is_notification]
    return [dict(record) for record in done.records], [text for text in told if "does not exist" not in text]


@pytest.fixture
def trip(space: graphmem.Space) -> graphmem.Task:
    """A task with a fact that was replaced, evidence, a rejected operation, a failed branch, and an open request."""
    task = space.task("trip")
    with task.request("Can hotel A be cancelled?") as request:
        look = graphmem.ToolCall(name="read_policy", arguments={"hotel": "A"})
        result = request.step(request.status(), graphmem.StepOutput(delta=(_add("free", "Free"),), tool_calls=(look,)))
        request.observe(result, [graphmem.ToolResult(call_id=result.calls[0].id, content="Costs 80 USD")])
        derives = graphmem.Ref(relation=graphmem.Relation.DERIVES, target="obs:1.1")
        replaces = graphmem.Ref(relation=graphmem.Relation.SUPERSEDES, target="free")
        wrong = graphmem.Operation(operation="remove", id="never-there")
        delta = (_add("fee", "Cancelling costs 80 USD", derives, replaces), wrong)
        request.step(request.status(), graphmem.StepOutput(delta=delta, message="It costs 80 USD."))
    request = task.request("And hotel B?")
    mistake = request.step(request.status(), graphmem.StepOutput(tool_calls=(replace(look, arguments={"hotel": "C"}),)))
    request.observe(mistake, [graphmem.ToolResult(call_id=mistake.calls[0].id, content="No such hotel")])
    task.revise(feedback="That was hotel C")
    return task


def _add(state: str, summary: str, *refs: graphmem.Ref) -> graphmem.Operation:
    return graphmem.Operation(
        operation="add",
        id=state,
        kind=graphmem.StateKind.KNOWLEDGE,
        summary=summary,
        value=1,
        has_value=True,
        refs=refs,
    )


def test_the_sign_in_gives_what_the_server_takes(server_env: Mapping[str, str]) -> None:
    user, password = server_env["GRAPHMEM_USER"], server_env["GRAPHMEM_PASSWORD"]
    with BrowserPages(server_env["GRAPHMEM_URI"], ORIGIN, user, password, port=0) as pages:
        assert not re.search(rf"\b{re.escape(password)}\b", pages.link)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
        asked = {"client_id": "graphmem", "response_type": "code", "redirect_uri": pages.login.redirect, "state": "s"}
        asked |= {"code_challenge": challenge, "code_challenge_method": "S256"}
        moved = _ask(pages, "GET", f"{pages.login.path}/auth?{urlencode(asked)}").headers["Location"]
        fields = {"grant_type": "authorization_code", "redirect_uri": pages.login.redirect, "code_verifier": VERIFIER}
        fields["code"] = parse_qs(urlsplit(moved).query)["code"][0]
        tokens = json.loads(_ask(pages, "POST", f"{pages.login.path}/token", urlencode(fields)).read())
    claims = json.loads(base64.urlsafe_b64decode(tokens["id_token"].split(".")[1] + "=="))
    connection = Connection(server_env["GRAPHMEM_URI"], user=claims["sub"], password=tokens["access_token"])
    assert connection.run("tests/one", "RETURN 1 AS one") == [{"one": 1}]
    connection.close()


def _ask(pages: BrowserPages, method: str, path: str, body: str | None = None) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", pages.port, timeout=5)
    connection.request(method, path, body, {"Origin": ORIGIN} if body else {})
    return connection.getresponse()


@pytest.mark.usefixtures("connection")
@pytest.mark.parametrize("names", [("a-space", "a-task"), ("a-space", None), (None, None)], ids=str)
def test_every_query_of_the_guide_is_explained_without_a_warning(
    server_env: Mapping[str, str], names: tuple[str | None, str | None]
) -> None:
    texts = queries(*names)
    assert len(texts) >= 7
    for text in texts:
        assert run_as_browser(server_env, f"EXPLAIN {text}")[1] == [], text


def test_every_query_of_the_guide_finds_something_in_a_run(trip: graphmem.Task, server_env: Mapping[str, str]) -> None:
    for text in queries(trip.space, trip.name):
        rows, told = run_as_browser(server_env, text)
        assert rows, text
        assert told == [], text


def test_the_first_query_without_a_task_finds_the_longest_ledger_of_the_space(
    trip: graphmem.Task, server_env: Mapping[str, str]
) -> None:
    rows, _ = run_as_browser(server_env, first_query(trip.space))
    assert f"{trip.space}/{trip.name}" in {row["node"]["key"] for row in rows}


def test_the_live_graph_is_what_counts_now_with_the_arrows_between(trip: graphmem.Task, connection: Connection) -> None:
    rows = connection.read(query("inspect/live_graph"), {"space": trip.space, "task": trip.name})
    names = {row["node"]["name"] for row in rows}
    assert {"trip", "free", "fee", "1 Can hotel A be cancelled?", "2 And hotel B?"} <= names
    assert not any("RawObservation" in row["node"].labels or "Step" in row["node"].labels for row in rows)
    arrows = {(row["node"]["name"], row["relation"], row["other"]["name"]) for row in rows if row["relation"]}
    assert ("fee", "SUPERSEDES", "free") in arrows
    assert ("free", "CHILD_OF", "1 Can hotel A be cancelled?") in arrows
    assert {row["node"]["task"] for row in rows if "Task" not in row["node"].labels} == {f"{trip.space}/trip"}


def test_the_live_graph_of_a_long_task_stays_a_picture_of_the_newest(
    space: graphmem.Space, connection: Connection
) -> None:
    task = space.task("long")
    call = graphmem.ToolCall(name="look")
    for number in range(10):
        with task.request(f"request {number}") as request:
            for part in range(4):
                delta = tuple(_add(f"s{number}-{part}-{i}", "a fact") for i in range(3))
                result = request.step(request.status(), graphmem.StepOutput(delta=delta, tool_calls=(call,)))
                request.observe(result, [graphmem.ToolResult(call_id=result.calls[0].id, content=f"{number} {part}")])
            request.step(request.status(), graphmem.StepOutput(message=f"done {number}"))
    rows = connection.read(query("inspect/live_graph"), {"space": space.name, "task": "long"})
    names = {row["node"]["name"] for row in rows}
    assert len({row["node"]["key"] for row in rows}) <= 90
    assert {"long", "10 request 9", "s9 3 2", "40 look", "done 9"} <= names
    assert not {"1 request 0", "s0-0-0", "1 look", "done 0"} & names


def test_the_pictures_of_the_guide_show_the_path_what_failed_and_the_fork(
    trip: graphmem.Task, connection: Connection
) -> None:
    trip.fork("plan-b")

    def names(picture: str, task: str = "trip", **more: str) -> set[str]:
        rows = connection.read(
            query(f"inspect/{picture}_graph"), {"space": trip.space, "task": task, "id": None, "other": None} | more
        )
        assert {row["relation"] for row in rows} - {None}
        return {row["node"]["name"] for row in rows}

    path, failed = names("path"), names("failed")
    assert {"root", "It costs 80 USD.", "1 read policy A"} <= path
    assert "2 read policy C" in failed - path
    assert {"fee", "obs:1.1 read_policy", "1 read policy A", "It costs 80 USD."} <= names("why", id="fee")
    assert {"free", "fee"} <= names("impact", id="free")
    assert {"trip", "plan-b"} <= names("forks") & names("forks", "plan-b") & names("forks", other="plan-b")
