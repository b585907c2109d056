"""Tables of an earlier release are brought to the layout of this one; those of a later one are left alone.

python/tests/fixtures/make_warehouse.py made the tables, by the release before the number of the layout was kept.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Project
from tests.fixtures.make_warehouse import project_files

pytestmark = pytest.mark.turn(0)

FIXTURE = Path(__file__).parents[1] / "fixtures" / "warehouse_layout_1.tar.gz"
SCHEMA = "shop"


@pytest.fixture
def shop(make_project: Callable[[str], Project], tmp_path: Path) -> Project:
    """A project with tables of the release before, and its landing files gone."""
    assert FIXTURE.stat().st_size < 300_000
    project = make_project("upgraded")
    project.schema = SCHEMA
    files = project_files(tmp_path, Path())
    for name in ("models/models.yml", "models/orders.sql", "models/places.sql"):
        project.write(name, files[name])
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(tmp_path / "warehouse", filter="data")
    project.sql("show tables")  # makes the schema
    for table in sorted((tmp_path / "warehouse" / f"{SCHEMA}.db").iterdir()):
        project.sql(f"create table {table.name} using delta location '{table}'")
    (tmp_path / "landing" / "places").mkdir(parents=True)
    return project


def layouts(project: Project) -> dict[str, str | None]:
    """The layout that log and commits tell."""
    return {
        table: next(
            (row.value for row in project.sql(f"show tblproperties {table}") if row.key == "tidemark.layout"), None
        )
        for table in ("tidemark_commits__log", "orders__log", "places__log")
    }  # fmt: skip


def versions(project: Project, table: str) -> int:
    return len(project.sql(f"describe history {table}"))


def test_tables_of_the_release_before(shop: Project, tmp_path: Path) -> None:
    assert set(layouts(shop).values()) == {None}
    landing = tmp_path / "landing"
    (landing / "orders_2026-01-03.csv").write_text("id,name,amount\n1,ann,1.75\n5,eve,5.00\n")
    events = [
        {"_operation": "UPDATE", "id": 1, "city": "Kyiv", "_before_id": 1},
        {"_operation": "DELETE", "_before_id": 2},
    ]
    lines = [json.dumps({"_database": "shop", "_table": "places", **event}) for event in events]
    (landing / "places" / "000002.jsonl").write_text("".join(f"{line}\n" for line in lines))
    before = versions(shop, "orders__log")
    shop.dbt("run", vars={"business_date": "2026-01-03"})
    # the tables go on: what came before is there, what came is compared with it
    assert [tuple(row) for row in shop.sql("select id, name from orders order by id")] == [(1, "ann"), (5, "eve")]  # fmt: skip
    history = shop.sql("select id, _operation from orders__history where _business_date = '2026-01-03' order by id")  # fmt: skip
    assert [tuple(row) for row in history] == [(4, "D"), (5, "I")]
    assert [tuple(row) for row in shop.sql("select id, city from places order by id")] == [(1, "Kyiv")]  # fmt: skip
    assert set(layouts(shop).values()) == {"1"}
    # one commit for the layout, one for the load
    assert versions(shop, "orders__log") == before + 2
    # from then on a load has its own commit alone
    (landing / "orders_2026-01-04.csv").write_text("id,name,amount\n1,ann,2.00\n5,eve,5.00\n")
    commits = versions(shop, "tidemark_commits__log")
    shop.dbt("run", "--select", "orders", vars={"business_date": "2026-01-04"})
    assert versions(shop, "orders__log") == before + 3
    assert versions(shop, "tidemark_commits__log") == commits + 2

    # a later release has been here: nothing is written
    for table in ("orders__log", "tidemark_commits__log"):
        shop.sql(f"alter table {table} set tblproperties ('tidemark.layout' = '2')")
        found = [
            versions(shop, name) for name in ("orders__log", "orders", "tidemark_commits__log")
        ]
        result = shop.dbt("run", "--select", "orders", vars={"business_date": "2026-01-04"}, expect_pass=False)  # fmt: skip
        assert re.search(
            rf"{table}\S* was written by a newer release of Tidemark. Its layout is 2", result.error
        )
        assert "Install a newer release" in result.error and "Java" not in result.error
        assert found == [versions(shop, name) for name in ("orders__log", "orders", "tidemark_commits__log")]  # fmt: skip
        shop.sql(f"alter table {table} set tblproperties ('tidemark.layout' = '1')")
