"""The project's macros that make SQL, for golden files and for tests that run that SQL.

Example:
    >>> load_sql_macros()["as_of"](relation("shop", "cities"), "2026-03-04")
    'select …'
"""

from __future__ import annotations

import functools
from typing import Any

from dbt.adapters.spark.relation import SparkRelation

from .macros import SQL_FOLDERS, load_macros


@functools.cache
def load_sql_macros() -> dict[str, Any]:
    """The macros that read settings, plan and write SQL by name, and the generic tests as `test_<name>`."""
    return load_macros(*SQL_FOLDERS, "../tests/generic")


def relation(schema: str, name: str) -> SparkRelation:
    """What `ref()` gives for a model."""
    return SparkRelation.create(schema=schema, identifier=name, type="table")
