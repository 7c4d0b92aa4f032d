"""One home: password, ports, record, and what the server is told. Nothing is started."""

import socket
import stat
from pathlib import Path

import pytest

from graphmem.errors import StartError
from graphmem.server.folders import cache_folder, home_folder
from graphmem.server.home import PARTS, Home, Ports, Record, credential
from graphmem.server.java import Java
from graphmem.server.lifecycle import _failure
from graphmem.server.lock import read_lock
from graphmem.server.processes import Process
from graphmem.server.settings import argument_file, configuration, java_arguments

PORTS = Ports(bolt=20_001, http=20_002, pages=20_003)


def test_the_first_user_is_written_as_neo4j_admin_writes_it() -> None:
    salt = "517ae7d016dd177e1d9889d58dcc51ae0748757738cebf9c7fbf60e994e1a77b"
    said = "b539a84ff8142309bb468a03ed3994ecfbf97ea4c3989637253badc985ae444b"
    assert credential("testpassword123", bytes.fromhex(salt)) == f"neo4j:SHA-256,{said},{salt},1024:"


def test_the_password_is_random_kept_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    home, other = Home(tmp_path / "a"), Home(tmp_path / "b")
    home.prepare()
    other.prepare()
    first = home.password()
    home.prepare()
    assert home.password() == first != other.password()
    assert len(first) >= 32
    for file in (home.password_file, home.path / "data" / "dbms" / "auth.ini"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert first not in (home.path / "data" / "dbms" / "auth.ini").read_text()


def test_what_the_server_keeps_is_private_in_a_folder_that_is_not(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    Home(tmp_path).prepare()
    assert {part: oct((tmp_path / part).stat().st_mode & 0o077) for part in PARTS} == dict.fromkeys(PARTS, "0o0")


def test_an_empty_password_is_said_before_anything_is_started(tmp_path: Path) -> None:
    Home(tmp_path).prepare()
    (tmp_path / "password").write_text("\n")
    with pytest.raises(StartError, match=r"password is empty"):
        Home(tmp_path).prepare()


def test_a_lost_password_of_a_database_is_not_replaced(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.prepare()
    (home.path / "data" / "databases").mkdir()
    home.password_file.unlink()
    with pytest.raises(StartError, match="password is gone"):
        home.prepare()


@pytest.mark.parametrize(("last", "then"), [("2026.09.0", "--neo4j 2026.09"), ("2031.02.1", "upgrade graphmem-neo4j")])
def test_a_database_of_a_newer_server_is_refused_with_what_to_do(tmp_path: Path, last: str, then: str) -> None:
    home = Home(tmp_path)
    home.prepare()
    assert home.choose_version(None).neo4j == read_lock().neo4j
    home.write_version(last)
    with pytest.raises(StartError, match=f"database of Neo4j {last}.*{then}"):
        home.choose_version("5.26")


def test_a_home_keeps_to_the_line_that_served_it_last(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.prepare()
    home.write_version("5.26.1")
    assert home.choose_version(None) == read_lock("5.26")
    assert home.choose_version("2026.09") == read_lock()


def test_ports_are_remembered_and_only_a_taken_one_changes(tmp_path: Path) -> None:
    home = Home(tmp_path)
    ports = home.claim_ports()
    assert len({ports.bolt, ports.http, ports.pages}) == 3
    assert home.claim_ports() == ports
    with socket.socket() as foreign:
        foreign.bind(("127.0.0.1", ports.http))
        foreign.listen()
        moved = home.claim_ports()
    assert (moved.bolt, moved.pages) == (ports.bolt, ports.pages)
    assert moved.http != ports.http
    assert home.claim_ports() == moved


@pytest.mark.parametrize("text", ["", "{", '{"bolt": "x", "http": 1}', "[]", '{"bolt": 99999999}'])
def test_a_damaged_file_of_ports_is_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / "ports.json").write_text(text)
    ports = Home(tmp_path).claim_ports()
    assert Home(tmp_path).claim_ports() == ports


def test_a_record_reads_back_and_a_damaged_one_is_none(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.prepare()
    record = Record(process=Process(pid=7, started="8"), ports=PORTS, version="9", java="Java 25", since=1.5)
    home.write_record(record)
    assert home.read_record() == record
    (tmp_path / "run" / "server.json").write_text('{"process": 1}')
    assert home.read_record() is None


def test_the_server_listens_on_loopback_only_and_sends_nothing_home() -> None:
    settings = dict(
        line.split("=", 1) for line in configuration(PORTS, "2026.09.0", short_lived=False).splitlines()[1:]
    )
    addresses = {value.partition(":")[0] for name, value in settings.items() if name.endswith("_address")}
    assert addresses == {"127.0.0.1"}
    assert settings["dbms.security.auth_enabled"] == "true"
    off = ("dbms.usage_report.enabled", "client.allow_telemetry", "server.fleet_discovery.enabled")
    assert {settings[name] for name in off} == {"false"}


def test_browser_may_load_the_pages_and_talk_bolt_and_nothing_else() -> None:
    policy = configuration(PORTS, "2026.09.0", short_lived=True).partition("policy_header=")[2].partition("\n")[0]
    assert policy.rpartition("connect-src ")[2] == "'self' http://127.0.0.1:20003 ws://127.0.0.1:20001"


def test_arguments_survive_spaces_quotes_and_backslashes() -> None:
    java = Java(path=Path("java"), version="21.0.1", major=21, origin="PATH")
    home = Path('/a b/"c"\\d')
    text = argument_file(java_arguments(java, home, [Path("/x y.jar")], "org.Main", more=(), short_lived=True))
    assert '"--home-dir=/a b/\\"c\\"\\\\d"' in text.splitlines()
    assert '"/x y.jar"' in text.splitlines()


def test_a_home_behind_a_link_is_the_same_home(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert home_folder(tmp_path / "link") == home_folder(tmp_path / "real")


def test_folders_come_from_the_argument_then_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHMEM_HOME", str(tmp_path / "env"))
    monkeypatch.setenv("GRAPHMEM_CACHE", str(tmp_path / "cache"))
    assert home_folder(tmp_path / "given") == tmp_path / "given"
    assert home_folder() == tmp_path / "env"
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("GRAPHMEM_HOME")
    assert home_folder().name == "graphmem"


def test_a_server_that_ended_without_a_word_is_said_to_want_memory(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.prepare()
    home.console.touch()
    assert "for want of memory" in str(_failure(home, "The server ended while it started."))
    home.console.write_text("Error: Could not find or load main class")
    assert "for want of memory" not in str(_failure(home, "The server ended while it started."))
