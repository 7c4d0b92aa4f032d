"""The Docker files: what they name is what this graphmem is for; tests that ask for a container and get none say so."""

import os
import re
import subprocess
import sys
from pathlib import Path

from graphmem.server.lock import read_lock
from tests.container import COMPOSE, image, settings

ROOT = Path(__file__).parents[2]


def test_the_image_is_the_version_of_the_embedded_server() -> None:
    assert image() == f"neo4j:{read_lock().neo4j}"
    assert settings()["NEO4J_db_lock_acquisition_timeout"] == "10s"


def test_ports_are_loopback_and_no_password_stands_in_a_file_of_ours() -> None:
    text = COMPOSE.read_text(encoding="utf-8")
    ports = re.findall(r'^      - "(\S+:\d+)"$', text, re.MULTILINE)
    assert ports == ["127.0.0.1:7474:7474", "127.0.0.1:7687:7687"]
    assert not re.search(r"NEO4J_AUTH:|PASSWORD:", text)
    assert "docker/secret/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_both_services_read_one_password_file_and_the_server_keeps_its_data_and_says_when_it_is_healthy() -> None:
    text = COMPOSE.read_text(encoding="utf-8")
    services, below = text.split("\nservices:\n")[1].split("\nsecrets:\n")
    server, command = services.split("\n  graphmem:\n")
    secrets, volumes = below.split("\nvolumes:\n")
    assert re.search(r"neo4j_auth:\n    file: \./secret/neo4j_auth\b", secrets)
    for service, variable in ((server, "NEO4J_AUTH_FILE"), (command, "GRAPHMEM_AUTH_FILE")):
        assert f"      {variable}: /run/secrets/neo4j_auth\n" in service
        assert "    secrets: [neo4j_auth]\n" in service
    for name, path in (("data", "/data"), ("logs", "/logs")):
        assert f"      - {name}:{path}\n" in server
        assert f"  {name}:\n" in volumes
    assert re.search(r"healthcheck:\n      test: \[.*http://localhost:7474", server)
    assert "        condition: service_healthy\n" in command


def test_what_the_dockerfile_copies_is_there_and_let_through() -> None:
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = re.findall(
        r"^COPY (?!--from)(.*) \S+$", (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8"), re.M
    )
    paths = [path for line in copied for path in line.split()]
    assert "pyproject.toml" in paths
    for path in paths:
        assert (ROOT / path).exists(), path
        assert f"!{path}" in allowed


def test_the_entrypoint_takes_the_password_from_the_file_of_the_server(tmp_path: Path) -> None:
    auth = tmp_path / "neo4j_auth"
    auth.write_text("neo4j/pass/word ", encoding="utf-8")
    script = (ROOT / "docker" / "entrypoint.sh").read_text(encoding="utf-8")
    shown = script.replace('/opt/graphmem/bin/graphmem "$@"', "env")
    env = {"GRAPHMEM_AUTH_FILE": str(auth), "GRAPHMEM_SPACE": "", "PATH": os.environ["PATH"]}
    done = subprocess.run(["/bin/sh", "-c", shown], env=env, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert "GRAPHMEM_PASSWORD=pass/word " in lines
    assert not [line for line in lines if line.startswith("GRAPHMEM_SPACE")]


def test_a_missing_engine_is_an_error_and_no_skip() -> None:
    test = "tests/acceptance/test_size.py::test_what_is_not_there_has_no_size"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--neo4j=container", test]
    env = {**os.environ, "DOCKER_HOST": "tcp://127.0.0.1:1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "--neo4j=container needs a Docker engine" in done.stdout
    assert "1 error" in done.stdout
    assert "skipped" not in done.stdout
