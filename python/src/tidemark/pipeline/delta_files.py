"""Files of an entity's tables, where the adapter can work with them.

Those of Delta are read by its list, and written before a commit names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.errors import DataError
from tidemark.pipeline.tables import write_relations
from tidemark.pipeline.warehouse import Warehouse
from tidemark.shapes.load import Load
from tidemark.shapes.opened import Opened
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings

_SMALL = 8 * 1024 * 1024
"""To plan a MERGE into a table of so many bytes takes longer than to write it all."""


def has_delta_files(warehouse: Warehouse, cfg: Settings) -> bool:
    """Say whether the adapter can work with the files of an entity's tables."""
    can: bool = warehouse.macro("can", "write_delta_files")
    return can and bool(cfg["file_format"] == "delta")


def has_files(warehouse: Warehouse, cfg: Settings) -> bool:
    """Say whether rows may be put into files of an entity's log that a commit names later.

    Of Delta they always can; of Iceberg where the workers write them, and else by a statement.
    """
    if cfg["file_format"] == "iceberg":
        return bool(warehouse.macro("can", "run_workers"))
    return has_delta_files(warehouse, cfg)


def as_it_is(warehouse: Warehouse, cfg: Settings, relation: Any, name: str) -> Any:
    """Return a table as it is now, to be read from in this run.

    It is a view of its files where the adapter can make one, which spares Spark the jobs that plan
    a scan; else the table. What is a view already stays one.
    """
    if isinstance(relation, str):
        return relation
    view = warehouse.macro("run_view", cfg["target"], f"{name}_now")
    is_viewed = has_delta_files(warehouse, cfg) and warehouse.adapter.view_small_table(
        relation, view
    )
    return view if is_viewed else relation


def is_written_at_once(warehouse: Warehouse, cfg: Settings, relation: Any) -> bool:
    """Say whether a table is so small that all of it is written rather than merged into.

    Not where a change data feed shows what was written, nor where deletion vectors were asked for.
    """
    properties = cfg["table_properties"] or {}
    if not has_delta_files(warehouse, cfg) or cfg["write_mode"] != "copy_on_write":
        return False
    if properties.get("delta.enableChangeDataFeed"):
        return False
    size = warehouse.adapter.listed_bytes(relation)
    return size is not None and size <= _SMALL


def can_stage_changes(roles: Roles, load: Load) -> bool:
    """Say whether what a load adds to the log can be written there before its commit.

    That is rows to append only, and nothing beside them.
    """
    return bool(load["forward"] and load["log_version"] is not None and not roles["sensitive"])


def check_staged(warehouse: Warehouse, cfg: Settings, staged: Any, counted: int) -> None:
    """Compare how many rows were written with how many were counted on the way.

    Raises:
        DataError: The numbers differ.
    """
    if counted != staged.rows:
        warehouse.adapter.discard_rows(staged)
        raise DataError(
            f"{cfg['entity']}: {counted} changes were counted but {staged.rows} were written. "
            "This happens when Spark repeats a task. Nothing was committed. Run the model again"
        )


def staged_log_rows(
    warehouse: Warehouse,
    opened: Opened,
    roles: Roles,
    load: Load,
    rows: Any,
    figures: Mapping[str, str],
) -> Any:
    """Write rows of a view or table as files of the log that no commit names yet.

    Args:
        warehouse: Where the log is.
        opened: What open_load() returned.
        roles: What becomes of each column.
        load: The load.
        rows: The view or table.
        figures: What is counted on the way, as aggregates.

    Returns:
        The files; None: it takes a statement.
    """
    names = warehouse.macro("column_list_expr", warehouse.macro("slice_columns", roles))
    return warehouse.adapter.stage_rows(
        write_relations(warehouse, opened)["log"],
        load["log_version"],
        f"select\n    {names}\nfrom {rows}",
        figures,
        f"select *, {load['commit_id']} as _commit_id from {{counted}}",
    )


def version_to_append(warehouse: Warehouse, opened: Opened, load: Load) -> int | None:
    """Return the version of the log that rows are appended to; None where they are not staged.

    A log that was made for this load has its first one.

    Raises:
        DataError: It has another, as another first run was faster.
    """
    log = write_relations(warehouse, opened)["log"]
    if not has_files(warehouse, opened["cfg"]) or opened["run"].get("dry_run"):
        return None
    if not opened["state"]["first"]:
        version: int | None = load["log_version"]
        return version
    made: int | None = warehouse.adapter.table_version(log)
    # a table of Iceberg may be one that the library knows nothing of: a statement writes to it
    if made or (made is None and opened["cfg"]["file_format"] == "delta"):
        raise DataError(
            f"{opened['cfg']['entity']}: another run has written to {log} since this run began. "
            "This run wrote nothing. Run the model again"
        )
    return made
