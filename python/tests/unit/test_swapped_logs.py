"""A new log takes the place of the old one, wherever a run has died on the way."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from dbt.adapters.spark.relation import SparkRelation

from tests.macros import load_macros, warehouse_of
from tidemark.errors import ConfigError
from tidemark.pipeline import applying, mending, opening, tables

CURRENT = SparkRelation.create(schema="shop", identifier="people")
NUMBER = 260101000000000
COLUMNS = [
    {"name": "id", "type": "int", "role": "key", "sensitive": False},
    {"name": "phone", "type": "string", "role": "compared", "sensitive": True},
]


class Died(Exception):
    """The run is killed."""


class Catalogue:
    """Tables by name: what made each. Statements that Spark refuses are errors here too."""

    def __init__(self, tables: dict[str, str]) -> None:
        self.tables = dict(tables)
        self.statements_left = 1000

    def run_query(self, sql: str) -> list[Any]:
        """Do one statement."""
        found = re.findall(r"shop\.(\w+)", sql)
        if sql.startswith("select 1 from"):
            return [1] if self.tables[found[0]] == "new" else []
        if not self.statements_left:
            raise Died
        self.statements_left -= 1
        if sql.startswith("drop table if exists"):
            self.tables.pop(found[0], None)
        else:
            old, new = found
            assert " rename to " in sql and old in self.tables, f"no table: {sql}"
            assert new not in self.tables, f"is there: {sql}"
            self.tables[new] = self.tables.pop(old)
        return []


def recorded(extract: str = "full", *, sensitive: bool = True) -> dict[str, Any]:
    return {"extract": extract, "columns": COLUMNS if sensitive else COLUMNS[:1]}


def entity(side: list[str], mark: str = "") -> dict[str, str]:
    """Its tables, each by who made it."""
    return {f"people__{name}{mark}": "new" if mark else "old" for name in [*side, "log"]}


@pytest.fixture(scope="module")
def macros() -> dict[str, Any]:
    return load_macros("expr", "log", "query", "load")


def use(macros: dict[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    macros["run_query"] = macros["run_statements"].context["run_query"] = catalogue.run_query
    macros["relation_exists"] = lambda relation: relation.identifier in catalogue.tables
    macros["lake_format"] = lambda: "delta"
    return macros


CHANGES = [
    pytest.param(recorded(), ["rejects", "sensitive"], ["sensitive"], id="the same beside it"),
    pytest.param(
        recorded(sensitive=False), ["rejects", "supplied", "sensitive"], [], id="less beside it"
    ),
    pytest.param(
        recorded("delta"), ["rejects"], ["supplied", "sensitive"], id="more beside it"
    ),
]  # fmt: skip


@pytest.mark.parametrize(("after", "old", "new"), CHANGES)
def test_swap_logs(
    macros: dict[str, Any], after: dict[str, Any], old: list[str], new: list[str]
) -> None:
    opened = {
        "cfg": {"file_format": "delta", "location_root": None},
        "relations": macros["side_relations"](CURRENT),
    }
    commit = {"commit_id": NUMBER, "kind": "full_refresh", "config": after}
    for died_after in range(20):
        catalogue = Catalogue({**entity(old), **entity(new, "__new")})
        warehouse = warehouse_of(use(macros, catalogue))
        catalogue.statements_left = died_after
        died = False
        try:
            applying._swap_logs(warehouse, opened, commit)
        except Died:
            died = True
            catalogue.statements_left = 1000
            assert mending.log_has_landed(warehouse, opened, commit, {"rows_logged": 1})
            applying._swap_logs(warehouse, opened, commit)
        done = dict(catalogue.tables)
        applying._swap_logs(warehouse, opened, commit)
        assert catalogue.tables == done

        kept = entity([name for name in old if name != "rejects"])
        expected = {f"{name}_{NUMBER}": made for name, made in kept.items()}
        expected |= entity(new, "__new")
        expected = {name.removesuffix("__new"): made for name, made in expected.items()}
        assert catalogue.tables == {**expected, "people__rejects": "old"}
        if not died:
            return
    raise AssertionError("it never came to its end")


def test_drop_new_log(macros: dict[str, Any]) -> None:
    """What a dead run has left is in nobody's way."""
    side = ["rejects", "supplied", "sensitive", "staging", "landed"]
    catalogue = Catalogue(entity(side, "__new"))
    warehouse = warehouse_of(use(macros, catalogue))
    tables.drop_new_log(warehouse, macros["side_relations"](CURRENT))
    assert catalogue.tables == {}


def test_begun__of_which_no_configuration_was_recorded() -> None:
    """Spark's JSON leaves out what is NULL, as the configuration is of a rollback of batches."""
    warehouse = warehouse_of({"utc_text_of_micros": str})
    row = dict.fromkeys(("invocation_id", "is_correction", "source_commit_id"))
    row |= {"started_micros": 1, "state_micros": 2}
    cfg = {"relation": "shop.events", "entity": "events"}
    for left in ({}, {"config": None}):
        begun = mending._begun(warehouse, cfg, {"commit_id": 7, "kind": "rollback", **left}, row)
        assert (begun["config"], begun["commit_id"], begun["state_at"]) == (None, 7, "2")


@pytest.mark.parametrize("begun", [False, True])
def test_log_of_plain_parquet(
    macros: dict[str, Any], monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    """Releases before wrote it: what can be done by them is said, and nothing is touched."""
    was = {"file_format": "parquet"}
    inflight = [{"commit_id": 2, "config": json.dumps(was)}] if begun else []
    state = {"recorded": None if begun else was, "inflight": inflight}
    monkeypatch.setattr(opening, "entity_state", lambda *_: state)
    monkeypatch.setattr(opening, "checked_layout", lambda *_: None)
    cfg = {"entity": "people", "relation": "shop.people", "family": "extract"}
    opened = {
        "cfg": cfg, "relations": macros["side_relations"](CURRENT), "run": {}, "commits": {},
    }  # fmt: skip
    with pytest.raises(ConfigError, match="are plain Parquet, which this release does not support"):
        opening.settled_state(warehouse_of(macros), opened)
