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
from .test_clones import commits, schema_of_clones, told

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(2)]
COLUMNS = {"id": "int", "name": "string", "note": "string", "size": "string"}
D1, D2, D3 = "2026-03-01", "2026-03-02", "2026-03-03"
DAYS = {
    D1: "id,name,note,size\n1,ann,a,01\n2,bob,b,2\n3,cy,c,x\n",
    D2: "id,name,note,size\n1,ann,aa,1\n2,bea,b,2\n3,cy,c,3\n",
    D3: "id,name,note,size\n1,anna,aa,1\n2,bea,bb,2\n",
}
KEPT_ROWS = "select * from ({{ tidemark.extract() }}) where name <> 'bea'"


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
    assert (found["versions"]["rows_in_a"], found["rows"]["rows_in_b"]) == (7, 2)
    assert "was loaded since it was cloned" in replay(code=1)

    # a column is compared no more, another one is a number: what drift refuses on live tables
    changed = {"columns": {**COLUMNS, "size": "int"}, "ignore": ["note"]}
    entity.write(**changed)
    alone.write(**changed)
    said = replay("--from", D2, "--replace", code=1)
    assert "`note` was compared and is now ignored" in said and "leave out --from" in said
    found = replay("--replace", "--samples", "9", code=2)
    load(alone, D1, D2, D3)
    with schema_of_clones(project):
        assert rows_of(entity, dev) == rows_of(alone, project.schema)
    assert by_date(found["versions"]) == [(D1, 1, 0, 0), (D2, 1, 1, 0), (D3, 1, 0, 0)]
    assert found["versions"]["columns"] == []
    kinds = [(one["kind"], one["key"]["id"]) for one in found["versions"]["samples"]]
    assert kinds == [("only_in_a", 1), ("only_in_a", 2), ("only_in_a", 3), ("only_in_b", 3)]
