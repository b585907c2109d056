"""What is said of a configuration that cannot be meant: one problem per mistake, with its mend."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
from dbt.artifacts.resources.v1.model import ModelConfig

from dbt.adapters.tidemark.errors import MacroError
from tidemark.model.columns import column_meta_problems
from tidemark.operations.rehash import rehashed_config
from tidemark.pipeline.row_rules import OF_EVENTS
from tidemark.rules.drift import (
    Drift,
    are_gone,
    choice_drift,
    config_drift,
    left_out_columns,
    new_columns,
    sentences,
    takes_new_log,
)
from tidemark.rules.event_roles import sequence_change
from tidemark.rules.guard import (
    deletes_too_much,
    guarded_deletes,
    rejects_too_many,
)
from tidemark.rules.table_names import table_drift
from tidemark.rules.types import is_widening, wider_type

from ..macros import SQL_FOLDERS, load_macros
from ..rendering import load_sql_macros

CSV = {"extract": "full", "location": "landing/shop_{business_date}.csv", "format": "csv"}
EVENTS = {"extract": "events", "location": "landing/shop", "sequence_by": "version"}
NO_TYPE = " is no type of Spark"


def problems(
    reader: str, config: dict[str, Any], columns: dict[str, str] | None = None
) -> list[str]:
    """The problems that the reader of a configuration finds in a model `shop`."""
    macros = load_sql_macros()
    kind = {"entity_config": "cdc"}.get(reader, reader.removesuffix("_config"))
    node = {
        "alias": "shop",
        "schema": "s",
        "description": "",
        "columns": {n: {"name": n, "data_type": t} for n, t in (columns or {}).items()},
        "config": {"materialized": kind, **config},
        "depends_on": {"nodes": []},
    }
    context = macros[reader].context
    context.update(model=node, graph=SimpleNamespace(nodes={}))
    try:
        macros[reader](*([] if reader in ("feed_config", "scd2_config") else [node]))
    except MacroError as error:
        lines = str(error).splitlines()
        return [line.strip()[2:] for line in lines if line.strip().startswith("- ")]
    finally:
        del context["model"], context["graph"]
    return []


@pytest.mark.parametrize(
    ("lake", "reader", "file_format", "said"),
    [
        ("delta", "entity_config", "iceberg", ["set vars: {tidemark__commits_format: iceberg}"]),
        ("iceberg", "entity_config", "delta", ["leave file_format out"]),
        (
            "iceberg",
            "entity_config",
            "parquet",
            [
                "file_format: parquet is not supported any more. Set file_format to delta (iceberg if the whole project has it)"
            ],
        ),
        ("iceberg", "entity_config", None, []),
        ("iceberg", "feed_config", "delta", ["leave file_format out"]),
        ("iceberg", "feed_config", None, []),
        ("iceberg", "atomic_config", None, []),
        ("iceberg", "shred_config", None, []),
    ],
)
def test_iceberg__is_a_project_s_or_is_not(
    monkeypatch: pytest.MonkeyPatch,
    lake: str,
    reader: str,
    file_format: str | None,
    said: list[str],
) -> None:
    context = load_sql_macros()[reader].context
    monkeypatch.setitem(context, "var", {"tidemark__commits_format": lake}.get)
    settings = {"entity_config": CSV, "atomic_config": {"location": "landing"}}.get(reader, {})
    found = problems(reader, {**cdc(**settings), "file_format": file_format})
    found = [problem for problem in found if "file_format" in problem]
    assert len(found) == len(said)
    assert all(part in problem for part, problem in zip(said, found, strict=True))


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"liquid_clustered_by": "id"}, "liquid_clustered_by needs file_format: delta"),
        ({"write_mode": "merge_on_read"}, "write_mode: merge_on_read needs file_format: delta"),
    ],
)
def test_iceberg__what_it_does_not_have(
    monkeypatch: pytest.MonkeyPatch, config: dict[str, Any], problem: str
) -> None:
    context = load_sql_macros()["entity_config"].context
    monkeypatch.setitem(context, "var", {"tidemark__commits_format": "iceberg"}.get)
    settings = {**CSV, **{name: config[name] for name in config if name == "write_mode"}}
    others = {name: config[name] for name in config if name != "write_mode"}
    (found,) = problems("entity_config", {**cdc(**settings), **others})
    assert found.startswith(problem)


@pytest.mark.parametrize(
    ("old", "new", "wider"),
    [
        ("int", "bigint", True),
        ("float", "double", True),
        ("decimal(8,2)", "decimal(10,2)", True),
        ("decimal(8,2)", "decimal(10,3)", False),
        ("int", "decimal(12,0)", False),
        ("int", "double", False),
        ("bigint", "int", False),
    ],
)
def test_iceberg__types_that_widen(old: str, new: str, wider: bool) -> None:
    assert is_widening(old, new, "iceberg") is wider


def cdc(**settings: Any) -> dict[str, Any]:
    return {"unique_key": "id", "meta": {"tidemark": settings}}


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        # where settings stand
        (
            {"unique_key": "id", "meta": {"tidmark": CSV}},
            "meta.tidmark is not read; did you mean `tidemark`?",
        ),
        (
            {"unique_key": "id", "meta": {"Tidemark": EVENTS}},
            "meta.Tidemark is not read; did you mean `tidemark`?",
        ),
        (
            {"unique_key": "id", "extract": "full", "meta": {"owner": "me"}},
            "extract stands directly under config, where Tidemark does not read settings. Move "
"the setting to config.meta.tidemark",
        ),
        (
            {"unique_key": "id", **CSV},
            "extract, location, format stand directly under config, where Tidemark does not "
"read settings. Move the setting to config.meta.tidemark",
        ),
        (
            {"unique_key": "id", "meta": CSV},
            "extract, location, format stand directly under meta, where Tidemark does not read "
"settings. Move the setting to config.meta.tidemark",
        ),
        (
            {**cdc(extract="full"), "tag_unchangd": True},
            "config.tag_unchangd is not read; did you mean `tag_unchanged`, under config.meta.tidemark?",
        ),
        (
            {"unique_keys": "id", "meta": {"tidemark": CSV}},
            "config.unique_keys is not read; did you mean `unique_key`?",
        ),
        (
            {"meta": {"tidemark": {**CSV, "unique_key": "id"}}},
            "meta.tidemark.unique_key is not read, as `unique_key` is a setting of dbt. Move the setting directly under config",
        ),
        ({"unique_key": "id", "meta": {"tidemark": None}}, "extract must be one of full, delta, events (missing)"),
        # names and values
        (cdc(extract="full", locaton="x_{business_date}.csv", format="csv"), "meta.tidemark.locaton is not a setting; did you mean `location`?"),
        (cdc(**{**CSV, "format": "cvs"}), "format must be one of csv, json, parquet (found: cvs); did you mean `csv`?"),
        (cdc(**{**EVENTS, "extract": "event"}), "extract must be one of full, delta, events (found: event); did you mean `events`?"),
        (cdc(**CSV, on_reject="quarantene"), "on_reject must be one of fail, quarantine (found: quarantene); did you mean `quarantine`?"),
        (cdc(**{**CSV, "location": ["a.csv"]}), "location must be a file, a folder or a glob, found: ['a.csv']"),
        (
            cdc(**{**CSV, "location": "a_{busines_date}.csv"}),
            "location has {busines_date}; did you mean {business_date}? There are {business_date}, {yyyy}, {mm} and {dd}",
        ),
        (
            cdc(**{**EVENTS, "location": "landing/{business_date}"}),
            "location has {business_date}, but change events are taken as they land: name the folder, or a glob",
        ),
        (cdc(**CSV, options={"seperator": ";"}), "options.seperator is no option of Spark for csv; did you mean `sep`?"),
        (cdc(**CSV, options={"headers": True, "SEP": ";", "samplingRatio": 1}), "options.headers is no option of Spark for csv; did you mean `header`?"),
        (cdc(**{**CSV, "format": "json"}, options={"dateFromat": "d"}), "options.dateFromat is no option of Spark for json; did you mean `dateFormat`?"),
        (cdc(**CSV, options={"Locale": "de-DE"}), "options.locale has no effect: a value is cast to the data_type of its column as Spark SQL casts a text. Turn others round in the model's SELECT, such as replace(replace(amount, '.', ''), ',', '.')"),
        (cdc(**CSV, options={"MODE": "FAILFAST"}), "options.mode has no effect: a line that cannot be read is a reject, and on_reject says what becomes of it: take it out"),
        (cdc(**{**CSV, "format": "json"}, options={"multiLine": True, "allowComments": True}), "options.multiLine has no effect: JSON is read as lines, an object on each: have the files written so, and take it out"),
        (cdc(**{**CSV, "format": "parquet"}, options={"compression": "gzip", "mergeSchema": True}), "options.compression has no effect: a file's compression is told by its name, such as .gz: take it out"),
        (cdc(**CSV, options={"Sep": ";", "sep": ","}), "options.sep and options.Sep are one option: remove one of them"),
        (cdc(**CSV, options={"sep": ";", "DELIMITER": ";"}), "options.DELIMITER and options.sep are one option: remove one of them"),
        ({**cdc(**{**CSV, "format": "json"}, options={"encoding": "latin1"})}, "options.encoding: JSON lines are UTF-8, found: latin1. Have the files written so"),
        # what is compared
        (cdc(**CSV, ignore=["a"], compare={"include": ["b"]}), "compare and ignore conflict: ignore is the short form of compare: {exclude: […]}"),
        (cdc(**EVENTS, columns=[["id"]]), "columns must be a name or a list of names, found in it: ['id']"),
        (cdc(**CSV, compare={"includes": ["b"]}), "compare takes include or exclude, found: includes"),
        (cdc(**CSV, compare={"exclude": ["ID"]}), "compare.exclude names `id`, which is part of unique_key: a key is always compared"),
        # intervals
        (cdc(**CSV, effective_from=["at"]), "effective_from must be the name of a column of dates or timestamps, found: ['at']"),
        (cdc(**CSV, effective_from="At", sensitive=["at"]), "effective_from names `At`, which is sensitive: intervals would show it"),
        # keys
        (
            {**cdc(**CSV), "unique_key": "id || name"},
            "unique_key `id || name` is an expression, and a key is a column: add one in the SELECT of the model, such as "
            "`select *, id || name as shop_key from (…)`, and name it as unique_key; or list the columns that make up the key",
        ),
        (
            {**cdc(**EVENTS), "unique_key": ["concat(id, name)"]},
            "unique_key `concat(id, name)` is an expression, and a key is a column: add one in the SELECT of the model, such as "
            "`select *, concat(id, name) as shop_key from (…)`, and name it as unique_key; or list the columns that make up the key",
        ),
        (
            {**cdc(**CSV), "unique_key": "id, name"},
            "unique_key `id, name` is no column: write several as a list, unique_key: [id, name]",
        ),
    ],
)  # fmt: skip
def test_cdc__one_problem(config: dict[str, Any], problem: str) -> None:
    assert problems("entity_config", config) == [problem]


def test_settings_are_a_mapping() -> None:
    found = problems("entity_config", {"unique_key": "id", "meta": {"tidemark": "full"}})
    assert found[0] == "meta.tidemark must be a mapping of settings, found: full"


@pytest.mark.parametrize("reader", ["entity_config", "scd2_config", "feed_config", "atomic_config", "shred_config"])  # fmt: skip
def test_near_misses__every_kind(reader: str) -> None:
    setting = {
        "entity_config": "soft_delete",
        "scd2_config": "entity",
        "feed_config": "feed_buckets",
        "atomic_config": "manifest",
        "shred_config": "rejects_retention",
    }[reader]
    for config, problem in [
        ({"meta": {"tidmark": {}}}, "meta.tidmark is not read; did you mean `tidemark`?"),
        (
            {setting: "x"},
            f"{setting} stands directly under config, where Tidemark does not read settings",
        ),
    ]:
        assert any(found.startswith(problem) for found in problems(reader, config))


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ("strng", "data_type `strng`" + NO_TYPE + "; did you mean `string`?"),
        ("varchr(10)", "data_type `varchr(10)`" + NO_TYPE + "; did you mean `varchar(10)`?"),
        ("varchar", "data_type `varchar`" + NO_TYPE + ": it is written like `varchar(10)`"),
        ("TEXT", "data_type `TEXT`" + NO_TYPE + "; did you mean `string`?"),
        ("decimal(10;2)", "data_type `decimal(10;2)`" + NO_TYPE + ": it is written like `decimal(18,2)`"),
        ("decimal(40,2)", "data_type `decimal(40,2)`" + NO_TYPE + ": up to 38 digits, and no more of them after the point than there are"),
        ("array<numeric(5, 7)>", "`numeric(5, 7)` in data_type `array<numeric(5, 7)>`" + NO_TYPE + ": up to 38 digits, and no more of them after the point than there are"),
        ("map<string, strng>", "`strng` in data_type `map<string, strng>`" + NO_TYPE + "; did you mean `string`?"),
        ("struct<a: int, b: array<dat>>", "`dat` in data_type `struct<a: int, b: array<dat>>`" + NO_TYPE + "; did you mean `date`?"),
        ("foo", "data_type `foo`" + NO_TYPE + "; there are string, int, bigint, double, decimal(18,2), boolean, date, timestamp and others"),
    ],
)  # fmt: skip
def test_unknown_types(declared: str, problem: str) -> None:
    columns = {"id": "bigint", "total": declared}
    expected = [f"column `total`: {problem}"]
    assert problems("entity_config", cdc(**CSV), columns) == expected
    assert problems("entity_config", cdc(**EVENTS), columns) == expected
    assert problems("shred_config", {}, columns) == expected


# every one is read by Spark 4.1, see functional/test_golden_sql.py::test_data_types
DATA_TYPES = [
    "string", "INT", "long", "Decimal(10, 2)", "decimal", "numeric(5)", "decimal(38,38)", "timestamp", "timestamp_ntz", "timestamp without time zone",
    "varchar(10)", "char(3)", "binary", "variant", "interval day to second", "string collate UTF8_BINARY", "real", "date", "boolean",
    "array<int>", "map<string,array<decimal(10,2)>>", "struct<a: int, b: struct<c: string>>", "struct<>",
    "struct<a int, `b x`: string not null comment 'a, b'>", "struct<`a:b`: int>",
]  # fmt: skip


@pytest.mark.parametrize("declared", DATA_TYPES)
def test_known_types(declared: str) -> None:
    assert problems("entity_config", cdc(**CSV), {"id": declared}) == []


NO_EXPRESSION = {
    "op = 'd": "has a quote ' that nothing closes",
    'op = "d': 'has a quote " that nothing closes',
    "lower(trim(op)": "has a `(` that nothing closes",
    "coalesce(op, 'x'))": "has a `)` that nothing opens",
    "ops[0)": "has a `)` that nothing opens",
    "op = 'd' -- gone": "has a comment: write it in the YAML, after #",
    "op = 'd';": "has a `;`: it is an expression, not a statement",
    "at, n": "is more than one expression: of several write a list",
    "at DESC": "has a direction: the greatest is the last; turn a number round by a minus",
    "at asc nulls last": "has a direction: the greatest is the last; turn a number round by a minus",
    " ": "is empty",
}


@pytest.mark.parametrize("text", NO_EXPRESSION)
@pytest.mark.parametrize("setting", ["sequence_by", "apply_as_deletes", "apply_as_truncates"])
def test_expressions__name_their_setting(setting: str, text: str) -> None:
    found = problems("entity_config", cdc(**{**EVENTS, setting: text}))
    assert found == [f"{setting}: `{text.strip()}` {NO_EXPRESSION[text]}"]


@pytest.mark.parametrize(
    "text",
    [
        "op = 'it''s; -- (' or `a, b` = \"'\"",
        "op rlike '\\\\(' and ops[size(ops) - 1] <> -1",
        "cast(at as decimal(10, 2))",
        "exists(ops, x -> x = 'd')",
        "description",
    ],
)
def test_expressions__that_may_be_some(text: str) -> None:
    settings = {name: text for name in ("sequence_by", "apply_as_deletes", "apply_as_truncates")}
    assert problems("entity_config", cdc(**{**EVENTS, **settings})) == []


def test_expressions__of_columns() -> None:
    settings = {"meta": {"tidemark": {"compare_as": "lower(trim(name)"}}}
    node = {"alias": "shop", "schema": "s", "config": cdc(**CSV), "columns": {}}
    node["columns"] = {"id": {"name": "id"}, "name": {"name": "name", "config": settings}}
    with pytest.raises(MacroError) as raised:
        load_sql_macros()["entity_config"](node)
    place = "column `name`: meta.tidemark.compare_as: `lower(trim(name)`"
    assert f"{place} has a `(` that nothing closes" in str(raised.value)


@pytest.mark.parametrize("settings", [CSV, EVENTS])
def test_columns_twice(settings: dict[str, Any]) -> None:
    problem = "column `ID` is declared twice (names differ at most in case)"
    assert problems("entity_config", cdc(**settings), {"id": "int", "ID": "int"}) == [problem]


def test_keys_of_dbt_are_no_mistakes() -> None:
    config = cdc(**CSV) | {
        "clustered_by": ["a"],
        "snowflake_warehouse": "w",
        "submission_method": "session",
    }
    defaults = {name: "x" for name in ModelConfig().to_dict() if name not in ("meta", "unique_key")}
    assert problems("entity_config", {**defaults, **config}) == []
    odd = {"Amount (EUR)": "string", "a || b": "string"}
    assert problems("entity_config", {**cdc(**CSV), "unique_key": list(odd)}, odd) == []


# --- what arrives is not what was declared

COLUMNS = {"id": "bigint", "name": "string", "total": None}


def shop(**settings: Any) -> dict[str, Any]:
    """The configuration of a small entity."""
    columns = {n: {"name": n, **({"data_type": t} if t else {})} for n, t in COLUMNS.items()}
    node = {"alias": "shop", "schema": "s", "columns": columns, "config": cdc(**CSV | settings)}
    return dict(load_sql_macros()["entity_config"](node))


def test_options__in_any_case() -> None:
    """As to Spark: each was passed over where it is read here."""
    macros = load_sql_macros()
    options = shop(**CSV, options={"dateformat": "d", "Header": False, "QUOTE": "'"})["options"]
    assert options == {"dateFormat": "d", "header": False, "quote": "'"}
    day = {"name": "day", "type": "date", "source_name": "day", "source_type": "string"}
    assert "try_to_timestamp" in macros["cast_expr"](day, options, "a")
    assert macros["csv_options"](options)["header"] is False
    of_json = shop(**{**CSV, "format": "json"}, options={"DATEFORMAT": "d"})["options"]
    assert of_json == {"dateFormat": "d"}


def test_options__that_nested_json_is_read_by() -> None:
    of_json, options = {**CSV, "format": "json"}, {"timeZone": "UTC", "locale": "de-DE"}
    config = cdc(**of_json, options=options)
    assert len(problems("entity_config", config, {"a": "timestamp"})) == 2
    assert not problems("entity_config", config, {"a": "struct<at: timestamp>"})


def arrived(*names: str, **types: str) -> list[dict[str, str]]:
    return [{"name": name, "type": types.get(name, "string")} for name in names]


def roles_of(cfg: dict[str, Any], columns: list[dict[str, str]], recorded: Any = None) -> Any:
    types = {name: kind for name, kind in COLUMNS.items() if kind}
    return load_sql_macros()["column_roles"](
        cfg, columns, types, recorded, " of 2026-03-04 (f.csv)"
    )


def test_missing_column__names_the_file_once() -> None:
    with pytest.raises(MacroError) as raised:
        roles_of(shop(ignore=["name"]), arrived("id", "nam", "total"))
    (line,) = [line.strip() for line in str(raised.value).splitlines() if "- " in line]
    assert line == (
        "- column `name` of the YAML is not in the extract of 2026-03-04 (f.csv); "
        "did you mean `nam`?"
    )


def test_missing_columns__are_one_line_where_nothing_resembles_them() -> None:
    def lines(*names: str) -> list[str]:
        with pytest.raises(MacroError) as raised:
            roles_of(shop(), arrived(*names))
        return [line.strip() for line in str(raised.value).splitlines() if "- " in line]

    assert lines("<html>") == [
        "- none of the 3 columns of the YAML is in the extract of 2026-03-04 (f.csv); there are <html>"
    ]
    assert lines("id", "zip") == [
        "- columns `name`, `total` of the YAML are not in the extract of 2026-03-04 (f.csv); "
        "there are id, zip"
    ]
    assert [line[:15] for line in lines("id", "nam", "zip")] == [
        "- column `name`",
        "- columns `tota",
    ]


def test_missing_column__hint_has_the_name_as_the_header_has_it() -> None:
    with pytest.raises(MacroError, match=r"did you mean `Nam`\?"):
        roles_of(shop(), arrived("id", "Nam", "total"))
    with pytest.raises(
        MacroError, match=r"ignore names column `ort`, .*; did you mean `WohnOrt`\?"
    ):
        roles_of(shop(ignore=["ort"]), arrived("id", "name", "total", "WohnOrt"))


def test_changed_type__names_the_cure() -> None:
    cfg = shop()
    recorded = roles_of(cfg, arrived("id", "name", "total", total="int"))["recorded"]
    roles = roles_of(cfg, arrived("id", "name", "total"), recorded)
    assert sentences(config_drift(cfg, roles, recorded)) == [
        "column `total` was int and is now string in the source (declare `data_type: int` for it "
        "in the YAML: values are cast to it, and one that cannot be is a reject)"
    ]
    # a type that the YAML changed is taken back there
    recorded["columns"][0]["type"] = "string"
    drift = config_drift(cfg, roles, recorded)
    assert drift[0] == Drift("other hashes", "column `id` was string and is now bigint")


def test_earlier_extract__lacks_what_came_later() -> None:
    """What came later is NULL there, and what was dropped since is carried; the next extract must have the one and is told of the other."""
    cfg, whole = shop(), arrived("id", "name", "total", "zip")
    recorded = roles_of(cfg, whole)["recorded"]
    assert "lacks" not in recorded
    with pytest.raises(MacroError, match="column `name` of the YAML is not in the extract"):
        roles_of(cfg, arrived("id", "total"), recorded)
    earlier = {**recorded, "not_yet": ["name", "zip"], "is_past": True}
    roles = roles_of(cfg, arrived("id", "total"), earlier)
    assert config_drift(cfg, roles, earlier) == []
    assert roles["recorded"]["lacks"] == ["name", "zip"]
    (drift,) = config_drift(cfg, roles_of(cfg, whole[:3], recorded), recorded)
    assert drift.sentence.startswith("compared column `zip` is no longer in the extract")
    # nothing of the settings is to be undone, and no new hashes make up for another key
    other = config_drift(
        {**cfg, "hash": "sha256"}, roles_of(shop(hash="sha256"), whole, recorded), recorded
    )
    assert sentences(other) == ["hash was md5 and is now sha256"]
    assert are_gone([drift]) and not are_gone([]) and not are_gone([drift, *other])
    assert not takes_new_log([drift, *other])
    assert drift.sentence.endswith("dbt run-operation rehash --args '{entity: shop, drop: [zip]}'")
    recorded["columns"][3] |= {"role": "ignored", "dropped": True}
    roles = roles_of(cfg, whole, {**recorded, "is_past": True})
    assert config_drift(cfg, roles, recorded) == []
    assert roles["columns"][3]["source_name"] == "zip"
    drift = config_drift(cfg, roles_of(cfg, whole, recorded), recorded)
    assert sentences(drift) == ["column `zip` was ignored and is now compared"]


def test_earlier_extract__column_that_is_required_since() -> None:
    """Rows of an extract from before a column came are no rejects for want of it."""
    cfg, whole = shop(), arrived("id", "name", "total")
    for column in cfg["columns"]:
        column["not_null"] = column["name"] == "name"
    recorded = roles_of(cfg, whole)["recorded"]
    earlier = {**recorded, "not_yet": ["name"], "is_past": True}
    roles = roles_of(cfg, arrived("id", "total"), earlier)
    assert [each["not_null"] for each in roles["columns"]] == [True, False, False]
    # also where it is yielded all the same, by JSON or a SELECT
    roles = roles_of(cfg, whole, earlier)
    assert [each["not_null"] for each in roles["columns"]] == [True, False, False]
    assert roles["recorded"]["lacks"] == ["name"]


def test_earlier_extract__of_before_a_column_was_widened() -> None:
    """Its values are taken as the wider type; the next extract is told to declare one."""
    cfg, names = shop(), ("id", "name", "total", "zip")
    recorded = roles_of(cfg, arrived(*names, zip="bigint"))["recorded"]
    narrow = arrived(*names, zip="int")
    (drift,) = config_drift(cfg, roles_of(cfg, narrow, recorded), recorded)
    assert drift.sentence.startswith("column `zip` was bigint and is now int in the source")
    earlier = {**recorded, "is_past": True}
    roles = roles_of(cfg, narrow, earlier)
    assert config_drift(cfg, roles, earlier) == []
    assert (roles["columns"][3]["type"], roles["columns"][3]["source_type"]) == ("bigint", "int")
    assert roles_of(cfg, arrived(*names), earlier)["columns"][3]["type"] == "string"


def test_dropped_column__keeps_its_type_and_its_role() -> None:
    """An extract of before may have it as text; another rehash compares it no more than the one that dropped it."""
    _macros, cfg = load_macros(*SQL_FOLDERS, "operations"), shop()
    recorded = roles_of(cfg, arrived("id", "name", "total", "zip", zip="int"))["recorded"]
    dropped = rehashed_config(cfg, recorded, ["zip"], [])
    again = rehashed_config({**cfg, "hash": "sha256"}, dropped, [], [])
    for config in (dropped, again):
        (found,) = [each for each in config["columns"] if each["name"] == "zip"]
        assert (found["role"], found["dropped"]) == ("ignored", True)
    past = {**dropped, "is_past": True}
    roles = roles_of(cfg, arrived("id", "name", "total", "zip"), past)
    assert config_drift(cfg, roles, past) == []
    assert (roles["columns"][3]["type"], roles["columns"][3]["source_type"]) == ("int", "string")


def test_rehashed_config__keeps_what_is_required() -> None:
    """Current, which a rehash makes anew, has the same NOT NULL as before, but of a column that is dropped."""
    macros, cfg = load_macros(*SQL_FOLDERS, "operations"), shop()
    for column in cfg["columns"]:
        column["not_null"] = column["name"] in ("total", "zip")
    recorded = roles_of(cfg, arrived("id", "name", "total", "zip"))["recorded"]
    rehashed = rehashed_config({**cfg, "hash": "sha256"}, recorded, ["zip"], [])
    stored = macros["recorded_roles"](rehashed, cfg)["stored"]
    assert [each["name"] for each in stored if each["not_null"]] == ["id", "total"]


def test_drift__spelling_and_order_are_none() -> None:
    """Keys in another order keep the order of their hashes; the case of `sequence_by` says nothing, save in literals."""
    macros, names = load_sql_macros(), ("id", "name", "total")
    found = {"names": [*names], "schemas": {}, "ddl": None, "arrived": None, "renames": {}}
    found |= {"refused": [], "has_schemaless": True, "inferred": {}}

    def read(settings: dict[str, Any], keys: list[str]) -> Any:
        node = {"alias": "shop", "schema": "s", "columns": {n: {"name": n} for n in names}}
        return macros["entity_config"]({**node, "config": {**cdc(**settings), "unique_key": keys}})

    def roles_in(cfg: Any, recorded: Any) -> Any:
        if cfg["extract"] == "events":
            return macros["event_roles"](cfg, found, {}, recorded)
        return macros["column_roles"](cfg, arrived(*names), {}, recorded)

    for settings in ({**CSV}, {**CSV, "extract": "delta"}, {**EVENTS}):
        recorded = roles_in(read(settings, ["id", "name"]), None)["recorded"]
        cfg = read(settings, ["NAME", "id"])
        roles = roles_in(cfg, recorded)
        assert [column["name"] for column in roles["keys"]] == ["id", "name"]
        assert config_drift(cfg, roles, recorded) == []
        cfg = read(settings, ["name", "total"])
        (drift,) = config_drift(cfg, roles_in(cfg, recorded), recorded)
        assert drift == Drift("new log", "unique_key was id, name and is now name, total")
        assert takes_new_log([drift]) and not are_gone([drift])

    def drift_of(first: Any, second: Any) -> Any:
        recorded = roles_in(read({**EVENTS, "sequence_by": first}, ["id"]), None)["recorded"]
        cfg = read({**EVENTS, "sequence_by": second}, ["id"])
        return sentences(config_drift(cfg, roles_in(cfg, recorded), recorded))

    assert drift_of("seq", "SEQ") == drift_of(["coalesce(a, b)"], " COALESCE(A, b)") == []
    assert drift_of("`seq`", "Seq") == []
    for first, second in [("seq", "seq2"), ("a = 'x'", "a = 'X'"), ("m.a", "m.A")]:
        assert drift_of(first, second) == [f"sequence_by was {first} and is now {second}"]


def test_sequence_change() -> None:
    changed = sequence_change
    cfg = {"sequence_by": ["at", "n"], "file_format": "delta"}

    def of(first: str, second: str = "int") -> str:
        return f"struct<sequence_1:{first},sequence_2:{second},is_stream:boolean,position:array<bigint>>"

    nothing: dict[str, Any] = {"wider": {}, "casts": {}, "drift": [], "errors": []}
    assert changed(cfg, of("timestamp"), None) == changed(cfg, of("date"), of("date")) == nothing
    wider = changed(cfg, of("decimal(12,2)", "bigint"), of("decimal(9,2)", "int"))
    assert wider == nothing | {"wider": {"sequence_1": "decimal(12,2)", "sequence_2": "bigint"}}
    assert changed(cfg, of("date"), of("date", "bigint")) == nothing | {"casts": {1: "bigint"}}
    assert changed(cfg, of("string"), of("timestamp"))["drift"] == [
        "sequence_by: `at` was timestamp and is now string (declare `data_type: timestamp` for the column "
        "in the YAML, or cast it in the SELECT of the model)"
    ]
    for unordered in ("map<string,string>", "array<map<string,int>>", "variant", "void"):
        assert changed(cfg, of(unordered), None)["errors"] == [
            f"sequence_by: `at` is of type {unordered}, which cannot order rows. Name a column "
            "or an expression of another type"
        ]
    # of a text that nothing says to be one: as the order of letters no time and no number has its own
    (error,) = changed(cfg, of("string", "string"), None, ["at"])["errors"]
    assert error.startswith("sequence_by: `at` comes as text. As text, '10' is before '9'")
    assert changed(cfg, of("string", "string"), None, ["other"]) == nothing
    ordered = changed(cfg, of("struct<map_id:int,variant:int,interval_x:date>"), None)
    assert ordered == nothing


REFUSED_NAMES = {
    "_tidemark_x": "column `_tidemark_x`{} is reserved",
    "a\nb": "column `a\\nb`{} has a line break or a NUL in its name",
    "a\0b": "column `a\\0b`{} has a line break or a NUL in its name",
    "${env:HOME}": "column `${{env:HOME}}`{} has `${{` in its name, which Spark takes for a variable",
}


def test_next_commit_id__clock_goes_back() -> None:
    """Ids rise, whatever the clock says: the order of commits is theirs."""
    next_id = load_sql_macros()["next_commit_id"]
    ahead = 991231235959999
    assert next_id(ahead) == ahead + 1
    assert next_id(next_id(ahead)) == ahead + 2
    assert next_id(None) < ahead


@pytest.mark.parametrize("name", REFUSED_NAMES)
def test_refused_names(name: str) -> None:
    """In the YAML, in the header of a file, in what a SELECT yields, and in events."""
    macros, said = load_sql_macros(), REFUSED_NAMES[name]
    node = {"alias": "shop", "schema": "s", "columns": {}, "config": cdc(**CSV)}
    cfg = macros["entity_config"](node)
    for whose, read in {
        "": lambda: macros["entity_config"]({**node, "columns": {name: {"name": name}}}),
        " of the extract": lambda: macros["column_roles"](cfg, arrived("id", name), {}, None),
    }.items():
        with pytest.raises(MacroError, match=re.escape(said.format(whose))):
            read()


@pytest.mark.parametrize(
    ("names", "made"),
    [("k v", False), ("k c1 c2", True), ("k c0 c1", False), ("k _c1", True), ("k _c7 a2", False), ("k v1 V2", True), ("1 0", False)],
)  # fmt: skip
def test_names_that_spark_makes(names: str, made: bool) -> None:
    """`k,v,V` is read as k, v1, V2. A file may have such names of its own: it is looked into then."""
    assert load_sql_macros()["has_made_names"](names.split()) == made


@pytest.mark.parametrize("setting", ["partition_by", "liquid_clustered_by"])
def test_layout_by_no_column(setting: str) -> None:
    """Told before a table is made; columns that Tidemark adds, and fields, are left to Spark."""
    macros = load_sql_macros()
    told = f"{setting} names column `regoin`, which "

    def planned(kind: dict[str, Any], *names: str) -> None:
        config = {**cdc(**kind), setting: list(names)}
        cfg = macros["entity_config"](
            {"alias": "shop", "schema": "s", "columns": {}, "config": config}
        )
        columns = {name: {"name": name, "type": "string"} for name in ("id", "region")}
        if kind is CSV:
            macros["column_roles"](cfg, list(columns.values()), {}, None, " of 2026-03-04")
            return
        found = {"names": [*columns], "schemas": {}, "ddl": None, "renames": {}, "refused": []}
        found |= {"arrived": None, "has_schemaless": True, "inferred": {}}
        macros["event_roles"](cfg, found, {}, None)

    for kind, lacks in [(CSV, "is not in the extract of 2026-03-04"), (EVENTS, "no event has")]:
        planned(kind, "Region", "_operation", "id.a")
        with pytest.raises(MacroError, match=re.escape(f"{told}{lacks}; did you mean `region`?")):
            planned(kind, "regoin")


@pytest.mark.parametrize("table", [None, "shop.t", "SHOP.T", "t", "srv.shop.t", "shop.renamed"])
def test_events__same_table(table: str | None) -> None:
    assert table_drift({"table": table}, ["shop.t", "shop.renamed"]) == []
    assert table_drift({"table": table}, []) == []


def test_events__another_table() -> None:
    """Files that were read for another table are not read again, so the change would lose events."""
    drift = table_drift({"table": "shop.t"}, ["shop.tt"])
    assert drift == ["table was shop.tt and is now shop.t"]


def test_events__columns_of_settings() -> None:
    """What `columns` leaves out may be reserved; names that it or `ignore_null_updates` have must be there."""
    macros = load_sql_macros()

    def planned(
        names: str, recorded: Any = None, typed: bool = False, to_come: Any = (), **settings: Any
    ) -> Any:
        node = {
            "alias": "shop",
            "schema": "s",
            "columns": {},
            "config": cdc(**{**EVENTS, **settings}),
        }
        columns = {name: {"name": name, "type": "string"} for name in names.split()}
        found = {"names": [*columns], "schemas": {}, "ddl": None, "renames": {}, "refused": []}
        found |= {"arrived": columns if typed else None, "has_schemaless": True, "inferred": {}}
        found["to_come"] = [*to_come]
        return macros["event_roles"](macros["entity_config"](node), found, {}, recorded)

    roles = planned("id name _commit_id", columns={"exclude": ["_commit_id"]})
    assert [column["name"] for column in roles["source_columns"]] == ["id", "name"]
    # it need not come again
    planned("id name", roles["recorded"], columns={"exclude": ["_commit_id"]})
    for settings, problem in [
        ({}, "column `_commit_id` of the events is reserved"),
        ({"columns": {"exclude": ["_commit_id", "nam"]}}, "columns names column `nam`, which no event has; did you mean `name`?"),
        ({"columns": {"exclude": ["_commit_id"]}, "ignore_null_updates": ["nmae"]},
         "ignore_null_updates names column `nmae`, which no event has; did you mean `name`?"),
    ]:  # fmt: skip
        for typed in (False, True):
            with pytest.raises(MacroError, match=re.escape(problem)):
                planned("id name _commit_id", typed=typed, **settings)  # type: ignore[arg-type]
    # what a load has beside the columns, and images of before
    for name in ("_identity", "_before_id", "_tidemark_x", "${x}"):
        with pytest.raises(MacroError, match=re.escape(f"column `{name}` of the events ")):
            planned(f"id {name}")
    # a line need not have every column, a table does
    odd = {"columns": {"exclude": ["remark"]}, "format": "rows"}
    planned("id name", **odd)
    with pytest.raises(MacroError, match="columns names column `remark`"):
        planned("id name", typed=True, **odd)
    # nothing has landed yet
    planned("", columns={"exclude": ["nam"]})
    # a statement later in the batch brings it
    to_come = {"columns": {"exclude": ["nam"]}, "ignore": ["seen"], "sensitive": ["Phone"]}
    planned("id name", to_come=["nam", "Seen", "phone"], **to_come)


def test_events__columns_left_out_stay_readable() -> None:
    """Predicates read a column of lines that `columns` leaves out, also where no line of a batch brings it."""
    macros = load_sql_macros()
    settings = {**EVENTS, "format": "canonical", "columns": {"exclude": ["gone", "at"]}}
    node = {"alias": "shop", "schema": "s", "columns": {}, "config": cdc(**settings)}

    def planned(found_types: dict[str, str], recorded: Any = None, **changes: Any) -> Any:
        found = {"names": [*found_types], "schemas": {}, "ddl": None, "renames": {}, "refused": []}
        found |= {"arrived": None, "has_schemaless": True, "inferred": found_types, **changes}
        cfg = macros["entity_config"](node)
        return macros["event_roles"](cfg, found, {}, recorded)

    def readable(roles: Any) -> dict[str, str]:
        assert [column["name"] for column in roles["columns"]] == ["id"]
        return {column["name"]: column["type"] for column in roles["source_columns"]}

    first = planned({"id": "bigint", "gone": "boolean"})
    second = planned({"id": "bigint", "at": "bigint"}, first["recorded"])
    assert readable(second) == {"id": "bigint", "gone": "boolean", "at": "bigint"}
    third = planned({"id": "bigint"}, second["recorded"])
    assert readable(third) == {"id": "bigint", "gone": "boolean", "at": "bigint"}
    assert third["recorded"] == second["recorded"]
    # a table brings all that it has; and what the setting does not leave out any more is a column like others
    typed = {"id": {"name": "id", "type": "bigint"}}
    assert readable(planned({"id": "bigint"}, third["recorded"], arrived=typed)) == {"id": "bigint"}
    node["config"] = cdc(**{**EVENTS, "format": "canonical"})
    assert readable(planned({"id": "bigint"}, third["recorded"])) == {"id": "bigint"}


def test_events__columns_left_out_later_stay() -> None:
    """They are columns of the tables and of hashes as before, and no event brings them; predicates read what one has of them."""
    macros = load_sql_macros()
    node: dict[str, Any] = {"alias": "shop", "schema": "s", "columns": {}}

    def planned(types: dict[str, str], recorded: Any = None, **settings: Any) -> Any:
        node["config"] = cdc(**{**EVENTS, "format": "canonical", **settings})
        found = {"names": [*types], "schemas": {}, "ddl": None, "renames": {}, "refused": []}
        found |= {"arrived": None, "has_schemaless": True, "inferred": types}
        return macros["event_roles"](macros["entity_config"](node), found, {}, recorded)

    types = {"id": "bigint", "name": "string", "email": "string", "at": "bigint"}
    wide = planned(types, ignore=["at"], sensitive=["email"])
    narrow = planned(types, wide["recorded"], columns=["id", "name"], sequence_by="at")
    assert narrow["recorded"]["columns"] == wide["recorded"]["columns"]
    for part in ("columns", "compared", "ignored", "stored", "sensitive", "keys"):
        assert [one["name"] for one in narrow[part]] == [one["name"] for one in wide[part]], part
    assert narrow["added"] == [] and [one["name"] for one in narrow["source_columns"]] == [*types]
    cfg = macros["entity_config"](node)
    for column in narrow["columns"]:
        stays = column["name"] in ("email", "at")
        value = f"cast(null as {column['type']})" if stays else f"`{column['name']}`"
        assert macros["_typed_value_expr"](narrow, column) == value
        assert (macros["_unsupplied_expr"](cfg, narrow, column) == "true") == stays
    told = str(macros["event_reject_reasons"](cfg, narrow, narrow["keys"]))
    assert "name" in told and "email" not in told
    # what was never taken in does not stay
    assert [one["name"] for one in planned(types, None, columns=["id"])["columns"]] == ["id"]
    again = planned(types, narrow["recorded"], ignore=["at"], sensitive=["email"])
    assert again["recorded"]["columns"] == wide["recorded"]["columns"]
    assert not [one for one in again["columns"] if one.get("stays")]


def test_events__rules_are_not_for_what_deletes() -> None:
    """Whatever the source calls it: neither a row is rejected by them, nor does one count."""
    macros = load_sql_macros()
    rule = {"name": "positive", "check": "n > 0", "on_fail": "quarantine"}
    more = {"format": "canonical", "apply_as_deletes": "gone", "apply_as_truncates": "emptied"}
    config = cdc(**{**EVENTS, **more, "on_reject": "quarantine", "rules": [rule]})
    cfg = macros["entity_config"]({"alias": "shop", "schema": "s", "columns": {}, "config": config})
    roles = {"keys": [], "columns": [], "source_columns": [], "keyed": True, "typed": True}
    reasons = macros["event_reject_reasons"](cfg, roles, [])
    (condition,) = [one["condition"] for one in reasons if "rule: " in one["text"]]
    rows = "(values ('row', 'UPDATE', {}, -1)) as t(_kind, _operation, gone, emptied, n)"
    with duckdb.connect() as db:
        for flags, is_held in (("false, false", 1), ("true, false", 0), ("false, true", 0)):
            (failing,) = db.sql(f"select count(*) from {rows.format(flags)} where {condition}").fetchone()  # fmt: skip
            assert failing == is_held, flags
        counts = macros["rule_counts_sql"](cfg, "staged", OF_EVENTS)
        db.sql(
            "create table staged as from (values (-1, 'UPDATE', 'upsert', 'rule: x'), "
            "(-1, 'UPDATE', 'delete', null), (-1, 'TRUNCATE', 'truncate', null)) "
            "as t(n, _source_operation, _tidemark_effect, _reject_reason)"
        )
        assert db.sql(counts).fetchone() == (1,)


def test_events__choice_of_columns_without_key() -> None:
    """Rows are found by all values that are stored, so that the choice stays what it was."""

    def drift(recorded_type: str | None, stays: bool, keyed: bool = False) -> Any:
        roles = {"keyed": keyed, "columns": [{"name": "B", "recorded_type": recorded_type, "stays": stays}]}  # fmt: skip
        return choice_drift(roles, {"excluded": ["b"]})

    assert drift("int", False) == [] == drift("int", True, keyed=True)
    assert "columns leaves out `B`, which it took so far" in drift("int", True)[0]
    assert "columns takes `B`, which it left out so far" in drift(None, False)[0]


def test_new_columns() -> None:

    def told(cfg: dict[str, Any], names: str, of_file: str, recorded: Any) -> tuple[Any, Any]:
        source = arrived(*names.split())
        roles = roles_of(cfg, source, recorded)
        left_out = left_out_columns(of_file.split(), source, recorded)
        roles["recorded"]["left_out"] = left_out
        return new_columns(cfg, roles, recorded), roles["recorded"]

    nothing: dict[str, list[str]] = {"short": [], "long": []}
    csv, known = shop(), "id name total"
    # a first run has nothing new, and what a SELECT leaves out then is meant so
    first, recorded = told(csv, known, known + " note", None)
    assert first == nothing and recorded["left_out"] == ["note"]
    again, recorded = told(csv, known, known + " note", recorded)
    assert again == nothing
    # later on what is new is told once, taken or not
    news, recorded = told(csv, known + " age", known + " note age zip", recorded)
    assert news["short"] == ["new column age", "not loaded: zip"]
    assert news["long"] == [
        "new in the source and loaded from now on: `age` (string). "
        "Declare it in the YAML (another data_type needs a new log: --full-refresh), or name it under ignore",
        "new in the source but not loaded: `zip`. Add it to the SELECT of the model to load it",
    ]
    assert told(csv, known + " age", known, recorded) == (nothing, recorded)
    # of JSON only what the YAML has is read, which is worth a word at once
    news, recorded = told(shop(format="json"), known, known + " more", None)
    assert news["short"] == ["not loaded: more"]
    assert news["long"] == [
        "in the source but not loaded: `more`. Declare it in the YAML to load it"
    ]
    # a log of before these names were kept
    assert told(csv, known, known + " note", {**recorded, "left_out": None})[0] == nothing


@pytest.mark.parametrize(
    ("settings", "column", "problem"),
    [
        (CSV, {"compare_at": "round(lat)"}, "is not a setting; did you mean `compare_as`?"),
        (CSV, {"compare_as": ["lat"]}, "must be an SQL expression of the column, found: ['lat']"),
        ({**CSV, "ignore": ["lat"]}, {"compare_as": "round(lat)"}, "has no effect: the column is not compared"),
        (
            {**CSV, "compare": {"include": ["name"]}},
            {"compare_as": "round(lat)"},
            "has no effect: the column is not compared",
        ),
        ({**CSV, "stored_hashes": True}, {"compare_as": "round(lat)"}, "and stored_hashes conflict: the hashes come with the rows"),
        (EVENTS, {"compare_as": "round(lat)"}, "is for extracts"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("under_config", [True, False])
def test_column_settings(
    settings: dict[str, Any], column: dict[str, Any], problem: str, under_config: bool
) -> None:
    meta = {"meta": {"tidemark": column}}
    node = {
        "alias": "shop",
        "schema": "s",
        "description": "",
        "columns": {"lat": {"name": "lat", **({"config": meta} if under_config else meta)}},
        "config": {"materialized": "cdc", **cdc(**settings)},
    }
    with pytest.raises(MacroError) as error:
        load_sql_macros()["entity_config"](node)
    (name,) = column
    assert f"column `lat`: meta.tidemark.{name} {problem}" in str(error.value)


@pytest.mark.parametrize(
    ("stored", "wanted", "widens"),
    [
        ("int", "bigint", True),
        ("bigint", "int", False),
        ("int", "int", False),
        ("decimal(10,2)", "decimal(12,2)", True),
        ("decimal(10,2)", "decimal(12,4)", True),
        ("decimal(10,2)", "decimal(10,4)", False),
        ("decimal(10,2)", "decimal(10,2)", False),
        ("int", "decimal(12,2)", True),
        ("int", "double", True),
        ("bigint", "double", False),
        ("string", "string", False),
    ],
)
def test_is_widening(stored: str, wanted: str, widens: bool) -> None:
    """The same type is none wider: nothing is to be altered."""
    assert is_widening(stored, wanted, "delta") is widens


@pytest.mark.parametrize(
    ("stored", "wanted", "kept"),
    [
        ("int", "bigint", "bigint"),
        ("bigint", "int", None),
        ("date", "timestamp", None),
        # a field comes: those that are there keep their places, and their names
        (
            "struct<a:int,b:string>",
            "struct<a:int,b:string,c:date>",
            "struct<a:int,b:string,c:date>",
        ),
        (
            "struct<a:int,b:string>",
            "struct<c:date,B:string,a:int>",
            "struct<a:int,b:string,c:date>",
        ),
        ("struct<a:int>", "struct<a:bigint>", "struct<a:bigint>"),
        ("struct<a b:int>", "struct<a b:int,c:int>", "struct<a b:int,c:int>"),
        (
            "array<struct<a:struct<b:int>>>",
            "array<struct<a:struct<b:bigint,c:array<int>>,d:string>>",
            "array<struct<a:struct<b:bigint,c:array<int>>,d:string>>",
        ),
        (
            "map<string,struct<a:int>>",
            "map<string,struct<a:int,b:int>>",
            "map<string,struct<a:int,b:int>>",
        ),
        ("map<string,decimal(9,2)>", "map<string,decimal(11,2)>", "map<string,decimal(11,2)>"),
        ("array<int>", "array<bigint>", "array<bigint>"),
        # what takes something away, or is another type
        ("struct<a:int,b:string>", "struct<a:int>", None),
        ("struct<a:int>", "struct<a:string,b:int>", None),
        ("map<int,string>", "map<bigint,string>", None),
        ("map<struct<a:int>,int>", "map<struct<a:int,b:int>,int>", None),
        ("array<int>", "map<string,int>", None),
        ("struct<a:int>", "string", None),
        ("string", "struct<a:int>", None),
    ],
)
def test_wider_type(stored: str, wanted: str, kept: str | None) -> None:
    wider = wider_type
    assert [wider(stored, wanted, kind) for kind in ("delta", "iceberg")] == [kept, kept]


def test_type_changes() -> None:
    """What is altered of each part of a column, by its path."""
    found = load_sql_macros()["type_changes"](
        "`c`",
        "struct<a:int,l:array<struct<x y:int>>,m:map<string,struct<v:float>>>",
        "struct<a:bigint,l:array<struct<x y:int,z:struct<q:int>>>,m:map<string,struct<v:double,w:int>>,n:date>",
    )
    assert found == {
        "added": {
            "`c`.`l`.element.`z`": "struct<q:int>",
            "`c`.`m`.value.`w`": "int",
            "`c`.`n`": "date",
        },
        "widened": {"`c`.`a`": "bigint", "`c`.`m`.value.`v`": "double"},
    }


@pytest.mark.parametrize(
    ("fraction", "existing", "deleted", "known", "stops"),
    [
        (0.29, 100, 29, 0, False),  # 0.29 * 100 is 28.999…
        (0.29, 100, 30, 0, True),
        (0.07, 100, 8, 0, True),
        (0, 10, 1, 0, True),
        (0, 10, 0, 0, False),
        (1, 10, 10, 0, False),
        (0.5, 0, 0, 0, False),
        (0.5, 10, 9, 9, False),  # the date deletes them already
        (0.5, 10, 10, 4, True),
    ],
)
def test_guard_of_deletes(
    fraction: float, existing: int, deleted: int, known: int, stops: bool
) -> None:
    figures = {"rows_read": 1, "rows_deleted": deleted, "existing": existing}
    if known:
        figures["here"] = {"inserted": 0, "deleted": known, "deleted_again": known, "gone": 0}
    assert deletes_too_much({"max_delete_fraction": fraction}, figures) is stops


@pytest.mark.parametrize(
    ("rows_read", "existing", "deleted", "here", "guarded", "stops"),
    [
        pytest.param(0, 0, 0, (1000, 0, 0, 1000), (1000, 1000), True, id="first date, now empty"),
        pytest.param(3, 0, 0, (1000, 0, 0, 997), (997, 1000), True, id="first date, cut off"),
        pytest.param(
            10, 10, 0, (990, 0, 0, 990), (990, 1000), True, id="a date of growth, cut off"
        ),
        pytest.param(900, 10, 0, (990, 0, 0, 100), (100, 1000), False, id="some are gone"),
        pytest.param(0, 3, 3, (0, 3, 3, 0), (0, 0), False, id="empty as before"),
        pytest.param(0, 3, 3, (0, 2, 2, 0), (1, 1), True, id="the last one goes too"),
        pytest.param(2, 3, 1, (0, 2, 0, 0), (1, 1), True, id="others go than before"),
    ],
)
def test_guard_of_deletes__of_a_date_again(
    rows_read: int,
    existing: int,
    deleted: int,
    here: tuple[int, ...],
    guarded: tuple[int, int],
    stops: bool,
) -> None:
    """It is compared with what there was by the date, as it was loaded last."""
    names = ("inserted", "deleted", "deleted_again", "gone")
    figures = {"rows_read": rows_read, "rows_deleted": deleted, "existing": existing}
    figures["here"] = dict(zip(names, here, strict=True))
    found = guarded_deletes(figures)
    assert (found["deleted"], found["existing"]) == guarded
    assert deletes_too_much({"max_delete_fraction": 0.5}, figures) is stops


@pytest.mark.parametrize(
    ("settings", "figures", "stops"),
    [
        ({}, {"rows_rejected": 6, "rows_read": 6}, True),
        ({}, {"rows_rejected": 3, "rows_read": 6}, False),
        ({}, {"rows_rejected": 0, "rows_read": 0}, False),
        # a tiny load is judged as a large one
        ({}, {"rows_rejected": 1, "rows_read": 1}, True),
        ({}, {"rows_rejected": 1, "rows_read": 2}, False),
        ({"max_reject_fraction": 0.29}, {"rows_rejected": 29, "rows_read": 100}, False),
        ({"max_reject_fraction": 1}, {"rows_rejected": 6, "rows_read": 6}, False),
        ({"max_reject_fraction": 0}, {"rows_rejected": 1, "rows_read": 600}, True),
        ({"allow_rejects": True}, {"rows_rejected": 6, "rows_read": 6}, False),
        # by on_reject: fail any of them does, whatever is allowed
        ({"on_reject": "fail", "allow_rejects": True}, {"rows_rejected": 1, "rows_read": 9}, True),
        # a date that comes again: what it rejected before has been let through
        ({}, {"rows_rejected": 6, "rows_read": 8, "new_rejects": 0}, False),
        ({}, {"rows_rejected": 7, "rows_read": 8, "new_rejects": 1}, False),
        ({}, {"rows_rejected": 8, "rows_read": 9, "new_rejects": 2}, True),
        # of a stream with many tables, its own events
        ({}, {"rows_rejected": 6, "rows_read": 100, "rows_ignored": 94}, True),
    ],
)
def test_guard_of_rejects(settings: dict[str, Any], figures: dict[str, int], stops: bool) -> None:
    given = {"on_reject": "quarantine", "max_reject_fraction": 0.5, "allow_rejects": False}
    given |= settings
    assert rejects_too_many(given, given, figures) is stops


CHOICE = " names no column: say true for all, false for none, or leave it out"


@pytest.mark.parametrize(
    ("reader", "config", "problem"),
    [
        # YAML takes some names for something else
        *(
            (
                "entity_config",
                {**cdc(**settings), "unique_key": [key]},
                f"unique_key must be a name or a list of names, found in it: {key}. "
                "A name such as no, on or 2024 stands in quotes",
            )
            for settings in (CSV, EVENTS)
            for key in (2024, False)
        ),
        (
            "entity_config",
            {**cdc(**CSV), "unique_key": False},
            "unique_key must be a name or a list of names, found: False. "
            "A name such as no, on or 2024 stands in quotes",
        ),
        (
            "entity_config",
            cdc(**CSV, sensitive=[{"a": "b"}]),
            "sensitive must be a name or a list of names, found in it: {'a': 'b'}",
        ),
        # what has no value would choose nothing, or be the default
        *(
            (
                reader,
                cdc(**settings, **{name: None}),
                f"meta.tidemark.{name} has no value: give a value, or remove the line",
            )
            for reader, settings, names in (
                ("entity_config", CSV, ("sensitive", "compare", "ignore", "hash")),
                ("entity_config", EVENTS, ("track_history", "ignore_null_updates")),
                ("atomic_config", {"location": "landing"}, ("deduplicate", "on_reject")),
            )
            for name in names
        ),
        ("entity_config", cdc(**CSV, compare=[]), f"compare{CHOICE}"),
        ("entity_config", cdc(**EVENTS, track_history=""), f"track_history{CHOICE}"),
        (
            "entity_config",
            cdc(**CSV, compare={"include": []}),
            "compare.include names no column: for all of them say compare: true, for none false",
        ),
        # of another type
        (
            "entity_config",
            cdc(**CSV, max_delete_fraction=True),
            "max_delete_fraction must be a number from 0 to 1, found: True",
        ),
        *(
            (
                reader,
                cdc(**settings, max_reject_fraction=value),
                f"max_reject_fraction must be a number from 0 to 1, found: {found}",
            )
            for reader, settings, value, found in (
                ("entity_config", CSV, 1.5, "1.5"),
                ("entity_config", EVENTS, "half", '"half"'),
                ("atomic_config", {"location": "landing"}, -1, "-1"),
            )
        ),
        (
            "entity_config",
            cdc(**CSV, options={"header": [True]}),
            "options takes texts, numbers, true and false, found: {'header': [True]}",
        ),
        ("entity_config", cdc(**EVENTS, table=["a"]), "table must be a text, found: ['a']"),
        (
            "entity_config",
            {**cdc(**CSV), "tblproperties": ["a"]},
            "tblproperties must be a mapping of table properties, found: ['a']",
        ),
        ("feed_config", {"location_root": 5}, "location_root must be a folder, found: 5"),
        (
            "atomic_config",
            cdc(location="landing", manifest=True),
            "manifest must be the name of a table, or schema.table, found: True",
        ),
        (
            "scd2_config",
            cdc(entity=["a"]),
            "meta.tidemark.entity must be the name of a model, found: ['a']",
        ),
        (
            "entity_config",
            {**cdc(**CSV), "partition_by": ["a", "A"]},
            "partition_by names a column twice: a, A",
        ),
        # of another flow
        (
            "entity_config",
            cdc(**CSV, staging_retention="3 days"),
            "meta.tidemark.staging_retention is a setting of extract: events, and has no "
            "effect here: remove the setting",
        ),
        (
            "atomic_config",
            cdc(location="landing", format="csv"),
            "meta.tidemark.format is a setting of extract: full and delta, extract: events, "
            "and has no effect here: remove the setting",
        ),
        # what every flow checks
        (
            "atomic_config",
            {**cdc(location="landing"), "file_format": "detla"},
            "file_format must be one of delta, iceberg (found: detla); did you mean `delta`?",
        ),
    ],
)
def test_values_that_no_setting_has(reader: str, config: dict[str, Any], problem: str) -> None:
    """Each was a message of Jinja's, or taken as if it were something else."""
    assert problem in problems(reader, config)


@pytest.mark.parametrize(
    ("reader", "config"),
    [
        ("entity_config", cdc(**CSV, engine=None)),
        ("entity_config", cdc(**EVENTS, table=None, engine=None)),
        ("atomic_config", cdc(location="landing", manifest=None)),
    ],
)
def test_no_value__as_if_left_out(reader: str, config: dict[str, Any]) -> None:
    """As where a model takes back what it has from an anchor."""
    settings = config["meta"]["tidemark"]
    given = {name: value for name, value in settings.items() if value is not None}
    left_out = {**config, "meta": {"tidemark": given}}
    assert len(given) < len(settings)
    assert problems(reader, config) == problems(reader, left_out)


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (
            {"compare_as": "lower(name)"},
            "compare_as is not read here: it stands under config.meta.tidemark of the column",
        ),
        (
            {"config": {"meta": {"compare_as": "lower(name)"}}},
            "meta.compare_as is not read here: it stands under config.meta.tidemark of the column",
        ),
        (
            {"config": {"meta": {"tidmark": {"compare_as": "lower(name)"}}}},
            "meta.tidmark is not read; did you mean `tidemark`?",
        ),
        (
            {"config": {"meta": {"tidemark": "lower(name)"}}},
            "meta.tidemark must be a mapping of settings, found: lower(name)",
        ),
    ],
)
def test_settings_of_columns__elsewhere(column: dict[str, Any], problem: str) -> None:
    """Where they would be passed over, and the column be compared as it is."""
    node = {"columns": {"name": {"name": "name", **column}}}
    found = [*column_meta_problems(node, "compare_as")]
    assert found == [f"column `name`: {problem}"]


def test_shred__what_is_no_column_or_property() -> None:
    columns = {"sku": "string"}
    found = problems("shred_config", {"partition_by": "skw"}, columns)
    assert found == [
        "partition_by names column `skw`, which the model does not declare; did you mean `sku`?"
    ]
    assert problems("shred_config", {"partition_by": "sku"}, columns) == []
