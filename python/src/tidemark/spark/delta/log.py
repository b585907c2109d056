"""The log of a Delta table: its versions, and commits to it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from tidemark.spark.files import hadoop_path, java_class, table_identifier
from tidemark.spark.messages import java_throwable
from tidemark.spark.tables_of_load import catalog_table

_OF_TABLE = {"commitInfo", "metaData", "protocol", "domainMetadata"}
"""What commits tell that leave the rows as they are."""


def table_version(session: SparkSession, schema: str, name: str) -> int | None:
    """Return the version of a Delta table as its log has it now, or None if there is no table."""
    state = id_and_version(session, schema, name)
    return state and state[1]


def id_and_version(session: SparkSession, schema: str, name: str) -> tuple[str, int] | None:
    """Return the id of a Delta table and its version; None if there is no such table."""
    if catalog_table(session, schema, name) is None:
        return None
    snapshot = newest(session._jvm, log_of(session, schema, name))
    return str(snapshot.metadata().id()), int(snapshot.version())


def version_of_same_rows(session: SparkSession, schema: str, name: str, since: int) -> int | None:
    """Return the version of a Delta table if it has the rows of a former one; None: it may not.

    Args:
        session: The running session.
        schema: The schema of the table.
        name: Its name.
        since: The former version.
    """
    jvm: Any = session._jvm
    log = log_of(session, schema, name)
    version = int(newest(jvm, log).version())
    files = log.logPath().getFileSystem(log.newDeltaHadoopConf())
    for between in range(since + 1, version + 1):
        path = hadoop_path(jvm, log.logPath(), f"{between:020}.json")
        if not files.exists(path):
            return None
        stream = files.open(path)
        try:
            lines = jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8").splitlines()
        finally:
            stream.close()
        # what a table is like, and what its history tells of a commit
        if any(not json.loads(line).keys() <= _OF_TABLE for line in lines if line):
            return None
    return version if version >= since else None


def table_property(session: SparkSession, schema: str, name: str, key: str) -> str | None:
    """Return a property of a table, "" where it has none, or None if there is none, or a view."""
    metadata = catalog_table(session, schema, name)
    if metadata is None:
        return None
    if str(metadata.tableType().name()) == "VIEW":
        return None
    provider = metadata.provider()
    if provider.isDefined() and str(provider.get()).lower() == "delta":
        # the catalog is not told of what is set later
        snapshot = newest(session._jvm, log_of(session, schema, name))
        found = snapshot.metadata().configuration().get(key)
    else:
        found = metadata.properties().get(key)
    return str(found.get()) if found.isDefined() else ""


def file_count(session: SparkSession, schema: str, name: str) -> int:
    """Return how many files a Delta table has now.

    Each commit says that beside itself; without it Delta counts by Spark jobs, which in a new
    process take seconds.
    """
    snapshot = newest(session._jvm, log_of(session, schema, name))
    checksum = snapshot.checksumOpt()
    return int(checksum.get().numFiles() if checksum.isDefined() else snapshot.numOfFiles())


def trim_log(session: SparkSession, schema: str, name: str) -> None:
    """Take what a Delta table's log says of former versions away: bounds of values, conditions.

    The table begins with a checkpoint then. The files of former commits stay: in the place of one
    that is gone another run, which began before it, could commit unseen. They have what the table
    is like by now, which for that run is a conflict.
    """
    jvm: Any = session._jvm
    log = log_of(session, schema, name)
    snapshot = newest(jvm, log)
    version = int(snapshot.version())
    log.checkpoint(snapshot, java_class(jvm, "scala.Option").empty())
    folder = log.logPath()
    files = folder.getFileSystem(log.newDeltaHadoopConf())
    info = {"timestamp": int(time.time() * 1000), "operation": "TRIMMED", "operationParameters": {}}
    content = f"{json.dumps({'commitInfo': info})}\n{snapshot.metadata().json()}\n".encode()
    for status in files.listStatus(folder):
        path = status.getPath()
        digits, _, kind = str(path.getName()).partition(".")
        if not digits.isdecimal() or int(digits) >= version:
            continue
        if kind == "json":
            stream = files.create(path, True)
            stream.write(content)
            stream.close()
        else:
            files.delete(path, False)
    # what this process has of the log names files that are gone
    java_class(jvm, "org.apache.spark.sql.delta.DeltaLog").invalidateCache(
        session._jsparkSession, log.dataPath()
    )
    session.catalog.refreshTable(f"`{schema}`.`{name}`")


def begin(session: SparkSession, log: Any, snapshot: Any, schema: str, name: str) -> Any:
    """Return a transaction of a table that begins with a snapshot."""
    some = java_class(session._jvm, "scala.Option")
    table = _table(session, schema, name)
    return log.startTransaction(some.apply(table), some.apply(snapshot))


def _operation(jvm: Any, mode: str) -> Any:
    """Return what Delta's history says of a commit."""
    nothing = java_class(jvm, "scala.Option").empty()
    write = java_class(jvm, "org.apache.spark.sql.delta.DeltaOperations$Write")
    modes = java_class(jvm, "org.apache.spark.sql.SaveMode")
    return write(getattr(modes, mode), *[nothing] * 8)


def commit(jvm: Any, transaction: Any, actions: Sequence[Any], mode: str) -> int:
    """Commit files that come and go; return the version that the table has then.

    Args:
        jvm: The session's JVM.
        transaction: The transaction.
        actions: What becomes of files, as Delta's log has it.
        mode: What Delta's history calls it: Append or Overwrite.
    """
    # of a log that has a checkpoint and no checksum, as that of a clone, Delta works the state out
    # in the commit, by the session of the thread
    sessions = java_class(jvm, "org.apache.spark.sql.classic.SparkSession")
    sessions.setActiveSession(sessions.active())
    sequence = java_class(jvm, "org.apache.spark.api.python.PythonUtils").toSeq(list(actions))
    _record_figures(jvm, transaction, actions)
    return int(transaction.commit(sequence, _operation(jvm, mode)))


def _record_figures(jvm: Any, transaction: Any, actions: Sequence[Any]) -> None:
    """Have Delta's history tell of a commit which files came and went, as of one of Spark's own."""
    figures = dict.fromkeys(_FIGURES, 0)
    for action in actions:
        is_new = str(action.getClass().getSimpleName()) == "AddFile"
        size = action.size()
        if not is_new:
            size = size.get() if size.isDefined() else 0
        figures["numFiles" if is_new else "numRemovedFiles"] += 1
        figures["numOutputBytes" if is_new else "numRemovedBytes"] += int(size)
    session = java_class(jvm, "org.apache.spark.sql.classic.SparkSession").active()
    metrics = java_class(jvm, "org.apache.spark.sql.execution.metric.SQLMetrics")
    told = java_class(jvm, "java.util.HashMap")()
    for name, value in figures.items():
        metric = metrics.createMetric(session.sparkContext(), name)
        metric.set(value)
        told.put(name, metric)
    as_map = java_class(jvm, "org.apache.spark.api.python.PythonUtils").toScalaMap(told)
    transaction.registerSQLMetrics(session, as_map)


_FIGURES = ("numFiles", "numOutputBytes", "numRemovedFiles", "numRemovedBytes")
"""What Delta's history tells of a commit."""


def added_file(
    jvm: Any,
    path: str,
    size: int,
    statistics: Mapping[str, Any],
    partition: Mapping[str, str] | None = None,
    changes_rows: bool = True,
) -> Any:
    """Return what a commit says of a file that comes.

    Args:
        jvm: The session's JVM.
        path: The file, as it lies in the folder of the table.
        size: Its bytes.
        statistics: How many rows it has, and bounds of their values, by the names in files.
        partition: The partition that it belongs to, by the names in files.
        changes_rows: Whether its rows are new to the table.
    """
    added = {
        "path": path,
        "partitionValues": dict(partition or {}),
        "size": size,
        "modificationTime": int(time.time() * 1000),
        "dataChange": changes_rows,
        "stats": json.dumps(statistics),
    }
    action = java_class(jvm, "org.apache.spark.sql.delta.actions.Action")
    return action.fromJson(json.dumps({"add": added}))


def log_of(session: SparkSession, schema: str, name: str) -> Any:
    """Return the log of a Delta table."""
    jvm: Any = session._jvm
    return java_class(jvm, "org.apache.spark.sql.delta.DeltaLog").forTable(
        session._jsparkSession, _table(session, schema, name)
    )


def _table(session: SparkSession, schema: str, name: str) -> Any:
    """Return what the catalogue says of a table, which is there, else an error of its own."""
    found = catalog_table(session, schema, name)
    if found is None:
        catalog = session._jsparkSession.sessionState().catalog()
        return catalog.getTableMetadata(table_identifier(session._jvm, schema, name))
    return found


def newest(jvm: Any, log: Any) -> Any:
    """Return the snapshot that a Delta log has now."""
    nothing = java_class(jvm, "scala.Option").empty()
    return log.update(False, nothing, nothing)


def is_of_this_table(jvm: Any, transaction: Any) -> bool:
    """Tell whether a transaction's table is the one that it began with.

    Where another run has put a new table in its place, whose versions begin anew, a commit would go
    through, of files that were made for the table before. The commit that the transaction read is
    not there then, or was written at another time. Delta itself does not look for it again.

    Of S3 this is not asked: there Delta keeps times of its own, and has one process that writes.
    """
    log, read = transaction.deltaLog(), transaction.snapshot()
    path = hadoop_path(jvm, log.logPath(), f"{int(read.version()):020}.json")
    if str(path.toUri().getScheme()).startswith("s3"):
        return True
    files = path.getFileSystem(log.newDeltaHadoopConf())
    written = read.logSegment().lastCommitFileModificationTimestamp()
    if files.exists(path) and files.getFileStatus(path).getModificationTime() == written:
        return True
    java_class(jvm, "org.apache.spark.sql.delta.DeltaLog").clearCache()
    return False


def is_conflict(jvm: Any, error: Exception) -> bool:
    """Tell whether another commit came between."""
    thrown = java_throwable(error)
    kind = java_class(jvm, "java.lang.Class").forName("java.util.ConcurrentModificationException")
    return thrown is not None and bool(kind.isInstance(thrown))


def view_files(jvm: Any, log: Any, snapshot: Any, files: Any, view: str) -> None:
    """Make a temporary view of files of a table, which is read without a look at its log."""
    nothing = java_class(jvm, "scala.Option").empty()
    log.createDataFrame(snapshot, files, False, nothing).createOrReplaceTempView(view)
