"""Capture of a real PostgreSQL: each change lands exactly once, whatever is killed or stopped."""

from __future__ import annotations

import itertools
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.functional.capturing import Capturing, Sql, capturing_source, rows
from tests.servers import PostgresServer, install_connectors, postgres_server

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
    sql(
        """
        create table customers (id int primary key, name text, balance numeric(12,3));
        create table logs (a int, b text);
        create table audit_log (id int primary key);
        create table nothing (id int primary key);
        alter table logs replica identity full;
        insert into customers values (1, 'alice', 1.5), (2, 'bob', 2);
        insert into logs values (1, 'x'), (1, 'x');
        insert into audit_log values (1);
        """
    )
    # day 1: the snapshot
    capturing.once()
    assert [event["op"] for event in capturing.events()] == ["r"] * 4
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
    )
    capturing.once()
    assert [event["op"] for event in capturing.changes()] == [
        "c",
        "u",
        "d",
        "c",
        "d",
        "c",
        "c",
        "u",
        "u",
    ]
    assert capturing.replay("customers", ["id", "name", "balance"], ["id"]) == rows(
        sql("select * from customers")
    )
    assert capturing.replay("logs", ["a", "b"]) == rows(sql("select * from logs"))
    # day 3: a truncate, and nothing of the day before again
    sql("truncate logs; insert into logs values (9, 'after')")
    capturing.once()
    assert [event["op"] for event in capturing.changes()][9:] == ["t", "c"]
    assert capturing.replay("logs", ["a", "b"]) == rows(sql("select * from logs"))
    capturing.assert_whole()
    assert {event["source"]["table"] for event in capturing.events()} == {"customers", "logs"}
    status = capturing.status
    assert (status["state"], status["pid"]) == ("STOPPED", None)
    assert status["events"]["public.logs"] == {"c": 3, "r": 2, "t": 1, "u": 2}
    assert status["tables"] == {"public.customers": "done", "public.logs": "done"}
    # a second process of the same landing folder
    capturing.start()
    capturing.wait_until_replicating()
    assert "another capture" in _second(capturing)
    assert capturing.stop() == 0


def _second(capturing: Capturing) -> str:
    other = Capturing(capturing.root, capturing.replicator, environment=capturing.environment)
    return other.once(code=2)


def test_copy_of_equal_rows(
    capturing: Capturing, sql: Sql, server: PostgresServer, database: str
) -> None:
    sql(
        "create table twins (a int, b text); alter table twins replica identity full; insert into twins values (0, 'x')"
    )
    capturing.configure({**capturing.replicator, "flush": {"rows": 700}})
    capturing.once()
    copies = [
        subprocess.Popen(
            [
                *server._psql(database),
                "-c",
                "copy (select i % 50, 'x' from generate_series(1, 8000) i) to stdout",
            ],
            stdout=subprocess.PIPE,
        )
    ]
    subprocess.run(
        [*server._psql(database), "-c", "copy twins from stdin"], stdin=copies[0].stdout, check=True
    )
    # one transaction, stopped in its middle
    for number, how in (
        (1, signal.SIGTERM),
        (2, signal.SIGKILL),
        (4, signal.SIGTERM),
        (6, signal.SIGKILL),
    ):
        capturing.start()
        capturing.wait_for_events(number * 900)
        capturing.stop(how)
    sql(
        "insert into twins select i % 7, 'y' from generate_series(1, 500) i; update twins set b = 'z' where a = 3"
    )
    capturing.once()
    updates = int(sql("select count(*) from twins where b = 'z'")[0][0])
    assert len(capturing.changes()) == 8500 + updates
    assert capturing.replay("twins", ["a", "b"]) == rows(sql("select * from twins"))
    capturing.assert_whole()


def test_open_transactions(
    capturing: Capturing, sql: Sql, server: PostgresServer, database: str
) -> None:
    sql("create table t (id serial primary key, who text)")
    capturing.once()
    expected = 0
    for number, how in enumerate((signal.SIGTERM, signal.SIGKILL, signal.SIGTERM)):
        clients = [server.client(database) for _ in range(3)]
        capturing.start()
        capturing.wait_until_replicating()
        for client in clients:
            assert client.stdin is not None
            client.stdin.write(f"begin; insert into t (who) values ('a{number}'), ('b{number}');\n")
            client.stdin.flush()
        time.sleep(0.3)
        sql(f"insert into t (who) select 'between{number}' from generate_series(1, 50)")
        capturing.wait_for_events(expected + 50)
        # stopped while three transactions are open, the oldest before what has landed
        capturing.stop(how)
        for client in reversed(clients):
            client.communicate(f"insert into t (who) values ('c{number}'); commit;\n")
        expected += 50 + 9
    capturing.once()
    assert len(capturing.changes()) == expected
    assert capturing.replay("t", ["id", "who"], ["id"]) == rows(sql("select * from t"))
    capturing.assert_whole()


def test_kills_in_a_load(
    capturing: Capturing, sql: Sql, server: PostgresServer, database: str
) -> None:
    sql("create table t (id int primary key, n int default 0)")
    capturing.configure({**capturing.replicator, "flush": {"rows": 400, "seconds": 0.2}})
    capturing.once()
    client = server.client(database)
    assert client.stdin is not None
    # 3000 small transactions
    for number in range(1500):
        client.stdin.write(
            f"insert into t values ({number}); update t set n = n + 1 where id <= {number} and id > {number - 2};\n"
        )
    client.stdin.close()
    for count in (300, 1200, 2500):
        capturing.start()
        capturing.wait_for_events(count)
        capturing.stop(signal.SIGKILL)
    client.wait(60)
    capturing.once()
    assert len(capturing.changes()) == 1500 + 2 * 1500 - 1
    assert capturing.replay("t", ["id", "n"], ["id"]) == rows(sql("select * from t"))
    capturing.assert_whole()


def test_server_restarts(capturing: Capturing, sql: Sql, server: PostgresServer) -> None:
    sql("create table t (id int primary key)")
    capturing.start()
    capturing.wait_until_replicating()
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


def test_stopped_while_it_starts(capturing: Capturing, sql: Sql) -> None:
    sql("create table t (id int primary key)")
    capturing.once()
    for seconds in (0.8, 1.2):
        capturing.start()
        time.sleep(seconds)
        began = time.monotonic()
        capturing.stop()
        assert time.monotonic() - began < 30
    sql("insert into t values (1)")
    capturing.once()
    assert len(capturing.changes()) == 1


def test_slot_is_gone(capturing: Capturing, sql: Sql, database: str) -> None:
    sql("create table t (id int primary key); insert into t values (1)")
    # a slot that is not this capture's is not touched
    sql(f"select pg_create_logical_replication_slot('{database}', 'pgoutput')")
    assert "has not made it" in capturing.once(code=1)
    sql(f"select pg_drop_replication_slot('{database}')")
    capturing.once()
    sql("insert into t values (2)")
    sql(f"select pg_drop_replication_slot('{database}')")
    said = capturing.once(code=1)
    assert "is gone" in said and "--resnapshot" in said and "Traceback" not in said
    capturing.once("--resnapshot")
    assert capturing.replay("t", ["id"], ["id"]) == rows(sql("select * from t"))
    capturing.assert_whole()


def test_killed_in_the_snapshot(capturing: Capturing, sql: Sql) -> None:
    sql("create table t (id int primary key); insert into t select generate_series(1, 20000)")
    capturing.configure({**capturing.replicator, "flush": {"rows": 1000}})
    capturing.start()
    capturing.wait_for(lambda: len(list(capturing.landing.glob("ev-*"))) >= 2)
    capturing.stop(signal.SIGKILL)
    sql("delete from t where id <= 100; insert into t values (0)")
    capturing.once()
    assert capturing.replay("t", ["id"], ["id"]) == rows(sql("select * from t"))
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


def test_validate(capturing: Capturing, sql: Sql) -> None:
    role = f"{capturing.replicator['slot']}_user"
    sql(
        f"""
        create role {role} login;
        create table t (id int primary key);
        create unlogged table u (id int primary key);
        create table keyless (a int);
        """
    )
    connection = {**capturing.replicator["connection"], "user": role}
    capturing.configure({**capturing.replicator, "connection": connection})
    report = capturing.validate(1)
    errors = [finding for finding in report["findings"] if finding["severity"] == "error"]
    assert len(errors) == 5
    # each suggestion, run by the database's owner, mends what it is for
    for finding in errors:
        sql(finding["suggestion"].removeprefix("as their owner: "))
    report = capturing.validate(0)
    assert {finding["severity"] for finding in report["findings"]} == {"warning"}
    assert [table["name"] for table in report["tables"]] == [
        "public.keyless",
        "public.t",
        "public.u",
    ]
    # and a user with no more rights than these captures
    sql("insert into t values (1); insert into u values (1)")
    capturing.once()
    sql("insert into keyless values (1); delete from t")
    capturing.once()
    assert [event["op"] for event in capturing.changes()] == ["c", "d"]


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
    insert into keyed select i, 0 from generate_series(-9000, -1) i;
    insert into "Twins, too" select i % 50, 'x' from generate_series(1, 2000) i;
"""
WRITE_LATER_TABLES = """
    insert into keyed values ($n, 0); insert into "Twins, too" values ($n % 3, 'x');
    update keyed set n = n + 1 where id = $n / 2; delete from keyed where id = -$n;
    begin; insert into early values ($n); insert into "Twins, too" values (1, 'x'), (1, 'x');
    update "Twins, too" set b = 'y'
    where ctid = (select ctid from "Twins, too" where a = $n % 60 limit 1); commit;
"""


def assert_later_tables(capturing: Capturing, sql: Sql) -> None:
    capturing.once()
    for table, columns, key in (
        ("early", ["id"], ["id"]),
        ("keyed", ["id", "n"], ["id"]),
        ("Twins, too", ["a", "b"], None),
    ):
        wanted = rows(sql(f'select {", ".join(columns)} from "{table}"'))
        assert capturing.replay(table, columns, key) == wanted, table
    capturing.assert_whole()


def test_tables_that_come_later(
    capturing: Capturing, sql: Sql, server: PostgresServer, database: str
) -> None:
    sql("create table early (id int primary key); insert into early values (0)")
    capturing.start()
    capturing.wait_until_replicating()
    sql(MAKE_LATER_TABLES)
    writing = Writing(server, database, WRITE_LATER_TABLES)

    def has_changed(table: str) -> Callable[[], bool]:
        return lambda: "c" in capturing.status["events"].get(table, {})

    capturing.wait_for(has_changed("public.keyed"))
    capturing.wait_for(has_changed("public.Twins, too"))
    sql("insert into nothing values (1)")
    capturing.wait_for(has_changed("public.nothing"))
    assert capturing.stop() == 0
    writing.stop()
    assert_later_tables(capturing, sql)
    assert capturing.status["warnings"] == []
    assert capturing.replay("nothing", ["id"], ["id"]) == {("1",): 1}


@pytest.mark.parametrize(
    "place",
    [
        "after_rename:3",
        pytest.param("before_join", marks=pytest.mark.slow),
        pytest.param("after_join", marks=pytest.mark.slow),
    ],
)
def test_killed_while_a_table_joins(
    capturing: Capturing, sql: Sql, server: PostgresServer, database: str, place: str
) -> None:
    sql("create table early (id int primary key)")
    capturing.configure({**capturing.replicator, "flush": {"rows": 2000}})
    capturing.once()
    sql(MAKE_LATER_TABLES)
    writing = Writing(server, database, WRITE_LATER_TABLES)
    capturing.start(TIDEMARK_FAILPOINT=place)
    assert capturing.wait() == -signal.SIGKILL
    # a COPY of twins that is landed in part, before and after the snapshot that is repeated
    sql("insert into \"Twins, too\" select i % 50, 'x' from generate_series(1, 8000) i")
    writing.stop()
    for how in (signal.SIGKILL, signal.SIGTERM):
        next_file = capturing.landing / f"ev-{count_files(capturing) + 1:010d}.jsonl.gz"
        capturing.start()
        capturing.wait_for(next_file.exists)
        capturing.stop(how)
    assert_later_tables(capturing, sql)


def test_tables_go_and_are_truncated_together(
    capturing: Capturing, sql: Sql, database: str
) -> None:
    sql(
        """
        create table a (id int primary key); create table b (id int primary key);
        create table gone (id int primary key); create table back (id int primary key);
        insert into a values (1); insert into b values (1);
        insert into gone values (1); insert into back values (1);
        """
    )
    capturing.once()
    sql(
        "insert into gone values (2); drop table gone, back; create table back (id int primary key)"
    )
    sql("insert into back values (7); truncate a, b; insert into a values (2)")
    capturing.once()
    sql("insert into back values (8)")
    # a table that is no longer selected, and is again
    capturing.configure({**capturing.replicator, "include": ["public.a", "public.back"]})
    capturing.once()
    sql("insert into b values (3)")
    capturing.configure(capturing.replicator)
    capturing.once()
    sql("delete from b; insert into b values (4)")
    capturing.once()
    wanted = {"a": [2], "b": [4], "gone": [1, 2], "back": [7, 8]}
    for table, ids in wanted.items():
        assert capturing.replay(table, ["id"], ["id"]) == {(str(id),): 1 for id in ids}, table
    assert [event["op"] for event in capturing.changes()].count("t") == 2
    capturing.assert_whole()


def test_tables_that_cannot_join(capturing: Capturing, sql: Sql, database: str) -> None:
    sql("create table t (id int primary key); create table bare (a int primary key deferrable)")
    sql("insert into bare values (1)")
    # nor with the first snapshot; a deferrable key is no identity
    assert "alter table public.bare replica identity full" in capturing.once()
    sql("update bare set a = 2; alter table bare replica identity full")
    capturing.once()
    sql("update bare set a = 3")
    sql("create table keyless (a int); insert into keyless values (1)")
    said = capturing.once()
    assert "alter table public.keyless replica identity full" in said
    # it can be written to as before
    sql("update keyless set a = 2; alter table keyless replica identity full")
    assert "Warning" not in capturing.once()
    assert capturing.replay("keyless", ["a"]) == {("2",): 1}
    assert capturing.replay("bare", ["a"]) == {("3",): 1}
    # somebody else's publication is not changed
    sql(f"drop publication {database}; create role {database}_owner superuser")
    sql(
        f"""
        create publication {database} for table t;
        alter publication {database} owner to {database}_owner;
        """
    )
    said = capturing.once()
    assert f'alter publication "{database}" add table public.keyless' in said
