"""What Delta tables tell without a Spark job, and rows that are judged between write and commit.

SQL writes and commits in one statement, so that what must be judged first would be written to a
table of its own, read again and written again. Delta's transaction parts the two: data files are no
part of a table until a commit names them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.sql import Observation, SparkSession
from pyspark.sql.functions import expr

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
        nothing = java_class(self._jvm, "scala.Option").empty()
        write = getattr(self._jvm.org.apache.spark.sql.delta, "DeltaOperations$Write")
        operation = write(self._jvm.org.apache.spark.sql.SaveMode.Append, *[nothing] * 8)
        try:
            return int(self._transaction.commit(self._files, operation))
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
        nothing = java_class(self._jvm, "scala.Option").empty()
        log.createDataFrame(snapshot, self._files, False, nothing).createOrReplaceTempView(name)

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
    catalog = session._jsparkSession.sessionState().catalog()
    transaction = log.startTransaction(
        java_class(jvm, "scala.Option").apply(
            catalog.getTableMetadata(table_identifier(jvm, schema, name))
        ),
        java_class(jvm, "scala.Option").apply(snapshot),
    )
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
