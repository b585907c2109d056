"""DuckDB in the driver, for the few rows of records and registers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import duckdb


@contextmanager
def connection() -> Iterator[Any]:
    """Open a connection to the process's one database, which has nothing but temporary tables.

    To open a database takes longer than to write the few rows.
    """
    with _database().cursor() as db:
        yield db


@cache
def _database() -> Any:
    db = duckdb.connect(
        config={
            "threads": 1,
            "autoinstall_known_extensions": False,
            "enable_external_file_cache": False,  # nothing is read twice
        }
    )
    # global: a cursor would go by the zone of the machine
    db.execute("set global TimeZone = 'UTC'")
    return db
