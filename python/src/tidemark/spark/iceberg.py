"""Tables of Iceberg by Iceberg's own library: their snapshots, their files, commits to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from tidemark.engine.quoted import identifier
from tidemark.errors import TidemarkError
from tidemark.spark.defaults import CATALOG
from tidemark.spark.delta.append import RowColumn, used_columns, write_rows
from tidemark.spark.files import java_class
from tidemark.spark.known_rows import TableVersion
from tidemark.spark.messages import java_throwable

_PACKAGE = "org.apache.iceberg"
_CONFLICTS = tuple(
    f"{_PACKAGE}.exceptions.{name}" for name in ("ValidationException", "CommitFailedException")
)


def is_iceberg(session: SparkSession) -> bool:
    """Say whether a session's tables are Iceberg's: it has one catalogue."""
    return "iceberg" in (session.conf.get(CATALOG, "") or "")


def load(session: SparkSession, schema: str, name: str) -> Any:
    """Return a table as Iceberg's library has it now; None: there is none of Iceberg's."""
    jvm: Any = session._jvm
    # asked of Iceberg's catalogue, which need not be the metastore
    if not session.catalog.tableExists(f"`{schema}`.`{name}`"):
        return None
    tables = java_class(jvm, f"{_PACKAGE}.spark.Spark3Util")
    # which catalogue there is, Spark asks the settings of the thread's session
    java_class(jvm, "org.apache.spark.sql.classic.SparkSession").setActiveSession(
        session._jsparkSession
    )
    try:
        table = tables.loadIcebergTable(session._jsparkSession, f"`{schema}`.`{name}`")
    except Exception as error:
        if java_throwable(error) is None:
            raise
        return None
    table.refresh()
    return table


def version_of(table: Any) -> int:
    """Return the number of a table's snapshot; 0 of a table without rows so far."""
    snapshot = table.currentSnapshot()
    return int(snapshot.snapshotId()) if snapshot is not None else 0


def table_version(session: SparkSession, schema: str, name: str) -> int | None:
    """Return the number of a table's snapshot as it is now; None: there is no such table."""
    table = load(session, schema, name)
    return None if table is None else version_of(table)


def version_of_same_rows(session: SparkSession, schema: str, name: str, since: int) -> int | None:
    """Return the number of a table's snapshot if it is that one still; None: it is another."""
    return since if table_version(session, schema, name) == since else None


def id_and_version(session: SparkSession, schema: str, name: str) -> tuple[str, int] | None:
    """Return the id of a table and the number of its snapshot; None: there is no such table."""
    table = load(session, schema, name)
    return None if table is None else (str(table.uuid()), version_of(table))


def file_count(session: SparkSession, schema: str, name: str) -> int:
    """Return how many files a table has now, as its snapshot says."""
    table = load(session, schema, name)
    snapshot = None if table is None else table.currentSnapshot()
    return int(snapshot.summary().get("total-data-files") or 0) if snapshot is not None else 0


def append_rows(
    session: SparkSession, schema: str, name: str, rows: Sequence[Mapping[str, Any]]
) -> tuple[TableVersion, TableVersion]:
    """Append a few rows without a Spark job, in one commit, as append_rows() of Delta does."""
    jvm: Any = session._jvm
    table = load(session, schema, name)
    known = {
        str(one.name()): RowColumn(
            str(one.name()),
            {"timestamptz": "timestamp"}.get(str(one.type()), str(one.type())),
            str(one.name()),
            int(one.fieldId()),
        )
        for one in table.schema().columns()
    }
    columns = used_columns(f"{schema}.{name}", known, rows)
    if not table.spec().isUnpartitioned():
        raise TidemarkError(f"{schema}.{name} has partitions")
    path = str(table.locationProvider().newDataLocation(f"rows-{uuid4()}.parquet"))
    settings = session._jsparkSession.sessionState().newHadoopConf()
    write_rows(jvm, java_class(jvm, "org.apache.hadoop.fs.Path")(path), settings, columns, rows)
    after = append(table, [added(jvm, table, path, "")])
    before = table.currentSnapshot().parentId()
    return (str(table.uuid()), int(before or 0)), (str(table.uuid()), after)


def join_now_and_then(session: SparkSession, schema: str, name: str, version: int) -> None:
    """Leave small files as they are: `compact` joins those of Iceberg."""


def data_files(table: Any) -> list[tuple[Any, bool]]:
    """Return the files of a table, each with whether rows of it are marked as deleted elsewhere."""
    scan = table.newScan()
    found = []
    tasks = scan.planFiles()
    try:
        for task in _each(tasks):
            found.append((task.file().copy(), not task.deletes().isEmpty()))
    finally:
        tasks.close()
    return found


def added(jvm: Any, table: Any, path: str, partition: str) -> Any:
    """Return what a commit says of a file that comes.

    Args:
        jvm: The session's JVM.
        table: The table.
        path: The file, of Parquet, whose footer tells bounds of its values.
        partition: Where it belongs, as `column=value`; "": the table has no partitions.
    """
    file = table.io().newInputFile(path)
    metrics = java_class(jvm, f"{_PACKAGE}.parquet.ParquetUtil").fileMetrics(
        file, java_class(jvm, f"{_PACKAGE}.MetricsConfig").forTable(table)
    )
    builder = java_class(jvm, f"{_PACKAGE}.DataFiles").builder(table.spec())
    builder = builder.withInputFile(file).withFormat("parquet").withMetrics(metrics)
    return (builder.withPartitionPath(partition) if partition else builder).build()


def append(table: Any, files: Iterable[Any]) -> int:
    """Commit files that come, whatever else was committed since; return the snapshot."""
    commit = table.newAppend()
    for file in files:
        commit.appendFile(file)
    commit.commit()
    return version_of(table)


def overwrite(jvm: Any, table: Any, version: int, files: Iterable[Any], gone: Iterable[Any]) -> int:
    """Commit files that come, and go, unless a row has come since a snapshot; return the new one.

    Args:
        jvm: The session's JVM.
        table: The table.
        version: The snapshot, as version_of() gives it.
        files: Those that come.
        gone: Those that go.
    """
    commit = table.newOverwrite()
    for file in files:
        commit.addFile(file)
    for file in gone:
        commit.deleteFile(file)
    if version:
        commit.validateFromSnapshot(version)
    commit.conflictDetectionFilter(
        java_class(jvm, f"{_PACKAGE}.expressions.Expressions").alwaysTrue()
    )
    commit.validateNoConflictingData()
    commit.validateNoConflictingDeletes()
    commit.commit()
    return version_of(table)


def is_conflict(error: Exception) -> bool:
    """Tell whether another commit came between."""
    thrown = java_throwable(error)
    return thrown is not None and str(thrown.getClass().getName()) in _CONFLICTS


def numbers(kind: Any, field_id: int) -> int | str:
    """Return the number of a column, and of what is in it, as DuckDB writes them into a file.

    It is of a plain type, a list or a struct.
    """
    if kind.isPrimitiveType():
        return field_id
    within = [
        f"{identifier(str(one.name()))}: {numbers(one.type(), int(one.fieldId()))}"
        for one in kind.fields()
    ]
    return f"{{__duckdb_field_id: {field_id}, {', '.join(within)}}}"


def names_by_number(table: Any) -> list[dict[int, str]]:
    """Return the columns of each schema that a table has had, the present one last."""
    schemas: Sequence[Any] = [*table.schemas().values(), table.schema()]
    return [{int(one.fieldId()): str(one.name()) for one in of.columns()} for of in schemas]


def _each(iterable: Any) -> Iterable[Any]:
    iterator = iterable.iterator()
    try:
        while iterator.hasNext():
            yield iterator.next()
    finally:
        iterator.close()
