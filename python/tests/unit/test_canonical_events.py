"""The contract of canonical events: what the tests' events are made like fits it, broken events do not."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from tests.functional.event_entities import EventEntity, ddl, delete, insert, truncate, update
from tests.functional.event_streams import random_streams
from tests.macros import ROOT, load_macros
from tidemark.scaffold import cli
from tidemark.scaffold.schema import EVENT_SCHEMA_FILE, event_schema_text

SCHEMA = json.loads(event_schema_text())
COLUMNS = [
    {"name": "id", "type": "int"},
    {"name": "mail", "type": "string", "default": "-", "previous_name": "email"},
]


def errors(event: Any) -> list[str]:
    return [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(event)]


def test_schema__is_what_the_command_prints() -> None:
    printed = CliRunner().invoke(cli.schema, ["--events"], catch_exceptions=False)
    committed = ROOT / "python" / "src" / "tidemark" / "scaffold" / EVENT_SCHEMA_FILE
    assert committed.read_text(encoding="utf-8") == printed.stdout
    jsonschema.Draft202012Validator.check_schema(json.loads(printed.stdout))


def test_schema__has_the_columns_that_the_macros_read() -> None:
    macros = load_macros("config", "log", "expr", "events")
    names = [column["name"] for column in macros["event_columns"]()]
    assert sorted(SCHEMA["properties"]) == sorted(names)
    assert sorted(SCHEMA["$defs"]["has_columns"]["not"]["propertyNames"]["enum"]) == sorted(names)
    # the other names that we add are taken
    assert sorted(SCHEMA["propertyNames"]["not"]["enum"]) == sorted(
        set(macros["reserved_columns"]()) - set(names)
    )


def test_schema__has_the_operations_that_the_macros_read() -> None:
    operations = set(SCHEMA["properties"]["_operation"]["enum"])
    ddl_operations = {name.strip("'") for name in load_macros("events")["ddl_operations"]()}
    assert {name for name in operations if name.endswith(("_TABLE", "_DATABASE"))} == (
        ddl_operations | {"TRUNCATE_TABLE"}
    )
    macro = ROOT / "macros" / "events" / "canonical_events_sql.sql"
    text = macro.read_text(encoding="utf-8")
    assert [name for name in operations - ddl_operations if f"'{name}'" not in text] == []


def test_schema__events_of_the_tests(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    project = SimpleNamespace(root=tmp_path, file_format="delta", write=lambda *_: None)
    entity = EventEntity(project, "customers", {"id": "int", "mail": "string"})
    file = entity.land(
        [
            ddl("CREATE_TABLE", COLUMNS, primary_key=["id"]),
            insert({"id": 0, "mail": None}, sequence_num=1, offset="file 7:120"),
            update({"id": 1}, before={"id": 0}, transaction_id="t", event_time="2026-03-04T08:00Z"),
            delete({"id": 1}, is_snapshot=False),
            truncate(),
            ddl("ALTER_TABLE", COLUMNS),
            ddl("RENAME_TABLE", prev_table="clients"),
            ddl("DROP_TABLE"),
            *random_streams(random.Random(1), 5, 12, truncates=1),
            *random_streams(random.Random(1), 5, 12, keyless=True),
        ]
    )
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) > 100
    assert {line: errors(json.loads(line)) for line in lines if errors(json.loads(line))} == {}


@pytest.mark.parametrize(
    "event",
    [
        {"_operation": "READ", "_is_snapshot": True, "id": 1},
        {"_operation": "UPSERT", "_sequence_num": "9223372036854775807", "id": 1},
        {"_operation": "DELETE", "id": 1},
        {"_operation": "INSERT", "_event_time": 1767225600000000, "tags": ["a"], "doc": {"a": 1}},
        {"_operation": "INSERT", "_event_time": "2026-03-04 08:00:00.123456+01:00", "id": 1},
        {"_operation": "COMMIT", "_transaction_id": 7},
        {"_operation": "TRUNCATE_TABLE"},
        {"_operation": "ALTER_TABLE", "_table": "t", "_schema": '[{"name": "id"}]'},
        {"_operation": "CREATE_DATABASE", "_database": "shop"},
        {"_operation": "DROP_DATABASE", "_database": "shop", "_table": None},
    ],
)
def test_schema__valid(event: dict[str, Any]) -> None:
    assert errors(event) == []


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ([], "is not of type 'object'"),
        ({"id": 1}, "'_operation' is a required property"),
        ({"_operation": "MERGE", "id": 1}, "'MERGE' is not one of"),
        ({"_operation": "INSERT"}, "should not be valid under"),
        ({"_operation": "UPDATE", "_table": "t", "_sequence_num": 1}, "should not be valid under"),
        ({"_operation": "INSERT", "id": 1, "_key_hash": "x"}, "should not be valid under"),
        ({"_operation": "INSERT", "id": 1, "_sequence_num": 1.5}, "is not valid under any"),
        ({"_operation": "INSERT", "id": 1, "_sequence_num": "first"}, "is not valid under any"),
        ({"_operation": "INSERT", "id": 1, "_sequence_num": 2**63}, "is not valid under any"),
        # seconds or milliseconds?
        ({"_operation": "INSERT", "id": 1, "_event_time": 1767225600000}, "is not valid under any"),
        ({"_operation": "INSERT", "id": 1, "_event_time": "yesterday"}, "is not valid under any"),
        ({"_operation": "INSERT", "id": 1, "_is_snapshot": "yes"}, "is not of type 'boolean'"),
        ({"_operation": "CREATE_TABLE", "_schema": COLUMNS}, "'_table' is a required property"),
        ({"_operation": "DROP_TABLE", "_table": None}, "None is not of type 'string'"),
        ({"_operation": "ALTER_TABLE", "_table": "t"}, "'_schema' is a required property"),
        (
            {"_operation": "ALTER_TABLE", "_table": "t", "_schema": [{"type": "int"}]},
            "is not valid under any",
        ),
        ({"_operation": "RENAME_TABLE", "_table": "t"}, "'_prev_table' is a required property"),
        ({"_operation": "DROP_DATABASE"}, "'_database' is a required property"),
    ],
)
def test_schema__refused(event: Any, message: str) -> None:
    assert any(message in error for error in errors(event)), errors(event)
