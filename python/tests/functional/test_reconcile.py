"""Copies compared with real databases: equal after replication, damaged, found, and repaired."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Project
from tests.functional.capturing import MARIADB_DEFAULTS, POSTGRES_DEFAULTS, Defaults
from tests.servers import QUICK_JAVA, install_connectors, mariadb_server, postgres_server

from .mirroring import call_here

pytest.importorskip("jpype")

POSTGRES_TABLES = """
create type mood as enum ('sad', 'happy');
create table kinds (
    id int primary key, b boolean, i2 smallint, i8 bigint, n numeric, n2 numeric(12,3),
    n10 numeric(20,10), f4 real, f8 double precision, t text, c char(5), d date, ts timestamp,
    ts3 timestamp(3), tz timestamptz, ti time, by bytea, u uuid, j json, jb jsonb, ai int[],
    at text[], an numeric(8,2)[], ats timestamp[], m mood, ip inet, b1 bit(1), iv interval
);
create table people (id int primary key, name text, balance numeric(8,2));
create table twins (a int, t text, n numeric(6,2));
alter table twins replica identity full;
create table nothing (id int primary key);
insert into people select i, 'p' || i, i * 1.5 from generate_series(1, 2000) i;
insert into twins values (1, 'x', 1.5), (1, 'x', 1.50), (1, 'y', null), (null, '', null);
"""
# rows of kinds: %s is added to the key, as they come by the snapshot and once more by the log
POSTGRES_KINDS = r"""
insert into kinds (id) values (%s + 0);
insert into kinds values (
    %s + 1, true, -5, 9223372036854775807, 1.50, 1.5, 0.0000000001, 0.1, 0.1, '', 'ab',
    '2024-02-29', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789',
    '2024-02-29 12:34:56.789123+02', '24:00:00', '\x00ff10',
    'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '{"b" : 1,  "a":2}', '{"b" : 1,  "a":2.50}',
    '{1,null,3}', '{a,null,"","ü,{;"}', '{1.50,null}', '{2024-01-01 00:00:00.5}', 'happy',
    '10.0.0.1', '1', '1 day'
);
insert into kinds (id, n, n2, n10, f4, f8, t, d, ts, tz, ti, ai, jb) values
    (%s + 2, 'NaN', -0.000, -0.0000000123, 'NaN', 'NaN', E'é😀\n\t\\"''', '0001-01-01',
     '1600-01-01', '1583-01-01 00:00+00', '00:00:00', '{}', 'null'),
    (%s + 3, 0.0000000001, 1, 1234567890.5, '-0', '-0', ' ', '9999-12-31',
     '9999-12-31 23:59:59.999999', '9999-12-31 23:59:59.999999+00', '00:00:00.000001', '{2}', '""'),
    (%s + 4, 123456789012345678901234567890.123, 0, 100, 'infinity', '-infinity', 'NULL',
     '1900-01-01', '1969-12-31 23:59:59.999999', '1883-01-01 00:00:00.000001',
     '23:59:59.999999', null, '[]'),
    (%s + 5, 1e10, 100, 0, 1e-40, 5e-324, repeat('x', 5000), null, null, null, null, null, null),
    (%s + 6, -7, -1.1, -1, 3.4e38, 1.7976931348623157e308, '', null, null, null, null, null, null);
insert into kinds (id, n) values (%s + 7, 'infinity'), (%s + 8, '-infinity');
"""
MARIADB_TABLES = r"""
create table kinds (
    id int primary key, b boolean, b1 bit(1), u1 tinyint unsigned, i8 bigint, u8 bigint unsigned,
    n decimal(12,3), n10 decimal(30,10), f8 double, t text, c char(5),
    l varchar(20) character set latin1, d date, dt datetime, dt6 datetime(6), ts timestamp(3) null,
    ti time, ti6 time(6), y year, bi binary(4), vb varbinary(10), bl blob, e enum('sad','happy'),
    s set('a','b'), j json, g point
);
create table people (id int primary key, name text, balance decimal(8,2));
create table twins (a int, t text, n decimal(6,2));
insert into people select seq, concat('p', seq), seq * 1.5 from seq_1_to_2000;
insert into twins values (1, 'x', 1.5), (1, 'x', 1.50), (1, 'y', null), (null, '', null);
"""
MARIADB_KINDS = r"""
insert into kinds (id) values (%s + 0);
insert into kinds values (
    %s + 1, true, b'1', 200, -9223372036854775808, 18446744073709551615, 1.5, 0.0000000001, 0.1,
    '', 'ab ', 'é', '2024-02-29', '2024-02-29 12:34:56', '2024-02-29 12:34:56.789',
    '2024-02-29 12:34:56.789', '-01:02:03', '838:59:58.999999', 2024, x'00ff', x'00ff00',
    x'00ff10', 'happy', 'a,b', '{"b" : 1,  "a":2.50}', point(1, 2)
);
insert into kinds (id, n, n10, f8, t, d, dt6, ti6) values
    (%s + 2, -0.001, 12345678901234567890.5, 1e300, 'é\n\t\\"''', '1000-01-01',
     '1000-01-01 00:00:00', '-00:00:00.5'),
    (%s + 3, 0, -0.0000000123, 5e-324, ' ', '9999-12-31', '9999-12-31 23:59:59.999999', null),
    (%s + 4, 100, 0, -1.7976931348623157e308, 'NULL', '1900-01-01', '1969-12-31 23:59:59.999999',
     null),
    (%s + 5, null, null, 0.30000000000000004, repeat('x', 5000), null, null, null),
    (%s + 6, null, null, -2.2250738585072014e-308, null, null, null, null),
    (%s + 7, null, null, -0.0, null, null, null, null);
"""
CHANGES = """
update people set name = 'changed' where id = 1;
delete from people where id = 2;
update people set name = 'kept' where id = 6;
insert into people values (3000, null, null);
insert into twins values (1, 'x', 1.5);
delete from twins where t = 'y';
"""


@dataclass
class Shop:
    """A project that mirrors a database."""

    project: Project
    sql: Callable[[str], list[list[str]]]
    schema: str

    @property
    def landing(self) -> Path:
        return self.project.root / "landing"

    def replicator(self, *arguments: str, code: int = 0) -> str:
        """Run a command of `tidemark replicator` in this process; return what it printed."""
        command, *more = arguments
        return call_here(self.project.root, command, "shop", *more, "--target", "ci", code=code)

    def reconcile(self, *options: str, code: int = 0) -> dict[str, Any]:
        """Compare; what was found, by table."""
        content = json.loads(self.replicator("reconcile", "--json", *options, code=code))
        return {
            name: {table["table"].rpartition(".")[2]: table for table in content.get(name, [])}
            for name in ("tables", "before_repair")
        }

    def capture(self) -> None:
        """Land what the source has, and do not apply it."""
        done = subprocess.run(
            [sys.executable, "-m", "tidemark.cli", "capture", "shop", "--once"],
            cwd=self.project.root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def files(self) -> list[Path]:
        """The landing files, in order."""
        return sorted(self.landing.glob("ev-*.jsonl.gz"))

    def lose(self, after: int, is_lost: Callable[[str, dict[str, Any]], bool]) -> int:
        """Take events out of the files after one, as if they had never come."""
        lost = 0
        for path in self.files()[after:]:
            kept = []
            for line in gzip.decompress(path.read_bytes()).splitlines(keepends=True):
                payload = json.loads(line)["value"]["payload"]
                if payload.get("op") and is_lost(payload["source"]["table"], payload):
                    lost += 1
                else:
                    kept.append(line)
            path.write_bytes(gzip.compress(b"".join(kept)))
        return lost


@contextmanager
def mirrored(project: Project, sql: Any, settings: dict[str, Any], schema: str) -> Iterator[Shop]:
    """A project with the source `shop`."""
    settings = {**settings, "location": "landing", "include": [f"{schema}.*"]}
    meta = {"tidemark": {"replicator": settings}}
    source = {"sources": [{"name": "shop", "config": {"meta": meta}}]}
    project.write("models/shop/_shop__source.yml", yaml.safe_dump(source))
    with pytest.MonkeyPatch.context() as patch:
        # what the command would set for good
        patch.setenv("DBT_LOG_PATH", str(project.root / "logs"))
        patch.setenv("DBT_TARGET_PATH", str(project.root / "target"))
        patch.setenv("SHOP_PASSWORD", "secret")
        patch.setenv("TIDEMARK_SCHEMA", project.schema)
        patch.setenv("TIDEMARK_HOME", os.environ["TIDEMARK_HOME"])
        for name, value in QUICK_JAVA.items():
            patch.setenv(name, value)
        yield Shop(project, sql, schema)


def connection(port: int, user: str, **more: Any) -> dict[str, Any]:
    place = {"host": "127.0.0.1", "port": port, "user": user, **more}
    return {**place, "password": {"env": "SHOP_PASSWORD"}}


def rows_of(text: str, start: int) -> str:
    return text.replace("%s", str(start))


def keys(examples: list[dict[str, Any]]) -> dict[str, set[str]]:
    """The keys of examples by what they are."""
    found: dict[str, set[str]] = {}
    for example in examples:
        found.setdefault(example["kind"], set()).add(example["key"]["id"])
    return found


@pytest.mark.slow
def test_found_and_repaired(project: Project) -> None:
    """The story of two tables, with a key and without one."""
    install_connectors()
    with postgres_server() as server:
        place = connection(server.port, "postgres", database="shop")
        settings = {"connector": "postgresql", "connection": place}
        with mirrored(project, server.sql, settings, "public") as shop:
            shop.sql(POSTGRES_TABLES + "drop table kinds, nothing;")
            run_the_story(shop)


@pytest.mark.slow
def test_postgres(project: Project) -> None:
    install_connectors()
    with postgres_server() as server:
        place = connection(server.port, "postgres", database="shop")
        settings = {"connector": "postgresql", "connection": place}
        with mirrored(project, server.sql, settings, "public") as shop:
            defaults = Defaults(POSTGRES_DEFAULTS)
            shop.sql(POSTGRES_TABLES + rows_of(POSTGRES_KINDS, 0) + defaults.create())
            run_the_story(shop, Kinds(POSTGRES_KINDS, 9, {"iv": "interval"}, defaults))
            refusals(shop)
            # capture goes on after the files of the repair
            shop.sql("delete from people where id = 3000; insert into twins values (7, 'after', 7)")
            shop.replicator("run-once")
            assert shop.reconcile()["tables"]["people"]["rows_here"] == 1999


@pytest.mark.slow
def test_mariadb(project: Project) -> None:
    install_connectors()
    with mariadb_server() as server:
        settings = {"connector": "mariadb", "connection": connection(server.port, "tidemark")}
        with mirrored(project, server.sql, settings, "shop") as shop:
            defaults = Defaults(MARIADB_DEFAULTS)
            shop.sql(MARIADB_TABLES + rows_of(MARIADB_KINDS, 0) + defaults.create())
            run_the_story(shop, Kinds(MARIADB_KINDS, 8, {"g": "point"}, defaults))


@dataclass
class Kinds:
    """Tables with columns of every type, and of every default."""

    rows: str
    count: int
    left_out: dict[str, str]
    defaults: Defaults


def run_the_story(shop: Shop, kinds: Kinds | None = None) -> None:
    """Equal, then damaged in every way, found, repaired, and equal again."""
    # day 1: the snapshot, all values of all types
    shop.replicator("run-once")
    tables = shop.reconcile()["tables"]
    assert [tables[name]["source_rows"] for name in ("people", "twins")] == [2000, 4]
    if kinds:
        assert tables["kinds"]["left_out"] == kinds.left_out
        assert tables["kinds"]["source_rows"] == kinds.count
        # NULLs where columns have defaults are NULLs
        assert tables["defaults"]["equal"] and tables["defaults"]["source_rows"] == 2
    # day 2: changes of which some get lost on the way, and two rows of the copy itself
    landed = len(shop.files())
    shop.sql(CHANGES)
    if kinds:
        shop.sql(rows_of(kinds.rows, 100) + kinds.defaults.change())
    shop.capture()
    lost = shop.lose(
        landed,
        lambda table, event: (
            table == "twins"
            or (table == "people" and (event["after"] or event["before"])["id"] != 6)
        ),
    )
    assert lost == 5
    people = next(path.stem for path in shop.project.root.glob("models/shop/*people.yml"))
    shop.project.sql(f"delete from {people} where id = 3")
    shop.project.sql(f"update {people} set balance = 0 where id = 4")
    if kinds:
        others = people.removesuffix("people")
        shop.project.sql(f"update {others}kinds set i8 = 0 where id = 1")
        # as a copy that an older version captured has it
        shop.project.sql(f"update {others}defaults set c5 = 7 where id = 2")
    found = shop.reconcile("--settle", "0.1", "--repair", "--examples", "10", "--buckets", "8")
    # what had landed and not been applied at the first look is no difference
    before = found["before_repair"]
    if kinds:
        assert keys(before["kinds"]["examples"]) == {"different": {"1"}}
        assert before["kinds"]["rows_here"] == 2 * kinds.count
        assert keys(before["defaults"]["examples"]) == {"different": {"2"}}
        assert before["defaults"]["rows_here"] == 3
    assert keys(before["people"]["examples"]) == {
        "missing": {"3", "3000"},
        "surplus": {"2"},
        "different": {"1", "4"},
    }
    columns = {one["key"]["id"]: one["columns"] for one in before["people"]["examples"]}
    assert (columns["1"], columns["4"]) == (
        {"name": ["changed", "p1"]},
        {"balance": ["6", "0"]},
    )
    twins = {one["kind"]: one["key"] for one in before["twins"]["examples"]}
    assert twins == {
        "missing": {"a": "1", "t": "x", "n": "1.5"},
        "surplus": {"a": "1", "t": "y", "n": None},
    }
    # repaired, by one event each, which the history has once
    tables = found["tables"]
    assert all(table["equal"] for table in tables.values())
    repaired = {"people": 5, "twins": 2, **({"defaults": 1, "kinds": 1} if kinds else {})}
    assert {name: one["repaired"] for name, one in tables.items() if one["repaired"]} == repaired
    landed = [gzip.decompress(path.read_bytes()).count(b'"_id":"repair:') for path in shop.files()]
    assert sum(landed) == sum(repaired.values())
    # a sequence number is that of the file and of the line, 32 bits each
    first = next(number for number, count in enumerate(landed) if count)
    repairs = f"_sequence_num > {first << 32}"
    assert rows(shop, f"select id, _operation from {people}__history where {repairs}") == [
        (1, "U"),
        (2, "D"),
        (3, "I"),
        (4, "U"),
        (3000, "I"),
    ]
    twins_model = people.removesuffix("people") + "twins"
    assert rows(shop, f"select t, _operation from {twins_model}__history where {repairs}") == [
        ("x", "I"),
        ("y", "D"),
    ]


def rows(shop: Shop, query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in shop.project.sql(query))


def refusals(shop: Shop) -> None:
    """What cannot be compared says why."""
    from tidemark.replicator.state import ReplicatorState

    assert "does not mirror" in shop.replicator("reconcile", "--table", "no.table", code=2)
    state = ReplicatorState(shop.landing)
    state.open()
    assert "tidemark replicator stop shop" in shop.replicator("reconcile", code=2)
    state.pause()
    assert "--repair applies" in shop.replicator("reconcile", "--repair", code=2)
    # a paused process leaves both sides alone
    shop.reconcile("--table", f"{shop.schema}.twins")
    state.resume()
    state.close()
