"""What `tidemark replay` takes, refuses and compares, whose tables are written without Spark."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from deltalake import write_deltalake
from rich.console import Console

from tests.pages import blocks_of
from tidemark import cli
from tidemark.diff.markdown import as_markdown
from tidemark.errors import ConfigError, TidemarkError
from tidemark.read.commits import Commit
from tidemark.read.project import Entity, KnownProject
from tidemark.replay.chosen import (
    Asked,
    Replayed,
    chosen_models,
    clones_project,
    gone_extracts,
    is_clone_of_now,
)
from tidemark.replay.compare import compared
from tidemark.replay.loads import manifest_of_clones
from tidemark.replay.show import show_replay

from ..stored import CITIES, COMMITS, NOW, day, known_shop, state, write, write_loads

ASKED = Asked("dev", "shop")
CLONE = replace(CITIES, schema="dev")


def node(name: str = "cities", **more: Any) -> Any:
    settings = {"location": "in/{business_date}.csv", **more}
    config = SimpleNamespace(materialized="cdc", meta={"tidemark": settings})
    return SimpleNamespace(name=name, schema="shop", alias=name, config=config)


def chosen(project: KnownProject, *nodes: Any, **asked: Any) -> list[Replayed]:
    return chosen_models(project, nodes or [node()], replace(ASKED, **asked))


def commit(number: int, kind: str, relation: str = "dev.cities", **more: Any) -> Commit:
    return Commit(
        number, relation, "cities", kind, None, more.pop("state", "completed"), NOW, **more
    )


def test_chosen__dates_that_hold(tmp_path: Path) -> None:
    write_loads(tmp_path)
    project = known_shop(tmp_path)
    (one,) = chosen(project)
    assert (one.dates, one.clone, one.is_cloned) == ((day(1), day(2)), replace(one.entity, schema="dev"), False)  # fmt: skip
    assert chosen(project, first=day(2))[0].dates == (day(2),)
    assert chosen(project, last=day(1))[0].dates == (day(1),)
    # what was taken back is not loaded again
    undone = [*COMMITS, state(2, "rolled_back", 9)]
    write(tmp_path, "tidemark_commits__log", undone, "overwrite")
    assert chosen(project)[0].dates == (day(1),)


@pytest.mark.parametrize(
    ("entity", "settings", "asked", "said"),
    [
        ({"extract": "events"}, {}, {}, "takes change events"),
        ({}, {"location": "in/all.csv"}, {}, "has no {business_date}"),
        ({"key": ()}, {}, {}, "has no unique_key"),
        ({}, {}, {"first": day(9), "last": day(9)}, "no business date of 2026-03-09..2026-03-09"),
        ({"table": "towns"}, {}, {}, "nothing was loaded yet"),
        ({}, {}, {"clones": "shop"}, "shop is the schema of the original"),
        ({}, {}, {"target": "prod"}, "does not begin with that of the target, prod"),
    ],
)
def test_chosen__what_cannot_be_is_said_at_once(
    tmp_path: Path,
    entity: dict[str, Any],
    settings: dict[str, Any],
    asked: dict[str, Any],
    said: str,
) -> None:
    write_loads(tmp_path)
    known = known_shop(tmp_path)
    changed = replace(known.entities["cities"], **entity)
    project = replace(known, entities={"cities": changed})
    of_model = node(changed.table, **settings)
    with pytest.raises(Exception, match=said):
        chosen(project, of_model, **asked)


def test_chosen__of_other_kinds_is_none(tmp_path: Path) -> None:
    other = node()
    other.config.materialized = "table"
    with pytest.raises(ConfigError, match="the selection has no model"):
        chosen(known_shop(tmp_path), other)


@pytest.mark.parametrize(
    ("known", "found"),
    [
        ([], False),
        ([commit(8, "clone", source_relation="shop.cities", source_commit_id=7)], True),
        ([commit(8, "clone", source_relation="shop.cities", state="inflight")], False),
        ([commit(8, "clone", source_relation="shop.cities", source_commit_id=6)], "has moved"),
        ([commit(9, "load"), commit(8, "clone", source_relation="shop.cities", source_commit_id=7)], "was loaded after"),
        ([commit(8, "clone", source_relation="prod.cities", source_commit_id=7)], "a clone of prod"),
        ([commit(8, "load")], "is not a clone"),
    ],
)  # fmt: skip
def test_clone__that_is_there(known: Sequence[Commit], found: bool | str) -> None:
    own = [commit(7, "load", "shop.cities")]
    if isinstance(found, bool):
        assert is_clone_of_now(own, known, CITIES, CLONE) is found
        return
    with pytest.raises(ConfigError, match=found):
        is_clone_of_now(own, known, CITIES, CLONE)


def test_extracts__that_are_gone() -> None:
    dates = (day(1), day(2), day(3), day(5))
    model = Replayed(node(), CITIES, CLONE, dates, "in/{yyyy}/{business_date}.csv", False)
    assert gone_extracts([model], lambda location, date: True) == []
    (said,) = gone_extracts([model], lambda location, date: date == day(3))
    assert "2026-03-01..2026-03-02, 2026-03-05 are gone (in/2026/2026-03-01.csv)" in said


def test_manifest__of_clones_has_no_hooks_and_no_folder() -> None:
    model, other, hook = (node(location_root="/tables"), node("rates"), node("hook"))
    for one, kind in ((model, "model"), (other, "model"), (hook, "operation")):
        one.resource_type, one.unique_id, one.relation_name = kind, one.name, f"shop.{one.name}"
        one.config._extra = {"location_root": "/tables", "file_format": "delta"}
        one.config.post_hook, one.config.full_refresh = ["insert into audit"], False
    nodes = {one.name: one for one in (model, other, hook)}
    manifest = SimpleNamespace(nodes=nodes, disabled={}, macros={})
    manifest.deepcopy = lambda: SimpleNamespace(nodes=copy.deepcopy(nodes))
    found = manifest_of_clones(manifest, [Replayed(model, CITIES, CLONE, (), "", True)]).nodes
    assert (found.keys(), found["rates"].schema) == ({"cities", "rates"}, "shop")
    config = found["cities"].config
    assert (found["cities"].schema, found["cities"].relation_name) == ("dev", None)
    assert (config.post_hook, config.full_refresh) == ([], None)
    assert config._extra == {"file_format": "delta"}
    assert config.meta["tidemark"] == {"location": "in/{business_date}.csv"}
    assert (model.schema, model.config.post_hook) == ("shop", ["insert into audit"])


def test_commits__of_clones() -> None:
    project = KnownProject(Path(), "", "shop", "delta")
    assert clones_project(project, ASKED).commits_schema == "dev"
    common = replace(project, commits_schema="tidemark")
    assert clones_project(common, ASKED).commits_schema == "tidemark"


def logged(key: int, email: str, operation: str, number: int) -> dict[str, Any]:
    row = {"id": key, "email": email, "_key_hash": f"k{key}", "_row_hash": email.lower()}
    row |= {"_operation": operation, "_business_date": day(number), "_eff_start_date": day(number)}
    return row | {"_commit_id": number, "_superseded_by": None}


def customers(folder: Path) -> tuple[KnownProject, Replayed]:
    """A model that compares in small letters by now."""
    entity = Entity("customers", "cdc", "shop", "customers", key=("id",))
    dates = (day(2), day(3), day(4))
    model = Replayed(node(), entity, replace(entity, schema="dev"), dates, "", True)
    versions = [
        logged(1, "Ada@example.com", "I", 2),
        logged(2, "lea@example.com", "I", 2),
        logged(1, "ada@example.com", "U", 3),
        logged(2, "lea@example.org", "U", 4),
    ]
    for schema, rows in (("shop", versions), ("dev", [versions[0], versions[1], versions[3]])):
        write_deltalake(str(folder / f"warehouse/{schema}.db/customers__log"), rows_of(rows))
    return replace(known_shop(folder), entities={"customers": entity}), model


def rows_of(rows: list[dict[str, Any]]) -> Any:
    import pyarrow as pa

    schema = pa.Table.from_pylist(rows).schema
    at = schema.get_field_index("_superseded_by")
    return pa.Table.from_pylist(rows, schema.set(at, pa.field("_superseded_by", pa.int64())))


def test_compared__by_date_and_column(tmp_path: Path) -> None:
    project, model = customers(tmp_path)
    found = compared(project, [model], ASKED, 3)
    (one,) = found.entities
    assert not found.equal and (one.original, one.replay) == ("shop.customers", "dev.customers")
    assert [date.model_dump() for date in one.versions.by_date] == [
        {"business_date": day(3), "only_in_a": 1, "only_in_b": 0, "different": 0}
    ]
    assert (one.versions.key, one.versions.same) == (["id", "_business_date"], 3)
    assert [(column.column, column.cells) for column in one.rows.columns] == [("email", 1)]
    told = as_markdown(found.differences())
    assert (
        "original and replay in dev: differences" in told and "| 2026-03-03 | 1 | 0 | 0 |" in told
    )
    # only the dates that were asked for count
    same = compared(project, [model], replace(ASKED, first=day(4), last=day(4)), 3).entities[0]
    assert same.versions.equal and same.versions.rows_in_a == 1


def test_compared__by_a_key_that_was_another(tmp_path: Path) -> None:
    """Rows that the former key told apart are matched by both keys."""
    project, model = customers(tmp_path)
    entity = replace(model.entity, key=("city",))
    moved = replace(model, entity=entity, clone=replace(entity, schema="dev"))
    config = json.dumps({"keys": ["id", "city"]})
    commits = [state(2, "completed", 2, relation="shop.customers", config=config)]
    write(tmp_path, "tidemark_commits__log", commits)
    two = [{**logged(number, "x", "I", 2), "city": "Oslo"} for number in (1, 2)]
    for schema, rows in (("shop", two), ("dev", two[:1])):
        path = str(tmp_path / f"warehouse/{schema}.db/customers__log")
        write_deltalake(path, rows_of(rows), mode="overwrite", schema_mode="overwrite")
    (one,) = compared(project, [moved], ASKED, 3).entities
    assert one.versions.key == ["city", "_business_date", "id"]
    assert (one.versions.same, one.versions.only_in_a, one.rows.same) == (1, 1, 1)


@pytest.mark.parametrize(
    ("known", "said"),
    [({}, "has no column 'city'"), ({"city": None}, "is NULL in 2 rows")],
)
def test_compared__by_a_key_that_the_original_lacks(
    tmp_path: Path, known: dict[str, Any], said: str
) -> None:
    """What the error proposes is a call of `tidemark diff`: a replay has no --key."""
    project, model = customers(tmp_path)
    entity = replace(model.entity, key=("city",))
    moved = replace(model, entity=entity, clone=replace(entity, schema="dev"))
    config = json.dumps({"keys": ["id"]})
    commits = [state(2, "completed", 2, relation="shop.customers", config=config)]
    write(tmp_path, "tidemark_commits__log", commits)
    for schema, more in (("shop", known), ("dev", {"city": "Oslo"})):
        path = str(tmp_path / f"warehouse/{schema}.db/customers__log")
        rows = rows_of([{**logged(number, "x", "I", 2), **more} for number in (1, 2)])
        write_deltalake(path, rows_with_text(rows), mode="overwrite", schema_mode="overwrite")
    with pytest.raises(TidemarkError, match=said) as error:
        compared(project, [moved], ASKED, 3)
    call = "tidemark diff shop.customers dev.customers --key id"
    assert f"`{call}`" in str(error.value) and "another key with" not in str(error.value)


def test_compared__by_a_sensitive_key(tmp_path: Path) -> None:
    project, model = customers(tmp_path)
    entity = replace(model.entity, key=("phone",), sensitive=("phone",))
    assert compared(project, [replace(model, entity=entity, clone=replace(entity, schema="dev"))], ASKED, 3).entities  # fmt: skip


def rows_with_text(rows: Any) -> Any:
    """Return rows whose column `city` is one of text, though it has no value."""
    import pyarrow as pa

    at = rows.schema.get_field_index("city")
    return rows if at < 0 else rows.cast(rows.schema.set(at, pa.field("city", pa.string())))


def test_compared__how_a_row_changed_counts(tmp_path: Path) -> None:
    project, model = customers(tmp_path)
    path = str(tmp_path / "warehouse/dev.db/customers__log")
    rows = [logged(1, "Ada@example.com", "U", 2), logged(2, "lea@example.com", "I", 2)]
    write_deltalake(path, rows_of(rows), mode="overwrite")
    found = compared(project, [model], replace(ASKED, last=day(2)), 3).entities[0]
    assert [column.column for column in found.versions.columns] == ["_operation"]


def test_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    monkeypatch.chdir(tmp_path)

    def said(*arguments: str) -> str:
        result = CliRunner().invoke(cli.cli, ["replay", *arguments])
        assert result.exit_code == 1, result.output
        return result.output

    assert "--in" in said("--select", "cities")
    assert "must not be before --from" in said(
        "--in", "dev", "--from", "2026-03-02", "--to", "2026-03-01"
    )
    assert "takes one date" in said("--in", "dev", "--from", "2026-03-02..2026-03-04")
    assert "exclude each other" in said("--in", "dev", "--json", "--markdown")


def test_page(tmp_path: Path) -> None:
    """What the page shows is what the command prints."""
    project, model = customers(tmp_path)
    out = Console(width=120, record=True, quiet=False)
    with out.capture() as capture:
        show_replay(compared(project, [model], ASKED, 3), out)
    (_, output) = blocks_of("What would my change have done?")[2]
    shown = "\n".join(line.rstrip() for line in capture.get().splitlines())
    assert shown.rstrip() == output.rstrip()
