"""Capture of a real MariaDB: each change lands exactly once, whatever is killed or stopped."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.capturing import (
    MARIADB_DEFAULTS,
    Capturing,
    Defaults,
    Sql,
    capturing_source,
    rows,
)
from tests.servers import MariaDbServer, install_connectors, mariadb_server

pytestmark = pytest.mark.turn(2)

pytest.importorskip("jpype")


@pytest.fixture(scope="module")
def server() -> Iterator[MariaDbServer]:
    install_connectors()
    with mariadb_server() as running:
        yield running


_numbers = itertools.count(1)


@pytest.fixture
def database(server: MariaDbServer) -> str:
    """A database of a test's own."""
    name = f"shop{next(_numbers)}"
    server.sql(f"create database {name} character set utf8mb4", database="")
    return name


@pytest.fixture
def capturing(server: MariaDbServer, database: str, tmp_path: Path) -> Iterator[Capturing]:
    with capturing_source(
        tmp_path,
        "mariadb",
        {"port": server.port, "user": "tidemark"},
        include=[f"{database}.*"],
    ) as capture:
        yield capture


@pytest.fixture
def sql(server: MariaDbServer, database: str) -> Sql:
    return lambda text: server.sql(text, database)


def test_story(capturing: Capturing, sql: Sql, database: str) -> None:
    defaults = Defaults(MARIADB_DEFAULTS)
    sql(
        defaults.create()
        + f"""
        create table customers (id int primary key, name varchar(20), balance decimal(12,3));
        create table logs (a int, b varchar(5));
        insert into customers values (1, 'alice', 1.5), (2, 'bob', 2);
        insert into logs values (1, 'x'), (1, 'x');
        create user poor identified by 'secret';
        grant select on {database}.* to poor;
        """
    )
    # what stands in the way is told; each suggestion mends it
    capturing.replicator["connection"]["user"] = "poor"
    capturing.configure(capturing.replicator)
    sql("set global binlog_format = 'MIXED'")
    try:
        report = capturing.validate(1)
        errors = [finding for finding in report["findings"] if finding["severity"] == "error"]
        assert len(errors) == 2
        for finding in errors:
            sql(finding["suggestion"].partition("; set it in")[0])
    finally:
        sql("set global binlog_format = 'ROW'")
    assert capturing.validate(0)["valid"] is True
    # a user with no more rights than these captures
    # day 1: the snapshot
    capturing.once()
    assert [event["op"] for event in capturing.events()] == ["r"] * 6
    defaults.assert_landed(capturing, changed=False)
    # day 2: every kind of change
    sql(
        """
        insert into customers values (3, 'eve', 3);
        update customers set name = 'Bob' where id = 2;
        update customers set id = 10 where id = 1;
        delete from customers where id = 3;
        begin; insert into logs values (2, 'y'), (2, 'y'); update logs set b = 'z' where a = 1; commit;
        begin; insert into logs values (3, 'n'); rollback;
        """
        + defaults.change()
    )
    capturing.once()
    defaults.assert_landed(capturing, changed=True)
    assert "".join(event["op"] for event in capturing.changes()) == "cudcdccuucu"
    assert capturing.replay("customers", ["id", "name", "balance"], ["id"]) == rows(
        sql("select * from customers")
    )
    # day 3: schema changes, and nothing of the day before again
    sql(
        """
        alter table customers add column phone varchar(9) default '1';
        update customers set phone = '2' where id = 2;
        truncate logs;
        insert into logs values (9, 'a');
        create table copied as select id, name from customers;
        rename table copied to renamed;
        drop table renamed;
        """
    )
    capturing.once()
    capturing.once()
    # the rows of a created copy are in the transaction of its DDL
    assert [event["op"] for event in capturing.changes()][11:] == ["u", "t", "c", "c", "c"]
    assert capturing.replay("logs", ["a", "b"]) == rows(sql("select * from logs"))
    ddl = [
        line["value"]["payload"]["ddl"].split()[:2]
        for line in capturing.lines()
        if "ddl" in line["value"]["payload"] and not line["value"]["payload"]["source"]["snapshot"]
    ]
    assert [words[0].lower() for words in ddl] == ["alter", "create", "rename", "drop"]
    capturing.assert_whole()
    assert capturing.status["state"] == "STOPPED"


@pytest.mark.parametrize(
    ("scale", "snapshot", "failpoint"),
    [
        (1, "initial", "after_rename"),
        pytest.param(3, "initial", "after_rename", marks=pytest.mark.slow),
        pytest.param(1, "no_data", "after_mark", marks=pytest.mark.slow),
    ],
)
def test_killed_and_stopped_in_a_load(
    capturing: Capturing,
    sql: Sql,
    server: MariaDbServer,
    database: str,
    scale: int,
    snapshot: str,
    failpoint: str,
) -> None:
    """From the first changes on: equal rows of one transaction, small ones, and DDL between them."""
    sql(
        """
        create table twins (a int, b varchar(5));
        create table small (id int primary key, n int default 0);
        """
    )
    replicator = {**capturing.replicator, "snapshot": snapshot}
    if snapshot == "initial":
        sql("insert into twins values (0, 'x')")
    # the snapshot lands, in one file also where it takes long, and then the first changes do, before their position is kept
    capturing.configure({**replicator, "flush": {"rows": 300, "seconds": 5}})
    capturing.start(TIDEMARK_FAILPOINT=f"{failpoint}:2")
    capturing.wait_until_replicating()
    sql("insert into small values (-1, 0)")
    assert capturing.wait() == -signal.SIGKILL
    capturing.configure({**replicator, "flush": {"rows": 300, "seconds": 0.2}})
    sql("insert into small values (-2, 0)")
    copied, transactions = 4000 * scale, 500 * scale
    sql(f"insert into twins select seq % 50, 'x' from seq_1_to_{copied}")
    client = server.client(database)
    assert client.stdin is not None
    for number in range(transactions):
        client.stdin.write(
            f"insert into small values ({number}, 0); "
            f"update small set n = n + 1 where id <= {number} and id > {number - 2};\n"
        )
        if number % 200 == 100:
            # the log goes on in another file, and the table gets another column
            client.stdin.write(f"flush binary logs; alter table small add column c{number} int;\n")
            client.stdin.write(f"alter table small drop column c{number};\n")
    client.stdin.close()
    for how, seen in (
        # within the large transaction, within it again, among the small ones
        (signal.SIGKILL, copied // 8),
        (signal.SIGTERM, copied // 2),
        (signal.SIGKILL, copied + transactions),
    ):
        capturing.start()
        capturing.wait_for_events(seen)
        capturing.stop(how)
    client.wait(60)
    sql("update twins set b = 'z' where a = 3")
    updates = int(sql("select count(*) from twins where b = 'z'")[0][0])
    capturing.once()
    # the first small transaction updates its own row and the one of -1
    assert len(capturing.changes()) == 2 + copied + 3 * transactions + updates
    assert capturing.replay("small", ["id", "n"], ["id"]) == rows(sql("select * from small"))
    if snapshot == "initial":
        assert capturing.replay("twins", ["a", "b"]) == rows(sql("select * from twins"))
    capturing.assert_whole()


@pytest.mark.slow
def test_open_transactions(
    capturing: Capturing, sql: Sql, server: MariaDbServer, database: str
) -> None:
    sql("create table t (id int auto_increment primary key, who varchar(20))")
    capturing.once()
    expected = 0
    for number in range(2):
        clients = [server.client(database) for _ in range(3)]
        capturing.start()
        capturing.wait_until_replicating()
        for client in clients:
            assert client.stdin is not None
            client.stdin.write(f"begin; insert into t (who) values ('a{number}'), ('b{number}');\n")
            client.stdin.flush()
        sql("insert into t (who) select 'between' from seq_1_to_50")
        capturing.wait_for_events(expected + 50)
        capturing.stop(signal.SIGTERM if number else signal.SIGKILL)
        for client in reversed(clients):
            client.communicate(f"insert into t (who) values ('c{number}'); commit;\n")
        expected += 50 + 9
    capturing.once()
    assert len(capturing.changes()) == expected
    assert capturing.replay("t", ["id", "who"], ["id"]) == rows(sql("select * from t"))
    capturing.assert_whole()


@pytest.mark.slow
def test_server_restarts(capturing: Capturing, sql: Sql, server: MariaDbServer) -> None:
    sql("create table t (id int primary key)")
    capturing.start()
    capturing.wait_until_replicating()
    sql("insert into t select seq from seq_1_to_100")
    capturing.wait_for_events(100)
    server.stop()
    capturing.wait_for(lambda: capturing.status["state"] == "FAILING")
    server.start()
    sql("insert into t select seq from seq_101_to_150")
    capturing.wait_for_events(150)
    assert capturing.stop() == 0
    assert len(capturing.changes()) == 150
    capturing.assert_whole()


@pytest.mark.slow
def test_killed_in_the_snapshot(capturing: Capturing, sql: Sql) -> None:
    sql("create table t (id int primary key); insert into t select seq from seq_1_to_20000")
    capturing.configure({**capturing.replicator, "flush": {"rows": 1000}})
    capturing.start()
    capturing.wait_for(lambda: len(list(capturing.landing.glob("ev-*"))) >= 3)
    capturing.stop(signal.SIGKILL)
    sql("delete from t where id <= 100; insert into t values (0)")
    capturing.once()
    assert capturing.replay("t", ["id"], ["id"]) == rows(sql("select * from t"))
    capturing.assert_whole()


@pytest.mark.slow
@pytest.mark.parametrize("purge", ["purge binary logs to '{last}'", "reset master"])
def test_lost_positions_and_logs(capturing: Capturing, sql: Sql, purge: str) -> None:
    sql("create table t (id int primary key); insert into t values (1)")
    sql("create table never (id int primary key)")
    capturing.once()
    sql("flush binary logs; insert into t values (2)")
    capturing.once()
    # torn by a kill: the copies count, and of those the newest that is whole
    state = capturing.landing / "_state"
    (state / "offsets.dat").write_bytes((state / "offsets.dat").read_bytes()[:100])
    with (state / "schema_history.dat").open("ab") as history:
        history.write(b'{"source": {"torn')
    newest = sorted(state.glob("offsets.0*"))[-1]
    newest.write_bytes(newest.read_bytes()[:50])
    sql("insert into t values (3)")
    capturing.once()
    assert [event["after"]["id"] for event in capturing.changes()] == [2, 3]
    # while capture is stopped, the log with a change goes
    sql("insert into t values (4); flush binary logs; insert into t values (5); flush binary logs")
    purge_log(sql, purge.format(last=sql("show master status")[0][0]))
    # as many transactions as there were: their ids are given again after a reset
    sql("".join(f"insert into t values ({number});" for number in range(100, 160)))
    before = list(capturing.lines())
    said = capturing.once(code=1)
    assert "changes are missing" in said.lower() and "--resnapshot" in said, said
    assert "Traceback" not in said
    # nothing after the gap is landed as if there was none
    assert list(capturing.lines()) == before
    # where all positions are lost, nothing is landed either
    for path in state.glob("offsets.0*"):
        path.unlink()
    said = capturing.once(code=1)
    assert "--resnapshot" in said and "Traceback" not in said
    assert list(capturing.lines()) == before
    capturing.once("--resnapshot")
    assert capturing.ends() == [("never", False), ("never", False), ("t", True)]
    sql("insert into t values (6)")
    capturing.once()
    assert capturing.replay("t", ["id"], ["id"]) == rows(sql("select * from t"))
    capturing.assert_whole()


def purge_log(sql: Sql, statement: str) -> None:
    """Purge the log up to its last file: the server keeps those that it still sends to somebody."""
    until = time.monotonic() + 60
    sql(statement)
    while len(sql("show binary logs")) > 1:
        assert time.monotonic() < until
        time.sleep(0.1)
        sql(statement)
