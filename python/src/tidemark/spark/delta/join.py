"""Small files of tables that get a few rows at a time, joined now and then."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import duckdb
from pyspark.sql import SparkSession

from tidemark.engine.header import local_path
from tidemark.engine.quoted import identifier, list_sql, literal
from tidemark.spark.delta.append import LONGEST_BOUND, SQL_TYPES
from tidemark.spark.delta.database import connection
from tidemark.spark.delta.log import added_file, begin, commit, is_conflict, log_of, newest
from tidemark.spark.delta.small import listed_files, paths_of
from tidemark.spark.files import each

_WRITTEN_NAME = "delta.columnMapping.physicalName"
_EVERY = 50
# bytes of a file that is not joined with others
_LARGE = 1 << 20


class _Column(NamedTuple):
    name: str
    """That which it has in files."""
    type: str

    @property
    def quoted(self) -> str:
        return identifier(self.name)

    @property
    def is_bounded(self) -> str:
        """SQL that says whether bounds of its values tell anything, and are short."""
        return (
            f"count(*) = count({self.quoted}) "
            f"and max(length({self.quoted}::varchar)) <= {LONGEST_BOUND}"
        )


def join_now_and_then(
    session: SparkSession, schema: str, name: str, version: int
) -> tuple[str, int] | None:
    """Join the small files of a table after every fiftieth commit.

    Delta keeps a list of no more files than that with each commit; without one a table is read by
    way of Spark jobs. Fifty files of a row each would take Spark as long to join as five loads.

    Args:
        session: The running session.
        schema: The schema of the table.
        name: Its name; a table without partitions that append_rows() writes to.
        version: That of the commit.

    Returns:
        The id of the table and its version where the next commit after that one has joined files
        and nothing else; None, and whatever was done leaves its rows as they are.
    """
    if version % _EVERY:
        return None
    jvm: Any = session._jvm
    log = log_of(session, schema, name)
    snapshot = newest(jvm, log)
    files = listed_files(snapshot)
    small = [file for file in each(files) if int(file.size()) < _LARGE] if files is not None else []
    paths, folder = paths_of(log, small), local_path(str(log.dataPath().toString()))
    columns = _columns(json.loads(snapshot.metadata().schemaString())["fields"])
    if files is None or paths is None or folder is None or columns is None:
        session.sql(f"optimize `{schema}`.`{name}`")
        return None
    if len(small) < 2 or int(snapshot.version()) != version:
        return None
    # not beside one of them: what Spark writes may lie in folders within that of the table
    joined = Path(folder) / f"part-00000-{uuid4()}-c000.snappy.parquet"
    try:
        statistics = _join(list_sql(paths), columns, joined)
        size = joined.stat().st_size
        added = added_file(jvm, joined.name, size, statistics, changes_rows=False)
        now = int(time.time() * 1000)
        transaction = begin(session, log, snapshot, schema, name)
        actions = [file.removeWithTimestamp(now, False) for file in small] + [added]
    except Exception as error:
        joined.unlink(missing_ok=True)
        # the rows are there as they were; what is wrong with a file or a disk, others will say
        if isinstance(error, duckdb.Error | OSError):
            return None
        raise
    try:
        after = commit(jvm, transaction, actions, "Append")
    except Exception as error:
        # what failed otherwise may have done so once the commit was there, which names the file
        if not is_conflict(jvm, error):
            raise
        joined.unlink(missing_ok=True)
        return None
    return (str(snapshot.metadata().id()), after) if after == version + 1 else None


def _columns(fields: Sequence[Mapping[str, Any]]) -> list[_Column] | None:
    """Return the columns of a table; None: it has others than append_rows() writes."""
    if any(field["type"] not in SQL_TYPES for field in fields):
        return None
    return [
        _Column(str(field["metadata"].get(_WRITTEN_NAME, field["name"])), SQL_TYPES[field["type"]])
        for field in fields
    ]


def _join(files: str, columns: Sequence[_Column], path: Path) -> dict[str, Any]:
    """Write the rows of files as one; return its statistics."""
    with connection() as db:
        found = db.execute(f"select distinct name from parquet_schema({files})").fetchall()
        there = {name for (name,) in found}
        values = ", ".join(
            f"{one.quoted if one.name in there else 'null'}::{one.type} as {one.quoted}"
            for one in columns
        )
        db.execute(
            f"create temporary table joined as select {values} "
            f"from read_parquet({files}, union_by_name = true)"
        )
        db.execute(f"copy joined to {literal(str(path))} (format parquet, compression snappy)")
        return _statistics(db, columns)


def _statistics(db: Any, columns: Sequence[_Column]) -> dict[str, Any]:
    """Return what lets readers leave out the file: bounds of numbers and short texts."""
    bounded = [one for one in columns if one.type in ("bigint", "varchar")]
    asked = ", ".join(f"{one.is_bounded}, min({one.quoted}), max({one.quoted})" for one in bounded)
    rows, *bounds = db.execute(f"select count(*), {asked or 'null'} from joined").fetchone()
    least, greatest = {}, {}
    for place, one in enumerate(bounded):
        is_bounded, low, high = bounds[3 * place : 3 * place + 3]
        if is_bounded:
            least[one.name], greatest[one.name] = low, high
    return {"numRecords": rows, "minValues": least, "maxValues": greatest}
