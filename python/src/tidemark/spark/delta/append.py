"""A few rows that are appended without a Spark job."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from pyspark import SparkContext
from pyspark.sql import SparkSession

from tidemark.errors import TidemarkError
from tidemark.spark.delta.log import added_file, begin, commit, log_of, newest
from tidemark.spark.files import hadoop_path, java_class

# Parquet's words for a column of a type
_PARQUET = {
    "long": "int64 {}",
    "string": "binary {} (STRING)",
    "date": "int32 {} (DATE)",
    "timestamp": "int64 {} (TIMESTAMP(MICROS,true))",
    "boolean": "boolean {}",
}
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
        if column not in fields or fields[column]["type"] not in _PARQUET:
            raise TidemarkError(f"{schema}.{name} has no column {column} of a plain type")
    if metadata.partitionColumns().size():
        raise TidemarkError(f"{schema}.{name} has partitions")
    file = f"part-00000-{uuid4()}-c000.snappy.parquet"
    columns = [_Column(name, fields[name]) for name in used]
    size = _write_parquet(session, log, file, columns, rows)
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
    session: SparkSession,
    log: Any,
    file: str,
    columns: Sequence[_Column],
    rows: Sequence[Mapping[str, Any]],
) -> int:
    """Write rows as a file in a table's folder; return its size in bytes."""
    jvm: Any = session._jvm
    fields = [f"optional {_PARQUET[one.type].format(one.written_name)};" for one in columns]
    message = _parquet(jvm, "schema.MessageTypeParser").parseMessageType(
        f"message spark_schema {{ {' '.join(fields)} }}"
    )
    configuration = log.newDeltaHadoopConf()
    path = hadoop_path(jvm, log.dataPath(), file)
    writer = (
        _parquet(jvm, "hadoop.example.ExampleParquetWriter")
        .builder(path)
        .withConf(configuration)
        .withType(message)
        .withCompressionCodec(_parquet(jvm, "hadoop.metadata.CompressionCodecName").SNAPPY)
        .build()
    )
    try:
        groups = _parquet(jvm, "example.data.simple.SimpleGroupFactory")(message)
        for row in rows:
            group = groups.newGroup()
            for column in columns:
                if row.get(column.name) is not None:
                    _add(jvm, group, column, row[column.name])
            writer.write(group)
    finally:
        writer.close()
    return int(path.getFileSystem(configuration).getFileStatus(path).getLen())


def _parquet(jvm: Any, name: str) -> Any:
    return java_class(jvm, f"org.apache.parquet.{name}")


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


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def _add(jvm: Any, group: Any, column: _Column, value: Any) -> None:
    if column.type == "string":
        group.add(column.written_name, str(value))
    elif column.type == "boolean":
        group.add(column.written_name, bool(value))
    elif column.type == "date":
        days = dt.date.fromisoformat(str(value)) - _EPOCH.date()
        group.add(column.written_name, days.days)
    elif column.type == "timestamp":
        moment = dt.datetime.fromisoformat(str(value))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
        micros = (moment - _EPOCH) // dt.timedelta(microseconds=1)
        _add_long(jvm, group, column.written_name, micros)
    else:
        _add_long(jvm, group, column.written_name, int(value))


def _add_long(jvm: Any, group: Any, name: str, value: int) -> None:
    """Add a number of 64 bits: with a small one Py4J calls the method for 32."""
    if abs(value) > 2**31:
        group.add(name, value)
        return
    gateway: Any = SparkContext._gateway
    new_array = gateway.new_array
    classes = java_class(jvm, "java.lang.Class")
    kinds = new_array(classes, 2)
    kinds[0] = classes.forName("java.lang.String")
    kinds[1] = java_class(jvm, "java.lang.Long").TYPE
    values = new_array(java_class(jvm, "java.lang.Object"), 2)
    values[0], values[1] = name, value
    group.getClass().getMethod("add", kinds).invoke(group, values)
