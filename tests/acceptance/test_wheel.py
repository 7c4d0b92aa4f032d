"""What users install: the wheel, in an environment of its own, without anything of the checkout."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(out), str(ROOT)], check=True, capture_output=True
    )
    return next(out.glob("graphmem_neo4j-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of a fresh environment with nothing but the wheel's core."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    constraints = ROOT / ".ci" / "constraints.txt"
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", str(constraints), str(wheel)], check=True)
    return home / "bin"


def tracked(folder: str) -> set[str]:
    listed = subprocess.run(["git", "ls-files", folder], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return set(listed.splitlines())


def test_the_wheel_holds_the_tracked_query_files_byte_for_byte_and_no_others(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if name.startswith("graphmem/cypher/")}
        assert {name.removeprefix("graphmem/") for name in inside} == tracked("cypher")
        for name in inside:
            assert archive.read(name) == (ROOT / name.removeprefix("graphmem/")).read_bytes()


def test_the_wheel_holds_the_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {
            name for name in archive.namelist() if ".dist-info/" not in name and not name.startswith("graphmem/cypher/")
        }
    assert names == tracked("graphmem") | {name.removeprefix("cli/") for name in tracked("cli")}


CORE = {"neo4j", "pytz", "click", "json-repair"}
PYDANTIC = {"pydantic", "pydantic-core", "annotated-types", "typing-extensions", "typing-inspection"}


def test_the_core_is_four_packages_and_what_they_need(installed: Path) -> None:
    listed = subprocess.run(
        [installed / "python", "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True
    )
    names = {line.split("==")[0].lower().replace("_", "-") for line in listed.stdout.splitlines()}
    assert names - {"pip", "setuptools"} == {"graphmem-neo4j", *CORE, *PYDANTIC}


def test_the_command_of_the_wheel_works_without_extras(
    installed: Path, server_env: Mapping[str, str], tmp_path: Path
) -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("GRAPHMEM", "PYTHON"))}

    def graphmem(*words: str, env: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
        command = [str(installed / "graphmem"), *words]
        return subprocess.run(command, cwd=tmp_path, env={**clean, **env}, capture_output=True, text=True, check=False)

    assert graphmem("--help").returncode == 0
    assert graphmem("up").returncode == 1
    assert "graphmem-neo4j[embedded]" in graphmem("up").stderr
    assert "graphmem-neo4j[mcp]" in graphmem("mcp", "--space", "s", "--task", "t").stderr
    assert graphmem("init", env=server_env).returncode == 0
    assert graphmem("tasks", "--space", "of-nobody", "--json", env=server_env).returncode == 0
    assert graphmem("doctor", "--space", "of-nobody", env=server_env).returncode == 0
