"""The steps of a load.

open     settings, relations, state; what a dead run left is finished or rolled back
source   what there is to read, as a view; files are listed once
stage    typed, hashed, rejects told apart, counted
check    rejects, the guards: so far nothing was written
prepare  tables are made, or get the columns that are new
derive   the rows of the log, and what is written beside it
commit   what lies beside the log, then the log, in one atomic commit
apply    current follows the log
record   the commit is complete in tidemark_commits
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tidemark.pipeline.applying import apply_load
from tidemark.pipeline.checking import check_load, warn_other_tables, warn_rejects
from tidemark.pipeline.commits import new_commit
from tidemark.pipeline.committing import commit_load, is_logged, is_still_ours, record_load
from tidemark.pipeline.replacing import check_is_alone, check_replaced_log
from tidemark.pipeline.row_rules import warn_broken_rules
from tidemark.pipeline.slices import clear_slices, forget_run_views
from tidemark.pipeline.tables import opened_evolved
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.pipeline.workers import close_views, open_views
from tidemark.rules.drift import new_columns
from tidemark.rules.names import unique
from tidemark.shapes.load import Committed, Derived, Source, Staged
from tidemark.shapes.opened import Commit, Opened, State
from tidemark.shapes.roles import Roles

_LABELS = {
    "I": "rows_inserted",
    "U": "rows_updated",
    "D": "rows_deleted",
    "N": "rows_unchanged",
    "X": "rows_not_supplied",
    "rejected": "rows_rejected",
    "duplicate": "rows_duplicate",
    "tied": "rows_tied",
}
"""How a load's line names its figures; the first three always stand there."""


def load_entity(warehouse: Warehouse, opened: Opened, body: str) -> Values | None:
    """Load an entity by the steps that every load takes, whatever its family.

    What a step returns is not changed by later ones, and nothing can be seen of a load before its
    commit. A family is a recipe: it has its own source, stage and derive. A source has parts, each
    a commit of its own: one, or of change events one between any two DDL events.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        body: The compiled SQL of the model.

    Returns:
        The sums of all parts' figures; None if there was nothing to load.
    """
    forget_run_views(warehouse, opened["cfg"]["target"])
    clear_slices(warehouse, opened["cfg"]["target"])
    open_views(warehouse, opened)
    try:
        return _load_parts(warehouse, opened, body)
    except BaseException:
        # rows of it, which may be sensitive, stay in no file
        close_views(warehouse, opened)
        raise


def _load_parts(warehouse: Warehouse, opened: Opened, body: str) -> Values | None:
    cfg, run, is_first = opened["cfg"], opened["run"], opened["state"]["first"]
    recorded, figures = opened["state"].get("recorded"), None
    roles: Roles = {}
    notes: list[str] = []
    source = warehouse.of_family(cfg, "source", opened, body)
    for part in source["parts"]:
        staged = _stage_part(warehouse, opened, source, part)
        if run["empty"]:
            continue
        roles = staged["roles"]
        committed, derived, notes_of_commit = _commit_part(warehouse, opened, staged)
        notes += notes_of_commit
        figures = _sum_of_figures(figures, derived["figures"])
        opened = _opened_after(opened, roles, committed)
        source = staged.get("source", source)
    forget_run_views(warehouse, cfg["target"])
    if is_first:
        warn_other_tables(warehouse, cfg, figures or {})
    if not roles.get("columns"):
        return figures
    new = new_columns(cfg, roles, None if is_first else recorded)
    for sentence in new["long"]:
        warehouse.report(f"{cfg['entity']}: {sentence}")
    return {**(figures or {}), "notes": [*notes, *new["short"]]}


def _stage_part(warehouse: Warehouse, opened: Opened, source: Source, part: Values) -> Staged:
    """Stage a part of a source, check it, and make or alter the tables that it needs."""
    cfg = opened["cfg"]
    staged: Staged = warehouse.of_family(cfg, "stage", opened, source, part)
    check_load(warehouse, opened, staged)
    warehouse.of_family(cfg, "prepare", opened, staged)
    if staged.get("again"):
        evolved = opened_evolved(warehouse, opened)
        staged = warehouse.of_family(cfg, "stage", evolved, source, part)
        # a file may have been replaced meanwhile
        check_load(warehouse, opened, staged)
    return staged


def _commit_part(
    warehouse: Warehouse, opened: Opened, staged: Staged
) -> tuple[Committed, Derived, list[str]]:
    """Derive what a part changes, commit it, bring current after it and record that.

    Returns:
        What commit_load() returned, what was derived, and what the load's line says beside figures.
    """
    cfg, roles = opened["cfg"], staged["roles"]
    commit = new_commit(warehouse, opened, staged["load"], roles["recorded"])
    derived: Derived = warehouse.of_family(cfg, "derive", opened, staged, commit)
    broken = staged.get("broken", {})
    if broken:
        numbers = {**derived.get("numbers", {}), "rules": json.dumps(broken)}
        derived = {**derived, "numbers": numbers}
    figures, commits = derived["figures"], derived["outcome"] == "commit"
    committed = commit_load(warehouse, opened, roles, derived, commit)
    if commits:
        check_replaced_log(warehouse, opened, commit)
        # rejects alone: no commit of the log keeps those of two runs apart
        if figures.get("rows_rejected") and not is_logged(derived):
            check_is_alone(warehouse, opened, commit)
    if is_still_ours(warehouse, opened, derived, commit):
        if commits:
            apply_load(warehouse, opened, roles, committed["load"], commit, figures)
        record_load(warehouse, opened, derived, commit)
    of_commit = derived.get("rejects_commit_id", commit["commit_id"])
    rejects = opened["relations"]["rejects"]
    condition = f"_commit_id = {of_commit}"
    warn_rejects(warehouse, cfg, figures, staged["rejects"], rejects, condition)
    warn_broken_rules(warehouse, cfg, broken, figures)
    notes = []
    if commits and cfg["family"] != "enriched":
        notes = _report_erased_back(warehouse, opened, commit)
    return committed, derived, notes


def _report_erased_back(warehouse: Warehouse, opened: Opened, commit: Commit) -> list[str]:
    """Say that keys came again which had been erased; what the run's line says of it."""
    cfg, states, macro = opened["cfg"], opened["commits"]["states"], warehouse.macro
    if not opened["state"].get("has_erased"):
        return []
    erases = warehouse.rows(macro("completed_erases_sql", states, cfg["relation"]))
    marks = unique(mark for row in erases for mark in macro("marks_of", row))
    # a full refresh has brought its log to this name by now
    log, commit_id = opened["relations"]["log"], commit["commit_id"]
    back = 0
    if marks:
        back = int(warehouse.run(macro("erased_keys_back_sql", log, commit_id, marks))[0][0] or 0)
    if not back:
        return []
    note = "1 erased key is back" if back == 1 else f"{back} erased keys are back"
    warehouse.warn(
        cfg["entity"],
        f"{note} by commit {commit_id}: the source still has "
        f"{'the key' if back == 1 else 'the keys'}. Remove the rows from the source, and erase "
        "again",
    )
    return [note]


def _sum_of_figures(sums: Values | None, figures: Mapping[str, Any]) -> Values:
    total = dict(sums or {})
    for name, value in figures.items():
        if name.startswith("rows_"):
            total[name] = total.get(name, 0) + int(value or 0)
    return total


def _opened_after(opened: Opened, roles: Roles, committed: Committed) -> Opened:
    """Return what the next part of a source is loaded onto."""
    load = committed["load"]
    commit_id, date = load["commit_id"], load["business_date"]
    state: State = {
        **opened["state"],
        "first": False,
        "has_log": True,
        "recorded": roles["recorded"],
        "last_id": commit_id,
        "last_commit_id": commit_id,
        "last_date": date,
        "last_date_commit_id": commit_id,
        "last_sequence_num": load.get("last_sequence_num"),
        "log_version": committed["log_version"],
    }
    return {**opened, "state": state}


def summary(figures: Mapping[str, Any] | None) -> str:
    """Return one line on what a load did.

    Example:
        >>> summary({"rows_inserted": 2, "rows_rejected": 1})
        'I 2, U 0, D 0, rejected 1'
    """
    known = figures or {}
    parts = [
        f"{label} {known.get(name, 0)}"
        for label, name in _LABELS.items()
        if known.get(name, 0) or label in "IUD"
    ]
    return ", ".join([*parts, *known.get("notes", [])])


def batch_summary(figures: Mapping[str, Any] | None) -> str:
    """Return one line on what a load of enriched events, or of entities, did.

    Example:
        >>> batch_summary({"rows_inserted": 2, "rows_duplicate": 1})
        'stored 2, duplicate 1'
    """
    if not figures:
        return "nothing new"
    steps = ("rows_synthetic_in_batch", "rows_synthetic_cross_batch")
    counts = {
        "duplicate": figures.get("rows_duplicate"),
        "rejected": figures.get("rows_rejected"),
        "renamed": sum(figures.get(name, 0) for name in steps),
    }
    others = [f"{label} {count}" for label, count in counts.items() if count]
    return ", ".join([f"stored {figures['rows_inserted']}", *others])
