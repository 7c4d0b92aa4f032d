"""Back-up of the embedded server, on servers of its own: what was there is there again, and audits clean."""

from pathlib import Path

import pytest

import graphmem
from graphmem import server
from graphmem.errors import StartError
from graphmem.inspect import audit
from graphmem.server.home import Home
from tests.acceptance.tree_speech import grow


def test_a_database_is_dumped_at_rest_and_loaded_into_another_home(tmp_path: Path) -> None:
    first, second, file = tmp_path / "first", tmp_path / "second", tmp_path / "saved.dump"
    with pytest.raises(StartError, match="has no database"):
        server.dump(file, first)
    with server.running(home=first, durable=False) as up:
        graphmem.initialize(up.uri, up.user, up.password)
        with graphmem.connect(up.uri, up.user, up.password) as graph:
            task = graph.space("s").task("t")
            grow(task.request("keep me"), "a result")
            path = task.path().text()
        for refused in (lambda: server.dump(file, first), lambda: server.load(file.parent / "ports.json", first)):
            with pytest.raises(StartError):
                refused()
    assert server.dump(file, first) == file.stat().st_size > 1_000
    for refused in (
        lambda: server.dump(file, first),
        lambda: server.load(file, first),
        lambda: server.load(tmp_path, second),
    ):
        with pytest.raises(StartError):
            refused()
    server.load(file, second)
    bad, other = tmp_path / "bad.dump", tmp_path / "other.jsonl"
    bad.write_bytes(file.read_bytes()[:500])
    other.write_text('{"no": "dump"}\n')
    for source in (bad, other):
        with pytest.raises(StartError, match="neo4j-admin database load failed"):
            server.load(source, second, overwrite=True)
    with pytest.raises(StartError, match="neo4j-admin database load failed"):
        server.load(bad, tmp_path / "third")
    assert not Home(tmp_path / "third").has_database
    Home(second).keep_aside()  # as whoever is killed while another database takes its place
    (second / "data" / "databases" / "neo4j").mkdir()
    with server.running(home=second, durable=False) as up, graphmem.connect(up.uri, up.user, up.password) as graph:
        assert graph.space("s").task("t").path().text() == path
        assert audit(graph.connection) == ()
    server.load(file, second, overwrite=True)
    assert not (second / "data" / "kept").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "bad.dump", "first", "other.jsonl", "saved.dump", "second", "third",
    ]  # fmt: skip
