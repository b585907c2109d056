"""`tidemark run`: what is typed, and what dbt is told."""

from __future__ import annotations

import datetime as dt
import io
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from tidemark import cli
from tidemark.errors import ConfigError, MetastoreBusyError
from tidemark.run.cli import run_dates
from tidemark.run.dates import date_ranges, extract_path, parse_business_dates
from tidemark.run.dbt_messages import answers_in, counts_of, operation_error, without_stacks
from tidemark.run.invoke import Invoker, Outcome
from tidemark.run.nodes import dated_location, fresh_copy, is_entity
from tidemark.run.options import (
    RunOptions,
    command_line,
    find_profiles,
    find_project,
    parse_vars,
)
from tidemark.run.refused import check_may_write
from tidemark.run.report import (
    COUNTS,
    ModelResult,
    print_whole,
    render_changes,
    render_summary,
    render_table,
)
from tidemark.run.varies import date_decides, parsing_varies


def days(*texts: str) -> list[dt.date]:
    return [dt.date.fromisoformat(text) for text in texts]


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        ([], []),
        (["2026-03-04"], ["2026-03-04"]),
        (["2026-03-05, 2026-03-04"], ["2026-03-05", "2026-03-04"]),
        (["2026-02-27..2026-03-01"], ["2026-02-27", "2026-02-28", "2026-03-01"]),
        (["2026-03-04..2026-03-04"], ["2026-03-04"]),
        (["2026-03-04", "2026-03-03..2026-03-05"], ["2026-03-04", "2026-03-03", "2026-03-05"]),
    ],
)
def test_parse_business_dates(texts: list[str], wanted: list[str]) -> None:
    assert parse_business_dates(texts) == days(*wanted)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2026-13-01", "'2026-13-01' is not a date"),
        ("20260304", "is not a date"),
        ("today", "'today' is not a date"),
        ("", "'' is not a date"),
        ("2026-03-04,", "'' is not a date"),
        ("2026-03-05..2026-03-04", "ends before it begins: write 2026-03-04..2026-03-05"),
        ("2026-03-05...2026-03-06", "is not a date"),
    ],
)
def test_parse_business_dates__refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_business_dates([text])
    assert said in str(raised.value)


def test_parse_business_dates__all_problems_at_once() -> None:
    with pytest.raises(ConfigError, match=r"'x' is not a date.*'y' is not a date"):
        parse_business_dates(["x", "2026-03-04,y"])


def test_extract_path() -> None:
    date = dt.date(2026, 3, 4)
    assert extract_path("a_{business_date}.csv", date) == "a_2026-03-04.csv"
    assert extract_path("{yyyy}/{mm}/{dd}/*.csv", date) == "2026/03/04/*.csv"


@pytest.mark.parametrize(
    ("dates", "said"),
    [
        ([], ""),
        (["2026-01-01"], "2026-01-01"),
        (["2026-02-01", "2026-01-31"], "2026-01-31..2026-02-01"),
        (
            ["2026-01-01", "2026-01-03", "2026-01-04", "2026-01-05", "2026-01-07"],
            "2026-01-01, 2026-01-03..2026-01-05, 2026-01-07",
        ),
    ],
)
def test_date_ranges(dates: list[str], said: str) -> None:
    assert date_ranges(days(*dates)) == said
    assert set(parse_business_dates(said.split(", ") if said else [])) == set(days(*dates))


def test_parse_vars() -> None:
    assert parse_vars(None) == {}
    assert parse_vars("{allow_deletes: true}") == {"allow_deletes": True}
    assert parse_vars("a: 1\nb: x") == {"a": 1, "b": "x"}
    for text in ("- a", "{a: ", "word", "{business_date: 2026-13-01}", "{at: 2026-01-01 25:00:00}"):
        with pytest.raises(ConfigError, match="--vars"):
            parse_vars(text)


def test_command_line() -> None:
    options = RunOptions(
        dates=[],
        select=["a+", "b"],
        exclude=["c"],
        vars={"allow_deletes": True},
        project_dir=Path("/p"),
        profiles_dir=Path("/q"),
        target="ci",
        threads=3,
        build=True,
    )
    command = command_line(options, dt.date(2026, 3, 4), full_refresh=True)
    assert command[:5] == ["build", "--select", "a+", "b", "--exclude"]
    assert "--full-refresh" in command
    assert command[command.index("--threads") + 1] == "3"
    assert command[command.index("--profiles-dir") + 1] == "/q"
    assert json.loads(command[command.index("--vars") + 1]) == {
        "allow_deletes": True,
        "business_date": "2026-03-04",
    }
    plain = command_line(RunOptions(dates=[]), None, full_refresh=False)
    assert plain[0] == "run" and "--vars" not in plain and "--full-refresh" not in plain


def test_find_project_and_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBT_PROFILES_DIR", raising=False)
    (tmp_path / "dbt_project.yml").touch()
    (tmp_path / "models" / "deep").mkdir(parents=True)
    assert find_project(tmp_path / "models" / "deep") == tmp_path
    assert find_profiles(tmp_path) is None
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "profiles.yml").touch()
    assert find_profiles(tmp_path) == tmp_path / "profiles"
    (tmp_path / "profiles.yml").touch()
    assert find_profiles(tmp_path) == tmp_path
    monkeypatch.setenv("DBT_PROFILES_DIR", "/elsewhere")
    assert find_profiles(tmp_path) is None


def manifest(
    raw_code: str = "",
    macro: str = "",
    package: str = "mine",
    yaml: str = "",
    owner: str = "mine",
    root: str = "mine",
) -> Any:
    path = SimpleNamespace(absolute_path=yaml)
    return SimpleNamespace(
        metadata=SimpleNamespace(project_name=root),
        nodes={"a": SimpleNamespace(raw_code=raw_code, package_name=owner)},
        disabled={},
        macros={
            "m": SimpleNamespace(
                unique_id="macro.m", name="m", macro_sql=macro, package_name=package
            )
        },
        files={"f": SimpleNamespace(path=path, project_name=owner)},
    )


def test_parsing_varies(tmp_path: Path) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: x")
    location = tmp_path / "a.yml"
    location.write_text("location: a_{business_date}.csv")
    jinja = tmp_path / "b.yml"
    jinja.write_text("enabled: \"{{ var('business_date') > '2026' }}\"")

    def reads(**parts: str) -> bool:
        return parsing_varies(manifest(**parts), tmp_path)

    assert not reads(raw_code="{{ tidemark.extract() }}", yaml=str(location))
    assert not reads(macro="{{ var('business_date') }}", package="tidemark")
    assert reads(raw_code="{{ ref('a_' ~ var(\"business_date\")) }}")
    assert reads(macro="{% macro m() %}{% if var('business_date') %}a{% endif %}{% endmacro %}")
    assert reads(yaml=str(jinja))
    # a column of that name is no var; examples of the package are not run in a user's project
    assert not reads(raw_code="select _date as business_date")
    body = "{{ config(enabled=var('business_date') > '2026') }}"
    assert not reads(raw_code=body, yaml=str(jinja), owner="tidemark")
    assert reads(raw_code=body, owner="tidemark", root="tidemark")


DAY = "{% macro day() %}'{{ var('business_date') }}'{% endmacro %}"
RETURNED = "{% macro day(of=none) %}{{ return(var('business_date', none)) }}{% endmacro %}"


@pytest.mark.parametrize(
    "text",
    [
        "select '{{ var(\"business_date\") }}' as day from {{ ref('a') }}",
        "select '{{- var('business_date', none) | replace('-', '') -}}'",
        "{% if target.name == 'ci' %} where day < '{{ var('business_date') }}' {% endif %}",
        "{# {% if var('business_date') %} #} select 1",
        "{{ config(pre_hook=\"delete from t where day = '{{ var('business_date') }}'\") }}",
        "{{ config(partition_by=['business_date']) }} {{ var('business_date') }}",
    ],
)
def test_date_decides__it_is_only_written(text: str) -> None:
    assert not date_decides([text], {})


@pytest.mark.parametrize(
    "text",
    [
        "{% if var('business_date') > '2026' %} select 1 {% endif %}",
        "{% set day = var('business_date') %} select {{ ref(day) }}",
        "{% set day %}{{ var('business_date') }}{% endset %} select * from {{ ref(day) }}",
        "{% do log(var('business_date')) %}",
        "{{ config(alias='a_' ~ var('business_date')) }}",
        "{{ 'a' if var('business_date') else ref('b') }}",
        "{{ var('business_date') ~ ref('a') }}",
        "{{ var('x', var('business_date')) }}",
        "{% if var.has_var('business_date') %}{{ var('business_date') }}{% endif %}",
        "{{ config(pre_hook=\"{% if var('business_date') > '2026' %}{{ ref('a') }}{% endif %}\") }}",
        "{{ not jinja var('business_date') }}",
    ],
)
def test_date_decides__it_may(text: str) -> None:
    assert date_decides([text], {})


@pytest.mark.parametrize(
    ("text", "macros", "decides"),
    [
        ("select {{ day() }}", {"day": DAY}, False),
        ("select {{ day() | upper }}", {"day": RETURNED}, False),
        ("select {{ mine.day('x') }}", {"day": DAY}, False),
        ("select {{ ref(day()) }}", {"day": DAY}, True),
        ("{% set d = day() %}", {"day": DAY}, True),
        ("{% if mine.day() %}{% endif %}", {"day": DAY}, True),
        ("{{ adapter.dispatch('day')() }}", {"default__day": DAY}, True),
        ("{{ ref(context['day']()) }}", {"day": DAY}, True),
        ("{{ ref('a') }}", {"day": DAY.replace("day()", "day(of=var('business_date'))")}, True),
        ("select 1", {"day": "{% macro day() %}{% do x(var('business_date')) %}{% endmacro %}"}, True),
        # through another one, in whatever order they come
        ("{{ where() }}", {"where": "{% macro where() %}{{ day() }}{% endmacro %}", "day": DAY}, False),
        ("{{ ref(where()) }}", {"where": "{% macro where() %}{{ day() }}{% endmacro %}", "day": DAY}, True),
        ("select 1", {"where": "{% macro where() %}{{ ref(day()) }}{% endmacro %}", "day": DAY}, True),
        # dbt calls it for every model
        ("select 1", {"generate_schema_name": DAY}, True),
        ("select 1", {"spark__generate_alias_name": DAY}, True),
    ],
)  # fmt: skip
def test_date_decides__through_macros(text: str, macros: dict[str, str], decides: bool) -> None:
    given = {f"macro.mine.{name}": (name, body) for name, body in macros.items()}
    assert date_decides([text], given) is decides


def test_dated_location() -> None:
    def node(location: Any) -> Any:
        return SimpleNamespace(config=SimpleNamespace(meta={"tidemark": {"location": location}}))

    assert dated_location(node("a_{business_date}.csv")) == "a_{business_date}.csv"
    assert dated_location(node("{yyyy}/{mm}/{dd}")) == "{yyyy}/{mm}/{dd}"
    assert dated_location(node("landing/shop")) is None
    assert dated_location(SimpleNamespace(config=SimpleNamespace(meta={}))) is None


def test_without_stacks() -> None:
    message = (
        "Compilation Error in model a\n  no extract\n  \n  > in macro x (y.sql)\n  > called by z"
    )
    assert without_stacks(message) == "Compilation Error in model a\n  no extract"
    message = (
        "Runtime Error in model a\n  Database Error\n    org.apache.hive.service.cli.HiveSQLException: Error running "
        "query: [PATH_NOT_FOUND] org.apache.spark.sql.AnalysisException: [PATH_NOT_FOUND] Path does not exist: "
        "file:/a.csv. SQLSTATE: 42K03\n        at org.apache.spark.A$.b(A.scala:43)\n    Caused by: "
        "org.apache.spark.sql.AnalysisException: …\n        at … run in separate thread\n"
    )
    assert without_stacks(message) == (
        "Runtime Error in model a\n  Database Error\n    [PATH_NOT_FOUND] Path does not exist: file:/a.csv"
    )


def rendered(results: list[ModelResult]) -> str:
    console = Console(width=160, record=True, file=open("/dev/null", "w"))
    console.print(render_table("2026-03-04", results))
    return console.export_text()


def test_table__counts_of_entities_only() -> None:
    counts = {"rows_read": 28270, "rows_inserted": 60, "rows_updated": 0, "rows_rejected": 0}
    text = rendered(
        [ModelResult("airports", "success", 1.25, counts), ModelResult("other", "success", 0.1)]
    )
    assert "28,270" in text and "inserted" in text
    assert "rejected" not in text and "not supplied" not in text
    assert "rejected" in rendered([ModelResult("a", "success", 1, {"rows_rejected": 2})])


def test_table__no_cell_is_cut_where_the_terminal_is_narrow() -> None:
    counts = dict.fromkeys(COUNTS, 1_000_000)
    for width in (40, 80):
        console = Console(width=width, record=True, file=open("/dev/null", "w"))
        print_whole(console, render_table("x", [ModelResult("sales", "success", 38.2, counts)]))
        text = console.export_text()
        assert "…" not in text and "success" in text and text.count("1,000,000") == len(COUNTS)
    assert "inserted" not in rendered([ModelResult("a", "error", 1)])


CHANGES = [
    {"key": "00AA", "column_name": "lat", "old_value": "38.70402", "new_value": "38.704022"},
    {"key": "00AA", "column_name": "lid", "old_value": None, "new_value": "[00AA]"},
    {"key": "00AK", "column_name": "name", "old_value": "x" * 500, "new_value": ""},
]


def test_changes_table__key_once_null_told_long_values_cut() -> None:
    console = Console(width=160, record=True, file=open("/dev/null", "w"))
    console.print(render_changes("airports, changed values of 2026-03-04", CHANGES))
    text = console.export_text()
    assert text.count("00AA") == 2  # once as a key, once in a value
    assert "NULL" in text and "[00AA]" in text
    assert "…" in text and text.count("x") == 119
    # a text is not taken for no value
    row = {"key": "1", "column_name": "name", "old_value": "NULL", "new_value": None}
    console.print(render_changes("airports", [row]))
    assert re.search(r"name +'NULL' +NULL", console.export_text())


def test_answers_in__only_the_marked_line() -> None:
    answer = {"entity": "airports", "rows": CHANGES}
    line = "tidemark changes " + json.dumps(answer)
    assert answers_in(["Running with dbt", line, ""], "tidemark changes ") == [answer]
    assert answers_in(["Running with dbt"], "tidemark changes ") == []


@pytest.mark.parametrize(
    "said",
    [
        "Compilation Error in macro feed_query (macros/operations/feed_query.sql)\n"
        "  there is no cdc model named 'airport'\n  \n  > in macro entity_node (x.sql)\n",
        "Runtime Error\n  there is no cdc model named 'airport'",
        "there is no cdc model named 'airport'",
    ],
)
def test_operation_error__is_what_the_operation_said(said: str) -> None:
    wanted = "there is no cdc model named 'airport'"
    heard = ["Running with dbt", f"Encountered an error while running operation: {said}"]
    assert operation_error(SimpleNamespace(exception=None), heard) == wanted
    assert operation_error(SimpleNamespace(exception=RuntimeError(said)), []) == wanted


def test_is_entity() -> None:
    def node(materialized: str) -> Any:
        return SimpleNamespace(config=SimpleNamespace(materialized=materialized))

    assert is_entity(node("cdc")) and not is_entity(node("scd2"))
    assert not is_entity(SimpleNamespace())


class Scripted(Invoker):
    """An invoker whose dbt says what a test wants it to."""

    def __init__(self, options: RunOptions, success: bool, messages: list[str]) -> None:
        super().__init__(options, Console(file=open("/dev/null", "w")))
        self.success, self.messages = success, messages
        self.commands: list[list[str]] = []

    def _invoke(self, command: list[str], manifest: Any = None, listener: Any = None) -> Any:
        self.commands.append(command)
        for message in self.messages:
            info = SimpleNamespace(
                name="JinjaLogInfo", level="info", msg=message, invocation_id="operation"
            )
            event = SimpleNamespace(info=info)
            self._heard(event)
            if listener is not None:
                listener(event)
        return SimpleNamespace(success=self.success, exception=None)


@pytest.mark.parametrize(
    ("kind", "method", "languages", "refused"),
    [
        ("spark", "thrift", ["sql", "python"], True),
        ("spark", "thrift", ["sql", "sql"], False),
        ("spark", "http", ["sql", "python"], False),
        ("tidemark", "session", ["sql", "python"], False),
        ("tidemark", "thrift", ["sql", "python"], True),
    ],
)
def test_python_models__are_refused_before_anything_runs(
    kind: str, method: str, languages: list[str], refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [
        SimpleNamespace(name=f"model_{number}", language=language)
        for number, language in enumerate(languages)
    ]
    monkeypatch.setattr(Invoker, "selected", lambda self: nodes)
    invoker = Invoker(RunOptions(dates=[]), Console())
    invoker._manifest = SimpleNamespace(nodes=dict(enumerate(nodes)))
    credentials = SimpleNamespace(type=kind, method=method, has_session=method == "session")
    invoker._config = SimpleNamespace(credentials=credentials)
    if not refused:
        invoker.check_python_models()
        return
    with pytest.raises(ConfigError, match=r"need `type: tidemark` .* --exclude model_1$"):
        invoker.check_python_models()


def test_pepper__is_asked_for_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def model(name: str, **settings: Any) -> Any:
        return SimpleNamespace(name=name, config=SimpleNamespace(meta={"tidemark": settings}))

    nodes = [model("plain"), model("shy", sensitive=["phone"]),
             model("hashed", sensitive=["phone"], stored_hashes=True)]  # fmt: skip
    chosen = list(nodes)
    monkeypatch.setattr(Invoker, "selected", lambda self: chosen)
    monkeypatch.delenv("TIDEMARK_PEPPER", raising=False)
    invoker = Invoker(RunOptions(dates=[]), Console())
    invoker._manifest = SimpleNamespace(nodes=dict(enumerate(nodes)))
    invoker._config = SimpleNamespace(credentials=SimpleNamespace(has_session=True))
    with pytest.raises(ConfigError, match=r"nothing was run: shy has sensitive .* TIDEMARK_PEPPER"):
        invoker.check_pepper()
    chosen[:] = [nodes[0], nodes[2]]
    invoker.check_pepper()
    # a server has it, or has not
    chosen[:] = nodes
    invoker._config.credentials.has_session = False
    invoker.check_pepper()
    invoker._config.credentials.has_session = True
    monkeypatch.setenv("TIDEMARK_PEPPER", "secret")
    invoker.check_pepper()


@pytest.mark.parametrize(
    ("words", "selected", "excluded"),
    [
        (["--select", "a", "b+", "--exclude", "c", "d"], ["a", "b+"], ["c", "d"]),
        (["-s", "a", "b", "--select", "c", "--full-refresh"], ["a", "b", "c"], []),
        (["--select=a", "b", "--vars", "{x: 1}"], ["a", "b"], []),
        (["--exclude", "c d"], [], ["c d"]),
    ],
)
def test_select__of_several_words(
    words: list[str], selected: list[str], excluded: list[str]
) -> None:
    from tidemark.plan.cli import plan
    from tidemark.run.cli import run

    for command in (run, plan):
        given = command.make_context("tidemark", list(words)).params
        assert (list(given["select"]), list(given["exclude"])) == (selected, excluded)


def test_check_may_write__says_who_may_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DBT_LOG_PATH", "logs")
    monkeypatch.setenv("DBT_TARGET_PATH", str(tmp_path / "target"))
    check_may_write(None)
    check_may_write(RuntimeError("another"))
    path = tmp_path / "logs" / "dbt.log"
    with pytest.raises(ConfigError, match=r"dbt\.log cannot be written .* Set DBT_LOG_PATH"):
        check_may_write(PermissionError(13, "Permission denied", str(path)))
    with pytest.raises(ConfigError, match=r"a\.sql: Permission denied$"):
        check_may_write(PermissionError(13, "Permission denied", str(tmp_path / "a.sql")))


def test_call__a_defect_is_a_sentence_and_its_trace_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path))

    @click.command()
    def status() -> None:
        parse_business_dates([None])  # type: ignore[list-item]

    group = click.Group(commands={"status": status})
    assert cli.call(group, ["status"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("Error: tidemark status stopped in parse_business_dates (tidemark/run/")
    assert "AttributeError" in said and "Traceback" not in said
    log = tmp_path / "logs" / "tidemark.log"
    assert str(log) in said
    assert "Traceback" in log.read_text() and log.stat().st_mode & 0o777 == 0o600

    # where nothing can be written
    monkeypatch.setenv("TIDEMARK_HOME", str(log / "below"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cli.call(group, ["status"]) == 1
    said = capsys.readouterr().err
    assert "Traceback" not in said and len(list(tmp_path.glob("tidemark-*.log"))) == 1


def test_changed_values__asks_the_operation_quietly() -> None:
    line = "tidemark changes " + json.dumps({"entity": "airports", "rows": CHANGES})
    invoker = Scripted(RunOptions(dates=[], target="ci"), True, [line])
    date = dt.date(2026, 3, 4)
    assert invoker.changed_values("airports", date, 5) == CHANGES
    command = invoker.commands[0]
    assert command[:2] == ["run-operation", "tidemark.show_changes"]
    assert json.loads(command[command.index("--args") + 1]) == {
        "entity": "airports",
        "business_date": "2026-03-04",
        "limit": 5,
        "format": "json",
    }
    assert command[command.index("--target") + 1] == "ci"
    assert "--no-write-json" in command  # run_results.json is the load's
    assert invoker._said == set()
    assert Scripted(RunOptions(dates=[]), False, []).changed_values("a", date, 5) is None


@pytest.mark.parametrize(
    ("changes", "said"), [(0, []), (5, ["airports, changed values of 2026-03-04"])]
)
def test_run_dates__shows_changes_of_updated_entities(
    changes: int, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, dt.date, int]] = []

    def changed_values(self: Invoker, entity: str, date: dt.date, keys: int) -> Any:
        asked.append((entity, date, keys))
        return CHANGES

    outcome = Outcome(True, started=True, updated=["airports"])
    monkeypatch.setattr(Invoker, "parse", lambda self: True)
    monkeypatch.setattr(Invoker, "run_date", lambda self, date, **_: outcome)
    monkeypatch.setattr(Invoker, "changed_values", changed_values)
    out = Console(width=160, record=True, file=open("/dev/null", "w"))
    options = RunOptions(dates=days("2026-03-04"), changes=changes)
    assert run_dates(options, Console(file=open("/dev/null", "w")), out) == 0
    text = out.export_text()
    assert all(title in text for title in said)
    assert asked == ([("airports", dt.date(2026, 3, 4), 5)] if changes else [])


def test_run_dates__nothing_is_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    """dbt takes it for a success, as state:modified may select nothing; it is not told as one."""
    monkeypatch.setattr(Invoker, "parse", lambda self: True)
    monkeypatch.setattr(Invoker, "run_date", lambda self, date, **_: Outcome(True, started=True))
    talk = Console(file=io.StringIO(), width=200)
    assert run_dates(RunOptions(dates=days("2026-03-04")), talk, talk) == 0
    said = talk.file.getvalue()  # type: ignore[attr-defined]
    assert said == "[1/1] 2026-03-04  nothing was run: the selection matches nothing\n"


class Lister(Invoker):
    """An invoker whose dbt finds the models orders and items by their names, and runs none."""

    def parse(self) -> bool:
        nodes = {
            name: SimpleNamespace(name=name, resource_type="model", language="sql", config=None)
            for name in ("orders", "items")
        }
        self._manifest = SimpleNamespace(nodes=nodes)
        return True

    def run_date(self, date: dt.date | None, **_: Any) -> Outcome:
        return Outcome(True, started=True)

    def _invoke(self, command: list[str], manifest: Any = None, listener: Any = None) -> Any:
        assert command[:2] == ["ls", "--select"] and "--exclude" not in command
        found = [one for one in self._manifest.nodes if one == command[2].strip("+")]
        return SimpleNamespace(success=True, exception=None, result=found)


@pytest.mark.parametrize(
    ("select", "exclude", "said"),
    [
        (["orderz"], [], "'orderz' fits no model. Did you mean 'orders'?"),
        (["1+orderz+"], [], "'1+orderz+' fits no model. Did you mean 'orders'?"),
        (["orderz xyz"], [], "'orderz' fits no model. Did you mean 'orders'? 'xyz' fits no model."),
        (["orders,xyz"], [], "'xyz' fits no model."),
        # something is there, of which nothing is to do
        (["orders"], ["orders"], None),
        (["orders", "xyz"], ["orders"], None),
        (["state:modified"], [], None),
        (["state:modified+,orders"], [], None),
        ([], ["orders", "items"], None),
    ],
)
def test_run_dates__a_name_that_fits_no_model(
    select: list[str], exclude: list[str], said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemark.run.invoke.Invoker", Lister)
    monkeypatch.setattr("tidemark.run.invoke.fresh_copy", lambda manifest: manifest)
    monkeypatch.setattr("tidemark.read.project.remember_project", lambda *_: None)
    talk = Console(file=io.StringIO(), width=200)
    options = RunOptions(dates=days("2026-03-04", "2026-03-05"), select=select, exclude=exclude)
    code = run_dates(options, talk, talk)
    told = talk.file.getvalue()  # type: ignore[attr-defined]
    assert "nothing was run: the selection matches nothing" in told
    assert code == (0 if said is None else 2)
    if said is not None:
        assert told.endswith(f"Correct --select: {said}\n") and told.count("\n") == 1


@pytest.mark.parametrize(("full_refresh", "ran"), [(True, 1), (False, 3)])
def test_run_dates__no_log_no_dates_after_it(
    full_refresh: bool, ran: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full refresh that fails is no reason to load the other dates onto the old log, also with --keep-going."""
    dates: list[dt.date] = []

    def run_date(self: Invoker, date: dt.date, *, full_refresh: bool, **_: Any) -> Outcome:
        dates.append(date)
        return Outcome(success=len(dates) > 1, started=True)

    monkeypatch.setattr(Invoker, "parse", lambda self: True)
    monkeypatch.setattr(Invoker, "run_date", run_date)
    options = RunOptions(
        dates=days("2026-01-01", "2026-01-02", "2026-01-03"),
        full_refresh=full_refresh,
        keep_going=True,
    )
    talk = Console(file=io.StringIO(), width=200)
    assert run_dates(options, talk, talk) == 1
    assert len(dates) == ran
    said = talk.file.getvalue()  # type: ignore[attr-defined]
    assert ("no log was begun anew, so 2 dates were not run" in said) is full_refresh
    # how long a load took stands in its table
    assert "[1/3] 2026-01-01  FAILED\n" in said


def test_summary() -> None:
    assert render_summary([(None, True, 1.0), (None, True, 2.0)]) == (
        "2 of 2 dates went through in 3.0 s"
    )


# --- the command line as a whole (nothing is started)


def test_help__documents_exit_codes() -> None:
    result = CliRunner().invoke(cli.cli, ["run", "--help"])
    assert result.exit_code == 0
    assert "Exit codes:" in result.output and "--business-date" in result.output


def test_help__says_what_commands_are_for() -> None:
    said = CliRunner().invoke(cli.cli, ["--help"]).output
    headings = [f"\n{heading}:\n" for heading in cli.GROUPS]
    assert sorted(headings, key=said.index) == headings
    assert said.index("\nLoad:") < said.index("  run  ") < said.index("\nLook:")
    assert all(said.count(f"\n  {name} ") == 1 for name in cli.COMMANDS)


def test_commands_are_listed_only_if_they_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cli.COMMANDS, "later", ("tidemark.later.cli", "later"))
    result = CliRunner().invoke(cli.cli, ["--help"])
    assert "run" in result.output and "later" not in result.output
    assert CliRunner().invoke(cli.cli, ["later"]).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--business-date", "tomorrow"], "Error: 'tomorrow' is not a date"),
        (["run", "--available"], "Error: --available needs --business-date"),
        (["run", "--changes", "5"], "Error: --changes needs --business-date"),
        (
            ["run", "--business-date", "2026-03-04", "--vars", "{business_date: 2026-03-05}"],
            "Error: business_date is given twice",
        ),
        (["run", "--threads", "0"], "Invalid value for '--threads'"),
        (["nonsense"], "No such command 'nonsense'.\n"),
        (["rn"], "No such command 'rn'. Did you mean 'run'?"),
    ],
)
def test_wrong_usage__exit_code_2_and_one_message(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dbt_project.yml").touch()
    if arguments[0] == "run":
        arguments = [*arguments, "--project-dir", str(tmp_path)]
    with pytest.raises(SystemExit) as exited:
        cli.main(arguments)
    assert exited.value.code == 2
    captured = capsys.readouterr()
    assert said in captured.err and captured.out == ""


def test_no_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        cli.main(["run", "--project-dir", str(tmp_path)])
    assert exited.value.code == 2
    assert "no dbt_project.yml" in capsys.readouterr().err


def test_counts_of__adds_up_the_commits_of_an_entity() -> None:
    commits = [
        {"relation": "shop.orders", "counts": {"rows_read": 3, "rows_logged": 3}},
        {"relation": "`shop`.orders", "counts": {"rows_read": 2, "rows_updated": 1}},
        {"relation": "mart.orders", "counts": {}},
    ]
    assert counts_of(commits) == {
        ("shop", "orders"): {"rows_read": 5, "rows_updated": 1},
        ("mart", "orders"): {},
    }


def test_variables__of_the_project_by_its_name_too() -> None:
    invoker = Invoker(RunOptions(dates=[], vars={"a": 1}), Console())
    known = {"a": 3, "b": 3, "c": 3, "shop": {"a": 2, "b": 2}, "other": {"c": 4}}
    provider = SimpleNamespace(to_dict=lambda: known)
    invoker._config = SimpleNamespace(vars=provider, project_name="shop")
    assert [invoker.variables[name] for name in "abc"] == [1, 2, 3]


def test_session__that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    invoker = Invoker(RunOptions(dates=[]), Console())

    def busy(settings: dict[str, str]) -> Any:
        raise MetastoreBusyError(f"{settings['spark.master']}: another run holds it")

    monkeypatch.setattr("tidemark.spark.session.get_session", busy)
    settings = {"spark.master": "local"}
    credentials = SimpleNamespace(has_session=True, server_side_parameters=settings)
    invoker._config = SimpleNamespace(credentials=credentials)
    with pytest.raises(MetastoreBusyError, match="local: another run"):
        invoker.session()
    credentials.has_session = False
    with pytest.raises(ConfigError, match="this needs Spark in this process"):
        invoker.session()


def test_run_date__counts_of_a_table_with_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SimpleNamespace(
        name="stg_orders", schema="shop", alias="orders", resource_type="model",
        config=SimpleNamespace(materialized="cdc"),
    )  # fmt: skip
    done = SimpleNamespace(node=model, status="success", message="", execution_time=1.0)
    counts = {"rows_read": 3, "rows_updated": 1}
    line = "tidemark commit " + json.dumps({"relation": "shop.orders", "counts": counts})
    invoker = Invoker(RunOptions(dates=[]), Console())

    def invoke(*_: Any, **__: Any) -> Any:
        invoker._commits.append(line)
        return SimpleNamespace(success=True, exception=None, result=SimpleNamespace(results=[done]))

    monkeypatch.setattr(invoker, "_invoke", invoke)
    outcome = invoker.run_date(None, full_refresh=False, progress=lambda name: None)
    assert [(one.name, one.counts) for one in outcome.results] == [("stg_orders", counts)]
    assert outcome.updated == ["stg_orders"]


def test_fresh_copy__shares_macros_and_keeps_them() -> None:
    from dbt.contracts.graph.manifest import Manifest

    manifest = Manifest()
    manifest.macros = {"macro.a.b": object()}  # type: ignore[dict-item]
    assert fresh_copy(manifest).macros is manifest.macros
    assert list(manifest.macros) == ["macro.a.b"]


def test_fresh_copy__leaves_out_what_dbt_cannot_copy() -> None:
    """dbt keeps lists of disabled nodes and copies them as if they were nodes."""
    from dbt.contracts.graph.manifest import Manifest

    manifest = Manifest()
    manifest.disabled = {"model.shop.old": [object()]}  # type: ignore[list-item]
    assert fresh_copy(manifest).disabled == {}
    assert list(manifest.disabled) == ["model.shop.old"]
