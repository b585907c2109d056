"""`tidemark plan` and `tidemark apply`: what a load would do is said, nothing is done, and then exactly that is."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tidemark import cli

from .entities import Entity
from .event_entities import EventEntity, delete, insert, update

pytestmark = pytest.mark.turn(3)

COLUMNS = {"id": "int", "name": "string", "n": "int", "phone": "string"}
FIGURES = "rows_read, rows_inserted, rows_updated, rows_deleted, rows_unchanged, rows_rejected, rows_logged"
D1, D2, D3 = "2026-03-01", "2026-03-02", "2026-03-03"


class Planner:
    """The commands on a test's project."""

    def __init__(self, project: Any) -> None:
        self.project = project
        self.home = Path(project.home)

    def call(self, *arguments: str, code: int | None = None) -> Result:
        where = [
            "--project-dir",
            str(self.project.root),
            "--profiles-dir",
            str(self.project.root),
            "--target",
            "ci",
        ]
        if arguments[0] == "apply" or {"--list", "--show", "--discard"} & set(arguments):
            where = []
        os.environ["TIDEMARK_SCHEMA"] = self.project.schema
        result = CliRunner().invoke(cli.cli, [*arguments, *where])
        if code is not None:
            assert result.exit_code == code, (result.output, result.exception)
        return result

    def plan(self, day: str | None, *arguments: str, code: int, select: str = "items") -> Any:
        date = ["--business-date", day] if day else []
        before = self.files()
        result = self.call("plan", *date, "--select", select, *arguments, "--json", code=code)
        assert self.files() == before, "a plan left something behind"
        return json.loads(result.stdout)

    def files(self) -> dict[str, tuple[int, int]]:
        """What lies in the warehouse folder of the project."""
        folder = self.home / "warehouse" / f"{self.project.schema}.db"
        return {
            str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
            for path in folder.rglob("*")
            if path.is_file()
        }


@pytest.fixture
def planner(project: Any, monkeypatch: pytest.MonkeyPatch) -> Planner:
    for name in ("DBT_LOG_PATH", "DBT_TARGET_PATH"):
        monkeypatch.setenv(name, str(project.root / "dbt"))
    monkeypatch.setenv("TIDEMARK_SCHEMA", project.schema)
    return Planner(project)


def only(plan: Any) -> Any:
    (entity,) = plan["entities"]
    return entity


def test_plan_and_apply(project: Any, planner: Planner) -> None:
    items = Entity(
        project,
        "items",
        COLUMNS,
        sensitive=["phone"],
        on_reject="quarantine",
        max_delete_fraction=0.2,
    )

    # the first load, planned, then applied, once
    items.extract(D1, "id,name,n,phone\n1,ann,1,11\n2,bob,2,22\n3,cid,3,33\n4,dee,4,44\n")
    first = planner.plan(D1, code=2)
    one = only(first)
    assert (one["kind"], one["outcome"], one["counts"]["rows_inserted"], one["existing"]) == (
        "first load",
        "changes",
        4,
        0,
    )
    assert one["samples"][0] == {
        "operation": "I", "business_date": D1, "key": {"id": "1"}, "old": None,
        "new": {"id": "1", "name": "ann", "n": "1", "phone": "***"},
    }  # fmt: skip
    assert {kept["kind"] for kept in one["inputs"]} == {"file", "location"}
    assert not items.exists() and not project.sql("show tables like 'tidemark_commits'")
    folder = planner.home / "plans" / first["id"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "plan.json")] == [
        0o700,
        0o600,
    ]
    planner.call("apply", first["id"], code=0)
    assert items.rows("id, name") == [(1, "ann"), (2, "bob"), (3, "cid"), (4, "dee")]
    assert f"plan {first['id']} was applied on" in str(planner.call("apply", first["id"]).exception)
    closed = json.loads(planner.call("plan", "--show", first["id"], "--json", code=0).stdout)
    assert closed["state"] == "applied" and only(closed)["samples"] == []

    # a later date: I, U, D, a reject and a new column; the guard would stop it
    text = "id,name,n,phone,town\n1,ann,1,11,\n2,bob,7,29,Rome\n3,cid,3,33,\nx,eve,5,55,\n6,fay,6,66,\n"
    items.extract(D3, text)
    second = planner.plan(D3, code=1)
    one = only(second)
    counts = {name.removeprefix("rows_"): count for name, count in one["counts"].items() if count}
    assert counts == {
        "read": 5,
        "inserted": 1,
        "updated": 1,
        "deleted": 1,
        "unchanged": 2,
        "rejected": 1,
        "logged": 3,
    }
    assert one["share_of_current"] == 0.75
    assert one["columns"] == [{"name": name, "rows": 1} for name in ("n", "phone", "town")]
    assert one["guard"] == {
        "verdict": "stops",
        "rows_deleted": 1,
        "existing": 4,
        "max_delete_fraction": 0.2,
    }
    assert one["files"] == {"current": "whole", "current_files": 1, "current_files_changed": 1}
    assert [reject["reason"] for reject in one["rejects"]] == ["cast_failed: id"]
    assert "eve" in one["rejects"][0]["samples"][0] and "55" not in one["rejects"][0]["samples"][0]
    changed = {sample["operation"]: sample for sample in one["samples"]}
    assert changed["U"]["old"] == {"n": "2", "phone": "***", "town": None}
    assert changed["U"]["new"] == {"n": "7", "phone": "***", "town": "Rome"}
    assert changed["D"]["key"] == {"id": "4"} and changed["D"]["old"]["name"] == "dee"
    assert f"apply {second['id']} --allow-deletes" in str(
        planner.call("apply", second["id"]).exception
    )

    # its file has another content: refused; with the old content again it is what was planned, and loads the same
    items.extract(D3, text.replace("7,29", "8,29"))
    refused = planner.call("apply", second["id"], "--allow-deletes")
    assert f"{D3}.csv has another content" in str(refused.exception) and len(items.commits()) == 1
    items.extract(D3, text)
    planner.call("apply", second["id"], "--allow-deletes", code=0)
    assert items.commits(FIGURES)[-1] == tuple(one["counts"][name] for name in FIGURES.split(", "))

    # a date between comes late: the later one gets other rows; then a commit comes between
    items.extract(
        D2,
        "id,name,n,phone,town\n1,ann,9,11,\n2,bob,7,29,\n3,cid,3,33,\n4,dee,4,44,\n7,gus,7,77,\n",
    )
    late = planner.plan(D2, code=2)
    assert only(late)["kind"] == "late load"
    assert only(late)["other_dates"] == [
        {"business_date": D3, "rows_logged": 3, "rows_superseded": 1}
    ]
    items.operate("savepoint")
    assert "items: its last commit is" in str(planner.call("apply", late["id"]).exception)
    planner.call("plan", "--discard", late["id"], code=0)
    states = [
        one["state"] for one in json.loads(planner.call("plan", "--list", "--json", code=0).stdout)
    ]
    assert states[0] == "discarded" and "applied" in states


def test_plan__of_what_a_rule_looks_up(project: Any, planner: Planner) -> None:
    """A plan holds as long as the other table is as it was."""
    source = {"name": "raw", "schema": project.schema, "tables": [{"name": "codes"}]}
    project.write("models/raw.yml", json.dumps({"sources": [source]}))
    project.sql("create table codes using delta as select 'NO' as code")
    look_up = {"columns": ["name"], "to": "source('raw', 'codes')", "fields": ["code"]}
    items = Entity(
        project,
        "items",
        COLUMNS,
        body="-- depends_on: {{ source('raw', 'codes') }}\n{{ tidemark.extract() }}",
        rules=[{"name": "known", "relationships": look_up, "at_most": 0.5}],
    )
    items.extract(D1, "id,name,n,phone\n1,NO,1,11\n2,SE,2,22\n")
    plan = planner.plan(D1, code=2)
    assert [one["kind"] for one in only(plan)["inputs"]] == ["location", "file", "table"]
    project.sql("insert into codes values ('SE')")
    refused = planner.call("apply", plan["id"])
    assert "codes has version 1, and had 0" in str(refused.exception)


@pytest.mark.slow
def test_late_dates__as_tables__and_again(project: Any, planner: Planner) -> None:
    items = Entity(project, "items", COLUMNS, sensitive=["phone"], on_reject="quarantine")
    items.load(D1, "id,name,n,phone\n1,ann,1,11\n2,bob,2,22\n3,cid,3,33\n")
    items.load(D3, "id,name,n,phone\n1,ann,1,11\n2,bob,2,29\n")
    items.extract(D2, "id,name,n,phone\n1,ann,9,11\n2,bob,2,22\nx,eve,5,55\n")
    planned = only(planner.plan(D2, code=2))

    # the same as tables, by dbt alone
    items.run(D2, plan=True)
    names = "rows_inserted, rows_updated, rows_deleted, rows_rejected, rows_logged, rows_superseded"
    (row,) = items.rows("kind, outcome, guard, " + names, "__plan")
    assert row == (
        "late load",
        "changes",
        "passes",
        *(planned["counts"][name] for name in names.split(", ")),
    )
    assert items.rows("column_name, row_count", "__plan_columns") == [
        (column["name"], column["rows"])
        for column in sorted(planned["columns"], key=lambda column: column["name"])
    ]
    assert items.rows("_reject_reason, row_count", "__plan_rejects") == [("cast_failed: id", 1)]
    assert [
        (json.loads(old)["n"], json.loads(new)["n"])
        for old, new in items.rows("_old, _new", "__plan_samples", "_operation = 'U'")
    ] == [(1, 9)]
    assert [str(day) for (day,) in items.rows("_business_date", "__plan_dates")] == [D3]
    assert len(items.commits()) == 2

    # loaded, it is what was planned, and again there is nothing to do
    made = planner.plan(D2, code=2)
    planner.call("apply", made["id"], code=0)
    figures = FIGURES + ", rows_superseded"
    assert items.commits(figures)[-1] == tuple(
        planned["counts"][name] for name in figures.split(", ")
    )
    items.check()
    again = planner.plan(D2, code=0)
    assert (again["outcome"], only(again)["kind"]) == ("nothing", "correction")
    planner.call("apply", again["id"], code=0)
    items.operate("erase_key", key="{id: 1}")
    assert not items.exists("__plan") and not items.exists("__plan_samples")


@pytest.mark.slow
def test_events(project: Any, planner: Planner) -> None:
    shop = EventEntity(project, "shop", {"id": "int", "name": "string"}, "id")
    shop.load(
        [
            insert({"id": 1, "name": "ann"}),
            insert({"id": 2, "name": "bob"}),
            insert({"id": 3, "name": "cid"}),
        ]
    )
    planner.plan(None, code=0, select="shop")  # nothing has landed since

    shop.land(
        [update({"id": 1, "name": "anna"}), delete({"id": 2}), insert({"id": 4, "name": "dee"})]
    )
    made = planner.plan(None, code=2, select="shop")
    one = only(made)
    assert (
        one["batch"]["files"] == 1
        and one["batch"]["not_planned"] == 0
        and one["share_of_current"] == 1
    )
    assert [
        (sample["operation"], sample["key"], sample["old"], sample["new"])
        for sample in one["samples"]
    ] == [
        ("I", {"id": "4"}, None, {"id": "4", "name": "dee"}),
        ("U", {"id": "1"}, {"name": "ann"}, {"name": "anna"}),
        ("D", {"id": "2"}, {"id": "2", "name": "bob"}, None),
    ]
    shop.land([insert({"id": 5, "name": "eve"})])
    assert "there are other files: 3 files now, 2 when it was planned" in str(
        planner.call("apply", made["id"]).exception
    )
    made = planner.plan(None, code=2, select="shop")
    planner.call("apply", made["id"], code=0)
    assert shop.commits(FIGURES)[-1] == tuple(
        only(made)["counts"][name] for name in FIGURES.split(", ")
    )
    assert shop.rows("id, name") == [(1, "anna"), (3, "cid"), (4, "dee"), (5, "eve")]


@pytest.mark.slow
def test_delta_of_a_table(project: Any, planner: Planner) -> None:
    project.sql(
        "create table arrived using delta as select 1 as id, 'ann' as name union all select 2, 'bob'"
    )
    project.sql("create view seen as select * from arrived")
    body = f"select * from `{project.schema}`.seen"
    items = Entity(project, "items", {}, body=body, extract="delta", location=None)
    items.run(D1)
    project.sql("delete from arrived where id = 1")
    project.sql("update arrived set name = 'bert' where id = 2")
    made = planner.plan(D2, code=2)
    one = only(made)
    assert (one["counts"]["rows_updated"], one["counts"]["rows_not_supplied"], one["guard"]) == (
        1,
        1,
        None,
    )
    assert [(read["kind"], Path(read["path"]).name, read["version"]) for read in one["inputs"]] == [
        ("table", "arrived", 2)
    ]
    project.sql("insert into arrived values (3, 'cid')")
    assert "arrived has version 3, and had 2" in str(planner.call("apply", made["id"]).exception)
    made = planner.plan(D2, code=2)
    planner.call("apply", made["id"], code=0)
    assert items.commits(FIGURES)[-1] == tuple(
        only(made)["counts"][name] for name in FIGURES.split(", ")
    )
    assert items.rows("id, name") == [(1, "ann"), (2, "bert"), (3, "cid")]
    # what has no version: the view that the model reads is another one
    project.sql("update arrived set name = upper(name)")
    made, commits = planner.plan(D3, code=2), items.commits()
    project.sql("create or replace view seen as select * from arrived where id <> 3")
    refused = planner.call("apply", made["id"], code=1)
    assert "its plan is out of date" in refused.output
    assert "rows_read is 1, planned were 2" in refused.output
    assert items.commits() == commits
