"""`tidemark shell`: lines, what Tab offers, what a command does to the shell, what is noticed."""

from __future__ import annotations

import datetime as dt
import io
import json
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.base import PipeInput
from prompt_toolkit.output import DummyOutput
from pyspark.sql import Row
from pyspark.sql.types import FloatType, IntegerType, StructType
from rich.console import Console

from tidemark.cli import COMMANDS, call, cli
from tidemark.errors import ConfigError, TidemarkError
from tidemark.read.commits import Commit
from tidemark.read.project import Entity, KnownProject
from tidemark.run.options import RunOptions
from tidemark.shell.cli import serve
from tidemark.shell.commands import NOT_OFFERED, ShellGroup, described_commands
from tidemark.shell.complete import ShellCompleter
from tidemark.shell.lines import Leave, begun_words, words_of
from tidemark.shell.loop import execute_line, interact, line_editor, run_lines
from tidemark.shell.names import LANDED, LOADED, Names, ProjectNames
from tidemark.shell.query import Rows, json_rows, query_rows, render_rows, shown
from tidemark.shell.warm import Warm

# --- lines


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("   # a comment", []),
        ("status", ["status"]),
        ("  tidemark run -s airports+  ", ["run", "-s", "airports+"]),
        ("tidemark", []),
        ("history 'order lines' 7 # why", ["history", "order lines", "7"]),
        ("sql", ["sql"]),
        ("sql select 'a # b', \"c\" from t where x = 'it''s';",
         ["sql", "--", "select 'a # b', \"c\" from t where x = 'it''s'"]),
        ("sql --limit 5 --json select 1", ["sql", "--limit", "5", "--json", "--", "select 1"]),
        ("sql --limit=5 select -1", ["sql", "--limit=5", "--", "select -1"]),
        ("sql -- a comment", ["sql", "--", "-- a comment"]),
        ("sqlite", ["sqlite"]),
    ],
)  # fmt: skip
def test_words(line: str, words: list[str]) -> None:
    assert words_of(line) == words


def test_words__a_quote_without_end() -> None:
    with pytest.raises(ConfigError, match=r"the line cannot be read .no closing quotation"):
        words_of("history airports 'WIPO")


def test_begun_words() -> None:
    assert begun_words("") == ([], "")
    assert begun_words("  tidemark ru") == ([], "ru")
    assert begun_words('history "order lines" 4') == (["history", "order lines"], "4")


# --- completion


class ShopNames(Names):
    """Of a shop."""

    models = ("customers", "orders", "stg_orders")
    entities = ("customers", "orders")

    def columns(self, model: str) -> tuple[str, ...]:
        return {"customers": ("id", "city"), "orders": ("id", "total")}.get(model, ())

    def dates(self, entities: Iterable[str]) -> dict[dt.date, str]:
        first = {dt.date(2026, 3, 1): LOADED}
        return first if "customers" in entities else {dt.date(2026, 3, 2): LANDED, **first}


@pytest.fixture(scope="module")
def completer() -> ShellCompleter:
    group = ShellGroup(name="tidemark")
    ctx = click.Context(group)
    return ShellCompleter(
        lambda: described_commands(group), lambda name: group.get_command(ctx, name), ShopNames
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("sta", ["status"]),
        ("re", ["rebuild", "rehash", "rejects", "reload", "replay", "report", "restate"]),
        ("help hist", ["history"]),
        ("status ", ["customers", "orders"]),
        ("status customers or", ["orders"]),
        ("status --j", ["--json"]),
        ("history cu", ["customers"]),
        ("history customers ", []),
        ("run --sel", ["--select"]),
        ("run --select ", ["customers", "orders", "stg_orders"]),
        ("run --select +st", ["stg_orders"]),
        ("run -s customers -s or", ["orders"]),
        ("run --select=cust", ["customers"]),
        ("run --business-date ", ["2026-03-02", "2026-03-01"]),
        ("run --select customers+ --business-date ", ["2026-03-01"]),
        ("run --business-date 2026-03-01,2026-03-0", ["2026-03-02", "2026-03-01"]),
        ("run --business-date 2026-03-01..2026-03-02", ["2026-03-02"]),
        ("run --build --business-date 2026-03-02", ["2026-03-02"]),
        ("changes customers --date ", ["2026-03-01"]),
        ("diff orders 2026-03-02 ", ["2026-03-02", "2026-03-01"]),
        ("diff --samples 3 ", ["customers", "orders"]),
        ("diff orders ", ["customers", "orders", "2026-03-02", "2026-03-01"]),
        ("rehash customers --drop ci", ["city"]),
        ("feed orders --where to", ["total"]),
        ("feed orders --from 2026-03-01", ["2026-03-01"]),
        ("init --format p", ["parquet"]),
        ("datagen scen", ["scenario", "scenarios"]),
        ("datagen scenario null_k", ["null_key", "null_key_allowed"]),
        ("test or", ["orders"]),
        ("sql select c", ["customers", "customers__log", "customers__history"]),
        ("sql select tot", []),
        ("sql select * from orders__log where tot", ["total"]),
        ("sql --li", ["--limit"]),
        ("nonsense ", []),
    ],
)
def test_completion(completer: ShellCompleter, text: str, wanted: list[str]) -> None:
    found = completer.suggestions(text)
    assert sorted(one.text for one in found) == sorted(wanted)
    assert all(text.endswith(text[len(text) - one.replaces :]) for one in found)


def test_completion__says_what_is_loaded(completer: ShellCompleter) -> None:
    found = completer.suggestions("run --business-date 2026-03-01,20")
    assert [(one.text, one.replaces, one.about) for one in found] == [
        ("2026-03-02", 2, LANDED),
        ("2026-03-01", 2, LOADED),
    ]


def test_completion__of_files(
    completer: ShellCompleter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing" / "a.csv").touch()
    (tmp_path / ".hidden").touch()
    monkeypatch.chdir(tmp_path)
    assert [one.text for one in completer.suggestions("init ")] == ["landing/"]
    (found,) = completer.suggestions("init landing/a")
    assert (found.text, found.replaces) == ("a.csv", 1)
    assert completer.suggestions("init nowhere/") == []


def test_names__of_the_yaml_and_of_what_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "landing").mkdir()
    for day in ("2026-03-01", "2026-03-02"):
        (tmp_path / "landing" / f"{day}.csv").touch()
    entity = Entity("orders", "cdc", "shop", "orders", location="landing/{business_date}.csv")
    project = KnownProject(tmp_path, str(tmp_path / "wh"), "shop", "delta", {"orders": entity})
    nodes = {
        name: SimpleNamespace(name=name, columns={"id": 1}, resource_type=kind)
        for name, kind in (("orders", "model"), ("codes", "seed"), ("a_test", "test"))
    }
    names = ProjectNames(SimpleNamespace(nodes=nodes), project)
    assert names.models == ("codes", "orders") and names.entities == ("orders",)
    assert names.tables == ("codes", "orders", "orders__history", "orders__log")
    assert names.columns("orders") == ("id",) and names.columns("none") == ()
    first, second = dt.date(2026, 3, 1), dt.date(2026, 3, 2)
    assert names.dates([]) == {second: LANDED, first: LANDED}
    commit = Commit(1, "shop.orders", "orders", "load", first, "completed", dt.datetime.now(dt.UTC))
    monkeypatch.setattr("tidemark.shell.names.read_commits", lambda _: [commit])
    assert names.dates(["orders"])[first] == LANDED
    names.forget()
    assert names.dates(["orders"]) == {second: LANDED, first: LOADED}


# --- doing lines


def test_lines__until_one_fails(capsys: pytest.CaptureFixture[str]) -> None:
    done: list[str] = []

    def do(line: str) -> int:
        done.append(line)
        if line == "exit":
            raise Leave
        return {"bad": 2}.get(line, 0)

    assert run_lines(["a", "bad", "b"], do) == 2
    assert capsys.readouterr().err == "the shell ended at line 2 with exit code 2: bad\n"
    assert run_lines(["c", "exit", "d"], do) == 0
    assert run_lines([], do) == 0
    assert done == ["a", "bad", "c", "exit"]


def test_line__whatever_goes_wrong(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path))

    def execute(words: list[str]) -> int:
        raise {"a": KeyboardInterrupt, "b": TidemarkError("not so"), "c": ValueError}[words[0]]

    assert [execute_line(line, execute, words_of) for line in ("a", "b", "c", "'", "#")] == [
        130, 2, 1, 2, 0,
    ]  # fmt: skip
    said = capsys.readouterr().err
    assert "Error: not so" in said and "ValueError" in said and "no closing quotation" in said
    assert "Traceback" not in said and str(tmp_path / "logs" / "tidemark.log") in said


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        yield keys


def test_terminal__edits_completes_keeps_ctrl_c_and_ctrl_d(
    keys: PipeInput, completer: ShellCompleter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []

    def do(line: str) -> int:
        done.append(line)
        return 130 if line.startswith("status") else 0

    history = tmp_path / "home" / "shell_history"
    editor = line_editor(history, completer)

    def type_on() -> None:
        # completion is work of another thread, which Enter would overtake
        while editor.default_buffer.text != "status":
            time.sleep(0.01)
        keys.send_text("\rrejected\x03runs\r\x04")

    # Tab completes the only choice; Ctrl-C gives the line up; Ctrl-D ends the shell
    keys.send_text("erase people ann\r")
    keys.send_text("statu\t")
    typing = threading.Thread(target=type_on, daemon=True)
    typing.start()
    interact(editor, "shop", do)
    assert done == ["erase people ann", "status", "runs"]
    # a key that is erased is not kept here
    assert "runs" in history.read_text() and "erase" not in history.read_text()
    assert "interrupted" in capsys.readouterr().err
    # what was typed is there the next time
    keys.send_text("\x1b[A\r\x04")
    interact(line_editor(history, completer), "shop", do)
    assert done[-1] == "runs"
    assert "+status" in history.read_text()


def test_terminal__exit(keys: PipeInput, completer: ShellCompleter, tmp_path: Path) -> None:
    def do(line: str) -> int:
        raise Leave

    keys.send_text("exit\r")
    interact(line_editor(tmp_path / "history", completer), "shop", do)


# --- commands


def test_commands__all_of_tidemark_that_fit_and_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    group = ShellGroup(name="tidemark")
    ctx = click.Context(group)
    there = set(cli.list_commands(ctx))
    assert NOT_OFFERED <= there
    assert set(group.list_commands(ctx)) == (there - NOT_OFFERED) | {
        "exit", "help", "reload", "sql", "test",
    }  # fmt: skip
    # one that is registered later
    monkeypatch.setitem(COMMANDS, "plan", ("tidemark.check.cli", "check"))
    assert "plan" in group.list_commands(ctx) and group.get_command(ctx, "plan") is not None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["capture"],
            "the shell has no `capture`: call `tidemark capture` in another terminal",
        ),
        (["statsu"], "Did you mean 'status'?"),
        (["status", "--nonsense"], "No such option"),
        (["sql"], "sql needs a query, such as"),
        (["help", "statsu"], "Did you mean 'status'?"),
    ],
)
def test_commands__told_in_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(ShellGroup(name="tidemark"), words) == 2
    told = capsys.readouterr().err
    assert said in told and "Traceback" not in told


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    group = ShellGroup(name="tidemark")
    assert call(group, ["help"]) == 0 and call(group, ["help", "sql"]) == 0
    said = capsys.readouterr().out
    assert "Show the state of each entity." in said and "Usage: tidemark sql" in said


def test_defaults__of_the_shell_are_those_of_its_commands(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []

    @click.group()
    def group() -> None: ...

    @group.command()
    @click.option("--target")
    @click.option("--vars", "vars_text")
    @click.pass_context
    def status(ctx: click.Context, **given: Any) -> None:
        seen.append(given)
        ctx.exit(3)

    defaults = {"status": {"target": "ci", "vars_text": "a: 1", "project_dir": tmp_path}}
    assert call(group, ["status", "--target", "dev"], defaults=defaults) == 3
    assert seen == [{"target": "dev", "vars_text": "a: 1"}]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunOptions:
    (tmp_path / "models").mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    (tmp_path / "models" / "a.yml").write_text("models: []")
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path / "home"))
    return RunOptions(
        dates=[], project_dir=tmp_path, profiles_dir=tmp_path, target="ci", vars={"a": 1}
    )


def test_test__is_that_of_dbt(shop: RunOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[RunOptions] = []
    monkeypatch.setattr(
        "tidemark.run.cli.run_dates", lambda options, *_: asked.append(options) or 1
    )
    warm = Warm(shop, Console(quiet=True))
    group = ShellGroup(name="tidemark")
    words = ["test", "orders", "--select", "customers+", "--business-date", "2026-03-01"]
    assert call(group, words, obj=warm) == 1
    assert call(group, ["test", "--target", "prod", "--vars", "a: 2"], obj=warm) == 1
    options, other = asked
    assert options.test and options.select == ["orders", "customers+"]
    assert options.dates == [dt.date(2026, 3, 1)]
    assert (options.target, options.vars) == ("ci", {"a": 1})
    assert (other.target, other.vars) == ("prod", {"a": 2})


def test_pipe__its_exit_code_is_that_of_the_command_that_failed(
    shop: RunOptions, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = Console(quiet=True)
    lines = ["# a story\n", "\n", "schema --events\n", "nonsense\n", "schema\n"]
    assert serve(shop, {}, talk, lines) == 2
    assert json.loads(capsys.readouterr().out)["title"]
    assert serve(shop, {}, talk, ["exit\n", "nonsense\n"]) == 0


@pytest.mark.parametrize(
    ("line", "code"), [("diff a b", 0), ("plan", 0), ("replay", 0), ("status", 2)]
)
def test_pipe__goes_on_where_something_differs(
    shop: RunOptions, monkeypatch: pytest.MonkeyPatch, line: str, code: int
) -> None:
    monkeypatch.setattr("tidemark.shell.cli.call", lambda *_, **__: 2)
    assert serve(shop, {}, Console(quiet=True), [line]) == code


def test_shell__needs_a_project(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["shell", "--project-dir", str(tmp_path)], input="status\n")
    assert "no dbt_project.yml" in str(result.exception)


# --- what is noticed


class Invoker:
    """A stand-in for dbt: parses anew if it is asked to."""

    parsed = 0
    fails = False

    def __init__(self, options: RunOptions, talk: Console) -> None:
        self.manifest = SimpleNamespace(nodes={})

    def parse(self) -> bool:
        Invoker.parsed += 1
        return not Invoker.fails


@pytest.fixture
def warm(shop: RunOptions, monkeypatch: pytest.MonkeyPatch) -> Warm:
    Invoker.parsed, Invoker.fails = 0, False
    monkeypatch.setattr("tidemark.shell.warm.Invoker", Invoker)
    project = KnownProject(shop.project_dir, "wh", "shop", "delta")
    monkeypatch.setattr("tidemark.shell.warm.remember_project", lambda *_: project)
    return Warm(shop, Console(file=io.StringIO(), width=200))


def told(warm: Warm) -> str:
    return warm._talk.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_warm__notices_only_what_was_saved(warm: Warm) -> None:
    assert warm.title == "shop"
    assert warm.parse() and Invoker.parsed == 1
    assert not warm.notice() and Invoker.parsed == 1
    file = warm.options.project_dir / "models" / "a.yml"
    file.write_text("models: [] # saved")
    (warm.options.project_dir / "landing.csv").write_text("id\n")
    assert warm.notice() and not warm.notice()
    assert Invoker.parsed == 2
    assert told(warm).startswith("models/a.yml changed: read in ")


def test_warm__a_project_that_cannot_be_parsed(warm: Warm) -> None:
    warm.parse()
    before = warm.names
    Invoker.fails = True
    (warm.options.project_dir / "models" / "a.yml").write_text("models: [")
    assert warm.notice()
    assert "models/a.yml changed: not usable" in told(warm)
    assert warm.names is before
    with pytest.raises(ConfigError, match="cannot be parsed"):
        warm.parsed()
    (warm.options.project_dir / "dbt_project.yml").write_text("name: [")
    assert warm.title == warm.options.project_dir.name


def test_warm__follows_until_nobody_listens(warm: Warm) -> None:
    class Changes:
        left = 2

        def wait(self) -> bool:
            self.left -= 1
            file = warm.options.project_dir / "models" / "a.yml"
            file.write_text("#" * self.left + str(time.monotonic_ns()))
            return self.left >= 0

    warm.follow(Changes())  # type: ignore[arg-type]
    assert told(warm).count("models/a.yml changed") == 2

    class Refused:
        def wait(self) -> bool:
            raise TidemarkError("files cannot be watched: no inotify")

    warm.follow(Refused())  # type: ignore[arg-type]
    assert "no inotify" in told(warm)


# --- sql


class Session:
    """A stand-in for Spark's: numbers up to five."""

    def __init__(self, error: Exception | None = None) -> None:
        self.database, self.error, self.seen = "default", error, ""
        self.catalog = SimpleNamespace(
            currentDatabase=lambda: self.database,
            databaseExists=lambda name: name == "shop",
            setCurrentDatabase=lambda name: setattr(self, "database", name),
        )
        self.sparkContext = SimpleNamespace(cancelAllJobs=lambda: None)

    def sql(self, text: str) -> Any:
        self.seen = f"{self.database}: {text}"
        if self.error is not None:
            raise self.error
        rows = [(1, None), (2, 0.10000000149011612), (3, 0.5)]
        schema = StructType().add("n", IntegerType()).add("n", FloatType())
        return SimpleNamespace(
            columns=["n", "n"] if text.startswith("select") else [],
            limit=lambda n: SimpleNamespace(collect=lambda: rows[:n], schema=schema),
        )


def test_query__in_the_schema_of_the_project_and_no_further() -> None:
    session = Session()
    rows = query_rows(session, "shop", "select 1", 2)
    assert rows == Rows(["n", "n"], [(1, None), (2, 0.1)], True)
    assert (session.seen, session.database) == ("shop: select 1", "default")
    assert not query_rows(session, "shop", "select 1", 3).has_more
    assert query_rows(session, "not_there_yet", "set a = 1", 3).values == []
    failing = Session(ValueError("no such column"))
    with pytest.raises(TidemarkError, match="no such column"):
        query_rows(failing, "shop", "select 1", 2)
    assert failing.database == "default"


def test_rows__as_a_table_and_as_json() -> None:
    out = Console(file=io.StringIO(), width=80)
    rows = Rows(["id", "[b]"], [(1, None), (2, "[red]x")], False)
    out.print(render_rows(rows))
    text = out.file.getvalue()  # type: ignore[attr-defined]
    assert "NULL" in text and "[red]x" in text and "[b]" in text
    assert json.loads(json_rows(rows)) == [{"id": 1, "[b]": None}, {"id": 2, "[b]": "[red]x"}]
    struct = Row(a=1)
    day = dt.date(2026, 3, 1)
    assert json.loads(json_rows(Rows(["s", "d", "b"], [(struct, day, b"\x01")], False))) == [
        {"s": {"a": 1}, "d": "2026-03-01", "b": "01"}
    ]
    assert shown([struct, day]) == '[{"a": 1}, "2026-03-01"]'
    # two columns of a name are two, a map may have any keys, and not every number is one of JSON
    twice = Rows(["n", "n", "n_2"], [({day: 1}, float("nan"), Row(b=[struct]))], False)
    assert json.loads(json_rows(twice)) == [
        {"n": {"2026-03-01": 1}, "n_2": "NaN", "n_2_2": {"b": [{"a": 1}]}}
    ]
    assert shown({day: struct}) == '{"2026-03-01": {"a": 1}}'
    assert shown("x" * 200).endswith("…")
