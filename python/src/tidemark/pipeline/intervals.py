"""The intervals of an entity, kept as a table: a run rewrites the keys that the log touched."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from typing import Any

from tidemark.errors import ConfigError, DataError
from tidemark.pipeline.commits import (
    derived_marks,
    ensure_commits,
    known_states,
    record_commit,
)
from tidemark.pipeline.growing import drop_other_format, is_of_format
from tidemark.pipeline.tables import cached_relation, relation_exists
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.rules.clones import body_hash
from tidemark.rules.names import names_of
from tidemark.shapes.derived import IntervalsState
from tidemark.shapes.opened import Commits, Run
from tidemark.shapes.settings import Intervals


def open_intervals(
    warehouse: Warehouse, cfg: Intervals, run: Run, relation: Any, body: str
) -> IntervalsState:
    """Return what is to be done of a table of intervals.

    Args:
        warehouse: Where it is.
        cfg: The settings.
        run: The dict of `run_config()`.
        relation: The table.
        body: The compiled SQL of the model.

    Raises:
        DataError: There is no log yet.
        ConfigError: The body is not that of intervals.
    """
    commits = ensure_commits(warehouse, run)
    state = _state(warehouse, cfg, run, relation, commits, body)
    macro, sql = warehouse.macro, None
    if state["step"] == "build":
        drop_other_format(warehouse, relation, cfg["file_format"])
        sql = macro("build_intervals_sql", relation, _options(warehouse, cfg, run, state), body)
    elif state["step"] == "merge":
        sql = macro("merge_intervals_sql", relation, state, body, _starts(cfg))
    return {**state, "sql": sql}


def _state(
    warehouse: Warehouse, cfg: Intervals, run: Run, relation: Any, commits: Commits, body: str
) -> IntervalsState:
    macro, source = warehouse.macro, cfg["entity"]
    log = macro("side_relation", source, "log")
    if not relation_exists(warehouse, log):
        raise DataError(f"{cfg['model']}: there is no {log} yet: run {source.identifier} first")
    entity = f"{source.schema}.{source.identifier}"
    last = _marks(warehouse, commits, cfg["relation"], entity)
    read_to = last["source_commit_id"]
    log_now = warehouse.rows(macro("scd2_log_sql", log, read_to, cfg["axes"]))[0]
    config = {
        "body": body_hash(body, str(source.schema)),
        "partition_by": cfg["partition_by"],
        "cluster_by": cfg["cluster_by"],
        "log_commit_id": last["log_commit_id"],
        # what tables of one axis recorded stays as it is
        **({"axes": cfg["axes"]} if "system" in cfg["axes"] else {}),
    }
    state: IntervalsState = {
        "log": log,
        "existing": cached_relation(warehouse, relation),
        "columns": macro("describe_query", body),
        "watermark": read_to,
        "rows_read": log_now["row_count"],
        "last_commit_id": log_now["last_commit_id"],
        "commits": commits,
        "commit": {
            "commit_id": macro("next_commit_id", last["last_id"]),
            "relation": cfg["relation"],
            "entity": cfg["model"],
            "kind": "scd2",
            "source_relation": entity,
            "started_at": macro("utc_now"),
            "invocation_id": run["invocation_id"],
            "config": config,
        },
    }
    _check_body(cfg, names_of(state["columns"]))
    exists, reason = relation_exists(warehouse, relation), None
    if exists:
        known = _recorded_config(last, body, config["body"])
        reason = _why_rebuild(warehouse, cfg, run, state, relation, last, log_now, known)
    if run["empty"]:
        return {**state, "step": "nothing" if exists else "build", "message": "EMPTY"}
    if not exists or reason:
        if exists:
            warehouse.report(f"{cfg['model']}: built again as a whole, as {reason}")
        return {**state, "step": "build"}
    if log_now["last_commit_id"] > read_to:
        return {**state, "step": "merge"}
    return {**state, "step": "nothing", "message": "nothing new"}


def _starts(cfg: Intervals) -> list[str]:
    """The columns where an interval begins, on each axis."""
    return [cfg["valid_from"], *(["_known_from"] if "system" in cfg["axes"] else [])]


def _check_body(cfg: Intervals, names: Collection[str]) -> None:
    """Refuse a body without what tells an interval from others, or of other axes."""
    hints = {
        "_valid_from": "; where it has another name, meta.tidemark.valid_from says which",
        "_known_from": "; meta.tidemark.axes is [business, system]: leave `axes` out of the call",
    }
    for name in ("_key_hash", *_starts(cfg)):
        if name not in names:
            problem = f"the body lacks `{name}`. Select the column of tidemark.scd2()"
            raise ConfigError(f"{cfg['model']}: {problem}{hints.get(name, '')}")
    if "_known_from" in names and "system" not in cfg["axes"]:
        raise ConfigError(
            f"{cfg['model']}: the body yields intervals of both axes. Set `axes: [business, "
            "system]` under meta.tidemark"
        )


def _marks(warehouse: Warehouse, commits: Commits, relation: str, entity: str) -> Values:
    """Return what is known of a kept table of intervals: see scd2_watermark_sql()."""
    marks = derived_marks(warehouse, commits, relation, "scd2", entity)
    if marks is None:
        sql = warehouse.macro("scd2_watermark_sql", commits["view"], relation, entity)
        return warehouse.rows(sql)[0]
    done = marks["done"] or {}
    numbers = ("commit_id", "source_commit_id", "rows_read")
    return {
        "last_id": marks["last_id"],
        **{name: done.get(name) or 0 for name in numbers},
        "config": done.get("config"),
        "log_commit_id": next((one["commit_id"] for one in marks["replaced"]), 0),
    }


def _is_ahead(warehouse: Warehouse, state: IntervalsState) -> bool:
    """Say whether intervals have read a commit that their entity, a clone, does not have.

    So it is if the two were cloned one after the other, and the original went on in between.
    """
    commits, read_to = state["commits"], state["watermark"]
    entity = state["commit"]["source_relation"]
    states = known_states(warehouse, commits, entity) if commits["are_known"] else None
    if states is None:
        relation = warehouse.macro("string_literal", entity)
        states = warehouse.rows(
            f"select commit_id, kind from {commits['view']} where relation = {relation} "
            f"and (kind = 'clone' or commit_id = {read_to})"
        )
    is_clone = any(one["kind"] == "clone" for one in states)
    return bool(read_to) and is_clone and all(one["commit_id"] != read_to for one in states)


def _recorded_config(last: Values, body: str, digest: Any) -> Values:
    """Return what the table was made with; older tables have another hash of the same body."""
    recorded: Values = json.loads(last["config"] or "{}")
    if recorded.get("body") == hashlib.md5(body.encode()).hexdigest():
        recorded["body"] = digest
    return recorded


def _why_rebuild(
    warehouse: Warehouse,
    cfg: Intervals,
    run: Run,
    state: IntervalsState,
    relation: Any,
    last: Values,
    log_now: Values,
    recorded: Values,
) -> str | None:
    """Return why the table that is there cannot be carried on; None if it can."""
    macro, existing, file_format = warehouse.macro, state["existing"], cfg["file_format"]
    if run["full_refresh"]:
        return "--full-refresh asks for it"
    if existing is None or not is_of_format(existing, file_format):
        return f"it is no {file_format.title()} table"
    # a table that --empty or somebody else made has no such property
    built_by = int(macro("table_property", relation, "tidemark.scd2_commit") or 0)
    if not built_by or built_by > last["commit_id"]:
        return "no completed run of it is known"
    if recorded.get("axes", ["business"]) != cfg["axes"]:
        return "its axes changed"
    is_same_log = (
        log_now["watermark_count"] == last["rows_read"]
        and recorded.get("log_commit_id") == last["log_commit_id"]
        and not _is_ahead(warehouse, state)
    )
    if not is_same_log:
        return f"the log of {cfg['entity'].identifier} is not the one that it was made from"
    wanted, stored = (
        {column["name"]: macro("kept_type", column["type"], file_format) for column in columns}
        for columns in (state["columns"], macro("describe_query", f"select * from {relation}"))
    )
    if wanted != stored:
        return "its columns changed"
    return "its SQL or its layout changed" if recorded != state["commit"]["config"] else None


def _options(warehouse: Warehouse, cfg: Intervals, run: Run, state: IntervalsState) -> Values:
    """Return what the table is made with."""
    properties: Values = {}
    if cfg["file_format"] == "delta":
        properties |= warehouse.macro("delta__name_properties", state["columns"])
    if not run["empty"]:
        properties["tidemark.scd2_commit"] = state["commit"]["commit_id"]
    return {**cfg, "properties": {**properties, **cfg["table_properties"]}}


def record_intervals(
    warehouse: Warehouse, cfg: Intervals, run: Run, relation: Any, state: IntervalsState, table: Any
) -> None:
    """Record how far the log is applied: a run that died before is applied again.

    Args:
        warehouse: Where the table is.
        cfg: The settings.
        run: The dict of `run_config()`.
        relation: The table.
        state: What open_intervals() returned.
        table: What the MERGE gave back; of that Iceberg tells nothing.
    """
    if state["step"] == "nothing" or run["empty"]:
        return
    figures = {
        "source_commit_id": state["last_commit_id"],
        "rows_read": state["rows_read"],
        "current_version_after": warehouse.macro("table_version", cfg["file_format"], relation),
    }
    if state["step"] == "merge" and cfg["file_format"] == "delta":
        merged = table.rows[0]
        for place, name in enumerate(("rows_updated", "rows_deleted", "rows_inserted"), 1):
            figures[name] = int(merged[place] or 0)
    record_commit(warehouse, state["commits"], state["commit"], "completed", figures)
