"""A few rows that are appended without a Spark job."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from tidemark.engine.quoted import identifier, literal
from tidemark.errors import TidemarkError
from tidemark.spark.delta.database import connection
from tidemark.spark.delta.log import added_file, begin, commit, log_of, newest
from tidemark.spark.files import hadoop_path

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
) -> tuple[str, int]:
    """Append a few rows to a Delta table without a Spark job, in one commit.

    For records of what was done, which an INSERT plans and runs a job for. Their small files are
    for join_now_and_then().

    Example:
        >>> append_rows(session, "shop", "commits", [{"id": 7, "done_at": "2026-03-04 09:30:00"}])
        ('0f6c…', 12)

    Args:
        session: The running session.
        schema: The schema of the table.
        name: Its name; a table without partitions, of the types bigint, string, date, timestamp and
            boolean.
        rows: By column; those left out are NULL. Dates and timestamps (UTC) as ISO texts.

    Returns:
        The id of the table and its version with the rows, as table_state() gives them.

    Raises:
        TidemarkError: A column is not there, or of another type.
    """
    jvm: Any = session._jvm
    log = log_of(session, schema, name)
    snapshot = newest(jvm, log)
    metadata = snapshot.metadata()
    fields = {field["name"]: field for field in json.loads(metadata.schemaString())["fields"]}
    used = sorted({name for row in rows for name, value in row.items() if value is not None})
    for column in used:
        if column not in fields or fields[column]["type"] not in SQL_TYPES:
            raise TidemarkError(f"{schema}.{name} has no column {column} of a plain type")
    if metadata.partitionColumns().size():
        raise TidemarkError(f"{schema}.{name} has partitions")
    file = f"part-00000-{uuid4()}-c000.snappy.parquet"
    columns = [_Column(name, fields[name]) for name in used]
    size = _write_parquet(jvm, log, file, columns, rows)
    added = added_file(jvm, file, size, _statistics(columns, rows))
    transaction = begin(session, log, snapshot, schema, name)
    return str(metadata.id()), commit(jvm, transaction, [added], "Append")


class _Column:
    """A column of a table: its name, its name in files, its type."""

    def __init__(self, name: str, field: Mapping[str, Any]) -> None:
        self.name = name
        self.type = str(field["type"])
        self.written_name = str(field["metadata"].get("delta.columnMapping.physicalName", name))


def _write_parquet(
    jvm: Any, log: Any, file: str, columns: Sequence[_Column], rows: Sequence[Mapping[str, Any]]
) -> int:
    """Write rows as a file in a table's folder; return its size in bytes."""
    values = ", ".join(
        f"(told ->> {place})::{SQL_TYPES[one.type]} as {identifier(one.written_name)}"
        for place, one in enumerate(columns)
    )
    # one value for all: a list for each column takes DuckDB longer than to write them
    told = [json.dumps([_given(one, row.get(one.name)) for one in columns]) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, file)
        with connection() as db:
            db.execute(
                f"copy (select {values} from (select unnest(?::json[]) as told)) "
                f"to {literal(str(written))} (format parquet, compression snappy)",
                [told],
            )
        path = hadoop_path(jvm, log.dataPath(), file)
        settings = log.newDeltaHadoopConf()
        # a stream as any other file's: copyFromLocalFile() has S3A hand it to another client
        jvm.org.apache.hadoop.fs.FileUtil.copy(
            jvm.java.io.File(str(written)), path.getFileSystem(settings), path, False, settings
        )
        return written.stat().st_size


def _given(column: _Column, value: Any) -> Any:
    """Return a value in a form that DuckDB reads as that of the column's type."""
    if value is None:
        return None
    return {"long": int, "boolean": bool}.get(column.type, str)(value)


def _statistics(columns: Sequence[_Column], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
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
