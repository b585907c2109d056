"""What may cross to DuckDB gives what Spark gives: random expressions over rows of values that tell engines apart.

DuckDB may decline, by name or where a row has a value that is Spark's to judge. What it answers is to be Spark's answer, type for
type. `TIDEMARK_TEST_SEED` makes other expressions.
"""

from __future__ import annotations

import datetime as dt
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

from tidemark.sessions import contract
from tidemark.sessions.declined import Declined

from ..contract import QUERIES, shown
from ..random_expressions import GENERATORS, KINDS, random_query, random_rows

SEED = int(os.environ.get("TIDEMARK_TEST_SEED", "20261128"))


@pytest.mark.parametrize(
    ("queries", "rows"),
    [
        pytest.param(150, 400, marks=pytest.mark.turn(1, 3)),
        # some 100,000 values of each form
        pytest.param(2_500, 4_000, marks=pytest.mark.slow),
    ],
)
def test_expressions(module_project: Any, tmp_path: Path, queries: int, rows: int) -> None:
    rng = random.Random(SEED)
    file = tmp_path / "t.parquet"
    # DuckDB's own dictionaries, and those of others, do not tell -0.0 from 0.0
    pq.write_table(random_rows(rng, rows), file, use_dictionary=False)
    session = module_project.session
    session.read.parquet(f"file://{file}").createOrReplaceTempView("t")
    answered: Counter[str] = Counter()
    wrong: list[str] = []
    with duckdb.connect() as db:
        db.execute("set timezone = 'UTC'; set disabled_optimizers = 'top_n_window_elimination'")
        db.execute(f"create view t as from read_parquet('{file}')")
        for _ in range(queries):
            name, query, given = random_query(rng)
            found = _answered(db, query, given, is_whole=name not in GENERATORS)
            if found is None:
                continue
            try:
                right = [tuple(row) for row in session.sql(query).collect()]
            except Exception:
                # who writes it is told so before
                continue
            answered[name] += rows
            of_duckdb, of_spark = Counter(_shown(found)), Counter(_shown(right))
            if of_duckdb != of_spark:
                both = (sorted(of_duckdb - of_spark)[:2], sorted(of_spark - of_duckdb)[:2])
                wrong.append(f"{name}: {query}: {both[0]} where Spark has {both[1]}")
    session.catalog.dropTempView("t")
    assert not wrong, "\n".join([f"seed {SEED}", *sorted(wrong, key=len)])
    assert answered.total() > queries * rows // 3, answered


def _answered(
    db: Any, query: str, given: list[str], is_whole: bool
) -> list[tuple[Any, ...]] | None:
    """Return the rows of a query by DuckDB; None: it is left to Spark."""
    try:
        for expression in given:
            contract.check_types(expression, KINDS)
        if is_whole:
            contract.check_query(query, lambda schema, name: KINDS)
        found: list[tuple[Any, ...]] = db.execute(contract.crossed(query)).fetchall()
    except (Declined, duckdb.Error):
        return None
    return found


def _shown(rows: list[tuple[Any, ...]]) -> list[str]:
    told = [[_in_utc(value) for value in row] for row in rows]
    # where two are the greatest, either may be
    return [row.replace("-0.0", "0.0") for row in shown(told)]


def _in_utc(value: Any) -> Any:
    """A moment without its zone, which Spark tells none of."""
    return (
        value.astimezone(dt.UTC).replace(tzinfo=None) if isinstance(value, dt.datetime) else value
    )


def test_every_form_is_asked(module_project: Any) -> None:
    """Of each row of the contract something is asked, by this test or by the recorded queries."""
    rng, met = random.Random(SEED), set[type[exp.Expression]]()
    for query in [*(random_query(rng)[1] for _ in range(3000)), *QUERIES.values()]:
        met |= {type(node) for node in contract._tree_of(query).walk()}
    assert {*contract._FORMS} <= met, {*contract._FORMS} - met
