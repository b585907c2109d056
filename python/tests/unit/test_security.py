"""What comes from outside is data: names and texts that would be SQL, Jinja, YAML, a path or an order of a terminal."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from dbt.clients import jinja
from pyspark.sql.types import ArrayType, IntegerType, MapType, StringType, StructField, StructType
from rich.text import Text

from dbt.adapters.tidemark.errors import MacroError
from tests.macros import ROOT
from tests.rendering import load_sql_macros
from tidemark import console
from tidemark.engine.header import footer_of, header_of
from tidemark.errors import TidemarkError
from tidemark.home import write_private
from tidemark.project import as_rendered, unrendered
from tidemark.scaffold import cli
from tidemark.shell.loop import line_editor
from tidemark.shred.registry import read_registry
from tidemark.spark import catalog, launch
from tidemark.spark.links import check_links

SOURCES = ROOT / "python" / "src" / "tidemark"
NAMES = [
    "it's",
    "a`b",
    'say "hi"',
    "back\\slash",
    "'); drop table t; --",
    "x` int) using delta; --",
    "{{ env_var('TIDEMARK_PEPPER') }}",
    "{% set x = 1 %}",
    "{# gone #}",
    "${env:HOME}",
    "a: b",
    "# no comment",
    "../../etc/passwd",
]


def rendered(value: Any) -> Any:
    """What dbt makes of the values of a YAML file."""
    if isinstance(value, dict):
        return {name: rendered(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rendered(one) for one in value]
    return jinja.get_rendered(value, {}, native=True) if isinstance(value, str) else value


# --- SQL


@pytest.mark.parametrize("name", NAMES)
def test_typed_entities__a_property_may_have_any_name(name: str) -> None:
    """A JSON Schema names properties, and so columns; its author is not that of the project."""
    columns = [{"name": name, "type": "int", "not_null": True}]
    sql = load_sql_macros()["typed_entities_sql"](columns, "select 1", 1, 2)
    quoted = load_sql_macros()["quote_identifier"](name)
    literal = load_sql_macros()["string_literal"]
    without = sql.replace(quoted, "").replace(literal(f"null_value: {name}"), "")
    without = without.replace(literal(f"cast_failed: {name}"), "")
    words = name.split("_")
    for one in {name, words[0] + "".join(word.capitalize() for word in words[1:])}:
        inner = one.replace("\\", "\\\\").replace("'", "\\'")
        without = without.replace(literal(f"$['{inner}']"), "")
    assert name not in without


@pytest.mark.parametrize(
    "text",
    [
        "int", "decimal(18,2)", "decimal( 18 , 2 )", "timestamp_ntz", "string collate utf8_binary", "INT",
        "array<map<string,struct<a:int,`b c``>`:array<double>>>>", "struct<a: int, b: decimal(3,1)>",
        "interval day to second", "timestamp without time zone",
    ],
)  # fmt: skip
def test_is_type_text__types(text: str) -> None:
    assert load_sql_macros()["is_type_text"](text)


@pytest.mark.parametrize(
    "text",
    [
        "int) as x, (select max(secret) from other", "int, y string", "int; drop table t", "string comment 'x'",
        "interval) from t --", "array<int>) --", "struct<a:int", "decimal(18,2", "decimal(1,2,3)", "int`", "", "pwned",
        "struct<x:int) as y:int>", "int /* */", "int\n) --",
    ],
)  # fmt: skip
def test_is_type_text__what_is_more_than_a_type(text: str) -> None:
    assert not load_sql_macros()["is_type_text"](text)


def test_types_of_ddl_events__are_types_or_refused() -> None:
    """`_schema` of a canonical event names types, of which SQL is made."""
    check = load_sql_macros()["check_statement_types"]
    check("shop", [{"name": "a", "type": "int"}, {"name": "b", "type": None}])
    check("shop", None)
    with pytest.raises(MacroError, match=r"shop: .* column `a` is of type `int\), \(select"):
        check("shop", [{"name": "a", "type": "int), (select 1"}])


def test_fields__are_told_from_their_types_whatever_their_names() -> None:
    """Parquet files name fields; `describe` does not quote them."""
    hostile = "x:int>, z) y"
    inner = StructType([StructField("a`b", IntegerType()), StructField("plain", StringType())])
    kind = StructType([StructField(hostile, MapType(StringType(), ArrayType(inner)))])
    text = catalog._type_text(kind)
    assert text == f"struct<`{hostile}`:map<string,array<struct<`a``b`:int,plain:string>>>>"
    macros = load_sql_macros()
    assert macros["is_type_text"](text)
    assert macros["quoted_type"](text).startswith(f"struct<`{hostile}`:map<")


def test_fields__that_cannot_be_told_from_their_types_are_noticed() -> None:
    """Without our adapter there is only the text of `describe`: see describe_query()."""
    macros = load_sql_macros()
    for name in ("x:decimal(1,1)) as y, (select 1", "x:string collate a) --", "x:array<int>) --"):
        assert not macros["is_type_text"](macros["quoted_type"](f"struct<{name}:int>")), name
    for told in ("struct<a:int,... 5 more fields>", "array<struct<a:int,... 1 more field>>"):
        assert macros["is_shortened"](told)
        # the fields that are not told would be left out, of the hash too
        with pytest.raises(MacroError, match=r"raise spark[.]sql[.]debug[.]maxToStringFields"):
            macros["canonical_text_expr"]("x", told)
    for name in ("a b", "c,d:e", "it's", "x:int) as y, (select 1", "more fields"):
        assert not macros["is_shortened"](f"struct<{name}:int>")
        quoted = macros["quoted_type"](f"struct<{name}:int>")
        assert quoted == f"struct<`{name}`:int>" and macros["is_type_text"](quoted)


# --- YAML and Jinja


@pytest.mark.parametrize("text", [*NAMES, "{{{% x", "{{ '{{' }}"])
def test_unrendered__is_rendered_to_what_it_was(text: str) -> None:
    assert rendered(unrendered(text)) == text
    assert as_rendered(unrendered(text)) == text


@pytest.mark.parametrize("name", NAMES)
def test_init__a_header_is_data(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    header = '"' + name.replace('"', '""') + '"'
    (tmp_path / "a.csv").write_text(f"id,{header}\n1,x\n2,y\n")
    arguments = ["a.csv", "--name", "things", "--key", name]
    result = CliRunner().invoke(cli.init, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    (model,) = yaml.safe_load((tmp_path / "models" / "_models.yml").read_text())["models"]
    assert rendered(model["config"]["unique_key"]) == [name]
    assert [rendered(column["name"]) for column in model["columns"]] == ["id", name]
    assert set(model) == {"name", "config", "data_tests", "columns"}


@pytest.mark.parametrize(
    "file",
    [
        "a\n  config: {post-hook: drop}\n  #.csv",
        "{{ env_var('HOME') }}.csv",
        'it\'s "a".csv',
        "a\x1b]0;b\x07.csv",
        "a # b.csv",
    ],
)
def test_init__a_file_name_is_data(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    (tmp_path / file).write_text("id,v\n1,x\n2,y\n")
    arguments = [file, "--name", "things"]
    result = CliRunner().invoke(cli.init, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    (model,) = yaml.safe_load((tmp_path / "models" / "_models.yml").read_text())["models"]
    assert set(model["config"]) == {"materialized", "unique_key", "meta"}
    assert rendered(model["config"]["meta"]["tidemark"]["location"]) == file


# --- paths


def test_links__of_others_may_not_leave_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing, outside = tmp_path / "landing", tmp_path / "outside"
    landing.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("s3cr3t")
    (landing / "a.jsonl").write_text("{}")
    (landing / "b.jsonl").symlink_to(landing / "a.jsonl")
    files = [{"path": f"file:{landing}/{name}.jsonl"} for name in "ab"]
    check_links(str(landing), files)
    check_links(f"file:{landing}/*.jsonl", files)
    check_links("s3a://lake/x", [{"path": "s3a://lake/x/a"}])
    check_links(str(landing), [])
    (landing / "c.jsonl").symlink_to(outside / "secret")
    found = [{"path": f"file:{landing}/c.jsonl"}]
    check_links(str(landing), found)  # our own
    monkeypatch.chdir(landing)
    for location in ("a_{business_date}.csv", "*.csv", "a.csv", "./a.csv"):
        check_links(location, found)  # a folder that no name tells ends, too
    own, others = os.stat, os.lstat
    monkeypatch.setattr(
        os,
        "lstat",
        lambda path, **named: _of(others(path, **named), str(path).startswith(str(landing))),
    )
    for location in (
        str(landing),
        f"{landing}/*.jsonl",
        f"{landing}/c.jsonl",
        "c.jsonl",
        "*.jsonl",
    ):
        with pytest.raises(
            TidemarkError, match=r"c\.jsonl is a symbolic link of another user"
        ) as error:
            check_links(location, found)
        assert "s3cr3t" not in str(error.value)
    (landing / "d").symlink_to(outside)
    with pytest.raises(TidemarkError, match="landing/d is a symbolic link"):
        check_links(str(landing), [{"path": f"file:{landing}/d/secret"}])
    # who made the link may read the file himself
    monkeypatch.setattr(os, "stat", lambda path, **named: _of(own(path, **named), True))
    check_links(str(landing), found)
    monkeypatch.undo()
    # a folder that is a link itself is what somebody chose
    (tmp_path / "linked").symlink_to(landing)
    check_links(f"{tmp_path}/linked/*.jsonl", [{"path": f"file:{tmp_path}/linked/a.jsonl"}])


def _of(found: os.stat_result, of_another: bool) -> os.stat_result:
    """What is known of a file, as if it were of another user."""
    fields = list(found)
    fields[stat.ST_UID] += 1 if of_another else 0
    return os.stat_result(fields)


@pytest.mark.parametrize("name", ["a*.csv", "a?.csv", "[ab].csv", "{a,b}.csv"])
def test_paths__that_are_patterns_are_left_to_spark(name: str, tmp_path: Path) -> None:
    """DuckDB would take the name of one file for that of many."""
    for one in (name, "a1.csv"):
        (tmp_path / one).write_text("id\n1\n")
    files = [{"path": f"file:{tmp_path}/{name}", "depth": 0}]
    assert "one of *?[]{}" in header_of(files, ",")["why_not"]
    assert "one of *?[]{}" in footer_of(files)["why_not"]


@pytest.mark.parametrize(
    "uri",
    [
        "iglu:../../etc/passwd",
        "iglu:com.acme/../jsonschema/1-0-0",
        "iglu:com.acme/x/jsonschema/../../../x",
        "file:///etc/passwd",
        "http://127.0.0.1/a/b/1-0-0",
    ],
)
def test_schema_uris__are_no_paths(uri: str, tmp_path: Path) -> None:
    own = {"vendor": "com.acme", "name": "x", "format": "jsonschema", "version": "1-0-0"}
    path = tmp_path / "registry" / "com.acme" / "x" / "jsonschema" / "1-0-0"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"self": own, "type": "object"}))
    registry = read_registry(tmp_path / "registry")
    assert registry.problem("iglu:com.acme/x/jsonschema/1-0-0", "{}") is None
    assert registry.problem(uri, "{}") == "schema_not_found"


# --- the console


def test_console__values_give_a_terminal_no_orders(capsys: pytest.CaptureFixture[str]) -> None:
    console.stdout_console().print(Text("a\x1b]0;title\x07\x9b2J b\nc"))
    assert capsys.readouterr().out == "a?]0;title?2J b\nc\n"


# --- secrets


def test_launch__secrets_are_on_no_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever lists the processes of a machine sees what the JVM is started with."""
    given = {
        "spark.master": "local[1]",
        "spark.hadoop.fs.s3a.secret.key": "s3cr3t",
        "spark.hadoop.javax.jdo.option.ConnectionPassword": "s3cr3t",
        "spark.hadoop.x.uri": "http://user:s3cr3t@host/",
        "spark.jars.repositories": "https://host/maven",
    }
    asked: dict[str, str] = {}

    def launch_gateway(conf: Any, popen: Any) -> None:
        asked.update(conf.getAll())

    monkeypatch.setattr(launch.java_gateway, "launch_gateway", launch_gateway)
    home = launch.Home(tmp_path).create()
    launch._start_jvm(given, home, None, launch.Start())
    assert asked == {key: value for key, value in given.items() if "s3cr3t" not in value}


def test_files_with_values__are_their_owners(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_private(path, "values")
    assert path.read_text() == "values" and path.stat().st_mode & 0o777 == 0o600
    # whom its owner lets read it still may
    path.chmod(0o644)
    write_private(path, "new")
    assert path.read_text() == "new" and path.stat().st_mode & 0o777 == 0o644
    assert "write_private(path, page(found))" in (SOURCES / "report" / "cli.py").read_text()


def test_shell_history__is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "home" / "shell_history"
    path.parent.mkdir()
    path.write_text("")
    path.chmod(0o644)
    line_editor(path, None)  # type: ignore[arg-type]
    assert path.stat().st_mode & 0o077 == 0
