"""The lock file and the cache of jars, with a registry made of bytes."""

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from graphmem.errors import ResolveError, StartError
from graphmem.server import jars
from graphmem.server.lock import LINES, Lock, LockedJar, read_lock, read_lock_file, write_lock_file

CONTENTS = {"org.one:alpha:1.0": b"alpha", "org.two:beta:2.1:linux-x86_64": b"beta" * 1000}
Fetch = Callable[[str, Path], Path]


def _lock() -> Lock:
    locked = (
        LockedJar(coordinate=name, size_bytes=len(content), sha256=sha256(content).hexdigest())
        for name, content in CONTENTS.items()
    )
    return Lock(neo4j="9.9", browser="1.0", main="org.Main", java=(21,), jars=tuple(locked))


def _serving(contents: dict[str, bytes], asked: list[str]) -> Fetch:
    def fetch(coordinate: str, folder: Path) -> Path:
        asked.append(coordinate)
        if coordinate not in contents:
            raise ResolveError(f"{coordinate} could not be downloaded.")
        path = folder / coordinate.replace(":", "_")
        path.write_bytes(contents[coordinate])
        return path

    return fetch


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A registry that has everything; the list of what it was asked for."""
    asked: list[str] = []
    monkeypatch.setattr(jars, "fetch", _serving(CONTENTS, asked))
    return asked


def _resolve(cache: Path) -> tuple[Path, ...]:
    return jars.class_path(_lock(), cache, progress=lambda _sentence: None)


@pytest.mark.parametrize("line", LINES)
def test_the_shipped_locks_name_every_jar_once_with_a_sha256(line: str) -> None:
    lock = read_lock(line)
    assert lock.neo4j.startswith(f"{line}.")
    assert len({jar.file for jar in lock.jars}) == len(lock.jars) > 200
    assert all(len(bytes.fromhex(jar.sha256)) == 32 and jar.size_bytes > 0 for jar in lock.jars)
    names = {jar.coordinate for jar in lock.jars}
    assert {f"org.neo4j:neo4j:{lock.neo4j}", "org.neo4j.client:neo4j-browser:5.24.0"} <= names


def test_a_lock_file_reads_back_as_it_was_written(tmp_path: Path) -> None:
    write_lock_file(_lock(), tmp_path / "lock.json")
    assert read_lock_file(tmp_path / "lock.json") == _lock()


def test_a_line_that_is_not_kept_is_refused_with_those_that_are() -> None:
    with pytest.raises(StartError, match=r"2026\.09 or 5\.26, not as '4\.4'"):
        read_lock("4.4")


def test_a_classifier_stands_in_the_file_name() -> None:
    assert [jar.file for jar in _lock().jars] == ["alpha-1.0.jar", "beta-2.1-linux-x86_64.jar"]


def test_a_full_cache_asks_the_registry_for_nothing(tmp_path: Path, asked: list[str]) -> None:
    first = _resolve(tmp_path)
    assert sorted(asked) == sorted(CONTENTS)
    assert [path.read_bytes() for path in first] == list(CONTENTS.values())
    assert _resolve(tmp_path) == first
    assert len(asked) == len(CONTENTS)


def test_a_wrong_jar_is_refused_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "fetch", _serving({**CONTENTS, "org.one:alpha:1.0": b"alphb"}, []))
    with pytest.raises(ResolveError, match=r"org\.one:alpha:1\.0 came with sha256") as raised:
        _resolve(tmp_path)
    assert raised.value.command == "graphmem up"
    assert not list(tmp_path.rglob("alpha*"))
    assert not list(tmp_path.rglob("partial-*"))


def test_an_altered_jar_is_fetched_again(tmp_path: Path, asked: list[str]) -> None:
    alpha, beta = _resolve(tmp_path)
    asked.clear()
    alpha.write_bytes(b"ALPHA")
    beta.unlink()
    _resolve(tmp_path)
    assert sorted(asked) == sorted(CONTENTS)
    assert (alpha.read_bytes(), beta.read_bytes()) == tuple(CONTENTS.values())


def test_an_altered_jar_that_cannot_be_fetched_is_never_used_later(
    tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha, _ = _resolve(tmp_path)
    alpha.write_bytes(b"ALPHA")
    monkeypatch.setattr(jars, "fetch", _serving({}, asked))
    for _ in range(2):
        with pytest.raises(ResolveError, match=r"org\.one:alpha:1\.0"):
            _resolve(tmp_path)


def test_a_download_that_broke_off_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(jars, "fetch", _serving({"org.one:alpha:1.0": b"alpha"}, asked))
    monkeypatch.setattr(jars, "DOWNLOADS_AT_ONCE", 1)
    with pytest.raises(ResolveError, match=r"org\.two:beta"):
        _resolve(tmp_path)
    killed = tmp_path / "neo4j-9.9" / "partial-of-a-killed-process"
    killed.mkdir()
    asked.clear()
    monkeypatch.setattr(jars, "fetch", _serving(CONTENTS, asked))
    _resolve(tmp_path)
    assert asked == ["org.two:beta:2.1:linux-x86_64"]
    assert not killed.exists()


def test_a_jar_that_was_only_touched_is_hashed_not_fetched(tmp_path: Path, asked: list[str]) -> None:
    alpha, _ = _resolve(tmp_path)
    os.utime(alpha, ns=(1, 1))
    _resolve(tmp_path)
    assert len(asked) == len(CONTENTS)
