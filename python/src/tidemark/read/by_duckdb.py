"""The rows of a table's files, read in this process by DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidemark.engine.quoted import identifier
from tidemark.read.equals import Dialect
from tidemark.read.values import with_short_floats

DIALECT = Dialect(
    zoned="timestamptz",
    moment="cast({} as timestamp)",
    moment_utc="cast({} as timestamptz)",
    binary="unhex({})",
)
"""How DuckDB makes values of texts, where timestamps in UTC have Iceberg's name."""

Source = Callable[[Any], str]
"""Returns the rows of all files as a SELECT, for a connection of DuckDB."""


def show(db: Any, name: str, source: Source, select: str) -> None:
    """Make the rows of a query, in which the table is called `t`, a view in a connection."""
    db.execute(
        f"create or replace temp view {identifier(name)} as "
        f"with t as ({source(db)}) select * from ({select})"
    )


def query(source: Source, select: str) -> list[dict[str, Any]]:
    """Return the rows of a query, in which the table is called `t`."""
    import duckdb

    with duckdb.connect() as db:
        db.execute("set timezone = 'UTC'")
        db.execute(f"create temp view t as {source(db)}")
        found = db.execute(select)
        described = found.description or ()
        columns = [
            with_short_floats(values, str(column[1]))
            for column, values in zip(described, zip(*found.fetchall(), strict=True), strict=False)
        ]
        names = [column[0] for column in described]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
