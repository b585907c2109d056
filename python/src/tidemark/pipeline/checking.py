"""Checks that stop a load before anything is written, and warnings about rejects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tidemark.errors import ConfigError, DataError, UsageError
from tidemark.pipeline.commits import record_commit
from tidemark.pipeline.row_rules import note_broken
from tidemark.pipeline.slices import forget_run_views
from tidemark.pipeline.warehouse import Warehouse
from tidemark.printable import counted
from tidemark.read.landed_lines import Landed, places_of
from tidemark.rules.guard import (
    DELETING,
    deletes_too_much,
    guarded_deletes,
    rejects_too_many,
)
from tidemark.rules.row_rules import broken_rules
from tidemark.shapes.load import Figures, Load, Rejects, Staged
from tidemark.shapes.opened import Opened, Run
from tidemark.shapes.settings import Loaded, Settings

_MOST_REASONS = 20
"""How many reasons of rejects an error tells."""


def check_load(warehouse: Warehouse, opened: Opened, staged: Staged) -> None:
    """Stop a load with rows that cannot be used, or with more deletes than are allowed.

    Of events that come behind a statement of the source the tables are as they were before it then.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        staged: What was staged.

    Raises:
        DataError: The load does not go on.
    """
    cfg, run = opened["cfg"], opened["run"]
    why = why_rejects_stop(warehouse, cfg, run, staged["figures"], staged.get("rejects"))
    broken = _why_rules_stop(cfg, staged)
    if why is not None:
        note_broken(warehouse, cfg, staged.get("broken", {}))
        _undo_begun(warehouse, opened, staged)
        # both are told at once, or the second one would stop the next run
        raise DataError(why if broken is None else f"{why}\nBesides, {broken}")
    if broken is not None:
        note_broken(warehouse, cfg, staged.get("broken", {}))
        _undo_begun(warehouse, opened, staged)
        _stop_load(warehouse, cfg, staged, broken)
    _check_deletes(warehouse, opened, staged)
    _check_planned(warehouse, opened, staged)


def _undo_begun(warehouse: Warehouse, opened: Opened, staged: Staged) -> None:
    """Have the tables be as they were before the statement that events come behind."""
    load = staged.get("load")
    begun = load.get("begun") if load else None
    if begun:
        warehouse.of_family(opened["cfg"], "undo", opened, begun)
        record_commit(warehouse, opened["commits"], begun, "rolled_back", {})


def _why_rules_stop(cfg: Settings, staged: Staged) -> str | None:
    """Return what a load stops with whose rows fail rules, but for the entity; None: it goes on."""
    broken = broken_rules(cfg, staged.get("broken", {}), staged["figures"])
    if not broken:
        return None
    problems = "".join(f"\n  - {sentence}" for sentence in broken)
    return (
        f"rows fail rules of the YAML; nothing was written{problems}\nCorrect the rows, or accept "
        "such rows with on_fail: warn or quarantine, or with at_most"
    )


def _stop_load(warehouse: Warehouse, cfg: Settings, staged: Staged, why: str) -> NoReturn:
    """Stop a load whose rows are staged: nothing of them is left."""
    if staged.get("uncommitted"):
        warehouse.adapter.discard_rows(staged["uncommitted"])
    forget_run_views(warehouse, cfg["target"])
    raise DataError(f"{cfg['entity']}: {why}")


def _check_planned(warehouse: Warehouse, opened: Opened, staged: Staged) -> None:
    """Stop the load of a plan that counts otherwise.

    What the model reads is not all in files and tables whose versions a plan knows, such as a view,
    a macro or a var. Changes of change events are counted later.
    """
    cfg = opened["cfg"]
    figures: Mapping[str, Any] = staged["figures"]
    planned = opened["run"].get("planned", {}).get(cfg["relation"], {})
    counted_here = ("rows_read", "rows_rejected")
    differing = [
        f"\n  - {name} is {found}, planned were {count}"
        for name, count in planned.items()
        if cfg.get("extract") != "events" or name in counted_here
        if (found := int(figures.get(name) or 0)) != count
    ]
    if differing:
        why = (
            "its plan is out of date, as the model reads other rows now; nothing was written. "
            "Plan again"
        )
        _stop_load(warehouse, cfg, staged, why + "".join(differing))


def why_rejects_stop(
    warehouse: Warehouse, cfg: Loaded, run: Run, figures: Figures, rejects: Any
) -> str | None:
    """Return what a load stops with by `on_reject: fail`, or as it rejects more than it may.

    Args:
        warehouse: Where the rejects are asked for.
        cfg: The settings.
        run: The dict of `run_config()`.
        figures: The figures of the load.
        rejects: What they are.

    Returns:
        The message; None if the load goes on.
    """
    if not rejects_too_many(cfg, run, figures):
        return None
    units = rejects["units"]
    lines = _described_reasons(warehouse, rejects)
    if rejects.get("samples"):
        lines.append("\nfor example")
        rows = warehouse.rows(f"{rejects['samples']}\nlimit {run['sample_rows']}")
        places = _places(cfg, run, [row["_raw_payload"] for row in rows])
        for row, place in zip(rows, places, strict=True):
            lines.append(f"\n  - {row['_reject_reason']}: {str(row['_raw_payload'])[:300]}{place}")
    forget_run_views(warehouse, cfg["target"])
    more, way_on = "", f"or set on_reject: quarantine to put such {units[1]} aside and go on"
    if cfg["on_reject"] != "fail":
        new = figures.get("new_rejects")
        of_new = "" if new is None else f"{new} of them are new; "
        more = f" ({of_new}max_reject_fraction is {cfg['max_reject_fraction']})"
        date = f"business_date: {run['business_date']}, " if run["business_date"] else ""
        way_on = (
            f"or accept this load once with --vars '{{{date}allow_rejects: true}}', or set "
            "max_reject_fraction higher"
        )
    return (
        f"{cfg['entity']}: {figures['rows_rejected']} of {figures['rows_read']} {units[1]}"
        f"{rejects['of']} cannot be used; nothing was written{more}{''.join(lines)}\n"
        f"{rejects['advice']}, {way_on}"
    )


def _places(cfg: Loaded, run: Run, payloads: Sequence[str | None]) -> list[str]:
    """Return where rejected rows of an extract stand in its files, as far as that is known fast."""
    of_extract: Mapping[str, Any] = cfg
    if cfg.get("family") != "extract" or not of_extract["location"]:
        return [""] * len(payloads)
    landed = Landed(
        of_extract["location"],
        of_extract["extract"],
        of_extract["format"],
        tuple(of_extract["keys"]),
        tuple((name, str(value)) for name, value in of_extract["options"].items()),
    )
    found = places_of(Path.cwd(), landed, str(run["business_date"]), payloads)
    return [f" ({place[0]}, line {place[1]})" if place and place[1] else "" for place in found]


def _described_reasons(warehouse: Warehouse, rejects: Rejects) -> list[str]:
    """Return a line for each reason, the one of most rows first."""
    found = warehouse.rows(
        f"select _reject_reason as reason, count(*) as count from {rejects['rows']} "
        "where _reject_reason is not null group by 1"
    )
    failed_sql = rejects.get("failed")
    failed = warehouse.rows(failed_sql) if failed_sql else []
    counted = {reject["reason"]: reject for reject in [*found, *failed]}
    reasons = sorted(counted.values(), key=lambda one: (-one["count"], one["reason"].lower()))
    lines = [
        f"\n  - {one['reason']}: {one['count']} {rejects['units'][one['count'] != 1]}"
        f"{_such_as(one.get('value'))}"
        for one in reasons[:_MOST_REASONS]
    ]
    if len(reasons) > _MOST_REASONS:
        lines.append(f"\n  - {len(reasons) - _MOST_REASONS} reasons more")
    return lines


def _such_as(value: Any) -> str:
    """Return a value that failed, on one line."""
    if value is None:
        return ""
    text = re.sub("[\x00-\x1f\x7f-\x9f]", "?", str(value))
    return f", such as '{text[:100]}{'…' if len(text) > 100 else ''}'"


def _check_deletes(warehouse: Warehouse, opened: Opened, staged: Staged) -> None:
    """Stop an extract that is empty, if it is of all rows, or would delete more than it may."""
    cfg, run, figures = opened["cfg"], opened["run"], staged["figures"]
    if cfg.get("extract") not in DELETING or run["allow_deletes"]:
        return
    if not deletes_too_much(cfg, figures):
        return
    guarded, date = guarded_deletes(figures), run["business_date"]
    _stop_load(
        warehouse,
        cfg,
        staged,
        f"the extract of business date {date} has {counted(figures['rows_read'], 'row')} and "
        "would delete "
        f"{guarded['deleted']} of {guarded['existing']} keys (max_delete_fraction is "
        f"{cfg['max_delete_fraction']}); nothing was written. If the deletes are right, accept "
        f"the load once with --vars '{{business_date: {date}, allow_deletes: true}}', or list "
        f"the deletes first: tidemark plan --select {cfg['entity']} --business-date {date}",
    )


def with_keys_here(warehouse: Warehouse, opened: Opened, load: Load, figures: Figures) -> Figures:
    """Return the figures of a load, with those of what its date has inserted and deleted so far.

    They are counted where they may decide.
    """
    cfg = opened["cfg"]
    may_delete_all = cfg["max_delete_fraction"] == 1 and figures["rows_read"] > 0
    if load["this_commit_id"] is None or cfg["extract"] not in DELETING or may_delete_all:
        return figures
    log, date = opened["relations"]["log"], load["business_date"]
    counts = warehouse.rows(warehouse.macro("keys_here_sql", cfg, load["classified"], log, date))[0]
    return {**figures, "here": {name: int(count or 0) for name, count in counts.items()}}


def check_drift(cfg: Settings, drift: list[str], mending: str) -> None:
    """Stop where the configuration is not the one that the entity's log was made with.

    Args:
        cfg: The settings, of which `entity` is read.
        drift: What is another.
        mending: What else can be done.

    Raises:
        ConfigError: Something is another.
    """
    if drift:
        problems = "\n  - ".join(drift)
        raise ConfigError(
            f"{cfg['entity']}: the configuration differs from the one that the log was made "
            f"with; nothing was written\n  - {problems}\nUndo the change, or start a new log "
            f"{mending}"
        )


def warn_rejects(
    warehouse: Warehouse,
    cfg: Loaded,
    figures: Figures,
    rejects: Rejects,
    relation: Any,
    condition: str,
) -> None:
    """Say what went to quarantine, by reason, and where it is.

    Of a date that was loaded before it is said how much of it is new. The reasons come with the
    rejects (`reasons`), or are asked of the rows that are staged (`staged`), else of the table.
    """
    if not figures.get("rows_rejected"):
        return
    staged, where = rejects.get("staged"), "_reject_reason is not null"
    counted = f"{staged} where {where}" if staged else f"{relation} where {condition}"
    rows = rejects.get("reasons") or warehouse.run(
        f"select _reject_reason, count(*) from {counted} "
        "group by 1 order by 2 desc nulls last, 1 asc nulls last limit 6"
    )
    counts = [f"{row[1]} {row[0]}" if n < 5 else "…" for n, row in enumerate(rows[:6])]
    new, read = figures.get("new_rejects"), figures["rows_read"]
    are_new = "" if new is None else f", {'none' if new == 0 else new} of them new"
    warehouse.warn(
        cfg["entity"],
        f"{figures['rows_rejected']} of {read} {rejects['units'][read != 1]}{rejects['of']} went "
        f"to quarantine{are_new} ({', '.join(counts)}). To see these rows: select * from "
        f"{relation} where {condition}",
    )


def warn_other_tables(warehouse: Warehouse, cfg: Settings, figures: Mapping[str, Any]) -> None:
    """Say of the first events of an entity that none was of its table: its name may be misspelt."""
    ignored = figures.get("rows_ignored", 0)
    if cfg.get("table") and ignored > 0 and ignored == figures["rows_read"]:
        warehouse.warn(
            cfg["entity"],
            f"{figures['rows_read']} messages have landed, and none is a change of "
            f"{cfg['table']} (table in meta.tidemark). Correct the name of the table, or wait "
            "for the first change",
        )


def no_date(cfg: Settings) -> UsageError:
    """Return the error of a load that needs a business date and was given none."""
    return UsageError(
        f"{cfg['entity']}: the run has no business date. Give the date: --business-date 2026-03-04 "
        "to tidemark, or --vars '{business_date: \"2026-03-04\"}' to dbt"
    )
