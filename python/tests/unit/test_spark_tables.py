"""What is looked at of files and tables before Spark reads them, without Spark."""

from __future__ import annotations

import json

import pytest

from tidemark.engine.load import Column
from tidemark.rules.paths import passed_over
from tidemark.spark.delta.target import why_not_types


@pytest.mark.parametrize(
    ("stored", "type", "why"),
    [
        ("integer", "int", None),
        ("long", "bigint", None),
        ("decimal(10,2)", "decimal(10,2)", None),
        ("string", "string", None),
        ("integer", "decimal(10,2)", "has column x as int, and the load has it as decimal(10,2)"),
        ("string", "int", "has column x as string, and the load has it as int"),
        ({"type": "struct"}, "string", "has column x as struct, and the load has it as string"),
    ],
)
def test_why_not_types(stored: object, type: str, why: str | None) -> None:
    """Files by the plan are not written for a table that has another type, which Spark could not read."""
    schema = json.dumps({"fields": [{"name": "x", "type": stored}, {"name": "_y", "type": "date"}]})
    assert why_not_types(schema, [Column("x", type, 0, False)]) == why


def test_why_not_types__of_staging() -> None:
    """It has the key before a change, too; a table may lack a column."""
    schema = json.dumps({"fields": [{"name": "_before_x", "type": "integer"}]})
    columns = [Column("x", "bigint", 0, False), Column("z", "string", 1, False)]
    assert why_not_types(schema, columns) == (
        "has column _before_x as int, and the load has it as bigint"
    )


def test_passed_over() -> None:
    files = [
        {"path": "file:/in/day.csv", "depth": 0},
        {"path": "file:/in/day/a.csv", "depth": 1},
        {"path": "file:/in/day/region=eu/a.csv", "depth": 2},
        {"path": "file:/in/day/late/b.csv", "depth": 2},
        {"path": "file:/in/day/region=eu/late/c.csv", "depth": 3},
    ]
    assert passed_over(files) == ["file:/in/day/late/b.csv", "file:/in/day/region=eu/late/c.csv"]
