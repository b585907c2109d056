"""A query through Spark, and its rows as a table."""

from __future__ import annotations

import itertools
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
from tidemark.printable import shortened, without_orders
from tidemark.read.values import json_value, value_text, with_short_floats

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
            collected = _collected(frame.limit(limit + 1)) if frame.columns else None
            found = collected.collect() if collected is not None else []
        finally:
            session.catalog.setCurrentDatabase(before)
        fields = collected.schema.fields if collected is not None else []
        types = [field.dataType.simpleString().upper() for field in fields]
        columns = map(with_short_floats, zip(*found[:limit], strict=True), types)
        return Rows(frame.columns, list(zip(*columns, strict=True)), len(found) > limit)

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
    """Return rows as JSON: a list of objects; of columns of one name the second is `name_2`."""
    names: list[str] = []
    for name in rows.columns:
        again = (f"{name}_{number}" for number in itertools.count(2))
        names.append(next(one for one in itertools.chain([name], again) if one not in names))
    found = [dict(zip(names, row, strict=True)) for row in rows.values]
    return json.dumps(json_value(found), indent=2, ensure_ascii=False)


def shown(value: Any) -> str:
    """Return a value as a table shows it.

    Example:
        >>> shown([1, None]), shown(b"\\x00\\xff"), shown("a")
        ('[1, null]', '00ff', 'a')
    """
    return shortened(without_orders(value_text(value) or ""), _WIDEST)


def _collected(frame: Any) -> Any:
    """Return a query whose timestamps are texts, as the session tells them.

    PySpark would tell them in the zone of this machine, and has none at the ends of its calendar.
    """
    types = [field.dataType for field in frame.schema.fields]
    texts = [_without_timestamps(one) for one in types]
    if texts == types:
        return frame
    # names may be there twice
    numbered = frame.toDF(*(f"c{number}" for number in range(len(types))))
    return numbered.select(*(numbered[n].cast(text) for n, text in enumerate(texts)))


def _without_timestamps(type_: Any) -> Any:
    from pyspark.sql import types

    if isinstance(type_, types.TimestampType):
        return types.StringType()
    if isinstance(type_, types.ArrayType):
        return types.ArrayType(_without_timestamps(type_.elementType), type_.containsNull)
    if isinstance(type_, types.MapType):
        key, value = map(_without_timestamps, (type_.keyType, type_.valueType))
        return types.MapType(key, value, type_.valueContainsNull)
    if isinstance(type_, types.StructType):
        return types.StructType(
            [
                types.StructField(one.name, _without_timestamps(one.dataType), one.nullable)
                for one in type_.fields
            ]
        )
    return type_


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
