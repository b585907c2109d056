"""Change events that have landed since the last run."""

from __future__ import annotations

from typing import Any

from tidemark.errors import ConfigError
from tidemark.pipeline.events_batch import (
    cut_at_truncate,
    forget_what_fails,
    look_into,
    reorders_ties,
)
from tidemark.pipeline.events_workers import (
    events_of_workers,
    lines_for_stretches,
    lines_of_workers,
)
from tidemark.pipeline.landing import files_to_read, lands_in_files, lines_view, warn_of_no_file
from tidemark.pipeline.slices import make_view
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.rules.batches import stretches_of
from tidemark.rules.names import lowered, names_of
from tidemark.shapes.events import Landing
from tidemark.shapes.load import Source
from tidemark.shapes.opened import Opened
from tidemark.shapes.settings import Settings

_NO_LINES = (
    "select cast(null as string) as value, cast(null as string) as _file, "
    "cast(null as bigint) as _landing_num where false"
)


def source_events(warehouse: Warehouse, opened: Opened, body: str) -> Source:
    """Return what has landed, cut at the DDL events of the table.

    So every row is read with the columns that held when it was written.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        body: The compiled SQL of the model.

    Returns:
        The source; no parts where there is nothing to load.
    """
    cfg, run, state = opened["cfg"], opened["run"], opened["state"]
    files = []
    if lands_in_files(warehouse, cfg):
        files = files_to_read(warehouse, opened, cfg["location"])
    lines = lines_of_workers(warehouse, opened, body, files)
    if lines:
        by_workers = events_of_workers(warehouse, opened, body, files, lines)
        if not isinstance(by_workers, str):
            return by_workers
        lines = lines_for_stretches(warehouse, opened, lines, by_workers)
    landing: Landing = {**land_events(warehouse, opened, body, files), "lines": lines}
    reorders = reorders_ties(warehouse, opened)
    if landing["in_files"] and not landing["files"] and not run["empty"]:
        if state["first"]:
            warn_of_no_file(warehouse, cfg)
        elif not reorders:
            return {"parts": []}
    batch = look_into(warehouse, opened, landing)
    is_told = cfg["columns"] or batch["names"] or landing["columns"] is not None
    if run["empty"] and state["first"] and not is_told:
        warehouse.report(
            f"{cfg['entity']}: the run makes no tables, as the columns are not known. Neither "
            f"the YAML nor an event of {cfg['table'] or 'the table'} has them yet"
        )
        return {"parts": []}
    if cfg["ddl"]["truncate_table"] == "fail" and not run["empty"]:
        usual = (warehouse.macro("usual_truncates"), "false")
        if batch["has_truncates"] or cfg["apply_as_truncates"] not in usual:
            cut_at_truncate(warehouse, opened, landing, batch)
    forget_what_fails(warehouse, opened, landing, batch)
    parts = stretches_of(batch)
    return {"parts": parts, "landing": landing, "batch": {**batch, "reorders": reorders}}


def land_events(warehouse: Warehouse, opened: Opened, body: str, files: list[Values]) -> Landing:
    """Return where events come from: views over files, a table or the model's own SELECT.

    They are read once and cached.

    Raises:
        ConfigError: There is no such table, or nothing orders the events.
    """
    cfg, run, macro = opened["cfg"], opened["run"], warehouse.macro
    target, location, in_files = (
        cfg["target"],
        cfg["location"] or "",
        lands_in_files(warehouse, cfg),
    )
    arrived, extract = (macro("run_view", target, name) for name in ("arrived", "extract"))
    if files:
        lines = lines_view(warehouse, opened, location, files)
        warehouse.run(macro("landed_lines_view_sql", extract, lines, files))
    elif in_files:
        make_view(warehouse, extract, _NO_LINES)
    elif location:
        _check_table(warehouse, cfg, location)
        make_view(warehouse, extract, f"select * from {location}")

    names = lowered(names_of(macro("describe_query", body)))
    number = "_sequence_num" if "_sequence_num" in names else "null"
    number = f", cast({number} as bigint) as _landing_num"
    sql = f"select *{'' if '_landing_num' in names else number} from (\n{body}\n)"
    make_view(warehouse, arrived, sql, not in_files and not run["empty"], body)
    columns = macro("describe_query", f"select * from {arrived}")
    is_debezium = cfg["format"] == "debezium"
    is_typed = "_operation" in names or any(key in names for key in lowered(cfg["keys"]))
    is_text = "value" in names and (is_debezium or not is_typed)
    if is_debezium and not is_text:
        raise ConfigError(
            f"{cfg['entity']}: format: debezium needs the JSON text of the events in a column "
            f"`value`. The model selects {', '.join(names)}. Name the column `value` in the "
            "SELECT of the model"
        )
    _check_order(cfg, names, in_files, is_debezium or not is_text)
    line_num = macro("line_num_expr", files) if "_landing_num" in names else "_landing_num"
    return {
        "files": files,
        "in_files": in_files,
        "arrived": arrived,
        "events": macro("run_view", target, "events"),
        "line_num": line_num,
        "columns": None if is_text else columns,
    }


def _check_table(warehouse: Warehouse, cfg: Settings, location: str) -> None:
    if "." in location:
        return
    literal = warehouse.macro("string_literal", location)
    if len(warehouse.run(f"show tables like {literal}")) == 0:
        raise ConfigError(
            f"{cfg['entity']}: there is no folder and no table {location} (location in "
            "meta.tidemark). Correct location. For a folder that does not exist yet, write "
            f"./{location}"
        )


def _check_order(cfg: Settings, names: list[str], in_files: bool, is_numbered: Any) -> None:
    """Stop where nothing orders events; lines of canonical ones may bring numbers of their own."""
    if cfg["sequence_by"] or "_sequence_num" in names or "_landing_num" in names:
        return
    if not in_files:
        raise ConfigError(
            f"{cfg['entity']}: rows of a table have no order. Add `_sequence_num` to the "
            "source, or set sequence_by to the columns that order the events of a key"
        )
    if is_numbered:
        raise ConfigError(
            f"{cfg['entity']}: the model selects neither `_landing_num` nor `_sequence_num`, so "
            "its events have no order. Add `_landing_num` to the SELECT of the model, or set "
            "sequence_by to the columns that order the events of a key"
        )
