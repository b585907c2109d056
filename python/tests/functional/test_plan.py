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

COLUMNS = {"id": "int", "name": "string", "n": "int", "phone": "string"}
FIGURES = "rows_read, rows_inserted, rows_updated, rows_deleted, rows_unchanged, rows_rejected, rows_logged"
D1, D2, D3, D4 = "2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"


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
        max_delete_fraction=0.5,
    )

    # day 1: the first load, planned, then applied
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
    again = planner.call("apply", first["id"])
    assert again.exit_code != 0 and f"plan {first['id']} was applied on" in str(again.exception)
    closed = json.loads(planner.call("plan", "--show", first["id"], "--json", code=0).stdout)
    assert closed["state"] == "applied" and only(closed)["samples"] == []

    # day 2: I, U, D and a reject; a new column comes too
    items.extract(
        D2,
        "id,name,n,phone,town\n1,ann,1,11,\n2,bob,7,29,Rome\n3,cid,3,33,\nx,eve,5,55,\n6,fay,6,66,\n",
    )
    second = planner.plan(D2, code=2)
    one = only(second)
    assert {name: one["counts"][name] for name in ("rows_inserted", "rows_updated", "rows_deleted", "rows_rejected")} == {
        "rows_inserted": 1, "rows_updated": 1, "rows_deleted": 1, "rows_rejected": 1,
    }  # fmt: skip
    assert one["share_of_current"] == 0.75
    assert one["columns"] == [{"name": name, "rows": 1} for name in ("n", "phone", "town")]
    assert one["guard"]["verdict"] == "passes" and one["files"]["current"] == "whole"
    assert [reject["reason"] for reject in one["rejects"]] == ["cast_failed: id"]
    assert "eve" in one["rejects"][0]["samples"][0] and "55" not in one["rejects"][0]["samples"][0]
    changed = {sample["operation"]: sample for sample in one["samples"]}
    assert changed["U"]["old"] == {"n": "2", "phone": "***", "town": None}
    assert changed["U"]["new"] == {"n": "7", "phone": "***", "town": "Rome"}
    assert changed["D"]["key"] == {"id": "4"} and changed["D"]["old"]["name"] == "dee"
    text = (planner.home / "plans" / second["id"] / "plan.json").read_text()
    assert "29" not in json.dumps(one["samples"]) and '"55"' not in text

    # the same as tables, by dbt alone
    items.run(D2, plan=True)
    (row,) = items.rows(
        "kind, outcome, rows_inserted, rows_updated, rows_deleted, rows_rejected, guard", "__plan"
    )
    assert row == ("load", "changes", 1, 1, 1, 1, "passes")
    assert items.rows("column_name, row_count", "__plan_columns") == [
        ("n", 1),
        ("phone", 1),
        ("town", 1),
    ]
    assert items.rows("_reject_reason, row_count", "__plan_rejects") == [("cast_failed: id", 1)]
    assert [
        json.loads(new)["town"]
        for (new,) in items.rows("_new", "__plan_samples", "_operation = 'U'")
    ] == ["Rome"]
    assert len(items.commits()) == 1

    # the file is written again: refused, and nothing is loaded
    items.extract(
        D2,
        "id,name,n,phone,town\n1,ann,1,11,\n2,bob,8,29,Rome\n3,cid,3,33,\nx,eve,5,55,\n6,fay,6,66,\n",
    )
    refused = planner.call("apply", second["id"])
    assert f"{D2}.csv has another content" in str(refused.exception)
    assert len(items.commits()) == 1

    # planned again and loaded: the same figures
    second = planner.plan(D2, code=2)
    planner.call("apply", second["id"], code=0)
    loaded = items.commits(FIGURES)[-1]
    assert loaded == tuple(only(second)["counts"][name] for name in FIGURES.split(", "))

    # day 4: the guard would stop it
    items.extract(D4, "id,name,n,phone,town\n1,ann,1,11,\n")
    fourth = planner.plan(D4, code=1)
    assert only(fourth)["guard"] == {
        "verdict": "stops",
        "rows_deleted": 3,
        "existing": 4,
        "max_delete_fraction": 0.5,
    }
    refused = planner.call("apply", fourth["id"])
    assert f"apply {fourth['id']} --allow-deletes" in str(refused.exception)
    error = items.run(D4, expect_pass=False).error
    assert f"tidemark plan --select items --business-date {D4}" in error
    planner.call("apply", fourth["id"], "--allow-deletes", code=0)
    assert items.rows("id") == [(1,)]

    # day 3 comes late: the later date gets other rows
    items.extract(
        D3,
        "id,name,n,phone,town\n1,ann,9,11,\n2,bob,8,29,Rome\n3,cid,3,33,\n6,fay,6,66,\n7,gus,7,77,\n",
    )
    third = planner.plan(D3, code=2)
    one = only(third)
    assert one["kind"] == "late load"
    assert one["other_dates"] == [{"business_date": D4, "rows_logged": 2, "rows_superseded": 0}]
    # a commit comes between: refused
    items.run(D2)
    refused = planner.call("apply", third["id"])
    assert "items: its last commit is" in str(refused.exception)
    third = planner.plan(D3, code=2)
    planner.call("apply", third["id"], code=0)
    loaded = items.commits(FIGURES + ", rows_superseded")[-1]
    assert loaded == tuple(
        only(third)["counts"][name] for name in (FIGURES + ", rows_superseded").split(", ")
    )
    items.check()

    # the same date again: nothing to do
    nothing = planner.plan(D3, code=0)
    assert (nothing["outcome"], only(nothing)["kind"]) == ("nothing", "correction")
    planner.call("plan", "--discard", nothing["id"], code=0)
    states = [
        one["state"] for one in json.loads(planner.call("plan", "--list", "--json", code=0).stdout)
    ]
    assert states[0] == "discarded" and "open" in states


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
