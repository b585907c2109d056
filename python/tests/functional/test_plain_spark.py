"""Plain `type: spark`: it reads what `type: tidemark` made, and loads nothing; here on the session of this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from .entities import Entity

pytestmark = pytest.mark.turn(1)

PLAIN = "    plain: {type: spark, method: session, host: localhost, schema: \"{{ env_var('TIDEMARK_SCHEMA') }}\", threads: 2}\n"
REFUSED = (
    "plain `type: spark` reads the tables of Tidemark, but does not load them. Write `type: tidemark` "
    "in the profile (method: thrift for a Thrift server)"
)
OPERATIONS: dict[str, dict[str, Any]] = {
    "rollback": {},
    "restate": {"from": "2026-01-01"},
    "rehash": {},
    "rebuild": {},
    "clean": {},
    "compact": {},
    "savepoint": {},
    "erase_key": {"key": {"id": 1}},
    "adopt": {"table": "elsewhere"},
    "drop_entity": {},
}
HOOKED = "{{ config(materialized='%s', pre_hook='select raise_error(\"a hook ran\")') }}\nselect 1 as id\n"


@pytest.fixture(scope="module")
def one(module_project: Any) -> Entity:
    """An entity of two loads by `type: tidemark`, in a project with a target of plain `type: spark`."""
    profiles = module_project.root / "profiles.yml"
    profiles.write_text(profiles.read_text(encoding="utf-8") + PLAIN, encoding="utf-8")
    entity = Entity(module_project, "one", {"id": "int", "name": "string"})
    entity.load("2026-01-01", "id,name\n1,ann\n2,bob\n")
    entity.load("2026-01-02", "id,name\n1,anna\n2,bob\n")
    return entity


@contextmanager
def plain(project: Any) -> Iterator[None]:
    ours, project.target = project.target, "plain"
    try:
        yield
    finally:
        project.target = ours


def test_loads__are_refused_before_hooks(one: Entity) -> None:
    project, before = one.project, one.versions()
    one.extract("2026-01-03", "id,name\n1,anna\n")
    for kind in ("atomic", "feed", "scd2", "shred"):
        project.write(f"models/a_{kind}.sql", HOOKED % kind)
    with plain(project):
        for name in ("one", "a_atomic", "a_feed", "a_scd2", "a_shred"):
            result = project.dbt("run", "--select", name, expect_pass=False)
            assert f"{name}: {REFUSED}" in result.error
            assert "a hook ran" not in result.output
    for kind in ("atomic", "feed", "scd2", "shred"):
        project.remove(f"models/a_{kind}.sql")
    assert one.versions() == before


def test_operations__are_refused(one: Entity) -> None:
    before = one.versions()
    with plain(one.project):
        for operation, arguments in OPERATIONS.items():
            text = json.dumps({"entity": "one", **arguments})
            done = one.project.dbt("run-operation", operation, "--args", text, expect_pass=False)
            assert f"one: {REFUSED}" in done.output, operation
    assert one.versions() == before


def test_what_was_loaded__is_read(one: Entity) -> None:
    project = one.project
    project.write(
        "models/then.sql",
        "{{ config(materialized='table') }}\nselect id, name from ({{ tidemark.as_of(ref('one'), '2026-01-01') }})",
    )
    project.write(
        "models/changed.sql",
        "{{ config(materialized='table') }}\nselect * from ({{ tidemark.change_feed(ref('one')) }})",
    )
    with plain(project):
        project.dbt("run", "--select", "then", "changed")
        assert sorted(project.sql("select id, name from then")) == [(1, "ann"), (2, "bob")]
        assert project.sql("select count(*) from changed") == [(3,)]
        one.check()
        lines = project.dbt("run-operation", "show_commits", "--args", "{entity: one}").output
        assert "2026-01-01" in lines and "2026-01-02" in lines
        text = "{entity: one, business_date: '2026-01-02'}"
        assert (
            "name: ann -> anna"
            in project.dbt("run-operation", "show_changes", "--args", text).output
        )
    for name in ("then", "changed"):
        project.remove(f"models/{name}.sql")
