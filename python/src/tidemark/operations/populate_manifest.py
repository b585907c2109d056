"""Events that are stored already are claimed."""

from __future__ import annotations

import json
from typing import Any

from tidemark.errors import DataError
from tidemark.operations.entity import left_in_flight, open_atomic, operation_commit, report
from tidemark.pipeline.commits import record_commit
from tidemark.pipeline.tables import relation_exists
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.printable import counted
from tidemark.shapes.opened import Commit, Opened


class _Unfinished(Commit):
    """A call that died, as a commit that goes on."""

    done_to: str | None  # the last day that it finished


def populate_manifest(warehouse: Warehouse, entity: str, since: Any, table: Any) -> None:
    """Claim stored events, day by day; what is claimed is not claimed twice.

    A call that died goes on after the last day that it finished.
    """
    macro = warehouse.macro
    opened = open_atomic(warehouse, macro("entity_node", entity, ["atomic"]))
    cfg, commits, relations = opened["cfg"], opened["commits"], opened["relations"]
    manifest = relations["manifest"]
    first_day = macro("_business_date", since, "populate_manifest: since")
    source = macro("relation_named", table) if table else relations["current"]
    names = _enriched_names(warehouse, entity, source)
    create = warehouse.of_format(
        cfg["file_format"], "create_table", manifest, macro("manifest_columns"), {}
    )
    schema = manifest.include(identifier=False)
    warehouse.run_all([f"create schema if not exists {schema}", *create])
    details = {"from": str(source), "since": first_day}
    left = _unfinished(warehouse, opened, details)
    record: Commit = left or operation_commit(warehouse, opened, "populate_manifest")
    done_to = left["done_to"] if left else None
    record["details"] = json.dumps(details)
    if left:
        after = done_to or "the beginning"
        report(warehouse, entity, f"continues after {after}, where an earlier call stopped")
    else:
        record_commit(warehouse, commits, record, "inflight", {})
    before = _claims_of(warehouse, manifest, record) if left else 0
    stored, claimed = {"relation": source, "names": names}, 0
    for row in warehouse.run(macro("population_days_sql", stored, done_to, first_day)):
        day, commit_id = str(row[0]), record["commit_id"]
        counts = warehouse.run(
            macro("populate_manifest_sql", cfg, manifest, stored, day, commit_id)
        )
        # What a MERGE wrote, Iceberg does not tell.
        if len(counts):
            number = int(counts[0][0] or 0)
        else:
            number = _claims_of(warehouse, manifest, record) - before - claimed
        claimed += number
        report(warehouse, entity, f"{day}: {number:,} of {counted(int(row[1]), 'event')} claimed")
        details["done_to"] = day
        record["details"] = json.dumps(details)
        record_commit(warehouse, commits, record, "inflight", {})
    if not table and opened["state"]["recorded"]:
        # By which runs know that what was stored without a claim has one now.
        record["config"] = {**opened["state"]["recorded"], "manifest": str(manifest)}
    record_commit(warehouse, commits, record, "completed", {"rows_inserted": claimed})
    report(warehouse, entity, f"claimed {counted(claimed, 'event')} of {source} in {manifest}")


def _claims_of(warehouse: Warehouse, manifest: Any, commit: Commit) -> int:
    """Return how many claims a commit has made so far."""
    condition = f"_commit_id = {commit['commit_id']}"
    count: int = warehouse.macro("row_count", manifest, condition)
    return count


def _unfinished(warehouse: Warehouse, opened: Opened, details: Values) -> _Unfinished | None:
    """Return a call with the same arguments that died, as a commit that goes on."""
    for row in left_in_flight(warehouse, opened, "populate_manifest"):
        begun = json.loads(row["details"] or "{}")
        if all(begun.get(name) == details[name] for name in ("from", "since")):
            return {
                **operation_commit(warehouse, opened, "populate_manifest"),
                "commit_id": int(row["commit_id"]),
                "started_at": warehouse.macro("utc_text_of_micros", row["started_micros"]),
                "state_at": warehouse.macro("utc_text_of_micros", row["state_micros"]),
                "done_to": begun.get("done_to"),
            }
    return None


def _enriched_names(warehouse: Warehouse, entity: str, source: Any) -> list[str]:
    """Return the columns of a table of events, which has at least what a claim is made of."""
    if not relation_exists(warehouse, source):
        raise DataError(
            f"{entity}: there is no table {source} to take events from. Name a table that exists"
        )
    names: list[str] = warehouse.macro("names_in", source)
    for name in ("event_id", "collector_tstamp"):
        if name not in names:
            raise DataError(
                f"{entity}: {source} has no column `{name}`. Name a table with the canonical "
                "columns of enriched events"
            )
    return names
