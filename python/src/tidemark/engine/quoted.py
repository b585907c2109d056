"""Names and texts as DuckDB reads them, and the end of a query that is Spark's to answer."""

from __future__ import annotations

import re
from collections.abc import Iterable

PEPPER = "${env:TIDEMARK_PEPPER}"
"""What stands for the pepper in the macros' SQL: what runs it puts it in (pepper_expr())."""
_BY_SPARK = "by Spark alone"
_NUL, _NUL_SQL = "\0", "' || chr(0) || '"


def identifier(name: str) -> str:
    """Return a name as DuckDB reads it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as DuckDB reads it.

    Example:
        >>> literal("it's"), literal("a\\0b")
        ("'it''s'", "('a' || chr(0) || 'b')")
    """
    quoted = "'" + text.replace("'", "''") + "'"
    # a statement ends at a character 0
    return f"({quoted.replace(_NUL, _NUL_SQL)})" if _NUL in quoted else quoted


def list_sql(texts: Iterable[str]) -> str:
    """Return texts as a list that DuckDB reads."""
    return f"[{', '.join(literal(text) for text in texts)}]"


def end_with_reason(what: str) -> str:
    """Return what a query ends with that meets a row whose value only Spark works out."""
    return f"{_BY_SPARK}: {what}"


def end_of(error: Exception) -> str | None:
    """Return what a query ended with by end_with_reason(); None: it ended otherwise."""
    found = re.search(rf"{_BY_SPARK}: [\w ()]+", str(error))
    return found[0] if found else None
