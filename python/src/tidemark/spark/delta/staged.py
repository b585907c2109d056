"""Rows that are judged between write and commit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import Observation, SparkSession
from pyspark.sql.functions import expr

from tidemark.engine.header import local_path
from tidemark.errors import TidemarkError
from tidemark.spark.defaults import is_local
from tidemark.spark.delta.log import (
    begin,
    commit,
    is_conflict,
    is_of_this_table,
    log_of,
    newest,
    view_files,
)
from tidemark.spark.files import each


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
            TidemarkError: The table got another commit since the rows were staged, or is another
                one, so that these are not in it.
        """
        if not is_of_this_table(self._jvm, self._transaction):
            self.discard()
            raise written_by_another(self.table)
        try:
            return commit(self._jvm, self._transaction, each(self._files), "Append")
        except Exception as error:
            if not is_conflict(self._jvm, error):
                raise
            self.discard()
            raise written_by_another(self.table) from error

    def commit_side_files(self) -> None:
        """Commit what goes beside the rows before they do: nothing."""

    def create_view(self, name: str) -> None:
        """Make a temporary view of the rows, which is read without a look at the table's log.

        Args:
            name: The view, quoted as in SQL; one of that name is replaced.
        """
        log, snapshot = self._transaction.deltaLog(), self._transaction.snapshot()
        view_files(self._jvm, log, snapshot, self._files, name)

    def discard(self) -> None:
        """Remove the files.

        Those that a killed run left go when Delta removes files that no commit names.
        """
        log = self._transaction.deltaLog()
        files = log.dataPath().getFileSystem(log.newDeltaHadoopConf())
        for file in each(self._files):
            files.delete(file.absolutePath(log), False)


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
    log, table = log_of(session, schema, name), f"{schema}.{name}"
    snapshot = newest(jvm, log)
    if int(snapshot.version()) != version:
        raise written_by_another(table)
    transaction = begin(session, log, snapshot, schema, name)
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
    try:
        files = transaction.writeFiles(frame._jdf)
    except Exception as error:
        if is_of_this_table(jvm, transaction):
            raise
        raise written_by_another(table) from error
    if not is_local(str(session.sparkContext.master)):
        _check_seen(table, log, files)
    rows = sum(int(file.numLogicalRecords().get()) for file in each(files))
    found = {figure: int(count or 0) for figure, count in counts.get.items()}
    return StagedRows(table, found, rows, jvm, transaction, files)


def _check_seen(table: str, log: Any, files: Any) -> None:
    """Refuse to commit files that each node of a cluster wrote to a disk of its own."""
    for file in each(files):
        path = local_path(str(file.absolutePath(log).toString()))
        if path is not None and not Path(path).exists():
            raise TidemarkError(
                f"{table}: Spark's workers wrote {path}, but this machine does not see the "
                "file. Nothing was committed. On a cluster all nodes must share the file "
                "system of the tables. Name the shared folder by spark.sql.warehouse.dir or "
                "TIDEMARK_HOME (python/docs/how-to/cluster.md)"
            )


def written_by_another(table: str) -> TidemarkError:
    return TidemarkError(
        f"another run has written to {table} since this run began, or took this run for dead. "
        "This run wrote nothing. Run the model again"
    )
