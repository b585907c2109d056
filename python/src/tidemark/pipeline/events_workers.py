"""Change events as the engine in the workers replays them, where it takes them."""

from __future__ import annotations

import json
from typing import Any

from tidemark.pipeline.events_batch import identified_by, reorders_ties, source_of, tables_of
from tidemark.pipeline.events_roles import load_of_stretch, roles_of_stretch, statements_within
from tidemark.pipeline.tables import freed_columns
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.pipeline.workers import asks_workers, leave_to_spark, of_engine, why_not_workers
from tidemark.rules.batches import ALL_OF_IT, NO_FIGURES, columns_of_schema
from tidemark.rules.event_roles import names_in_batch
from tidemark.rules.names import names_of, unique
from tidemark.rules.table_names import named_tables
from tidemark.shapes.events import HAS_DDL, Batch, Landing, Lines, Stretch
from tidemark.shapes.load import Figures, Load, Source, Staged
from tidemark.shapes.opened import Opened
from tidemark.shapes.roles import Roles

_SEVERAL_SCHEMAS = "its events have several schemas"


def lines_of_workers(
    warehouse: Warehouse, opened: Opened, body: str, files: list[Values]
) -> Lines | None:
    """Return the files as the workers open them; None where Spark has to, and it is told why.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        body: The compiled SQL of the model.
        files: The files that were not read yet.
    """
    if not files or not asks_workers(warehouse, opened):
        return None
    why = why_not_workers(warehouse, opened, body, "covers.why_not_read")
    found = why or _opened_lines(warehouse, opened, files)
    if isinstance(found, str):
        leave_to_spark(warehouse, opened, found)
        return None
    return found


def _opened_lines(warehouse: Warehouse, opened: Opened, files: list[Values]) -> Lines | str:
    landed = of_engine("events.load.landed_of", files)
    if isinstance(landed, str):
        return landed
    # a canonical event wraps nothing
    prefiltered = None
    if opened["cfg"]["format"] == "debezium":
        prefiltered = warehouse.adapter.prefilter_events(landed, tables_of(opened))
    if isinstance(prefiltered, str):
        return prefiltered
    return {"landed": landed, "prefiltered": prefiltered}


def events_of_workers(
    warehouse: Warehouse, opened: Opened, body: str, files: list[Values], lines: Lines
) -> Source | str:
    """Have the workers take what has landed, all in one part.

    They put onto what stands, in one task, what needs no more than that, and write it where no
    commit names it yet. In all other cases they read and type the events, which the macros stage.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        body: The compiled SQL of the model.
        files: The files that were not read yet.
        lines: The files as the workers open them.

    Returns:
        The source; a text: why Spark has to. Whatever the reason, nothing is left of it.
    """
    batch = _batch_to_come(warehouse, opened, lines["prefiltered"])
    if isinstance(batch, str):
        return batch
    if why_not_workers(warehouse, opened, body, "covers.why_not") is None:
        staged = _stage_in_workers(warehouse, opened, files, lines, batch)
        if not isinstance(staged, str):
            return {"parts": [ALL_OF_IT], "staged": staged}
        if staged == HAS_DDL:
            return staged
    return _read_by_workers(warehouse, opened, files, lines, batch)


def _read_by_workers(
    warehouse: Warehouse, opened: Opened, files: list[Values], lines: Lines, given: Batch
) -> Source | str:
    """Return events that the workers read; a text: why Spark has to."""
    cfg, state = opened["cfg"], opened["state"]
    batch: Batch = {**given}
    # what Spark finds by looking into a batch
    if source_of(opened).get("by_content") is None:
        batch["by_content"] = bool(state["first"] and cfg["sequence_by"])
    roles = roles_of_stretch(warehouse, opened, {"columns": None}, {**batch}, ALL_OF_IT)
    if statements_within(warehouse, opened, roles, batch, ALL_OF_IT):
        # it stands where the first event with the column does, which nobody has looked for
        return "a column with a default is new at the source"
    view = warehouse.macro("run_view", cfg["target"], "events")
    events = _read(warehouse, opened, lines, batch, roles, view)
    if isinstance(events, str):
        return events
    told = _names_in_batch(opened, roles, batch, events.figures)
    batch = {
        **batch,
        "named": named_tables(batch, [{"_table_name": events.of_table}]),
        "ignored": events.figures["rows_ignored"],
        "reorders": reorders_ties(warehouse, opened),
    }
    landing: Landing = {
        "files": files,
        "in_files": True,
        "events": view,
        "line_num": "_landing_num",
        "columns": None,
        "decoded": True,
        "told": told,
    }
    return {"parts": [ALL_OF_IT], "landing": landing, "batch": batch}


def _read(
    warehouse: Warehouse,
    opened: Opened,
    lines: Lines,
    batch: Batch,
    roles: Roles,
    view: str,
    stretch: Stretch = ALL_OF_IT,
) -> Any:
    """Have the workers read and type events, which a view has then; a text: why they do not."""
    cfg, state = opened["cfg"], opened["state"]
    why: str | None = of_engine("covers.why_not_opened", cfg) if lines["prefiltered"] else None
    if why:
        return why
    source = {
        **_sources_of(lines, batch),
        "first": state["first"],
        "has_moves": False,
        "by_content": batch["by_content"],
        "identifying": batch["identifying"],
        "after": stretch["from"],
        "before": stretch["to"],
        "left_out": batch.get("ddl_nums", []),
    }
    return warehouse.adapter.read_events(cfg, roles, source, view)


def _sources_of(lines: Lines, batch: Batch) -> Values:
    prefiltered = lines["prefiltered"]
    return {
        "landed": lines["landed"],
        "prefiltered": prefiltered.files if prefiltered else [],
        "tables": batch["tables"],
        "named": batch["named"],
        "by_server": batch["by_server"],
    }


def lines_for_stretches(
    warehouse: Warehouse, opened: Opened, lines: Lines, why: str
) -> Lines | None:
    """Return the files whose stretches the workers may read, once Spark knows the DDL events.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        lines: The files as the workers open them.
        why: Why they did not take all of them; it is told.
    """
    leave_to_spark(warehouse, opened, why)
    return lines if why in (HAS_DDL, _SEVERAL_SCHEMAS) else None


def read_stretch(
    warehouse: Warehouse,
    opened: Opened,
    landing: Landing,
    batch: Batch,
    roles: Roles,
    stretch: Stretch,
) -> Landing:
    """Return where the events of a stretch are: the workers have read them, where they can.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned, after the statement that begins the stretch.
        landing: What land_events() returned.
        batch: What the events tell, as it is known within the stretch.
        roles: What roles_of_stretch() returned.
        stretch: The stretch.
    """
    lines = landing.get("lines")
    if not lines or not batch.get("ddl_nums"):
        return landing
    view = warehouse.macro("run_view", opened["cfg"]["target"], "stretch")
    events = _read(warehouse, opened, lines, batch, roles, view, stretch)
    if isinstance(events, str):
        leave_to_spark(warehouse, opened, events)
        return landing
    told = roles["recorded"]["source"]["told"]
    return {**landing, "events": view, "line_num": "_landing_num", "decoded": True, "told": told}


def _stage_in_workers(
    warehouse: Warehouse, opened: Opened, files: list[Values], lines: Lines, batch: Batch
) -> Staged | str:
    """Return what the workers staged; a text: why it takes more than one task."""
    cfg, state, adapter = opened["cfg"], opened["state"], warehouse.adapter
    if reorders_ties(warehouse, opened):
        return "events of one place are put in another order"
    if source_of(opened).get("open_snapshot") is not None:
        return "a snapshot is still to be ended"
    if not state["first"] and state["log_version"] is None:
        return "its log cannot be written by it"
    roles = roles_of_stretch(warehouse, opened, {"columns": None}, batch, ALL_OF_IT)
    if _alters_tables(warehouse, opened, roles):
        return "its columns have changed"
    load: Load = {
        **load_of_stretch(warehouse, opened, roles, batch, ALL_OF_IT),
        "log_version": state["log_version"],
        "late": False,
        "forward": True,
        "staged": None,
    }
    if load["statements"]:
        return "a column with a default is new at the source"
    told = roles["recorded"]["source"]
    source = {
        **_sources_of(lines, batch),
        "first": state["first"],
        "has_moves": told["has_moves"],
    }
    stage = adapter.keep_events if state["first"] else adapter.stage_events
    staged = stage(cfg, roles, load, source, opened["relations"])
    if isinstance(staged, str):
        return staged
    figures = staged.figures
    told = {
        **told,
        "has_moves": told["has_moves"] or figures["has_moves"] > 0,
        "named": named_tables(batch, [{"_table_name": staged.of_table}]),
        "told": _names_in_batch(opened, roles, batch, figures),
    }
    counted: Figures = figures
    nums: Figures = {"first_sequence_num": None, "last_sequence_num": None}
    return {
        "roles": {**roles, "recorded": {**roles["recorded"], "source": told}},
        "load": load,
        "files": files,
        "rejects": {},
        "figures": {**NO_FIGURES, **nums, **counted},
        "uncommitted": None if state["first"] else staged,
        "kept": staged if state["first"] else None,
    }


def _batch_to_come(warehouse: Warehouse, opened: Opened, prefiltered: Any) -> Batch | str:
    """Return a batch of events that bring the columns that their schema tells.

    Without one they bring those that are declared: the workers see whether they do. A text: why
    Spark has to look.
    """
    cfg, state = opened["cfg"], opened["state"]
    recorded = {} if state["first"] else state["recorded"]
    source = recorded.get("source") or {}
    texts = prefiltered.schemas if prefiltered else {}
    schemas = {key: columns_of_schema(text) for key, text in texts.items()}
    columns = list(schemas.values())
    known, declared = names_of(recorded.get("columns", [])), names_of(cfg["columns"])
    # in the order in which Spark tells the members of an object
    arrived = names_of(columns[0]) if columns else []
    typed = [*known, *arrived, *(one["name"] for one in cfg["columns"] if one["data_type"])]
    shapes = {json.dumps(one).lower() for one in columns}
    if len(shapes) > 1 or (schemas and prefiltered.has_schemaless):
        return _SEVERAL_SCHEMAS
    if not typed:
        return "the YAML declares no columns"
    if source.get("refused"):
        return "a DDL event tells its columns"
    for name in [*declared, *cfg["keys"], *cfg["ignore"]]:
        if name not in typed:
            return f"column {name} has no data_type"
    return {
        "tables": tables_of(opened),
        "named": source.get("named", []),
        "followed": source.get("followed", []),
        "ignored": 0,
        "names": sorted(arrived) or unique([*declared, *known]),
        "schemas": schemas,
        "has_schemaless": not schemas,
        # there is but one: whether it shows a new column is asked, not where
        "first_nums": dict.fromkeys(schemas, 0),
        "is_empty": False,
        "statements": [],
        "source_columns": source.get("columns"),
        "refused": [],
        "renames": {},
        "reorders": False,
        "by_content": source.get("by_content", False),
        "by_server": source.get("by_server", state["first"]),
        "identifying": identified_by(warehouse, opened, None),
    }


def _names_in_batch(
    opened: Opened, roles: Roles, batch: Batch, figures: Values
) -> list[str] | None:
    """Return names_in_batch() of a batch that went by the workers.

    Without a schema its images tell, which have all columns of the entity or the key alone.
    """
    cfg, state = opened["cfg"], opened["state"]
    if cfg["format"] != "debezium":
        return None
    came = roles["keys"] if figures["rows_read"] > figures["rows_ignored"] else []
    came = roles["columns"] if figures["has_whole_rows"] else came
    names = batch["names"] if batch["schemas"] else names_of(came)
    return names_in_batch({**batch, "names": names}, None if state["first"] else state["recorded"])


def _alters_tables(warehouse: Warehouse, opened: Opened, roles: Roles) -> bool:
    """Say whether tables are to have other columns, or current is to be written anew, before."""
    cfg, recorded = opened["cfg"], opened["state"]["recorded"]
    if opened["state"]["first"]:
        return False
    return bool(
        any(column["recorded_type"] != column["type"] for column in roles["columns"])
        or roles["gone"]
        or not recorded.get("marks_rejects")
        or recorded.get("views_are_old")
        or recorded["soft_delete"] != cfg["soft_delete"]
        or recorded.get("write_mode", "copy_on_write") != cfg["write_mode"]
        or freed_columns(warehouse, opened, roles)
    )
