"""Values of nested types as other nested types: fields go by name, and what cannot be cast is told at any depth."""

from __future__ import annotations

from typing import Any

import pytest

from tidemark.rules.drift import config_drift
from tidemark.rules.types import is_same_by_name

from ..render.test_golden import Events
from ..rendering import load_sql_macros

AB = "named_struct('a', 1, 'b', 'x')"

CASES = [
    # value, type, its value as JSON, failed
    (AB, "struct<b:string,a:int>", '{"b":"x","a":1}', False),
    (AB, "struct<B:string,A:int>", '{"B":"x","A":1}', False),
    (AB, "struct<a:bigint,c:double,b:string>", '{"a":1,"c":null,"b":"x"}', False),
    (AB, "struct<b:string>", '{"b":"x"}', False),
    (AB, "struct<b:int,a:int>", '{"b":null,"a":1}', True),
    (f"array({AB}, null)", "array<struct<b:string,a:bigint>>", '[{"b":"x","a":1},null]', False),
    (f"array({AB})", "array<struct<b:int>>", '[{"b":null}]', True),
    (f"map('k', {AB})", "map<string,struct<b:string,a:int>>", '{"k":{"b":"x","a":1}}', False),
    ("map(1, 'x', 2, null)", "map<bigint,string>", '{"1":"x","2":null}', False),
    ("map('1', 'x', '01', 'y')", "map<int,string>", None, True),
    ("map('z', 'x')", "map<int,string>", None, True),
    (
        f"named_struct('o', array(named_struct('m', map('k', {AB}), 'n', 1)), 'p', 2)",
        "struct<p:int,o:array<struct<n:int,m:map<string,struct<b:string,a:int>>>>>",
        '{"p":2,"o":[{"n":1,"m":{"k":{"b":"x","a":1}}}]}',
        False,
    ),
    ("named_struct('full name', 'x', 'b', 1)", "struct<b:int,full name:string>", '{"b":1,"full name":"x"}', False),
    ("named_struct('b', 1)", "struct<o:struct<full name:int>,b:bigint>", '{"o":null,"b":1}', False),
    # kinds between which Spark has no cast
    (AB, "array<int>", None, True),
    ("1", "struct<a:int>", None, True),
    ("array(true)", "array<date>", "[null]", True),
    ("named_struct('a', date'2026-01-01')", "struct<a:int>", '{"a":null}', True),
    # JSON in a text
    ("'{\"b\": \"x\", \"a\": 1}'", "struct<a:int,b:string>", '{"a":1,"b":"x"}', False),
    ("'{\"a\": \"x\"}'", "struct<a:int>", None, True),
    ("'oops'", "array<int>", None, True),
]  # fmt: skip


def test_cast_by_name(module_project: Any) -> None:
    macros, session = load_sql_macros(), module_project.session
    for value, to_type, expected, failed in CASES:
        from_type = session.sql(f"select {value} as v").dtypes[0][1]
        cast = macros["cast_by_name_expr"]("v", from_type, to_type)
        null = f"select if(false, {value}, null) as v"
        for sql, wanted in [(f"select {value} as v", (expected, failed)), (null, (None, False))]:
            query = (
                f"select {cast['value']} as c, coalesce({cast['failed'] or 'false'}, false) as f"
            )
            found = session.sql(f"{query} from ({sql})")
            assert found.dtypes[0][1].lower() == to_type.lower(), (value, to_type)
            text = "to_json(c, map('ignoreNullFields', 'false'))"
            [row] = found.selectExpr(f"{text} as text", "f").collect()
            assert tuple(row) == wanted, (value, to_type)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("struct<a:int,b:array<struct<c:int,d:int>>>", "struct<b:array<struct<d:int,c:int>>,A:int>", True),
        ("struct<a:int>", "struct<a:bigint>", False),
        ("map<string,struct<a:int,b:int>>", "map<string,struct<b:int,a:int>>", True),
        ("struct<a:int>", "struct<a:int,b:int>", False),
        ("int", "bigint", False),
    ],
)  # fmt: skip
def test_same_by_name(one: str, other: str, same: bool) -> None:
    assert is_same_by_name(one, other) is same


MODEL = {
    "alias": "places",
    "schema": "shop",
    "columns": {"id": {"name": "id"}, "at": {"name": "at"}},
    "config": {"unique_key": "id", "meta": {"tidemark": {"extract": "full"}}},
}
RECORDED = "struct<lat:int,lon:int,name:string>"


def test_extract(module_project: Any) -> None:
    """A source whose fields come in another order is read by the recorded type; another type is drift, by a message of ours."""
    macros, session = load_sql_macros(), module_project.session
    cfg = macros["entity_config"](MODEL)

    def roles(source: str, types: dict[str, str], recorded: Any) -> Any:
        columns = [{"name": "id", "type": "int"}, {"name": "at", "type": source}]
        return macros["column_roles"](cfg, columns, types, recorded)

    recorded = roles(RECORDED, {}, None)["recorded"]
    reordered = roles("struct<name:string,lon:int,lat:int>", {}, recorded)
    assert config_drift(cfg, reordered, recorded) == []
    rows = "select 1 as id, named_struct('name', 'x', 'lon', 2, 'lat', 1) as at"
    [row] = session.sql(macros["staged_rows_sql"](cfg, reordered, rows)).collect()
    assert (tuple(row["at"]), row._reject_reason) == ((1, 2, "x"), None)
    [drift] = config_drift(cfg, roles("struct<lat:int>", {}, recorded), recorded)
    assert f"(declare `data_type: {RECORDED}` for it in the YAML" in drift.sentence
    # as that message says
    declared = roles("struct<lon:string,lat:bigint,more:int>", {"at": RECORDED}, recorded)
    assert config_drift(cfg, declared, recorded) == []
    rows = "select {} as id, named_struct('lon', '{}', 'lat', 1L, 'more', 0) as at"
    both = f"{rows.format(1, '2')} union all {rows.format(2, 'z')}"
    found = session.sql(macros["staged_rows_sql"](cfg, declared, both)).orderBy("id").collect()
    assert [(tuple(row["at"]), row._reject_reason) for row in found] == [
        ((1, 2, None), None),
        ((1, None, None), "cast_failed: at"),
    ]


def test_events(module_project: Any) -> None:
    """The same of rows of a table; the key of a struct's place is not its position."""
    macros, session = load_sql_macros(), module_project.session
    entity = Events("places", format="rows", sequence_by=["id"], table=None, location=None)
    rows = session.sql(
        "select 1 as id, named_struct('lon', '2', 'lat', 1) as `full name` "
        "union all select 2, named_struct('lon', 'z', 'lat', 1)"
    )
    rows.createOrReplaceTempView("arrived_places")
    columns = [{"name": name, "type": kind} for name, kind in rows.dtypes]
    arrived = {column["name"]: column for column in columns}
    found = {
        "names": list(arrived), "schemas": {}, "ddl": None, "arrived": arrived, "renames": {},
        "refused": [], "has_schemaless": True, "inferred": {},
    }  # fmt: skip
    types = {"id": "bigint", "full name": "struct<lat:int,lon:int>"}
    cfg = {**entity.cfg, "columns": []}
    roles = macros["event_roles"](cfg, found, types, None)
    events = macros["canonical_events_sql"](
        cfg, {"tables": [], "by_content": True}, "arrived_places", columns
    )
    session.sql(events).createOrReplaceTempView("events_of_places")
    staged = macros["staged_events_sql"](cfg, roles, "events_of_places", {}, {})
    found_rows = session.sql(staged).orderBy("id").collect()
    assert [(row["full name"], row._reject_reason) for row in found_rows] == [
        ((1, 2), None),
        ((1, None), "cast_failed: full name"),
    ]
