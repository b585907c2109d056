"""`clean`: removes rows that the retention settings do not keep any more."""

from __future__ import annotations

import json
from typing import Any

from tidemark.errors import DataError
from tidemark.operations.clean_enriched import clean_enriched
from tidemark.operations.clean_feed import clean_feed
from tidemark.operations.entity import (
    end_begun,
    is_true,
    open_entity,
    operation_commit,
    report,
    report_unfinished,
)
from tidemark.operations.retention import retention_lengths
from tidemark.operations.tables import (
    drop_any,
    entity_tables,
    kept_tables,
    vacuum_or_report,
    vacuum_tables,
)
from tidemark.pipeline.commits import record_commit
from tidemark.pipeline.slices import clear_slices, drop_slices
from tidemark.pipeline.tables import relation_exists
from tidemark.pipeline.timeline import timeline as timeline_of
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.printable import counted
from tidemark.rules.timeline import last_loads
from tidemark.shapes.opened import Commit, Opened, RelationName

_KINDS = ("superseded", "history", "feed", "staging", "rejects")


def clean(warehouse: Warehouse, entity: str, dry_run: Any, vacuum: Any, retention: Any) -> None:
    """Take away what the settings, or for this call `retention`, do not keep.

    The floor, before which changes cannot be asked from then on, is recorded before anything is
    removed, and each table's rows go in one commit of it: a call that died is finished by the next.
    """
    is_dry, vacuums = is_true(dry_run), is_true(vacuum)
    node = warehouse.macro("entity_node", entity, ["cdc", "feed", "atomic", "shred"])
    kind = node["config"]["materialized"]
    if kind == "feed":
        clean_feed(warehouse, node, is_dry, vacuums, retention)
    elif kind == "cdc":
        _clean_entity(warehouse, entity, is_dry, vacuums, retention)
    else:
        clean_enriched(warehouse, node, is_dry, vacuums, retention)


def _clean_entity(
    warehouse: Warehouse, entity: str, dry_run: bool, vacuum: bool, retention: Any
) -> None:
    opened = open_entity(warehouse, entity, "clean", dry_run)
    lengths = retention_lengths(opened["cfg"], retention)
    horizons = clean_horizons(warehouse, opened, lengths)
    steps = clean_steps(warehouse, opened, horizons)
    if horizons["is_held"]:
        for holder in horizons["holders"]:
            report(
                warehouse, entity, f"kept from commit {holder['commit_id']} on by {holder['by']}"
            )
    needed = rows_kept_for_events(warehouse, opened, horizons)
    if needed:
        report(
            warehouse,
            entity,
            f"kept {counted(needed, 'old row')} of the history, which late events need. Later "
            "rows do not "
            "have every column",
        )
    if dry_run:
        _report_clean(warehouse, opened, steps, horizons, vacuum)
    else:
        _remove(warehouse, entity, opened, steps, {**horizons, "lengths": lengths}, vacuum)


def _remove(
    warehouse: Warehouse,
    entity: str,
    opened: Opened,
    steps: list[Values],
    horizons: Values,
    vacuum: bool,
) -> None:
    cfg, relations = opened["cfg"], opened["relations"]
    removed: Values = {}
    details = {
        "retention": horizons["lengths"],
        "removed": removed,
        "dropped": [str(relation) for relation in horizons["old_tables"]],
        "vacuum": vacuum,
    }
    record = operation_commit(
        warehouse,
        opened,
        "clean",
        source_commit_id=horizons["floor"],
        details=json.dumps(details),
    )
    record_commit(warehouse, opened["commits"], record, "inflight", {})
    _check_new_savepoints(warehouse, opened, record, horizons["savepoints"])
    end_begun(warehouse, opened, record)
    for step in steps:
        name = step["relation"].identifier
        warehouse.run(step["statement"])
        report(warehouse, entity, f"removed {step['count']} {step['what']} of {name}")
        removed[f"{name}: {step['what']}"] = step["count"]
    # Sensitive values last: theirs is what has no log row any more, also after a call that died
    # before it came to them.
    orphans = _remove_orphaned_sensitive(warehouse, opened, horizons["floor"])
    if orphans:
        name = relations["sensitive"].identifier
        removed[name] = orphans
        report(warehouse, entity, f"removed {counted(orphans, 'row')} of {name}")
    for relation in horizons["old_tables"]:
        drop_any(warehouse, relation)
        report(warehouse, entity, f"dropped {relation}")
    drop_slices(warehouse, cfg["target"])
    clear_slices(warehouse, cfg["target"])
    if vacuum:
        vacuum_tables(warehouse, entity_tables(warehouse, relations))
    record = {**record, "details": json.dumps(details)}
    record_commit(warehouse, opened["commits"], record, "completed", {})
    did = f"cleaned in commit {record['commit_id']}"
    if not removed and not details["dropped"]:
        did = "nothing was to be removed"
    floor = horizons["floor"]
    report(warehouse, entity, f"{did}; changes can be read from commit {floor} on")


def _check_new_savepoints(
    warehouse: Warehouse, opened: Opened, record: Commit, known: list[int]
) -> None:
    """Stop for a savepoint that was made since it was worked out what goes.

    From here on one finds the line that clean() draws. So far nothing went, and what a call that
    died has taken away stays behind its own line.
    """
    cfg, commits = opened["cfg"], opened["commits"]
    sql = warehouse.macro("savepoints_sql", commits["states"], cfg["relation"])
    for point in warehouse.rows(sql):
        if int(point["commit_id"]) not in known:
            record_commit(warehouse, commits, record, "rolled_back", {})
            raise DataError(
                f"{cfg['entity']}: another process made a savepoint on commit "
                f"{point['commit_id']} since clean began. Nothing was removed. Run clean again"
            )


def _report_clean(
    warehouse: Warehouse, opened: Opened, steps: list[Values], horizons: Values, vacuum: bool
) -> None:
    """Say what clean() would do.

    `tidemark clean` goes on only if something is said that it would: so whatever is left to do is.
    """
    relations, entity = opened["relations"], opened["cfg"]["entity"]
    report_unfinished(warehouse, opened, "clean")
    for step in steps:
        what = f"would remove {step['count']} {step['what']} of {step['relation'].identifier}"
        report(warehouse, entity, what)
    floor = horizons["floor"]
    orphans = _remove_orphaned_sensitive(warehouse, opened, floor, dry_run=True)
    if orphans:
        of = f"{relations['sensitive'].identifier}, whose log rows are gone"
        report(warehouse, entity, f"would remove {counted(orphans, 'row')} of {of}")
    for relation in horizons["old_tables"]:
        report(warehouse, entity, f"would drop {relation}")
    if vacuum:
        vacuum_or_report(warehouse, entity, entity_tables(warehouse, relations), True)
    draws = "would let changes be read" if horizons["draws_line"] else "changes can be read"
    report(warehouse, entity, f"{draws} from commit {floor} on")


def clean_horizons(warehouse: Warehouse, opened: Opened, lengths: Values) -> Values:
    """Return up to which commit each kind of rows may go, and the floor.

    What must stay readable holds all of it back: after a savepoint, or after what a derived table
    has read, nothing is taken away.
    """
    cfg, states = opened["cfg"], opened["commits"]["states"]
    row = warehouse.rows(warehouse.macro("clean_horizons_sql", states, cfg["relation"], lengths))[0]
    savepoints = json.loads(row["savepoints"] or "[]")
    holders = _holders(warehouse, row, savepoints)
    first_kept = min((holder["commit_id"] for holder in holders), default=None)
    horizons: Values = {}
    is_held = False
    for name in _KINDS:
        horizon = int(row[f"{name}_horizon"] or 0) if name in lengths else 0
        is_free = name == "staging" or (name == "rejects" and cfg["extract"] == "events")
        if not is_free and first_kept is not None:
            if horizon > first_kept or (name == "history" and horizon):
                is_held = True
                # A row in force that is older than a kept point belongs to what was known there.
                horizon = 0 if name == "history" else first_kept
        horizons[name] = horizon
    floor = int(row["floor"] or 0)
    replaced = json.loads(row["replaced_logs"] or "[]")
    return {
        **horizons,
        "holders": holders,
        "is_held": is_held,
        "draws_line": horizons["feed"] > floor,
        "savepoints": [point["commit_id"] for point in savepoints],
        "floor": max(floor, *(horizons[name] for name in ("superseded", "history", "feed"))),
        "old_tables": old_tables(warehouse, opened, replaced, savepoints),
    }


def _holders(warehouse: Warehouse, row: Values, savepoints: list[Values]) -> list[Values]:
    start, holders = int(row["log_start"] or 0), []
    for point in savepoints:
        if point["commit_id"] >= start:
            named = f" {point['name']}" if point.get("name") else ""
            holders.append({"commit_id": point["commit_id"], "by": f"the savepoint{named}"})
    for consumer in json.loads(row["consumers"] or "[]"):
        if consumer["commit_id"] >= start:
            name = consumer["relation"]
            # A derived table that was dropped is built again from what there is.
            if relation_exists(warehouse, warehouse.macro("relation_named", name)):
                by = f"{name}, which has read so far"
                holders.append({"commit_id": consumer["commit_id"], "by": by})
    return holders


def old_tables(
    warehouse: Warehouse, opened: Opened, replaced: list[Values], savepoints: list[Values]
) -> list[Any]:
    """Return what a full refresh or a rehash left long enough ago.

    Of a log that a savepoint lies in it is nothing.
    """
    first_kept = min((point["commit_id"] for point in savepoints), default=None)
    return [
        relation
        for relation, commit_id in kept_tables(warehouse, opened["relations"]["current"])
        for commit in replaced
        if commit["commit_id"] == commit_id
        and commit["is_old"]
        and (commit["kind"] == "rehash" or first_kept is None or first_kept >= commit_id)
    ]


def clean_steps(warehouse: Warehouse, opened: Opened, horizons: Values) -> list[Values]:
    """Return what is to be removed, table by table: those steps that have something to do."""
    macro, cfg, relations = warehouse.macro, opened["cfg"], opened["relations"]
    roles = macro("recorded_roles", opened["state"]["recorded"])
    steps = []

    def add(name: RelationName, what: str, condition: str) -> None:
        relation = relations[name]
        count = macro("row_count", relation, condition)
        delete = f"delete from {relation} where {condition}"
        steps.append({"relation": relation, "what": what, "count": count, "statement": delete})

    horizon = horizons["superseded"]
    if horizon:
        add("log", "superseded rows", f"_superseded_by <= {horizon}")
        if macro("has_deltas", cfg):
            replaced = replaced_loads_expr(warehouse, opened, horizon)
            add("supplied", "rows of replaced loads", replaced)
    if horizons["history"]:
        log = relations["log"]
        rows = macro("cleaned_rows_sql", cfg, roles, log, horizons["history"])
        steps.append(
            {
                "relation": log,
                "what": "rows of the history",
                "count": macro("row_count", f"(\n{rows}\n)"),
                "statement": macro("delete_rows_sql", log, rows, macro("log_row_names", roles)),
            }
        )
    if horizons["staging"]:
        condition = f"_commit_id <= {horizons['staging']}"
        if not cfg["keys"]:
            in_force = macro("in_force_of", relations["staging"], opened["state"])
            condition += f" and _batch_id < {_batch_to_keep(warehouse, in_force)}"
        add("staging", "events", condition)
    horizon = horizons["rejects"]
    if horizon:
        is_events = cfg["extract"] == "events"
        replaced = "" if is_events else replaced_loads_expr(warehouse, opened, horizon)
        add("rejects", "rejects", replaced or f"_commit_id <= {horizon}")
    return [step for step in steps if step["count"]]


def rows_kept_for_events(warehouse: Warehouse, opened: Opened, horizons: Values) -> int:
    """Count rows of the history that stay, old as they are.

    Events that did not bring every column need them.
    """
    cfg, horizon = opened["cfg"], horizons["history"]
    if cfg["extract"] != "events" or not cfg["keys"] or not horizon:
        return 0
    roles = warehouse.macro("recorded_roles", opened["state"]["recorded"])
    log = opened["relations"]["log"]
    rows = warehouse.macro("cleaned_rows_sql", cfg, roles, log, horizon, kept=True)
    count: int = warehouse.macro("row_count", f"(\n{rows}\n)")
    return count


def replaced_loads_expr(warehouse: Warehouse, opened: Opened, horizon: int) -> str:
    """Return rows of loads up to a commit whose date was loaded again by then.

    What the last load of a date observed is needed for late dates.
    """
    timeline = timeline_of(warehouse, opened["commits"], opened["cfg"]["relation"])
    last = ", ".join(map(str, last_loads(timeline, horizon)))
    return f"_commit_id <= {horizon}" + (f" and _commit_id not in ({last})" if last else "")


def _batch_to_keep(warehouse: Warehouse, staging: str) -> int:
    """Return the batch before which events may go.

    Events of a table without key that come again are counted against those of the last batches: two
    of them stay.
    """
    batch: int = warehouse.run(
        "select coalesce(min(_batch_id), 0) from (select distinct _batch_id from "
        f"{staging} order by _batch_id desc nulls last limit 2)"
    )[0][0]
    return batch


def _remove_orphaned_sensitive(
    warehouse: Warehouse, opened: Opened, floor: int, dry_run: bool = False
) -> int:
    """Remove the sensitive values of log rows that are gone; their number."""
    macro, relations = warehouse.macro, opened["relations"]
    roles = macro("recorded_roles", opened["state"]["recorded"])
    if not roles["sensitive"]:
        return 0
    rows = macro("orphaned_sensitive_sql", roles, relations, floor)
    count: int = macro("row_count", f"(\n{rows}\n)")
    if count and not dry_run:
        key = macro("sensitive_key", roles)
        warehouse.run(macro("delete_rows_sql", relations["sensitive"], rows, key))
    return count
