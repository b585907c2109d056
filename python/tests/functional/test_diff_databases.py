"""`tidemark diff` between tables of real databases and of the warehouse, which no Spark writes."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from click.testing import CliRunner
from deltalake import write_deltalake

from tests.servers import QUICK_JAVA, install_connectors, mariadb_server, postgres_server
from tests.stored import stand_in
from tidemark import cli

pytest.importorskip("jpype")

pytestmark = [pytest.mark.one_way, pytest.mark.turn(2)]

NAN = float("nan")
MORNING = dt.datetime(2024, 2, 29, 12, 34, 56, 789123)
SCHEMA = pa.schema([
    ("id", pa.int64()), ("b", pa.bool_()), ("n", pa.decimal128(20, 6)), ("f", pa.float64()),
    ("t", pa.string()), ("d", pa.date32()), ("at", pa.timestamp("us", "UTC")), ("by", pa.binary()),
])  # fmt: skip
ROWS: list[dict[str, Any]] = [
    {"id": 1, "b": True, "n": Decimal("1.500000"), "f": 0.1, "t": "é😀\n'", "d": MORNING.date(), "at": MORNING, "by": b"\x00\xff"},
    {"id": 2, "b": False, "n": Decimal("-0.000001"), "f": 0.0, "t": "", "d": dt.date(1600, 1, 1), "at": dt.datetime(1969, 12, 31), "by": b""},
    {"id": 3, "f": 1e300},
    {"id": 4, "t": "here alone"},
]  # fmt: skip
POSTGRES = r"""
create table kinds (id int primary key, b boolean, n numeric(12,3), f double precision, t text, d date, at timestamptz, by bytea, iv interval);
insert into kinds values
    (1, true, 1.5, 0.1, E'é😀\n''', '2024-02-29', '2024-02-29 13:34:56.789123+01', '\x00ff', '1 day'),
    (2, false, -0.000001, '-0', '', '1600-01-01', '1969-12-31 00:00:00+00', '', null),
    (3, null, null, 1e300, 'there', null, null, null, null),
    (5, true, null, 'NaN', null, null, null, null, null);
alter table kinds alter n type numeric(20,8);
update kinds set n = -0.00000100 where id = 2;
"""  # fmt: skip
MARIADB = r"""
set names utf8mb4;
create table kinds (id int primary key, b boolean, n decimal(20,8), f double, t text, d date, at datetime(6), `by` varbinary(10), g point);
insert into kinds values
    (1, true, 1.5, 0.1, 'é😀\n''', '2024-02-29', '2024-02-29 12:34:56.789123', x'00ff', point(1, 2)),
    (2, false, -0.00000100, -0.0, '', '1600-01-01', '1969-12-31 00:00:00', '', null),
    (3, null, null, 1e300, 'there', null, null, null, null),
    (5, true, null, 7, null, null, null, null, null);
"""  # fmt: skip


def diff(*arguments: str, code: int) -> Any:
    result = CliRunner().invoke(cli.cli, ["diff", *arguments, "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)["tables"][0] if code != 1 else result.output


def run_the_story(shop: Path, source: str, table: str, odd: dict[str, str]) -> None:
    """Equal but for a value, and a row of each side alone; from either side."""
    write_deltalake(str(shop / "warehouse/shop.db/copy"), pa.Table.from_pylist(ROWS, SCHEMA))
    name = f"{source}:{table}"
    found = diff(name, "copy", "--key", "id", code=2)
    assert (found["rows_in_a"], found["rows_in_b"]) == (4, 4)
    assert [found[one] for one in ("only_in_a", "only_in_b", "different", "same")] == [1, 1, 1, 2]
    assert found["columns"] == [{"column": "t", "cells": 1}]
    assert found["not_compared"] == odd
    samples = {one["key"]["id"]: one for one in found["samples"]}
    assert samples["3"]["cells"] == [{"column": "t", "a": "there", "b": None, "hidden": False}]
    assert samples["4"]["kind"] == "only_in_b" and samples["5"]["kind"] == "only_in_a"

    back = diff("copy", name, "--key", "id", "--ignore", "t", code=2)
    assert [back[one] for one in ("only_in_a", "only_in_b", "different", "same")] == [1, 1, 0, 3]
    assert back["not_compared"]["t"] == "ignored"
    assert "the key (d) is NULL in 2 rows" in diff(name, "copy", "--key", "d", code=1)
    assert "has no table" in diff(f"{name}s", "copy", "--key", "id", code=1)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install_connectors()
    stand_in(tmp_path, monkeypatch)
    monkeypatch.setenv("SHOP_PASSWORD", "secret")
    for name, value in QUICK_JAVA.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def mirror(shop: Path, connector: str, port: int, user: str, **more: str) -> None:
    """Say of a source how it is reached."""
    place = {"host": "127.0.0.1", "port": port, "user": user, "password": {"env": "SHOP_PASSWORD"}}
    settings = {"connector": connector, "connection": {**place, **more}, "location": "landing"}
    meta = {"tidemark": {"replicator": settings}}
    content = {"sources": [{"name": connector, "config": {"meta": meta}}]}
    (shop / "models").mkdir(exist_ok=True)
    (shop / "models/_source.yml").write_text(yaml.safe_dump(content))


def test_postgres(shop: Path) -> None:
    with postgres_server() as server:
        server.sql(POSTGRES)
        mirror(shop, "postgresql", server.port, "postgres", database="shop")
        run_the_story(shop, "postgresql", "public.kinds", {"iv": "only A has it"})


def test_mariadb(shop: Path) -> None:
    with mariadb_server() as server:
        server.sql(MARIADB)
        mirror(shop, "mariadb", server.port, "tidemark")
        odd = {"b": "tinyint, stored as boolean", "g": "only A has it"}
        run_the_story(shop, "mariadb", "shop.kinds", odd)
