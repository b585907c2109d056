"""The session's catalog, asked in the JVM: a statement costs more than its answer."""

from __future__ import annotations

import json
import re
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from tidemark.rules.quoted import back_ticked
from tidemark.spark.cached import forget_cached
from tidemark.spark.files import each, folder_to_come, local_folder
from tidemark.spark.messages import readable_error
from tidemark.spark.tables_of_load import catalog_table

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def table_names(session: SparkSession, schema: str, pattern: str) -> list[str]:
    """Return the names of the tables and views of a schema, as `show tables … like` finds them.

    Example:
        >>> table_names(session, "shop", "orders|orders__log|orders__slice_*")
        ['orders', 'orders__log']

    Args:
        session: The running session.
        schema: The schema; one that is not there has none.
        pattern: Names, with `*` for anything, several between `|`. Temporary views are not meant.
    """
    catalog = session._jsparkSession.sessionState().catalog()
    if not catalog.databaseExists(schema):
        return []
    found = catalog.listTables(schema, pattern, False)
    return [str(one.table()) for one in each(found)]


def schema_names(session: SparkSession) -> list[str]:
    """Return the names of all schemas."""
    found = session._jsparkSession.sessionState().catalog().listDatabases()
    return [str(name) for name in each(found)]


def described_tables(session: SparkSession, schema: str) -> list[tuple[str, str]]:
    """Return the tables and views of a schema, each with all that `show table extended` tells.

    That statement asks the metastore for one table after the other, this for all at once.
    """
    catalog = session._jsparkSession.sessionState().catalog()
    if not catalog.databaseExists(schema):
        return []
    found = catalog.getTablesByName(catalog.listTables(schema, "*", False))
    return [(str(one.identifier().table()), str(one.simpleString())) for one in each(found)]


def column_names(session: SparkSession, schema: str, name: str) -> list[str]:
    """Return the names of the columns of a view, as it was made; none if it is not there."""
    found = catalog_table(session, schema, name)
    return [] if found is None else list(found.schema().fieldNames())


def table_folder(session: SparkSession, schema: str, name: str) -> str | None:
    """Return where a table lies on this machine, or would by default; None: it does elsewhere."""
    found = catalog_table(session, schema, name)
    if found is None:
        return folder_to_come(session, schema, name, None)
    return local_folder(session, found.location())


def query_columns(session: SparkSession, sql: str) -> list[dict[str, str]]:
    """Return names and types of a query's columns, without running it.

    Example:
        >>> query_columns(session, "select 1 as id, 'a' as name")
        [{'name': 'id', 'type': 'int'}, {'name': 'name', 'type': 'string'}]
    """
    schema: Any = session.sql(sql)._jdf.schema()
    fields = StructType.fromJson(json.loads(schema.json())).fields
    return [{"name": field.name, "type": _type_text(field.dataType)} for field in fields]


def syntax_error(session: SparkSession, expression: str) -> str | None:
    """Return why Spark cannot parse an expression, in a line, or None.

    Example:
        >>> syntax_error(session, "coalesce(a, 0)")
        >>> syntax_error(session, "a = = 0")
        "Syntax error at or near '='"
    """
    parser = session._jsparkSession.sessionState().sqlParser()
    try:
        parser.parseExpression(expression)
    except ParseException as error:
        return readable_error(error).splitlines()[0]
    return None


def analysis_error(session: SparkSession, query: str) -> dict[str, str | None] | None:
    """Return why Spark refuses a query that it can parse, or None.

    Example:
        >>> analysis_error(session, "select b from values (1) as t(a)")
        {"column": "b", "reason": "A column … with name `b` cannot be resolved. …"}

    Returns:
        The `reason` in a line, and the `column` if it is one that is not there.
    """
    try:
        session.sql(query)
    except AnalysisException as error:
        name = None
        if (error.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
            name = _unquoted((error.getMessageParameters() or {}).get("objectName", "")) or None
        return {"column": name, "reason": readable_error(error).splitlines()[0]}
    return None


def _unquoted(name: str) -> str:
    parts = re.findall(r"`((?:[^`]|``)*)`", name)
    return ".".join(part.replace("``", "`") for part in parts)


def _type_text(kind: DataType) -> str:
    """Return a type as Spark reads it; `simpleString` does not quote what fields are called."""
    if isinstance(kind, ArrayType):
        return f"array<{_type_text(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"map<{_type_text(kind.keyType)},{_type_text(kind.valueType)}>"
    if isinstance(kind, StructType):
        fields = [f"{_field_text(field.name)}:{_type_text(field.dataType)}" for field in kind]
        return f"struct<{','.join(fields)}>"
    return str(kind.simpleString())


def _field_text(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else back_ticked(name)


def forget_views(session: SparkSession, prefix: str) -> None:
    """Drop the temporary views whose names begin so, and give back what was cached for them.

    Args:
        session: The running session.
        prefix: How their names begin. Those with two underscores behind it are others' own.
    """
    catalog = session._jsparkSession.sessionState().catalog()
    found = catalog.listLocalTempViews("*")
    for view in each(found):
        name = str(view.table())
        if name.lower().startswith(prefix.lower()) and "__" not in name[len(prefix) :]:
            forget_cached(session, back_ticked(name))
            # Spark's own way looks for the view in all that is cached, where ours never is
            catalog.dropTempView(name)
