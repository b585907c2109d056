"""A new log takes the place of the old one, whatever the format of each, and wherever a run has died on the way."""

from __future__ import annotations

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
    """Tables and views by name: what made each table. Statements that Spark refuses are errors here too."""

    def __init__(self, tables: dict[str, str], views: set[str]) -> None:
        self.tables, self.views = dict(tables), set(views)
        self.statements_left = 1000

    def run_query(self, sql: str) -> list[Any]:
        """Do one statement."""
        found = re.findall(r"shop\.(\w+)", sql)
        if sql.startswith("show views"):
            return [1] if re.findall(r"'(.*)'", sql)[0] in self.views else []
        if sql.startswith("select 1 from"):
            name = found[0].replace("__log", "__log_slices") if found[0] in self.views else found[0]
            return [1] if self.tables[name].startswith("new") else []
        if not self.statements_left:
            raise Died
        self.statements_left -= 1
        if sql.startswith("drop view if exists"):
            assert found[0] not in self.tables, f"no view: {sql}"
            self.views.discard(found[0])
        elif sql.startswith("drop table if exists"):
            assert found[0] not in self.views, f"no table: {sql}"
            self.tables.pop(found[0], None)
        elif sql.startswith("create or replace view"):
            assert found[0] not in self.tables, f"no view: {sql}"
            assert found[1] in self.tables, f"not there: {sql}"
            self.views.add(found[0])
        else:
            old, new = found
            assert " rename to " in sql and old in self.tables, f"no table: {sql}"
            assert new not in {*self.tables, *self.views}, f"is there: {sql}"
            self.tables[new] = self.tables.pop(old)
        return []


def recorded(file_format: str, extract: str = "full", *, sensitive: bool = True) -> dict[str, Any]:
    return {
        "file_format": file_format,
        "extract": extract,
        "columns": COLUMNS if sensitive else COLUMNS[:1],
    }


def entity(file_format: str, side: list[str], mark: str = "") -> tuple[dict[str, str], set[str]]:
    """Its tables, made by `mark` of the format, and views."""
    parquet = file_format == "parquet"
    names = [*side, "log_slices" if parquet else "log"]
    made = "new" if mark else "old"
    tables = {f"people__{name}{mark}": f"{made} {file_format}" for name in names}
    return tables, {f"people__log{mark}"} if parquet else set()


@pytest.fixture(scope="module")
def macros() -> dict[str, Any]:
    return load_macros("expr", "log", "query", "load")


def use(macros: dict[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    macros["run_query"] = macros["run_statements"].context["run_query"] = catalogue.run_query
    macros["relation_exists"] = lambda relation: (
        relation.identifier in {*catalogue.tables, *catalogue.views}
    )
    macros["lake_format"] = lambda: "delta"
    return macros


CHANGES = [
    pytest.param(
        recorded(before), recorded(after), ["rejects", "sensitive"], side, id=f"{before} to {after}"
    )
    for before, after, side in [
        ("delta", "delta", ["sensitive"]),
        ("parquet", "parquet", ["sensitive"]),
        ("delta", "parquet", ["rejects", "sensitive"]),
        ("parquet", "delta", ["rejects", "sensitive"]),
    ]
] + [
    pytest.param(
        recorded("delta", "delta"), recorded("delta", sensitive=False),
        ["rejects", "supplied", "sensitive"], [], id="less beside it",
    ),
    pytest.param(
        recorded("parquet", sensitive=False), recorded("delta", "delta"),
        ["rejects"], ["rejects", "supplied", "sensitive"], id="more beside it",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "old", "new"), CHANGES)
def test_swap_logs(
    macros: dict[str, Any],
    before: dict[str, Any],
    after: dict[str, Any],
    old: list[str],
    new: list[str],
) -> None:
    is_other = before["file_format"] != after["file_format"]
    was_parquet, is_parquet = (it["file_format"] == "parquet" for it in (before, after))
    opened = {
        "cfg": {"file_format": after["file_format"], "location_root": None},
        "relations": macros["side_relations"](CURRENT, after["file_format"]),
        "state": {"recorded": before},
    }
    commit = {"commit_id": NUMBER, "kind": "full_refresh", "config": after}
    stays = "rejects" in old and not is_other
    for died_after in range(20):
        stood, views = entity(before["file_format"], old)
        beside, shown = entity(after["file_format"], new, "__new")
        catalogue = Catalogue({**stood, **beside}, views | shown)
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
        done = dict(catalogue.tables), set(catalogue.views)
        applying._swap_logs(warehouse, opened, commit)
        assert (catalogue.tables, catalogue.views) == done

        kept, _ = entity(before["file_format"], [name for name in old if name != "rejects"])
        expected = {f"{name}_{NUMBER}": made for name, made in kept.items()}
        expected |= entity(after["file_format"], new, "__new")[0]
        expected = {name.removesuffix("__new"): made for name, made in expected.items()}
        rejects = "people__rejects"
        if stays:
            expected[rejects] = f"old {before['file_format']}"
        else:
            expected[f"{rejects}_{NUMBER}"] = f"old {before['file_format']}"
        assert catalogue.tables == expected
        # the view of the new log is made when current is
        assert catalogue.views == ({f"people__log_{NUMBER}"} if was_parquet else set())
        if is_parquet:
            assert "people__log" not in catalogue.tables
        if not died:
            return
    raise AssertionError("it never came to its end")


@pytest.mark.parametrize("left", ["delta", "parquet"])
@pytest.mark.parametrize("wanted", ["delta", "parquet"])
def test_drop_new_log(macros: dict[str, Any], left: str, wanted: str) -> None:
    """What a dead run has left is in the way of none of another format."""
    side = ["rejects", "supplied", "sensitive", "staging", "landed"]
    catalogue = Catalogue(*entity(left, side, "__new"))
    warehouse = warehouse_of(use(macros, catalogue))
    tables.drop_new_log(warehouse, macros["side_relations"](CURRENT, wanted))
    assert (catalogue.tables, catalogue.views) == ({}, set())


def test_write_relations(macros: dict[str, Any]) -> None:
    """Nothing is appended to a table of another format."""
    for file_format, beside in [("delta", False), ("parquet", True)]:
        opened = {
            "cfg": {"file_format": file_format},
            "relations": macros["side_relations"](CURRENT, file_format),
            "state": {"first": True, "has_log": True, "recorded": recorded("delta")},
        }
        targets = tables.write_relations(warehouse_of(macros), opened)
        assert targets["log_table"].identifier.endswith("__new")
        assert targets["rejects"].identifier == "people__rejects" + ("__new" if beside else "")
        assert targets["current"] == CURRENT


def test_opened_as_begun(macros: dict[str, Any]) -> None:
    """What a dead run wrote is looked for in the tables of its own format."""
    opened = {
        "cfg": {"file_format": "parquet", "family": "extract", "location_root": "/root"},
        "relations": macros["side_relations"](CURRENT, "parquet"),
        "run": {},
    }

    def as_begun(opened: dict[str, Any], config: dict[str, Any] | None) -> dict[str, Any]:
        return mending._opened_as_begun(warehouse_of(macros), opened, {"config": config})

    begun = as_begun(opened, {"file_format": "delta"})
    assert begun["cfg"]["file_format"] == "delta"
    assert begun["relations"]["log_table"].identifier == "people__log"
    assert as_begun(begun, {"file_format": "parquet"}) == {
        **opened,
        "relations": {**opened["relations"], "root": "/root"},
    }
    for config in (None, {"file_format": "parquet"}):
        assert as_begun(opened, config) == opened


def test_begun__of_which_no_configuration_was_recorded() -> None:
    """Spark's JSON leaves out what is NULL, as the configuration is of a rollback of batches."""
    warehouse = warehouse_of({"utc_text_of_micros": str})
    row = dict.fromkeys(("invocation_id", "is_correction", "source_commit_id"))
    row |= {"started_micros": 1, "state_micros": 2}
    cfg = {"relation": "shop.events", "entity": "events"}
    for left in ({}, {"config": None}):
        begun = mending._begun(warehouse, cfg, {"commit_id": 7, "kind": "rollback", **left}, row)
        assert (begun["config"], begun["commit_id"], begun["state_at"]) == (None, 7, "2")


def test_log_of_another_format(macros: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a full refresh goes on, which finds a log to put aside, whatever is there under the names of its format."""
    opened = {
        "cfg": {"entity": "people", "file_format": "parquet", "target": CURRENT},
        "relations": macros["side_relations"](CURRENT, "parquet"),
        "run": {"full_refresh": False},
    }
    state = {"recorded": recorded("delta"), "log_version": 3}
    monkeypatch.setattr(opening, "present_relations", lambda *_: ["current"])
    warehouse = warehouse_of(macros, get_relation=lambda **_: None)
    with pytest.raises(ConfigError, match="file_format was delta and is now parquet"):
        opening.log_state(warehouse, opened, state)
    found = opening.log_state(warehouse, {**opened, "run": {"full_refresh": True}}, state)
    assert (found["has_log"], found["first"], found["log_version"]) == (True, True, None)


def test_clean_of_parquet_drops_what_a_full_refresh_left() -> None:
    """Its log keeps every row; the horizon is that of the tables aside alone."""
    macros = load_macros("config", "operations")
    row = {"log_start": 1, "floor": 0, "superseded_horizon": 7, "replaced_logs": "[7]"}
    macros["query_rows"] = lambda _: [{**row, "savepoints": None, "consumers": None}]
    macros["clean_state_sql"] = lambda *_: "state"
    macros["old_tables"] = lambda opened, replaced, _: replaced
    for file_format, horizon in [("delta", 7), ("parquet", 0)]:
        cfg = {"file_format": file_format, "relation": "shop.people", "extract": "full"}
        errors: list[str] = []
        macros["_check_retentions"](cfg, {"superseded": "1 day"}, errors)
        opened = {"cfg": cfg, "commits": {"states": "states"}}
        found = macros["clean_horizons"](opened, {"superseded": "1 day"})
        assert (found["superseded"], found["floor"], found["old_tables"]) == (horizon, horizon, [7])
        assert errors == []


def test_versions__are_asked_of_no_view(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of a Delta log is that of the view of a Parquet log, which has none."""
    macros = load_macros("expr", "log", "query", "load")
    macros["table_version"] = lambda *_: 7
    monkeypatch.setattr(opening, "has_delta_files", lambda *_: True)
    monkeypatch.setattr(opening, "checked_layout", lambda *_: None)
    monkeypatch.setattr(opening, "migrate_entity", lambda *_: None)
    monkeypatch.setattr(opening, "mend_commit", lambda *_: states.pop(0))
    monkeypatch.setattr(opening, "entity_state", lambda *_: states[0])
    warehouse = warehouse_of(macros, table_version=lambda _: 7)
    cfg = {"entity": "people", "relation": "shop.people", "extract": "full", "on_reject": "fail",
           "family": "extract", "file_format": "delta"}  # fmt: skip
    opened: dict[str, Any] = {
        "cfg": cfg,
        "relations": macros["side_relations"](CURRENT, "delta"),
        "run": {"business_date": "2026-03-04", "full_refresh": True},
        "commits": {},
    }
    for before, version in [("delta", 7), ("parquet", None)]:
        settled: dict[str, Any] = {"recorded": recorded(before), "inflight": [], "last_id": 1}
        states = [{**settled, "inflight": [{"commit_id": 2}]}, settled]
        assert opening.settled_state(warehouse, opened)["log_version"] == version
        state = {**settled, "first": True}
        planned = macros["no_planned_facts"]({**opened, "state": state})["tables"]
        assert (planned["log_version"], planned["current_version"]) == (version, version)
