"""Tables of few files, by the list of them that Delta keeps with each commit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from tidemark.engine.header import is_read_as_it_stands, local_path
from tidemark.engine.listed import listed_actions
from tidemark.errors import TidemarkError
from tidemark.spark.delta.log import begin, commit, is_conflict, log_of, newest, view_files
from tidemark.spark.files import each


def view_small_table(session: SparkSession, schema: str, name: str, view: str) -> bool:
    """Make a temporary view of a Delta table as it is now, if its files are few.

    To plan a scan of a table, Delta works out the state of its log by Spark jobs. If the table has
    few files, Delta keeps a list of them with each commit, which is read here in place of the jobs.
    The view has no statistics to leave out files by, and does not follow the table.

    Args:
        session: The running session.
        schema: The schema of the table.
        name: Its name.
        view: The view, quoted as in SQL; one of that name is replaced.

    Returns:
        False, and no view, where Delta keeps no list: of more than 50 files, or of files with
        deletion vectors, which need Delta's own scan.
    """
    log = log_of(session, schema, name)
    snapshot = newest(session._jvm, log)
    files = listed_files(snapshot)
    if files is None:
        return False
    view_files(session._jvm, log, snapshot, files, view)
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
    log = log_of(session, schema, name)
    snapshot = newest(jvm, log)
    files = listed_files(snapshot)
    columns = session.table(f"`{schema}`.`{name}`").schema
    if files is None or "__CHAR_VARCHAR_TYPE_STRING" in columns.json():
        return None
    transaction = begin(session, log, snapshot, schema, name)
    transaction.readWholeTable()
    view_files(jvm, log, snapshot, files, view)
    # what is not to be NULL is checked by Delta, as for SQL
    nullable = StructType([StructField(one.name, one.dataType, True) for one in columns])
    written = transaction.writeFiles(session.sql(rows_sql).to(nullable)._jdf)
    now = int(time.time() * 1000)
    actions = [file.removeWithTimestamp(now, True) for file in each(files)] + each(written)
    try:
        return commit(jvm, transaction, actions, "Overwrite")
    except Exception as error:
        if not is_conflict(jvm, error):
            raise
        raise replaced_by_another(f"{schema}.{name}") from error


def replaced_by_another(table: str) -> TidemarkError:
    """Return the error of a run that replaces rows while another one writes."""
    return TidemarkError(
        f"another run has written to {table} while this run replaced its rows. The table has "
        "the rows of the other run. Run the model again: the next run finishes this one"
    )


def listed_bytes(session: SparkSession, schema: str, name: str) -> int | None:
    """Return the bytes of a Delta table of few files; None where view_small_table() has no view."""
    files = listed_files(newest(session._jvm, log_of(session, schema, name)))
    if files is None:
        return None
    return sum(int(file.size()) for file in each(files))


def listed_files(snapshot: Any) -> Any:
    """Return the files of a snapshot where Delta keeps a list of them, else None."""
    checksum = snapshot.checksumOpt()
    if checksum.isEmpty() or checksum.get().allFiles().isEmpty():
        return None
    files = checksum.get().allFiles().get()
    if any(file.deletionVector() is not None for file in each(files)):
        return None
    return files


def paths_of(log: Any, files: Sequence[Any]) -> tuple[str, ...] | None:
    """Return where files of a table lie; None: not all are on this machine, read as they stand."""
    paths = [local_path(str(file.absolutePath(log).toString())) for file in files]
    found = tuple(path for path in paths if path is not None and is_read_as_it_stands(path))
    return found if len(found) == len(paths) else None


def file_actions(folder: str, version: int) -> list[dict[str, Any]] | str:
    """Return what the log of a table on this machine says of its files, read without Spark.

    Args:
        folder: The folder of the table.
        version: The version that it is to have.

    Returns:
        Each file: its `path`, and `min.…` and `max.…` of columns. A text: why it cannot be told.
    """
    from deltalake import DeltaTable

    try:
        table = DeltaTable(folder)
        features = table.protocol().reader_features or ()
        found = listed_actions(table, folder)
    except Exception as error:
        return f"cannot be listed ({type(error).__name__})"
    if table.version() != version or "deletionVectors" in features:
        return "has deletion vectors, or a commit that this run does not know of"
    if found is None:
        return "lies at a path that is not read as it stands"
    return found
