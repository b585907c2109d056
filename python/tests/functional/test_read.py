"""`tidemark status`, `history`, `changes` and `rejects` read what loads have written, without Spark."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from tidemark import cli
from tidemark.read.delta import open_table

from .entities import Entity
from .event_entities import EventEntity, delete, insert, update

pytestmark = pytest.mark.iceberg


@pytest.fixture
def see(module_project: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call a command in this process; its rows."""
    project = module_project
    monkeypatch.setenv("TIDEMARK_HOME", str(project.home))
    monkeypatch.setenv("TIDEMARK_SCHEMA", project.schema)
    for name in ("DBT_LOG_PATH", "DBT_TARGET_PATH"):
        monkeypatch.setenv(name, str(project.root / name.lower()))

    where = ("--project-dir", str(project.root), "--target", "ci")

    def text(*arguments: str) -> str:
        result = CliRunner().invoke(cli.cli, [*arguments, *where])
        assert result.exit_code == 0, (result.output, result.exception)
        return result.stdout

    def call(*arguments: str, code: int = 0) -> Any:
        result = CliRunner().invoke(cli.cli, [*arguments, *where, "--json"])
        if code:
            return str(result.exception)
        assert result.exception is None, (result.output, result.exception)
        return json.loads(result.stdout)

    call.text = text  # type: ignore[attr-defined]
    return call


@pytest.mark.turn(0)
def test_story(module_project: Any, see: Any) -> None:
    columns = {"id": "int", "Full Name": "string", "phone": "string", "n": "int"}
    people = Entity(
        module_project,
        "people",
        columns,
        sensitive=["phone"],
        on_reject="quarantine",
        max_delete_fraction=1,
    )
    orders = EventEntity(module_project, "orders", {"id": "int", "total": "decimal(9,2)"})
    events = [insert({"id": 7, "total": "1.50"}), update({"id": 7, "total": "2.50"}), delete({"id": 7})]  # fmt: skip
    orders.land([*events, insert({"id": 8, "total": "3"})])
    days = {
        "2026-01-01": "1,Ann,555-1,1\n2,Bob,555-2,2\n",
        "2026-01-02": "1,Anne,555-3,1\n3,Cy,555-4,x\n",
    }
    for day, rows in days.items():
        people.extract(day, f"id,Full Name,phone,n\n{rows}")
        result = module_project.dbt("run", vars={"business_date": day})
        assert result.success
    people.extract("2026-01-03", "id,Full Name,phone,n\n")

    events_of, loads = sorted(see("status"), key=lambda one: one["kind"] + one["entity"])
    assert (events_of["entity"], events_of["rows"], events_of["state"]) == ("orders", 1, "loaded")
    assert (loads["rows"], loads["last_date"], loads["open_rejects"]) == (1, "2026-01-02", 1)
    assert loads["last_load"] == {
        "inserted": 0,
        "updated": 1,
        "deleted": 1,
        "unchanged": 0,
        "rejected": 1,
    }
    assert (loads["landed_dates"], loads["problem"]) == (["2026-01-03"], None)
    assert [one["rows_updated"] for one in see("runs", "people")] == [1, 0]

    first, second = see("history", "people", "1")
    assert first["values"]["Full Name"] == "Ann" and "phone" not in first["values"]
    changed = {one["column"]: (one["old"], one["new"]) for one in second["changes"]}
    assert changed["Full Name"] == ("Ann", "Anne")
    # what a sensitive column had is in no table that is read
    assert "555-" not in json.dumps(see("history", "people", "1"))
    assert [(one["operation"], one["values"]["total"]) for one in see("history", "orders", "7")] == [
        ("I", "1.50"),
        ("U", "2.50"),
        ("D", "2.50"),
    ]  # fmt: skip
    (day,) = see("changes", "people")
    assert (day["business_date"], day["updated"], day["deleted"]) == ("2026-01-02", 1, 1)
    (reject,) = see("rejects", "people")
    assert reject["_reject_reason"] == "cast_failed: n" and "555-" not in reject["_raw_payload"]

    # a run that fails is remembered until one goes through
    assert not people.run("2026-01-09", expect_pass=False).success
    (loads,) = see("status", "people")
    assert (loads["state"], loads["failure"]["business_date"]) == ("failed", "2026-01-09")
    assert "2026-01-09" in loads["failure"]["message"]
    assert [one["state"] for one in see("runs", "people")] == ["failed", "completed", "completed"]

    # a wider column is a feature of Delta that delta-rs lacks: DuckDB reads the files
    people.write(columns={**columns, "n": "bigint"})
    people.load("2026-01-03", "id,Full Name,phone,n\n1,Anne,555-3,5000000000\n")
    assert people.rows("id, n") == [(1, 5_000_000_000)]
    values = [one["values"]["n"] for one in see("history", "people", "1")]
    assert values == [1, 1, 5_000_000_000]
    (loads,) = see("status", "people")
    assert (loads["last_date"], loads["rows"], loads["state"]) == ("2026-01-03", 1, "loaded")

    # an operation as a command, said once
    said = see.text("rollback", "people", "--to", "2026-01-02", "--yes")
    assert "people: going back to commit" in said and "people: is back at commit" in said
    assert people.rows("id, n") == [(1, 1)]
    (loads,) = see("status", "people")
    assert (loads["last_date"], loads["landed_dates"]) == ("2026-01-02", ["2026-01-03"])


@pytest.mark.iceberg(never=True)
@pytest.mark.turn(2)
def test_rows_that_are_marked_as_deleted(module_project: Any) -> None:
    """Files with deletion vectors (`write_mode: merge_on_read`) have more rows than the table."""
    module_project.sql(
        "create table marked using delta tblproperties ('delta.enableDeletionVectors' = 'true') "
        "as select id from range(100)"
    )
    module_project.sql("delete from marked where id < 7")
    table = open_table(f"{module_project.home}/warehouse/{module_project.schema}.db/marked")
    assert (table.count(), table.query("select min(id) as least from t")) == (93, [{"least": 7}])
