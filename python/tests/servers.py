"""Throw-away database servers on free ports of the loopback, for tests of capture."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from filelock import FileLock

# a capture lives for seconds in a test: this halves its start, which is most of what it takes
QUICK_JAVA = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def install_connectors() -> None:
    """Fetch what Debezium consists of, if it is not there."""
    command = [sys.executable, "-m", "tidemark.cli", "connectors", "install"]
    subprocess.run(command, check=True)


def chromium() -> str:
    """Return the program of a browser, installed if it is missing."""
    found = shutil.which("chromium")
    _install("chromium", Path(found) if found else None)
    return shutil.which("chromium") or "chromium"


def compiler() -> str:
    """Return the program of a compiler of C, installed if it is missing."""
    found = shutil.which("cc") or shutil.which("gcc")
    _install("gcc libc6-dev", Path(found) if found else None)
    return shutil.which("gcc") or found or "gcc"


def _install(package: str, program: Path | None) -> None:
    if program is not None:
        return
    with FileLock(Path(tempfile.gettempdir()) / "tidemark-apt.lock"):
        _install_missing(package)


def _install_missing(package: str) -> None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        pytest.skip(f"{package} is not installed")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # the package must not start a server of its own
    policy = Path("/usr/sbin/policy-rc.d")
    placed = not policy.exists()
    if placed:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        command = ["apt-get", "install", "-y", "--no-install-recommends", *package.split()]
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        if done.returncode != 0:
            subprocess.run(["apt-get", "update"], env=environment, capture_output=True, check=False)
            done = subprocess.run(command, env=environment, capture_output=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"{package} cannot be installed: {done.stderr.decode()[-300:]}")
    finally:
        if placed:
            policy.unlink()


@dataclass
class Server:
    """A running server."""

    folder: Path
    port: int
    command: list[str]
    user: str
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def start(self) -> None:
        """Start it and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                _as_user(self.user, self.command), stdout=log, stderr=log, start_new_session=True
            )
        until = time.monotonic() + 60
        while self.ask() is not None:
            if time.monotonic() > until or self.process.poll() is not None:
                pytest.fail(f"no server: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.2)

    def ask(self) -> str | None:
        """What is wrong with it; None if it answers."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop it, quickly and properly."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT if self.user == "postgres" else signal.SIGTERM)
            self.process.wait(60)

    def sql(self, text: str, database: str = "shop") -> list[list[str]]:
        """Run statements; the rows of the last one as text."""
        raise NotImplementedError

    def client(self, database: str = "shop") -> subprocess.Popen[str]:
        """A client that takes statements on stdin, for transactions that stay open."""
        raise NotImplementedError


def _as_user(user: str, command: list[str]) -> list[str]:
    if os.geteuid() != 0:
        return command
    entry = pwd.getpwnam(user)
    groups = [f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
    return ["setpriv", *groups, "--", *command]


class PostgresServer(Server):
    """PostgreSQL."""

    def _psql(self, database: str) -> list[str]:
        place = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", database]
        return ["psql", *place, "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1"]

    def ask(self) -> str | None:
        done = subprocess.run(
            [*self._psql("postgres"), "-c", "select 1"], capture_output=True, text=True, check=False
        )
        return None if done.returncode == 0 else done.stderr

    def sql(self, text: str, database: str = "shop") -> list[list[str]]:
        done = subprocess.run(
            self._psql(database), input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return [line.split("\t") for line in done.stdout.splitlines()]

    def client(self, database: str = "shop") -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._psql(database), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )


class MariaDbServer(Server):
    """MariaDB."""

    def _mariadb(self, database: str) -> list[str]:
        return [
            "mariadb",
            "--no-defaults",
            f"--socket={self.folder}/socket",
            "-uroot",
            "-N",
            "-B",
            "--unbuffered",
            *([database] if database else []),
        ]

    def ask(self) -> str | None:
        done = subprocess.run(
            [*self._mariadb(""), "-e", "select 1"], capture_output=True, text=True, check=False
        )
        return None if done.returncode == 0 else done.stderr

    def sql(self, text: str, database: str = "shop") -> list[list[str]]:
        done = subprocess.run(
            self._mariadb(database), input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return [line.split("\t") for line in done.stdout.splitlines()]

    def client(self, database: str = "shop") -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._mariadb(database), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )


def _postgres_program(name: str) -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    on_path = shutil.which(name)
    return found[-1] if found else (Path(on_path) if on_path else None)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server with logical replication."""
    _install("postgresql", _postgres_program("initdb"))
    initdb, program = _postgres_program("initdb"), _postgres_program("postgres")
    assert initdb is not None and program is not None
    with _folder("postgres") as folder:
        yield from _run_postgres(folder, initdb, program)


def _run_postgres(folder: Path, initdb: Path, program: Path) -> Iterator[PostgresServer]:
    data = folder / "data"
    make = [
        str(initdb),
        "-D",
        str(data),
        "-A",
        "trust",
        "-U",
        "postgres",
        "-E",
        "UTF8",
        "--no-sync",
    ]
    subprocess.run(_as_user("postgres", make), check=True, capture_output=True)
    port = free_port()
    settings = {
        "wal_level": "logical",
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": str(folder),
        "max_connections": "50",
        # a test's slot stays when the test is over
        "max_replication_slots": "50",
        "max_wal_senders": "50",
        # the machine does not fall while a test runs
        "fsync": "off",
        "full_page_writes": "off",
    }
    command = [str(program), "-D", str(data), "-p", str(port)]
    command += [f"--{name}={value}" for name, value in settings.items()]
    server = PostgresServer(folder, port, command, "postgres")
    server.start()
    try:
        server.sql("create database shop", database="postgres")
        yield server
    finally:
        server.stop()


@contextmanager
def mariadb_server() -> Iterator[MariaDbServer]:
    """A MariaDB server with a binary log of rows."""
    program = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin:/usr/local/sbin")
    _install("mariadb-server", Path(program) if program else None)
    program = shutil.which("mariadbd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
    assert program is not None
    with _folder("mysql") as folder:
        yield from _run_mariadb(folder, program)


def _run_mariadb(folder: Path, program: str) -> Iterator[MariaDbServer]:
    data = folder / "data"
    make = [
        "mariadb-install-db",
        "--no-defaults",
        f"--datadir={data}",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    ]
    subprocess.run(_as_user("mysql", make), check=True, capture_output=True)
    port = free_port()
    settings = {
        "datadir": data,
        "port": port,
        "socket": folder / "socket",
        "pid-file": folder / "pid",
        "bind-address": "127.0.0.1",
        "server-id": 7,
        "log-bin": "bin",
        "binlog-format": "ROW",
        "binlog-row-image": "FULL",
        "character-set-server": "utf8mb4",
        # the machine does not fall while a test runs
        "innodb-flush-log-at-trx-commit": 0,
        "sync-binlog": 0,
    }
    command = [program, "--no-defaults", *(f"--{name}={value}" for name, value in settings.items())]
    server = MariaDbServer(folder, port, command, "mysql")
    server.start()
    try:
        server.sql(
            "create database shop character set utf8mb4;"
            "create user tidemark identified by 'secret';"
            "grant select, reload, lock tables, show databases, replication slave, replication client on *.* to tidemark",
            database="",
        )
        yield server
    finally:
        server.stop()


@contextmanager
def _folder(user: str) -> Iterator[Path]:
    """A folder of the server's user: those of pytest are closed to others."""
    with tempfile.TemporaryDirectory(prefix=f"tidemark-{user}-") as name:
        if os.geteuid() == 0:
            entry = pwd.getpwnam(user)
            os.chown(name, entry.pw_uid, entry.pw_gid)
        yield Path(name)
