"""A changed hash recipe over many rows, which dies on the way and is called again: as if loaded anew.

TIDEMARK_TEST_ROWS says how many rows.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .entities import Entity

ROWS = int(os.environ.get("TIDEMARK_TEST_ROWS", "20000"))
DAYS = ("2026-01-01", "2026-01-02")
COLUMNS = {"k": "bigint", "a": "string", "b": "decimal(18,2)", "c": "timestamp"}


def write_extract(folder: Path, day: str) -> None:
    """An extract in which the second date changes a tenth of the rows, adds some and lacks some."""
    number = DAYS.index(day)
    first = number * ROWS // 50
    keys = range(first, first + ROWS)
    rows = pa.table(
        {
            "k": pa.array(keys, pa.int64()),
            "a": pa.array([f"name {key if key % 10 else key + number}" for key in keys]),
            "b": pa.array(keys, pa.int32()).cast(pa.decimal128(18, 2)),
            "c": pa.array([1_767_225_600_000_000 + key for key in keys], pa.timestamp("us", "UTC")),
        }
    )
    folder.mkdir(exist_ok=True)
    pq.write_table(rows, folder / f"{day}.parquet")


@pytest.mark.slow
def test_rehash__as_if_loaded_anew(
    module_project: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dbt.adapters.tidemark.cursor import SessionConnection

    folder = tmp_path / "arrives"
    settings = {"format": "parquet", "location": f"{folder}/{{business_date}}.parquet"}
    old = Entity(module_project, "rehashed", COLUMNS, "k", **settings)
    new = Entity(module_project, "loaded_anew", COLUMNS, "k", hash="sha256", **settings)
    for day in DAYS:
        write_extract(folder, day)
        old.run(day)
        new.run(day)
    old.write(hash="sha256")

    execute = SessionConnection.execute

    def die(self: Any, sql: str, bindings: Any = None) -> None:
        if "insert into" in sql and "rehashed__log" in sql:
            raise RuntimeError("died")
        execute(self, sql, bindings)

    with monkeypatch.context() as patch:
        patch.setattr(SessionConnection, "execute", die)
        old.operate("rehash", expect_pass=False)
    assert old.commits()[-1] == ("rehash", "inflight")
    # what is to be done is told: a run of the entity takes back what was begun
    told = old.operate("rehash", expect_pass=False)
    assert "Run the model once" in str(told.raw.exception) + told.output + told.error
    assert "rehash" in old.run(DAYS[1], expect_pass=False).error
    assert old.commits()[-1] == ("rehash", "rolled_back")
    begun = time.monotonic()
    old.operate("rehash")
    print(f"rehash of {ROWS + ROWS // 10} rows: {time.monotonic() - begun:.0f} s")

    columns = ", ".join([*COLUMNS, "_key_hash", "_row_hash", "_operation"])
    for table, more in {"": "_eff_start_date", "__log": "_business_date"}.items():
        of = f"select {columns}, {more} from {{}}{table}"
        pair = (of.format("rehashed"), of.format("loaded_anew"))
        for one, other in (pair, pair[::-1]):
            assert not module_project.sql(f"({one}) except all ({other}) limit 1"), table
    # and the last date finds nothing new in what is there
    old.run(DAYS[1])
    assert old.commits()[-1] == ("repeat", "completed")
