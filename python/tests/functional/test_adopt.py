"""A table with intervals, as dbt snapshots write it, becomes the log of an entity."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest

from ..pages import blocks_of
from ..rendering import load_sql_macros
from .entities import Entity

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(1)]

TITLE = "Coming from dbt snapshots"
SNAPSHOT = """
version: 2
sources:
  - name: raw
    tables: [{name: customers}]
snapshots:
  - name: customers_snapshot
    relation: source('raw', 'customers')
    config:
      file_format: delta
      unique_key: id
      strategy: timestamp
      updated_at: updated_at
"""

SNAPSHOT_ROWS = """
    (1, 'Ann', timestamp'2026-03-01 10:00:00', timestamp'2026-03-02 10:00:00'),
    (1, 'Anna', timestamp'2026-03-02 10:00:00', null),
    (2, 'Bob', timestamp'2026-03-01 10:00:00', null)
"""

VERSIONS = """
    (1, 'a', timestamp'2026-01-01 08:00:00', timestamp'2026-01-02 09:00:00', 'False'),
    (1, 'b', timestamp'2026-01-02 09:00:00', timestamp'2026-01-02 17:00:00', 'False'),
    (1, 'c', timestamp'2026-01-02 17:00:00', null, 'False'),
    (2, 'x', timestamp'2026-01-01 08:00:00', timestamp'2026-01-03 08:00:00', 'False'),
    (2, 'x', timestamp'2026-01-03 08:00:00', timestamp'2026-01-05 08:00:00', 'True'),
    (2, 'y', timestamp'2026-01-05 08:00:00', timestamp'9999-12-31 00:00:00', 'False'),
    (3, 'z', timestamp'2026-01-05 10:00:00', timestamp'2026-01-05 11:00:00', 'False')
"""
"""Three versions in a day, a deleted row of `hard_deletes: new_record`, an open end of `dbt_valid_to_current`."""

NO_HISTORY = """
    (1, 'a', timestamp'2026-01-01 08:00:00', timestamp'2026-01-04 09:00:00', 'False'),
    (1, 'b', timestamp'2026-01-03 09:00:00', null, 'False'),
    (2, 'b', timestamp'2026-01-03 09:00:00', timestamp'2026-01-01 09:00:00', 'False'),
    (3, 'b', null, null, 'False')
"""


def table_of(versions: str) -> str:
    """What `dbt snapshot` makes, as a query."""
    names = "id, name, dbt_valid_from, dbt_valid_to"
    if "False" in versions:
        names += ", dbt_is_deleted"
    return (
        "select *, md5(name) as dbt_scd_id, dbt_valid_from as dbt_updated_at "
        f"{', dbt_valid_from as updated_at' if versions is SNAPSHOT_ROWS else ''}"
        f" from values {versions} as versions ({names})"
    )


@pytest.mark.parametrize("maker", ["sql", pytest.param("dbt", marks=pytest.mark.slow)])
def test_coming_from_dbt_snapshots(project: Any, maker: str) -> None:
    """What the README says, word for word, with the table that two runs of `dbt snapshot` make."""
    schema, raw = project.schema, f"{project.schema}_raw"
    sources = SNAPSHOT.replace("name: raw", f"name: raw\n    schema: {raw}")
    sources = sources.replace("delta", project.file_format)
    project.write("models/sources.yml", sources)
    project.sql(f"create database {raw}")
    project.sql(
        f"create table {raw}.customers (id int, name string, updated_at timestamp) "
        f"using {project.file_format}"
    )

    def fill(*rows: str) -> None:
        values = ", ".join(f"({row} 10:00:00')" for row in rows)
        project.sql(f"insert overwrite {raw}.customers select * from values {values}")

    if maker == "sql":
        project.sql(
            f"create table customers_snapshot using {project.file_format} as {table_of(SNAPSHOT_ROWS)}"
        )
    for name, day in (("Ann", "01"), ("Anna", "02")) if maker == "dbt" else ():
        fill(f"1, '{name}', timestamp'2026-03-{day}", "2, 'Bob', timestamp'2026-03-01")
        project.dbt("snapshot", "--select", "customers_snapshot")

    for language, text in blocks_of(TITLE):
        named = re.match(r"(?:#|--) (\S+[.]\w+)\n", text)
        if named:
            # the SQL of the snapshot's model reads the source
            project.write(named[1], text)
        elif language == "bash":
            fill("1, 'Anne', timestamp'2026-03-04")
            outputs = []
            for line in text.replace("shop.", f"{schema}.").splitlines():
                command = re.fullmatch(r"dbt (run-operation|run) (\S+) --args '(.*)'", line)
                if command:
                    outputs.append(project.dbt(command[1], command[2], "--args", command[3]).output)
                else:
                    project.dbt(
                        "run", "--select", "customers", vars={"business_date": "2026-03-04"}
                    )
            assert "would load 2 business dates from 3 versions" in outputs[0]
            assert "2 of 2, 2026-03-02: I 0, U 1, D 0" in outputs[1]
            assert "the log has its rows at the end of every date" in outputs[1]
    project.dbt("run", "--select", "customers_intervals")
    intervals = project.sql(
        "select id, name, dbt_valid_from, dbt_valid_to from customers_intervals order by id, dbt_valid_from"
    )
    assert [tuple(row) for row in intervals] == [
        (1, "Ann", date(2026, 3, 1), date(2026, 3, 2)),
        (1, "Anna", date(2026, 3, 2), date(2026, 3, 4)),
        (1, "Anne", date(2026, 3, 4), None),
        (2, "Bob", date(2026, 3, 1), date(2026, 3, 4)),
    ]
    arguments = f"{{entity: customers, table: {schema}.customers_snapshot}}"
    again = project.dbt("run-operation", "adopt", "--args", arguments, expect_pass=False)
    assert "customers has loaded 2026-03-04 already, but adopt needs an empty log" in again.output


def test_versions(module_project: Any) -> None:
    """Which dates a table has, what holds at their ends, and that a log which says otherwise is noticed."""
    macros, session = load_sql_macros(), module_project.session
    session.sql(f"create or replace temporary view people_snapshot as {table_of(VERSIONS)}")
    versions = {
        "table": "people_snapshot", "columns": ["id", "name"], "from": "dbt_valid_from",
        "to": "dbt_valid_to", "inclusive": False, "deleted": "dbt_is_deleted",
    }  # fmt: skip

    def rows(macro: str, *arguments: Any) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in session.sql(macros[macro](versions, *arguments)).collect()]

    assert rows("adopted_figures_sql", ["id"]) == [(6, 2, 0, 0, 0, None)]
    dates = [day for (day,) in rows("adopted_dates_sql")]
    assert dates == ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-05"]
    assert [sorted(rows("adopted_extract_sql", day)) for day in dates] == [
        [(1, "a"), (2, "x")],
        [(1, "c"), (2, "x")],
        [(1, "c")],
        [(1, "c"), (2, "y")],
    ]

    log = "(1, 'I', '01', null), (2, 'I', '01', null), (1, 'U', '02', null), (2, 'D', '03', null), (9, 'I', '03', 7)"
    for changes, differences in [
        (f"{log}, (2, 'I', '05', null)", []),
        (log, [("2026-01-05", 1)]),
        (f"{log}, (2, 'I', '04', null)", [("2026-01-04", 1)]),
    ]:
        session.sql(
            "create or replace temporary view people_log as select id, _operation, _superseded_by, "
            f"date('2026-01-' || day) as _business_date from values {changes} "
            "as changes (id, _operation, day, _superseded_by)"
        )
        assert rows("adopted_differences_sql", "people_log", dates) == differences

    # the last day of a version in place of the first one after it
    versions.update(inclusive=True, deleted=None)
    session.sql(
        "create or replace temporary view people_snapshot as select * from values "
        "(1, 'a', date'2026-01-01', date'2026-01-01'), (1, 'b', date'2026-01-02', null) "
        "as versions (id, name, dbt_valid_from, dbt_valid_to)"
    )
    assert rows("adopted_dates_sql") == [("2026-01-01",), ("2026-01-02",)]
    assert rows("adopted_figures_sql", ["id"]) == [(2, 0, 0, 0, 0, None)]


def test_what_is_no_history(module_project: Any) -> None:
    """Nothing is written for a table, column or interval that cannot be."""
    towns = Entity(module_project, "towns", {"id": "int", "name": "string"})
    made = f"create table towns_snapshot using {module_project.file_format}"
    module_project.sql(f"{made} as {table_of(NO_HISTORY)}")
    table = f"{module_project.schema}.towns_snapshot"
    for arguments, messages in [
        ({"table": "towns_snapsot"}, ["there is no table towns_snapsot to adopt"]),
        ({"table": table, "valid_from": "valid_from"}, ["did you mean `dbt_valid_from`?"]),
        (
            {"table": table},
            [
                "versions without dbt_valid_from: 1",
                "versions that end before they begin: 1",
                'versions that hold while the next one of their key does, such as {"id":1}: 1',
            ],
        ),
    ]:
        output = towns.operate("adopt", **arguments, expect_pass=False).output
        assert all(message in output for message in messages), output
    assert not towns.exists()
