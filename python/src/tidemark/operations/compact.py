"""The files of an entity's tables are brought to a good size."""

from __future__ import annotations

import json
import re
from typing import Any

from tidemark.errors import UsageError
from tidemark.model.suggestions import did_you_mean
from tidemark.operations.entity import (
    begin_operation,
    is_true,
    look_at_entity,
    operation_commit,
    report,
    report_unfinished,
)
from tidemark.operations.tables import SIDES, has_deletion_vectors
from tidemark.pipeline.commits import entity_state, record_commit
from tidemark.pipeline.committing import table_versions
from tidemark.pipeline.tables import relation_exists
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.printable import counted
from tidemark.shapes.opened import Opened, RelationName
from tidemark.shapes.settings import Settings

_UNITS = {"kb": 1024, "mb": 1024**2, "gb": 1024**3}


def compact(
    warehouse: Warehouse,
    entity: str,
    target_file_size: Any,
    tables: Any,
    max_partitions: Any,
    purge: Any,
    dry_run: Any,
) -> None:
    """Write small files together: the log one partition at a time, current by its key.

    Partitions with most small files come first. What it has not come to is left for the next call
    while a load is at work; if a load writes the same files meanwhile, Delta refuses one of the
    two, which is then run again.
    """
    opened = look_at_entity(warehouse, entity, "compact")
    cfg, commits = opened["cfg"], opened["commits"]
    size = _byte_size(cfg, target_file_size)
    asked = {"bytes": size, "tables": _tables_to_compact(cfg, tables), "most": max_partitions}
    steps = _steps(warehouse, opened, asked, is_true(purge))
    is_dry = is_true(dry_run)
    if is_dry:
        report_unfinished(warehouse, opened, "compact")
        for step in steps:
            what = f"would {step['verb']} {step['what']}: {_shown_files(step['before'])}"
            report(warehouse, entity, what)
    if not steps:
        report(warehouse, entity, "its files are of a good size, nothing to compact")
    if is_dry:
        return
    record = operation_commit(warehouse, opened, "compact")
    begin_operation(warehouse, opened, record)
    done = _compact_files(warehouse, opened, steps, size)
    table_id = warehouse.macro("table_id", opened["relations"]["current"])
    details = {"target_bytes": size, "files": done, "table_id": table_id}
    record = {**record, "details": json.dumps(details)}
    # A version that a load has left half done is no version to read.
    is_whole = not _is_being_loaded(warehouse, opened)
    versions = table_versions(warehouse, cfg, opened["relations"], "after") if is_whole else {}
    record_commit(warehouse, commits, record, "completed", versions)


def _compact_files(warehouse: Warehouse, opened: Opened, steps: list[Values], size: int) -> Values:
    entity, done = opened["cfg"]["entity"], {}
    settings: Values = {}
    if opened["cfg"]["file_format"] == "delta":
        # A key hash behind the columns that Delta keeps statistics of can be clustered by all the
        # same.
        settings = {
            "maxFileSize": size,
            "minFileSize": size * 3 // 4,
            "zorder.checkStatsCollection.enabled": "false",
        }
    for name, value in settings.items():
        warehouse.run(f"set spark.databricks.delta.optimize.{name} = {value}")
    for step in steps:
        verb, what, before = step["verb"], step["what"], step["before"]
        if step["is_shared"] and _is_being_loaded(warehouse, opened):
            report(warehouse, entity, f"is being loaded: {what} stays for the next compact")
            continue
        warehouse.run(step["statement"])
        partition = (step["partition_by"], step["partition_value"])
        after = _files_of(warehouse, step["relation"], size, *partition)
        done[f"{what} (purge)" if verb == "purge" else what] = {"before": before, "after": after}
        files = f"{_shown_files(before)} → {_shown_files(after)}"
        report(warehouse, entity, f"{verb} {what}: {files}")
    for name in settings:
        warehouse.run(f"reset spark.databricks.delta.optimize.{name}")
    return done


def _is_being_loaded(warehouse: Warehouse, opened: Opened) -> bool:
    """Say whether a commit of the entity's log is in flight."""
    relation = opened["cfg"]["relation"]
    state = entity_state(warehouse, opened["commits"], relation, opened["run"])
    return bool(state["inflight"])


def _byte_size(cfg: Settings, text: Any) -> int:
    match = re.fullmatch(r"([0-9]{1,12})\s*(b|kb|mb|gb)?", str(text).strip().lower())
    size = int(match.group(1)) * _UNITS.get(match.group(2), 1) if match else 0
    if not size:
        raise UsageError(
            f"{cfg['entity']}: target_file_size must be a size such as '128 MB', found: {text}"
        )
    return size


def _tables_to_compact(cfg: Settings, tables: Any) -> list[RelationName]:
    known = list(SIDES)
    if tables is None:
        return known
    wanted = [tables] if isinstance(tables, str) else tables
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(f"{cfg['entity']}: tables names `{name}`{hint}")
    return list(wanted)


def _steps(warehouse: Warehouse, opened: Opened, asked: Values, purges: bool) -> list[Values]:
    """Return what is to be done.

    `is_shared` says that a load writes the files, too, and does not only append to them.
    """
    macro, cfg, size, steps = warehouse.macro, opened["cfg"], asked["bytes"], []
    has_layout = cfg["cluster_by"] or "_key_hash" in cfg["partition_by"]
    for name in asked["tables"]:
        relation = opened["relations"][name]
        if not relation_exists(warehouse, relation):
            continue
        partition_by = "_business_date" if name == "log" else None
        zorder_by = "_key_hash" if name == "current" and not has_layout else None
        step = {
            "relation": relation,
            "partition_by": partition_by,
            "partition_value": None,
            "is_shared": name in ("current", "log"),
        }
        rows = warehouse.rows(macro("file_sizes_sql", relation, size, partition_by))
        worth = [row for row in rows if row["small_count"] > 1]
        most = len(worth) if asked["most"] is None else int(asked["most"])
        for row in worth[:most]:
            value = row["partition_value"]
            if cfg["file_format"] == "delta":
                sql = macro("optimize_sql", relation, partition_by, value, zorder_by)
            else:
                sql = macro("rewrite_files_sql", relation, partition_by, value, zorder_by, size)
            of = f" of {value}" if partition_by else ""
            steps.append(
                {
                    **step,
                    "verb": "compact",
                    "what": f"{relation.identifier}{of}",
                    "partition_value": value,
                    "before": _files(row),
                    "statement": sql,
                }
            )
        if purges and has_deletion_vectors(warehouse, relation):
            steps.append(
                {
                    **step,
                    "verb": "purge",
                    "what": relation.identifier,
                    "before": _files_of(warehouse, relation, size, None, None),
                    "statement": f"reorg table {relation} apply (purge)",
                    "partition_by": None,
                }
            )
    return steps


def _files_of(
    warehouse: Warehouse, relation: Any, size: int, partition_by: str | None, value: Any
) -> Values:
    """Return files and bytes of a table, or of one partition of it."""
    rows = warehouse.rows(warehouse.macro("file_sizes_sql", relation, size, partition_by))
    for row in rows:
        if not partition_by or row["partition_value"] == value:
            return _files(row)
    return {"files": 0, "bytes": 0}


def _files(row: Values) -> Values:
    return {"files": int(row["file_count"] or 0), "bytes": int(row["byte_count"] or 0)}


def _shown_files(files: Values) -> str:
    return f"{counted(files['files'], 'file')}, {counted(files['bytes'], 'byte')}"
