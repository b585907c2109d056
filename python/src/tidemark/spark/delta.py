"""What Delta tables tell without a Spark job, and rows that are judged between write and commit.

SQL writes and commits in one statement, so that what must be judged first would be written to a
table of its own, read again and written again. Delta's transaction parts the two: data files are no
part of a table until a commit names them.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark import SparkContext
from pyspark.sql import Observation, SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.types import StructField, StructType

from tidemark.errors import TidemarkError
from tidemark.spark.files import java_class, table_identifier
from tidemark.spark.messages import java_throwable


@dataclass
class StagedRows:
    """Data files of a Delta table that no commit names yet.

    Args:
        table: The table, as schema.name.
        figures: What was counted while the files were written, by name.
        rows: How many rows the files have.
    """

    table: str
    figures: dict[str, int]
    rows: int
    _jvm: Any
    _transaction: Any
    _files: Any

    def commit(self) -> int:
        """Make the rows part of the table, in one commit.

        Returns:
            The version of the table that has them.

        Raises:
            TidemarkError: The table got another commit since the rows were staged, so that these
                are not in it.
        """
        try:
            return int(self._transaction.commit(self._files, _operation(self._jvm, "Append")))
        except Exception as error:
            if not _is_conflict(self._jvm, error):
                raise
            self.discard()
            raise _written_by_another(self.table) from error

    def create_view(self, name: str) -> None:
        """Make a temporary view of the rows, which is read without a look at the table's log.

        Args:
            name: The view, quoted as in SQL; one of that name is replaced.
        """
        log, snapshot = self._transaction.deltaLog(), self._transaction.snapshot()
        _view_files(self._jvm, log, snapshot, self._files, name)

    def discard(self) -> None:
        """Remove the files.

        Those that a killed run left go when Delta removes files that no commit names.
        """
        log = self._transaction.deltaLog()
        files = log.dataPath().getFileSystem(log.newDeltaHadoopConf())
        for place in range(self._files.size()):
            files.delete(self._files.apply(place).absolutePath(log), False)


def stage_rows(
    session: SparkSession,
    schema: str,
    name: str,
    version: int,
    rows_sql: str,
    figures: dict[str, str],
    written_sql: str,
) -> StagedRows:
    """Write rows as data files of a Delta table, without a commit, and count on the way.

    Example:
        >>> written = "select *, 7 as _commit_id from {counted} where id > 3"
        >>> counts = {"read": "count(*)"}
        >>> staged = stage_rows(session, "lake", "items__log", 12, "select …", counts, written)
        >>> staged.figures, staged.rows
        ({'read': 100}, 97)

    Args:
        session: The running session.
        schema: The schema of the table.
        name: Its name.
        version: The version of the table that the rows go with.
        rows_sql: A query of the rows to count.
        figures: What to count over them, name to SQL aggregate; NULL counts as 0.
        written_sql: A query of what is written, from `{counted}`: columns by name, those that it
            lacks are NULL.

    Raises:
        TidemarkError: The table has another version by now.
    """
    jvm: Any = session._jvm
    log, table = _log(session, schema, name), f"{schema}.{name}"
    snapshot = _newest(jvm, log)
    if int(snapshot.version()) != version:
        raise _written_by_another(table)
    transaction = _begin(session, log, snapshot, schema, name)
    # as if the table had been read: then any commit that comes between is a conflict
    transaction.readWholeTable()
    counts = Observation()
    counted = session.sql(rows_sql).observe(
        counts, *[expr(sql).alias(figure) for figure, sql in figures.items()]
    )
    view = f"counted_{uuid4().hex}"
    counted.createTempView(view)
    try:
        written = session.sql(written_sql.replace("{counted}", view))
    finally:
        session.catalog.dropTempView(view)
    frame = written.to(session.table(f"`{schema}`.`{name}`").schema)
    files = transaction.writeFiles(frame._jdf)
    rows = sum(int(files.apply(place).numLogicalRecords().get()) for place in range(files.size()))
    found = {figure: int(count or 0) for figure, count in counts.get.items()}
    return StagedRows(table, found, rows, jvm, transaction, files)


def view_small_table(session: SparkSession, schema: str, name: str, view: str) -> bool:
    """Make a temporary view of a Delta table as it is now, if its files are few.

    To plan a scan of a table, Delta works out the state of its log by Spark jobs. Of few files it
    keeps a list with each commit, which is read here in their place; the view has no statistics to
    leave out files by, and does not follow the table.

    Args:
        session: The running session.
        schema: The schema of the table.
        name: Its name.
        view: The view, quoted as in SQL; one of that name is replaced.

    Returns:
        False, and no view, where Delta keeps no list: of more than 50 files, or of files with
        deletion vectors, which need Delta's own scan.
    """
    log = _log(session, schema, name)
    snapshot = _newest(session._jvm, log)
    files = _listed_files(snapshot)
    if files is None:
        return False
    _view_files(session._jvm, log, snapshot, files, view)
    return True


def replace_rows(
    session: SparkSession, schema: str, name: str, rows_sql: str, view: str
) -> int | None:
    """Replace all rows of a small Delta table in one commit.

    As `insert overwrite` does, with a list of files in place of the jobs by which Delta finds them.

    Example:
        >>> replace_rows(session, "shop", "items", "select * from was where id <> 7", "was")
        12

    Args:
        session: The running session.
        schema: The schema of the table.
        name: Its name.
        rows_sql: A query of the new rows: columns by name.
        view: A name, quoted as in SQL, that the query has for the rows that are replaced.

    Returns:
        The version of the table that has the rows; None, and nothing was done, where
        view_small_table() would make no view, or where Spark checks lengths (char, varchar) as it
        inserts.

    Raises:
        TidemarkError: The table got another commit meanwhile.
    """
    jvm: Any = session._jvm
    log = _log(session, schema, name)
    snapshot = _newest(jvm, log)
    files = _listed_files(snapshot)
    columns = session.table(f"`{schema}`.`{name}`").schema
    if files is None or "__CHAR_VARCHAR_TYPE_STRING" in columns.json():
        return None
    transaction = _begin(session, log, snapshot, schema, name)
    transaction.readWholeTable()
    _view_files(jvm, log, snapshot, files, view)
    # what is not to be NULL is checked by Delta, as for SQL
    nullable = StructType([StructField(one.name, one.dataType, True) for one in columns])
    written = transaction.writeFiles(session.sql(rows_sql).to(nullable)._jdf)
    now = int(time.time() * 1000)
    actions = [files.apply(place).removeWithTimestamp(now, True) for place in range(files.size())]
    actions += [written.apply(place) for place in range(written.size())]
    try:
        return int(
            transaction.commit(
                jvm.org.apache.spark.api.python.PythonUtils.toSeq(actions),
                _operation(jvm, "Overwrite"),
            )
        )
    except Exception as error:
        if not _is_conflict(jvm, error):
            raise
        raise TidemarkError(
            f"another run has written to {schema}.{name} while this one replaced its rows, which "
            "therefore are as that run left them. Run it again: that finishes what was begun"
        ) from error


def listed_bytes(session: SparkSession, schema: str, name: str) -> int | None:
    """Return the bytes of a Delta table of few files; None where view_small_table() has no view."""
    files = _listed_files(_newest(session._jvm, _log(session, schema, name)))
    if files is None:
        return None
    return sum(int(files.apply(place).size()) for place in range(files.size()))


def _listed_files(snapshot: Any) -> Any:
    """Return the files of a snapshot where Delta keeps a list of them, else None."""
    checksum = snapshot.checksumOpt()
    if checksum.isEmpty() or checksum.get().allFiles().isEmpty():
        return None
    files = checksum.get().allFiles().get()
    if any(files.apply(place).deletionVector() is not None for place in range(files.size())):
        return None
    return files


def _view_files(jvm: Any, log: Any, snapshot: Any, files: Any, view: str) -> None:
    nothing = java_class(jvm, "scala.Option").empty()
    log.createDataFrame(snapshot, files, False, nothing).createOrReplaceTempView(view)


# Parquet's words for a column of a type
_PARQUET = {
    "long": "int64 {}",
    "string": "binary {} (STRING)",
    "date": "int32 {} (DATE)",
    "timestamp": "int64 {} (TIMESTAMP(MICROS,true))",
    "boolean": "boolean {}",
}

# Delta looks for small files after each commit of a table with auto compaction, which takes as long
# as the commit, and finds enough of them after fifty
_COMPACT_EVERY = 50


def append_rows(
    session: SparkSession, schema: str, name: str, rows: Sequence[Mapping[str, Any]]
) -> tuple[str, int]:
    """Append a few rows to a Delta table without a Spark job, in one commit.

    For records of what was done, which an INSERT plans and runs a job for. A table with Delta's
    auto compaction is looked at now and then.

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
    log = _log(session, schema, name)
    snapshot = _newest(jvm, log)
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
    added = {
        "path": file,
        "partitionValues": {},
        "size": size,
        "modificationTime": int(time.time() * 1000),
        "dataChange": True,
        "stats": json.dumps(_statistics(columns, rows)),
    }
    action = java_class(jvm, "org.apache.spark.sql.delta.actions.Action").fromJson(
        json.dumps({"add": added})
    )
    transaction = _begin(session, log, snapshot, schema, name)
    if (int(snapshot.version()) + 1) % _COMPACT_EVERY == 0:
        hook = java_class(jvm, "org.apache.spark.sql.delta.hooks.AutoCompact$")
        transaction.registerPostCommitHook(getattr(hook, "MODULE$"))
    version = transaction.commit(
        jvm.org.apache.spark.api.python.PythonUtils.toSeq([action]),
        _operation(jvm, "Append"),
    )
    return str(metadata.id()), int(version)


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
    parquet = jvm.org.apache.parquet
    fields = [f"optional {_PARQUET[one.type].format(one.written_name)};" for one in columns]
    message = parquet.schema.MessageTypeParser.parseMessageType(
        f"message spark_schema {{ {' '.join(fields)} }}"
    )
    configuration = log.newDeltaHadoopConf()
    path = jvm.org.apache.hadoop.fs.Path(log.dataPath(), file)
    writer = (
        parquet.hadoop.example.ExampleParquetWriter.builder(path)
        .withConf(configuration)
        .withType(message)
        .withCompressionCodec(parquet.hadoop.metadata.CompressionCodecName.SNAPPY)
        .build()
    )
    try:
        groups = parquet.example.data.simple.SimpleGroupFactory(message)
        for row in rows:
            group = groups.newGroup()
            for column in columns:
                if row.get(column.name) is not None:
                    _add(jvm, group, column, row[column.name])
            writer.write(group)
    finally:
        writer.close()
    return int(path.getFileSystem(configuration).getFileStatus(path).getLen())


def _statistics(columns: Sequence[_Column], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what lets readers leave out the file: bounds of numbers and short texts."""
    least, greatest = {}, {}
    for column in columns:
        kind = {"long": int, "string": str}.get(column.type)
        values = [row.get(column.name) for row in rows]
        if kind is None or None in values or any(len(str(value)) > 100 for value in values):
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
    kinds = new_array(jvm.java.lang.Class, 2)
    kinds[0] = jvm.java.lang.Class.forName("java.lang.String")
    kinds[1] = jvm.java.lang.Long.TYPE
    values = new_array(jvm.java.lang.Object, 2)
    values[0], values[1] = name, value
    group.getClass().getMethod("add", kinds).invoke(group, values)


def table_version(session: SparkSession, schema: str, name: str) -> int | None:
    """Return the version of a Delta table as its log has it now, or None if there is no table."""
    catalog = session._jsparkSession.sessionState().catalog()
    if not catalog.tableExists(table_identifier(session._jvm, schema, name)):
        return None
    return int(_newest(session._jvm, _log(session, schema, name)).version())


def table_state(session: SparkSession, schema: str, name: str) -> tuple[str, int] | None:
    """Return the id of a Delta table and its version; None if there is no such table."""
    catalog = session._jsparkSession.sessionState().catalog()
    if not catalog.tableExists(table_identifier(session._jvm, schema, name)):
        return None
    snapshot = _newest(session._jvm, _log(session, schema, name))
    return str(snapshot.metadata().id()), int(snapshot.version())


def file_count(session: SparkSession, schema: str, name: str) -> int:
    """Return how many files a Delta table has now."""
    return int(_newest(session._jvm, _log(session, schema, name)).numOfFiles())


def _begin(session: SparkSession, log: Any, snapshot: Any, schema: str, name: str) -> Any:
    """Return a transaction of a table that begins with a snapshot."""
    some = java_class(session._jvm, "scala.Option")
    catalog = session._jsparkSession.sessionState().catalog()
    table = catalog.getTableMetadata(table_identifier(session._jvm, schema, name))
    return log.startTransaction(some.apply(table), some.apply(snapshot))


def _operation(jvm: Any, mode: str) -> Any:
    """Return what Delta's history says of a commit."""
    nothing = java_class(jvm, "scala.Option").empty()
    write = getattr(jvm.org.apache.spark.sql.delta, "DeltaOperations$Write")
    return write(getattr(jvm.org.apache.spark.sql.SaveMode, mode), *[nothing] * 8)


def _log(session: SparkSession, schema: str, name: str) -> Any:
    jvm: Any = session._jvm
    return java_class(jvm, "org.apache.spark.sql.delta.DeltaLog").forTable(
        session._jsparkSession, table_identifier(jvm, schema, name)
    )


def _newest(jvm: Any, log: Any) -> Any:
    """Return the snapshot that a Delta log has now."""
    nothing = java_class(jvm, "scala.Option").empty()
    return log.update(False, nothing, nothing)


def _is_conflict(jvm: Any, error: Exception) -> bool:
    """Tell whether another commit came between."""
    thrown = java_throwable(error)
    kind = jvm.java.lang.Class.forName("java.util.ConcurrentModificationException")
    return thrown is not None and bool(kind.isInstance(thrown))


def _written_by_another(table: str) -> TidemarkError:
    return TidemarkError(
        f"another run has written to {table} since this one began, or has taken it for dead, so "
        "this one wrote nothing. Run it again"
    )
