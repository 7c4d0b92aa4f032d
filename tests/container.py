"""A Neo4j server from a Docker engine, by testcontainers: image, memory and timeouts of `docker/compose.yaml`."""

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_urlsafe

COMPOSE = Path(__file__).parents[1] / "docker" / "compose.yaml"


class NoContainerError(Exception):
    """There is no Docker engine, or it has no such server."""


def settings() -> dict[str, str]:
    """The settings that the compose file gives the server, by their variables."""
    found = re.findall(r'^      (NEO4J_(?!AUTH)\w+): "?([^"\n]+)"?$', COMPOSE.read_text(encoding="utf-8"), re.MULTILINE)
    return dict(found)


def image() -> str:
    """The image that the compose file names."""
    found = re.search(r"^    image: (neo4j:\S+)$", COMPOSE.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    return found[1]


@contextmanager
def in_container() -> Iterator[Mapping[str, str]]:
    """The GRAPHMEM_* variables of a server in a container of its own, which is removed at the end.

    Raises:
        NoContainerError: no engine answers, the image cannot be had, or the server does not come up.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from testcontainers.neo4j import Neo4jContainer

        password = token_urlsafe(16)
        try:
            container = Neo4jContainer(image(), password=password)
            for name, value in settings().items():
                container = container.with_env(name, value)
            server = container.start()
        except Exception as error:  # what Docker, its client and its transport raise has no root in common
            raise NoContainerError(
                f"--neo4j=container needs a Docker engine that answers and has or finds {image()}: {error}. Start one, "
                "or use --neo4j=embedded."
            ) from error
    try:
        yield {"GRAPHMEM_URI": server.get_connection_url(), "GRAPHMEM_USER": "neo4j", "GRAPHMEM_PASSWORD": password}
    finally:
        server.stop()
