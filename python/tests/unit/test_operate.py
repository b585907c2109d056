"""`tidemark rollback`, `clean` and the others: said, asked for, done."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from dbt.adapters.tidemark.errors import MacroError
from tests.macros import load_macros
from tidemark import cli, operations
from tidemark.errors import ConfigError
from tidemark.operate import traces
from tidemark.operate.call import Asked, Operation, operate, with_key
from tidemark.operate.kept import given
from tidemark.operations import batches, clean, rollback
from tidemark.read.project import Entity, entities_of


class Dbt:
    """In place of an Invoker: what it is called with, and an operation that has `work` to do."""

    def __init__(self, work: int = 1) -> None:
        self.work = work
        self.called: list[tuple[str, dict[str, Any]]] = []
        config = {"materialized": "cdc", "unique_key": ["id", "line"], "meta": {}}
        node = SimpleNamespace(
            name="orders", alias="orders", schema="shop", resource_type="model", config=config
        )
        self.manifest = SimpleNamespace(nodes={"model.shop.orders": node})

    def parse(self) -> bool:
        return True

    def operate(self, operation: str, arguments: dict[str, Any], out: Any) -> list[str]:
        self.called.append((operation, arguments))
        verb = "would go" if arguments["dry_run"] else "going"
        line = f"orders: {verb} back" if self.work else "orders: nothing to roll back"
        out.print(line)
        return ["dbt says something", line]


@pytest.fixture
def dbt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Dbt:
    dbt = Dbt()
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    monkeypatch.chdir(tmp_path)
    for name in ("TIDEMARK_HOME", "DBT_LOG_PATH", "DBT_TARGET_PATH"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr("tidemark.operate.cli.Invoker", lambda *_: dbt)
    return dbt


def test_said_then_done(dbt: Dbt) -> None:
    result = CliRunner().invoke(cli.cli, ["rollback", "orders", "--to", "2026-03-04", "--yes"])
    assert result.exit_code == 0, result.exception
    assert result.stdout.splitlines() == ["orders: going back"]
    given = {"entity": "orders", "to": "2026-03-04"}
    assert dbt.called == [
        ("rollback", {**given, "dry_run": True}),
        ("rollback", {**given, "dry_run": False}),
    ]


@pytest.mark.parametrize(("answer", "code", "calls"), [("y\n", 0, 2), ("n\n", 1, 1), ("\n", 1, 1)])
def test_asked(
    dbt: Dbt, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, calls: int
) -> None:
    monkeypatch.setattr("tidemark.operate.cli._can_ask", lambda: True)
    result = CliRunner().invoke(cli.cli, ["compact", "orders"], input=answer)
    assert (result.exit_code, len(dbt.called)) == (code, calls)
    assert "Go ahead? [y/N]" in result.stderr


def test_clones__of_what_is_selected(dbt: Dbt, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [
        SimpleNamespace(name=name, config=SimpleNamespace(materialized=kind))
        for name, kind in (("orders", "cdc"), ("versions", "scd2"), ("plain", "view"))
    ]
    monkeypatch.setattr(dbt, "selected", lambda: nodes, raising=False)

    def called(*arguments: str) -> tuple[int, list[tuple[str, dict[str, Any]]]]:
        dbt.called.clear()
        result = CliRunner().invoke(cli.cli, [*arguments, "--yes"])
        return result.exit_code, [(name, of) for name, of in dbt.called if not of["dry_run"]]

    given = {"to": "dev", "replace": True, "dry_run": False}
    assert called("clone", "--to", "dev", "--replace") == (
        0,
        [("clone", {"entity": name, **given}) for name in ("orders", "versions")],
    )
    promoted = ("promote", {"entity": "orders", "schema": "dev", "dry_run": False})
    assert called("promote", "dev") == (0, [promoted])
    assert called("clone", "--to", "dev", "--replace", "--remove") == (2, [])
    nodes[:] = nodes[2:]
    assert called("promote", "dev") == (1, [])


def test_nobody_to_ask__nothing_is_done(dbt: Dbt) -> None:
    result = CliRunner().invoke(cli.cli, ["clean", "orders"])
    assert "Add --yes" in str(result.exception) and isinstance(result.exception, ConfigError)
    assert [arguments["dry_run"] for _, arguments in dbt.called] == [True]


def test_dry_run_and_nothing_to_do__end_there(dbt: Dbt) -> None:
    assert CliRunner().invoke(cli.cli, ["clean", "orders", "--dry-run"]).exit_code == 0
    dbt.work = 0
    assert CliRunner().invoke(cli.cli, ["clean", "orders"]).exit_code == 0
    assert [arguments["dry_run"] for _, arguments in dbt.called] == [True, True]


@pytest.mark.parametrize(
    ("line", "operation", "arguments"),
    [
        ("rollback orders --to 260304093000123 --together", "rollback", {"to": 260304093000123, "together": True}),
        ("restate orders --from 2026-03-04", "restate", {"from": "2026-03-04"}),
        ("rehash orders", "rehash", {}),
        ("rebuild orders", "rebuild", {}),
        ("rehash orders --drop fax --drop tel", "rehash", {"drop": ["fax", "tel"]}),
        ("savepoint orders", "savepoint", {}),
        ("savepoint orders --commit 7 --name x --remove", "savepoint", {"commit": 7, "name": "x", "remove": True}),
        ("clean orders --retention superseded:\u00a030", "clean", None),
        ("clean orders --retention [2026-02-30]", "clean", None),
        ("clean orders --retention {superseded:30_days} --vacuum", "clean", {"retention": {"superseded": "30 days"}, "vacuum": True}),
        ("compact orders --target-file-size 1MB --max-partitions 3", "compact", {"target_file_size": "1MB", "max_partitions": 3}),
        ("erase orders NULL 'NULL'", "erase_key", {"key": {"id": None, "line": "NULL"}, "confirm": True}),
        ("erase orders 7 x --vacuum", "erase_key", {"key": {"id": "7", "line": "x"}, "vacuum": True, "confirm": True}),
    ],
)  # fmt: skip
def test_arguments(dbt: Dbt, line: str, operation: str, arguments: dict[str, Any] | None) -> None:
    words = [
        word.replace("{superseded:30_days}", "superseded: 30 days") for word in line.split(" ")
    ]
    result = CliRunner().invoke(cli.cli, [*words, "--yes"])
    if arguments is None:
        assert "--retention must be a YAML mapping" in str(result.exception)
        return
    assert result.exit_code == 0, result.exception
    (called, with_) = dbt.called[-1]
    if "key" in arguments:
        # dbt logs what it is called with: the values go another way
        with_ = {**with_, "key": given(with_["key"])}
    assert (called, with_) == (operation, {"entity": "orders", **arguments, "dry_run": False})
    # what a macro asks to be confirmed is not, before it was
    assert "confirm" not in dbt.called[0][1]


def test_erase__dbt_does_not_log_how_it_was_called(
    dbt: Dbt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["tidemark", "erase", "orders", "7", "ann@example.org", "-y"])
    result = CliRunner().invoke(cli.cli, ["erase", "orders", "7", "ann@example.org", "--yes"])
    assert result.exit_code == 0, result.exception
    assert sys.argv == ["tidemark", "erase", "orders", "***", "***", "-y"]


def test_traces__of_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of the shell's history go; other files are named, unless the key is a word of every text."""
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path))
    history = tmp_path / "shell_history"
    history.write_text(
        "\n# 2026-03-01 10:00:00\n+history people ann@example.org 17\n"
        "\n# 2026-03-01 10:00:01\n+history people joann@example.org 17\n"
    )
    for name, text in {
        "logs/dbt.log": "17\nkey 'ann@example.org', 17\n",
        "logs/spark.log": "joann@example.org 17\n",
        "target/run_results.json": '{"args": [\n"ann@example.org",\n17]}',
        "warehouse/people/a.json": "ann@example.org 17",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = ["logs/dbt.log", "target/run_results.json"]
    assert traces.forget(["ann@example.org", "17"]) == found
    assert history.read_text().split("+") == [
        "\n# 2026-03-01 10:00:01\n",
        "history people joann@example.org 17\n",
    ]
    assert history.stat().st_mode & 0o777 == 0o600
    assert traces.forget(["17"]) == [] and traces.forget([]) == []


def a_model(name: str, alias: str, package: str = "shop", kind: str = "cdc") -> dict[str, Any]:
    config = {"materialized": kind, "unique_key": [alias], "meta": {}}
    return {"name": name, "alias": alias, "schema": "lake", "package_name": package,
            "resource_type": "model", "config": config}  # fmt: skip


SAME_NAMES = [
    a_model("dim", "dim_v1"), a_model("dim", "dim_v2"),
    a_model("orders", "pkg_orders", "pkg"), a_model("orders", "orders"),
    a_model("facts", "a_facts"),
]  # fmt: skip


def test_several_models_of_one_name__are_called_by_their_tables() -> None:
    """dbt allows it of versions, and of models of packages."""
    manifest = SimpleNamespace(
        nodes={str(number): SimpleNamespace(**one) for number, one in enumerate(SAME_NAMES)},
        metadata=SimpleNamespace(project_name="shop"),
    )
    found = entities_of(manifest)
    assert {name: one.table for name, one in found.items()} == {
        "lake.dim_v1": "dim_v1", "lake.dim_v2": "dim_v2", "orders": "orders",
        "lake.pkg_orders": "pkg_orders", "facts": "a_facts",
    }  # fmt: skip
    assert all(name == one.name and one.key == (one.table,) for name, one in found.items())

    macros = load_macros("operations", "read")
    context = macros["entity_node"].context
    context["graph"] = SimpleNamespace(nodes=dict(enumerate(SAME_NAMES)))
    context["project_name"] = "shop"
    for name, one in [*found.items(), ("dim_v2", found["lake.dim_v2"])]:
        assert macros["entity_node"](name)["alias"] == one.table
    for name in ("lake.dim_v2", "orders"):
        assert macros["committed_relation"](name, {}) == found[name].relation
    with pytest.raises(MacroError, match=r"named dim\. .* lake.dim_v1 or lake.dim_v2"):
        macros["entity_node"]("dim")
    with pytest.raises(MacroError, match="several models named dim"):
        macros["committed_relation"]("dim", {})


def test_operations_of_several_kinds__take_the_model_that_is_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    models = [
        a_model("orders", "pkg_orders", "pkg", "feed"), a_model("orders", "orders"),
        a_model("events", "events_v1", kind="atomic"), a_model("events", "events_v2", kind="atomic"),
        a_model("clicks", "clicks", kind="shred"), a_model("changes", "changes", kind="feed"),
    ]  # fmt: skip
    macros = load_macros("config", "expr", "load", "operations", "read")
    context = macros["clean"].context
    context["graph"] = SimpleNamespace(nodes=dict(enumerate(models)))
    context["project_name"] = "shop"
    taken: list[tuple[str, str]] = []

    def take(name: str) -> Any:
        def called(_: Any, model: Any, *__: Any) -> Any:
            taken.append((name, model if isinstance(model, str) else model["alias"]))
            raise Taken

        return called

    for module, name in [
        (clean, "clean_enriched"), (clean, "clean_feed"), (clean, "open_entity"),
        (rollback, "open_entity"), (batches, "open_atomic"),
    ]:  # fmt: skip
        monkeypatch.setattr(module, name, take(name))
    for operation, entity, expected in [
        ("clean", "orders", ("open_entity", "orders")),
        ("clean", "lake.pkg_orders", ("clean_feed", "pkg_orders")),
        ("clean", "lake.events_v2", ("clean_enriched", "events_v2")),
        ("clean", "clicks", ("clean_enriched", "clicks")),
        ("clean", "changes", ("clean_feed", "changes")),
        ("rollback", "orders", ("open_entity", "orders")),
        ("rollback", "lake.events_v1", ("open_atomic", "events_v1")),
    ]:
        with pytest.raises(Taken):
            macros[operation](entity)
        assert taken.pop() == expected
    assert macros["committed_relation"]("lake.events_v2", {}) == "lake.events_v2"
    for operation in ("clean", "rollback"):
        with pytest.raises(MacroError, match=r"lake.events_v1 or lake.events_v2"):
            macros[operation]("events")


class Taken(Exception):
    """A macro was called."""


def test_entity_that_is_not_there(dbt: Dbt) -> None:
    result = CliRunner().invoke(cli.cli, ["rehash", "ordres"])
    assert "Did you mean 'orders'?" in str(result.exception) and not dbt.called


def test_key__of_another_number_of_columns(dbt: Dbt) -> None:
    result = CliRunner().invoke(cli.cli, ["erase", "orders", "7"])
    assert "the key of orders is id, line: give 2 values, found 1" in str(result.exception)
    without = Entity("lines", "cdc", "shop", "lines")
    with pytest.raises(ConfigError, match="the key of lines is none"):
        with_key(Operation("erase_key", "lines"), without, ("7",))


def test_error__of_the_operation_ends_it(dbt: Dbt) -> None:
    def refuse(*_: Any) -> list[str]:
        raise ConfigError("orders: is being loaded")

    dbt.operate = refuse  # type: ignore[method-assign]
    with pytest.raises(ConfigError, match="is being loaded"):
        operate(dbt, Asked(yes=True), lambda one: Operation("clean", one.name), "orders")  # type: ignore[arg-type]


def test_error__once_it_was_begun_is_told_by_its_exit_code(dbt: Dbt) -> None:
    said = dbt.operate

    def fail(operation: str, arguments: dict[str, Any], out: Any) -> list[str]:
        if not arguments["dry_run"]:
            raise ConfigError("orders: 3 rejects on 2026-03-15")
        return said(operation, arguments, out)

    dbt.operate = fail  # type: ignore[method-assign]
    line = ["restate", "orders", "--from", "2026-03-01", "--yes"]
    result = CliRunner().invoke(cli.cli, line)
    assert result.exit_code == 3, result.exception
    assert "Error: orders: 3 rejects on 2026-03-15\nit stopped on the way" in result.stderr


def test_every_operation_says_what_it_would() -> None:
    """The word by which `operate` knows that there is something to do is in each dry run."""
    folder = Path(operations.__file__).parent
    names = ["rollback", "batches", "restate", "rehash", "rebuild", "savepoint", "clean",
             "clean_feed", "clean_enriched", "compact", "erase_key"]  # fmt: skip
    for name in names:
        assert re.search("[\"']would ", (folder / f"{name}.py").read_text()), name


def test_reports__count_by_their_noun() -> None:
    """Of one row no operation says "1 rows": tidemark.printable.counted() tells both."""
    plural = re.compile(
        r"\} (\w+ )?(rows|dates|events|files|changes|versions|commits|entities)\b[^\n]*"
    )
    folder = Path(operations.__file__).parent
    found = [
        f"{path.name}: {one[0]}"
        for path in sorted(folder.glob("*.py"))
        for one in plural.finditer(path.read_text())
    ]
    assert not found
