"""A commit is kept from clean()."""

from __future__ import annotations

import json
import re
from typing import Any

from tidemark.errors import DataError, UsageError
from tidemark.operations.entity import is_true, open_entity, operation_commit, report
from tidemark.pipeline.commits import record_commit
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.shapes.opened import Commit, Opened
from tidemark.shapes.settings import Settings


def savepoint(
    warehouse: Warehouse, entity: str, commit: Any, name: Any, remove: Any, dry_run: Any
) -> None:
    """Keep a commit: one of kind `savepoint` records it, one with `removed` takes it away."""
    removes, is_dry = is_true(remove), is_true(dry_run)
    opened = open_entity(warehouse, entity, "keep", is_dry)
    cfg, states = opened["cfg"], opened["commits"]["states"]
    kept = warehouse.rows(warehouse.macro("savepoints_sql", states, cfg["relation"]))
    if removes:
        source = _savepoint_to_remove(cfg, commit, name, kept)
    else:
        source = commit_to_keep(warehouse, cfg, states, commit or None)
    shown = f"{source} ({name})" if name is not None else str(source)
    if is_dry:
        does = "would remove the savepoint on commit" if removes else "would keep commit"
        report(warehouse, entity, f"{does} {shown}")
        return
    details: Values = {"removed": True}
    if not removes:
        details = {"name": None if name is None else str(name)}
    record = operation_commit(
        warehouse, opened, "savepoint", source_commit_id=source, details=json.dumps(details)
    )
    record_commit(warehouse, opened["commits"], record, "completed", {})
    if not removes:
        _check_is_kept(warehouse, opened, record)
    did = "removed the savepoint on commit" if removes else "clean keeps commit"
    report(warehouse, entity, f"{did} {shown}")


def commit_to_keep(warehouse: Warehouse, cfg: Settings, states: Any, commit: Any) -> int:
    """Return the commit that a savepoint is to keep, the last one if none is given.

    Raises:
        UsageError: It is none, or not there any more.
    """
    wanted = None if commit is None else str(commit).strip()
    if wanted is not None and not re.fullmatch("[0-9]{1,18}", wanted):
        raise UsageError(
            f"{cfg['entity']}: commit must be a commit id (commit_id of tidemark_commits) such as "
            f"260304093000123, found: {commit}"
        )
    found = warehouse.rows(warehouse.macro("log_commits_sql", states, cfg["relation"], wanted, 1))
    if not found:
        rows = warehouse.rows(warehouse.macro("log_commits_sql", states, cfg["relation"]))
        shown = [f"{row['commit_id']} ({row['business_date'] or row['kind']})" for row in rows]
        raise UsageError(
            f"{cfg['entity']}: no completed commit {wanted} wrote the log of the entity. Name "
            f"one of the last commits: {', '.join(shown)}"
        )
    source, floor = int(found[0]["commit_id"]), _floor(warehouse, cfg, states)
    if source < floor:
        raise UsageError(
            f"{cfg['entity']}: commit {source} cannot be kept any more. The rows before commit "
            f"{floor} were cleaned, or a full refresh replaced their log. Name commit {floor} or "
            "a later one"
        )
    return source


def _floor(warehouse: Warehouse, cfg: Settings, states: Any) -> int:
    sql = warehouse.macro("feed_floor_sql", states, cfg["relation"])
    return int(warehouse.run(sql)[0][0] or 0)


def _check_is_kept(warehouse: Warehouse, opened: Opened, record: Commit) -> None:
    """Take a savepoint away that a clean() which began meanwhile may not have seen."""
    cfg, commits, source = opened["cfg"], opened["commits"], record["source_commit_id"]
    floor = _floor(warehouse, cfg, commits["states"])
    if source < floor:
        record_commit(warehouse, commits, record, "rolled_back", {})
        raise DataError(
            f"{cfg['entity']}: commit {source} is not kept, as a call of clean removes the rows "
            f"before commit {floor}. Run clean again, or make the savepoint again"
        )


def _savepoint_to_remove(cfg: Settings, commit: Any, name: Any, kept: list[Values]) -> int:
    named = [row["commit_id"] for row in kept if name is not None and row["name"] == str(name)]
    if commit is None and len(named) > 1:
        raise UsageError(
            f"{cfg['entity']}: there are savepoints named {name} on several commits. Name with "
            f"`commit` the savepoint to remove: {' or '.join(map(str, sorted(named)))}"
        )
    wanted = commit or (named[0] if named else None)
    if wanted is not None and any(str(wanted) == str(row["commit_id"]) for row in kept):
        return int(wanted)
    shown = sorted(
        f"{row['commit_id']} ({row['name']})" if row["name"] else str(row["commit_id"])
        for row in kept
    )
    missing = f"on commit {wanted}" if wanted is not None else f"named {name}"
    if wanted is None and name is None:
        missing = "without a commit or a name: say which one to remove"
    raise UsageError(
        f"{cfg['entity']}: there is no savepoint {missing}. Name one of these savepoints: "
        f"{', '.join(shown) or 'none'}"
    )
