"""Files of tables: DuckDB writes them, a commit of Delta gets their description, or they go."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from tidemark.engine.load import Target
from tidemark.engine.quoted import identifier, literal
from tidemark.engine.sql import parquet_sql

FILE_PREFIX = "workers-"
"""How the names of files begin that the engine wrote."""
_FILE_NUMBER = "file number"
"""No column of a file has a blank in its name. In folders that begin with _ Delta's VACUUM would
leave what a worker that died has left in them."""
_VALUES = 10_000
"""A column with more of them in a group of rows gets no dictionary: it would be given up."""
Bounds = Mapping[str, tuple[int, int] | None]
"""Column to its least and greatest value, None where all are NULL."""


@dataclass(frozen=True)
class Written:
    """A file that a task wrote.

    Args:
        path: Where it lies, from the folder of its table.
        size: Its bytes.
        rows: Its rows.
        statistics: By the columns' names in files: least and greatest, or that all are NULL.
    """

    path: str
    size: int
    rows: int
    statistics: dict[str, Any]


def copy(
    db: Any, query: str, table: Target, folder: str, names: Sequence[str], bounds: Bounds
) -> tuple[Written, ...]:
    """Write rows as a file of a table; none if there are none.

    Args:
        db: The connection.
        query: The rows, by the columns' names in files.
        table: The table.
        folder: Where the file lies in its folder; "": in that itself.
        names: Its columns, in the order of the file.
        bounds: What is known of their values.
    """
    path = f"{folder}/{FILE_PREFIX}{uuid4()}.parquet".lstrip("/")
    file = Path(table.folder) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        db.execute(_copy_sql(query, str(file), [table.fields[name] for name in names]))
    except Exception:
        file.unlink(missing_ok=True)
        raise
    return _written(db, table, (path,), bounds)


def copy_ranges(
    db: Any, query: str, table: Target, names: Sequence[str], number: str
) -> tuple[Written, ...]:
    """Write rows as several files of a table, by the number of the range that each belongs to.

    Args:
        db: The connection.
        query: The rows, by the columns' names in files.
        table: The table.
        names: Its columns, in the order of the files.
        number: The number of a row, in SQL over the columns of the query.
    """
    folder = Path(table.folder)
    parts = folder / f"{FILE_PREFIX}{uuid4()}"
    paths = []
    try:
        db.execute(_copy_sql(query, str(parts), [table.fields[name] for name in names], number))
        for file in sorted(parts.rglob("*.parquet")):
            paths.append(f"{FILE_PREFIX}{uuid4()}.parquet")
            file.rename(folder / paths[-1])
    except Exception:
        for path in paths:
            (folder / path).unlink(missing_ok=True)
        raise
    finally:
        shutil.rmtree(parts, ignore_errors=True)
    return _written(db, table, paths, {})


def _copy_sql(
    query: str, path: str, fields: Iterable[tuple[str, int | str | None]], number: str | None = None
) -> str:
    """Return a statement that writes rows as Parquet.

    Args:
        query: The rows.
        path: That of the file; of several that of their folder, which is not there yet.
        fields: The names and numbers of the columns.
        number: What tells which file a row goes to, in SQL; None: there is one.
    """
    numbers = ", ".join(
        f"{identifier(name)}: {place}" for name, place in fields if place is not None
    )
    numbered = f", field_ids {{{numbers}}}" if numbers else ""
    parts = ""
    if number is not None:
        query = f"select *, {number} as {identifier(_FILE_NUMBER)} from (\n{query}\n)"
        parts = f"partition_by ({identifier(_FILE_NUMBER)}), "
    return (
        f"copy (\n{query}\n) to {literal(path)} "
        f"(format parquet, {parts}compression snappy, dictionary_size_limit {_VALUES}{numbered})"
    )


def _written(db: Any, table: Target, paths: Sequence[str], bounds: Bounds) -> tuple[Written, ...]:
    """Return what is to be told of files; those without rows are removed."""
    key = table.fields["_key_hash"][0]
    written = []
    for path in paths:
        file = Path(table.folder) / path
        rows, least, greatest = db.execute(
            f"select count(*), min({identifier(key)}), max({identifier(key)}) "
            f"from {parquet_sql([str(file)])}"
        ).fetchone()
        if not rows:
            file.unlink()
            continue
        statistics: dict[str, Any] = {
            "numRecords": rows,
            "minValues": {key: least},
            "maxValues": {key: greatest},
            "nullCount": {key: 0},
        }
        for name, bound in bounds.items():
            field = table.fields[name][0]
            statistics["nullCount"][field] = rows if bound is None else 0
            if bound is not None:
                statistics["minValues"][field], statistics["maxValues"][field] = bound
        written.append(Written(path, file.stat().st_size, rows, statistics))
    return tuple(written)


def discard(target: Target, files: Sequence[Written]) -> None:
    """Remove files that no commit will name: on a full disk they would take the room for good."""
    for file in files:
        Path(target.folder, file.path).unlink(missing_ok=True)
