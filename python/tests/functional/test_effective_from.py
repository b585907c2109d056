"""Intervals that begin where a column of the extract says: `effective_from`."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

import pytest

from ..rendering import load_sql_macros

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(3)]

LOG = """(
    select
        *, md5(id) as _key_hash, 'x' as _row_hash, _business_date as _eff_start_date,
        cast(null as array<string>) as _changed_columns, cast(null as bigint) as _superseded_by
    from values {rows} as log (id, note, updated_at, _operation, _business_date)
)"""

Row = tuple[str, str, str | None, str, str]


@pytest.fixture(scope="module")
def intervals(module_project: Any) -> Any:
    """Log rows → intervals as (id, note, from, to), or with `deletes` those of deleted keys, too."""
    macros, session = load_sql_macros(), module_project.session

    def intervals(rows: list[Row], kind: str = "timestamp", deletes: bool = False) -> Any:
        values = ", ".join(
            f"('{key}', '{note}', cast({_literal(told)} as {kind}), '{operation}', date'{date}')"
            for key, note, told, operation, date in rows
        )
        options = macros["interval_options"](deletes)
        log = LOG.format(rows=values)
        sql = macros["effective_intervals_sql"](
            "updated_at", log, "_superseded_by is null", options
        )
        shown = "id, note, cast(_valid_from as string), cast(_valid_to as string)"
        shown += ", _is_current" + (", _is_deleted" if deletes else "")
        found = session.sql(f"select {shown} from ({sql}) order by id, _valid_from").collect()
        assert all(row._is_current == (row[3] is None) for row in found)
        return [tuple(row)[:4] + tuple(row)[5:] for row in found]

    return intervals


def _literal(text: str | None) -> str:
    return "null" if text is None else f"'{text}'"


STORY: list[Row] = [
    ("a", "first", "2026-03-01 09:00:00", "I", "2026-03-02"),
    ("a", "moved", "2026-03-02 08:30:00", "U", "2026-03-03"),
    ("a", "did not move", "2026-03-02 08:30:00", "U", "2026-03-04"),
    ("a", "moved back", "2026-03-01 10:00:00", "U", "2026-03-05"),
    ("a", "unknown", None, "U", "2026-03-06"),
    ("a", "unknown", "2026-03-07 07:00:00", "D", "2026-03-08"),
    ("a", "again, as it was", "2026-03-02 08:30:00", "I", "2026-03-10"),
    ("b", "since ever", None, "I", "2026-03-02"),
    ("c", "of tomorrow", "2026-03-09 12:00:00", "I", "2026-03-02"),
    ("c", "of today", "2026-03-03 12:00:00", "U", "2026-03-04"),
]


def test_intervals(intervals: Any) -> None:
    of_a = [
        ("a", "first", "2026-03-01 09:00:00", "2026-03-02 08:30:00"),
        ("a", "moved", "2026-03-02 08:30:00", "2026-03-04 00:00:00"),
        ("a", "did not move", "2026-03-04 00:00:00", "2026-03-05 00:00:00"),
        ("a", "moved back", "2026-03-05 00:00:00", "2026-03-06 00:00:00"),
        ("a", "unknown", "2026-03-06 00:00:00", "2026-03-08 00:00:00"),
        ("a", "again, as it was", "2026-03-10 00:00:00", None),
    ]
    others = [
        ("b", "since ever", "2026-03-02 00:00:00", None),
        # the version of tomorrow was taken back before it began
        ("c", "of today", "2026-03-09 12:00:00", None),
    ]
    assert intervals(STORY) == of_a + others
    gone = ("a", "unknown", "2026-03-08 00:00:00", "2026-03-10 00:00:00", True)
    whole = [(*row, False) for row in of_a]
    assert intervals(STORY[:7], deletes=True) == [*whole[:5], gone, whole[5]]


@pytest.mark.parametrize("kind", ["date", "timestamp_ntz"])
def test_kinds(intervals: Any, kind: str) -> None:
    begins = [row[2] for row in intervals(STORY[:2], kind)]
    hours = ("00:00:00", "00:00:00") if kind == "date" else ("09:00:00", "08:30:00")
    assert begins == [f"2026-03-0{day} {hour}" for day, hour in enumerate(hours, 1)]


def test_random(intervals: Any) -> None:
    """Against an oracle; versions of a key never overlap, and touch but where it was deleted."""
    rng = random.Random(7)
    rows: list[Row] = []
    for key in range(60):
        operation = "D"
        for day in range(2, 20):
            if rng.random() < 0.5:
                continue
            operation = "I" if operation == "D" else rng.choice("UUD")
            hours = rng.choice([-40, -24, -10, 0, 5, 24, 60, None])
            date = datetime(2026, 3, day)
            told = None if hours is None else str(date + timedelta(hours=hours))
            rows.append((f"{key:03}", f"{day}", told, operation, str(date.date())))
    expected = _expected(rows)
    assert len(expected) > 200
    assert intervals(rows) == expected


YAML = """
version: 2
models:
  - name: cities
    config:
      materialized: cdc
      unique_key: id
      meta: {{tidemark: {{extract: full, effective_from: updated_at, location: "{root}/{{business_date}}.csv"}}}}
    columns:
      - {{name: id, data_type: string}}
      - {{name: updated_at, data_type: {kind}}}
    data_tests: [tidemark.current_equals_open_intervals]
  - name: cities_scd2
    config: {{materialized: scd2}}
    data_tests: [tidemark.one_open_interval_per_key, tidemark.no_overlapping_intervals]
"""


def make_cities(project: Any, kind: str = "timestamp") -> None:
    project.write("models/cities.sql", "{{ tidemark.extract() }}")
    project.write("models/cities_scd2.sql", "{{ tidemark.scd2(ref('cities')) }}")
    project.write("models/by_date.sql", "{{ tidemark.scd2(ref('cities'), by='business_date') }}")
    project.write("models/models.yml", YAML.format(root=project.root, kind=kind))


def load(project: Any, day: int, *lines: str, **options: Any) -> Any:
    date = f"2026-03-{day:02}"
    project.write(f"{date}.csv", "\n".join(["id,name,updated_at", *lines]) + "\n")
    return project.dbt("run", "--exclude", "by_date", vars={"business_date": date}, **options)


def test_refused(project: Any) -> None:
    """The column's type is looked at before anything is written; what a reader asks for, where it is asked."""
    make_cities(project, "string")
    result = load(project, 2, "a,Ayr,2026-03-01 09:00:00", expect_pass=False)
    assert (
        "effective_from names column `updated_at`, which is string: declare its data_type"
        in result.error
    )
    make_cities(project)
    project.write("models/cities_scd2.sql", "{{ tidemark.scd2(ref('cities'), by='event_time') }}")
    result = project.dbt("compile", expect_pass=False)
    assert "by must be effective_from or business_date for cities" in result.error
    project.remove("models/cities_scd2.sql")
    # rows as they stood are those of a date, whatever intervals are of
    as_of = "{{ tidemark.as_of(ref('cities'), '2026-03-02', by='effective_from') }}"
    result = project.dbt("compile", "--inline", as_of, expect_pass=False)
    assert "by must be business_date for cities" in result.output + str(result.error)


@pytest.mark.slow
def test_kept_table(project: Any) -> None:
    make_cities(project)
    load(project, 2, "a,Ayr,2026-03-01 09:00:00", "b,Bonn,2026-02-01 00:00:00")
    load(project, 3, "a,Ayr!,2026-03-02 08:30:00")
    # a date that comes late is told where it belongs
    load(project, 1, "a,Air,2026-03-01 07:00:00")
    project.dbt("test")
    rows = project.sql("select name, string(_valid_from), string(_valid_to) from cities_scd2")
    assert {tuple(row) for row in rows} == {
        ("Air", "2026-03-01 07:00:00", "2026-03-01 09:00:00"),
        ("Ayr", "2026-03-01 09:00:00", "2026-03-02 08:30:00"),
        ("Ayr!", "2026-03-02 08:30:00", None),
        ("Bonn", "2026-02-01 00:00:00", "2026-03-03 00:00:00"),
    }
    project.dbt("run", "--select", "by_date")
    begins = project.sql("select distinct string(_valid_from) from by_date")
    assert {row[0] for row in begins} == {"2026-03-01", "2026-03-02", "2026-03-03"}


def _expected(rows: list[Row]) -> list[tuple[str, str, str, str | None]]:
    begun: dict[str, list[tuple[datetime, str, str]]] = {}
    for key, note, told, operation, date in rows:
        versions = begun.setdefault(key, [])
        begin = datetime.fromisoformat(date)
        if told is not None and operation != "D":
            value = datetime.fromisoformat(told)
            begin = value if not versions or value > versions[-1][0] else begin
        if versions:
            begin = max(begin, versions[-1][0])
        versions.append((begin, note, operation))
    found: list[tuple[str, str, str, str | None]] = []
    for key, versions in sorted(begun.items()):
        ends = [*(version[0] for version in versions[1:]), None]
        for (begin, note, operation), end in zip(versions, ends, strict=True):
            if operation != "D" and begin != end:
                found.append((key, note, str(begin), None if end is None else str(end)))
    return found
