"""`tidemark test`: unit tests of models by the command, in a project of another name, by both engines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.foreign_project import ForeignProject
from tests.pages import blocks_run_by

from .enriched_events import event_id, event_line

pytestmark = [pytest.mark.iceberg(never=True), pytest.mark.one_way]


def model(
    name: str, tests: list[dict[str, Any]], columns: str, materialized: str = "cdc", **settings: Any
) -> dict[str, Any]:
    declared = [
        dict(zip(("name", "data_type"), one.strip().split(" ", 1), strict=True))
        for one in columns.split(", ")
        if one
    ]
    config: dict[str, Any] = {
        "materialized": materialized,
        "meta": {"tidemark": {**settings, "unit_tests": tests}},
    }
    if materialized == "cdc":
        config["unique_key"] = "id"
    return {"name": name, "config": config, "columns": declared}


ORDERS = [
    {
        "name": "a_late_date_goes_between",
        "steps": [
            {"business_date": "2026-03-03", "given": [{"id": 1, "city": "Oslo", "price": 1.5}]},
            {
                "business_date": "2026-03-01",
                "given": {"csv": "id,city,price\n1,Bergen,1.5\n2,Turku,"},
                "expect": {
                    "current": [{"id": 1, "city": "Oslo", "price": "1.50"}],
                    "history": {"csv": "id,_operation,_business_date\n1,I,2026-03-01\n2,I,2026-03-01\n1,U,2026-03-03\n2,D,2026-03-03"},
                    "intervals": [
                        {"id": 1, "city": "Bergen", "_valid_from": "2026-03-01", "_valid_to": "2026-03-03"},
                        {"id": 1, "city": "Oslo", "_valid_from": "2026-03-03", "_valid_to": None},
                        {"id": 2, "city": "Turku", "_valid_from": "2026-03-01", "_valid_to": "2026-03-03"},
                    ],
                    "log": [{"id": 1, "city": "Oslo", "_operation": "I"}, {"id": 1, "city": "Bergen", "_operation": "I"},
                            {"id": 2, "city": "Turku", "_operation": "I"}, {"id": 2, "city": "Turku", "_operation": "D"},
                            {"id": 1, "city": "Oslo", "_operation": "U"}],
                },
            },
        ],
    },
    {
        "name": "what_is_deleted_stays",
        "settings": {"soft_delete": True, "max_delete_fraction": 1},
        "steps": [
            {"business_date": "2026-03-01", "given": [{"id": 1, "city": ""}, {"id": 2}]},
            {"business_date": "2026-03-02", "given": [{"id": 2}], "expect": {"current": [{"id": 1, "city": "", "_operation": "D"}, {"id": 2, "city": None, "_operation": "I"}], "counts": {"rows_deleted": 1, "rows_updated": 0}}},
        ],
    },
    {
        "name": "stops",
        "steps": [
            {"business_date": "2026-03-01", "given": [{"id": 1, "price": "x"}], "expect": {"error": "cast_failed: price"}},
            {"given": [{"id": 1, "price": 1}, {"id": 2}], "expect": {"counts": {"rows_inserted": 2}}},
            {"business_date": "2026-03-02", "given": {"lines": "id,city,price"}, "expect": {"error": "would delete"}},
            {"given": {"lines": "id,city,price"}, "vars": {"allow_deletes": True}, "expect": {"current": []}},
        ],
    },
]  # fmt: skip
EVENTS = [
    {
        "name": "deletes",
        "steps": [
            {"given": [{"op": "c", "after": {"id": 1, "n": 1}}, {"op": "c", "after": {"id": 2, "n": 2}}]},
            {
                "given": [{"op": "d", "before": {"id": 1}}, {"op": "u", "after": {"id": 2, "n": 3}}, {"op": "c", "after": {"id": 3, "n": "x"}}],
                "expect": {
                    "current": [{"id": 2, "n": 3}],
                    "rejects": [{"_reject_reason": "cast_failed: n"}],
                    "feed": {"csv": "id,_operation\n1,I\n2,I\n1,D\n2,U"},
                    "counts": {"rows_rejected": 1},
                },
            },
        ],
    }
]  # fmt: skip
JOINED = [
    {
        "name": "joins",
        "steps": [
            {
                "business_date": "2026-03-01",
                "given": {"inputs": [
                    {"input": "source('raw', 'lines')", "rows": [{"id": 1, "note": "it's \\ ${x}"}, {"id": 2}]},
                    {"input": "ref('cities')", "csv": "id,city\n1,Bern"},
                ]},
                "expect": {"current": [{"id": 1, "note": "it's \\ ${x}", "city": "Bern"}, {"id": 2, "note": None, "city": None}]},
            },
            {
                "business_date": "2026-03-02",
                "given": {"inputs": [{"input": "ref('cities')", "csv": "id,city\n2,Bern"}]},
                "expect": {"counts": {"rows_updated": 2}},
            },
        ],
    }
]  # fmt: skip
LOOKS_UP = [
    {
        "name": "an_unknown_city",
        "steps": [
            {
                "business_date": "2026-03-01",
                "given": {"csv": "id,city\n1,Bern\n2,Oslo\n3,", "inputs": [{"input": "ref('cities')", "csv": "id,city\n1,Bern\n2,\n3,Bern"}]},
                "expect": {"current": [{"id": 1}, {"id": 3}], "rejects": [{"_reject_reason": "rule: known"}]},
            },
            {
                "business_date": "2026-03-02",
                "given": {"csv": "id,city\n2,Oslo", "inputs": [{"input": "ref('cities')", "rows": [{"city": "Oslo"}]}]},
                "expect": {"current": [{"id": 2}]},
            },
        ],
    }
]  # fmt: skip
KNOWN = {
    "name": "known",
    "relationships": {"columns": ["city"], "to": "ref('cities')", "fields": ["city"]},
    "on_fail": "quarantine",
}
LINES = [
    {
        "name": "a_copy_is_left_out",
        "steps": [
            {"given": {"lines": f"{event_line(1)}\n{event_line(1)}\n{event_line(2)}"}},
            {"given": {"lines": event_line(2)}, "expect": {"current": [{"event_id": event_id(1)}, {"event_id": event_id(2)}], "counts": {"rows_duplicate": 1}}},
        ],
    }
]  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> ForeignProject:
    """A project whose profile has a warehouse of its own, and hooks that must not run."""
    project = ForeignProject(tmp_path / "shop")
    project.write(
        "dbt_project.yml",
        yaml.safe_dump(
            {
                "name": "shop",
                "version": "1.0.0",
                "profile": "shop",
                "on-run-start": ["select raise_error('a hook')"],
            }
        ),
    )
    settings = {
        "spark.sql.warehouse.dir": str(tmp_path / "of_the_user"),
        "spark.sql.session.timeZone": "Asia/Tokyo",
    }
    output = {
        "type": "tidemark",
        "schema": "shop",
        "threads": 2,
        "server_side_parameters": settings,
    }
    project.write(
        "profiles.yml", yaml.safe_dump({"shop": {"target": "a", "outputs": {"a": output}}})
    )
    for name in ("orders", "events", "lines"):
        project.write(f"models/{name}.sql", "{{ tidemark.extract() }}")
    project.write("models/cities.sql", "select 7 as id, 'x' as city")
    project.write(
        "models/joined.sql",
        "select l.id, l.note, c.city from {{ source('raw', 'lines') }} as l left join {{ ref('cities') }} as c on l.id = c.id",
    )
    project.write(
        "models/placed.sql", "-- depends_on: {{ ref('cities') }}\n{{ tidemark.extract() }}"
    )
    page, command = blocks_run_by("test_unit_test_command.py::test_all_pass")
    assert command.text.strip() == "tidemark test --select customers"
    project.write("models/customers.sql", "{{ tidemark.extract() }}")
    models = [
        *yaml.safe_load(page.text)["models"],
        model("orders", ORDERS, "id int, city string, price decimal(10,2)", extract="full", location="orders/{business_date}.csv.gz"),
        model("events", EVENTS, "id int, n int", extract="events", format="debezium", table="inventory.events", location="landing/*.jsonl", on_reject="quarantine"),
        model("joined", JOINED, "", extract="full"),
        model("placed", LOOKS_UP, "id int, city string", extract="full", location="placed/{business_date}.csv", on_reject="quarantine", rules=[KNOWN], max_delete_fraction=1),
        model("lines", LINES, "", "atomic", location="lines/*.tsv"),
    ]  # fmt: skip
    source = {
        "name": "raw",
        "tables": [{"name": "lines", "columns": [{"name": "id", "data_type": "int"}]}],
    }
    project.write(
        "models/models.yml",
        yaml.safe_dump({"models": models, "sources": [source]}, sort_keys=False),
    )
    return project


def call(project: ForeignProject, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("TIDEMARK_")
    }
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=project.root, env=environment, capture_output=True, text=True
    )  # fmt: skip


def change(project: ForeignProject, edit: Any) -> None:
    path = project.root / "models" / "models.yml"
    read = yaml.safe_load(path.read_text())
    edit({one["name"]: one["config"]["meta"]["tidemark"]["unit_tests"] for one in read["models"]})
    path.write_text(yaml.safe_dump(read, sort_keys=False))


@pytest.mark.turn(0)
@pytest.mark.parametrize(
    "engine", [[], pytest.param(["--engine", "spark"], marks=pytest.mark.slow)]
)
def test_all_pass(shop: ForeignProject, engine: list[str]) -> None:
    """Extracts, events, tables and enriched lines; nothing of the project's own is touched."""
    home = shop.root / ".tidemark"
    killed = home / "tmp" / "unit_tests_1"
    killed.mkdir(parents=True)
    done = call(shop, "tidemark.cli", "test", *engine, "--junit", "target/junit.xml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 unit tests: all passed" in done.stdout and "hook" not in done.stdout + done.stderr
    suite = ElementTree.parse(shop.root / "target" / "junit.xml").getroot()[0]
    assert {(one.get("classname"), one.get("name")) for one in suite} == {
        ("customers", "a_late_date_goes_between"),
        ("orders", "a_late_date_goes_between"), ("orders", "what_is_deleted_stays"), ("orders", "stops"),
        ("events", "deletes"), ("joined", "joins"), ("placed", "an_unknown_city"), ("lines", "a_copy_is_left_out"),
    }  # fmt: skip
    assert not (shop.root.parent / "of_the_user").exists() and not (home / "warehouse").exists()
    assert not list((home / "tmp").glob("unit_tests_*"))


@pytest.mark.turn(2)
def test_what_differs_is_shown__and_keeps_a_build_from_loading(shop: ForeignProject) -> None:
    def spoil(tests: dict[str, Any]) -> None:
        late = tests["orders"][0]["steps"][1]["expect"]
        late["current"] = [{"id": 1, "city": "Rome", "price": 1.5}]
        late["counts"] = {"rows_read": 9}
        tests["events"][0]["steps"][1]["expect"] = {"error": "nothing"}

    change(shop, spoil)
    done = call(shop, "tidemark.cli", "test", "--select", "orders", "events")
    assert done.returncode == 1
    told = " ".join(done.stdout.split())
    assert "FAILED orders.a_late_date_goes_between" in told and "passed orders.stops" in told
    assert "step 2 (2026-03-01): rows_read: expected 9, found 2" in told
    assert "expected 1 Rome 1.5 found 1 Oslo 1.50" in told
    assert (
        "FAILED events.deletes" in told
        and "expected an error with 'nothing', but the load succeeded" in told
    )

    (shop.root / "landing").mkdir()
    (shop.root / "orders").mkdir()
    (shop.root / "orders" / "2026-03-01.csv").write_text("id,city,price\n1,Oslo,1\n")
    change(shop, lambda tests: tests["events"].clear())
    path = shop.root / "models" / "models.yml"
    path.write_text(path.read_text().replace("{business_date}.csv.gz", "{business_date}.csv"))
    project = yaml.safe_load((shop.root / "dbt_project.yml").read_text())
    shop.write("dbt_project.yml", yaml.safe_dump({**project, "on-run-start": []}))
    arguments = ["dbt.cli.main", "build", "--select", "orders", "--vars"]
    build = call(shop, *arguments, json.dumps({"business_date": "2026-03-01"}))
    assert build.returncode == 1, build.stdout
    assert "orders: 1 of 3 unit tests fails, so nothing was loaded" in build.stdout
    assert "3 unit tests of models: 1 failed" in build.stdout
    skipped = call(
        shop, *arguments, json.dumps({"business_date": "2026-03-01", "tidemark__unit_tests": False})
    )
    assert skipped.returncode == 0, skipped.stdout


@pytest.mark.turn(1)
def test_record(shop: ForeignProject) -> None:
    """What comes out is written where a test stands, and passes then; errors are recorded, too."""

    def forget(tests: dict[str, Any]) -> None:
        for test in tests["orders"]:
            for step in test["steps"]:
                if step.get("expect", {}).get("history") is None:
                    step.pop("expect", None)

    change(shop, forget)
    assert call(shop, "tidemark.cli", "test", "--record").returncode == 2
    done = call(shop, "tidemark.cli", "test", "--record", "--select", "orders")
    assert done.returncode == 0 and "wrote what 3 tests of orders left" in done.stdout, (
        done.stdout + done.stderr
    )
    read = yaml.safe_load((shop.root / "models" / "models.yml").read_text())
    late, kept, stops = read["models"][1]["config"]["meta"]["tidemark"]["unit_tests"]
    assert late["steps"][1]["expect"]["current"] == [{"id": 1, "city": "Oslo", "price": 1.5}]
    assert kept["steps"][1]["expect"]["current"][0] == {
        "id": 1,
        "city": "",
        "price": None,
        "_operation": "D",
    }
    assert "cannot be used" in stops["steps"][0]["expect"]["error"]
    again = call(shop, "tidemark.cli", "test", "--select", "orders")
    assert again.returncode == 0, again.stdout + again.stderr


@pytest.mark.turn(0, 2)
def test_no_tests(shop: ForeignProject) -> None:
    """A project without tests is no failure; a name that no test has is one."""
    change(shop, lambda tests: [one.clear() for one in tests.values()])
    done = call(shop, "tidemark.cli", "test")
    assert done.returncode == 0 and "there are no unit tests among" in done.stderr
    assert call(shop, "tidemark.cli", "test", "--name", "nope").returncode == 2


@pytest.mark.turn(0, 2)
@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda tests: tests["orders"][0].update(stepps=[]), "stepps is not read; did you mean `steps`"),
        (lambda tests: tests["joined"][0]["steps"][0]["given"]["inputs"].pop(), "joined reads cities. Give its rows"),
        (lambda tests: tests["joined"][0]["steps"][0]["given"]["inputs"][0].update(input="ref('nope')"), "joined does not read ref('nope')"),
        (lambda tests: tests["orders"][1]["settings"].update(soft_delet=True), "soft_delet is not a setting; did you mean `soft_delete`"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_yaml(shop: ForeignProject, edit: Any, said: str) -> None:
    change(shop, edit)
    done = call(shop, "tidemark.cli", "test", "--select", "orders", "joined")
    assert done.returncode == 2 and said in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stdout + done.stderr
