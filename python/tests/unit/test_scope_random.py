"""Scoped extracts in any order, with full ones and deltas between: the log is that of loading once, in order of date.

The SQL that the macros make goes by DuckDB, with no warehouse, so that there are loads enough to meet every order.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import duckdb
import pytest

from tests.functional.cdc_oracle import Extract, replay
from tests.rendering import load_sql_macros
from tidemark.sessions.contract import crossed

COLUMNS = ("a", "b", "n")
SCOPE = ("a", "b")
KEYS = 60
MODEL = {
    "name": "shops",
    "alias": "shops",
    "schema": "main",
    "description": "",
    "columns": {name: {"name": name, "data_type": "string"} for name in ("k", *COLUMNS)},
    "config": {
        "unique_key": "k",
        "meta": {
            "tidemark": {"extract": "full", "location": "x", "scope": {"columns": list(SCOPE)}}
        },
    },
}
MACROS = load_sql_macros()
TYPES = dict.fromkeys(("k", *COLUMNS), "string")


class Shops:
    """The tables of an entity in DuckDB, loaded by the project's SQL."""

    def __init__(self, db: Any) -> None:
        self.db = db
        self.cfg = MACROS["entity_config"](MODEL)
        arrived = [{"name": name, "type": "string"} for name in TYPES]
        self.roles = MACROS["column_roles"](self.cfg, arrived, TYPES, None)
        sides = ("log", "supplied", "rejects")
        self.relations = {name: f"shops__{name}" for name in sides}
        values = ", ".join(f"{name} varchar" for name in TYPES)
        hashes = "_key_hash varchar, _row_hash varchar"
        dated = "_business_date date, _commit_id bigint"
        for sql in (
            f"staged ({values}, {hashes}, _reject_reason varchar, _raw_payload varchar)",
            f"shops__log ({values}, {hashes}, _operation varchar, _changed_columns varchar[], {dated}, _superseded_by bigint)",
            f"shops__supplied (_key_hash varchar, {dated})",
            f"shops__rejects (_reject_reason varchar, _key_hash varchar, _raw_payload varchar, {dated})",
        ):
            db.execute(f"create or replace table {sql}")
        self.loads: dict[date, dict[str, Any]] = {}
        self.commit_id = 0

    def load(self, day: date, kind: str, extract: Extract) -> None:
        """Load a date, as a run does."""
        self.commit_id += 1
        cfg = {**self.cfg, "extract": kind}
        earlier = [one for one in self.loads if one < day]
        later = [self.loads[one] for one in sorted(self.loads) if one > day]
        load = {"commit_id": self.commit_id, "business_date": str(day), "later_loads": later}
        self._stage(extract)
        existing = None
        if self.loads:
            until = str(max(earlier)) if earlier else None
            self._make("existing", MACROS["rows_at_date_sql"](self.roles, self.relations, until))
            existing = "existing"
        sql = MACROS["classified_rows_sql"](cfg, self.roles, "staged", existing, str(day))
        self._make("classified", sql)
        self._make("changed", MACROS["changed_rows_sql"]("classified"))
        rows = self._rows_to_log(cfg, load, is_late=bool(later) or day in self.loads)
        self._append(rows, day, kind)
        self.loads[day] = {**load, "extract": kind}

    def history(self) -> dict[Any, Any]:
        rows = self.db.execute(
            "select _business_date, k, _operation, a, b, n, _changed_columns from shops__log where _superseded_by is null"
        ).fetchall()
        found = {
            (row[0], row[1]): (row[2], row[3:6], tuple(row[6]) if row[6] is not None else None)
            for row in rows
        }
        assert len(found) == len(rows)
        return found

    def _stage(self, extract: Extract) -> None:
        self.db.execute("delete from staged")
        for key, row in extract.items():
            values = ("x", None, "?") if row is None else row
            reject = ("rejected", "raw") if row is None else (None, None)
            hashed = None if row is None else repr(row)
            self.db.execute(
                f"insert into staged values ({', '.join('?' * 8)})",
                (key, *values, f"h{key}", hashed, *reject),
            )

    def _make(self, name: str, sql: str) -> None:
        self.db.execute(f"create or replace table {name} as {crossed(sql)}")

    def _rows_to_log(self, cfg: Any, load: Any, *, is_late: bool) -> str:
        if not is_late:
            return "changed"
        day = load["business_date"]
        self._make("logged", MACROS["logged_rows_sql"](self.roles, self.relations, "changed", day))
        of = {"changed": "changed", "logged": "logged"}
        self._make("revised", MACROS["revised_rows_sql"](cfg, self.roles, self.relations, of, load))
        self.db.execute(
            f"update shops__log set _superseded_by = {self.commit_id} from revised where revised._supersedes = shops__log._commit_id "
            "and revised._key_hash = shops__log._key_hash and revised._business_date = shops__log._business_date"
        )
        self._make("added", "select * from revised where _supersedes is null")
        return "added"

    def _append(self, rows: str, day: date, kind: str) -> None:
        names = "k, a, b, n, _key_hash, _row_hash, _operation, _changed_columns, _business_date"
        stamp = f"date '{day}', {self.commit_id}"
        self.db.execute(
            f"insert into shops__log select {names}, {self.commit_id}, null from {rows}"
        )
        self.db.execute(
            f"insert into shops__rejects select _reject_reason, _key_hash, _raw_payload, {stamp} from classified where _operation = 'R'"
        )
        if MACROS["is_partial"](kind):
            supplied = crossed(MACROS["supplied_keys_sql"]("classified"))
            self.db.execute(f"insert into shops__supplied select *, {stamp} from ({supplied})")


@pytest.fixture
def db() -> Iterator[Any]:
    with duckdb.connect() as db:
        yield db


def random_extract(rng: random.Random, kind: str) -> Extract:
    """Rows of one or two scopes, and a reject here and there."""
    scopes = rng.sample([("x", None), ("x", "z"), ("y", None)], rng.choice([1, 1, 2]))
    if kind != "scoped":
        scopes = [("x", None), ("x", "z"), ("y", None)]
    keys = [f"k{number}" for number in range(KEYS) if rng.random() < 0.4]
    return {
        key: None if rng.random() < 0.2 else (*rng.choice(scopes), rng.choice("12")) for key in keys
    }


@pytest.mark.parametrize("seed", range(3))
def test_any_order(db: Any, seed: int) -> None:
    rng, shops = random.Random(seed), Shops(db)
    extracts: dict[date, Extract] = {}
    kinds: dict[date, str] = {}
    for step in range(12):
        day = date(2026, 1, 1) + timedelta(days=rng.randrange(6))
        kind = kinds.setdefault(
            day, rng.choice(["scoped", "scoped", "scoped", "full", "full", "delta"])
        )
        extracts[day] = random_extract(rng, kind) if rng.random() < 0.95 else {}
        shops.load(day, kind, extracts[day])
        wanted = replay(
            extracts,
            COLUMNS,
            delta={one: kinds[one] == "delta" for one in kinds},
            scope=SCOPE,
            scoped={one for one in kinds if kinds[one] == "scoped"},
        )
        assert shops.history() == wanted.history, (step, day, kinds)
