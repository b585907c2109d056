"""Plans: kept, shown, applied or refused, without Spark."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from tidemark import cli
from tidemark.errors import ConfigError
from tidemark.plan.apply import (
    apply_plan,
    check_plan,
    moved_models,
    moved_tables,
    other_counts,
    run_options,
)
from tidemark.plan.collect import entity_plan, values_of
from tidemark.plan.inputs import inputs_of, location_input, moved_inputs
from tidemark.plan.make import make_plan
from tidemark.plan.model import EntityPlan, Plan, Tables, outcome_of
from tidemark.plan.project import model_checksum, read_before, selector
from tidemark.plan.show import facts, last_line, show_plan
from tidemark.plan.store import (
    close_plan,
    discard_plan,
    discard_plans_of,
    held,
    list_plans,
    new_id,
    read_plan,
    write_plan,
)
from tidemark.run.invoke import Outcome
from tidemark.run.options import RunOptions
from tidemark.run.report import ModelResult

FACTS: dict[str, Any] = {
    "entity": "items", "relation": "shop.items", "extract": "full", "business_date": "2026-03-04", "kind": "load",
    "outcome": "changes", "stops": None, "broken_rules": [], "existing": 4,
    "columns_known": True, "on_reject": "quarantine",
    "counts": {"rows_read": 5, "rows_inserted": 1, "rows_updated": 1, "rows_deleted": 1, "rows_rejected": 1, "rows_logged": 3},
    "guard": {"verdict": "passes", "rows_deleted": 1, "existing": 4, "max_delete_fraction": 0.5},
    "reject_guard": {"verdict": "passes", "rows_rejected": 1, "rows_read": 5, "max_reject_fraction": 0.5},
    "files": {"current": "merge", "current_files": 3, "current_files_changed": 2}, "batch": None,
    "sensitive": ["phone"], "sensitive_keys": [], "notes": ["new column town"],
    "tables": {"last_commit_id": 7, "log_version": 3, "current_version": 4},
}  # fmt: skip
TOO_MANY = {**FACTS["reject_guard"], "verdict": "stops"}
DAY = dt.date(2026, 3, 4)
ROWS: dict[str, list[dict[str, Any]]] = {
    "columns": [{"column_name": "n", "row_count": 1}, {"column_name": "phone", "row_count": 1}],
    "samples": [
        {"_operation": "U", "_business_date": DAY, "_changed_columns": '["n","phone"]', "_key": '{"id":1}',
         "_old": '{"id":1,"n":1.50,"name":"ann"}', "_new": '{"id":1,"n":2,"name":"ann"}'},
        {"_operation": "D", "_business_date": DAY, "_changed_columns": None, "_key": '{"id":4}',
         "_old": '{"id":4,"n":null,"name":"dee"}', "_new": None},
    ],
    "rejects": [{"_reject_reason": "null_key: id", "row_count": 1}],
    "rejected": [{"_reject_reason": "null_key: id", "_raw_payload": "x" * 900}],
    "dates": [{"_business_date": dt.date(2026, 3, 5), "rows_logged": 2, "rows_superseded": 1}],
}  # fmt: skip


def entity(**changed: Any) -> EntityPlan:
    return entity_plan({**FACTS, **changed}, ROWS)


def a_plan(*entities: EntityPlan, id: str = "pabcde", **changed: Any) -> Plan:
    planned = list(entities) or [entity()]
    content = {
        "id": id, "made_at": dt.datetime(2026, 3, 4, 9, tzinfo=dt.UTC), "command": "tidemark plan", "tidemark": "0.1.0",
        "outcome": outcome_of([one.outcome for one in planned]),
        "options": {"business_date": DAY, "project_dir": "/shop", "vars": {"region": "eu"}}, "entities": planned, **changed,
    }  # fmt: skip
    return Plan.model_validate(content)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("TIDEMARK_HOME", "DBT_LOG_PATH", "DBT_TARGET_PATH"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli.cli, list(arguments))


# --- what macros tell


def test_samples__masked_and_only_what_changes() -> None:
    updated, deleted = entity().samples
    assert (updated.key, updated.old, updated.new) == (
        {"id": "1"},
        {"n": "1.50", "phone": "***"},
        {"n": "2", "phone": "***"},
    )
    assert (deleted.new, deleted.old) == (
        None,
        {"id": "4", "n": None, "name": "dee", "phone": "***"},
    )
    masked = entity_plan({**FACTS, "sensitive_keys": ["phone"]}, ROWS).samples[0]
    assert masked.key == {"id": "1", "phone": "***"}


def test_samples__without_changed_columns_are_compared() -> None:
    row = {**ROWS["samples"][0], "_changed_columns": None}
    (sample,) = entity_plan(FACTS, {"samples": [row]}).samples
    assert (sample.old, sample.new) == ({"n": "1.50"}, {"n": "2"})
    (sample,) = entity_plan(FACTS, {"samples": [{**row, "_old": None}]}).samples
    assert sample.old is None and sample.new == {"id": "1", "n": "2", "name": "ann"}


def test_facts() -> None:
    one = entity()
    assert one.share_of_current == 0.75 and entity(existing=0).share_of_current is None
    assert len(one.rejects[0].samples[0]) == 300
    assert [str(other.business_date) for other in one.other_dates] == ["2026-03-05"]


def test_values__nested_ones_as_json() -> None:
    assert values_of('{"a": true, "b": [1, "x"], "c": 12345678901234567890.10}') == {
        "a": "true", "b": '[1, "x"]', "c": "12345678901234567890.10",
    }  # fmt: skip


# --- what of the project


NAMES = [
    ["shop", "sales"],
    ["shop", "sales", "by_day"],
    ["other", "shop", "sales"],
    ["shop", "my folder", "sales"],
    ["shop", "my_folder", "sales"],
    ["shop", "a,b [eu]!", "sales"],
    ["shop", "dim", "v1"],
    ["shop", "dim", "v2"],
    ["shop", "dim", "v1", "by_day"],
]


@pytest.mark.parametrize("fqn", NAMES, ids=".".join)
def test_selector__selects_one_model_as_dbt_reads_it(fqn: list[str]) -> None:
    from dbt.graph.selector_methods import PackageSelectorMethod, QualifiedNameSelectorMethod
    from dbt.graph.selector_spec import RAW_SELECTOR_PATTERN

    nodes = {
        ".".join(name): SimpleNamespace(
            fqn=name, package_name=name[0], is_versioned=name[-1].startswith("v")
        )
        for name in NAMES
    }
    empty: dict[str, Any] = {}
    groups = ("sources", "exposures", "metrics", "unit_tests", "semantic_models", "saved_queries")
    manifest: Any = SimpleNamespace(
        nodes=nodes, functions=empty, metadata=SimpleNamespace(project_name="shop"),
        **dict.fromkeys(groups, empty),
    )  # fmt: skip
    methods = {"fqn": QualifiedNameSelectorMethod, "package": PackageSelectorMethod}
    (said,) = selector(nodes[".".join(fqn)]).split(" ")
    chosen: set[Any] = set(nodes)
    for part in said.split(","):
        read = RAW_SELECTOR_PATTERN.fullmatch(part)
        assert read is not None and not read["parents"] and not read["children"]
        chosen &= set(methods[read["method"]](manifest, None, []).search(chosen, read["value"]))
    assert chosen == {".".join(fqn)}


# --- the store


def test_store__for_its_owner_only_and_without_values_once_closed(home: Path) -> None:
    os.umask(0)
    path = write_plan(a_plan())
    assert [part.stat().st_mode & 0o777 for part in (path, path.parent, path.parents[1])] == [
        0o600,
        0o700,
        0o700,
    ]
    assert read_plan("pabcde") == a_plan()
    discard_plan("pabcde")
    closed = read_plan("pabcde")
    assert closed.state == "discarded" and closed.closed_at is not None
    assert "dee" not in path.read_text() and "xxx" not in path.read_text()
    with pytest.raises(ConfigError, match=r"plan pabcde was discarded on 20.* UTC: plan again"):
        discard_plan("pabcde")


def test_store__newest_first_and_names_the_nearest(home: Path) -> None:
    assert list_plans() == []
    write_plan(a_plan())
    write_plan(a_plan(id="pzzzzz", made_at=dt.datetime(2026, 3, 5, tzinfo=dt.UTC)))
    assert [plan.id for plan in list_plans()] == ["pzzzzz", "pabcde"]
    with pytest.raises(ConfigError, match=r"there is no plan 'pabcdf'\. Did you mean 'pabcde'"):
        read_plan("pabcdf")
    for nothing in ("../etc", "", "p"):
        with pytest.raises(ConfigError, match="there is no plan"):
            read_plan(nothing)
    assert new_id() not in ("pabcde", "pzzzzz")


def test_store__a_damaged_plan(home: Path) -> None:
    path = write_plan(a_plan())
    path.write_text("{")
    assert list_plans() == []
    with pytest.raises(ConfigError, match="is damaged, or of another version"):
        read_plan("pabcde")


def test_store__one_at_a_time_and_old_ones_go(home: Path) -> None:
    write_plan(a_plan())
    with (
        held("pabcde"),
        pytest.raises(
            ConfigError,
            match=r"is applied by another process at the moment\. Wait for the other process",
        ),
    ):
        discard_plan("pabcde")
    for number in range(55):
        close_plan(a_plan(id=f"p{number:05}"), "applied")
    assert len([plan for plan in list_plans() if plan.state == "applied"]) == 50
    discard_plans_of("shop.other")
    assert read_plan("pabcde").state == "open"
    discard_plans_of("shop.items")
    assert read_plan("pabcde").state == "discarded"


# --- inputs


def told(*paths: Path, **more: Any) -> dict[str, Any]:
    there = [
        {
            "path": f"file:{path}",
            "size": path.stat().st_size,
            "modified": dt.datetime.fromtimestamp(path.stat().st_mtime, dt.UTC),
        }
        for path in paths
    ]
    return {"location": "landing", "there": there, "landed": None, "read": [], **more}


def test_inputs__what_is_taken_of_a_location(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / name for name in ("a 1.jsonl", "b.jsonl")]
    for file in files:
        file.write_text("x")
    found = inputs_of(told(*files, landed=[f"file://{tmp_path}/a%201.jsonl"]))
    assert [(one.kind, one.path, one.files) for one in found] == [
        ("location", "landing", 2),
        ("file", str(files[0]), None),
    ]
    lists = {"files": told(*files)["there"]}
    monkeypatch.setattr("tidemark.spark.files.list_files", lambda session, path: lists["files"])
    assert moved_inputs(found, Any) == []
    os.utime(files[0], (1, 1))
    assert moved_inputs(found, Any) == []  # its content is the same
    lists["files"] = lists["files"][:1]
    assert moved_inputs(found, Any) == [
        "at landing there are other files: 1 file now, 2 when it was planned"
    ]
    files[0].write_text("y")
    assert moved_inputs(found, Any) == [f"the file {files[0]} has another content"]
    files[0].unlink()
    assert moved_inputs(found, Any) == [f"the file {files[0]} is gone, or cannot be read"]


def test_inputs__a_file_written_meanwhile(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("x")
    given = told(file)
    file.write_text("xy")
    with pytest.raises(ConfigError, match="changed while it was read"):
        inputs_of(given)
    file.unlink()
    with pytest.raises(ConfigError, match="is gone since it was read"):
        inputs_of(given)


def test_inputs__on_other_disks_and_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    there = [
        {"path": "s3a://lake/a.csv", "size": 3, "modified": dt.datetime(2026, 3, 4, tzinfo=dt.UTC)}
    ]
    found = inputs_of(
        {
            "location": None,
            "there": there,
            "landed": None,
            "read": [{"table": "file:/w/t", "version": 3}],
        }
    )
    assert [(one.kind, one.path, one.checksum, one.version) for one in found] == [
        ("file", "s3a://lake/a.csv", None, None), ("table", "/w/t", None, 3),
    ]  # fmt: skip
    monkeypatch.setattr("tidemark.spark.files.list_files", lambda session, path: there)
    monkeypatch.setattr("tidemark.spark.inputs.table_version_at", lambda session, path: 4)
    assert moved_inputs(found, Any) == ["the table /w/t has version 4, and had 3"]
    there[0] = {**there[0], "modified": dt.datetime(2026, 3, 5, tzinfo=dt.UTC)}
    assert moved_inputs(found, Any) == ["the file s3a://lake/a.csv was written again"]
    there.clear()
    assert moved_inputs(found, Any) == ["the file s3a://lake/a.csv is gone"]


def test_location__knows_names_and_sizes() -> None:
    one, other = {"path": "file:/a", "size": 1}, {"path": "file:///a", "size": 1}
    assert location_input("x", [one]) == location_input("x", [other])
    assert (
        location_input("x", [one]).checksum
        != location_input("x", [{"path": "file:/a", "size": 2}]).checksum
    )


# --- refusals


def node(name: str, sql: str = "select 1", reads: tuple[str, ...] = (), kind: str = "cdc") -> Any:
    config = SimpleNamespace(materialized=kind, to_dict=lambda omit_none: {"materialized": kind})
    return SimpleNamespace(
        name=name, alias=name, schema="shop", raw_code=sql, config=config, columns={}, unique_id=f"model.shop.{name}",
        fqn=["shop", name], package_name="shop", resource_type="model", depends_on=SimpleNamespace(nodes=[f"model.shop.{other}" for other in reads]),
    )  # fmt: skip


def test_refused__what_a_plan_itself_says() -> None:
    stops = {
        "outcome": "stops",
        "stops": "it would delete 3 of 4 keys",
        "guard": {**FACTS["guard"], "verdict": "stops"},
    }
    check_plan(a_plan(), allowed=[])
    check_plan(a_plan(entity(**stops)), allowed=["--allow-deletes"])
    with pytest.raises(
        ConfigError, match="would delete 3 of 4 keys: apply pabcde --allow-deletes lets it through"
    ):
        check_plan(a_plan(entity(**stops)), allowed=[])
    with pytest.raises(ConfigError, match="the load would stop") as raised:
        check_plan(a_plan(entity(**stops, on_reject="fail")), allowed=["--allow-deletes"])
    assert "--allow-deletes" not in str(raised.value)
    both = entity(**stops, reject_guard=TOO_MANY)
    with pytest.raises(ConfigError, match="apply pabcde --allow-deletes --allow-rejects lets it"):
        check_plan(a_plan(both), allowed=["--allow-deletes"])
    check_plan(a_plan(both), allowed=["--allow-rejects", "--allow-deletes"])
    # no option lets a rule be broken
    broken = entity(**stops, broken_rules=["dear: 2 of 3 rows fail, and at most 20 % may"])
    with pytest.raises(ConfigError, match="the load would stop") as raised:
        check_plan(a_plan(broken), allowed=["--allow-deletes"])
    assert "lets it through" not in str(raised.value)
    assert last_line(a_plan(broken, outcome="stops")).endswith("Remove the cause, and plan again")
    with pytest.raises(ConfigError, match="Load the entity with `tidemark run`"):
        check_plan(a_plan(entity(batch={"not_planned": 1})), allowed=[])
    with pytest.raises(ConfigError, match="is incomplete"):
        check_plan(a_plan(not_planned=[{"model": "b", "why": "x", "failed": True}]), allowed=[])
    with pytest.raises(ConfigError, match=r"has nothing to apply\. Make another plan"):
        check_plan(a_plan(entities=[], outcome="nothing"), allowed=[])


def test_moved__tables_and_models() -> None:
    one = entity().model_copy(update={"model_checksum": model_checksum(node("items"))})
    assert moved_tables(one, one.tables) == []
    assert moved_tables(one, Tables(log_version=3, current_version=4)) == [
        "items: its last commit is none, and was 7"
    ]
    compacted = Tables(last_commit_id=7, log_version=3, current_version=5)
    assert moved_tables(one, compacted) == ["items: current has version 5, and had 4"]
    assert moved_models([one], {"shop.items": node("items")}) == []
    assert moved_models([one], {"shop.items": node("items", "select 2")}) == [
        "items: its SQL or its configuration is another one"
    ]
    assert moved_models([one], {}) == ["items: the project has no such model any more"]


def test_run_options__the_date_of_the_plan_where_none_was_given() -> None:
    plan = a_plan(options={"project_dir": "/shop", "vars": {"a": 1}, "target": "ci"})
    options = run_options(plan, allowed=["--allow-deletes"], select=["fqn:shop.items"])
    assert (options.dates, options.vars, options.select, options.target) == (
        [DAY],
        {"a": 1, "allow_deletes": True},
        ["fqn:shop.items"],
        "ci",
    )


def test_read_before() -> None:
    nodes = {
        one.unique_id: one
        for one in (
            node("a"),
            node("v", reads=("a",), kind="view"),
            node("b", reads=("v",)),
            node("c"),
        )
    }
    manifest = SimpleNamespace(nodes=nodes)
    assert read_before(manifest, nodes["model.shop.b"], {"model.shop.a": "a"}) == "a"
    assert read_before(manifest, nodes["model.shop.c"], {"model.shop.a": "a"}) is None


# --- dbt told to


class Dbt:
    """In place of an Invoker: entities `items` and `more`, which reads it."""

    def __init__(self, counts: dict[str, int] | None = None, error: str = "") -> None:
        nodes = (
            node("items"),
            node("more", reads=("items",)),
            node("ages", reads=("items",), kind="scd2"),
        )
        self.manifest = SimpleNamespace(nodes={one.unique_id: one for one in nodes})
        self.options = RunOptions(dates=[DAY])
        self.ran: list[RunOptions] = []
        self.counts, self.error = counts or {}, error

    def selected(self) -> list[Any]:
        return list(self.manifest.nodes.values())

    def check_pepper(self) -> None:
        pass

    def ask(self, operation: str, arguments: dict[str, Any], mark: str) -> list[Any]:
        return [{**FACTS["tables"], "entity": name} for name in arguments["entities"]]

    def run_date(self, date: dt.date | None, *, full_refresh: bool, progress: Any) -> Outcome:
        from tidemark.plan.collect import take

        self.ran.append(self.options)
        if "plan" in self.options.vars:
            for name in ("items", "more"):
                take({**FACTS, "entity": name, "relation": f"shop.{name}"}, ROWS, {})
            return Outcome(True, started=True)
        counts: dict[str, int | None] = {**FACTS["counts"], **self.counts}
        errors = [self.error] if self.error else []
        return Outcome(
            not errors,
            started=True,
            results=[ModelResult("items", "success", 1.0, counts, "shop.items")],
            errors=errors,
        )


def planned(dbt: Any) -> Plan:
    plan, errors = make_plan(dbt, "tidemark plan", 3, lambda name: None)
    assert errors == []
    return plan


def applied(dbt: Any, id: str) -> Any:
    return apply_plan(id, lambda options: dbt, allowed=[], progress=lambda name: None)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidemark.spark.session.current_session", lambda: object())


def test_make__only_entities_and_what_reads_none_of_them() -> None:
    dbt = Dbt()
    plan = planned(dbt)
    (ran,) = dbt.ran
    assert ran.select == ["package:shop,fqn:[s]hop.items", "package:shop,fqn:[s]hop.more"]
    assert ran.vars == {"plan": "kept", "tidemark__sample_rows": 3} and dbt.options.vars == {}
    assert [one.entity for one in plan.entities] == ["items"] and plan.outcome == "changes"
    assert [(one.model, one.failed) for one in plan.not_planned] == [
        ("ages", False),
        ("more", False),
    ]
    assert "it reads items, which this plan changes" in plan.not_planned[1].why


def test_plan__of_a_model_whose_table_has_another_name(session: None) -> None:
    """Operations and runs know it by the model's name."""
    dbt = Dbt()
    aliased = dbt.manifest.nodes["model.shop.items"]
    aliased.name, aliased.alias = "stg_items", "items"
    plan = planned(dbt)
    assert [(one.entity, one.relation) for one in plan.entities] == [("stg_items", "shop.items")]


def test_make__nothing_to_plan() -> None:
    dbt = Dbt()
    ages = dbt.manifest.nodes["model.shop.ages"]
    dbt.selected = lambda: [ages]  # type: ignore[method-assign]
    with pytest.raises(ConfigError, match="no selected model can be planned") as raised:
        make_plan(dbt, "", 3, lambda name: None)  # type: ignore[arg-type]
    assert "ages: scd2: intervals follow the log" in str(raised.value)
    dbt.selected = lambda: []  # type: ignore[method-assign]
    with pytest.raises(ConfigError, match="the selection matches no model") as raised:
        make_plan(dbt, "", 3, lambda name: None)  # type: ignore[arg-type]


def test_make__what_failed() -> None:
    dbt = Dbt()
    failed = Outcome(
        False, started=True, errors=["items: no extract"], failures={"items": "no extract"}
    )
    dbt.run_date = lambda *_, **__: failed  # type: ignore[method-assign]
    with pytest.raises(
        ConfigError, match=r"nothing could be planned\. Correct these errors:\nitems: no extract"
    ):
        make_plan(dbt, "", 3, lambda name: None)  # type: ignore[arg-type]


def test_apply__as_planned(session: None) -> None:
    dbt = Dbt()
    plan = planned(dbt)
    write_plan(plan)
    done = applied(dbt, plan.id)
    assert (done.differences, done.plan.state, read_plan(plan.id).state) == (
        [],
        "applied",
        "applied",
    )
    assert dbt.ran[-1].select == ["package:shop,fqn:[s]hop.items"] and dbt.ran[-1].dates == [DAY]
    with pytest.raises(ConfigError, match="was applied on"):
        applied(dbt, plan.id)


def test_apply__says_what_came_out_otherwise(session: None) -> None:
    dbt = Dbt({"rows_updated": 2})
    plan = planned(dbt)
    write_plan(plan)
    assert applied(dbt, plan.id).differences == ["items: rows_updated is 2, planned were 1"]
    assert other_counts(plan.entities[0], {})[0] == "items: rows_read is 0, planned were 5"


def test_apply__stays_open_when_a_load_fails(session: None) -> None:
    dbt = Dbt(error="the disk is full")
    plan = planned(dbt)
    write_plan(plan)
    assert not applied(dbt, plan.id).outcome.success
    assert read_plan(plan.id).state == "open" and read_plan(plan.id).entities[0].samples


def test_apply__refused_when_the_tables_moved(session: None) -> None:
    dbt = Dbt()
    plan = planned(dbt)
    write_plan(plan)
    dbt.ask = lambda *_: [{"entity": "shop.items", "last_commit_id": 8}]  # type: ignore[method-assign]
    with pytest.raises(
        ConfigError,
        match=r"is out of date, and nothing was loaded\. Plan again\n  - items: its last",
    ):
        applied(dbt, plan.id)
    assert len(dbt.ran) == 1 and read_plan(plan.id).state == "open"
    assert read_plan(plan.id).refused_at is not None


# --- commands


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dbt:
    dbt = Dbt()
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    monkeypatch.setattr("tidemark.plan.cli._parsed", lambda options, talk: dbt)
    return dbt


def test_command__vars_of_a_shell_are_not_typed(capsys: pytest.CaptureFixture[str]) -> None:
    shell = {"plan": {"vars_text": "{region: eu}"}}
    assert cli.call(cli.cli, ["plan", "--list"], defaults=shell) == 0
    assert cli.call(cli.cli, ["plan", "--list", "--vars", "{region: eu}"], defaults=shell) != 0
    assert (
        "--list exclude each other. Give one of them, and nothing else" in capsys.readouterr().err
    )


def test_command__exit_codes(shop: Dbt, session: None) -> None:
    result = call("plan", "--business-date", "2026-03-04", "--json")
    plan = json.loads(result.stdout)
    assert result.exit_code == 2 and plan["outcome"] == "changes", result.output
    assert plan["command"] == "tidemark plan --business-date 2026-03-04"
    assert Plan.model_validate(plan) == read_plan(plan["id"])
    shown = call("plan", "--show", plan["id"])
    assert shown.exit_code == 0 and f"tidemark apply {plan['id']}" in shown.stdout
    assert [one["id"] for one in json.loads(call("plan", "--list", "--json").stdout)] == [
        plan["id"]
    ]
    assert plan["id"] in call("plan", "--list").stdout
    done = call("apply", plan["id"], "--json")
    said = json.loads(done.stdout)
    assert (
        done.exit_code == 0 and said["plan"]["state"] == "applied" and said["differences"] == []
    ), done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--business-date", "2026-3-4"], "is not a date"),
        (["--business-date", "2026-03-04,2026-03-05"], "a plan is of one date"),
        (["--business-date", "2026-03-04", "--vars", "{business_date: 2026-03-04}"], "given twice"),
        (["--vars", "plan: true"], "which this command sets itself"),
        (["--shwo", "x"], "No such option"),
        (["--list", "--show", "p"], "Give one of them"),
        (["--show", "pabcde"], "there is no plan 'pabcde'"),
    ],
)
def test_command__a_mistake_is_no_change(shop: Dbt, arguments: list[str], message: str) -> None:
    result = call("plan", *arguments)
    assert result.exit_code == 1 and message in result.output


def test_command__schema() -> None:
    properties = json.loads(call("plan", "--schema").stdout)["properties"]
    assert {"id", "state", "made_at", "command", "entities", "outcome"} <= set(properties)


# --- shown


def test_shown() -> None:
    out = Console(record=True, width=120, file=open(os.devnull, "w"))
    show_plan(a_plan(), out)
    text = out.export_text()
    assert (
        "read 5, inserted 1, updated 1, deleted 1, unchanged 0, rejected 1 (75.0% of the 4 rows before)"
        in text
    )
    for line in (
        "guard of deletes: lets it pass (1 of 4, at most 50%)",
        "log: 3 rows; current by MERGE (2 of 3 files with rows that change)",
        "2026-03-05 gets other rows: 2 logged, 1 superseded",
        "rejected, null_key: id: 1 row",
        "new column town",
        "plan pabcde: it is done by tidemark apply pabcde",
    ):
        assert line in text
    assert "***" in text and "1.50" in text


def test_shown__texts_are_not_taken_for_no_value() -> None:
    sample = {
        **ROWS["samples"][0],
        "_key": '{"id":"","part":null}',
        "_old": json.dumps({"n": "NULL", "name": "x" * 90 + "1"}),
        "_new": json.dumps({"n": None, "name": "x" * 90}),
        "_changed_columns": '["n","name"]',
    }
    out = Console(record=True, width=120, file=open(os.devnull, "w"))
    show_plan(a_plan(entity_plan(FACTS, {**ROWS, "samples": [sample]})), out)
    text = out.export_text()
    assert re.search("'', NULL +n +'NULL' +NULL", text)
    assert re.search("name +…x{15}1 +…x{15} ", text)


def test_shown__events_and_states() -> None:
    batch = {
        "files": 2,
        "first_file": "a",
        "last_file": "b",
        "first_sequence_num": 1,
        "last_sequence_num": 9,
    }
    lines = facts(entity(extract="events", guard=None, batch=batch, columns_known=False))
    assert "events of 2 files: a … b (sequence 1 … 9)" in lines
    assert lines[-1].startswith("changed_columns is off")
    assert last_line(a_plan(entity(outcome="nothing"))).startswith(
        "plan pabcde: no row would change"
    )
    assert last_line(a_plan(entity(outcome="stops"))).endswith("Remove the cause, and plan again")
    guard = {**FACTS["guard"], "verdict": "stops"}
    stopped = last_line(a_plan(entity(outcome="stops", guard=guard, reject_guard=TOO_MANY)))
    assert stopped.endswith("tidemark apply pabcde --allow-deletes --allow-rejects")
    assert last_line(close_plan(a_plan(), "discarded")).startswith("plan pabcde was discarded on")
