"""What the catalogue says of tables, asked once in a load.

An embedded metastore takes four milliseconds for a table, and a load asks for its own a hundred
times. What a load remembers it forgets with the next statement that it runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pyspark.sql import SparkSession

from tidemark.spark.files import table_identifier

_Tables = dict[tuple[str, str], Any]
_remembered: ContextVar[_Tables | None] = ContextVar("_remembered", default=None)


@contextmanager
def remembered_tables() -> Iterator[None]:
    """Have what the catalogue says of tables be remembered, in this thread."""
    token = _remembered.set({})
    try:
        yield
    finally:
        _remembered.reset(token)


def forget_tables() -> None:
    """Ask the catalogue anew from now on: tables may have come, gone, or got other names."""
    if tables := _remembered.get():
        tables.clear()


def catalog_table(session: SparkSession, schema: str, name: str) -> Any:
    """Return what the catalogue says of a table; None: there is no such table."""
    tables, key = _remembered.get(), (schema.lower(), name.lower())
    if tables is not None and key in tables:
        return tables[key]
    catalog = session._jsparkSession.sessionState().catalog()
    identifier = table_identifier(session._jvm, schema, name)
    if not catalog.tableExists(identifier):
        return None
    found = catalog.getTableMetadata(identifier)
    if tables is not None:
        tables[key] = found
    return found
