"""Claims and rejects of enriched events that nobody needs any more are taken away."""

from __future__ import annotations

import json
from typing import Any

from tidemark.operations.entity import open_atomic, operation_commit, report
from tidemark.operations.retention import retention_lengths
from tidemark.operations.tables import vacuum_or_report
from tidemark.pipeline.commits import ensure_commits, entity_state, record_commit
from tidemark.pipeline.tables import relation_exists
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.shapes.opened import OpenedAtomic, OpenedShred


def clean_enriched(
    warehouse: Warehouse, node: Values, dry_run: bool, vacuum: bool, retention: Any
) -> None:
    """Take away claims that no batch finds any more, and rejects that nothing keeps."""
    is_atomic = node["config"]["materialized"] == "atomic"
    opened: OpenedAtomic | OpenedShred
    opened = open_atomic(warehouse, node, dry_run) if is_atomic else _open_shred(warehouse, node)
    cfg, entity = opened["cfg"], opened["cfg"]["entity"]
    rejects = warehouse.macro("side_relation", cfg["target"], "rejects")
    lengths = retention_lengths(cfg, retention)
    removed: Values = {}
    for relation, what, condition in _steps(warehouse, opened, rejects, lengths):
        count, name = warehouse.macro("row_count", relation, condition), relation.identifier
        if not count:
            report(warehouse, entity, f"has no {what} to be removed from {name}")
            continue
        does = "would remove" if dry_run else "removing"
        report(warehouse, entity, f"{does} {count} {what} of {name}")
        if not dry_run:
            warehouse.run(f"delete from {relation} where {condition}")
            removed[f"{name}: {what}"] = count
    if vacuum:
        known = [cfg["target"], rejects]
        if "relations" in opened:
            known = list(opened["relations"].values())
        present = [relation for relation in known if relation_exists(warehouse, relation)]
        vacuum_or_report(warehouse, entity, present, dry_run)
    if removed or (vacuum and not dry_run):
        details = json.dumps({"retention": lengths, "removed": removed, "vacuum": vacuum})
        record = operation_commit(warehouse, opened, "clean", details=details)
        record_commit(warehouse, opened["commits"], record, "completed", {})


def _steps(
    warehouse: Warehouse, opened: OpenedAtomic | OpenedShred, rejects: Any, lengths: Values
) -> list[tuple[Any, str, str]]:
    """Return what may go: a table, what it is called, a condition."""
    macro, commits, steps = warehouse.macro, opened["commits"], []
    if "relations" in opened:
        cfg, manifest = opened["cfg"], opened["relations"]["manifest"]
        is_own = cfg["manifest"] is None and macro("claims_expire", cfg)
        if is_own and relation_exists(warehouse, manifest):
            sql = macro("claims_horizon_sql", cfg, commits["view"])
            horizon = warehouse.rows(sql)[0]["horizon"]
            if horizon is not None:
                ended = f"expires_at < timestamp_micros({horizon})"
                steps.append((manifest, "expired claims", ended))
    if "rejects" in lengths and relation_exists(warehouse, rejects):
        kept = {"rejects": lengths["rejects"]}
        sql = macro("clean_horizons_sql", commits["states"], opened["events"], kept)
        horizon = warehouse.rows(sql)[0]["rejects_horizon"]
        steps.append((rejects, "rejects", f"_commit_id <= {horizon}"))
    return steps


def _open_shred(warehouse: Warehouse, node: Values) -> OpenedShred:
    """Open a `materialized: shred` model: its rows have the commits of the events it read last."""
    cfg, run = warehouse.macro("shred_config", node), warehouse.macro("run_config")
    commits = ensure_commits(warehouse, run)
    relation = warehouse.macro("string_literal", cfg["relation"])
    events = warehouse.run(
        f"select max_by(source_relation, commit_id) from {commits['view']} "
        f"where kind = 'shred' and relation = {relation}"
    )[0][0]
    state = entity_state(warehouse, commits, cfg["relation"], run)
    return {"cfg": cfg, "run": run, "commits": commits, "state": state, "events": events or ""}
