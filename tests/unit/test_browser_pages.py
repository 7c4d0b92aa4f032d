"""The pages that Neo4j Browser is opened with, over real sockets: the sign-in, the origins, the style, the guide."""

import base64
import hashlib
import http.client
import json
import re
import socket
from collections.abc import Iterator
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from graphmem.errors import InvalidValueError, StartError
from graphmem.inspect.browser import BrowserPages, other_browser
from graphmem.inspect.pages import guide, style
from graphmem.inspect.sign_in import CODE_SECONDS, LINK_SECONDS, OneTimeLogin, Refused
from graphmem.server.home import Ports
from graphmem.server.settings import configuration
from graphmem.vocabulary import StateKind

BROWSER = "http://127.0.0.1:7474"
PASSWORD = "pw-gH7_Zq1-secret"
REDIRECT = f"{BROWSER}/browser/?idp_id=graphmem&auth_flow_step=redirect_uri"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
ASKED = {
    "client_id": "graphmem",
    "response_type": "code",
    "scope": "openid",
    "redirect_uri": REDIRECT,
    "state": "state-1",
    "code_challenge": CHALLENGE,
    "code_challenge_method": "S256",
}
KINDS = [kind.label for kind in StateKind]
NODES = ["Task", "Request", "Step", "TraceNode", "SummaryNode", "RawObservation", *KINDS]
LATER_NODES = ["Entry", "Topic", "Hook", "Schema"]
MARKS = ["State", "Live", "OnPath", "Current"]
ARROWS = ["CHILD_OF", "COVERS", "SUPPORTS", "DERIVES", "FOLLOWS", "SUPERSEDES"]


class Answer:
    """An answer of the page server, read to its end."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()


def ask(pages: BrowserPages, method: str, path: str, fields: dict[str, str] | None = None, **headers: str) -> Answer:
    """One request, as Browser sends it unless `headers` say otherwise; a header that is empty is left out."""
    sent = {"Host": f"127.0.0.1:{pages.port}", "Origin": BROWSER if method == "POST" else "", **headers}
    connection = http.client.HTTPConnection("127.0.0.1", pages.port, timeout=5)
    body = urlencode(fields) if fields and method == "POST" else None
    try:
        connection.putrequest(method, f"{path}?{urlencode(fields)}" if fields and not body else path, skip_host=True)
        for name, value in {**sent, "Content-Length": str(len(body or ""))}.items():
            if value:
                connection.putheader(name, value)
        connection.endheaders(body.encode() if body else None)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def authorize(pages: BrowserPages, **other: str) -> Answer:
    """Browser's own navigation to the provider."""
    return ask(pages, "GET", f"{pages.login.path}/auth", {**ASKED, **other})


def code_of(answer: Answer) -> str:
    """The code that a redirect carries."""
    assert answer.status == 303, answer.text
    return parse_qs(urlsplit(answer.headers["Location"]).query)["code"][0]


def redeem(pages: BrowserPages, code: str, *, origin: str = BROWSER, **other: str) -> Answer:
    """Browser's call for the tokens."""
    fields = {"grant_type": "authorization_code", "client_id": "graphmem", "redirect_uri": REDIRECT}
    fields |= {"code_verifier": VERIFIER, "code": code, **other}
    return ask(pages, "POST", f"{pages.login.path}/token", fields, Origin=origin)


@pytest.fixture
def pages() -> Iterator[BrowserPages]:
    with BrowserPages("bolt://127.0.0.1:7687", BROWSER, "neo4j", PASSWORD, port=0, space="alice", task="trip") as up:
        yield up


# --- the sign-in -----------------------------------------------------------------------------------------------------


def test_the_link_leads_to_user_and_password_in_the_steps_that_browser_takes(pages: BrowserPages) -> None:
    link = parse_qs(urlsplit(pages.link).query)
    discovery = ask(pages, "GET", urlsplit(link["discoveryURL"][0]).path, Origin=BROWSER)
    provider = json.loads(discovery.text)["auth_config"]["oidc_providers"][0]
    assert provider["id"] == link["sso_redirect"][0]
    assert json.loads(discovery.text)["bolt_direct"] == link["dbms"][0] == "bolt://127.0.0.1:7687"
    assert provider["auth_endpoint"] == f"{pages.address}{pages.login.path}/auth"
    moved = authorize(pages)
    assert moved.headers["Location"].startswith(f"{REDIRECT}&code=")
    assert parse_qs(urlsplit(moved.headers["Location"]).query)["state"] == ["state-1"]
    answer = json.loads(redeem(pages, code_of(moved)).text)
    claims = answer[provider["config"]["token_type_principal"]].split(".")[1]
    assert json.loads(base64.urlsafe_b64decode(claims + "=="))[provider["config"]["principal"]] == "neo4j"
    assert answer[provider["config"]["token_type_authentication"]] == PASSWORD


def test_the_short_link_leads_to_the_long_one_until_it_was_used(pages: BrowserPages) -> None:
    assert len(pages.short_link) < 60
    path = urlsplit(pages.short_link).path
    for _ in range(2):
        moved = ask(pages, "GET", path)
        assert (moved.status, moved.headers["Location"], moved.text) == (302, pages.link, "")
    code_of(authorize(pages))
    used = ask(pages, "GET", path)
    assert (used.status, used.headers["Location"]) == (410, None)


def test_the_short_link_grows_old() -> None:
    now = [0.0]
    login = OneTimeLogin(BROWSER, "neo4j", PASSWORD, clock=lambda: now[0])
    login.check_unused()
    now[0] = LINK_SECONDS + 1
    with pytest.raises(Refused, match="too old"):
        login.check_unused()


def test_a_second_use_of_the_link_is_refused(pages: BrowserPages) -> None:
    code = code_of(authorize(pages))
    assert authorize(pages).status == 410
    assert redeem(pages, code).status == 200
    again = authorize(pages)
    assert (again.status, "graphmem browser" in again.text) == (410, True)


def test_a_used_link_names_no_provider_so_that_reloading_the_page_is_harmless(pages: BrowserPages) -> None:
    redeem(pages, code_of(authorize(pages)))
    found = json.loads(ask(pages, "GET", f"{pages.login.path}/discovery.json").text)
    assert found["auth_config"]["oidc_providers"] == []


def test_a_code_is_redeemed_once(pages: BrowserPages) -> None:
    code = code_of(authorize(pages))
    assert redeem(pages, code).status == 200
    again = redeem(pages, code)
    assert (again.status, PASSWORD in again.text) == (403, False)


@pytest.mark.parametrize(
    "wrong",
    [
        {"code_verifier": "w" * 43},
        {"code_verifier": ""},
        {"code": "guessed"},
        {"redirect_uri": f"{BROWSER}/browser/"},
        {"grant_type": "refresh_token"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_wrong_try_gets_nothing_and_uses_the_code_up(pages: BrowserPages, wrong: dict[str, str]) -> None:
    code = code_of(authorize(pages))
    refused = redeem(pages, **{"code": code, **wrong})
    assert (refused.status, PASSWORD in refused.text) == (403, False)
    assert redeem(pages, code).status == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:9999", "null", ""])
def test_only_browser_of_this_server_may_redeem(pages: BrowserPages, origin: str) -> None:
    code = code_of(authorize(pages))
    refused = redeem(pages, code, origin=origin)
    assert (refused.status, PASSWORD in refused.text) == (403, False)
    assert redeem(pages, code).status == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"redirect_uri": "http://evil.example/browser/?idp_id=graphmem&auth_flow_step=redirect_uri"},
        {"redirect_uri": f"{REDIRECT}&more=1"},
        {"redirect_uri": "http://127.0.0.1:7474@evil.example/browser/"},
        {"client_id": "other"},
        {"response_type": "token"},
        {"code_challenge_method": "plain"},
        {"code_challenge": ""},
        {"code_challenge": "short"},
    ],
    ids=lambda wrong: "=".join(*wrong.items())[:40],
)
def test_a_sign_in_that_browser_did_not_begin_goes_nowhere(pages: BrowserPages, wrong: dict[str, str]) -> None:
    refused = authorize(pages, **wrong)
    assert (refused.status, refused.headers["Location"]) == (403, None)
    assert authorize(pages).status == 303, "a refused one does not use the link up"


def test_a_link_and_a_code_grow_old() -> None:
    now = [0.0]
    login = OneTimeLogin(BROWSER, "neo4j", PASSWORD, clock=lambda: now[0])
    now[0] = LINK_SECONDS + 1
    with pytest.raises(Refused, match="too old"):
        login.authorize(ASKED)
    fresh = OneTimeLogin(BROWSER, "neo4j", PASSWORD, clock=lambda: now[0])
    code = parse_qs(urlsplit(fresh.authorize(ASKED)).query)["code"][0]
    now[0] += CODE_SECONDS + 1
    with pytest.raises(Refused, match="too old"):
        fresh.redeem(
            {
                "grant_type": "authorization_code",
                "redirect_uri": REDIRECT,
                "code": code,
                "code_verifier": VERIFIER,
            }
        )


def test_every_opening_has_a_secret_path_of_its_own(pages: BrowserPages) -> None:
    other = BrowserPages("bolt://127.0.0.1:7687", BROWSER, "neo4j", PASSWORD, port=0)
    assert len(pages.login.path) > 30
    assert other.login.path != pages.login.path
    for path in ("/auth", "/token", f"{other.login.path}/auth", "/discovery.json", "/../live.grass"):
        assert ask(pages, "GET", path, ASKED).status == 404


def test_the_password_stands_in_no_text_that_is_shown(pages: BrowserPages) -> None:
    shown = [
        pages.link,
        pages.short_link,
        pages.paste_hint,
        repr(pages),
        repr(pages.login),
        guide(pages.address, "alice", "trip"),
    ]
    discovery = ask(pages, "GET", f"{pages.login.path}/discovery.json")
    assert not any(PASSWORD in text for text in [*shown, discovery.text, authorize(pages).headers["Location"]])


# --- who is answered -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "localhost:{port}", "127.0.0.1", ""])
@pytest.mark.parametrize("path", ["/live.grass", "/guide.html", "{login}", "{login}/discovery.json", "{login}/auth"])
def test_another_host_is_refused(pages: BrowserPages, host: str, path: str) -> None:
    named = host.format(port=pages.port)
    answer = ask(pages, "GET", path.format(login=pages.login.path), ASKED, Host=named)
    assert answer.status == 421


def test_browser_is_allowed_what_its_fetch_asks_for_beforehand(pages: BrowserPages) -> None:
    answer = ask(pages, "OPTIONS", "/guide.html", Origin=BROWSER)
    assert answer.status == 204
    assert answer.headers["Access-Control-Allow-Origin"] == BROWSER
    allowed = {name.strip() for name in answer.headers["Access-Control-Allow-Headers"].split(",")}
    assert allowed >= {"cache-control", "pragma", "content-type", "x-requested-with", "accept"}


def test_no_other_origin_is_allowed(pages: BrowserPages) -> None:
    answer = ask(pages, "GET", "/guide.html", Origin="http://evil.example")
    assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (403, BROWSER)
    assert "alice" not in answer.text


def test_what_the_server_tells_browser_to_load_is_there(pages: BrowserPages) -> None:
    ports = Ports(bolt=7687, http=7474, pages=pages.port)
    text = configuration(ports, "2026.09.0", short_lived=True)
    told = re.findall(rf"http://127\.0\.0\.1:{pages.port}(/[\w.]+)", text)
    assert sorted(told) == ["/guide.html", "/live.grass"]
    for path in told:
        answer = ask(pages, "GET", path, Origin=BROWSER)
        assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (200, BROWSER)


def test_a_broken_request_does_not_end_the_pages(pages: BrowserPages) -> None:
    assert ask(pages, "PUT", "/guide.html").status == 501
    assert ask(pages, "POST", f"{pages.login.path}/token", None, **{"Content-Length": "-1"}).status == 403
    assert ask(pages, "GET", "/guide.html").status == 200


def test_a_port_that_is_taken_is_an_error_that_says_so(pages: BrowserPages) -> None:
    second = BrowserPages("bolt://127.0.0.1:7687", BROWSER, "neo4j", PASSWORD, port=pages.port)
    with pytest.raises(StartError, match=f"Another `graphmem browser` .* port {pages.port}.*Ctrl-C"), second:
        pass
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        third = BrowserPages("bolt://127.0.0.1:7687", BROWSER, "neo4j", PASSWORD, port=port)
        with pytest.raises(StartError, match=f"Port {port}.*is taken"), third:
            pass


def test_the_port_is_free_after_the_block() -> None:
    first = BrowserPages("bolt://127.0.0.1:7687", BROWSER, "neo4j", PASSWORD, port=0)
    with first:
        port = first.port
    with BrowserPages("bolt://127.0.0.1:7687", BROWSER, "neo4j", PASSWORD, port=port) as again:
        assert ask(again, "GET", "/live.grass").status == 200


# --- the texts -------------------------------------------------------------------------------------------------------


def rules() -> list[tuple[str, dict[str, str]]]:
    """The selectors of the style sheet with their properties, in order."""
    found = re.findall(r"^([\w.]+) \{ (.*) \}$", style(), re.MULTILINE)
    assert len(found) == len(style().splitlines()), "one rule a line"
    return [
        (name, dict(part.strip().split(": ", 1) for part in body.split(";") if part.strip())) for name, body in found
    ]


@pytest.mark.parametrize("label", NODES + LATER_NODES + MARKS)
def test_every_label_has_a_colour_and_a_caption(label: str) -> None:
    """One that has none gets a rule at the end, in a default colour, which then paints over all others."""
    assert {"color", "caption"} <= set(dict(rules())[f"node.{label}"])


def test_every_relation_has_a_colour_and_a_caption() -> None:
    for arrow in ARROWS:
        assert {"color", "caption"} <= set(dict(rules())[f"relationship.{arrow}"])


def test_marks_come_before_kinds_which_leave_the_ring_to_them() -> None:
    names = [name for name, _ in rules()]
    kinds = [f"node.{label}" for label in NODES + LATER_NODES]
    assert max(names.index(f"node.{mark}") for mark in MARKS) < min(names.index(kind) for kind in kinds)
    assert all("border-color" in dict(rules())[f"node.{mark}"] for mark in MARKS if mark != "State")
    assert not any("border" in key for kind in kinds for key in dict(rules())[kind])


def test_rules_of_two_labels_come_last_and_no_rule_twice() -> None:
    names = [name for name, _ in rules()]
    assert len(set(names)) == len(names)
    depths = [name.count(".") for name in names]
    assert depths[depths.index(2) :] == [2] * depths.count(2)


def test_kinds_and_marks_are_told_apart() -> None:
    colours = [properties["color"] for name, properties in rules() if name.removeprefix("node.") in NODES + MARKS]
    assert len(set(colours)) == len(colours)


def test_the_guide_is_filled_and_names_every_kind_with_its_colour() -> None:
    text = guide("http://127.0.0.1:1", "alice", "trip")
    assert "{{" not in text
    assert "alice/trip" in text
    for label in [label for label in NODES if label != "Step"]:
        assert f"background: {dict(rules())[f'node.{label}']['color']}" in text
        assert f"<b>{label}</b>" in text


@pytest.mark.parametrize("name", ["it's", "<b>", "a b", ""])
def test_a_name_that_is_none_comes_into_no_text(name: str) -> None:
    with pytest.raises(InvalidValueError):
        guide("http://127.0.0.1:1", "alice", name)
    with pytest.raises(InvalidValueError):
        BrowserPages("bolt://127.0.0.1:7687", BROWSER, "neo4j", PASSWORD, port=0, space=name)


def test_the_link_puts_the_query_into_the_editor(pages: BrowserPages) -> None:
    fields = parse_qs(urlsplit(pages.link).query)
    assert (fields["cmd"], fields["arg"]) == (["edit"], [pages.query])
    assert "'alice/trip'" in pages.query
    own = BrowserPages("bolt://127.0.0.1:7687", BROWSER, "neo4j", PASSWORD, port=0, query="RETURN 'a&b' AS x")
    assert parse_qs(urlsplit(own.link).query)["arg"] == ["RETURN 'a&b' AS x"]


# --- other servers ---------------------------------------------------------------------------------------------------


def test_aura_is_opened_by_the_web_application_and_says_what_is_missing() -> None:
    found = other_browser("neo4j+s://neo4j:hidden@1234.databases.neo4j.io", "RETURN 1")
    assert found.link is not None
    assert parse_qs(urlsplit(found.link).query)["dbms"] == ["neo4j+s://1234.databases.neo4j.io"]
    assert "hidden" not in found.link + found.notice
    assert "embedded server only" in found.notice


def test_where_no_browser_is_known_there_is_no_link() -> None:
    found = other_browser("bolt://127.0.0.1:9", "RETURN 1", http_port=9)
    assert found.link is None
    assert "No Neo4j answers" in found.notice
