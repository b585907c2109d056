"""The rows of a table's files, read in this process by DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from tidemark.engine.quoted import identifier
from tidemark.home import tidemark_home
from tidemark.read.values import with_short_floats

Source = Callable[[Any], str]
"""Returns the rows of all files as a SELECT, for a connection of DuckDB."""


@cache
def _database() -> Any:
    """Return an empty database, as each new one takes longer than most queries."""
    import duckdb

    # what memory does not hold lies below the home, not in the folder that somebody is in
    folder = str(tidemark_home().temporary)
    return duckdb.connect(config={"temp_directory": folder, "autoinstall_known_extensions": False})


def show(db: Any, name: str, source: Source, select: str) -> None:
    """Make the rows of a query, in which the table is called `t`, a view in a connection."""
    db.execute("set timezone = 'UTC'")
    db.execute(
        f"create or replace temp view {identifier(name)} as "
        f"with t as ({source(db)}) select * from ({select})"
    )


def query(source: Source, select: str, where: str = "true") -> list[dict[str, Any]]:
    """Return the rows of a query, in which those rows of the table are called `t` that are meant.

    Args:
        source: The rows of the table.
        select: The query.
        where: Which rows are meant.
    """
    with _database().cursor() as db:
        db.execute("set timezone = 'UTC'")
        db.execute(f"create temp view t as select * from ({source(db)}) where {where}")
        found = db.execute(select)
        described = found.description or ()
        columns = [
            with_short_floats(values, str(column[1]))
            for column, values in zip(described, zip(*found.fetchall(), strict=True), strict=False)
        ]
        names = [column[0] for column in described]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
