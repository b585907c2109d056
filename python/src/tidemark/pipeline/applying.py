"""Current follows the log; a new log takes the place of the old one."""

from __future__ import annotations

from tidemark.pipeline.delta_files import (
    as_it_is,
    has_delta_files,
    has_files,
    is_written_at_once,
)
from tidemark.pipeline.promoting import take_over_commits
from tidemark.pipeline.rejects import reopen_rejects, resolve_rejects
from tidemark.pipeline.tables import (
    SWAPPED,
    make_current,
    make_history_view,
    needed_relations,
    relation_exists,
)
from tidemark.pipeline.timeline import mark_undone
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.rules.commits import REPLACING
from tidemark.rules.timeline import with_last
from tidemark.shapes.load import Figures, Load
from tidemark.shapes.opened import Commit, Opened, Relations, State
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings

_MOST_SENT = 1_000_000
"""So many keys weigh some 100 MB: to send them to every core costs less than to shuffle current."""


def apply_load(
    warehouse: Warehouse,
    opened: Opened,
    roles: Roles,
    load: Load,
    commit: Commit,
    figures: Figures | None = None,
) -> None:
    """Bring current after the log, which has the commit; first a new log in the old one's place.

    Doing it twice does nothing the second time, so the next run finishes by the same what died on
    the way.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        roles: What becomes of each column.
        load: What commit_load() returned.
        commit: What new_commit() returned.
        figures: The load's figures, where they are known.
    """
    cfg, relations = opened["cfg"], opened["relations"]
    if cfg["family"] == "enriched":
        return
    if commit["kind"] in REPLACING:
        _swap_logs(warehouse, opened, commit)
        if commit["kind"] == "promote":
            load = take_over_commits(warehouse, opened, commit, load)
        load = {**load, "rebuild": True}
        make_current(warehouse, cfg, roles, relations)
        make_history_view(warehouse, cfg, roles, relations)
    apply_to_current(warehouse, cfg, roles, relations, load, figures)
    if load["kind"] == "rollback":
        steps = mark_undone(warehouse, cfg, opened["commits"], commit)
        reopen_rejects(warehouse, cfg, relations["rejects"], steps)
    elif load.get("mends_rejects"):
        resolve_rejects(warehouse, cfg, relations["rejects"], load)


def apply_to_current(
    warehouse: Warehouse,
    cfg: Settings,
    roles: Roles,
    relations: Relations,
    load: Load,
    figures: Figures | None = None,
) -> None:
    """Bring current after the log.

    By MERGE of the rows that changed, or as a whole where every row gets a new tag, where the
    format cannot merge, where MERGE would write it all but for little, and where current is built
    again.
    """
    nothing_logged = (
        figures is not None
        and not figures["rows_superseded"]
        and not _rows_that_change(roles, load, figures)
    )
    load = {**load, "version": warehouse.macro("next_commit_id", 0)}
    # Going back to an earlier date changes the tags of rows that no log row tells of.
    all_tagged = cfg["tag_unchanged"] and load["business_date"] == load["last_date"]
    written, rebuilds = load.get("written"), load.get("rebuild")
    if written and not rebuilds and warehouse.adapter.replace_current(written) is not None:
        return  # the engine in the workers wrote current with the log
    if rebuilds or (all_tagged and load["kind"] == "rollback"):
        latest = warehouse.macro("latest_rows_sql", roles, relations)
        rows = {"touched": latest, "stored": None}
        _overwrite_current(warehouse, cfg, roles, relations, rows, load)
    elif nothing_logged and not all_tagged:
        return
    elif _follows(warehouse, cfg, roles, relations, load, all_tagged):
        return
    elif is_written_whole(warehouse, cfg, relations, load, figures, nothing_logged):
        _write_whole(warehouse, cfg, roles, relations, load, figures)
    else:
        load = {**load, "key_list": _keys_to_merge(warehouse, relations, load, figures)}
        warehouse.run_all(
            warehouse.of_format(
                cfg["file_format"], "merge_into_current", cfg, roles, relations, load
            )
        )


def _follows(
    warehouse: Warehouse,
    cfg: Settings,
    roles: Roles,
    relations: Relations,
    load: Load,
    is_all: bool,
) -> bool:
    """Have the workers write the part of current anew that has the keys of a commit."""
    if not has_files(warehouse, cfg):
        return False
    stored = warehouse.macro("run_view", cfg["target"], "stored")
    touched = warehouse.macro("touched_rows_sql", roles, relations, load)
    rows = {"touched": touched, "stored": stored}
    sql = warehouse.macro("current_rows_sql", cfg, roles, relations, rows, load)
    keys = None if is_all else f"select _key_hash from ({touched})"
    return warehouse.adapter.follow_log(relations["current"], keys, sql, stored) is not None


def rebuild_current(
    warehouse: Warehouse, cfg: Settings, roles: Roles, state: State, relations: Relations
) -> None:
    """Write current anew from the log.

    That is one commit of its own table, so that it is as it was until the new rows are whole.
    """
    load: Load = {
        "kind": None,
        "rebuild": True,
        "commit_id": state["last_date_commit_id"],
        "business_date": state["last_date"],
        "forward": False,
    }
    load = with_last(load, state)
    apply_to_current(warehouse, cfg, roles, relations, load)


def _write_whole(
    warehouse: Warehouse,
    cfg: Settings,
    roles: Roles,
    relations: Relations,
    load: Load,
    figures: Figures | None,
) -> None:
    counted = None if figures is None else _touched_rows(figures)
    load = {**load, "few_touched": counted is not None and counted <= _MOST_SENT}
    now, current = relations, relations["current"]
    if not load.get("touched"):
        now = {**relations, "log": as_it_is(warehouse, cfg, relations["log"], "log")}
    touched = warehouse.macro("touched_rows_sql", roles, now, load)
    if has_delta_files(warehouse, cfg):
        stored = warehouse.macro("run_view", cfg["target"], "stored")
        rows = {"touched": touched, "stored": stored}
        sql = warehouse.macro("current_rows_sql", cfg, roles, relations, rows, load)
        if warehouse.adapter.replace_rows(current, sql, stored) is not None:
            return
    rows = {"touched": touched, "stored": current}
    _overwrite_current(warehouse, cfg, roles, relations, rows, load)


def _rows_that_change(roles: Roles, load: Load, figures: Figures) -> int:
    """Count the rows of the log that current follows: some events change nothing."""
    if load["forward"] and roles.get("flow") == "events":
        counts = figures.get("rows_inserted"), figures.get("rows_updated")
        return sum(count or 0 for count in (*counts, figures.get("rows_deleted")))
    return figures["rows_logged"] or 0


def _touched_rows(figures: Figures) -> int:
    """Count rows and marks of a commit: every touched key has one."""
    return (figures["rows_logged"] or 0) + (figures["rows_superseded"] or 0)


def is_written_whole(
    warehouse: Warehouse,
    cfg: Settings,
    relations: Relations,
    load: Load,
    figures: Figures | None,
    nothing_logged: bool,
) -> bool:
    """Say whether current is written as a whole where it is not built again."""
    if cfg["tag_unchanged"] and load["business_date"] == load["last_date"]:
        return True
    return not nothing_logged and _merge_writes_all(warehouse, cfg, relations, load, figures)


def _overwrite_current(
    warehouse: Warehouse,
    cfg: Settings,
    roles: Roles,
    relations: Relations,
    rows: Values,
    load: Load,
) -> None:
    """Write all rows of current: those touched, and of those stored the others."""
    sql = warehouse.macro("current_rows_sql", cfg, roles, relations, rows, load)
    file_format = cfg["file_format"]
    warehouse.run_all(
        warehouse.of_format(file_format, "overwrite_current", roles, relations, sql, load)
    )


def _merge_writes_all(
    warehouse: Warehouse, cfg: Settings, relations: Relations, load: Load, figures: Figures | None
) -> bool:
    """Say whether a MERGE of what a run logged would write most of current again.

    That costs more than to write it all: it reads it twice. By copy_on_write every file with one
    such row is written, and hashes lie in all files alike, unless the table is laid out by other
    columns; with deletion vectors only what changed.
    """
    current = relations["current"]
    if is_written_at_once(warehouse, cfg, current):
        return True
    if not load["forward"] or not figures or "existing" not in figures:
        return False
    logged = figures["rows_logged"]
    if logged * 4 >= figures["existing"]:
        return True
    is_laid_out = cfg["partition_by"] or cfg["cluster_by"]
    if cfg["write_mode"] != "copy_on_write" or is_laid_out:
        return False
    return bool(logged >= warehouse.macro("file_count", cfg["file_format"], current))


def _keys_to_merge(
    warehouse: Warehouse, relations: Relations, load: Load, figures: Figures | None
) -> list[str] | None:
    """Return the keys of a small commit as literals.

    They let MERGE leave out files of current by their statistics: a condition that stands in the
    slice alone does not. None where the commit touched more than `tidemark__merge_keys`: with a
    hundred, the code that Spark makes of the condition is too large to be compiled
    (python/benchmarks/pruning.py).
    """
    most = warehouse.macro("run_config")["merge_keys"]
    if not most or (figures is not None and _touched_rows(figures) > 2 * most):
        return None
    rows = warehouse.run(warehouse.macro("touched_keys_sql", relations, load, most))
    keys = [warehouse.macro("string_literal", row[0]) for row in rows]
    return keys if len(keys) <= most else None


def _swap_logs(warehouse: Warehouse, opened: Opened, commit: Commit) -> None:
    """Put the new log of a full refresh or a rehash in the place of the old one.

    The old one is kept as `<log>_<commit>`. The same happens to what was written beside it, and to
    what the new log has none of. Each step is skipped when done, and the log is last, so that an
    interrupted swap is finished by calling it again.
    """
    cfg, relations, commit_id = opened["cfg"], opened["relations"], commit["commit_id"]
    new_log = warehouse.macro("new_relation", relations["log_table"])
    is_begun = relation_exists(warehouse, new_log)
    needed = ["log_table", *needed_relations(commit["config"])]
    for name in SWAPPED:
        located = name == "log_table" and cfg["location_root"] is not None
        new = warehouse.macro("new_relation", relations[name])
        old = warehouse.macro("old_relation", relations[name], commit_id)
        has_new = relation_exists(warehouse, new)
        makes_way = has_new or (is_begun and name not in needed)
        if makes_way and relation_exists(warehouse, relations[name]):
            if not relation_exists(warehouse, old):
                warehouse.run_all(
                    warehouse.macro("rename_table_sql", relations[name], old, located)
                )
        if has_new:
            warehouse.run_all(warehouse.macro("rename_table_sql", new, relations[name], located))
