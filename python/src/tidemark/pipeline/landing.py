"""Files in a folder that are read once each: change events and enriched events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidemark.errors import DataError
from tidemark.pipeline.delta_files import as_it_is, has_delta_files
from tidemark.pipeline.slices import make_view
from tidemark.pipeline.tables import relation_exists
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.rules.names import lowered
from tidemark.rules.order import numbered_files
from tidemark.shapes.load import Load
from tidemark.shapes.opened import Opened, Relations, Run
from tidemark.shapes.settings import Settings

_Files = Sequence[Values]


def lands_in_files(warehouse: Warehouse, cfg: Settings) -> bool:
    """Say whether events land in files: of a name without `/`, whether it is a folder's."""
    location = cfg["location"] or ""
    if "/" in location or "*" in location:
        return True
    is_name = location and "." not in location
    return bool(is_name and len(warehouse.macro("files_at", location)) > 0)


def files_to_read(warehouse: Warehouse, opened: Opened, location: str) -> list[Values]:
    """Return the files at a location that no commit has read to the end, see numbered_files()."""
    cfg, relations, state = opened["cfg"], opened["relations"], opened["state"]
    there = warehouse.macro("files_at", location)
    if not there:
        return []
    landed, adapter, files = relations["landed"], warehouse.adapter, None
    if state["first"] or not relation_exists(warehouse, landed):
        landed = None
    if landed and warehouse.macro("can", "list_files"):
        adapter.follow_files(landed, warehouse.macro("landed_file"), there)
    if has_delta_files(warehouse, cfg):
        files = adapter.unread_files(there, landed, state["undone"])
    if files is None:
        landed = as_it_is(warehouse, cfg, landed, "landed") if landed else None
        files = warehouse.rows(
            warehouse.macro("event_files_sql", location, landed, state["undone"])
        )
    check_lines(warehouse, cfg, opened["run"], files)
    return numbered_files(files)


def check_lines(warehouse: Warehouse, cfg: Settings, run: Run, files: _Files) -> None:
    """Stop at a line that is longer than a reader has memory for: Spark's JVM would end of it.

    A block of a file is read in each stretch of `tidemark__max_line_bytes`, and nothing of a
    smaller one.

    Raises:
        DataError: There is one.
    """
    has_own_ends = "linesep" in lowered(cfg.get("options", {}))
    if has_own_ends or not files or cfg.get("format") == "parquet":
        return
    if not warehouse.macro("can", "list_files"):
        return
    most = run["max_line_bytes"]
    found = warehouse.adapter.long_line(files, most)
    if found:
        raise DataError(
            f"{cfg['entity']}: {found['path']} has a line of more than {most} bytes, from byte "
            f"{found['at']} on. Deliver the file with an end of line after each row. If rows "
            "are that long, raise the var tidemark__max_line_bytes. Then raise "
            "spark.driver.memory to twenty times that size"
        )


def lines_view(warehouse: Warehouse, opened: Opened, location: str, files: _Files) -> str:
    """Make the view over the lines of files, cached, as events are told apart by several looks.

    Of Parquet files Spark takes the columns that one of those at the location has: those of the
    others, which a table gained later, would be lost.
    """
    macro, target = warehouse.macro, opened["cfg"]["target"]
    is_parquet = files[0]["_file"].endswith(".parquet")
    if is_parquet and macro("can", "read_footers"):
        rows = macro("run_view", target, "rows")
        warehouse.adapter.view_parquet_files(rows, files, location)
        sql = f"select * from {rows}"
    else:
        sql = macro("event_lines_sql", location, files, is_parquet)
    view: str = make_view(
        warehouse, macro("run_view", target, "lines"), sql, not opened["run"]["empty"]
    )
    return view


def warn_of_no_file(warehouse: Warehouse, cfg: Settings) -> None:
    """Say that nothing has landed so far."""
    where = cfg["location"]
    warehouse.warn(
        cfg["entity"],
        f"there is no file at {where} yet (location in meta.tidemark). The next run looks again",
    )


def write_landed(warehouse: Warehouse, targets: Relations, files: _Files, load: Load) -> None:
    """Remember the files that were read: as a whole with the last part of a source."""
    rows: list[dict[str, Any]] = [
        {
            warehouse.macro("landed_file"): file["_file"],
            "_file_number": file["_arrival_number"],
            "_file_size": file["_file_size"],
            "_file_time": warehouse.macro("utc_text_of_micros", file["_file_micros"]),
            "_is_whole": load["is_last"],
            "_commit_id": load["commit_id"],
        }
        for file in files
    ]
    if rows and warehouse.macro("can", "write_delta_files"):
        warehouse.adapter.append_rows(targets["landed"], rows)
    elif rows:
        columns = warehouse.macro("landed_columns")
        warehouse.run(warehouse.macro("append_rows_sql", targets["landed"], columns, rows))
