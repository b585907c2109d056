"""Names and texts as DuckDB reads them."""

from __future__ import annotations

from collections.abc import Iterable


def identifier(name: str) -> str:
    """Return a name as DuckDB reads it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as DuckDB reads it."""
    return "'" + text.replace("'", "''") + "'"


def list_sql(texts: Iterable[str]) -> str:
    """Return texts as a list that DuckDB reads."""
    return f"[{', '.join(literal(text) for text in texts)}]"
