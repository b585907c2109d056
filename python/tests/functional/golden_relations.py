"""Tables and views of the shape that the golden files are written for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tidemark.engine.events.decoded import TOLD

from ..render.test_golden import (
    ADOPTED,
    APART,
    ARRIVED,
    BITEMPORAL,
    BITEMPORAL_COLUMNS,
    DELTA,
    EVENT_KEYS,
    EVENT_LOAD,
    FULL,
    INTERVAL_COLUMNS,
    KEYED,
    KEYLESS,
    MANIFEST,
    PLAIN,
    SCD2,
    SEQUENCED,
    STATES,
)
from ..rendering import load_sql_macros, relation

GOLDEN = Path(__file__).parents[1] / "render" / "golden"
HASHES = {"_key_hash": "string", "_row_hash": "string"}
CHANGE = {
    **HASHES,
    "_operation": "string",
    "_business_date": "date",
    "_eff_start_date": "date",
    "_changed_columns": "array<string>",
}
_EVENT_KEYS = {
    "_row": "bigint",
    "_event_id": "string",
    "_fingerprint": "string",
    "_etl_tstamp": "timestamp",
    "_collector_tstamp": "timestamp",
    "_line_hash": "bigint",
    "_reject_reason": "string",
}
_READ_EVENTS = {
    "event_id": "string",
    "event_fingerprint": "string",
    "collector_tstamp": "timestamp",
    "txn_id": "string",
    "contexts": "string",
    "_reject_reason": "string",
    "_raw_payload": "string",
    "_row": "bigint",
}
_ADOPTED = {
    "id": "bigint",
    "full name": "string",
    "dbt_valid_from": "timestamp",
    "dbt_valid_to": "timestamp",
    "dbt_is_deleted": "string",
}
_FEED = {"_key_hash": "string", "_commit_id": "bigint"}
_SPARK_TYPES = {
    "VARCHAR": "string",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
    "BIGINT[]": "array<bigint>",
}


def golden_sql(name: str) -> str:
    """Return the text of a golden file."""
    return (GOLDEN / f"{name}.sql").read_text(encoding="utf-8")


class EmptyRelations:
    """Delta tables and temporary views without rows, in a database `shop`."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.macros = load_sql_macros()

    def table(self, relation: Any, columns: Sequence[Mapping[str, Any]]) -> None:
        """Make a table."""
        for statement in self.macros["delta__create_table"](relation, columns, {}):
            self.session.sql(statement)

    def log(self, entity: Any) -> None:
        """Make the log of an entity."""
        columns = self.macros["log_columns"](entity.roles)
        for statement in self.macros["delta__create_log"](entity.cfg, entity.relations, columns):
            self.session.sql(statement)

    def view(self, name: str, columns: Mapping[str, str]) -> None:
        """Make a view."""
        ddl = ", ".join(f"`{column}` {kind}" for column, kind in columns.items())
        self.session.createDataFrame([], ddl).createOrReplaceTempView(name)

    def derived(self, name: str, query: str) -> None:
        """Make a view of what a query says of the others."""
        self.session.sql(f"create or replace temporary view {name} as {query}")

    def make(self) -> None:
        """Make all, the derived ones last."""
        # which another module may have left, with tables of another kind
        self.session.sql("drop database if exists shop cascade")
        self.session.sql("create database shop")
        self._make_of_extracts()
        self._make_of_enriched()
        self._make_of_events()

    def _make_of_extracts(self) -> None:
        macros = self.macros
        for entity in (PLAIN, FULL):
            self.log(entity)
            current = macros["current_columns"](entity.cfg, entity.roles)
            self.table(entity.relations["current"], current)
            self.table(entity.relations["rejects"], macros["rejects_columns"]())
        self.table(FULL.relations["sensitive"], macros["sensitive_columns"](FULL.roles))
        for entity in (DELTA, PLAIN):
            self.table(entity.relations["supplied"], macros["supplied_columns"]())
        self.table(STATES, macros["commit_columns"]())
        self.table(SCD2, INTERVAL_COLUMNS)
        self.table(BITEMPORAL, BITEMPORAL_COLUMNS)
        feed = macros["feed_columns"]({"buckets": 4}, _listed(_FEED))
        self.table(relation("shop", "customers_feed"), feed)
        self.table(ADOPTED["table"], _listed(_ADOPTED))

        business = _types(FULL.roles["columns"])
        numbers = ("_tidemark_copies", "_tidemark_existing", "_tidemark_in_scope")
        classified = dict.fromkeys(("_key_hash", "_operation", "_reject_reason"), "string")
        classified |= dict.fromkeys(numbers, "bigint")
        found = {"_reject_reason": "string", "_key_hash": "string", "_raw_payload": "string"}
        self.view("arrived", {column["name"]: "string" for column in ARRIVED})
        self.view(
            "staged", {**business, **HASHES, "_reject_reason": "string", "_raw_payload": "string"}
        )
        self.view("existing", {**business, **HASHES})
        self.view(
            "stored", {**business, **HASHES, "_operation": "string", "_eff_start_date": "date"}
        )
        self.view("classified", classified)
        self.view("changed", {**business, **CHANGE})
        self.view(
            "logged", {**business, **CHANGE, "_commit_id": "bigint", "_superseded_by": "bigint"}
        )
        self.view("changes", {**business, **CHANGE, "_supersedes": "bigint"})
        self.view("customers__rejects_found", found)
        self.view("intervals", _types(INTERVAL_COLUMNS))
        self.view("known_intervals", _types(BITEMPORAL_COLUMNS))
        self.derived("labelled", golden_sql("classified_rows_sql.labelled"))
        self.session.sql(golden_sql("history_view_sql.sensitive"))

    def _make_of_enriched(self) -> None:
        macros = self.macros
        self.table(relation("shop", "atomic_events"), macros["atomic_columns"]())
        self.table(relation("shop", "read_events"), _listed(_READ_EVENTS))
        self.table(relation("shop", "atomic_events__entities"), macros["entity_columns"]())
        self.table(MANIFEST, macros["manifest_columns"]())
        self.table(EVENT_KEYS, _listed(_EVENT_KEYS))

    def _make_of_events(self) -> None:
        macros = self.macros
        self.table(APART.relations["sensitive"], macros["sensitive_columns"](APART.roles))
        for events in (KEYED, SEQUENCED, KEYLESS, APART):
            cfg, roles, relations = events.cfg, events.roles, events.relations
            self.log(events)
            self.table(relations["current"], macros["current_columns"](cfg, roles))
            self.table(relations["staging"], macros["staging_columns"](cfg, roles))
            self.table(relations["landed"], macros["landed_columns"]())
        self.table(SEQUENCED.relations["rejects"], macros["rejects_columns"]())

        lacks = (column["name"] for column in KEYED.roles["columns"] if not column["key"])
        decoded = {
            **_types(KEYED.roles["columns"]),
            **{f"_before_{name}": kind for name, kind in _types(KEYED.roles["keys"]).items()},
            **{f"_tidemark_lacks_{name}": "boolean" for name in lacks},
            **{name: _SPARK_TYPES.get(kind, kind.lower()) for name, kind in TOLD},
        }
        self.view("decoded_events", decoded)
        self.view("arrived_lines", {"value": "string", "_landing_num": "bigint"})
        self.derived("customers__slice", f"select * from {KEYED.relations['log']}")
        self.derived("events", golden_sql("debezium_events_sql.table"))
        for entity, name in (
            (KEYED, "staged_events"),
            (KEYED, "staged_keys"),
            (SEQUENCED, "staged_in_sequence"),
            (KEYLESS, "staged_copies"),
        ):
            staged = macros["staged_events_sql"](entity.cfg, entity.roles, "events", {}, {})
            self.derived(name, staged)
        before, _ = staged.split("\ntold_apart as (")
        judged = f"{before.rstrip().removesuffix(',')} select * from narrowed"
        self.derived("judged_events", judged)
        for entity, name in ((KEYED, "existing_events"), (KEYLESS, "existing_copies")):
            self.derived(name, self.existing(entity))
        table_events = macros["table_events_sql"](
            KEYED.cfg, KEYED.roles, KEYED.relations, "staged_events", EVENT_LOAD
        )
        self.derived("table_events", table_events)

    def existing(self, entity: Any) -> str:
        """Return what a load of events finds."""
        return str(self.macros["no_existing_events_sql"](entity.cfg, entity.roles, EVENT_LOAD))


def _types(columns: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {column["name"]: column["type"] for column in columns}


def _listed(types: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "type": kind} for name, kind in types.items()]
