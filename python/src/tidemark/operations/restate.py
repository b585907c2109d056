"""Business dates are loaded again."""

from __future__ import annotations

import re
from typing import Any

from tidemark.errors import DataError, UsageError
from tidemark.operations.entity import is_true, open_entity, report
from tidemark.operations.rollback import files_gone, roll_back, with_columns_back
from tidemark.pipeline.opening import opened_anew
from tidemark.pipeline.steps import load_entity, summary
from tidemark.pipeline.timeline import timeline as timeline_of
from tidemark.pipeline.warehouse import Warehouse
from tidemark.printable import counted
from tidemark.rules.timeline import before_date, loaded_dates, steps_to
from tidemark.shapes.opened import Opened

_EXTRACTS = re.compile(r"(?:--[^\n]*\n\s*)*\{\{-?\s*tidemark\.extract\(\s*\)\s*-?\}\}")


def restate(warehouse: Warehouse, entity: str, start: Any, dry_run: Any) -> None:
    """Load the business dates from one on again; of change events take what landed since anew.

    The extracts are looked for before anything is written, which needs a model whose body is
    `{{ tidemark.extract() }}`.
    """
    is_dry, date = is_true(dry_run), warehouse.macro("_business_date", start, "restate: from")
    if date is None:
        raise UsageError(f"{entity}: `from` is missing. Give a business date, such as 2026-02-05")
    body = warehouse.macro("entity_node", entity)["raw_code"].strip()
    opened = open_entity(warehouse, entity, "restate", is_dry)
    if not opened["cfg"]["location"] or not _EXTRACTS.fullmatch(body):
        raise UsageError(
            f"{entity}: restate reads the extracts of a model whose body is {{{{ "
            "tidemark.extract() }}, but this model has SQL of its own. Run the dates again "
            f"with `tidemark run --select {entity} --business-date {date}..`"
        )
    again = _restate_events if opened["cfg"]["extract"] == "events" else _restate_extracts
    again(warehouse, opened, date, is_dry)


def _restate_extracts(warehouse: Warehouse, opened: Opened, start: str, dry_run: bool) -> None:
    """Load dates again, each as a run of it does."""
    cfg, entity = opened["cfg"], opened["cfg"]["entity"]
    dates = loaded_dates(timeline_of(warehouse, opened["commits"], cfg["relation"]), start)
    paths = {date: warehouse.macro("extract_path", cfg["location"], date) for date in dates}
    missing = [
        f"{date} ({path})" for date, path in paths.items() if not warehouse.macro("files_at", path)
    ]
    if not dates:
        raise UsageError(
            f"{entity}: no business date from {start} on was loaded. Give an earlier date"
        )
    if missing:
        raise DataError(
            f"{entity}: these extracts are gone: {', '.join(missing)}. Nothing was restated. "
            "Put the files back, or restate from a later date"
        )
    does, again = "would load" if dry_run else "loading", counted(len(dates), "business date")
    report(warehouse, entity, f"{does} {again} again: {', '.join(dates)}")
    for number, date in enumerate([] if dry_run else dates, 1):
        of_date = opened_anew(warehouse, opened, {**opened["run"], "business_date": date})
        figures = load_entity(warehouse, of_date, warehouse.macro("extract_sql", cfg)) or {}
        differs = figures.get("rows_logged") or figures.get("rows_superseded")
        counts = summary(figures) if differs else "nothing differs"
        report(warehouse, entity, f"  {number} of {len(dates)}, {date}: {counts}")


def _restate_events(warehouse: Warehouse, opened: Opened, start: str, dry_run: bool) -> None:
    """Go back to before the date, then take the files that landed since anew, as a run would."""
    cfg, entity = opened["cfg"], opened["cfg"]["entity"]
    timeline = timeline_of(warehouse, opened["commits"], cfg["relation"])
    at = before_date(timeline, start)
    if at["first"] is None and all(commit["kind"] != "rollback" for commit in timeline):
        raise UsageError(f"{entity}: no events arrived from {start} on. Give an earlier date")
    if at["first"] is not None and at["before"] is None:
        raise UsageError(
            f"{entity}: all its events arrived from {start} on. Load all events again with "
            "--full-refresh"
        )
    last = timeline[-1]
    steps = steps_to(timeline, last["commit_id"] if at["first"] is None else at["before"] or 0)
    # What was undone earlier counts only if the rollback is the last commit, as a call that died
    # leaves it: files of other batches that were taken back may have been moved away for good.
    undone = steps["undone"]
    if at["first"] is None and last["kind"] == "rollback":
        undone = steps_to(timeline[:-1], last["source_commit_id"])["undone"]
    ids = [commit["commit_id"] for commit in undone]
    gone = files_gone(warehouse, cfg, opened["relations"], ids)
    if gone:
        raise DataError(
            f"{entity}: these files landed since then and are gone: {', '.join(gone)}. Nothing "
            "was restated. Put the files back, or restate from a later date"
        )
    roll_back(warehouse, opened, with_columns_back(warehouse, opened, steps), dry_run)
    if dry_run:
        report(warehouse, entity, "would read again what landed since then")
        return
    body = warehouse.macro("extract_sql", cfg)
    figures = load_entity(warehouse, opened_anew(warehouse, opened), body)
    report(warehouse, entity, f"taken anew: {summary(figures)}")
