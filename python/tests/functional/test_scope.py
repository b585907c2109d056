"""Full extracts of a part of the rows: what is out of the scopes that came was not supplied."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from tidemark import cli

from .entities import Entity

pytestmark = pytest.mark.turn(2)

SHOPS = {"id": "int", "region": "string", "n": "int"}
HEAD = "id,region,n\n"
FIRST = HEAD + "1,north,1\n2,north,2\n3,north,3\n4,south,4\n5,,5\n6,,6\n"
D1, D2, D3, D4 = "2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"
COUNTS = "rows_read, rows_inserted, rows_updated, rows_deleted, rows_unchanged, rows_not_supplied"


def shops(project: Any, name: str, **settings: Any) -> Entity:
    settings = {"scope": {"columns": ["region"]}, **settings}
    entity = Entity(project, name, SHOPS, **settings)
    entity.load(D1, FIRST)
    return entity


def test_days_of_one_region(module_project: Any) -> None:
    regions = shops(module_project, "regions", tag_unchanged=True, engine="workers")
    # north without 3; 4 has moved there from south
    told = regions.load(D2, HEAD + "1,north,1\n2,north,20\n4,north,4\n").output
    assert "by Spark SQL" not in told
    assert regions.rows("id, region, n, _operation") == [
        (1, "north", 1, "N"),
        (2, "north", 20, "U"),
        (4, "north", 4, "U"),
        (5, None, 5, "X"),
        (6, None, 6, "X"),
    ]
    assert regions.commits(COUNTS)[-1] == (3, 0, 2, 1, 1, 2)
    # NULL is a scope like others
    regions.load(D3, HEAD + "6,,6\n")
    assert regions.rows("id, _operation", "__history", f"_business_date = date'{D3}'") == [(5, "D")]
    assert regions.rows("id, _operation")[-1] == (6, "N")
    # an extract without rows has no scope: nothing is deleted, and no guard stops it
    regions.load(D4, HEAD)
    assert regions.rows("id, _operation") == [(1, "X"), (2, "X"), (4, "X"), (6, "X")]
    assert regions.commits(COUNTS)[-1] == (0, 0, 0, 0, 0, 4)
    regions.check()


def test_guard_and_plan(module_project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    guarded = shops(module_project, "guarded", max_delete_fraction=0.5)
    # two of the three rows of north, whatever the others are
    result = guarded.load(D2, HEAD + "1,north,1\n", expect_pass=False)
    assert "would delete 2 of 3 keys (max_delete_fraction is 0.5)" in result.error
    root = module_project.root
    for name in ("DBT_LOG_PATH", "DBT_TARGET_PATH"):
        monkeypatch.setenv(name, str(root / "dbt"))
    monkeypatch.setenv("TIDEMARK_SCHEMA", module_project.schema)
    where = ["--project-dir", str(root), "--profiles-dir", str(root), "--target", "ci"]
    told = CliRunner().invoke(
        cli.cli, ["plan", "--business-date", D2, "--select", "guarded", "--json", *where]
    )
    (plan,) = json.loads(told.stdout)["entities"]
    assert (plan["extract"], plan["outcome"], plan["existing"]) == ("scoped", "stops", 6)
    assert (plan["guard"]["rows_deleted"], plan["guard"]["existing"]) == (2, 3)
    assert plan["counts"]["rows_not_supplied"] == 3
    guarded.run(D2, allow_deletes=True)
    assert [row[0] for row in guarded.rows("id")] == [1, 4, 5, 6]


def test_rejects__have_no_scope(module_project: Any) -> None:
    """A scope of which only rejects came is not observed; of one that came, a reject is not deleted."""
    spoilt = shops(module_project, "spoilt", scope=None, on_reject="quarantine")
    spoilt.write(scope={"columns": ["region"]})
    spoilt.load(D2, HEAD + "1,north,1\n2,north,2\n3,north,x\n9,south,x\n")
    assert [row[0] for row in spoilt.rows("id")] == [1, 2, 3, 4, 5, 6]


def test_late_dates(module_project: Any) -> None:
    """What a late date implies for later ones goes as far as their scopes."""
    late = shops(module_project, "late", soft_delete=True, engine="workers")
    late.load(D3, HEAD + "1,north,1\n2,north,2\n")
    late.load(D4, HEAD + "4,south,4\n")
    before = late.rows("_business_date, id, region, _operation", "__history")
    # 3 was in south already: north of D3 says nothing of it, south of D4 does; 7 is new in a scope of D3
    told = late.load(D2, HEAD + "3,south,3\n4,south,4\n7,south,7\n").output
    assert "by Spark SQL" not in told
    changes = "cast(_business_date as string), id, region, _operation"
    assert late.rows(changes, "__history", f"_business_date > date'{D1}'") == [
        (D2, 3, "south", "U"),
        (D2, 7, "south", "I"),
        (D4, 3, "south", "D"),
        (D4, 7, "south", "D"),
    ]
    # corrected: it had nothing of south
    late.load(D2, HEAD + "5,,5\n6,,6\n")
    assert late.rows("_business_date, id, region, _operation", "__history") == before
    again = late.commits()
    late.run(D2)
    assert late.commits() == [*again, ("repeat", "completed")]
    assert late.rows("id, _operation", where="id = 3") == [(3, "D")]
    late.check()


def test_operations(module_project: Any) -> None:
    moved = shops(module_project, "moved_shops")
    moved.load(D2, HEAD + "1,north,1\n2,north,2\n")
    moved.load(D3, HEAD + "4,south,40\n")
    moved.operate("rehash")
    moved.operate("restate", **{"from": D2})
    moved.extract(D2, HEAD + "1,north,1\n3,north,3\n")
    moved.operate("restate", **{"from": D2})
    assert [row[0] for row in moved.rows("id")] == [1, 3, 4, 5, 6]
    moved.operate("rollback", to=D1)
    moved.run(D2)
    assert [row[0] for row in moved.rows("id")] == [1, 3, 4, 5, 6]
    # the columns of the scope stay
    moved.write(scope={"columns": ["n"]})
    result = moved.load(D3, HEAD + "4,south,4\n", expect_pass=False)
    assert "scope was by region and is now by n" in result.error
    # without it a later date has every row, and one that was loaded by it stays so
    moved.write(scope=None, max_delete_fraction=1)
    moved.load(D3, HEAD + "4,south,4\n")
    assert [row[0] for row in moved.rows("id")] == [4]
    moved.load(D2, HEAD + "1,north,1\n2,north,2\n")
    history = moved.rows("id, _operation", "__history", f"_business_date = date'{D2}'")
    assert history == [(3, "D")]
