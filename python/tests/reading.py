"""Queries of the tests' own over small tables, a third of whose price is Delta's plan of each scan.

For the time of a query, temporary views over the files that a table has now hide the table; a view
over tables is read with such views in their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tidemark.spark.delta.small import view_small_table
from tidemark.spark.files import table_identifier

_READ = re.compile(r"\b(?:from|join)\s+(\w+)\b(?!\s*[.(])", re.IGNORECASE)
# another version than the one now, what has names that stand for tables, and what a view does not show
_OTHERWISE = re.compile(r"\b(?:as\s+of|with|lateral|_metadata)\b", re.IGNORECASE)


@contextmanager
def small_tables(session: Any, schema: str, query: str) -> Iterator[None]:
    """Let a query see temporary views in the place of the schema's tables and views that it reads.

    Args:
        session: Spark's session, in which nothing else may run meanwhile.
        schema: The schema.
        query: The query; one that is none, or is not of a plain form, sees the tables.
    """
    made: list[str] = []
    try:
        if query.lstrip().lower().startswith("select") and not _OTHERWISE.search(query):
            for name in set(_READ.findall(query)):
                _hide(session, schema, name, name, made)
        yield
    finally:
        for view in reversed(made):
            session.catalog.dropTempView(view)


def _hide(session: Any, schema: str, name: str, view: str, made: list[str]) -> bool:
    """Make a temporary view of what a table, or a view over tables, has now."""
    catalog = session._jsparkSession.sessionState().catalog()
    identifier = table_identifier(session._jvm, schema, name)
    if not catalog.tableExists(identifier) or view in made:
        return view in made
    table = catalog.getTableMetadata(identifier)
    if str(table.tableType().name()) == "VIEW":
        text = str(table.viewText().get())
        if _OTHERWISE.search(text):
            return False
        one = rf"(?:`{re.escape(schema)}`|\b{re.escape(schema)})\.(?:`(\w+)`|(\w+)\b)"
        for quoted, plain in set(re.findall(one, text)):
            below = f"_small_{quoted or plain}"
            if not _hide(session, schema, quoted or plain, below, made):
                return False
        named = rf"(?:`?spark_catalog`?\.)?{one}"
        text = re.sub(named, lambda found: f"_small_{found[1] or found[2]}", text)
        session.sql(f"create temporary view {view} as {text}")
    elif str(table.provider().get()).lower() != "delta":
        return False
    elif not view_small_table(session, schema, name, view):
        return False
    made.append(view)
    return True
