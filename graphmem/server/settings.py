"""What the server is told: `neo4j.conf` and the arguments of the JVM.

Pure text, measured on Neo4j 2026.09.0 and 5.26.31, which refuse to start on a setting that they do not know. Loopback
only, authentication on, no telemetry. Browser may load pages from one more origin, the pages port, and nothing from
elsewhere.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from graphmem.server.home import LOOPBACK, Ports
from graphmem.server.java import Java

_SINCE_2025: Final = {
    "dbms.fleet_manager.enabled": "false",
    "server.fleet_discovery.enabled": "false",
    "server.http.x_forward.enabled": "false",
    # Netty waits for stragglers after the databases were closed: 10 of the 10.3 s that a stop took.
    "internal.dbms.bolt.netty_server_shutdown_quiet_period_duration": "0s",
}


def configuration(ports: Ports, version: str, *, short_lived: bool) -> str:
    """The text of `neo4j.conf` for this version of the server."""
    pages = f"http://{LOOPBACK}:{ports.pages}"
    policy = (
        "default-src 'self'; script-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
        "base-uri 'none'; object-src 'none'; frame-ancestors 'none'; "
        f"connect-src 'self' {pages} ws://{LOOPBACK}:{ports.bolt}"
    )
    settings = {
        "server.default_listen_address": LOOPBACK,
        "server.default_advertised_address": LOOPBACK,
        "server.bolt.listen_address": f"{LOOPBACK}:{ports.bolt}",
        "server.bolt.advertised_address": f"{LOOPBACK}:{ports.bolt}",
        "server.http.listen_address": f"{LOOPBACK}:{ports.http}",
        "server.http.advertised_address": f"{LOOPBACK}:{ports.http}",
        "server.https.enabled": "false",
        "dbms.security.auth_enabled": "true",
        "dbms.security.allow_csv_import_from_file_urls": "false",
        "dbms.security.http_access_control_allow_origin": f"http://{LOOPBACK}:{ports.http}",
        "dbms.security.http_static_content_security_policy_header": policy,
        "browser.remote_content_hostname_whitelist": f"{LOOPBACK},localhost",
        "browser.post_connect_cmd": f"clear; style {pages}/live.grass; guide {pages}/guide.html",
        "server.memory.pagecache.size": "128m" if short_lived else "512m",
        "db.tx_log.preallocate": "false",
        "db.lock.acquisition.timeout": "10s",
        "db.transaction.timeout": "60s",
        "dbms.usage_report.enabled": "false",
        "client.allow_telemetry": "false",
        "server.bolt.telemetry.enabled": "false",
        **({} if version.startswith("5.") else _SINCE_2025),
    }
    lines = "".join(f"{name}={value}\n" for name, value in settings.items())
    return f"# Written by graphmem at every start: changes made here are lost.\n{lines}"


def java_arguments(
    java: Java, home: Path, class_path: Sequence[Path], main: str, *, more: Sequence[str], short_lived: bool
) -> tuple[str, ...]:
    """Everything after `java`; `main` is the class that starts, `more` are flags that the archive of classes wants."""
    return (
        *(("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m") if short_lived else ("-XX:+UseG1GC", "-Xmx1g")),
        *more,
        "-XX:+DisableExplicitGC",
        "-XX:+ExitOnOutOfMemoryError",
        "-Djdk.nio.maxCachedBufferSize=1024",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dio.netty.leakDetection.level=DISABLED",
        "-Dlog4j2.disable.jmx=true",
        "-Dfile.encoding=UTF-8",
        "--add-opens=java.base/java.nio=ALL-UNNAMED",
        "--add-opens=java.base/java.io=ALL-UNNAMED",
        "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
        "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
        "--enable-native-access=ALL-UNNAMED",
        *(("--sun-misc-unsafe-memory-access=allow",) if java.major >= 24 else ()),
        "-classpath",
        ":".join(map(str, class_path)),
        main,
        f"--home-dir={home}",
        f"--config-dir={home / 'conf'}",
        "--console-mode",
    )


def argument_file(arguments: Sequence[str]) -> str:
    """The arguments as `java @file` reads them: one a line, quoted, since a path may hold spaces."""
    quoted = (argument.replace("\\", "\\\\").replace('"', '\\"') for argument in arguments)
    return "".join(f'"{argument}"\n' for argument in quoted)
