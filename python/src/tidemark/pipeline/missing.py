"""Tables of an entity that somebody dropped by hand are made again."""

from __future__ import annotations

from tidemark.errors import DataError
from tidemark.pipeline.applying import rebuild_current
from tidemark.pipeline.landing import lands_in_files
from tidemark.pipeline.tables import (
    cached_relation,
    has_rows,
    make_current,
    make_history_view,
    make_side,
    needed_relations,
    side_tables,
)
from tidemark.pipeline.warehouse import Warehouse
from tidemark.rules.column_roles import had_deltas
from tidemark.shapes.opened import Opened, Recorded, RelationName, Relations
from tidemark.shapes.settings import Settings

_LEFT_OUT = {
    "rejects": ", without what was rejected: of extracts, load the dates again",
    "supplied": (
        ", without what deltas supplied unchanged: load their dates again before a date between "
        "them comes late"
    ),
    "staging": " from the log, without what it does not have of the events",
}
"""What a table made anew does not have."""


def make_missing(warehouse: Warehouse, opened: Opened, present: list[RelationName]) -> None:
    """Make anew what of an entity was dropped by hand, and say so.

    Current and the views are made from the log, as the last commit left them, the tables beside the
    log without the rows that the log does not have.

    Raises:
        DataError: Sensitive values are gone, or the register of files, without which all that lies
            there would be taken again; or this is a dry run, which makes nothing.
    """
    cfg, relations, state = opened["cfg"], opened["relations"], opened["state"]
    recorded = state["recorded"]
    missing = _missing(warehouse, relations, recorded, present)
    if not missing:
        return
    _check_can_be_made(warehouse, opened, missing)
    recorded_cfg = warehouse.macro("recorded_cfg", cfg, recorded)
    roles = warehouse.macro("recorded_roles", recorded, cfg)
    if "log" in missing or "history" in missing:
        make_history_view(warehouse, recorded_cfg, roles, relations)
    made_cfg: Settings = {**cfg, "has_deltas": had_deltas(recorded)}
    for name, table in side_tables(warehouse, made_cfg, roles).items():
        if name in missing:
            make_side(warehouse, recorded["file_format"], relations[name], table)
            if name == "staging":
                sql = warehouse.macro("logged_staging_sql", cfg, roles, relations)
                warehouse.run(warehouse.macro("insert_sql", relations[name], table["columns"], sql))
    if "current" in missing:
        if "current" not in present:
            make_current(warehouse, recorded_cfg, roles, relations)
        rebuild_current(warehouse, recorded_cfg, roles, state, relations)
    for name in missing:
        how = _LEFT_OUT.get(name, " from the log")
        warehouse.report(
            f"{cfg['entity']}: {relations[name]} was gone. The run makes the table again{how}"
        )


def _missing(
    warehouse: Warehouse, relations: Relations, recorded: Recorded, present: list[RelationName]
) -> list[RelationName]:
    """Return what of an entity is not there, or was never filled, as its run died."""
    missing = [name for name in needed_relations(recorded) if name not in present]
    current = relations["current"]
    if "current" in missing:
        return missing
    existing = cached_relation(warehouse, current)
    if existing is not None and existing.is_view:
        return missing
    version = warehouse.macro("table_version", recorded["file_format"], current)
    if version == 0 and has_rows(warehouse, relations["log"]):
        missing.append("current")
    return missing


def _check_can_be_made(warehouse: Warehouse, opened: Opened, missing: list[RelationName]) -> None:
    cfg, relations = opened["cfg"], opened["relations"]
    lost = [
        str(relations[name])
        for name in missing
        if name == "sensitive" or (name == "landed" and lands_in_files(warehouse, cfg))
    ]
    if lost:
        is_one = len(lost) == 1
        raise DataError(
            f"{cfg['entity']}: {' and '.join(lost)} {'is' if is_one else 'are'} gone, and the log "
            f"does not have what was in {'it' if is_one else 'them'}. Restore the table, or start "
            "a new log with --full-refresh"
        )
    if opened["run"].get("dry_run"):
        raise DataError(
            f"{cfg['entity']}: these relations are gone: {', '.join(missing)}. Run the model: "
            "the run makes the relations again"
        )
