"""The SQL of the engine in the workers for a small entity, as golden files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tidemark.engine import sql
from tidemark.engine.enriched import batch as enriched_batch
from tidemark.engine.enriched import sql as enriched
from tidemark.engine.events import canonical, parsed, replayed, staged, written
from tidemark.engine.events import load as events_load
from tidemark.engine.load import Column, Load, Target

from .conftest import DUCKDB

COLUMNS = (
    Column("id", "int", 0, True),
    Column("name", "string", 1, False),
    Column("price", "decimal(12,2)", 2, False),
    Column("since", "date", 3, False),
    Column("seen", "timestamp", 4, False),
)
NAMES = tuple(column.name for column in COLUMNS)
LOAD = Load(
    extract="full", format="csv", files=("/landing/customers.csv",), stamps=((1402, 7),), separator=",", fields=NAMES,
    columns=COLUMNS, keys=("id",), compared=NAMES[1:4], ignored=("seen",), hash="md5", changed_columns=True,
    soft_delete=False, tag_unchanged=True, business_date="2026-03-04", commit_id=20260304000000000001,
)  # fmt: skip
DELTA = replace(LOAD, extract="delta", soft_delete=True, tag_unchanged=False)
COMPARED = replace(LOAD, compared=NAMES[1:], ignored=())
OWN = (
    *("_key_hash", "_row_hash", "_operation", "_eff_start_date", "_business_date"),
    *("_changed_columns", "_commit_id"),
)


def table(name: str, *columns: str) -> Target:
    fields = {column: (column, place + 1) for place, column in enumerate(columns)}
    return Target(f"/lake/{name}", fields, (f"/lake/{name}/part-0.parquet",))


LOG, CURRENT = (table(f"customers{end}", *NAMES, *OWN) for end in ("__log", ""))
SUPPLIED = table("customers__supplied", "_key_hash", "_business_date", "_commit_id")
EVENTS_LOAD = replace(LOAD, extract="events", compared=NAMES[1:], ignored=(), tag_unchanged=False)
LANDED = events_load.Landed("/landing/customers.jsonl", 1, (1402, 7))
EVENTS = events_load.Batch(EVENTS_LOAD, (LANDED,), ("shop.customers",), events_load.placeholders_of("__gone"), 20260304000000000001, False)  # fmt: skip
EVENT_LOG = table("customers__log", *NAMES, *written.LOGGED)
EVENT_CURRENT = table("customers", *NAMES, *written.SHOWN)
STAGING = table("customers__staging", *NAMES, *written.staged_names(EVENTS))
CANONICAL = replace(EVENTS, load=replace(EVENTS_LOAD, format="canonical"))
IGNORING = replace(CANONICAL, load=replace(CANONICAL.load, compared=tuple(name for name in CANONICAL.load.compared if name != "seen"), ignored=("seen",)))  # fmt: skip
SHAPES = canonical.shapes_of(CANONICAL, [sorted(("_operation", "_sequence_num", *NAMES)), ["_before_id", "_operation", "_sequence_num"], ["other"]])  # fmt: skip
ENRICHED = enriched_batch.Batch(
    files=("/landing/run-1.tsv",), stamps=((1402, 7),),
    deduplicate=frozenset(("natural_in_batch", "synthetic_in_batch", "natural_cross_batch", "synthetic_cross_batch")),
    fingerprint_ignore=frozenset(("event_id", "etl_tstamp")), ttl_micros=86_400_000_000, most_rejects=0.5,
    shortest_doubles=False, commit_id=20260304000000000001,
)  # fmt: skip
MANIFEST = table(
    "events__manifest", "event_id", "fingerprint", "etl_tstamp", "expires_at", "_commit_id"
)

CASES: dict[str, Callable[[], str | None]] = {
    "arrived_sql.csv": lambda: sql.arrived_sql(LOAD, has_quotes=True),
    "arrived_sql.json": lambda: sql.arrived_sql(replace(LOAD, format="json"), has_quotes=False),
    "one_of_each_sql.ignored": lambda: sql.one_of_each_sql(LOAD),
    "existing_sql.column_comes": lambda: sql.existing_sql(LOAD, CURRENT, [*NAMES[:3], *OWN]),
    "classified_sql.full": lambda: sql.classified_sql(LOAD),
    "classified_sql.delta": lambda: sql.classified_sql(DELTA),
    "classified_sql.delta_tagged": lambda: sql.classified_sql(replace(DELTA, tag_unchanged=True)),
    "all_new_sql.any": sql.all_new_sql,
    "log_sql.full": lambda: sql.log_sql(LOAD, LOG, "IUDN"),
    "log_sql.first": lambda: sql.log_sql(LOAD, LOG, "I"),
    "current_sql.ignored": lambda: sql.current_sql(LOAD, CURRENT, "IUDN", True),
    "current_sql.told_by_hash": lambda: sql.current_sql(COMPARED, CURRENT, "IUDN", True),
    "current_sql.part": lambda: sql.current_sql(
        replace(COMPARED, tag_unchanged=False), CURRENT, "IUDN", False
    ),
    "current_sql.delta": lambda: sql.current_sql(DELTA, CURRENT, "IUXK", True),
    "supplied_sql.any": lambda: sql.supplied_sql(DELTA, SUPPLIED),
    "events.parsed_sql": lambda: parsed.parsed_sql(EVENTS, [("after", "before", "op")]),
    "events.staged_sql": lambda: staged.staged_sql(EVENTS),
    "events.parsed_canonical_sql": lambda: canonical.parsed_canonical_sql(CANONICAL, SHAPES or ()),
    "events.staged_sql.canonical": lambda: staged.staged_sql(CANONICAL),
    "events.possible_sql.canonical": lambda: staged.possible_sql(CANONICAL),
    "events.paired_sql": lambda: staged.paired_sql(EVENTS),
    "events.replayed_sql": lambda: replayed.replayed_sql(EVENTS, moves=False),
    "events.replayed_sql.moves": lambda: replayed.replayed_sql(EVENTS, moves=True),
    "events.replayed_sql.left_out": lambda: replayed.replayed_sql(
        CANONICAL, moves=False, carried=["name", "price"]
    ),
    "events.replayed_sql.ignored": lambda: replayed.replayed_sql(
        IGNORING, moves=False, carried=["name", "seen"]
    ),
    "events.log_sql": lambda: written.log_sql(EVENTS, EVENT_LOG),
    "events.current_sql": lambda: written.current_sql(EVENTS, EVENT_CURRENT),
    "events.staging_sql": lambda: written.staging_sql(EVENTS, STAGING),
    "enriched.keys_sql": lambda: enriched.keys_sql(ENRICHED),
    "enriched.carried_sql": enriched.carried_sql,
    "enriched.claims_sql": lambda: enriched.claims_sql(ENRICHED, MANIFEST, 7),
    "enriched.claimed_sql": lambda: enriched.claimed_sql(ENRICHED, MANIFEST, 7),
    "enriched.decided_sql": lambda: enriched.decided_sql(ENRICHED, 7, [1, 7]),
}


@pytest.mark.parametrize("name", CASES)
def test_engine_golden(name: str, golden: Callable[..., Any]) -> None:
    golden(name, CASES[name](), DUCKDB)
