"""`tidemark replay`: what dates would have been by today's model, beside what they were."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner

from tidemark import cli
from tidemark.replay.model import Replay

from .entities import Entity
from .event_entities import EventEntity
from .test_clones import told

pytestmark = [pytest.mark.iceberg, pytest.mark.one_way, pytest.mark.turn(2)]
COLUMNS = {"id": "int", "name": "string", "note": "string", "size": "string"}
D1, D2, D3 = "2026-03-01", "2026-03-02", "2026-03-03"
DAYS = {
    D1: "id,name,note,size\n1,ann,a,01\n2,bob,b,2\n3,cy,c,x\n",
    D2: "id,name,note,size\n1,ann,aa,1\n2,bea,b,2\n3,cy,c,3\n",
    D3: "id,name,note,size\n1,anna,aa,1\n2,bea,bb,2\n",
    "2026-03-04": "id,name,note,size\n1,anna,aa,7\n2,bea,b,x\n",
}
# a project that each date parses anew
KEPT_ROWS = """{{ config(tags=[var('business_date', 'none')]) }}
select * from ({{ tidemark.extract() }}) where name <> 'bea'"""


def orders(project: Any, name: str = "orders") -> Entity:
    return Entity(
        project, name, COLUMNS, max_delete_fraction=1, on_reject="quarantine", max_reject_fraction=1
    )  # fmt: skip


def load(entity: Entity, *days: str) -> None:
    for day in days:
        entity.load(day, DAYS[day])


@pytest.fixture
def replay(project: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call the command in this process; what it tells, or the error. The originals stay as they are."""
    for name in ("DBT_LOG_PATH", "DBT_TARGET_PATH"):
        monkeypatch.setenv(name, str(project.root / "dbt"))
    monkeypatch.setenv("TIDEMARK_HOME", str(project.home))
    monkeypatch.setenv("TIDEMARK_SCHEMA", project.schema)
    root = str(project.root)
    where = ("--project-dir", root, "--profiles-dir", root, "--target", "ci")

    def call(*arguments: str, code: int, select: str = "orders") -> Any:
        before = files_of(project)
        into = ("--in", f"{project.schema}_dev")
        result = CliRunner().invoke(
            cli.cli, ["replay", "--select", select, *into, *arguments, *where, "--json"]
        )
        assert result.exit_code == code, (result.output, result.exception)
        assert files_of(project) == before, "the original was written to"
        if code == 1:
            return " ".join(result.stderr.split())
        found = json.loads(result.stdout)
        jsonschema_rs.validate(Replay.model_json_schema(), found)
        (one,) = found["entities"]
        return one

    return call


def files_of(project: Any) -> dict[str, str]:
    """What lies in the warehouse folder of the originals."""
    folder = Path(project.home) / "warehouse" / f"{project.schema}.db"
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def by_date(table: Any) -> list[tuple[str, int, int, int]]:
    return [
        (one["business_date"], one["only_in_a"], one["only_in_b"], one["different"])
        for one in table["by_date"]
    ]


def rows_of(entity: Entity, schema: str) -> Any:
    """What an entity's current table holds."""
    return told(entity, schema)[0]


def test_replay__from_the_beginning(project: Any, replay: Any) -> None:
    entity, alone = orders(project), orders(project, "alone")
    load(entity, D1, D2, D3)
    dev = f"{project.schema}_dev"

    # nothing has changed
    found = replay(code=0)
    assert found["equal"] and found["from_beginning"] and found["dates"] == [D1, D2, D3]
    assert (found["versions"]["rows_in_a"], found["rows"]["rows_in_b"]) == (9, 2)
    assert "was loaded after it was cloned" in replay(code=1)

    # a column is compared no more, another one is a number: what drift refuses on live tables
    changed = {"columns": {**COLUMNS, "size": "int"}, "ignore": ["note"]}
    entity.write(**changed)
    alone.write(**changed)
    said = replay("--from", D2, "--replace", code=1)
    assert "`note` was compared and is now ignored" in said and "leave out --from" in said
    found = replay("--replace", "--samples", "9", code=2)
    load(alone, D1, D2, D3)
    assert rows_of(entity, dev) == rows_of(alone, project.schema)
    assert by_date(found["versions"]) == [(D1, 1, 0, 1), (D2, 1, 0, 1), (D3, 1, 0, 0)]
    cells = {one["column"]: one["cells"] for one in found["versions"]["columns"]}
    assert cells == {"_operation": 1, "size": 1}
    kinds = [(one["kind"], *one["key"].values()) for one in found["versions"]["samples"]]
    assert kinds == [
        ("different", 1, D1),
        ("different", 3, D2),
        ("only_in_a", 1, D2),
        ("only_in_a", 2, D3),
        ("only_in_a", 3, D1),
    ]
    assert (found["rows"]["different"], found["rows"]["same"]) == (1, 1)

    entity.operate("promote", schema=dev)
    load(entity, "2026-03-04")
    load(alone, "2026-03-04")
    assert told(entity, project.schema) == told(alone, project.schema)


def test_replay__from_a_date(project: Any, replay: Any) -> None:
    entity, alone = orders(project), orders(project, "alone")
    load(entity, D1, D3, D2)
    load(alone, D1)
    EventEntity(project, "events", {"id": "int"})
    dev = f"{project.schema}_dev"
    for one in (entity, alone):
        one.body = KEPT_ROWS
        one.write()
    load(alone, D2, D3)

    # what cannot be is said before anything is done
    (entity.folder / f"{D2}.csv").rename(entity.folder / "away")
    said = replay("--from", D1, code=1)
    assert f"the extracts of {D2} are gone" in said and "The log cannot stand in" in said
    assert "takes change events" in replay(code=1, select="events")
    assert f"Choose from {D1}..{D3}" in replay("--from", "2026-04-01", code=1)
    assert not project.session.catalog.tableExists(f"{dev}.orders__log")
    (entity.folder / "away").rename(entity.folder / f"{D2}.csv")

    # bob, who became bea on the second day, is gone by the filter
    found = replay("--from", D2, "--samples", "1", code=2)
    assert found["dates"] == [D2, D3] and not found["from_beginning"]
    assert by_date(found["versions"]) == [(D2, 0, 0, 1), (D3, 1, 0, 0)]
    (sample,) = found["versions"]["samples"]
    changed = {one["column"]: (one["a"], one["b"]) for one in sample["cells"]}
    assert changed["_operation"] == ("U", "D") and changed["name"] == ("bea", "bob")
    assert (found["rows"]["only_in_a"], found["rows"]["same"]) == (1, 1)
    assert rows_of(entity, dev) == rows_of(alone, project.schema)

    # dates after the last one stay in the clone, and are not compared
    found = replay("--from", D2, "--to", D2, "--replace", code=2)
    assert by_date(found["versions"]) == [(D2, 0, 0, 1)]
    load(entity, D3)
    assert "was loaded after it was cloned" in replay("--from", D2, code=1)
    entity.operate("clone", to=dev, replace=True)
    entity.load("2026-03-04", DAYS[D3])
    assert "has moved since" in replay("--from", D2, code=1)
