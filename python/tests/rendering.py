"""The project's macros that make SQL, for golden files and for tests that run that SQL.

Example:
    >>> load_sql_macros()["as_of"](relation("shop", "cities"), "2026-03-04")
    'select …'
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dbt.adapters.spark.relation import SparkRelation

from .macros import SQL_FOLDERS, call_function, load_macros


@functools.cache
def load_sql_macros() -> dict[str, Any]:
    """The macros that read settings, plan and write SQL by name, the generic tests as `test_<name>`, and rules in Python."""
    macros = load_macros(*SQL_FOLDERS, "../tests/generic")
    names = [column["name"] for column in macros["event_columns"]()]

    def rule(path: str, *last: Any) -> Callable[..., Any]:
        return lambda *of: call_function(f"tidemark.rules.{path}", *of, *last)

    reserved, recipe = macros["reserved_event_columns"](), macros["hash_recipe_version"]()
    rules = {
        "event_roles": rule("event_roles.event_roles", reserved, recipe),
        "identifying_names": rule("event_roles.identifying_names", names),
        "connect_columns": rule("source_types.connect_columns"),
        "check_statement_types": rule("statements.check_statement_types"),
    }
    return {**macros, **rules}


def relation(schema: str, name: str) -> SparkRelation:
    """What `ref()` gives for a model."""
    return SparkRelation.create(schema=schema, identifier=name, type="table")
