"""A registry of schemas: what is read, the columns that it gives, what does not match. No JVM."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tidemark.datagen.events import write_events
from tidemark.datagen.events_spec import EventsSpec
from tidemark.errors import ConfigError
from tidemark.shred.registry import (
    Registry,
    RegistryColumn,
    read_registry,
    registry_state,
    schema_problem,
)
from tidemark.shred.registry import folder as reading
from tidemark.shred.schema_uri import SchemaPattern

EXAMPLE = Path(__file__).parents[3] / "models" / "events" / "registry"
IGLU = "http://iglucentral.com/schemas/com.snowplowanalytics.self-desc/schema/jsonschema/1-0-0#"
X = "iglu:com.acme/x/jsonschema/1-0-0"
ALL = SchemaPattern.parse("iglu:com.acme/x/jsonschema/1-*-*")


def _put(
    folder: Path, rest: dict[str, Any], uri: str = X, suffix: str = "", under: str = "schemas"
) -> Path:
    """Write a schema to its place."""
    vendor, name, schema_format, version = uri.removeprefix("iglu:").split("/")
    own = {"vendor": vendor, "name": name, "format": schema_format, "version": version}
    path = folder / under / vendor / name / schema_format / f"{version}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"$schema": IGLU, "self": own, **rest}), encoding="utf-8")
    return path


def _of(folder: Path, *versions: dict[str, Any]) -> Registry:
    """A registry of the versions 1-0-0, 1-0-1, … of one schema, each given by its properties."""
    for addition, properties in enumerate(versions):
        uri = f"iglu:com.acme/x/jsonschema/1-0-{addition}"
        _put(folder, {"type": "object", "properties": properties}, uri)
    return read_registry(folder)


def _types(folder: Path, *versions: dict[str, Any]) -> dict[str, str]:
    return {column.name: column.data_type for column in _of(folder, *versions).columns(ALL)}


def _problem(folder: Path, schema: dict[str, Any], value: Any) -> str | None:
    _put(folder, schema)
    return read_registry(folder).problem(X, json.dumps(value))


# -- Reading -------------------------------------------------------------------------------------


def test_read__both_layouts_and_both_suffixes(tmp_path: Path) -> None:
    _put(tmp_path, {})
    _put(tmp_path, {}, "iglu:com.acme/x/jsonschema/1-0-10", ".json")
    _put(tmp_path, {}, "iglu:com.acme/x/jsonschema/1-0-2", under="")
    _put(tmp_path, {}, "iglu:a/y/jsonschema/1-0-0", ".json", under="")
    assert [str(uri) for uri in read_registry(str(tmp_path)).schemas] == [
        "iglu:a/y/jsonschema/1-0-0",
        X,
        "iglu:com.acme/x/jsonschema/1-0-2",
        "iglu:com.acme/x/jsonschema/1-0-10",
    ]


def test_read__passes_over_what_is_no_schema_on_purpose(tmp_path: Path) -> None:
    path = _put(tmp_path, {})
    for name in (".DS_Store", "README", "README.txt", "CHANGES.md"):
        (tmp_path / name).write_text("no schema")
        (path.parent / name).write_text("no schema")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("no schema")
    assert [str(uri) for uri in read_registry(tmp_path).schemas] == [X]


def test_read__no_folder(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError,
        match=r"gone is not a folder. Name a folder of schemas, with files \[schemas/\]vendor/",
    ):
        read_registry(tmp_path / "gone")


def test_read__nothing_in_it(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("soon")
    with pytest.raises(
        ConfigError, match=r"has no schemas. Add files \[schemas/\]vendor/name/format/"
    ):
        read_registry(tmp_path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ('{"a": NaN}', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a JSON object"),
        (
            "{}",
            'no self block. Add a self block: {"vendor": "com.acme", "name": "x", "format": '
            '"jsonschema", "version": "1-0-0"}',
        ),
        ('{"self": 1}', "no self block"),
    ],
)
def test_read__a_file_that_is_no_schema(tmp_path: Path, text: str, reason: str) -> None:
    _put(tmp_path, {}).write_text(text)
    with pytest.raises(ConfigError) as error:
        read_registry(tmp_path)
    assert f"\nschemas/com.acme/x/jsonschema/1-0-0: {reason}" in str(error.value)


def test_read__not_utf8(tmp_path: Path) -> None:
    _put(tmp_path, {}).write_bytes(b'{"a": "\xff"}')
    with pytest.raises(ConfigError, match="1-0-0: not JSON"):
        read_registry(tmp_path)


@pytest.mark.parametrize("key", ["vendor", "name", "format", "version"])
def test_read__self_must_agree_with_the_path(tmp_path: Path, key: str) -> None:
    path = _put(tmp_path, {})
    schema = json.loads(path.read_text())
    path.write_text(json.dumps({**schema, "self": {**schema["self"], key: "other"}}))
    with pytest.raises(
        ConfigError, match=f"self.{key} is 'other', but the path says '{schema['self'][key]}'"
    ):
        read_registry(tmp_path)
    del schema["self"][key]
    path.write_text(json.dumps(schema))
    with pytest.raises(ConfigError, match=f"self.{key} is missing, but the path says"):
        read_registry(tmp_path)


@pytest.mark.parametrize(
    "place",
    [
        "stray",
        "com.acme/x/1-0-0",
        "other/com.acme/x/jsonschema/1-0-0",
        "com.acme/x/jsonschema/1.0.0",
        "com.acme/x/jsonschema/1-0-0.yml",
    ],
)
def test_read__a_file_elsewhere(tmp_path: Path, place: str) -> None:
    _put(tmp_path, {})
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    with pytest.raises(ConfigError) as error:
        read_registry(tmp_path)
    assert str(error.value).splitlines()[1].startswith(f"{place}: expected [schemas/]vendor/")


def test_read__a_link_that_leaves_the_registry(tmp_path: Path) -> None:
    registry, outside = tmp_path / "registry", tmp_path / "outside"
    there = _put(outside, {})
    inside = _put(registry, {})
    linked = inside.with_name("1-0-1")
    linked.symlink_to(there)
    with pytest.raises(ConfigError, match="1-0-1: a link that leaves the registry"):
        read_registry(registry)
    linked.unlink()
    linked.symlink_to("1-0-0")
    with pytest.raises(ConfigError, match=r"1-0-1: self\.version is '1-0-0'"):
        read_registry(registry)


def test_read__one_schema_twice(tmp_path: Path) -> None:
    _put(tmp_path, {})
    _put(tmp_path, {}, suffix=".json")
    with pytest.raises(
        ConfigError, match=f"1-0-0.json: is {X} as schemas/com.acme/x/jsonschema/1-0-0 is: keep one"
    ):
        read_registry(tmp_path)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strin"},
        {"properties": []},
        {"properties": {"a": 5}},
        {"properties": {"a": True}},
        {"required": "a"},
        {"required": True},
        {"pattern": "["},
        {"minLength": "1"},
        {"format": []},
    ],
)
def test_read__refused_by_the_validator(tmp_path: Path, schema: dict[str, Any]) -> None:
    _put(tmp_path, schema)
    with pytest.raises(
        ConfigError,
        match=r"\nschemas/com.acme/x/jsonschema/1-0-0: no JSON Schema that can be used \(",
    ):
        read_registry(tmp_path)


@pytest.mark.parametrize(
    "ref", ["http://127.0.0.1:9/x", "file:///etc/hostname", "iglu:com.acme/x/jsonschema/1-0-0", "x"]
)
@pytest.mark.parametrize("place", ["property", "branch", "definition"])
def test_read__remote_references_are_never_fetched(tmp_path: Path, ref: str, place: str) -> None:
    remote = {"$ref": ref}
    schemas: dict[str, dict[str, Any]] = {
        "property": {"properties": {"a": remote}},
        "branch": {"properties": {"a": {"anyOf": [{"items": [remote]}]}}},
        "definition": {"definitions": {"unused": remote}},
    }
    _put(tmp_path, schemas[place])
    with pytest.raises(
        ConfigError,
        match=r"is not local, and no schema is fetched\. Copy the schema under definitions",
    ):
        read_registry(tmp_path)


def test_read__an_id_makes_no_local_reference_remote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def urlopen(*_: Any) -> None:
        raise AssertionError("fetched")

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    text = {
        "definitions": {"d": {"type": "string"}},
        "properties": {"a": {"$ref": "#/definitions/d"}},
    }
    assert (
        _problem(tmp_path, {"id": "http://127.0.0.1:9/", **text}, {"a": 1})
        == "invalid: a: must be string"
    )
    inner = {"id": "http://127.0.0.1:9/", "properties": {"b": {"$ref": "#/properties/a"}}}
    _put(tmp_path, {"properties": {"a": inner}})
    with pytest.raises(ConfigError, match=r"no JSON Schema that can be used|is not local"):
        read_registry(tmp_path)


def test_read__a_reference_to_nothing(tmp_path: Path) -> None:
    _put(tmp_path, {"properties": {"a": {"$ref": "#/definitions/a"}}})
    with pytest.raises(
        ConfigError, match=r"'#/definitions/a' leads to no schema\. Correct the reference"
    ):
        read_registry(tmp_path)


def test_read__all_problems_at_once(tmp_path: Path) -> None:
    _put(tmp_path, {"type": "strin"})
    _put(tmp_path, {}, "iglu:com.acme/x/jsonschema/1-0-1").write_text("{")
    _put(tmp_path, {}, "iglu:com.acme/x/jsonschema/1-0-2")
    (tmp_path / "stray").write_text("")
    with pytest.raises(ConfigError) as error:
        read_registry(tmp_path)
    head, *lines = str(error.value).splitlines()
    assert (
        head
        == f"{tmp_path}: 3 of its files cannot be used as schemas. Correct or remove these files:"
    )
    assert [line.partition(":")[0] for line in lines] == [
        "schemas/com.acme/x/jsonschema/1-0-0",
        "schemas/com.acme/x/jsonschema/1-0-1",
        "stray",
    ]


# -- Columns -------------------------------------------------------------------------------------

STRUCT = {"type": "object", "properties": {"aB": {"type": "string"}, "c": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("definition", "data_type"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "date-time"}, "timestamp"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "format": "uuid"}, "string"),
        ({"type": ["null", "string"], "format": "date"}, "date"),
        ({"type": "integer"}, "bigint"),
        ({"type": "integer", "maximum": 255}, "bigint"),
        ({"type": "integer", "maximum": 2**63 - 1}, "bigint"),
        ({"type": "integer", "maximum": 2**63}, "decimal(38,0)"),
        ({"type": "integer", "minimum": -(2**63) - 1}, "decimal(38,0)"),
        ({"type": "integer", "maximum": 10**38}, "string"),
        ({"type": "integer", "format": "date"}, "bigint"),
        ({"type": "number"}, "double"),
        ({"type": "number", "multipleOf": 0.01}, "decimal(18,2)"),
        ({"type": "number", "multipleOf": 1e-05}, "decimal(18,5)"),
        ({"type": "number", "multipleOf": 0.01, "maximum": 10**16}, "decimal(38,2)"),
        ({"type": "number", "multipleOf": 0.01, "minimum": -(10.0**40)}, "double"),
        ({"type": "number", "multipleOf": 1e-19}, "double"),
        ({"type": "number", "multipleOf": 0.05}, "double"),
        ({"type": "number", "multipleOf": 1}, "double"),
        ({"type": "number", "multipleOf": 10}, "double"),
        ({"type": ["integer", "number", "null"]}, "double"),
        ({"type": "boolean"}, "boolean"),
        ({"type": ["boolean"]}, "boolean"),
        ({"type": "array", "items": {"type": "string"}}, "array<string>"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, "array<array<bigint>>"),
        ({"type": "array", "items": STRUCT}, "array<struct<`aB`:string,`c`:bigint>>"),
        ({"type": "array", "items": {"type": "object"}}, "array<string>"),
        ({"type": "array"}, "string"),
        ({"type": "array", "items": {}}, "string"),
        ({"type": "array", "items": {"description": "any"}}, "string"),
        ({"type": "array", "items": [{"type": "string"}, {"type": "string"}]}, "string"),
        (STRUCT, "struct<`aB`:string,`c`:bigint>"),
        ({"type": ["object", "null"], "properties": {"a`b": {}}}, "struct<`a``b`:string>"),
        ({"type": "object"}, "string"),
        ({"type": "object", "properties": {}}, "string"),
        ({"type": "object", "properties": {"a": {"type": "string"}, "A": {"type": "string"}}}, "string"),
        ({"type": "object", "properties": {"a b": {"type": "string"}}}, "string"),
        ({"type": "object", "properties": {"": {"type": "string"}}}, "string"),
        ({**STRUCT, "oneOf": [{"properties": {"d": {}}}, {}]}, "string"),
        ({**STRUCT, "oneOf": [{"required": ["c"]}, {"properties": {"aB": {"enum": ["x"]}}}]}, "struct<`aB`:string,`c`:bigint>"),
        ({"properties": {"a": {"type": "string"}}}, "string"),
        ({}, "string"),
        ({"type": "null"}, "string"),
        ({"type": ["string", "integer"]}, "string"),
        ({"type": ["object", "array"], "properties": {"a": {}}}, "string"),
        ({"enum": ["a", "b"]}, "string"),
        ({"enum": [1, 2, None]}, "bigint"),
        ({"enum": [1, 2**63]}, "decimal(38,0)"),
        ({"enum": [1, 2.5]}, "double"),
        ({"enum": [True]}, "boolean"),
        ({"enum": [True, 1]}, "string"),
        ({"enum": ["a", 1]}, "string"),
        ({"enum": [[1]]}, "string"),
        ({"enum": [None]}, "string"),
        ({"type": "integer", "enum": [1]}, "bigint"),
        ({"oneOf": [{"type": "integer"}, {"type": "null"}]}, "bigint"),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, "double"),
        ({"anyOf": [{"type": "string", "format": "date"}, {"type": "string"}]}, "string"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "string"),
        ({"anyOf": [{"type": "integer"}, {}]}, "string"),
        ({"allOf": [{"type": "integer"}]}, "bigint"),
        ({"anyOf": [{"type": "null"}]}, "string"),
    ],
)  # fmt: skip
def test_columns__type(tmp_path: Path, definition: dict[str, Any], data_type: str) -> None:
    assert _types(tmp_path, {"p": definition}) == {"p": data_type}


def test_columns__references(tmp_path: Path) -> None:
    definitions = {
        "money/€": {"type": "number", "multipleOf": 0.01},
        "again": {"$ref": "#/definitions/money~1€"},
        "node": {
            "type": "object",
            "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/definitions/node"}},
        },
        "loop": {"$ref": "#/definitions/loop"},
    }
    properties = {
        "a": {"$ref": "#/definitions/money~1€", "type": "string"},
        "b": {"$ref": "#/definitions/money~1%E2%82%AC"},
        "c": {"$ref": "#/definitions/again"},
        "d": {"$ref": "#/definitions/node"},
        "e": {"$ref": "#"},
        "f": {"$ref": "#/definitions/loop"},
        "g": {"type": "array", "items": {"$ref": "#/properties/a"}},
        "h": {"allOf": [{"$ref": "#/definitions/again"}]},
    }
    _put(tmp_path, {"definitions": definitions, "properties": properties})
    found = read_registry(tmp_path).columns(ALL)
    assert {column.name: column.data_type for column in found} == {
        "a": "decimal(18,2)",
        "b": "decimal(18,2)",
        "c": "decimal(18,2)",
        "d": "struct<`v`:bigint,`next`:string>",
        "e": "string",
        "f": "string",
        "g": "array<decimal(18,2)>",
        "h": "decimal(18,2)",
    }


INTEGER = {"type": "integer"}
WIDE = {"type": "integer", "maximum": 2**64}
CENTS = {"type": "number", "multipleOf": 0.01}
DATE = {"type": "string", "format": "date"}


def _array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("first", "second", "data_type"),
    [
        (INTEGER, {"type": "number"}, "double"),
        (INTEGER, CENTS, "double"),
        (CENTS, {"type": "number", "multipleOf": 0.001}, "double"),
        (INTEGER, WIDE, "decimal(38,0)"),
        (INTEGER, {"type": "string"}, "string"),
        (DATE, {"type": "string"}, "string"),
        (DATE, {"type": "string", "format": "date-time"}, "string"),
        ({"type": "boolean"}, INTEGER, "string"),
        (_object(b=INTEGER, a=INTEGER), _object(a={"type": "number"}, c=DATE), "struct<`b`:bigint,`a`:double,`c`:date>"),
        (_object(a=_object(b=INTEGER)), _object(a=_object(c=INTEGER)), "struct<`a`:struct<`b`:bigint,`c`:bigint>>"),
        (_object(a=INTEGER), _object(A=INTEGER), "string"),
        (_object(a=INTEGER), {"type": "object"}, "string"),
        (_object(a=INTEGER), _array(INTEGER), "string"),
        (_array(INTEGER), _array({"type": "number"}), "array<double>"),
        (_array(_object(a=INTEGER)), _array(_object(b=DATE)), "array<struct<`a`:bigint,`b`:date>>"),
        (_array(INTEGER), _array({"type": "string"}), "array<string>"),
        (_array(INTEGER), {"type": "array"}, "string"),
    ],
)  # fmt: skip
def test_columns__versions_that_disagree(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], data_type: str
) -> None:
    assert _types(tmp_path, {"p": first}, {"p": second}) == {"p": data_type}
    assert _types(tmp_path, {"p": first}, {"p": second}, {"p": first}) == {"p": data_type}


def test_columns__order_is_that_of_the_file_then_of_the_versions(tmp_path: Path) -> None:
    _put(tmp_path, {"properties": {"k": {}, "m": {}}}, "iglu:com.acme/x/jsonschema/1-0-10")
    _put(tmp_path, {"properties": {"c": {}}}, "iglu:com.acme/x/jsonschema/1-1-0")
    versions = [{"z": {}, "m": {}}, {"a": {}, "m": {}, "z": {}}, {"m": {}}, {"y": {}, "b": {}}]
    assert list(_types(tmp_path, *versions)) == ["z", "m", "a", "y", "b", "k", "c"]


def test_columns__names_and_descriptions(tmp_path: Path) -> None:
    registry = _of(
        tmp_path,
        {"userName": {"description": "old"}, "URLPath-v2": {"description": "kept"}},
        {"userName": {"description": "new"}, "URLPath-v2": {}, "a b": {}},
    )
    assert registry.columns(ALL) == [
        RegistryColumn("user_name", "userName", "string", "new"),
        RegistryColumn("url_path_v2", "URLPath-v2", "string", "kept"),
        RegistryColumn("a_b", "a b", "string", ""),
    ]


def test_columns__description_of_a_reference(tmp_path: Path) -> None:
    definitions = {"d": {"type": "string", "description": "of d"}}
    ref = {"$ref": "#/definitions/d"}
    _put(
        tmp_path,
        {"definitions": definitions, "properties": {"a": ref, "b": {**ref, "description": "of b"}}},
    )
    assert [column.description for column in read_registry(tmp_path).columns(ALL)] == [
        "of d",
        "of b",
    ]


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("schema", "data_schema"),
        ("Hierarchy", "data_hierarchy"),
        ("_id", "data__id"),
        ("-id", "data__id"),
        ("", "data_"),
        ("schemaName", "schema_name"),
    ],
)
def test_columns__reserved_names(tmp_path: Path, name: str, column: str) -> None:
    assert list(_types(tmp_path, {name: {}})) == [column]


@pytest.mark.parametrize(
    "versions",
    [
        [{"userName": {}, "user_name": {}}],
        [{"userName": {}}, {"user_name": {}}],
        [{"user name": {}}, {"userName": {}}],
    ],
)
def test_columns__two_properties_of_one_column(
    tmp_path: Path, versions: list[dict[str, Any]]
) -> None:
    first, second = (name for version in versions for name in version)
    registry = _of(tmp_path, *versions)
    with pytest.raises(
        ConfigError, match=f"'{first}' and '{second}' both give the column user_name. Remove one"
    ):
        registry.columns(ALL)


def test_columns__a_reserved_name_may_meet_another(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="'schema' and 'dataSchema' both give the column data_schema"
    ):
        _types(tmp_path, {"schema": {}, "dataSchema": {}})


def test_columns__only_of_the_versions_that_match(tmp_path: Path) -> None:
    registry = _of(tmp_path, {"a": {}}, {"b": {}})
    pattern = SchemaPattern.parse("iglu:com.acme/x/jsonschema/1-0-1")
    assert [column.name for column in registry.columns(pattern)] == ["b"]


def test_columns__no_properties(tmp_path: Path) -> None:
    _put(tmp_path, {"type": "array"})
    assert read_registry(tmp_path).columns(ALL) == []


def test_columns__no_schema_matches(tmp_path: Path) -> None:
    registry = _of(tmp_path, {})
    with pytest.raises(ConfigError) as error:
        registry.columns(SchemaPattern.parse("iglu:com.acme/X/jsonschema/1-*-*"))
    assert str(error.value) == (
        f"iglu:com.acme/X/jsonschema/1-*-* matches none of the 1 schemas in {tmp_path}; the nearest are {X}"
    )
    with pytest.raises(ConfigError, match=f"; such as {X}$"):
        registry.columns(SchemaPattern.parse("iglu:zzz/q-q-q/*/7-*-*"))


@pytest.mark.parametrize(
    "other", ["iglu:com.acme/x/jsonschema/2-0-0", "iglu:com.acme/y/jsonschema/1-0-0"]
)
def test_columns__of_one_table_only(tmp_path: Path, other: str) -> None:
    _put(tmp_path, {})
    _put(tmp_path, {}, other)
    with pytest.raises(
        ConfigError, match=r"matches schemas of 2 tables in .*such as iglu:com.acme/x/jsonschema/1-"
    ):
        read_registry(tmp_path).columns(SchemaPattern.parse("iglu:com.acme/*/jsonschema/*-*-*"))


# -- Validation ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "good", "bad", "reason"),
    [
        ({"type": "integer"}, 1, "1", "must be integer"),
        ({"type": "integer"}, 2**70, True, "must be integer"),
        ({"type": "integer"}, -1, 1.0, "must be integer"),
        ({"type": "number"}, 1.5, False, "must be number"),
        ({"type": ["string", "null"]}, None, 1, "must be string or null"),
        ({"type": "boolean"}, True, 0, "must be boolean"),
        ({"type": "array"}, [], {}, "must be array"),
        ({"type": "object"}, {}, [], "must be object"),
        ({"enum": ["a", 1]}, "a", True, "is none of the allowed values"),
        ({"anyOf": [{"type": "null"}, {"minimum": 5}]}, 5, 4, "matches none of the allowed forms"),
        ({"oneOf": [{"minimum": 5}, {"maximum": 7}]}, 8, 6, "must match exactly one of the allowed forms"),
        ({"allOf": [{"minimum": 5}, {"maximum": 7}]}, 6, 8, "greater than 7"),
        ({"not": {"type": "null"}}, 1, None, "matches a form that is not allowed"),
        ({"minLength": 2}, "ab", "a", "shorter than 2"),
        ({"maxLength": 2}, "👩‍", "abc", "longer than 2"),
        ({"pattern": "^[a-z_$]+$"}, "a$", "a$\n", "does not match the pattern"),
        ({"pattern": "^[^\\]$]\\$$"}, "a$", "$$", "does not match the pattern"),
        ({"minimum": 1}, 1, 0.5, "less than 1"),
        ({"minimum": 1, "exclusiveMinimum": True}, 1.5, 1, "must be greater than 1"),
        ({"maximum": 1}, 1, 2, "greater than 1"),
        ({"maximum": 1, "exclusiveMaximum": True}, 0, 1, "must be less than 1"),
        ({"multipleOf": 0.01}, 9.99, 9.999, "must be a multiple of 0.01"),
        ({"minItems": 1}, [1], [], "fewer than 1 items"),
        ({"maxItems": 1}, [1], [1, 2], "more than 1 items"),
        ({"uniqueItems": True}, [1, True], [{"a": []}, {"a": []}], "has an item twice"),
        ({"items": [{}], "additionalItems": False}, [1], [1, 2], "more items than allowed"),
        ({"minProperties": 1}, {"a": 1}, {}, "fewer than 1 properties"),
        ({"maxProperties": 1}, {"a": 1}, {"a": 1, "b": 2}, "more than 1 properties"),
        ({"dependencies": {"a": ["b"]}}, {"a": 1, "b": 1}, {"a": 1}, "lacks a property that another one needs"),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"a": 1}, {"b": 1}, "has a property that is not allowed"),
        ({"format": "date-time"}, "2026-03-04T09:30:00.5Z", "2026-03-04 09:30:00", "must be date-time"),
        ({"format": "date"}, "2024-02-29", "2026-02-29", "must be date"),
        ({"format": "date"}, "2026-03-04", "20260304", "must be date"),
        ({"format": "uuid"}, "1799A90F-f570-4414-b91a-b0db8f39cc2e", "1799A90F", "must be uuid"),
        ({"format": "ipv4"}, "192.0.2.1", "192.0.2.256", "must be ipv4"),
        ({"format": "ipv6"}, "2001:db8::1", "192.0.2.1", "must be ipv6"),
        ({"format": "email"}, "a@example.com", "a", "must be email"),
        ({"format": "uri"}, "android-app://com.example/x", "//example.com", "must be uri"),
    ],
)  # fmt: skip
def test_problem__rule(
    tmp_path: Path, schema: dict[str, Any], good: Any, bad: Any, reason: str
) -> None:
    assert _problem(tmp_path, schema, good) is None
    assert _problem(tmp_path, schema, bad) == f"invalid: $: {reason}"
    assert _problem(tmp_path, {"properties": {"a": schema}}, {"a": bad}) == f"invalid: a: {reason}"
    by_reference = {"definitions": {"d": schema}, "items": {"$ref": "#/definitions/d"}}
    assert _problem(tmp_path, by_reference, [good, bad]) == f"invalid: [1]: {reason}"


NESTED = {
    "properties": {
        "items": {"items": {"required": ["sku"], "properties": {"sku": {"type": "string"}}}},
        "größe {x}\"'\\": {"type": "integer"},
        "a.b[0]": {"items": {"items": {"type": "integer"}}},
        "same-name": {"type": "integer"},
        "same_name": {"type": "string"},
    },
    "patternProperties": {"^x-": {"properties": {"y": {"type": "integer"}}}},
}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"items": [{"sku": "a"}, {"sku": 1}]}, "items[1].sku: must be string"),
        ({"items": [{}]}, "items[0].sku: is required"),
        ({"größe {x}\"'\\": "s"}, "größe {x}\"'\\: must be integer"),
        ({"a.b[0]": [[], [1, "s"]]}, "a.b[0][1][1]: must be integer"),
        ({"same-name": 1, "same_name": 1}, "same_name: must be string"),
        ({"x-joe@example.com": {"y": "s"}}, "*.y: must be integer"),
    ],
)
def test_problem__path(tmp_path: Path, value: Any, problem: str) -> None:
    assert _problem(tmp_path, NESTED, value) == f"invalid: {problem}"


def test_problem__required_at_the_top(tmp_path: Path) -> None:
    assert _problem(tmp_path, {"required": ["b", "a"]}, {}) == "invalid: b: is required"
    assert _problem(tmp_path, {"required": ["b", "a"]}, {"b": None}) == "invalid: a: is required"


SECRET = "joe@example.com"


@pytest.mark.parametrize(
    "rule",
    [
        {"type": "integer"},
        {"enum": ["a"]},
        {"anyOf": [{"enum": ["a"]}, {"maxLength": 2}]},
        {"oneOf": [{"enum": ["a"]}, {"maxLength": 2}]},
        {"not": {}},
        {"not": {"type": "string"}},
        {"minLength": 99},
        {"maxLength": 2},
        {"pattern": "^[0-9]$"},
        {"format": "uuid"},
    ],
)
def test_problem__never_tells_a_value_or_an_unknown_name(
    tmp_path: Path, rule: dict[str, Any]
) -> None:
    for schema, value in (
        ({"properties": {"a": rule}}, {"a": SECRET}),
        ({"items": rule}, [SECRET]),
        ({"additionalProperties": rule}, {SECRET: SECRET}),
        ({"patternProperties": {"@": rule}, "additionalProperties": False}, {SECRET: SECRET}),
        ({"additionalProperties": False}, {SECRET: SECRET}),
        ({"uniqueItems": True}, [SECRET, SECRET]),
    ):
        found = _problem(tmp_path, schema, value)
        assert found is not None and found.startswith("invalid: ")
        assert SECRET not in found and "joe" not in found


def test_problem__definitions_that_differ_in_case_or_punctuation_only(tmp_path: Path) -> None:
    names = {"a-b": "string", "a_b": "integer", "A-B": "boolean"}
    schema = {
        "definitions": {name: {"type": kind} for name, kind in names.items()},
        "properties": {kind: {"$ref": f"#/definitions/{name}"} for name, kind in names.items()},
    }
    good = {"string": "s", "integer": 1, "boolean": True}
    assert _problem(tmp_path, schema, good) is None
    for kind in good:
        assert _problem(tmp_path, schema, {**good, kind: []}) == f"invalid: {kind}: must be {kind}"


def test_problem__required_beside_free_additional_properties(tmp_path: Path) -> None:
    schema = {
        "required": ["a"],
        "additionalProperties": {},
        "properties": {"additionalProperties": {}},
    }
    assert _problem(tmp_path, schema, {"a": 1, "additionalProperties": 1}) is None
    assert _problem(tmp_path, schema, {"b": 1}) == "invalid: a: is required"


def test_problem__recursive_schema(tmp_path: Path) -> None:
    schema = {"properties": {"next": {"$ref": "#"}, "v": {"type": "integer"}}}
    assert _problem(tmp_path, schema, {"next": {"next": {"v": 1}}}) is None
    assert (
        _problem(tmp_path, schema, {"next": {"next": {"v": "x"}}})
        == "invalid: next.next.v: must be integer"
    )


def test_problem__references_that_never_end(tmp_path: Path) -> None:
    """A loop asks for nothing; what refers to itself is followed as deep as the value is."""
    loop = {"definitions": {"a": {"$ref": "#/definitions/a"}}, "$ref": "#/definitions/a"}
    assert _problem(tmp_path, loop, 1) is None
    tree = {"properties": {"a": {"$ref": "#"}}, "additionalProperties": False}
    assert _problem(tmp_path, tree, {"a": {"a": {"b": 1}}}) == (
        "invalid: a.a: has a property that is not allowed"
    )


@pytest.mark.parametrize(
    "data", ["", "{", "NaN", '{"a": -Infinity}', "{} {}", "[" * 100_000, "'a'"]
)
def test_problem__not_json(tmp_path: Path, data: str) -> None:
    _put(tmp_path, {})
    assert read_registry(tmp_path).problem(X, data) == "not_json"


@pytest.mark.parametrize(
    "uri", ["", "x", "iglu:com.acme/x/jsonschema/1-0-1", "iglu:com.acme/X/jsonschema/1-0-0"]
)
def test_problem__schema_not_found(tmp_path: Path, uri: str) -> None:
    _put(tmp_path, {})
    assert read_registry(tmp_path).problem(uri, "{") == "schema_not_found"


def test_problem__changes_no_schema(tmp_path: Path) -> None:
    schema = {
        "id": "http://example.com/",
        "definitions": {"d": {"pattern": "[$]"}},
        "properties": {"a": {"$ref": "#/definitions/d", "default": "x"}},
    }
    written = json.loads(_put(tmp_path, schema).read_text())
    registry = read_registry(tmp_path)
    assert registry.problem(X, "{}") is None
    assert list(registry.schemas.values()) == [written]


# -- As a plain function -------------------------------------------------------------------------


def test_schema_problem(tmp_path: Path) -> None:
    _put(tmp_path, {"required": ["a"]})
    folder = str(tmp_path)
    assert schema_problem(folder, "s", X, '{"a": 1}') is None
    assert schema_problem(folder, "s", X, "{}") == "invalid: a: is required"
    assert schema_problem(folder, "s", None, "{}") == "schema_not_found"
    assert schema_problem(folder, "s", X, None) == "not_json"


def test_schema_problem__of_a_folder_that_has_changed(tmp_path: Path) -> None:
    """A process that lives on, as Spark's workers do, knows the schemas of today."""
    path = _put(tmp_path, {"required": ["a"]})
    folder, newer = str(tmp_path), X.replace("1-0-0", "1-0-1")
    before = registry_state(folder)
    assert schema_problem(folder, before, newer, "{}") == "schema_not_found"
    assert registry_state(folder) == before
    _put(tmp_path, {}, newer)
    path.write_text(path.read_text().replace('"a"', '"b"'))
    after = registry_state(folder)
    assert after != before
    assert schema_problem(folder, after, newer, "{}") is None
    assert schema_problem(folder, after, X, "{}") == "invalid: b: is required"
    path.rename(path.with_name("1-0-2"))
    assert registry_state(folder) not in (before, after)


def test_schema_problem__reads_and_compiles_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()
    compiled, read = jsonschema_rs.Draft4Validator, reading._read

    def counted(name: str, function: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            calls[name] += 1
            return function(*args, **options)

        return call

    monkeypatch.setattr(reading, "_read", counted("read", read))
    monkeypatch.setattr(jsonschema_rs, "Draft4Validator", counted("compile", compiled))
    _put(tmp_path, {})
    _put(tmp_path, {}, "iglu:com.acme/unused/jsonschema/1-0-0")
    for _ in range(3):
        assert schema_problem(str(tmp_path), "s", X, "{}") is None
    assert calls == {"read": 1, "compile": 1}


def test_schema_problem__a_schema_that_cannot_be_used(tmp_path: Path) -> None:
    _put(tmp_path, {"type": "strin"})
    with pytest.raises(ConfigError, match=f"{X} in {tmp_path}: no JSON Schema that can be used"):
        schema_problem(str(tmp_path), "s", X, "{}")


def test_schema_problem__no_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a folder"):
        schema_problem(str(tmp_path / "gone"), "s", X, "{}")
    with pytest.raises(ConfigError, match="is not a folder"):
        registry_state(str(tmp_path / "gone"))


# -- The example ---------------------------------------------------------------------------------


def _entities(event: dict[str, Any]) -> list[dict[str, Any]]:
    contexts = event.get("contexts", {"data": []})["data"]
    return [*contexts, *([event["unstruct_event"]["data"]] if "unstruct_event" in event else [])]


def test_example__generated_events_match(tmp_path: Path) -> None:
    out = tmp_path / "events.jsonl"
    write_events(EventsSpec(600, seed=7), str(out))
    registry, seen = read_registry(EXAMPLE), Counter[str]()
    for line in out.read_text(encoding="utf-8").removesuffix("\n").split("\n"):
        for entity in _entities(json.loads(line)["data"]):
            uri = entity["schema"]
            if uri.startswith(("iglu:com.acme/", "iglu:org.example-shop/")):
                assert registry.problem(uri, json.dumps(entity["data"])) is None
                seen[uri] += 1
    assert sorted(seen) == [str(uri) for uri in registry.schemas]
    assert min(seen.values()) > 20


@pytest.mark.parametrize(
    ("pattern", "columns"),
    [
        (
            "iglu:com.acme/checkoutStep/jsonschema/1-*-*",
            [
                "step bigint",
                "total decimal(18,2)",
                "items array<struct<`sku`:string,`tags`:array<string>,`qty`:bigint>>",
                "note string",
            ],
        ),
        (
            "iglu:com.acme/product/jsonschema/1-*-*",
            ["sku string", "price decimal(18,2)", "stock bigint"],
        ),
        (
            "iglu:com.acme/userProfile/jsonschema/1-*-*",
            [
                "user_name string",
                "address struct<`city`:string,`geo`:struct<`lat`:double,`lon`:double>>",
                "is_member boolean",
                "note string",
            ],
        ),
        (
            "iglu:org.example-shop/cart-item/jsonschema/2-*-*",
            ["lines array<array<bigint>>", "coupons array<string>", "meta string"],
        ),
    ],
)
def test_example__columns(pattern: str, columns: list[str]) -> None:
    found = read_registry(EXAMPLE).columns(SchemaPattern.parse(pattern))
    assert [f"{column.name} {column.data_type}" for column in found] == columns
    assert all(column.description for column in found)
