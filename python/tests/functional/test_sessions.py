"""What the contract says of Spark is what Spark says."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tidemark.engine.types import no_value_sql

from ..contract import QUERIES, shown
from ..rendering import load_sql_macros

ANSWERS = Path(__file__).parents[1] / "vectors" / "contract.json"


def test_answers_of_spark(module_project: Any, request: pytest.FixtureRequest) -> None:
    """Those that the quick ring compares DuckDB's with; `--update-golden` writes them anew."""
    session = module_project.session
    found = {name: shown([tuple(row) for row in session.sql(sql).collect()]) for name, sql in QUERIES.items()}  # fmt: skip
    if request.config.getoption("--update-golden", default=False):
        ANSWERS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    assert found == json.loads(ANSWERS.read_text())


TYPES = (
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(12,2)", "decimal(38,0)", "date", "timestamp",
    "timestamp_ntz",
)  # fmt: skip
PARTS = (
    "", " ", "-", "+", "1", "20", "2026", "07", ".", ",", "e", "E5", "d", "f", "x", "0x1p3", "T", "Z", "CET", "UTC", ":", "/", "nan", "NaN",
    "inf", "Infinity", "true", "no", "yes", "now", "today", "epoch", "L", "_", "%", "#", "\u00a0", "\t", "\u0001", "\u0661", "m\u00fc", "[1]",
)  # fmt: skip


def test_what_is_surely_no_value(module_project: Any) -> None:
    """A text that makes a reject in the workers is no value of its column to Spark, whatever its settings read."""
    rng = random.Random(1)
    texts = {"".join(some) for n in (1, 2) for some in itertools.product(PARTS, repeat=n)}
    texts |= {"".join(rng.choices(PARTS, k=rng.randrange(3, 7))) for _ in range(6000)}
    texts |= {f"2026-01-0{n}{more}" for n in range(3) for more in ("", *PARTS)}
    table = pa.table({"text": sorted(texts)})
    session, cast = module_project.session, load_sql_macros()["cast_expr"]
    session.createDataFrame([(text,) for text in texts], "text string").createOrReplaceTempView("told")  # fmt: skip
    for kind in TYPES:
        column = {"source_name": "text", "source_type": "string", "type": kind}
        read = session.sql(f"select text from told where {cast(column, {}, 'told')} is not null")
        values = {text for (text,) in read.collect()}
        with duckdb.connect() as db:
            db.register("told", table)
            none = {text for (text,) in db.execute(f"select text from told where {no_value_sql('text', kind)}").fetchall()}  # fmt: skip
        assert none & values == set(), kind
        assert len(none) > 1000, kind
        assert len(values) > 2, kind
