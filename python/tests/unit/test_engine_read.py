"""Change events that the engine in the workers reads for the macros to stage, without Spark: what each row of the file says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tidemark.engine.events.decoded import Asked, decoded_columns
from tidemark.engine.events.load import Batch, PrefilteredFile
from tidemark.engine.events.task import read

from .test_engine_events import Lake, Row, event

USUAL = Asked(is_sequenced=False, ordering=(), by_content=False, takes_rejects=True)


def found(lake: Lake, batch: Batch, asked: Asked, select: str) -> list[Row]:
    outcome = read(batch, asked, str(lake.root / "kept"), lake.room())
    assert outcome.declined is None
    rows = f"read_parquet('{outcome.kept}')"
    assert duckdb.sql(f"from {rows}").columns == [name for name, _ in decoded_columns(batch, asked)]
    return duckdb.sql(f"select {select} from {rows} order by _landing_num").fetchall()


def declined(lake: Lake, batch: Batch, asked: Asked = USUAL) -> str | None:
    return read(batch, asked, str(lake.root / "kept"), lake.room()).declined


def test_images(tmp_path: Path) -> None:
    """Values of the image that counts, the key of the one before, and what neither of them tells."""
    lake = Lake(tmp_path)
    batch = lake.batch(
        [
            event("c", 1, None, (1, "a", 1)),
            event("u", 2, (1,), (2, None, "2.50")),
            event("d", 3, (2,)),
            event("d", 4, (3, "c", 3)),
        ]
    )
    select = 'id, name, n, _before_id, _has_before, _tidemark_lacks_n, _operation, "_offset", _position, _may_be_move'
    assert found(lake, batch, USUAL, select) == [
        (1, "a", 1, None, False, False, "INSERT", "1:1001", None, True),
        (2, None, 2.5, 1, True, False, "UPDATE", "2:1002", None, False),
        (2, None, None, 2, True, True, "DELETE", "3:1003", None, False),
        (3, "c", 3, 3, True, False, "DELETE", "4:1004", None, False),
    ]
    placed = replace(USUAL, is_sequenced=True)
    assert found(lake, batch, placed, "_position") == [([1001],), ([1002],), ([1003],), ([1004],)]


def test_images_of_no_key(tmp_path: Path) -> None:
    """All columns of the image before count, and what a delivery is known by."""
    lake = Lake(tmp_path)
    line = event("u", 1, (1, "a", 1), (1, "b", 2))
    again = line[:-1] + ', "ts_us": 7}'
    batch = lake.batch([line, again])
    batch = replace(batch, load=replace(batch.load, keys=(), compared=("id", "name", "n")))
    assert found(lake, batch, USUAL, "_before_id, _before_name, _before_n, _delivery_hash is null") == [
        (1, "a", 1, True),
        (1, "a", 1, False),
    ]  # fmt: skip
    batch = replace(lake.batch([event("d", 1, (1,))]), load=batch.load)
    stamped = replace(
        batch, load=replace(batch.load, stamps=tuple(one.stamp for one in batch.landed))
    )
    assert declined(lake, stamped) == "an image has other columns than are declared"


def test_rejects(tmp_path: Path) -> None:
    """A value that is none is told by its column, the key first; of a row that is gone the key alone counts."""
    lake = Lake(tmp_path)
    lines = [
        event("c", 1, None, (1, "a", "x")),
        event("c", 2, None, ("y", "a", "x")),
        event("u", 3, ("z",), (3, "a", 1)),
        event("d", 4, (4, "a", "x")),
        event("c", 5, None, (5, "a", 2)),
    ]
    batch = lake.batch(lines)
    assert found(lake, batch, USUAL, "_tidemark_reason, id, n, _raw_payload") == [
        ("cast_failed: n", 1, None, lines[0]),
        ("cast_failed: id", None, None, lines[1]),
        ("cast_failed: _before_id", 3, 1, lines[2]),
        (None, 4, None, lines[3]),
        (None, 5, 2, lines[4]),
    ]
    none = replace(USUAL, takes_rejects=False)
    assert "has a value that is a reject" in str(declined(lake, batch, none))


def test_rejects_of_opened_lines(tmp_path: Path) -> None:
    """What was kept of them is not what landed: a reject would not tell its line."""
    lake = Lake(tmp_path)
    batch = lake.batch([event("c", 1, None, (None, "a", 1))])
    assert found(lake, batch, USUAL, "id, _raw_payload is null") == [(None, False)]
    prefiltered = str(tmp_path / "prefiltered.parquet")
    (path,) = batch.load.files
    duckdb.sql(
        f'copy (select 1::bigint as num, \'"shop"\' as db, \'"public"\' as schema, \'"orders"\' as "table", '
        f"column0 as line, null::varchar as landed_id, null::varchar as known_doubt from read_csv('{path}', "
        f"delim = chr(1), header = false, quote = '', columns = {{'column0': 'VARCHAR'}})) to '{prefiltered}' (format parquet)"
    )
    opened = replace(batch, prefiltered=(PrefilteredFile(prefiltered, 1, 1),))
    none = replace(USUAL, takes_rejects=False)
    assert "column id has a value that is a reject" in str(declined(lake, opened, none))


def test_time_with_a_zone(tmp_path: Path) -> None:
    """A reject, whose zone does not get into the times of the rows behind it (it does in DuckDB's own cast)."""
    lake = Lake(tmp_path)
    times = ["2026-03-04T12:30:00Z", "2026-03-04T12:30:00 CET", "2026-03-04 12:30:00"]
    batch = lake.batch([event("c", n, None, (n, time, n)) for n, time in enumerate(times)])
    columns = tuple(replace(one, type="timestamp") if one.name == "name" else one for one in batch.load.columns)  # fmt: skip
    batch = replace(batch, load=replace(batch.load, columns=columns))
    at = 1772627400000000
    assert found(lake, batch, USUAL, "epoch_us(name), _tidemark_reason") == [
        (at, None),
        (None, "cast_failed: name"),
        (at, None),
    ]


@pytest.mark.parametrize(
    ("before", "is_made_up"),
    [
        ((1,), True),
        ((1, "", 0), True),
        ((1, None, "0.00"), True),
        ((1, "1970-01-01T00:00:00Z", 0), True),
        ((1, "a", 0), False),
        ((1, "", 5), False),
    ],
)
def test_image_of_the_key_alone(tmp_path: Path, before: Row, is_made_up: bool) -> None:
    """What PostgreSQL did not log orders nothing: Debezium makes it up, where the column is NOT NULL."""
    lake = Lake(tmp_path)
    batch = lake.batch([event("d", 1, before), event("u", 2, None, (1, "", 0))])
    asked = replace(USUAL, is_sequenced=True, ordering=("n",))
    rows = found(lake, batch, asked, "_is_key_image, _tidemark_made_up_n, n is null")
    assert rows == [(is_made_up, is_made_up, is_made_up or before[2] is None), (None, False, False)]


def test_places_that_texts_tell(tmp_path: Path) -> None:
    """Those of SQL Server are no numbers as they stand."""
    lake = Lake(tmp_path)
    told = {"connector": "sqlserver", "commit_lsn": "00:01", "change_lsn": "00:02", "event_serial_no": 1}  # fmt: skip
    batch = lake.batch([event("c", 1, None, (1, "a", 1), **told)])
    assert found(lake, batch, USUAL, '"_offset"') == [("00:01 00:02",)]
    placed = replace(USUAL, is_sequenced=True)
    why = "the place of an event in its source is told by Spark alone"
    assert declined(lake, batch, placed) == why


def test_rows(tmp_path: Path) -> None:
    """A line that tells no operation is an upsert, known by what it has a value for."""
    lake = Lake(tmp_path, form="rows")
    lines = [
        json.dumps({"id": 1, "name": "a"}),
        json.dumps({"name": "a", "id": 1, "n": None}),
        "null",
        json.dumps({"id": 1, "n": 2, "_operation": "delete"}),
    ]
    batch = replace(lake.batch(lines), tables=())
    asked = replace(USUAL, is_sequenced=True, by_content=True)
    select = "_operation, name, n, _tidemark_lacks_name, _tidemark_lacks_n, _identity"
    assert found(lake, batch, asked, select) == [
        ("UPSERT", "a", None, False, True, "content"),
        ("UPSERT", "a", None, False, False, "content"),
        ("DELETE", None, 2, True, False, "content"),
    ]
    same = found(lake, batch, asked, "_content")
    assert same[0] == same[1] != same[2]
    told = found(lake, replace(batch, identifying=("n",)), asked, "_content")
    assert told[0] == same[0]
    assert told[1] != same[1]


def test_many_tables(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lines = [event("c", 1, None, (1, "a", 1)), event("c", 2, None, (1, "a", 1), table="items")]
    batch = replace(lake.batch(lines), tables=())
    assert declined(lake, batch) == "its events are of several tables"
    batch = replace(lake.batch(lines[:1]), tables=(), named=("shop.items",))
    assert declined(lake, batch) == "its events are of several tables"


def test_figures(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    batch = lake.batch([event("c", 1, None, (1, "a", 1)), event("c", 2, None, (1, "a", 1), table="items"), "null"])  # fmt: skip
    outcome: Any = read(batch, USUAL, str(tmp_path / "kept"), lake.room())
    assert outcome.figures == {"rows_read": 3, "rows_ignored": 2, "has_whole_rows": 1}
    assert outcome.of_table == "shop.public.orders"
