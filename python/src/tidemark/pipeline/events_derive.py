"""The rows of the log that a stretch of change events brings, and what goes beside them."""

from __future__ import annotations

from typing import Any

from tidemark.pipeline.committing import files_of_slice, revised_files, versions_before
from tidemark.pipeline.delta_files import (
    can_stage_changes,
    check_staged,
    staged_log_rows,
    version_to_append,
)
from tidemark.pipeline.events_moves import moved_values
from tidemark.pipeline.slices import is_in_files, make_slice, make_view
from tidemark.pipeline.tables import write_relations
from tidemark.pipeline.warehouse import Warehouse
from tidemark.pipeline.workers import files_of_workers
from tidemark.rules.batches import columns_out_of_sight
from tidemark.shapes.events import Statement
from tidemark.shapes.load import Derived, Figures, Load, Logged, Staged
from tidemark.shapes.opened import Opened
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings

_MATCH = ("_key_hash", "_business_date", "_event_id", "_source_operation")
"""What a row of the log and the mark that supersedes it have in common, beside the commit."""


def derive_events(warehouse: Warehouse, opened: Opened, staged: Staged, commit: Any) -> Derived:
    """Return the rows of the log that a stretch brings, and what goes beside them.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        staged: What stage_events() returned.
        commit: What new_commit() returned; None of a plan.

    Returns:
        The dict that commit_load() takes; `outcome` is repeat where only files are remembered, and
        nothing where there are none.
    """
    roles, files, state = staged["roles"], staged["files"], opened["state"]
    figures, before = staged["figures"], state["last_sequence_num"]
    log_version = version_to_append(warehouse, opened, staged["load"])
    load: Load = {**staged["load"], "log_version": log_version}
    has_work = load["statements"] or load["reorders"] or load["rebuild"] or load["kind"] != "load"
    if not files and not figures["rows_read"] and not has_work:
        load["last_sequence_num"] = before
        return {"outcome": "nothing", "load": load, "figures": figures}
    last = figures["last_sequence_num"]
    load["last_sequence_num"] = last if state["first"] or before is None else max(last or 0, before)
    in_workers = staged.get("uncommitted") or staged.get("kept")
    if in_workers:
        rows = _replayed_by_workers(warehouse, opened, staged, load)
    else:
        rows = _replay(warehouse, opened, roles, load)
    figures = {**figures, **rows["counts"]}
    numbers = {
        **versions_before(warehouse, opened, load),
        "batch_id": load["batch_id"],
        "first_sequence_num": figures["first_sequence_num"],
        "last_sequence_num": load["last_sequence_num"],
        **({"last_file": files[-1]["_file"]} if files else {}),
    }
    # Nothing but events that are known already, or that are no change: only the files are
    # remembered.
    is_new = figures["rows_logged"] or figures["rows_superseded"] or figures["rows_rejected"]
    is_new = is_new or state["first"] or load["kind"] != "load" or load["rebuild"]
    beside = [] if in_workers else _beside(warehouse, opened, roles, load, figures, rows)
    return {
        "outcome": "commit" if is_new else "repeat" if files or load["reorders"] else "nothing",
        "load": load,
        "figures": figures,
        "numbers": numbers,
        "files": files,
        "uncommitted": rows["uncommitted"],
        "slice": rows["slice"],
        "beside": beside,
    }


def _replayed_by_workers(
    warehouse: Warehouse, opened: Opened, staged: Staged, load: Load
) -> Logged:
    """Return the files that the workers wrote of a batch, in the place of what _replay() does."""
    written = files_of_workers(warehouse, opened, staged, load)
    figures: Figures = written.figures
    counts: Figures = {
        "rows_logged": figures["rows_logged"],
        "rows_superseded": 0,
        "rows_inserted": figures["rows_inserted"],
        "rows_updated": figures["rows_updated"],
        "rows_deleted": figures["rows_deleted"],
        "rows_unchanged": figures["rows_unchanged"],
    }
    return {"rows": None, "slice": None, "uncommitted": written, "counts": counts}


def _replay(warehouse: Warehouse, opened: Opened, roles: Roles, load: Load) -> Logged:
    """Derive what a stretch adds to the log.

    That is straight into files of the log that no commit names yet, or, where the log is corrected
    too, into a table of its own, as it is read several times while tables change.
    """
    cfg, macro = opened["cfg"], warehouse.macro
    replayed = macro("run_view", cfg["target"], "replayed")
    sql = _replayed_sql(warehouse, opened, roles, load)
    make_view(warehouse, replayed, sql, bool(roles["sensitive"]))
    if can_stage_changes(roles, load):
        figures = macro("figures_of_events")
        uncommitted = staged_log_rows(warehouse, opened, roles, load, replayed, figures)
        if uncommitted is not None:
            counts = uncommitted.figures
            check_staged(warehouse, cfg, uncommitted, counts["rows_logged"])
            return {"rows": replayed, "slice": None, "uncommitted": uncommitted, "counts": counts}
    names = macro("column_list_expr", macro("slice_columns", roles))
    sql = f"select\n    {names}, _supersedes\nfrom {replayed}"
    is_by_workers = not roles["sensitive"] and is_in_files(warehouse, load["staged"])
    if is_by_workers and not load["forward"]:
        written = revised_files(warehouse, opened, load, sql, _MATCH)
        if written is not None:
            counts = written.figures
            return {"rows": replayed, "slice": None, "uncommitted": written, "counts": counts}
    slice_ = make_slice(warehouse, cfg["target"], load["commit_id"], "log", sql)
    counts = _counts_of_slice(warehouse, slice_)
    uncommitted = files_of_slice(warehouse, opened, roles, load, slice_, counts, _MATCH)
    return {"rows": replayed, "slice": slice_, "uncommitted": uncommitted, "counts": counts}


def _counts_of_slice(warehouse: Warehouse, slice_: Any) -> Figures:
    kinds = dict.fromkeys("IUDN", 0)
    logged = superseded = 0
    for row in warehouse.rows(
        "select _operation, _supersedes is not null as is_mark, count(*) as row_count from "
        f"{slice_} group by all"
    ):
        count = int(row["row_count"] or 0)
        superseded += count if row["is_mark"] else 0
        logged += 0 if row["is_mark"] else count
        if not row["is_mark"] and row["_operation"] in kinds:
            kinds[row["_operation"]] = count
    return {
        "rows_logged": logged,
        "rows_superseded": superseded,
        "rows_inserted": kinds["I"],
        "rows_updated": kinds["U"],
        "rows_deleted": kinds["D"],
        "rows_unchanged": kinds["N"],
    }


def _replayed_sql(warehouse: Warehouse, opened: Opened, roles: Roles, load: Load) -> str:
    """Return the rows that replaying a stretch gives, over views of what stood before."""
    cfg, staged, now, macro = opened["cfg"], load["staged"], load["now"], warehouse.macro
    existing, table_events = (
        macro("run_view", cfg["target"], name) for name in ("existing", "table_events")
    )
    if opened["state"]["first"]:
        sql = macro("no_existing_events_sql", cfg, roles, load)
    else:
        sql = macro("existing_events_sql", cfg, roles, now, staged, load)
    make_view(warehouse, existing, sql)
    rows_sql = []
    if load["table_events"]:
        make_view(warehouse, table_events, macro("table_events_sql", cfg, roles, now, staged, load))
        rows_sql.append(macro("logged_statements_sql", cfg, roles, table_events, load))
    sources = {"staged": staged, "existing": existing, "table_events": table_events, "moved": None}
    if load["has_partial_moves"]:
        sources["moved"] = moved_values(warehouse, cfg, roles, sources, load)
    if not roles["keyed"]:
        warn_of_columns_without_key(warehouse, cfg, roles, load["statements"])
    generate = "replayed_keys_sql" if roles["keyed"] else "replayed_copies_sql"
    rows_sql.append(f"select * from (\n{macro(generate, cfg, roles, sources, load)}\n)")
    return "\nunion all\n".join(rows_sql)


def warn_of_columns_without_key(
    warehouse: Warehouse, cfg: Settings, roles: Roles, statements: list[Statement]
) -> None:
    """Tell what rows of a table without key are not found by any more."""
    names = columns_out_of_sight(cfg, roles, statements)
    if names:
        warehouse.warn(
            cfg["entity"],
            "without unique_key an event finds a row by all its values. The source changed "
            f"{', '.join(names)}, and the stored rows kept their values. Events update or "
            "delete these rows no more. Load a new snapshot with --full-refresh",
        )


def _beside(
    warehouse: Warehouse, opened: Opened, roles: Roles, load: Load, figures: Figures, rows: Logged
) -> list[str]:
    """Return what writes staging, rejects and sensitive values: they count once the log has it."""
    cfg, macro, staged = opened["cfg"], warehouse.macro, load["staged"]
    targets, commit_id = write_relations(warehouse, opened), load["commit_id"]
    staging = macro("staging_columns", cfg, roles)
    statements = [
        macro(
            "insert_sql",
            targets["staging"],
            staging,
            "select * except (_landing_num), _tidemark_line_num as _landing_num, "
            f"{load['batch_id']} as _batch_id, _source_operation as _operation, {commit_id} as "
            f"_commit_id from {staged} where _is_usable",
        )
    ]
    if figures["rows_rejected"]:
        key_hash = "_key_hash" if roles["keyed"] else "cast(null as string) as _key_hash"
        sql = (
            f"select _reject_reason, {key_hash}, _raw_payload, date'{load['business_date']}' as "
            f"_business_date, {commit_id} as _commit_id, cast(null as bigint) as _resolved_by "
            f"from {staged} where _reject_reason is not null"
        )
        rejects = macro("rejects_columns")
        statements.append(macro("insert_sql", targets["rejects"], rejects, sql))
    if roles["sensitive"] and figures["rows_logged"]:
        sql = (
            f"select *, {commit_id} as _commit_id from {rows['rows']} where _supersedes is null "
            "and _operation <> 'T'"
        )
        sensitive = macro("sensitive_columns", roles)
        statements.append(macro("insert_sql", targets["sensitive"], sensitive, sql))
    return statements
