"""A query through Spark, and its rows as a table."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from tidemark.errors import TidemarkError

# a longer value is cut in the table
_WIDEST = 120


@dataclass(frozen=True)
class Rows:
    """The first rows of a query.

    Attributes:
        columns: Names, of which two may be the same.
        values: A tuple per row.
        has_more: Whether there are more.
    """

    columns: list[str]
    values: list[tuple[Any, ...]]
    has_more: bool


def query_rows(session: Any, schema: str, text: str, limit: int) -> Rows:
    """Run a query; Ctrl-C ends its jobs.

    Args:
        session: Spark's.
        schema: Where tables lie that are named without one.
        text: SQL.
        limit: How many rows at most.

    Raises:
        TidemarkError: Spark refuses it, or fails.
    """
    from tidemark.spark.messages import readable_error

    def run() -> Rows:
        before = session.catalog.currentDatabase()
        if session.catalog.databaseExists(schema):
            session.catalog.setCurrentDatabase(schema)
        try:
            frame = session.sql(text)
            found = frame.limit(limit + 1).collect() if frame.columns else []
        finally:
            session.catalog.setCurrentDatabase(before)
        return Rows(frame.columns, [tuple(row) for row in found[:limit]], len(found) > limit)

    try:
        return _interruptible(run, session.sparkContext.cancelAllJobs)
    except KeyboardInterrupt:
        raise
    except Exception as error:
        raise TidemarkError(readable_error(error)) from error


def render_rows(rows: Rows) -> Table:
    """Return rows as a table."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in rows.columns:
        table.add_column(Text(name), overflow="fold")
    for row in rows.values:
        table.add_row(
            *(Text("NULL", style="dim") if value is None else Text(shown(value)) for value in row)
        )
    return table


def json_rows(rows: Rows) -> str:
    """Return rows as JSON: a list of objects."""
    found = [dict(zip(rows.columns, row, strict=True)) for row in rows.values]
    return json.dumps(found, indent=2, ensure_ascii=False, default=_plain)


def shown(value: Any) -> str:
    """Return a value as a table shows it.

    Example:
        >>> shown([1, None]), shown(b"\\x00\\xff"), shown("a")
        ('[1, null]', '00ff', 'a')
    """
    if isinstance(value, bytes | bytearray):
        text = value.hex()
    elif isinstance(value, list | dict | tuple):
        text = json.dumps(_plain(value), ensure_ascii=False, default=_plain)
    else:
        text = str(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _plain(value: Any) -> Any:
    if hasattr(value, "asDict"):  # a struct
        return value.asDict(recursive=True)
    if isinstance(value, bytes | bytearray):
        return value.hex()
    return value if isinstance(value, list | dict | tuple) else str(value)


def _interruptible(run: Callable[[], Rows], cancel: Callable[[], None]) -> Rows:
    """Call in another thread, so that Ctrl-C meets this one and not what talks to the JVM."""
    done: queue.SimpleQueue[Rows | Exception] = queue.SimpleQueue()

    def work() -> None:
        try:
            done.put(run())
        except Exception as error:
            done.put(error)

    threading.Thread(target=work, name="tidemark-sql", daemon=True).start()
    try:
        found = done.get()
    except KeyboardInterrupt:
        cancel()
        raise
    if isinstance(found, Exception):
        raise found
    return found
