"""The files of a folder that an entity has not read yet, without a query of Spark."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from pyspark.sql import SparkSession

from tidemark.engine.load import Target
from tidemark.engine.quoted import identifier
from tidemark.engine.sql import parquet_sql
from tidemark.spark.delta.database import connection
from tidemark.spark.delta.log import log_of, newest
from tidemark.spark.delta.target import Table, target_of, with_files
from tidemark.spark.files import hadoop_path

_Read = tuple[list[int], tuple[bool, int, int, int] | None]
"""A file's numbers, and how it was when last read: whole, bytes, milliseconds, its number."""
# that of the name which is no file yet
_UNFINISHED = ".tmp"
# a path that is an address as it stands, which is how Spark has it in _metadata.file_path
_SAFE = re.compile(r"[\w/:.,;=+$&@~!'()*-]+", re.ASCII)


def unread_files(
    session: SparkSession,
    there: Collection[Mapping[str, Any]],
    table: Table | None,
    undone: Collection[int],
) -> list[dict[str, Any]] | None:
    """Return the files that are to be read, as event_files_sql() of the macros gives them.

    Args:
        session: The running session.
        there: The files of the folder, as list_files() gives them.
        table: The register of those that were read; None: none was.
        undone: Commits whose files count as not read.

    Returns:
        None where the register has many files, or lies where only Spark reads it, and where there
        are folders in the folder, which Spark may take for partitions.
    """
    if any(file["depth"] > 1 for file in there):
        return None
    read = {} if table is None else _read_before(session, table, undone)
    if read is None:
        return None
    jvm: Any = session._jvm
    last = max((max(numbers) for numbers, _ in read.values()), default=-1)
    found = []
    for file in there:
        if str(file["path"]).endswith(_UNFINISHED) or not file["size"]:
            continue
        path = str(file["path"])
        if not _SAFE.fullmatch(path):
            path = str(hadoop_path(jvm, path).toUri().toString())
        size, millis = int(file["size"]), round(file["modified"].timestamp() * 1000)
        numbers, before = read.get(path, ([], None))
        if before is None or before[:3] != (True, size, millis):
            found.append(
                {
                    "_file": path,
                    "_file_size": size,
                    "_file_micros": millis * 1000,
                    "_file_number": min(numbers, default=None),
                    "_last_number": last,
                    "_owed_number": _owed_number(numbers, before),
                }
            )
    return sorted(found, key=lambda one: str(one["_file"]))


def _owed_number(numbers: list[int], before: tuple[bool, int, int, int] | None) -> int | None:
    """Return the number under which what is to be read again was read first; None: it is new.

    Numbers rise with the commits that give them.
    """
    is_whole, number = (True, -1) if before is None else (before[0], before[3])
    undone = [one for one in numbers if one > number]
    return min(undone, default=None if is_whole else number)


def _read_before(
    session: SparkSession, table: Table, undone: Collection[int]
) -> dict[str, _Read] | None:
    """Return how each file was read, by its path."""
    jvm: Any = session._jvm
    log = log_of(session, *table)
    target = target_of(jvm, log, newest(jvm, log), ())
    if not isinstance(target, str):
        target = with_files(session, table, target)
    if isinstance(target, str):
        return None
    return _rows_of(target, undone) if target.files else {}


def _rows_of(register: Target, undone: Collection[int]) -> dict[str, _Read]:
    names = {name: identifier(written) for name, (written, _) in register.fields.items()}
    last = (
        f"{{'is_whole': {names['_is_whole']}, 'size': {names['_file_size']}, "
        f"'millis': epoch_ms(cast({names['_file_time']} as timestamp with time zone)), "
        f"'number': {names['_file_number']}}}"
    )
    counts = " and ".join(["true", *(f"{names['_commit_id']} <> {int(one)}" for one in undone)])
    query = (
        f"select {names['_file']}, list({names['_file_number']}), "
        f"arg_max({last}, {names['_commit_id']}) filter (where {counts})\n"
        f"from {parquet_sql(register.files)} group by 1"
    )
    with connection() as db:
        rows = db.execute(query).fetchall()
    return {
        path: (numbers, None if before is None else tuple(before.values()))
        for path, numbers, before in rows
    }
