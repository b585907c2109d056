"""`tidemark init`: models and YAML from sample files, beside what stands there already."""

from __future__ import annotations

import datetime as dt
import gzip
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from tests.macros import ROOT
from tidemark.cli import call, main
from tidemark.cli import cli as tidemark
from tidemark.errors import ConfigError
from tidemark.scaffold import cli
from tidemark.scaffold.properties import flow_list, insert_entry, scalar
from tidemark.scaffold.schema import models_schema

AIRPORTS = ROOT / "python" / "tests" / "fixtures" / "airports_2026-03-04.csv.gz"
YAML_FILE = "models/_models.yml"


@dataclass(frozen=True)
class Init:
    """A project and the command, run in it."""

    root: Path

    def __call__(self, *arguments: str, name: str = "things") -> str:
        """Run `tidemark init` and return what it says."""
        result = CliRunner().invoke(
            cli.init, [*arguments, "--name", name], catch_exceptions=False, prog_name="init"
        )
        assert result.exit_code == 0, result.output
        return result.output

    def write(self, path: str, text: str) -> str:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8"))
        return path

    def read(self, path: str = YAML_FILE) -> str:
        return (self.root / path).read_bytes().decode("utf-8")

    def model(self, name: str = "things") -> dict[str, Any]:
        """A model's YAML, checked with the schema."""
        content = yaml.safe_load(self.read())
        jsonschema.validate(content, models_schema(), cls=jsonschema.Draft7Validator)
        [model] = [model for model in content["models"] if model["name"] == name]
        return dict(model)

    def settings(self, name: str = "things") -> dict[str, Any]:
        return dict(self.model(name)["config"]["meta"]["tidemark"])

    def types(self, name: str = "things") -> dict[str, str]:
        return {column["name"]: column["data_type"] for column in self.model(name)["columns"]}


@pytest.fixture
def init(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Init:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dbt_project.yml").write_text("name: shop\n", encoding="utf-8")
    return Init(tmp_path)


def test_init__airports(init: Init) -> None:
    (init.root / "data").mkdir()
    shutil.copy(AIRPORTS, init.root / "data")
    said = init("data/airports_2026-03-04.csv.gz", name="airports")
    assert init.read("models/airports.sql") == "{{ tidemark.extract() }}\n"
    assert init.model("airports") == {
        "name": "airports",
        "config": {
            "materialized": "cdc",
            "unique_key": ["icao"],
            "meta": {
                "tidemark": {
                    "extract": "full",
                    "location": "data/airports_{business_date}.csv.gz",
                    "format": "csv",
                }
            },
        },
        "data_tests": [
            "tidemark.current_equals_open_intervals",
            "tidemark.history_replays_to_current",
            "tidemark.no_current_key_last_deleted",
        ],
        "columns": [
            {"name": "icao", "data_type": "string", "constraints": [{"type": "not_null"}]},
            {"name": "iata", "data_type": "string"},
            {"name": "name", "data_type": "string"},
            {"name": "city", "data_type": "string"},
            {"name": "subd", "data_type": "string"},
            {"name": "country", "data_type": "string"},
            {"name": "elevation", "data_type": "double"},
            {"name": "lat", "data_type": "double"},
            {"name": "lon", "data_type": "double"},
            {"name": "tz", "data_type": "string"},
            {"name": "lid", "data_type": "string"},
        ],
    }
    assert "200 rows" in said
    assert "Key      icao: unique and never NULL in the sample; chosen by name before" in said
    assert "dbt run --select airports --vars '{business_date: \"2026-03-04\"}'" in said


def test_init__says_talk_on_stderr_and_files_on_stdout(init: Init) -> None:
    file = init.write("a.csv", "id,v\n1,x\n")
    result = CliRunner().invoke(cli.init, [file, "--name", "a"], catch_exceptions=False)
    assert result.stdout.split() == ["models/a.sql", YAML_FILE]
    assert "Key      id" in result.stderr


def test_init__an_empty_cell_is_not_said_to_be_null(init: Init) -> None:
    """A load takes quotes around nothing for an empty text."""
    said = init(init.write("a.csv", 'id,v\n1,""\n2,\n3,x\n'), name="a")
    assert "string, 2 empty\n" in said and "2 NULL" not in said


def test_init__dry_run_writes_nothing(init: Init) -> None:
    file = init.write("a.csv", "id,v\n1,x\n")
    result = CliRunner().invoke(
        cli.init, [file, "--name", "a", "--dry-run"], catch_exceptions=False
    )
    assert "{{ tidemark.extract() }}" in result.stdout
    assert "unique_key: [id]" in result.stdout
    assert not (init.root / "models").exists()


def test_init__settings_worth_knowing_are_settings(init: Init) -> None:
    init(init.write("a.csv", "id,v\n1,x\n"))
    uncommented = re.sub(r"(?m)^( +)# (\w+: \S+) +# .*$", r"\1\2", init.read())
    content = yaml.safe_load(uncommented)
    assert content["models"][0]["config"]["meta"]["tidemark"]["max_delete_fraction"] == 0.1
    jsonschema.validate(content, models_schema(), cls=jsonschema.Draft7Validator)


# -- Samples


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_init__delimiter_is_found(init: Init, delimiter: str) -> None:
    text = "id,note,amount\n1,a,1.5\n2,b,2.25\n3,c,3\n".replace(",", delimiter)
    init(init.write("things.csv", text))
    assert init.settings()["options"] == {"sep": delimiter}
    assert init.types() == {"id": "bigint", "note": "string", "amount": "double"}


def test_init__commas_inside_quotes_and_decimal_commas(init: Init) -> None:
    init(init.write("things.csv", 'id;price;note\n1;1,50;"a, b; c"\n2;2,75;"line\nbreak"\n'))
    assert init.settings()["options"] == {"sep": ";"}
    assert list(init.types()) == ["id", "price", "note"]


def test_init__backslash_before_quotes(init: Init) -> None:
    init(init.write("things.csv", 'id,note\n1,"say \\"hi\\", you"\n2,"x"\n'))
    assert init.settings()["options"] == {"escape": "\\"}
    assert list(init.types()) == ["id", "note"]


def test_init__doubled_quotes_need_no_option(init: Init) -> None:
    init(init.write("things.csv", 'id,note\n1,"say ""hi"", C:\\"\n2,""\n'))
    assert "options" not in init.settings()


def test_init__one_column(init: Init) -> None:
    init(init.write("things.csv", "code\nab\ncd\n"))
    assert "options" not in init.settings()
    assert init.model()["config"]["unique_key"] == ["code"]


def test_init__no_header(init: Init) -> None:
    said = init(init.write("things.csv", "1,a,2026-03-04\n2,b,2026-03-05\n"))
    assert init.settings()["options"] == {"header": False}
    assert init.types() == {"_c0": "bigint", "_c1": "string", "_c2": "date"}
    assert "the first line looks like data" in said


def test_init__header_of_text_columns(init: Init) -> None:
    init(init.write("things.csv", "code,label\nx,Some words\ny,Other words\n"))
    assert list(init.types()) == ["code", "label"]


def test_init__header_given(init: Init) -> None:
    init(init.write("things.csv", "2025,2026\n1,2\n"), "--header")
    assert list(init.types()) == ["2025", "2026"]
    assert 'name: "2025"' in init.read()


def test_init__names_that_yaml_would_misread(init: Init) -> None:
    header = '"id","no","null","y: z","a # b","it\'s","say ""x""","größe"'
    said = init(init.write("things.csv", header + "\n" + "1,2,3,4,5,6,7,8\n2,2,3,4,5,6,7,8\n"))
    expected = ["id", "no", "null", "y: z", "a # b", "it's", 'say "x"', "größe"]
    assert list(init.types()) == expected
    assert "größe" in said


def test_init__byte_order_mark(init: Init) -> None:
    init(init.write("things.csv", "\ufeffid,v\n1,x\n2,y\n"))
    assert list(init.types()) == ["id", "v"]


def test_init__encoding(init: Init) -> None:
    (init.root / "things.csv").write_bytes("id,name\n1,Zürich\n2,Genf\n".encode("cp1252"))
    with pytest.raises(ConfigError, match=r"not utf-8: byte 0xFC; .*--encoding windows-1252"):
        init("things.csv")
    with pytest.raises(ConfigError, match=r"windows-1252, which reads the line as `1,Zürich`$"):
        init("things.csv")
    init("things.csv", "--encoding", "windows-1252")
    assert init.settings()["options"] == {"encoding": "windows-1252"}
    (init.root / "others.csv").write_bytes("id,name\n1,Zürich\n".encode("utf-16"))
    with pytest.raises(ConfigError, match=r"byte 0xFF; .*--encoding UTF-16$"):
        init("others.csv", name="others")
    (init.root / "others.json").write_bytes('{"id": 1, "name": "Zürich"}\n'.encode("cp1252"))
    with pytest.raises(ConfigError, match=r"byte 0xFC; JSON lines must be UTF-8"):
        init("others.json", name="others")


def test_init__row_limit_is_said(init: Init) -> None:
    rows = "".join(f"{number},{number % 7}\n" for number in range(50))
    said = init(init.write("things.csv", "id,v\n" + rows), "--rows", "30")
    assert "30 rows, the limit of --rows" in said
    assert "inferred from the first 30 rows" in init.read()


def test_init__ragged_rows_are_said(init: Init) -> None:
    assert "1 row has more or fewer values" in init(init.write("a.csv", "id,v\n1,x\n2\n3,y\n"))


def test_init__personal_data_is_pointed_out(init: Init) -> None:
    said = init(init.write("a.csv", "id,owner_phone,v\n1,2,x\n"))
    assert "owner_phone may be personal data: see the setting sensitive" in said


def test_init__json_lines(init: Init) -> None:
    lines = (
        '{"id": 1, "code": "00501", "at": "2026-03-04T10:00:00Z", "tags": ["a"], "ok": true}\n'
        "\n"
        '{"id": 2, "code": "10001", "at": null, "where": {"lat": 1.5, "lon": 2}, "ok": false}\n'
    )
    (init.root / "things_20260304.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    init("things_20260304.jsonl.gz")
    assert init.settings() == {
        "extract": "full",
        "location": "things_{yyyy}{mm}{dd}.jsonl.gz",
        "format": "json",
    }
    assert init.types() == {
        "id": "bigint",
        "code": "string",
        "at": "timestamp",
        "tags": "array<string>",
        "ok": "boolean",
        "where": "struct<lat: double, lon: bigint>",
    }


def test_init__parquet(init: Init) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    import datetime
    import decimal

    table = arrow.table(
        {
            "id": arrow.array([1, 2], arrow.int32()),
            "price": arrow.array([decimal.Decimal("1.50"), None], arrow.decimal128(10, 2)),
            "day": arrow.array([datetime.date(2026, 3, 4)] * 2),
            "tags": arrow.array([["a"], None]),
            "at": arrow.array([0, 1], arrow.timestamp("us", "UTC")),
            "local": arrow.array([0, 1], arrow.timestamp("us")),
            "place": arrow.array([{"lat": 1.5, "a-b": 1}, {"lat": 2.5, "a-b": 1}]),
        }
    )
    parquet.write_table(table, init.root / "things.parquet")
    init("things.parquet")
    assert init.model()["config"]["unique_key"] == ["id"]
    assert init.types() == {
        "id": "int",
        "price": "decimal(10, 2)",
        "day": "date",
        "tags": "array<string>",
        "at": "timestamp",
        "local": "timestamp_ntz",
        "place": "struct<lat: double, `a-b`: bigint>",
    }


def test_init__parquet_without_pyarrow(init: Init, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    file = init.write("things.parquet", "PAR1")
    with pytest.raises(ConfigError, match=r"pip install 'dbt-tidemark\[parquet\]'"):
        init(file)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"id,ID\n1,2\n", "several columns named id"),
        ("a.csv", b"id,v,\n1,a,\n2,b,\n", "column 3 in the header of a.csv has no name"),
        (
            "a.csv",
            b"sep=;\r\nid;v\r\n1;a\r\n",
            "begins with the line sep=;, which only Excel reads",
        ),
        ("a.csv", gzip.compress(b"id\n1\n", mtime=0), "only if its name ends in .gz"),
        ("a.csv.gz", b"id\n1\n", "cannot be read"),
        ("a.csv.gz", gzip.compress(b"id\n1\n" * 100, mtime=0)[:-9], "cannot be read"),
        ("a.csv", b"PAR1....", "--format parquet"),
        ("a.csv", b"PK\x03\x04....", "zip archive"),
        ("a.csv", b"i\0d\0\n\0", "NUL"),
        ("a.xlsx", b"?", "add --format"),
        ("a.csv", b"id,v\n", "no rows, so no key"),
        ("a.csv", b"id,v\n1,a\n1,b\n", "name the key with --key|chosen"),
        (
            "a.csv",
            b"id,v\n1,\n2,\n2,0.5\n3,\n",
            "sample. The nearest is id, with 1 row with a value of an earlier row, such as 2: name",
        ),
        (
            "a.csv",
            b"phone,v\n1,\n2,\n2,0.5\n,0.5\n",
            "phone, with 1 row with a value of an earlier row and 1 row without a value: name",
        ),
        ("a.json", b"", "is empty"),
        ("a.json", b'[{"id": 1}]\n', "line 1 is not a JSON object.*an array"),
        ("a.json", b'{\n  "id": 1\n}\n', "line 1 is not a JSON object.*spread over lines"),
        ("a.json", b'{"id": 1}\nid=2\n', "line 2 is not JSON"),
    ],
)
def test_init__unreadable_sample(init: Init, name: str, content: bytes, message: str) -> None:
    (init.root / name).write_bytes(content)
    if "chosen" in message:
        (init.root / name).write_bytes(b"v,w,x\n1,a,\n1,a,1\n")
    with pytest.raises(ConfigError, match=message):
        init(name)
    assert not (init.root / "models").exists()


# -- Keys


def test_init__key_given_in_any_case(init: Init) -> None:
    said = init(init.write("a.csv", "Region,Code,v\nx,1,a\nx,2,b\n"), "--key", "region,CODE")
    assert init.model()["config"]["unique_key"] == ["Region", "Code"]
    assert "as given; unique" in said
    constrained = [column["name"] for column in init.model()["columns"] if "constraints" in column]
    assert constrained == ["Region", "Code"]


def test_init__key_given_that_is_not_unique(init: Init) -> None:
    said = init(init.write("a.csv", "k,v\nx,1\nx,2\n,3\n"), "--key", "k")
    assert "BUT in the sample 1 rows have NULL in it and 1 repeat" in said


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("icoa", "did you mean icao?"),
        ("zzz", "there are icao, v"),
        ("v,V", "must name each column once"),
    ],
)
def test_init__key_refused(init: Init, key: str, message: str) -> None:
    file = init.write("a.csv", "icao,v\nA,1\nB,2\n")
    with pytest.raises(ConfigError, match=re.escape(message)):
        init(file, "--key", key)


# -- Existing files

HAND_WRITTEN = """\
version: 2  # of dbt

# What analysts wrote by hand
models:
    -   name: "first"      # odd indentation
        description: >
            Two lines
            of text
        columns: [{name: a}, {name: b}]
    # between

    -   name: second
        description: 'it''s'   # the last

# A comment on what follows
sources:
    - name: shop
      tables: [{name: orders}]
"""


def test_init__keeps_what_is_written(init: Init) -> None:
    init.write(YAML_FILE, HAND_WRITTEN)
    init(init.write("a.csv", "id,v\n1,x\n"))
    init(init.write("b.csv", "id,v\n1,x\n"), name="more")
    content = yaml.safe_load(init.read())
    assert [model["name"] for model in content["models"]] == ["first", "second", "things", "more"]
    assert content["sources"] == yaml.safe_load(HAND_WRITTEN)["sources"]
    lines = iter(init.read().splitlines())
    assert all(line in lines for line in HAND_WRITTEN.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        HAND_WRITTEN,
        "",
        "# only a comment\n",
        "version: 2\n",
        "version: 2\nmodels:\n",
        "version: 2\nmodels: []  # none yet\nseeds: []\n",
        "version: 2\nmodels: null\n",
        "models:\n- name: flush\n  config: {tags: [a]}\n",
        "models:\n  - name: a\n    description: |\n      text\n\n      more\n\nseeds: []\n",
        "models:\n  - {name: a,\n     columns: []}\n",
        "models:\n  - name: a\n    description: 'no line break at the end'",
        "models:\r\n  - name: a\r\n  - name: b\r\n",
        "models:\n  - name: a\n    description: plain text\n      on two lines\n  # end\n",
        "---\nmodels:\n  - name: a\n",
        "models:\n  - name: a\n    description:\n",
        "models:\n  - name: a\n    columns:\n      - name: x\n        data_type: '{{ doc }}'\n",
        "  models:\n    - name: indented\n",
    ],
)
def test_insert_entry__adds_and_changes_nothing(text: str) -> None:
    entry = "- name: new\n  columns:\n    - name: id\n"
    result = insert_entry(text, "models", entry, "x.yml")
    before, after = yaml.safe_load(text) or {"version": 2}, yaml.safe_load(result)
    assert after["models"] == [*(before.get("models") or []), *yaml.safe_load(entry)]
    assert {**after, "models": None} == {**before, "models": None}
    assert ("\r\n" in text) == ("\r\n" in result)
    for comment in re.findall(r"#.*", text):
        assert comment.rstrip("\r") in result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models: [{name: a}]\n", "one item per line"),
        ("{models: null}\n", "nothing can be added"),
        ("models: {a: 1}\n", "one item per line"),
        ("models:\n  - name: [\n", "x.yml line 3 is not valid YAML"),
        ("- a list\n", "is not a property file"),
        ("version: 2\n...\n", "nothing can be added"),
        ("models:\n  - name: a\n    description: |+\n      kept lines\n\n", "unusual way"),
        ("a: 1\n---\nb: 2\n", "is not valid YAML"),
    ],
)
def test_insert_entry__refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        insert_entry(text, "models", "- name: new\n", "x.yml")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("models/things.sql", "select 1"),
        ("models/other/Things.sql", "select 1"),
        ("models/other/things.py", "def model(dbt, session): ..."),
        ("models/other/any.yml", "models:\n  - name: things\n"),
    ],
)
def test_init__refuses_a_model_that_is_there(init: Init, path: str, text: str) -> None:
    init.write(path, text)
    file = init.write("a.csv", "id,v\n1,x\n")
    with pytest.raises(ConfigError, match=f"model things is .* already.*{path}"):
        init(file)
    assert init.read(path) == text
    assert [found.name for found in init.root.rglob("models/**/*.*")] == [Path(path).name]


@pytest.mark.parametrize(
    ("arguments", "name", "message"),
    [
        (["a.csv", "--folder", "elsewhere"], "things", "must be below the project's models"),
        (["a.csv", "--folder", "models/../x"], "things", "must be below the project's models"),
        (["a.csv"], "../things", "cannot be a table"),
        (["a.csv"], "my-things", "cannot be a table"),
        (["a.csv", "--business-date", "4.3.2026"], "things", "must be a date such as"),
        (["a.csv", "--project-dir", "models"], "things", "no dbt_project.yml in models"),
        (["a.csv", "--source", "x.y"], "things", "from a file, or from --source"),
        ([], "things", "from a file, or from --source"),
        (["--source", "orders", "--key", "id"], "things", "SCHEMA.TABLE"),
        (["--source", "shop.orders"], "things", "--source needs --key"),
    ],
)
def test_init__refused(init: Init, arguments: list[str], name: str, message: str) -> None:
    init.write("a.csv", "id,v\n1,x\n")
    with pytest.raises(ConfigError, match=message):
        init(*arguments, name=name)


def test_init__other_folder(init: Init) -> None:
    (init.root / "dbt_project.yml").write_text("model-paths: [sql]\n", encoding="utf-8")
    init(init.write("a.csv", "id,v\n1,x\n"), "--folder", "sql/raw/shop", "--extract", "delta")
    assert init.read("sql/raw/shop/things.sql") == "{{ tidemark.extract() }}\n"
    assert "extract: delta" in init.read("sql/raw/shop/_shop__models.yml")


@pytest.mark.parametrize(
    ("others", "sql", "yaml_file"),
    [
        ([], "models/things.sql", "models/_models.yml"),
        (["models/shop/a.sql"], "models/shop/things.sql", "models/shop/_shop__models.yml"),
        (["models/shop/a.sql", "models/b.py"], "models/things.sql", "models/_models.yml"),
        (
            ["models/shop/x/a.sql", "models/shop/y/b.sql"],
            "models/shop/things.sql",
            "models/shop/_shop__models.yml",
        ),
    ],
)
def test_init__beside_the_other_models(
    init: Init, others: list[str], sql: str, yaml_file: str
) -> None:
    for path in others:
        init.write(path, "select 1")
    init(init.write("a.csv", "id,v\n1,x\n"))
    assert "materialized: cdc" in init.read(yaml_file)
    assert init.read(sql) == "{{ tidemark.extract() }}\n"


@pytest.mark.parametrize(
    "paths", ["[\"{{ 'models' if target else 'none' }}\"]", "[models, '{{ x }}']"]
)
def test_init__model_paths_are_jinja(init: Init, paths: str) -> None:
    init.write("dbt_project.yml", f"model-paths: {paths}\n")
    file = init.write("a.csv", "id,v\n1,x\n")
    init(file)
    assert init.model()["config"]["materialized"] == "cdc"
    # dbt alone knows where its models are: what is asked for is taken
    init(file, "--folder", "sql/shop", name="more")
    assert "name: more" in init.read("sql/shop/_shop__models.yml")
    with pytest.raises(ConfigError, match="must be below the project's models"):
        init(file, "--folder", "../sql", name="others")


def test_init__from_a_folder_below_the_project(init: Init, monkeypatch: pytest.MonkeyPatch) -> None:
    init.write("landing/a_2026-01-01.csv", "id,v\n1,x\n")
    monkeypatch.chdir(init.root / "landing")
    init("a_2026-01-01.csv")
    assert init.settings()["location"] == "landing/a_{business_date}.csv"


@pytest.mark.parametrize("name", ["sales [eu]_2026-01-01.csv", "sales{1}_2026-01-01.csv"])
def test_init__of_a_name_that_is_a_pattern(init: Init, name: str) -> None:
    said = init(init.write(name, "id,v\n1,x\n"))
    assert "of the path is part of a pattern in location" in said


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"models:\n  - name: caf\xe9\n", "models/old.yml line 2 is not UTF-8"),
        (
            b"models: [{name: a, config: {since: 2026-02-30}}]\n",
            "old.yml has a date that does not exist",
        ),
    ],
)
def test_init__beside_a_file_that_is_not_read(init: Init, content: bytes, message: str) -> None:
    file = init.write("a.csv", "id,v\n1,x\n")
    (init.root / "models").mkdir()
    (init.root / "models/old.yml").write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        init(file)


def test_files_that_cannot_be_written__are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    files = [str(tmp_path / "file" / name) for name in ("a.csv", "b.csv")]
    assert call(tidemark, ["datagen", "cdc", *"10 2 1 3 20 40 40".split(), *files]) == 1
    assert capsys.readouterr().err == f"Error: {tmp_path / 'file'}: File exists\n"


def test_init__in_this_project(init: Init) -> None:
    """Jinja in model-paths, several folders of models."""
    init.write("dbt_project.yml", (ROOT / "dbt_project.yml").read_text(encoding="utf-8"))
    shutil.copytree(ROOT / "models", init.root / "models")
    file = init.write("a.csv", "id,v\n1,x\n")
    init(file)
    assert init.model()["config"]["materialized"] == "cdc"
    with pytest.raises(ConfigError, match=r"airports is there already: models/hash_cdc/airports"):
        init(file, name="airports")


# -- What comes next


@pytest.mark.parametrize(
    ("files", "arguments", "date"),
    [
        (["a_2026-01-02.csv", "a_2026-01-01.csv", "a_2026-01-03.csv"], ["a_*.csv"], "2026-01-01"),
        (["a_2026-01-01.csv", "b_2026-01-02.csv"], ["*_2026-01-02.csv"], "2026-01-02"),
        (
            ["2026-01-01/a_2026-01-02.csv"],
            ["2026-01-01/a_2026-01-02.csv", "--business-date", "2026-01-01"],
            "2026-01-01",
        ),
        (["a.csv"], ["a.csv"], dt.date.today().isoformat()),
    ],
)
def test_init__next_names_the_first_date(
    init: Init, files: list[str], arguments: list[str], date: str
) -> None:
    for file in files:
        init.write(file, "id,v\n1,x\n")
    said = init(*arguments)
    assert f"""Next: dbt run --select things --vars '{{business_date: "{date}"}}'""" in said


# -- Sources


def test_init__source(init: Init) -> None:
    init("--source", "shop.orders", "--key", "id", name="orders")
    assert init.read("models/orders.sql") == "select * from {{ source('shop', 'orders') }}\n"
    assert init.settings("orders") == {"extract": "full"}
    content = yaml.safe_load(init.read())
    assert content["sources"] == [{"name": "shop", "tables": [{"name": "orders"}]}]


def test_init__source_that_is_declared(init: Init) -> None:
    init.write(
        "models/sources.yml", "sources:\n  - name: shop\n    tables:\n      - name: orders\n"
    )
    init("--source", "shop.orders", "--key", "id", name="orders")
    assert "sources" not in yaml.safe_load(init.read())
    with pytest.raises(ConfigError, match=r"add `- name: customers` to its tables"):
        init("--source", "shop.customers", "--key", "id", name="customers")


# -- The command line


def test_main__one_line_and_exit_code_2(init: Init, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["init", "missing.csv", "--name", "things"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "Error: there is no file missing.csv. Check the path\n"


@pytest.mark.parametrize(
    ("text", "yaml_text"),
    [("a", "a"), ("Yes", '"Yes"'), ("1a", '"1a"'), ('"', '"\\""'), ("", '""')],
)
def test_scalar(text: str, yaml_text: str) -> None:
    assert scalar(text) == yaml_text
    assert yaml.safe_load(flow_list([text, "x"])) == [text, "x"]
