"""A few rows that are appended without a Spark job."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from tidemark.engine.quoted import identifier, literal
from tidemark.errors import TidemarkError
from tidemark.spark.delta.database import connection
from tidemark.spark.delta.log import added_file, begin, commit, log_of, newest
from tidemark.spark.delta.target import in_files
from tidemark.spark.files import hadoop_path
from tidemark.spark.known_rows import TableVersion

SQL_TYPES = {
    "long": "bigint",
    "string": "varchar",
    "date": "date",
    "timestamp": "timestamptz",
    "boolean": "boolean",
}
"""DuckDB's types for those of Delta that a column may have."""
LONGEST_BOUND = 100
"""Characters of the longest text that bounds the values of a column."""


def append_rows(
    session: SparkSession, schema: str, name: str, rows: Sequence[Mapping[str, Any]]
) -> tuple[TableVersion, TableVersion]:
    """Append a few rows to a Delta table without a Spark job, in one commit.

    For records of what was done, which an INSERT plans and runs a job for. Their small files are
    for join_now_and_then().

    Example:
        >>> append_rows(session, "shop", "commits", [{"id": 7, "done_at": "2026-03-04 09:30:00"}])
        (('0f6c…', 11), ('0f6c…', 12))

    Args:
        session: The running session.
        schema: The schema of the table.
        name: Its name; a table without partitions, of the types bigint, string, date, timestamp and
            boolean.
        rows: By column; those left out are NULL. Dates and timestamps (UTC) as ISO texts.

    Returns:
        The id of the table and its version, as id_and_version() gives them, before and after.

    Raises:
        TidemarkError: A column is not there, or of another type.
    """
    jvm: Any = session._jvm
    log = log_of(session, schema, name)
    snapshot = newest(jvm, log)
    metadata = snapshot.metadata()
    fields = {
        field["name"]: RowColumn(field["name"], str(field["type"]), in_files(field)[0])
        for field in json.loads(metadata.schemaString())["fields"]
    }
    columns = used_columns(f"{schema}.{name}", fields, rows)
    if metadata.partitionColumns().size():
        raise TidemarkError(f"{schema}.{name} has partitions")
    file = f"part-00000-{uuid4()}-c000.snappy.parquet"
    path, settings = hadoop_path(jvm, log.dataPath(), file), log.newDeltaHadoopConf()
    size = write_rows(jvm, path, settings, columns, rows)
    added = added_file(jvm, file, size, _statistics(columns, rows))
    transaction = begin(session, log, snapshot, schema, name)
    version, table = commit(jvm, transaction, [added], "Append"), str(metadata.id())
    return (table, version - 1), (table, version)


@dataclass(frozen=True)
class RowColumn:
    """A column of a table: its name, its type, its name and number in files."""

    name: str
    type: str
    written_name: str
    number: int | None = None


def used_columns(
    table: str, known: Mapping[str, RowColumn], rows: Sequence[Mapping[str, Any]]
) -> list[RowColumn]:
    """Return the columns that a few rows have values of.

    Args:
        table: What messages call the table.
        known: Its columns by name, with types as keys of SQL_TYPES.
        rows: The rows.

    Raises:
        TidemarkError: A column is not there, or of another type.
    """
    used = sorted({name for row in rows for name, value in row.items() if value is not None})
    for column in used:
        if column not in known or known[column].type not in SQL_TYPES:
            raise TidemarkError(f"{table} has no column {column} of a plain type")
    return [known[name] for name in used]


def write_rows(
    jvm: Any,
    path: Any,
    settings: Any,
    columns: Sequence[RowColumn],
    rows: Sequence[Mapping[str, Any]],
) -> int:
    """Write a few rows as a file of Parquet, wherever Hadoop writes; return its size in bytes.

    Args:
        jvm: The session's JVM.
        path: The file, as Hadoop has it.
        settings: Hadoop's.
        columns: The columns.
        rows: By column, as append_rows() takes them.
    """
    values = ", ".join(
        f"(told ->> {place})::{SQL_TYPES[one.type]} as {identifier(one.written_name)}"
        for place, one in enumerate(columns)
    )
    numbers = ", ".join(
        f"{identifier(one.written_name)}: {one.number}" for one in columns if one.number is not None
    )
    numbered = f", field_ids {{{numbers}}}" if numbers else ""
    # one value for all: a list for each column takes DuckDB longer than to write them
    told = [json.dumps([_given(one, row.get(one.name)) for one in columns]) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, "rows.parquet")
        with connection() as db:
            db.execute(
                f"copy (select {values} from (select unnest(?::json[]) as told)) "
                f"to {literal(str(written))} (format parquet, compression snappy{numbered})",
                [told],
            )
        # a stream as any other file's: copyFromLocalFile() has S3A hand it to another client
        jvm.org.apache.hadoop.fs.FileUtil.copy(
            jvm.java.io.File(str(written)), path.getFileSystem(settings), path, False, settings
        )
        return written.stat().st_size


def _given(column: RowColumn, value: Any) -> Any:
    """Return a value in a form that DuckDB reads as that of the column's type."""
    if value is None:
        return None
    return {"long": int, "boolean": bool}.get(column.type, str)(value)


def _statistics(columns: Sequence[RowColumn], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what lets readers leave out the file: bounds of numbers and short texts."""
    least, greatest = {}, {}
    for column in columns:
        kind = {"long": int, "string": str}.get(column.type)
        values = [row.get(column.name) for row in rows]
        if kind is None or None in values:
            continue
        if any(len(str(value)) > LONGEST_BOUND for value in values):
            continue
        least[column.written_name] = min(map(kind, values))
        greatest[column.written_name] = max(map(kind, values))
    return {"numRecords": len(rows), "minValues": least, "maxValues": greatest}
