"""The SQL of every generator for a small entity, as golden files."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.tidemark.errors import MacroError
from tidemark.rules.commits import judged_state
from tidemark.shred import enriched

from ..rendering import load_sql_macros, relation

MODEL = {
    "alias": "customers",
    "schema": "shop",
    "description": "People who buy.",
    "columns": {
        "id": {"name": "id", "data_type": "bigint", "constraints": [{"type": "not_null"}]},
        "full name": {"name": "full name", "data_type": "string"},
        "phone": {"name": "phone", "data_type": "string"},
        "balance": {"name": "balance", "data_type": "decimal(10,2)"},
        "loaded_at": {"name": "loaded_at", "data_type": "timestamp"},
    },
}
TYPES = {column["name"]: column["data_type"] for column in MODEL["columns"].values()}  # type: ignore[attr-defined]
ARRIVED = [{"name": name, "type": "string"} for name in TYPES] + [
    {"name": "_unreadable", "type": "string"}
]
CUSTOMERS = relation("shop", "customers")
STATES = relation("shop", "tidemark_commits")
COMMIT = 260304093000123
ADOPTED = {
    "table": relation("shop", "people_snapshot"),
    "columns": ["`id`", "`full name`"],
    "from": "dbt_valid_from",
    "to": "dbt_valid_to",
    "inclusive": False,
    "deleted": "dbt_is_deleted",
}


class Entity:
    """A customer table with an odd name, an ignored and a sensitive column."""

    def __init__(self, name: str = "customers", **settings: Any) -> None:
        macros = load_sql_macros()
        tidemark = {
            "extract": "full",
            "location": "landing/customers_{business_date}.csv",
            "ignore": ["loaded_at"],
            "sensitive": ["phone"],
            **settings,
        }
        config = {"unique_key": "id", "meta": {"tidemark": tidemark}}
        self.cfg = macros["entity_config"]({**MODEL, "alias": name, "config": config})
        self.roles = macros["column_roles"](self.cfg, ARRIVED, TYPES, None)
        self.relations = macros["side_relations"](relation("shop", name))


PLAIN = Entity("people", sensitive=[])
FULL = Entity()
DELTA = Entity(extract="delta")
SCOPED = Entity("people", sensitive=[], scope={"columns": ["full name"]})
SCOPED.cfg = {**SCOPED.cfg, "extract": "scoped"}
SOFT = Entity(soft_delete=True)
LOOSE = Entity(ignore=["phone"])
TAGGED = Entity(tag_unchanged=True)
TAGGED_DELTA = Entity(extract="delta", tag_unchanged=True)


class Events:
    """The same customers, fed by change events; without key, every row counts."""

    def __init__(self, name: str, key: str | None = "id", **settings: Any) -> None:
        macros = load_sql_macros()
        columns = {k: v for k, v in MODEL["columns"].items() if k != "loaded_at"}  # type: ignore[attr-defined]
        tidemark = {"extract": "events", "location": "landing/shop", "table": "shop.customers"}
        config = {"unique_key": key, "meta": {"tidemark": {**tidemark, **settings}}}
        model = {**MODEL, "alias": name, "columns": columns, "config": config}
        self.cfg = macros["entity_config"](model)
        found = {
            "names": list(columns),
            "schemas": {},
            "ddl": None,
            "arrived": None,
            "renames": {},
            "refused": [],
            "has_schemaless": True,
            "inferred": {},
        }
        self.roles = macros["event_roles"](self.cfg, found, TYPES, None)
        if self.cfg["sequence_by"]:
            self.roles["sequence_type"] = SEQUENCE
        self.relations = macros["side_relations"](relation("shop", name))


SEQUENCE = (
    "struct<sequence_1:timestamp,is_stream:boolean,position:array<bigint>,supplied_num:bigint>"
)
KEYED = Events("customers_of_events")
SEQUENCED = Events("customers_in_sequence", format="canonical", sequence_by=["_event_time"])
KEYLESS = Events("customers_without_key", None)
LOOSE_EVENTS = Events("customers_of_events", ignore=["phone"])
APART = Events("customers_apart", sensitive=["phone"])
EVENT_LOAD = {
    "commit_id": 260304093000123,
    "batch_id": 260304093000123,
    "business_date": "2026-03-04",
    "late": False,
    "moves": True,
    "fills": False,
    "carried": ["full name"],
    "table_events": True,
    "everything": True,
    "closes_snapshot": True,
    "linked": None,
    "order_type": "struct<sequence:bigint,batch:bigint,line:bigint,tie:int,event:string>",
    "statements": [],
    "log": None,
}
LATE_EVENTS = {
    **EVENT_LOAD,
    "late": True,
    "fills": True,
    "everything": False,
    "order_type": f"struct<sequence:{SEQUENCE},batch:bigint,line:bigint,tie:int,event:string>",
}
SOURCES = {
    "staged": "staged_events",
    "existing": "existing_events",
    "table_events": "table_events",
    "moved": None,
}

FORWARD = {
    "business_date": "2026-03-04",
    "commit_id": COMMIT,
    "forward": True,
    "last_commit_id": COMMIT - 1,
    "last_date": "2026-03-04",
    "last_date_commit_id": COMMIT,
    "later_loads": [],
    "states": STATES,
    "relation": "shop.customers",
}
LATE = {
    **FORWARD,
    "forward": False,
    "last_date": "2026-03-06",
    "last_date_commit_id": COMMIT - 1,
    "later_loads": [
        {"business_date": "2026-03-05", "commit_id": COMMIT - 2},
        {"business_date": "2026-03-06", "commit_id": COMMIT - 1},
    ],
}


IN_TURNS = {
    **LATE,
    "later_loads": [
        {**load, "extract": extract}
        for load, extract in zip(LATE["later_loads"], ("delta", "full"), strict=True)  # type: ignore[call-overload]
    ],
}

SCOPED_IN_TURNS = {
    **IN_TURNS,
    "later_loads": [
        {**IN_TURNS["later_loads"][0], "extract": "scoped"},  # type: ignore[index]
        {**IN_TURNS["later_loads"][1], "extract": "full"},  # type: ignore[index]
    ],
}


def staged(e: Entity) -> Any:
    return ("staged_rows_sql", e.cfg, e.roles, "select * from arrived")


RULES = [
    {"name": "positive", "check": "id > 0", "on_fail": "quarantine"},
    {"name": "named", "check": "`full name` <> ''", "on_fail": "warn"},
]


def classified(
    e: Entity, existing: str | None = "existing", date: str | None = "2026-03-04"
) -> Any:
    return ("classified_rows_sql", e.cfg, e.roles, "staged", existing, date)


def revised(e: Entity) -> Any:
    return (
        "revised_rows_sql",
        e.cfg,
        e.roles,
        e.relations,
        {"changed": "changed", "logged": "logged"},
        LATE,
    )


def current(e: Entity, stored_rows: Any, few_touched: bool = False) -> Any:
    return (
        "current_rows_sql",
        e.cfg,
        e.roles,
        e.relations,
        {"touched": "select * from changes", "stored": stored_rows},
        {**FORWARD, "few_touched": few_touched},
    )


def appended(e: Entity, load: dict[str, Any]) -> Any:
    names = load_sql_macros()["slice_columns"](e.roles)
    return ("delta__append_to_log", e.relations, names, "changes", load)


def merged(e: Entity, load: dict[str, Any]) -> Any:
    return ("delta__merge_into_current", e.cfg, e.roles, e.relations, load)


def feed(e: Any, **more: Any) -> dict[str, Any]:
    return {
        "cfg": e.cfg,
        "roles": e.roles,
        "relations": e.relations,
        "commits": STATES,
        "from": COMMIT,
        "to": COMMIT + 100,
        "images": ["change", "pre", "post"],
        "format": "json",
        "ordered": True,
        **more,
    }


LOG = relation("shop", "customers__log")
HISTORY = relation("shop", "customers__history")
SCD2 = relation("shop", "customers_scd2")
BOTH_AXES = ["business", "system"]
INTERVAL_COLUMNS = [
    {"name": "id", "type": "bigint"},
    {"name": "full name", "type": "string"},
    {"name": "tags", "type": "map<string,string>"},
    {"name": "_key_hash", "type": "string"},
    {"name": "_valid_from", "type": "date"},
    {"name": "_valid_to", "type": "date"},
]
BODY = "select * from intervals"
INTERVALS = {"log": LOG, "columns": INTERVAL_COLUMNS, "watermark": COMMIT}
TRACKED = {
    "sequence_by": [],
    "hash": "md5",
    "sensitive": APART.relations["sensitive"],
    "tracked": [
        {"name": "full name", "type": "string", "sensitive": False},
        {"name": "phone", "type": "string", "sensitive": True},
    ],
}
BITEMPORAL = relation("shop", "known_versions")
BITEMPORAL_COLUMNS = [
    *INTERVAL_COLUMNS,
    {"name": "_known_from", "type": "bigint"},
    {"name": "_known_to", "type": "bigint"},
]

ERASED = {"hashes": ["'a1'", "'b2'"], "values": {"id": "cast('7' as bigint)"}, "texts": ["'7'"]}

ATOMIC = {
    "deduplicate": [
        "natural_in_batch",
        "natural_cross_batch",
        "synthetic_in_batch",
        "synthetic_cross_batch",
    ],
    "manifest_ttl": "180 days",
    "location": "landing/events/*.tsv",
    "relation": "shop.atomic_events",
}
MANIFEST = relation("shop", "atomic_events__manifest")
EVENT_KEYS = relation("shop", "atomic_events__keys")
BATCH = {
    "commit_id": COMMIT,
    "etl_micros": 1772614800000000,
    "first_etl_micros": 1772614799123456,
    "states": STATES,
    "relation": "shop.atomic_events",
    "last_commit_id": COMMIT - 1,
    "undone": [],
}
AFTER_DEATHS = {**BATCH, "undone": [7, 8]}
SCHEMA = {
    "uri": "iglu:com.acme/product/jsonschema/1-2-*",
    "vendor": "com.acme",
    "name": "product",
    "format": "jsonschema",
    "version": "1-2-*",
}
RECONCILED = [
    {"name": "id", "type": "bigint", "form": "integer"},
    {"name": "full name", "type": "string", "form": "text"},
    {"name": "balance", "type": "decimal(10,2)", "form": "decimal"},
]
CASES: dict[str, tuple[Any, ...]] = {
    "staged_rows_sql.plain": staged(PLAIN),
    "staged_rows_sql.sensitive": staged(FULL),
    "failed_values_sql": ("failed_values_sql", FULL.cfg, FULL.roles, "select * from arrived"),
    "classified_rows_sql.full": classified(FULL),
    "classified_rows_sql.delta": classified(DELTA),
    "classified_rows_sql.scoped": classified(SCOPED),
    "classified_rows_sql.labelled": classified(PLAIN, date=None),
    "ruled_rows_sql.two": ("ruled_rows_sql", {"rules": RULES}, PLAIN.roles, "staged"),
    "rule_counts_sql.two": ("rule_counts_sql", {"rules": RULES}, "staged"),
    "staged_changes_sql": ("staged_changes_sql", PLAIN.roles, "labelled", FORWARD),
    "classified_rows_sql.first": classified(PLAIN, None),
    "classified_rows_sql.without_changed_columns": classified(
        Entity("people", changed_columns=False, sensitive=[])
    ),
    "planned_samples_sql.forward": (
        "planned_samples_sql",
        FULL.roles,
        "changed",
        "_business_date = date'2026-03-04'",
        "select * from existing",
        5,
    ),
    "planned_samples_sql.late": (
        "planned_samples_sql",
        PLAIN.roles,
        "changes",
        "_business_date = date'2026-03-04' and _supersedes is null",
        None,
        5,
    ),
    "planned_columns_sql": ("planned_columns_sql", "changes", True),
    "planned_dates_sql": ("planned_dates_sql", "changes", True, "2026-03-04"),
    "planned_rejects_sql": ("planned_rejects_sql", "customers__rejects_found"),
    "planned_files_sql": ("planned_files_sql", FULL.relations["current"], "changes", True),
    "table_to_come_sql": (
        "table_to_come_sql",
        FULL.relations["current"],
        {
            "added": [{"name": "new one", "type": "int"}, {"name": "loaded_at", "type": "date"}],
            "widened": [{**FULL.roles["stored"][1], "from": "int"}],
            "left": [{"name": "loaded_at", "type": "timestamp"}],
        },
    ),
    "rows_before_events_sql": (
        "rows_before_events_sql",
        KEYED.roles,
        KEYED.relations["current"],
        "changes",
    ),
    "existing_rows_sql.plain": ("existing_rows_sql", PLAIN.roles, PLAIN.relations),
    "existing_rows_sql.sensitive_soft_delete": (
        "existing_rows_sql",
        SOFT.roles,
        SOFT.relations,
    ),
    "existing_rows_sql.sensitive_not_compared": (
        "existing_rows_sql",
        LOOSE.roles,
        LOOSE.relations,
    ),
    "sensitive_of_current_sql.events_by_change": (
        "sensitive_of_current_sql",
        APART.roles,
        APART.relations["log"],
        APART.relations["sensitive"],
        True,
    ),
    "resolve_rejects_sql": (
        "resolve_rejects_sql",
        PLAIN.relations["rejects"],
        "2026-03-04",
        COMMIT,
    ),
    "open_rejects_sql.extracts": (
        "open_rejects_sql",
        PLAIN.relations["rejects"],
        "_commit_id >= 0",
    ),
    "open_rejects_sql.events": (
        "open_rejects_sql",
        SEQUENCED.relations["rejects"],
        "_commit_id >= 0",
        True,
    ),
    "new_rejects_sql": (
        "new_rejects_sql",
        "select * from customers__rejects_found",
        PLAIN.relations["rejects"],
        COMMIT,
    ),
    "revised_rows_sql.full": revised(PLAIN),
    "revised_rows_sql.delta": revised(DELTA),
    "revised_rows_sql.in_turns": (*revised(PLAIN)[:-1], IN_TURNS),
    "revised_rows_sql.scoped": (*revised(SCOPED)[:-1], SCOPED_IN_TURNS),
    "count_changes_sql.scoped": ("count_changes_sql", SCOPED.cfg, "classified", "existing"),
    "touched_rows_sql.forward": ("touched_rows_sql", FULL.roles, FULL.relations, FORWARD),
    "touched_rows_sql.correction": ("touched_rows_sql", FULL.roles, FULL.relations, LATE),
    "current_rows_sql.rebuild": current(PLAIN, None),
    "current_rows_sql.few_touched": current(PLAIN, "stored", few_touched=True),
    "current_rows_sql.tagged_full": current(TAGGED, "stored"),
    "current_rows_sql.tagged_delta": current(TAGGED_DELTA, "stored"),
    "delta__append_to_log.forward": appended(FULL, FORWARD),
    "delta__append_to_log.correction": appended(FULL, LATE),
    "delta__merge_into_current.forward": merged(FULL, FORWARD),
    "delta__merge_into_current.key_list": merged(
        PLAIN, {**FORWARD, "key_list": ["'0cc175b9'", "'92eb5ffe'"]}
    ),
    "touched_keys_sql.forward": ("touched_keys_sql", FULL.relations, FORWARD, 32),
    "touched_keys_sql.correction": ("touched_keys_sql", FULL.relations, LATE, 32),
    "delta__merge_into_current.correction": merged(FULL, LATE),
    "delta__merge_into_current.soft_delete": merged(SOFT, FORWARD),
    "delta__merge_into_current.tagged_correction": merged(TAGGED, LATE),
    "updated_rows_sql.extract": (
        "updated_rows_sql",
        PLAIN.relations["log"],
        ["id"],
        PLAIN.roles["stored"],
        "2026-03-04",
        5,
    ),
    "rows_before_sql.extract": (
        "rows_before_sql",
        PLAIN.relations["log"],
        PLAIN.roles["stored"],
        ["0a", "b'"],
        "2026-03-04",
    ),
    "append_rows_sql.any": (
        "append_rows_sql",
        STATES,
        [
            {"name": "commit_id", "type": "bigint"},
            {"name": "business_date", "type": "date"},
            {"name": "started_at", "type": "timestamp"},
            {"name": "completed_at", "type": "timestamp"},
            {"name": "is_correction", "type": "boolean"},
            {"name": "config", "type": "string"},
        ],
        [
            {
                "commit_id": 260304093000123,
                "business_date": "2026-03-04",
                "started_at": "2026-03-04 09:30:00.123456",
                "completed_at": None,
                "is_correction": False,
                "config": '{"name": "o\'Neil \\\\ co"}',
            },
            {"commit_id": 7},
        ],
    ),
    "entity_states_sql.any": ("entity_states_sql", STATES, "shop.customers", 500),
    "configs_until_sql.dated": ("configs_until_sql", STATES, "shop.customers", "2026-03-04"),
    "timeline_sql.before": ("timeline_sql", STATES, "shop.customers", 260304093000123),
    "entity_state_sql.dated": ("entity_state_sql", STATES, "shop.customers", "2026-03-04"),
    "entity_state_sql.undated": ("entity_state_sql", STATES, "shop.customers", None),
    "history_view_sql.sensitive": ("history_view_sql", FULL.roles, FULL.relations),
    "scd2.latest": ("scd2", CUSTOMERS),
    "scd2.known_at": ("scd2", CUSTOMERS, COMMIT),
    "scd2.empty": ("scd2", CUSTOMERS.incorporate(limit=0)),
    "scd2.deletes": (
        "scd2",
        CUSTOMERS,
        None,
        None,
        True,
        "9999-12-31",
        {"valid_from": "since", "is_deleted": "is gone"},
    ),
    "scd2.both_axes": ("scd2", CUSTOMERS, None, None, True, None, None, BOTH_AXES),
    "effective_intervals_sql.both_axes": (
        "effective_intervals_sql",
        "loaded_at",
        LOG,
        "_superseded_by is null",
        load_sql_macros()["interval_options"](unit="timestamp", axes=BOTH_AXES),
    ),
    "effective_intervals_sql.open_end": (
        "effective_intervals_sql",
        "loaded_at",
        LOG,
        "_superseded_by is null",
        {
            "names": {name: f"_{name}" for name in ("valid_from", "valid_to", "is_current")},
            "deletes": False,
            "is_bitemporal": False,
            "per": "_key_hash",
            "open_end": "timestamp'9999-12-31'",
        },
    ),
    "dated_loads_sql": ("dated_loads_sql", STATES, "shop.customers"),
    "missing_dates_sql.told": (
        "missing_dates_sql",
        f"select * from {STATES}",
        {"days": None, "since": None, "except": []},
    ),
    "missing_dates_sql.stated": (
        "missing_dates_sql",
        f"select * from {STATES}",
        {"days": [0, 4], "since": "2026-01-01", "except": ["2026-04-03"]},
    ),
    "counted_loads_sql.extract": ("counted_loads_sql", STATES, "shop.customers", False),
    "counted_loads_sql.events": ("counted_loads_sql", STATES, "shop.customers", True),
    "unusual_counts_sql": (
        "unusual_counts_sql",
        f"select * from {STATES}",
        {
            "counts": ["inserted", "updated", "deleted", "rejected"],
            "min_rows": 10,
            "min_factor": 1.5,
            "except": ["2026-04-03"],
            "of_events": False,
        },
    ),
    "as_of.date": ("as_of", CUSTOMERS, "2026-03-04"),
    "as_of.known_at": ("as_of", CUSTOMERS, "2026-03-04", str(COMMIT)),
    "with_sensitive.current": ("with_sensitive", CUSTOMERS),
    "with_sensitive.history": ("with_sensitive", HISTORY),
    "with_sensitive.log": ("with_sensitive", LOG),
    "scd2_watermark_sql.any": (
        "scd2_watermark_sql",
        STATES,
        "shop.customers_scd2",
        "shop.customers",
    ),
    "scd2_log_sql.any": ("scd2_log_sql", LOG, COMMIT),
    "scd2_log_sql.both_axes": ("scd2_log_sql", LOG, COMMIT, BOTH_AXES),
    "event_files_sql.known": ("event_files_sql", "/lake/shop", "shop.customers_of_events__landed"),
    "logged_staging_sql.keyed": ("logged_staging_sql", KEYED.cfg, KEYED.roles, KEYED.relations),
    "event_files_sql.undone": (
        "event_files_sql",
        "/lake/shop",
        "shop.customers_of_events__landed",
        [COMMIT],
    ),
    "debezium_events_sql.table": (
        "debezium_events_sql",
        KEYED.cfg,
        ["shop.customers"],
        "arrived_lines",
        "_landing_num",
        True,
    ),
    "canonical_events_sql.lines": (
        "canonical_events_sql",
        SEQUENCED.cfg,
        {"tables": ["shop.customers"]},
        "arrived_lines",
    ),
    "told_apart_events_sql.keyless": (
        "told_apart_events_sql",
        KEYLESS.cfg,
        "judged_events",
        {"log": KEYLESS.relations["log"], "staging": KEYLESS.relations["staging"]},
    ),
    "read_before_sql.open_snapshot": (
        "read_before_sql",
        SEQUENCED.cfg,
        SEQUENCED.relations["log"],
        "staged_in_sequence",
        COMMIT,
    ),
    "table_events_sql.open_snapshot": (
        "table_events_sql",
        SEQUENCED.cfg,
        SEQUENCED.roles,
        SEQUENCED.relations,
        "staged_in_sequence",
        {**LATE_EVENTS, "log": SEQUENCED.relations["log"], "open_snapshot": COMMIT},
    ),
    "failed_event_values_sql": (
        "failed_event_values_sql",
        KEYED.cfg,
        KEYED.roles,
        "events",
        {"from": 7, "to": 9},
    ),
    "staged_events_sql.keyed": (
        "staged_events_sql",
        KEYED.cfg,
        KEYED.roles,
        "events",
        {"log": KEYED.relations["log"]},
        {"from": 7, "to": 9},
    ),
    "staged_events_sql.decoded": (
        "staged_events_sql",
        KEYED.cfg,
        {**KEYED.roles, "decoded": True},
        "decoded_events",
        {"log": KEYED.relations["log"]},
        {"from": None, "to": None},
    ),
    "existing_events_sql.forward": (
        "existing_events_sql",
        KEYED.cfg,
        KEYED.roles,
        KEYED.relations,
        "staged_keys",
        EVENT_LOAD,
    ),
    "existing_events_sql.late": (
        "existing_events_sql",
        SEQUENCED.cfg,
        SEQUENCED.roles,
        SEQUENCED.relations,
        "staged_keys",
        LATE_EVENTS,
    ),
    "tied_rows_sql.late": (
        "tied_rows_sql",
        SEQUENCED.cfg,
        SEQUENCED.roles,
        SEQUENCED.relations,
        "staged_in_sequence",
        LATE_EVENTS,
    ),
    "repeated_rejects_sql.tied": (
        "repeated_rejects_sql",
        "staged_in_sequence",
        SEQUENCED.relations["rejects"],
        "staged._reject_reason like 'tie: %'",
    ),
    "any_tie_sql.keyed": ("any_tie_sql", SEQUENCED.cfg, SEQUENCED.roles, SEQUENCED.relations),
    "replayed_keys_sql.forward": ("replayed_keys_sql", KEYED.cfg, KEYED.roles, SOURCES, EVENT_LOAD),
    "replayed_keys_sql.ignored": (
        "replayed_keys_sql",
        LOOSE_EVENTS.cfg,
        LOOSE_EVENTS.roles,
        SOURCES,
        {**EVENT_LOAD, "carried": ["full name", "phone"]},
    ),
    "replayed_copies_sql.forward": (
        "replayed_copies_sql",
        KEYLESS.cfg,
        KEYLESS.roles,
        {**SOURCES, "staged": "staged_copies", "existing": "existing_copies"},
        EVENT_LOAD,
    ),
    "latest_per_key_sql.by_batch": (
        "latest_per_key_sql",
        KEYED.relations["log"],
        True,
    ),
    "as_of_events_sql.any": (
        "as_of_events_sql",
        {"sequence_by": ["_event_time"], "on_tie": "later"},
        SEQUENCED.relations["log"],
        "_superseded_by is null and _event_time <= timestamp'2026-03-04'",
        "_business_date, _tidemark_rank",
    ),
    "event_intervals_sql.both_axes": (
        "event_intervals_sql",
        TRACKED,
        APART.relations["log"],
        "_superseded_by is null",
        "business_date",
        load_sql_macros()["interval_options"](axes=BOTH_AXES),
    ),
    "event_intervals_sql.event_time": (
        "event_intervals_sql",
        {"sequence_by": [], "tracked": None},
        KEYED.relations["log"],
        "_superseded_by is null",
        "event_time",
    ),
    "event_intervals_sql.tracked": (
        "event_intervals_sql",
        TRACKED,
        APART.relations["log"],
        "_superseded_by is null",
        "business_date",
    ),
    "change_feed_sql.forward": ("change_feed_sql", feed(PLAIN, has_corrections=False)),
    "change_feed_sql.corrections": (
        "change_feed_sql",
        feed(KEYED, has_corrections=True, to=None, format="struct", ordered=False),
    ),
    "change_feed_sql.view_of_a_unit": (
        "change_feed_sql",
        feed(
            FULL,
            has_corrections=True,
            to=None,
            states=STATES,
            unit=["shop.customers", "shop.lines"],
        ),
    ),
    "keys_here_sql.any": (
        "keys_here_sql",
        FULL.cfg,
        "classified",
        LOG,
        "2026-03-04",
    ),
    "keys_here_sql.scoped": ("keys_here_sql", SCOPED.cfg, "classified", LOG, "2026-03-04"),
    "net_changes_sql.one_image": ("net_changes_sql", feed(FULL, images=["post"])),
    "feed_rows_sql.buckets": (
        "feed_rows_sql",
        relation("shop", "customers_feed"),
        {"buckets": 4, "model": "customers_feed"},
        {
            "columns": [
                {"name": "_key_hash", "type": "string"},
                {"name": "_commit_id", "type": "bigint"},
            ],
            "others": f"(_commit_id > {COMMIT - 9})",
        },
        "select _key_hash, _commit_id from logged",
    ),
    "span_sql.moments": (
        "span_sql",
        STATES,
        "shop.customers",
        {
            "from": {"kind": "date", "value": "2026-03-04"},
            "to": {"kind": "timestamp", "value": "2026-03-05 09:30"},
        },
    ),
    "kept_feed_sql.of_several": (
        "kept_feed_sql",
        relation("shop", "customers_feed"),
        ["_key_hash", "_commit_id"],
        {
            "from": COMMIT - 9,
            "to": COMMIT,
            "late": [
                {"commit_id": COMMIT - 10**9, "entity": None},
                {"commit_id": COMMIT - 11, "entity": None},
            ],
            "early": [{"commit_id": COMMIT - 2, "entity": None}],
        },
        True,
    ),
    "kept_feed_sql.in_a_view": (
        "kept_feed_sql",
        relation("shop", "customers_feed"),
        ["_key_hash", "_commit_id"],
        {"from": 0, "to": None},
        False,
    ),
    "feed_stragglers_sql.three": (
        "feed_stragglers_sql",
        STATES,
        [
            {
                "relation": "shop.a",
                "from": {"mark": 5, "before": 2, "at": 4},
                "to": {"mark": 7, "before": 7, "at": 9},
            },
            {"relation": "shop.b", "from": {"mark": 9}, "to": {"mark": 12}},
            {"relation": "shop.c", "from": {"mark": 0, "before": 0, "at": 4}},
        ],
        {"from": 9, "to": 12},
    ),
    "last_pulls_sql.then": ("last_pulls_sql", STATES, "started_at <= timestamp_micros(7)"),
    "run_of_commit_sql.two": ("run_of_commit_sql", STATES, "shop.both", 7, ["shop.a", "shop.b"]),
    "unit_ends_sql.two": ("unit_ends_sql", STATES, ["shop.orders", "shop.order_lines"]),
    "rollback_slice_sql.plain": ("rollback_slice_sql", PLAIN.roles, PLAIN.relations, COMMIT),
    "undone_states_sql.both": (
        "undone_states_sql",
        STATES,
        {"commit_id": COMMIT, "relation": "shop.customers"},
        [7, 8],
        [5],
    ),
    "touched_rows_sql.events": ("touched_rows_sql", KEYED.roles, KEYED.relations, FORWARD),
    "touched_rows_sql.kept_events": (
        "touched_rows_sql",
        KEYED.roles,
        KEYED.relations,
        {**FORWARD, "touched": "customers__slice"},
    ),
    "merge_intervals_sql.map": ("merge_intervals_sql", SCD2, INTERVALS, BODY),
    "merge_intervals_sql.both_axes": (
        "merge_intervals_sql",
        BITEMPORAL,
        {**INTERVALS, "columns": BITEMPORAL_COLUMNS},
        "select * from known_intervals",
        ["_valid_from", "_known_from"],
    ),
    "feed_floor_sql.any": ("feed_floor_sql", STATES, "shop.customers"),
    "savepoints_sql.any": ("savepoints_sql", STATES, "shop.customers"),
    "listed_savepoints_sql.one": ("listed_savepoints_sql", STATES, "shop.customers"),
    "cloned_states_sql.since": (
        "cloned_states_sql",
        STATES,
        ["shop.customers", "dev.customers"],
        ["shop", "dev"],
        COMMIT,
    ),
    "clones_of_sql.any": ("clones_of_sql", STATES, "shop.customers"),
    "log_commits_sql.one": ("log_commits_sql", STATES, "shop.customers", COMMIT, 1),
    "inflight_operations_sql.clean": (
        "inflight_operations_sql",
        STATES,
        "shop.customers",
        "clean",
    ),
    "idle_slices_sql.two": (
        "idle_slices_sql",
        [FULL.relations["log"], FULL.relations["current"]],
        FULL.relations["rejects"],
    ),
    "clean_horizons_sql.two_lengths": (
        "clean_horizons_sql",
        STATES,
        "shop.customers",
        {"superseded": "30 days", "history": "2 years"},
    ),
    "cleaned_rows_sql.extract": ("cleaned_rows_sql", FULL.cfg, FULL.roles, LOG, COMMIT),
    "cleaned_rows_sql.events": (
        "cleaned_rows_sql",
        SEQUENCED.cfg,
        SEQUENCED.roles,
        SEQUENCED.relations["log"],
        COMMIT,
    ),
    "delete_rows_sql.log": (
        "delete_rows_sql",
        LOG,
        "select * from shop.customers__log",
        ["_key_hash", "_business_date", "_commit_id"],
    ),
    "orphaned_sensitive_sql.extract": (
        "orphaned_sensitive_sql",
        FULL.roles,
        FULL.relations,
        COMMIT,
    ),
    "erased_key_sql.typed": (
        "erased_key_sql",
        FULL.roles["keys"],
        {"id": "'7'"},
    ),
    "erase_rows_sql.any": (
        "erase_rows_sql",
        KEYED.relations["log"],
        ERASED,
        "_key_hash in (tidemark_erased.hash_1, tidemark_erased.hash_2)",
    ),
    "erased_keys_back_sql.any": (
        "erased_keys_back_sql",
        KEYED.relations["log"],
        260304093000123,
        ["a1"],
    ),
    "forget_moves_sql.any": ("forget_moves_sql", KEYED.relations["log"], ERASED),
    "adopted_extract_sql.inclusive": (
        "adopted_extract_sql",
        {**ADOPTED, "inclusive": True, "deleted": None},
        "2026-03-04",
    ),
    "adopted_figures_sql.any": ("adopted_figures_sql", ADOPTED, ["id"]),
    "adopted_dates_sql.any": ("adopted_dates_sql", ADOPTED),
    "adopted_differences_sql.any": (
        "adopted_differences_sql",
        ADOPTED,
        PLAIN.relations["log"],
        ["2026-03-03", "2026-03-04"],
    ),
    "derived_tables_sql.any": ("derived_tables_sql", STATES),
    "reconcile_sql.figures": (
        "reconcile_sql",
        KEYED.relations["current"],
        RECONCILED,
        1,
        "figures",
        {"buckets": 64, "modulus": 64, "residues": None},
    ),
    "reconcile_sql.digests": (
        "reconcile_sql",
        KEYLESS.relations["current"],
        RECONCILED,
        0,
        "digests",
        {"modulus": 64, "residues": [7, 9]},
    ),
    "reconcile_sql.rows": (
        "reconcile_sql",
        KEYED.relations["current"],
        RECONCILED,
        1,
        "rows",
        {"digests": ["c4ca4238a0b923820dcc509a6f75849b"]},
    ),
    "file_sizes_sql.partitioned": ("file_sizes_sql", LOG, 134217728, "_business_date"),
    "claim_events_sql.any": ("claim_events_sql", ATOMIC, MANIFEST, EVENT_KEYS, BATCH),
    "claim_events_sql.undone": (
        "claim_events_sql",
        ATOMIC,
        MANIFEST,
        EVENT_KEYS,
        AFTER_DEATHS,
    ),
    "decided_events_sql.undone": (
        "decided_events_sql",
        ATOMIC,
        EVENT_KEYS,
        MANIFEST,
        AFTER_DEATHS,
    ),
    "claim_events_sql.without_location": (
        "claim_events_sql",
        {**ATOMIC, "location": None},
        MANIFEST,
        EVENT_KEYS,
        BATCH,
    ),
    "claims_horizon_sql.days": ("claims_horizon_sql", ATOMIC, STATES),
    "decided_events_sql.across": ("decided_events_sql", ATOMIC, EVENT_KEYS, MANIFEST, BATCH),
    "decided_events_sql.in_batch": (
        "decided_events_sql",
        {"deduplicate": ["natural_in_batch", "synthetic_in_batch"]},
        EVENT_KEYS,
    ),
    "enriched_rows_sql.some_columns": (
        "enriched_rows_sql",
        relation("shop", "read_events"),
        [
            {"name": "event_id", "type": "string"},
            {"name": "event_fingerprint", "type": "string"},
            {"name": "collector_tstamp", "type": "timestamp"},
            {"name": "txn_id", "type": "string"},
            {"name": "contexts", "type": "string"},
        ],
        ["event_id", "event_fingerprint", "collector_tstamp"],
    ),
    "enriched_rows_sql.judged": (
        "enriched_rows_sql",
        relation("shop", "read_events"),
        [
            {"name": "event_id", "type": "string"},
            {"name": "event_fingerprint", "type": "string"},
            {"name": "collector_tstamp", "type": "timestamp"},
            {"name": "_reject_reason", "type": "string"},
            {"name": "_raw_payload", "type": "string"},
        ],
        ["event_id", "event_fingerprint", "collector_tstamp"],
    ),
    "batch_figures_sql.any": ("batch_figures_sql", EVENT_KEYS),
    "shred_sql.one_revision": ("shred_sql", SCHEMA, relation("shop", "atomic_events")),
    "shred_marks_sql.any": ("shred_marks_sql", STATES, "shop.products", "shop.atomic_events"),
    "typed_entities_sql.columns": (
        "typed_entities_sql",
        [
            {"name": "sku", "type": "string", "not_null": True},
            {"name": "unit_price", "type": "decimal(10,2)"},
            {"name": "in_stock", "type": "bigint", "property": "stock.count"},
            {"name": "tags", "type": "array<int>"},
            {"name": "currency", "type": "varchar(3)"},
            {"name": "sold_at", "type": "timestamp"},
        ],
        "select * from shop.atomic_events__entities",
        7,
        COMMIT,
    ),
    "exported_entities_sql.any": (
        "exported_entities_sql",
        relation("shop", "atomic_events__entities"),
        7,
        COMMIT,
    ),
    "population_days_sql.goes_on": (
        "population_days_sql",
        {
            "relation": relation("shop", "atomic_events"),
            "names": ["event_id", "collector_tstamp", "etl_tstamp"],
        },
        "2026-03-02",
        "2026-01-01",
    ),
    "populations_sql.any": ("populations_sql", STATES, "shop.atomic_events", "shop.atomic_events"),
    "populations_sql.of_others": (
        "populations_sql",
        STATES,
        "shop.atomic_events",
        "shop.atomic_events",
        True,
    ),
    "populated_claims_sql.any": (
        "populated_claims_sql",
        relation("shop", "atomic_events"),
        [7, 8],
        [5],
    ),
    "batches_after_sql.any": ("batches_after_sql", STATES, "shop.atomic_events", 7),
    "batches_gone_sql.any": ("batches_gone_sql", STATES, "shop.atomic_events", 7),
    "_inflight_of_runs_sql.two": ("_inflight_of_runs_sql", STATES, ["one", "it's"]),
    "optimized_version_sql.any": ("optimized_version_sql", STATES, "shop.customers"),
    "version_sql.any": ("version_sql", CUSTOMERS, 0),
    "build_intervals_sql.clustered": (
        "build_intervals_sql",
        relation("shop", "customers_past"),
        {
            "partition_by": [],
            "cluster_by": ["id"],
            "file_format": "delta",
            "location_root": "/lake",
            "description": "The customers' past",
            "properties": {
                "delta.columnMapping.mode": "name",
                "tidemark.scd2_commit": COMMIT,
            },
        },
        BODY,
    ),
    # with `--empty`, of a format that asks for no property
    "build_intervals_sql.bare": (
        "build_intervals_sql",
        relation("shop", "customers_past"),
        {"file_format": "delta", "properties": {}},
        "select _key_hash from intervals",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str, macros: dict[str, Any], golden: Callable[..., None]) -> None:
    macro, *arguments = CASES[name]
    golden(name, macros[macro](*arguments))


def test_enriched_columns__are_those_of_python(macros: dict[str, Any]) -> None:
    columns = macros["enriched_columns"]()
    assert [(each["name"], each["type"]) for each in columns] == list(enriched.TYPES.items())
    assert macros["fingerprint_ignore"]() == list(enriched.LEFT_OUT)


def test_erased_rows_expr__looks_for_what_a_table_has(macros: dict[str, Any]) -> None:
    expr = macros["erased_rows_expr"]
    assert expr(["_key_hash", "name"], ERASED) == "coalesce(_key_hash in ('a1', 'b2'), false)"
    assert expr(["ID", "name"], ERASED) == "coalesce((`id` <=> cast('7' as bigint)), false)"
    assert expr(["_before_id"], ERASED) == "coalesce((`_before_id` <=> cast('7' as bigint)), false)"
    payload = expr(["_key_hash", "_raw_payload"], ERASED)
    assert "_key_hash is null and _raw_payload rlike" in payload
    assert expr(["name"], ERASED) == "false"


def test_optimize_sql__of_a_partition_or_a_table(macros: dict[str, Any]) -> None:
    optimize = macros["optimize_sql"]
    date = "2026-03-04"
    assert optimize(LOG, "_business_date", date).split("\n") == [
        f"optimize {LOG}",
        f"where `_business_date` = '{date}'",
    ]
    assert optimize(CUSTOMERS, zorder_by="_key_hash").split("\n") == [
        f"optimize {CUSTOMERS}",
        "zorder by (_key_hash)",
    ]


def test_side_relations__are_beside_the_entity(macros: dict[str, Any]) -> None:
    for name in ("log", "history", "rejects", "sensitive"):
        assert str(macros[name](CUSTOMERS)) == f"shop.customers__{name}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("scd2", "customers"), "takes the relation of an entity"),
        (("scd2", LOG), "write ref('customers')"),
        (("log", HISTORY), "not its history"),
        (("scd2", CUSTOMERS, "1 or 1=1"), "known_at must be a commit id"),
        (("scd2", CUSTOMERS, None, None, "yes"), "deletes must be true or false"),
        (("scd2", CUSTOMERS, None, None, False, "soon"), "open_end must be a date such as"),
        (("scd2", CUSTOMERS, None, None, False, "2999-02-30"), "must be a date"),
        (
            ("scd2", CUSTOMERS, None, None, False, 99),
            "for intervals of business dates, found: '99'",
        ),
        (("scd2", CUSTOMERS, None, None, False, None, "since"), "columns must be a mapping"),
        (
            ("scd2", CUSTOMERS, None, None, False, None, {"valid_form": "since"}),
            "did you mean `valid_from`?",
        ),
        (
            ("scd2", CUSTOMERS, None, None, False, None, {"is_deleted": "gone"}),
            "only with deletes=true",
        ),
        (
            ("scd2", CUSTOMERS, None, None, False, None, {"valid_to": "_VALID_from"}),
            "gives two columns one name",
        ),
        (("scd2", CUSTOMERS, "²"), "known_at must be a commit id"),
        (("scd2", CUSTOMERS, True), "known_at must be a commit id"),
        (("scd2", CUSTOMERS, -1), "known_at must be a commit id"),
        (("as_of", CUSTOMERS, "2026-02-30"), "must be a date"),
        (("as_of", CUSTOMERS, "2026-02-03' or '1"), "must be a date"),
        (("as_of", CUSTOMERS, None), "as_of needs a date"),
        (("with_sensitive", "customers"), "takes the relation of an entity"),
        (("load_calendar", "month", None, []), "every must be day, weekday or a list of mon, tue"),
        (("load_calendar", ["mon", "son"], None, []), "found: ['mon', 'son']"),
        (("load_calendar", None, "soon", []), "dates_are_complete: since must be a date"),
        (("load_calendar", None, None, "x"), "dates_are_complete: except must be a date"),
        (("count_options", ["delete"], 10, 1.5, [], False), "counts must be one of inserted, up"),
        (("count_options", [], "ten", 0.5, [], False), "min_rows must be a number"),
    ],
)
def test_wrong_arguments__say_what_is_wrong(
    macros: dict[str, Any], arguments: tuple[Any, ...], message: str
) -> None:
    macro, *values = arguments
    with pytest.raises(MacroError) as raised:
        macros[macro](*values)
    assert message in str(raised.value)


def test_changed_values() -> None:
    macros = load_sql_macros()
    updated = [
        {"_tidemark_key": "b", "_key_hash": "2", "_changed_columns": '["y","phone","x"]', "x": "1", "y": None},
        {"_tidemark_key": "a", "_key_hash": "1", "_changed_columns": '["x"]', "x": "3", "y": "7"},
        {"_tidemark_key": "c", "_key_hash": "3", "_changed_columns": '["x"]', "x": "3", "y": "7"},
    ]  # fmt: skip
    before = [
        {"_key_hash": "1", "_business_date": dt.date(2026, 3, 3), "x": "2", "y": "7"},
        {"_key_hash": "1", "_business_date": dt.date(2026, 3, 1), "x": "1", "y": "7"},
        {"_key_hash": "2", "_business_date": dt.date(2026, 3, 1), "x": None, "y": "7"},
    ]
    rows = macros["changed_values"](updated, before)
    assert [tuple(row.values()) for row in rows] == [
        ("a", "x", "2", "3"),
        ("b", "phone", "***", "***"),
        ("b", "x", None, "1"),
        ("b", "y", "7", None),
    ]


@pytest.mark.parametrize(
    ("date", "asked", "is_"),
    [
        # a new date is what the YAML says, one that was loaded what it was, also the last one
        ("2026-03-07", "full", "full"),
        ("2026-03-06", "full", "delta"),
        ("2026-03-04", "delta", "full"),
        # one between them what the date before it was, one before all what the first was
        ("2026-03-05", "delta", "full"),
        ("2026-03-03", "full", "delta"),
        ("2026-03-01", "full", "delta"),
        (None, "full", "full"),
    ],
)
def test_extract_of_date(date: str | None, asked: str, is_: str) -> None:
    macros = load_sql_macros()
    kinds = {"2026-03-02": "delta", "2026-03-04": "full", "2026-03-06": "delta"}
    states = [
        {
            "commit_id": number, "kind": "load", "state": "completed", "last_sequence_num": None,
            "undone_by": None, "business_date": dt.date.fromisoformat(day), "config": json.dumps({"extract": kind}),
        }
        for number, (day, kind) in enumerate(kinds.items(), 1)
    ]  # fmt: skip
    state = {**judged_state(states[::-1], date), "first": False}
    cfg = {"family": "extract", "extract": asked}
    found = macros["config_of_date"](cfg, {"business_date": date}, state)
    assert (found["extract"], found["asked_extract"], found["has_deltas"]) == (is_, asked, True)
    # for another date afterwards it is asked anew
    again = macros["config_of_date"](found, {"business_date": "2026-03-09"}, state)
    assert again["extract"] == asked


def test_judged_state() -> None:
    def state(commit: int, state: str, date: str | None, kind: str = "load", **more: Any) -> Any:
        empty = {"last_sequence_num": None, "undone_by": None, "config": None}
        day = dt.date.fromisoformat(date) if date else None
        return {
            **empty,
            "commit_id": commit,
            "kind": kind,
            "state": state,
            "business_date": day,
            **more,
        }

    states = [
        state(7, "inflight", "2026-03-05", config="{}"),
        state(6, "rolled_back", "2026-03-06", undone_by=9),
        state(6, "completed", "2026-03-06"),
        state(5, "completed", "2026-03-05", config='{"extract": "full"}'),
        state(4, "completed", "2026-03-02", last_sequence_num=40, config='{"extract": "delta"}'),
        state(3, "completed", "2026-03-05", config='{"hash": "md5"}'),
        state(2, "completed", "2026-03-01", "full_refresh"),
        state(1, "completed", "2026-03-04", last_sequence_num=90),
    ]
    assert judged_state(states, "2026-03-03") == {
        "last_id": 7,
        "last_commit_id": 5,
        "last_sequence_num": 40,
        "recorded": {"extract": "full"},
        "left_refresh": False,
        "has_erased": False,
        "undone": [6],
        "inflight": [
            {"commit_id": 7, "kind": "load", "config": "{}", "business_date": "2026-03-05"}
        ],
        "this_commit_id": None,
        "this_extract": None,
        "previous_date": "2026-03-02",
        "previous_extract": "delta",
        "last_date": "2026-03-05",
        "last_date_commit_id": 5,
        "last_extract": "full",
        "later_loads": [{"business_date": "2026-03-05", "commit_id": 5, "extract": "full"}],
    }
    # a run that died, or seemed to: what it wrote counts as little as what a rollback undid
    died = state(8, "rolled_back", None, "full_refresh")
    found = judged_state([died, *states], None)
    assert (found["undone"], found["left_refresh"]) == ([8, 6], True)
    erased = state(10, "completed", None, "erase_key")
    assert judged_state([erased, *states], None)["has_erased"]
    found = judged_state([state(9, "completed", None), died, *states], None)
    assert (found["undone"], found["left_refresh"]) == ([8, 6], False)
    nothing = judged_state([], "2026-03-03")
    assert (nothing["last_id"], nothing["last_commit_id"], nothing["recorded"]) == (None, 0, None)


@pytest.mark.parametrize(
    ("settings", "compare_as", "by_change"),
    [
        ({}, None, False),
        ({"sensitive": ["phone", "ID"]}, None, False),
        ({"sensitive": ["ID"], "ignore": ["phone"]}, None, False),
        ({"ignore": ["PHONE"]}, None, True),
        ({"ignore": [], "compare": {"include": ["balance"]}}, None, True),
        ({}, "lower(phone)", True),
    ],
)
def test_is_sensitive_by_change(
    settings: dict[str, Any], compare_as: str | None, by_change: bool
) -> None:
    """Said alike of a plan and of settings, of which alone readers know."""
    macros = load_sql_macros()
    wanted = {"extract": "full", "location": "a_{business_date}.csv", "sensitive": ["phone"]}
    meta = {"tidemark": {"compare_as": compare_as}} if compare_as else {}
    columns = {**MODEL["columns"], "phone": {"name": "phone", "data_type": "string", "meta": meta}}  # type: ignore[dict-item]
    config = {"unique_key": "id", "meta": {"tidemark": {**wanted, **settings}}}
    cfg = macros["entity_config"]({**MODEL, "columns": columns, "config": config})
    of_settings = macros["sensitive_columns_of"](cfg)
    assert macros["is_sensitive_by_change"](of_settings) is by_change
    roles = macros["column_roles"](cfg, ARRIVED, TYPES, None)
    assert macros["is_sensitive_by_change"](roles["sensitive"]) is by_change


def test_is_sensitive_by_change__of_events() -> None:
    macros = load_sql_macros()
    for events, by_change in ((APART, False), (Events("loose", sensitive=["phone"], ignore=["phone"]), True)):  # fmt: skip
        for columns in (macros["sensitive_columns_of"](events.cfg), events.roles["sensitive"]):
            assert macros["is_sensitive_by_change"](columns) is by_change


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"track_history": {"exclude": ["ful name"]}},
            "track_history names column `ful name`, which no event has; did you mean `full name`?",
        ),
        ({"track_history": ["PHONE", "balanc"]}, "`balanc`, which no event has; did you mean"),
        (
            {"track_history": ["phone"], "ignore": ["Phone"]},
            "track_history names `phone`, which ignore says is not compared",
        ),
        (
            {"track_history": ["phone"], "columns": {"exclude": ["phone"]}},
            "track_history names `phone`, which columns leaves out",
        ),
    ],
)
def test_track_history__of_columns_that_are_compared(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(MacroError) as raised:
        Events("customers", **settings)
    assert message in str(raised.value)
    assert str(raised.value).count("track_history") == 1


@pytest.mark.parametrize(
    ("read_to", "recorded", "made_by", "is_known"),
    [
        (0, {}, "7", True),  # nothing was read
        (5, {"made_by": 3}, "3", True),
        (5, {"made_by": 3}, "7", False),  # whoever made it died
        (5, {"made_by": 3}, "0", False),  # of an --empty run
        (5, {"made_by": 3}, None, False),  # of no run of ours
        (5, {"uri": "iglu:…"}, None, True),  # table and run of before there was this property
        (5, {"uri": "iglu:…"}, "0", False),
    ],
)
def test_is_known_shred(
    read_to: int, recorded: dict[str, Any], made_by: str | None, is_known: bool
) -> None:
    assert load_sql_macros()["is_known_shred"](read_to, recorded, made_by) is is_known


def test_comments__are_no_longer_than_a_metastore_keeps() -> None:
    """Hive tries ten times to keep a longer one, two seconds each, whenever a view or a table with it is made."""
    macros = load_sql_macros()
    for name in ("commit_columns", "manifest_columns", "entity_columns", "landed_columns"):
        for column in macros[name]():
            assert len(column.get("description") or "") <= 256, (name, column["name"])


def test_golden_sql__what_is_said_otherwise_is_there() -> None:
    """A query over rows finds some only with the text that is changed for it."""
    from ..functional.test_golden_three_ways import OTHERWISE

    for name, (text, _) in OTHERWISE.items():
        of_case = [one.read_text() for one in Path(__file__).parent.glob(f"golden/{name}*.sql")]
        assert of_case and all(text in sql for sql in of_case), name
