"""A mirrored database: the copy is equal row by row, whatever is killed, and history has each change once."""

from __future__ import annotations

import itertools
import json
import os
import random
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.servers import (
    MariaDbServer,
    PostgresServer,
    free_port,
    install_connectors,
    mariadb_server,
    postgres_server,
)

from .mirroring import Mirroring, MirroringHere, Row

pytestmark = pytest.mark.turn(0)

pytest.importorskip("jpype")
SEED = int(os.environ.get("TIDEMARK_TEST_SEED", "20260304"))
Sql = Callable[[str], list[list[str]]]
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    install_connectors()
    with postgres_server() as running:
        yield running


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariaDbServer]:
    install_connectors()
    with mariadb_server() as running:
        yield running


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    """A database of a test's own."""
    name = f"mirror{next(_numbers)}"
    postgres.sql(f"create database {name}", database="postgres")
    return name


@pytest.fixture
def settings(postgres: PostgresServer, database: str) -> dict[str, Any]:
    """How that database is mirrored."""
    connection = {"host": "127.0.0.1", "port": postgres.port, "database": database}
    connection |= {"user": "postgres", "password": {"env": "SHOP_PASSWORD"}}
    return {
        "connector": "postgresql",
        "connection": connection,
        "include": ["public.*"],
        "exclude": ["public.secret_*"],
        "slot": database,
        "publication": database,
        "every": "1s",
        "retry_for": "1s",
    }


@pytest.fixture
def sql(postgres: PostgresServer, database: str) -> Sql:
    return lambda text: postgres.sql(text, database)


@pytest.fixture
def mirror(
    settings: dict[str, Any], database: str, make_project: Any, tmp_path: Path
) -> Iterator[Mirroring]:
    """A mirror whose commands are processes."""
    made = Mirroring(make_project(database), tmp_path, settings)
    yield made
    made.close()


def served(rows: list[list[str]]) -> Counter[Row]:
    return Counter(tuple(row) for row in rows)


def test_operated(
    settings: dict[str, Any], database: str, sql: Sql, make_project: Callable[[str], Any]
) -> None:
    """From the first look at a source to the day that it is given up."""
    shop = MirroringHere(make_project(database), settings)
    sql(
        """
        create table customers (id int primary key, name text, balance numeric(12,3));
        create table logs (a int, b text);
        create table orders (id int primary key, note text);
        create table secret_codes (id int primary key);
        alter table logs replica identity full;
        insert into customers select i, 'name ' || i, i * 1.5 from generate_series(1, 20) i;
        insert into logs values (1, 'x'), (1, 'x'), (2, 'y');
        insert into orders values (1, 'first');
        insert into secret_codes values (1);
        """
    )
    assert "never ran" in shop.call("status", "shop")
    # the first run: models appear, the snapshot is applied
    said = shop.run_once()
    assert "the table public.customers is new: wrote models/shop/shop__customers.yml" in said
    models = {path.stem for path in (shop.root / "models" / "shop").glob("*.sql")}
    assert models == {"shop__customers", "shop__logs", "shop__orders"}
    assert shop.copy("shop__logs", "a", "b") == {("1", "x"): 2, ("2", "y"): 1}
    assert shop.copy("shop__customers", "id", "balance")["2", "3.000"] == 1
    # one table is made to fail by a hand edit, which survives; the others go on
    orders = shop.root / "models" / "shop" / "shop__orders.yml"
    edited = yaml.safe_load(orders.read_text())
    good = orders.read_text()
    edited["models"][0]["columns"] = [{"name": "note", "data_type": "int"}]
    orders.write_text(yaml.safe_dump(edited))
    sql(
        """
        insert into orders values (2, 'no number');
        update customers set name = 'Ann' where id = 1;
        update customers set id = 100 where id = 2;
        delete from customers where id = 3;
        alter table customers add column city text default 'Bern';
        insert into customers values (21, 'new', 1, 'Basel');
        insert into logs values (1, 'x');
        """
    )
    shop.run_once(code=1)
    assert yaml.safe_load(orders.read_text()) == edited
    tables = shop.tables()
    assert {name: one["state"] for name, one in tables.items()} == {
        "public.customers": "REPLICATING",
        "public.logs": "REPLICATING",
        "public.orders": "FAILING",
    }
    failing = tables["public.orders"]
    assert (failing["lag_events"], failing["failures"]) == (1, 1)
    assert "note" in failing["last_error"]
    assert "public.orders" in shop.call("status", "shop")
    columns = ("id", "name", "balance", "city")
    wanted = served(sql(f"select {', '.join(columns)} from customers"))
    assert shop.copy("shop__customers", *columns) == wanted
    # the change of the key is a delete of the old one and a move to the new one
    assert shop.logged("shop__customers") == {
        "READ": 20, "UPDATE": 1, "DELETE": 2, "MOVE_IN": 1, "INSERT": 1, "ADD_COLUMN": 19,
    }  # fmt: skip
    # mended, it catches up
    orders.write_text(good)
    shop.run_once()
    assert shop.tables()["public.orders"]["state"] == "REPLICATING"
    assert shop.copy("shop__orders", "id", "note") == {("1", "first"): 1, ("2", "no number"): 1}
    # figures
    text = shop.call("metrics", "shop")
    assert (
        'tidemark_replication_events_total{operation="r",source="shop",table="public.customers"} 20.0'
        in text
    )
    assert 'tidemark_replication_failures_total{source="shop",table="public.orders"} 1.0' in text
    rows = shop.frame("tidemark_replication").where("table_name = 'public.orders'").collect()
    assert sorted((row["state"], row["inserts"], row["reads"]) for row in rows) == [
        ("FAILING", 0, 0), ("REPLICATING", 0, 1), ("REPLICATING", 1, 0),
    ]  # fmt: skip
    # the end: nothing is left of it here, and no slot at the source
    shop.call("delete", "shop", "--with-tables", "--yes", "--target", "ci")
    assert sql("select count(*) from pg_replication_slots where slot_name like 'mirror%'") == [
        ["0"]
    ]
    assert not list(shop.landing.glob("ev-*"))
    assert not orders.exists()
    left = {path.name for path in shop.warehouse.iterdir()}
    assert not {name for name in left if name.startswith("shop__")}


@pytest.mark.slow
def test_killed_in_a_load(mirror: Mirroring, sql: Sql) -> None:
    """Kill -9 of the capture and of everything while a load runs; pause and resume."""
    shop = mirror
    rng = random.Random(SEED)
    sql(
        """
        create table accounts (id int primary key, amount bigint);
        create table twins (a int, b text);
        alter table twins replica identity full;
        insert into accounts select i, 0 from generate_series(1, 50) i;
        insert into twins values (1, 'x'), (1, 'x');
        """
    )
    counts: Counter[str] = Counter()

    def load() -> None:
        for _ in range(5):
            new = rng.randrange(50, 120)
            keys = rng.sample(range(1, 51), 5)
            first = 1000 + counts["INSERT"]
            sql(
                f"""
                begin;
                insert into accounts select i, 1 from generate_series({first}, {first + new - 1}) i;
                insert into twins select 1, 'x' from generate_series(1, {new});
                commit;
                update accounts set amount = amount + 1 where id in ({", ".join(map(str, keys))});
                delete from twins where ctid = (select ctid from twins limit 1);
                """
            )
            counts.update({"INSERT": new, "UPDATE": len(keys), "TWINS": new, "DELETE": 1})

    shop.start()
    shop.wait_for(lambda tables: bool(tables.get("public.accounts", {}).get("events")))
    load()
    shop.kill_capture()
    load()
    shop.wait_for(lambda tables: tables["public.accounts"]["lag_events"] > 0)
    shop.kill()
    load()
    shop.start()
    shop.wait_for(lambda tables: tables["public.accounts"]["events"].get("c", 0) > 0)
    shop.call("pause", "shop")
    shop.wait_for(lambda tables: {one["state"] for one in tables.values()} == {"PAUSED"})
    load()
    shop.call("resume", "shop")
    wanted = {
        ("accounts", "c"): counts["INSERT"],
        ("accounts", "u"): counts["UPDATE"],
        ("twins", "c"): counts["TWINS"],
        ("twins", "d"): counts["DELETE"],
    }
    shop.wait_for(
        lambda tables: all(
            tables[f"public.{table}"]["events"].get(operation, 0) >= count
            for (table, operation), count in wanted.items()
        )
    )
    shop.stop()

    assert shop.copy("shop__accounts", "id", "amount") == served(sql("select * from accounts"))
    assert shop.copy("shop__twins", "a", "b") == served(sql("select * from twins"))
    assert shop.logged("shop__accounts") == {
        "READ": 50, "INSERT": counts["INSERT"], "UPDATE": counts["UPDATE"],
    }  # fmt: skip
    assert shop.logged("shop__twins") == {
        "READ": 2, "INSERT": counts["TWINS"], "DELETE": counts["DELETE"],
    }  # fmt: skip


@pytest.mark.slow
def test_mariadb(mariadb: MariaDbServer, make_project: Any, tmp_path: Path) -> None:
    """DDL in the middle of a load, by the server's own events; metrics over HTTP."""
    name = f"mirror{next(_numbers)}"
    mariadb.sql(f"create database {name} character set utf8mb4", database="")
    connection = {"host": "127.0.0.1", "port": mariadb.port, "database": name}
    connection |= {"user": "tidemark", "password": {"env": "SHOP_PASSWORD"}}
    shop = Mirroring(
        make_project(name),
        tmp_path,
        {
            "connector": "mariadb",
            "connection": connection,
            "include": [f"{name}.*"],
            "ddl": {"drop_column": "apply"},
            "every": "1s",
        },
    )
    mariadb.sql(
        """
        create table customers (id int primary key, name varchar(20), old int);
        insert into customers values (1, 'alice', 1), (2, 'bob', 2);
        """,
        name,
    )
    port = free_port()
    shop.call("start", "shop", "--background", "--metrics-port", str(port), "-t", "ci")
    try:
        shop.wait_for(lambda tables: bool(tables.get(f"{name}.customers", {}).get("events")))
        mariadb.sql(
            """
            insert into customers values (3, 'eve', 3);
            alter table customers add column city varchar(20) default 'Bern';
            update customers set city = 'Basel' where id = 1;
            alter table customers change name full_name varchar(30);
            insert into customers values (4, 'zoe', 4, 'Chur');
            alter table customers drop column old;
            delete from customers where id = 2;
            create table late (id int primary key, v text);
            insert into late values (1, 'a');
            """,
            name,
        )
        shop.wait_for(lambda tables: bool(tables.get(f"{name}.late", {}).get("events")))
        shop.wait_for(lambda tables: tables[f"{name}.customers"]["lag_events"] == 0)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            assert "tidemark_replication_lag_seconds" in answer.read().decode()
        assert json.loads(shop.call("status", "shop", "--json"))["running"]
        refused = shop.call("start", "shop", "--background", code=2)
        assert "in operation already" in refused
    finally:
        shop.call("stop", "shop")
    columns = ("id", "full_name", "city")
    wanted = served(mariadb.sql(f"select {', '.join(columns)} from customers", name))
    assert shop.copy("shop__customers", *columns) == wanted
    assert "old" not in shop.frame("shop__customers").columns
    assert shop.copy("shop__late", "id", "v") == {("1", "a"): 1}


@pytest.mark.slow
def test_tables_that_come_later(mirror: Mirroring, sql: Sql, monkeypatch: Any) -> None:
    """Their rows are read while they change, twice where capture is killed: each is there once."""
    shop = mirror
    sql("create table early (id int primary key, n int); insert into early values (1, 0), (2, 0)")
    shop.run_once()
    sql(
        """
        create table later (id int primary key, n int);
        create table twins (a int, b text);
        alter table twins replica identity full;
        insert into later select i, 0 from generate_series(1, 500) i;
        insert into twins select i % 5, 'x' from generate_series(1, 500) i;
        """
    )
    # the rows have landed, and that they have was not noted yet
    monkeypatch.setenv("TIDEMARK_FAILPOINT", "before_join")
    shop.run_once(code=1)
    monkeypatch.delenv("TIDEMARK_FAILPOINT")
    sql(
        """
        insert into twins select i % 5, 'x' from generate_series(1, 50) i;
        delete from later where id <= 100; insert into later values (1000, 1);
        update early set n = 1 where id = 1;
        """
    )
    shop.run_once()
    sql(
        """
        update twins set b = 'y' where ctid in (select ctid from twins where a = 2 limit 7);
        delete from twins where a = 3; update later set n = n + 1 where id < 150;
        """
    )
    shop.run_once()
    for table, columns in (("early", "id, n"), ("later", "id, n"), ("twins", "a, b")):
        wanted = served(sql(f"select {columns} from {table}"))
        assert shop.copy(f"shop__{table}", *columns.split(", ")) == wanted, table
    # what stood before the snapshot of others is as it was
    assert shop.logged("shop__early") == {"READ": 2, "UPDATE": 1}
