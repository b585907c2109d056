"""Temporary views, also such that are worked out once, when they are first read."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tidemark.spark.files import java_class, java_module

_cached: dict[str, tuple[SparkSession, Any]] = {}


def cache_view(session: SparkSession, name: str, sql: str) -> None:
    """Make a temporary view of a query whose rows are kept from its first reading on.

    Unlike those of `cache lazy table`, Spark does not look for its rows in other plans: what reads
    the view is planned with them in the place of its query. To find out what is cached, Spark
    compares all of a plan with it, which for views of views takes seconds in each statement; and it
    plans them anew when a table or a view below them changes, where these rows stay as they are.

    Example:
        >>> cache_view(session, "`lines`", "select * from text.`/data/events`")

    Args:
        session: The running session.
        name: The view, quoted as in SQL; one of that name is replaced.
        sql: Its query.
    """
    forget_cached(session, name)
    jvm: Any = session._jvm
    rows = java_module(jvm, "org.apache.spark.sql.execution.columnar.InMemoryRelation").apply(
        java_class(jvm, "org.apache.spark.storage.StorageLevel").MEMORY_AND_DISK(),
        session.sql(sql)._jdf.queryExecution(),
        java_class(jvm, "scala.Option").apply(name),
    )
    _cached[name] = (session, rows)
    dataset = java_class(jvm, "org.apache.spark.sql.classic.Dataset")
    dataset.ofRows(session._jsparkSession, rows).createOrReplaceTempView(name)


def make_view(session: SparkSession, name: str, sql: str) -> None:
    """Make a temporary view of a query.

    One of that name goes first: Spark compares the plans of the two to find out what is cached.

    Example:
        >>> make_view(session, "`lines`", "select * from text.`/data/events`")

    Args:
        session: The running session.
        name: The view, quoted as in SQL; one of that name is replaced.
        sql: Its query.
    """
    view_rows(session, name, session.sql(sql))


def view_rows(session: SparkSession, name: str, rows: DataFrame) -> None:
    """Make a temporary view of rows, as make_view() does of a query.

    Args:
        session: The running session.
        name: The view, quoted as in SQL; one of that name is replaced.
        rows: The rows.
    """
    forget_cached(session, name)
    session._jsparkSession.sessionState().catalog().dropTempView(_unquoted(name))
    rows.createOrReplaceTempView(name)


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def forget_cached(session: SparkSession, name: str) -> None:
    """Give back what the rows of a view take; nothing if cache_view() did not make it.

    Args:
        session: The running session.
        name: The view, quoted as in SQL. It is not dropped.
    """
    owner, rows = _cached.pop(name, (None, None))
    if owner is session and rows is not None:
        rows.cacheBuilder().clearCache(False)
