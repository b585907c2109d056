"""Capture of a real PostgreSQL: each change lands exactly once, whatever is killed or stopped."""

from __future__ import annotations

import itertools
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.capturing import (
    POSTGRES_DEFAULTS,
    Capturing,
    Defaults,
    Sql,
    capturing_source,
    rows,
)
from tests.servers import PostgresServer, install_connectors, postgres_server

pytestmark = pytest.mark.turn(1, 3)

pytest.importorskip("jpype")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    install_connectors()
    with postgres_server() as running:
        yield running


_numbers = itertools.count(1)


@pytest.fixture
def database(server: PostgresServer) -> str:
    """A database of a test's own."""
    name = f"shop{next(_numbers)}"
    server.sql(f"create database {name}", database="postgres")
    return name


@pytest.fixture
def capturing(server: PostgresServer, database: str, tmp_path: Path) -> Iterator[Capturing]:
    with capturing_source(
        tmp_path,
        "postgresql",
        {"port": server.port, "database": database, "user": "postgres"},
        include=["public.*"],
        exclude=["public.audit_*"],
        slot=database,
        publication=database,
    ) as capture:
        yield capture


@pytest.fixture
def sql(server: PostgresServer, database: str) -> Sql:
    return lambda text: server.sql(text, database)


def test_story(capturing: Capturing, sql: Sql) -> None:
    role = f"{capturing.replicator['slot']}_user"
    defaults = Defaults(POSTGRES_DEFAULTS)
    sql("create type mood as enum ('sad', 'happy');" + defaults.create())
    sql(
        f"""
        create role {role} login;
        create table customers (id int primary key, name text, balance numeric(12,3));
        create table logs (a int, b text);
        create table audit_log (id int primary key);
        create table nothing (id int primary key);
        create unlogged table unlogged (id int primary key);
        create table keyless (a int);
        alter table logs replica identity full;
        insert into customers values (1, 'alice', 1.5), (2, 'bob', 2);
        insert into logs values (1, 'x'), (1, 'x');
        insert into audit_log values (1);
        """
    )
    # what stands in the way is told; each suggestion, run by the database's owner, mends it
    capturing.replicator["connection"]["user"] = role
    capturing.configure(capturing.replicator)
    report = capturing.validate(1)
    errors = [finding for finding in report["findings"] if finding["severity"] == "error"]
    assert len(errors) == 5
    for finding in errors:
        sql(finding["suggestion"].removeprefix("as their owner: "))
    report = capturing.validate(0)
    assert {finding["severity"] for finding in report["findings"]} == {"warning"}
    assert [table["name"].removeprefix("public.") for table in report["tables"]] == [
        "customers",
        "defaults",
        "keyless",
        "logs",
        "nothing",
        "unlogged",
    ]
    # a user with no more rights than these captures; day 1: the snapshot
    capturing.once()
    assert [event["op"] for event in capturing.events()] == ["r"] * 6 + ["snapshot"] * 3
    assert [table for table, _ in capturing.ends()] == ["keyless", "nothing", "unlogged"]
    defaults.assert_landed(capturing, changed=False)
    # day 2: every kind of change
    sql(
        """
        insert into customers values (3, 'eve', 3);
        update customers set name = 'Bob' where id = 2;
        update customers set id = 10 where id = 1;
        delete from customers where id = 3;
        begin; insert into logs values (2, 'y'), (2, 'y'); update logs set b = 'z' where a = 1; commit;
        begin; insert into logs values (3, 'never'); rollback;
        insert into audit_log values (2);
        """
        + defaults.change()
    )
    capturing.once()
    defaults.assert_landed(capturing, changed=True)
    assert "".join(event["op"] for event in capturing.changes()) == "cudcdccuucu"
    assert capturing.replay("customers", ["id", "name", "balance"], ["id"]) == rows(
        sql("select * from customers")
    )
    assert capturing.replay("logs", ["a", "b"]) == rows(sql("select * from logs"))
    # day 3: a truncate, the tables that had no rows, and nothing of the day before again
    sql(
        """
        truncate logs; insert into logs values (9, 'after');
        insert into keyless values (1); insert into unlogged values (1);
        """
    )
    capturing.once()
    assert "".join(event["op"] for event in capturing.changes()[11:]) == "tccc"
    assert capturing.replay("logs", ["a", "b"]) == rows(sql("select * from logs"))
    capturing.assert_whole()
    assert {event["source"]["table"] for event in capturing.events()} == {
        "customers",
        "defaults",
        "keyless",
        "logs",
        "nothing",
        "unlogged",
    }
    status = capturing.status
    assert (status["state"], status["pid"]) == ("STOPPED", None)
    assert status["events"]["public.logs"] == {"c": 3, "r": 2, "t": 1, "u": 2}
    assert status["tables"] == dict.fromkeys(
        ("public.customers", "public.defaults", "public.logs"), "done"
    )


@pytest.mark.parametrize("scale", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_killed_and_stopped_in_a_load(
    capturing: Capturing, sql: Sql, server: PostgresServer, database: str, scale: int
) -> None:
    """Equal rows of one COPY, small transactions, and transactions that are open at each end."""
    sql(
        """
        create table twins (a int, b text); alter table twins replica identity full;
        create table small (id int primary key, n int default 0);
        create table opened (id serial primary key, who text);
        insert into twins values (0, 'x');
        """
    )
    capturing.configure({**capturing.replicator, "flush": {"rows": 300, "seconds": 0.2}})
    capturing.once()
    copied, transactions = 4000 * scale, 500 * scale
    expected = 0
    for number, (how, seen) in enumerate(
        (
            # within the COPY, within it again, among the small transactions
            (signal.SIGKILL, copied // 8),
            (signal.SIGTERM, copied // 2),
            (signal.SIGKILL, copied + transactions),
        )
    ):
        clients = [server.client(database) for _ in range(3)]
        for client in clients:
            assert client.stdin is not None
            client.stdin.write(
                f"begin; insert into opened (who) values ('a{number}'), ('b{number}');\n"
            )
            client.stdin.flush()
        # the oldest of the open transactions is before what has landed
        wait_for_transactions(sql, 3)
        if number == 0:
            copy_twins(server, database, copied)
            expected += copied
            sql(
                "".join(
                    f"insert into small values ({i}); "
                    f"update small set n = n + 1 where id <= {i} and id > {i - 2};\n"
                    for i in range(transactions)
                )
            )
            expected += 3 * transactions - 1
        capturing.start()
        capturing.wait_for_events(seen)
        capturing.stop(how)
        for client in reversed(clients):
            client.communicate(f"insert into opened (who) values ('c{number}'); commit;\n")
        expected += 9
    sql("update twins set b = 'z' where a = 3")
    expected += int(sql("select count(*) from twins where b = 'z'")[0][0])
    capturing.once()
    assert len(capturing.changes()) == expected
    for table, columns, key in (
        ("twins", ["a", "b"], None),
        ("small", ["id", "n"], ["id"]),
        ("opened", ["id", "who"], ["id"]),
    ):
        wanted = rows(sql(f"select {', '.join(columns)} from {table}"))
        assert capturing.replay(table, columns, key) == wanted, table
    capturing.assert_whole()


def wait_for_transactions(sql: Sql, count: int) -> None:
    """Wait until so many transactions are open that have written."""
    question = (
        "select count(*) from pg_stat_activity "
        "where datname = current_database() and state = 'idle in transaction'"
    )
    until = time.monotonic() + 60
    while int(sql(question)[0][0]) < count:
        assert time.monotonic() < until
        time.sleep(0.05)


def copy_twins(server: PostgresServer, database: str, count: int) -> None:
    """Add rows to the table of equal rows, all by one COPY."""
    question = f"copy (select i % 50, 'x' from generate_series(1, {count}) i) to stdout"
    with subprocess.Popen(
        [*server._psql(database), "-c", question], stdout=subprocess.PIPE
    ) as source:
        subprocess.run(
            [*server._psql(database), "-c", "copy twins from stdin"],
            stdin=source.stdout,
            check=True,
        )


def test_server_restarts(capturing: Capturing, sql: Sql, server: PostgresServer) -> None:
    sql("create table t (id int primary key)")
    # stopped while it starts
    capturing.start()
    time.sleep(1)
    began = time.monotonic()
    capturing.stop()
    assert time.monotonic() - began < 30
    capturing.start()
    capturing.wait_until_replicating()
    assert "another capture" in _second(capturing)
    sql("insert into t select generate_series(1, 100)")
    capturing.wait_for_events(100)
    server.stop()
    capturing.wait_for(lambda: capturing.status["state"] == "FAILING")
    server.start()
    sql("insert into t select generate_series(101, 150)")
    capturing.wait_for_events(150)
    assert capturing.stop() == 0
    assert len(capturing.changes()) == 150
    capturing.assert_whole()


def _second(capturing: Capturing) -> str:
    """What a second process of the same landing folder says."""
    other = Capturing(capturing.root, capturing.replicator, environment=capturing.environment)
    return other.once(code=2)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.3, 0.8, 1.2, 2, 3])
def test_stopped_while_it_starts(capturing: Capturing, sql: Sql, seconds: float) -> None:
    sql("create table t (id int primary key)")
    capturing.once()
    capturing.start()
    time.sleep(seconds)
    began = time.monotonic()
    capturing.stop()
    assert time.monotonic() - began < 30
    sql("insert into t values (1)")
    capturing.once()
    assert len(capturing.changes()) == 1


def test_killed_in_the_snapshot__then_the_slot_is_gone(
    capturing: Capturing, sql: Sql, database: str
) -> None:
    sql("create table t (id int primary key); insert into t select generate_series(1, 12000)")
    sql("create table emptied (id int primary key); insert into emptied values (1)")
    # a slot that is not this capture's is not touched
    sql(f"select pg_create_logical_replication_slot('{database}', 'pgoutput')")
    assert "did not make it" in capturing.once(code=1)
    sql(f"select pg_drop_replication_slot('{database}')")
    capturing.configure({**capturing.replicator, "flush": {"rows": 600}})
    capturing.start()
    capturing.wait_for(lambda: count_files(capturing) >= 2)
    capturing.stop(signal.SIGKILL)
    assert len(capturing.events()) < 12000
    sql("delete from t where id <= 100; insert into t values (0)")
    capturing.once()
    assert capturing.replay("t", ["id"], ["id"]) == rows(sql("select * from t"))
    capturing.assert_whole()
    # its end is told of each table, where it began again
    assert capturing.ends() == [("emptied", True), ("t", True)]
    sql("delete from t where id > 200; insert into t values (1); delete from emptied")
    sql(f"select pg_drop_replication_slot('{database}')")
    said = capturing.once(code=1)
    assert "is gone" in said and "--resnapshot" in said and "Traceback" not in said
    capturing.once("--resnapshot")
    assert capturing.replay("t", ["id"], ["id"]) == rows(sql("select * from t"))
    assert capturing.ends()[2:] == [("emptied", False), ("t", True)]
    capturing.assert_whole()


@pytest.mark.slow
def test_killed_before_anything_landed(capturing: Capturing, sql: Sql) -> None:
    sql("create table t (id int primary key); insert into t values (1)")
    capturing.configure({**capturing.replicator, "snapshot": "no_data"})
    capturing.start(TIDEMARK_FAILPOINT="before_tmp_write")
    capturing.wait_until_replicating()
    sql("insert into t values (2)")
    assert capturing.wait() == -signal.SIGKILL
    (capturing.landing / "_state" / "snapshot.done").unlink(missing_ok=True)
    sql("insert into t values (3)")
    capturing.once()
    assert [event["after"]["id"] for event in capturing.events()] == [2, 3]


def count_files(capturing: Capturing) -> int:
    return len(list(capturing.landing.glob("ev-*")))


class Writing:
    """Writes to tables without a pause, one statement after the other, until it is stopped."""

    def __init__(self, server: PostgresServer, database: str, statement: str) -> None:
        self._client = server.client(database)
        self._statement = statement
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        assert self._client.stdin is not None
        number = 0
        while not self._stopped.is_set():
            number += 1
            self._client.stdin.write(self._statement.replace("$n", str(number)) + "\n")
            self._client.stdin.flush()
            time.sleep(0.02)

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._client.communicate()
        assert self._client.returncode == 0


MAKE_LATER_TABLES = """
    create table keyed (id bigint primary key, n int);
    create table "Twins, too" (a int, b text);
    alter table "Twins, too" replica identity full;
    create table nothing (id int primary key);
    insert into keyed select i, 0 from generate_series(-5000, -1) i;
    insert into "Twins, too" select i % 50, 'x' from generate_series(1, 2000) i;
"""
WRITE_LATER_TABLES = """
    insert into keyed values ($n, 0); insert into "Twins, too" values ($n % 3, 'x');
    update keyed set n = n + 1 where id = $n / 2; delete from keyed where id = -$n;
    begin; insert into early values ($n); insert into "Twins, too" values (1, 'x'), (1, 'x');
    update "Twins, too" set b = 'y'
    where ctid = (select ctid from "Twins, too" where a = $n % 60 limit 1); commit;
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "ends"),
    [
        ("after_rename:3", (signal.SIGKILL,)),
        *(
            (place, (signal.SIGKILL, signal.SIGTERM))
            for place in ("after_rename:3", "before_join", "after_join")
        ),
    ],
)
def test_tables_that_come_later(
    capturing: Capturing,
    sql: Sql,
    server: PostgresServer,
    database: str,
    place: str,
    ends: tuple[signal.Signals, ...],
) -> None:
    """Their rows are read while they change: once, killed there; and of one while it runs."""
    sql("create table early (id int primary key); insert into early values (0)")
    capturing.configure({**capturing.replicator, "flush": {"rows": 1000}})
    capturing.once()
    sql(MAKE_LATER_TABLES)
    writing = Writing(server, database, WRITE_LATER_TABLES)
    capturing.start(TIDEMARK_FAILPOINT=place)
    assert capturing.wait() == -signal.SIGKILL
    # a COPY of twins that is landed in part, before and after the snapshot that is repeated
    sql("insert into \"Twins, too\" select i % 50, 'x' from generate_series(1, 4000) i")
    writing.stop()
    for how in ends:
        next_file = capturing.landing / f"ev-{count_files(capturing) + 1:010d}.jsonl.gz"
        capturing.start()
        capturing.wait_for(next_file.exists)
        capturing.stop(how)
    # it goes on, and a table comes while it runs
    capturing.start()
    capturing.wait_until_replicating()
    sql("create table live (id int primary key, n int); insert into live values (0, 0)")
    writing = Writing(
        server,
        database,
        "insert into live values ($n, 0); update live set n = n + 1 where id = $n / 2;",
    )
    capturing.wait_for(lambda: "c" in capturing.status["events"].get("public.live", {}))
    writing.stop()
    assert capturing.stop() == 0
    assert capturing.status["warnings"] == []
    capturing.once()
    for table, columns, key in (
        ("early", ["id"], ["id"]),
        ("keyed", ["id", "n"], ["id"]),
        ("Twins, too", ["a", "b"], None),
        ("live", ["id", "n"], ["id"]),
    ):
        wanted = rows(sql(f'select {", ".join(columns)} from "{table}"'))
        assert capturing.replay(table, columns, key) == wanted, table
    capturing.assert_whole()


@pytest.mark.slow
def test_tables_that_go__and_that_cannot_join(
    capturing: Capturing, sql: Sql, database: str
) -> None:
    sql(
        """
        create table a (id int primary key); create table b (id int primary key);
        create table gone (id int primary key); create table back (id int primary key);
        create table bare (a int primary key deferrable);
        insert into a values (1); insert into b values (1); insert into bare values (1);
        insert into gone values (1); insert into back values (1);
        """
    )
    # a deferrable key is no identity: not captured with the first snapshot
    assert "alter table public.bare replica identity full" in capturing.once()
    # tables go and are truncated together; a key that is none gets an identity
    sql(
        """
        insert into gone values (2); drop table gone, back; create table back (id int primary key);
        insert into back values (7); truncate a, b; insert into a values (2);
        update bare set a = 2; alter table bare replica identity full
        """
    )
    capturing.once()
    # a table that is no longer selected, and is again; one that cannot join
    sql(
        """
        insert into back values (8); update bare set a = 3;
        create table keyless (a int); insert into keyless values (1)
        """
    )
    selected = [f"public.{name}" for name in ("a", "back", "bare", "keyless")]
    capturing.configure({**capturing.replicator, "include": selected})
    said = capturing.once()
    assert "alter table public.keyless replica identity full" in said
    # it can be written to as before
    sql("update keyless set a = 2; alter table keyless replica identity full")
    sql("insert into b values (3)")
    capturing.configure(capturing.replicator)
    assert "Warning" not in capturing.once()
    # somebody else's publication is not changed
    sql("delete from b; insert into b values (4)")
    sql(f"drop publication {database}; create role {database}_owner superuser")
    sql(
        f"""
        create publication {database} for table b;
        alter publication {database} owner to {database}_owner;
        """
    )
    said = capturing.once()
    assert f'alter publication "{database}" add table public.keyless' in said
    wanted = {"a": [2], "gone": [1, 2], "back": [7, 8]}
    for table, ids in wanted.items():
        assert capturing.replay(table, ["id"], ["id"]) == {(str(id),): 1 for id in ids}, table
    for table, value in (("bare", "3"), ("keyless", "2")):
        assert capturing.replay(table, ["a"]) == {(value,): 1}, table
    assert [event["op"] for event in capturing.changes()].count("t") == 2
    capturing.assert_whole()
