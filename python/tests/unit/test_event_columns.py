"""What schemas and DDL messages of Debezium say about the columns of a table. No JVM."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dbt.adapters.tidemark.errors import MacroError
from tests import captures
from tests.rendering import load_sql_macros
from tidemark.rules.event_roles import names_in_batch, new_in_schemas
from tidemark.rules.source_types import connect_columns, ddl_columns


def connect(**schema: Any) -> tuple[str, str]:
    (column,) = connect_columns([{"field": "c", **schema}])
    return column["encoding"], column["type"]


def source(kind: str, length: object = None, scale: object = None) -> dict[str, str]:
    given = {"type": kind, "length": length, "scale": scale}
    return {f"__debezium.source.column.{k}": str(v) for k, v in given.items() if v is not None}


def ddl(kind: str, connector: str | None = "mysql", **column: Any) -> tuple[str, str]:
    (found,) = ddl_columns(
        [{"name": "c", "typeName": kind, "length": None, "scale": None, **column}], connector
    )
    return found["encoding"], found["type"]


def ddl_default(kind: str, default: object, connector: str = "mysql", **column: Any) -> Any:
    (found,) = ddl_columns(
        [{"name": "c", "typeName": kind, "defaultValueExpression": default, **column}], connector
    )
    return found.get("default", "absent")


@pytest.mark.parametrize(
    ("name", "expected"),
    {
        "io.debezium.time.Date": ("days", "date"),
        "io.debezium.time.Timestamp": ("millis", "timestamp_ntz"),
        "io.debezium.time.MicroTimestamp": ("micros", "timestamp_ntz"),
        "io.debezium.time.NanoTimestamp": ("nanos", "timestamp_ntz"),
        "io.debezium.time.ZonedTimestamp": ("iso", "timestamp"),
        "io.debezium.time.MicroTime": ("time_micros", "string"),
        "io.debezium.time.NanoTime": ("time_nanos", "string"),
        "io.debezium.time.Year": ("number", "int"),
        "io.debezium.time.MicroDuration": ("number", "bigint"),
        "org.apache.kafka.connect.data.Date": ("days", "date"),
        "org.apache.kafka.connect.data.Time": ("time_millis", "string"),
        "org.apache.kafka.connect.data.Timestamp": ("millis", "timestamp_ntz"),
        "io.debezium.data.VariableScaleDecimal": ("decimal_struct", "string"),
        "io.debezium.data.Bits": ("base64", "binary"),
        "io.debezium.data.EnumSet": ("text", "string"),
    }.items(),
)
def test_connect_columns__semantic_types(name: str, expected: tuple[str, str]) -> None:
    assert connect(type="int64", name=name) == expected


def test_connect_columns__plain_types() -> None:
    expected = {
        "int8": ("number", "tinyint"),
        "int16": ("number", "smallint"),
        "int32": ("number", "int"),
        "int64": ("number", "bigint"),
        "float": ("number", "float"),
        "double": ("number", "double"),
        "boolean": ("boolean", "boolean"),
        "string": ("text", "string"),
        "bytes": ("base64", "binary"),
        "map": ("json", "string"),
        "struct": ("json", "string"),
    }
    assert {kind: connect(type=kind) for kind in expected} == expected
    assert connect(type="struct", name="io.debezium.data.geometry.Point") == ("json", "string")


def test_connect_columns__decimals() -> None:
    def decimal(**parameters: str) -> tuple[str, str]:
        name = "org.apache.kafka.connect.data.Decimal"
        return connect(type="bytes", name=name, parameters=parameters)

    precision = "connect.decimal.precision"
    assert decimal(scale="0", **{precision: "20"}) == ("decimal_bytes:0", "decimal(20,0)")
    assert decimal(scale="3") == ("decimal_bytes:3", "decimal(38,3)")
    assert decimal(scale="2", **{precision: "65"}) == ("decimal_bytes:2", "string")
    assert decimal(scale="-2", **{precision: "5"}) == ("decimal_bytes:-2", "decimal(7,0)")

    def text(*given: object) -> tuple[str, str]:
        return connect(type="string", parameters=source(*given))

    assert text("NUMERIC", 12, 3) == ("number", "decimal(12,3)")
    assert text("DECIMAL UNSIGNED", 38, 38) == ("number", "decimal(38,38)")
    assert text("decimal", 10, 0) == ("number", "decimal(10,0)")
    assert text("NUMERIC", 3, 5) == ("number", "decimal(5,5)")
    assert text("NUMERIC", 3, -2) == ("number", "decimal(5,0)")
    assert text("NUMERIC", 0) == ("number", "string")
    assert text("NUMERIC") == ("number", "string")
    assert text("NUMERIC", 131089, 0) == ("number", "string")
    assert text("NUMBER", 38) == ("text", "string")
    assert text("NUMBER", 20, 0) == ("number", "decimal(20,0)")


def test_connect_columns__unsigned() -> None:
    """`bigint.unsigned.handling.mode: long` has the 64 bits of a number; others come wide enough."""

    def whole(kind: str, *given: object) -> tuple[str, str]:
        return connect(type=kind, parameters=source(*given))

    for kind in ("BIGINT UNSIGNED", "bigint(20) unsigned", "BIGINT(20) UNSIGNED ZEROFILL", "INT8 UNSIGNED", "BIGINT ZEROFILL", "SERIAL"):  # fmt: skip
        assert whole("int64", kind, 20) == ("unsigned", "decimal(20,0)"), kind
    for kind in ("BIGINT", "INT UNSIGNED", "INT4 UNSIGNED ZEROFILL", "BIGSERIAL", "INT8", ""):
        assert whole("int64", kind) == ("number", "bigint"), kind
    assert whole("int32", "MEDIUMINT UNSIGNED") == ("number", "int")
    assert whole("int16", "TINYINT UNSIGNED") == ("number", "smallint")
    assert whole("int32", "SERIAL") == ("number", "int")


def test_connect_columns__bytes_in_hexadecimal() -> None:
    for kind in ("BYTEA", "BLOB", "LONGBLOB", "VARBINARY", "RAW", "varbinary"):
        assert connect(type="string", parameters=source(kind, 5)) == ("hex", "binary")


def test_connect_columns__arrays() -> None:
    zoned = {"type": "string", "name": "io.debezium.time.ZonedTimestamp"}
    assert connect(type="array", items=zoned) == ("array:iso", "array<timestamp>")
    inner = {"type": "array", "items": {"type": "int32", "name": "io.debezium.time.Date"}}
    assert connect(type="array", items=inner) == ("array:array:days", "array<array<date>>")


def test_connect_columns__defaults() -> None:
    fields = [
        {"field": "a", "type": "int16", "optional": True, "default": 1},
        {"field": "b", "type": "boolean", "default": True},
        {"field": "c", "type": "string", "optional": False, "default": "none"},
        {"field": "d", "type": "string", "optional": True, "default": None},
        {"field": "e", "type": "string", "optional": True},
        {"field": "f", "type": "array", "items": {"type": "string"}, "default": ["<a>"]},
        {"field": "g", "type": "double", "default": 1.5},
        {"field": "h", "type": "int32", "name": "io.debezium.time.Date", "default": 0},
        {"field": "i", "type": "int32", "default": 0},
    ]
    found = {c["name"]: c for c in connect_columns(fields)}
    assert found["a"] == {
        "name": "a",
        "encoding": "number",
        "type": "smallint",
        "optional": True,
        "default": "1",
    }
    assert (found["b"]["default"], found["b"]["optional"]) == ("true", False)
    assert found["c"]["default"] == "none"
    assert found["d"]["default"] is None
    assert "default" not in found["e"]
    assert json.loads(found["f"]["default"]) == ["<a>"]
    assert found["g"]["default"] == "1.5"
    assert found["h"]["default_is_stand_in"]
    assert "default_is_stand_in" not in found["i"]


def test_ddl_columns__mysql() -> None:
    expected = {
        ("TINYINT", 1, None): ("number", "smallint"),
        ("SMALLINT UNSIGNED", None, None): ("number", "int"),
        ("MEDIUMINT UNSIGNED", None, None): ("number", "int"),
        ("INT", 11, None): ("number", "int"),
        ("INT UNSIGNED", 10, None): ("number", "bigint"),
        ("INT UNSIGNED ZEROFILL", 10, None): ("number", "bigint"),
        ("BIGINT", 20, None): ("number", "bigint"),
        ("BIGINT UNSIGNED", 20, None): ("decimal_bytes:0", "decimal(20,0)"),
        ("INT8 UNSIGNED", 20, None): ("decimal_bytes:0", "decimal(20,0)"),
        ("DECIMAL", 12, 3): ("auto", "decimal(12,3)"),
        ("DECIMAL UNSIGNED", 65, 30): ("auto", "string"),
        ("DECIMAL", None, None): ("auto", "decimal(10,0)"),
        ("FLOAT", None, None): ("number", "float"),
        ("FLOAT", 53, None): ("number", "double"),
        ("FLOAT", 7, 3): ("number", "double"),
        ("DOUBLE", None, None): ("number", "double"),
        ("BIT", 1, None): ("boolean", "boolean"),
        ("BIT", 5, None): ("base64", "binary"),
        ("DATE", None, None): ("days", "date"),
        ("DATETIME", None, None): ("millis", "timestamp_ntz"),
        ("DATETIME", 3, None): ("millis", "timestamp_ntz"),
        ("DATETIME", 4, None): ("micros", "timestamp_ntz"),
        ("TIMESTAMP", 6, None): ("iso", "timestamp"),
        ("TIME", 6, None): ("time_micros", "string"),
        ("YEAR", 4, None): ("number", "int"),
        ("LONGBLOB", None, None): ("hex", "binary"),
        ("VARBINARY", 9, None): ("hex", "binary"),
        ("LONGTEXT", None, None): ("auto", "string"),
        ("ENUM", 1, None): ("auto", "string"),
        ("JSON", None, None): ("auto", "string"),
        ("POINT", None, None): ("json", "string"),
        ("INET6", None, None): ("auto", "string"),
    }
    found = {k: ddl(k[0], length=k[1], scale=k[2]) for k in expected}
    assert found == expected


def test_ddl_columns__oracle() -> None:
    expected = {
        ("NUMBER", 9, 0): ("number", "int"),
        ("NUMBER", 2, 0): ("number", "tinyint"),
        ("NUMBER", 18, 0): ("number", "bigint"),
        ("NUMBER", 19, 0): ("auto", "decimal(19,0)"),
        ("NUMBER", 3, -2): ("number", "int"),
        ("NUMBER", 10, 2): ("auto", "decimal(10,2)"),
        ("NUMBER", 38, None): ("auto", "string"),
        ("FLOAT", 126, None): ("auto", "string"),
        ("BINARY_DOUBLE", None, None): ("number", "double"),
        ("DATE", None, None): ("millis", "timestamp_ntz"),
        ("TIMESTAMP", 6, None): ("micros", "timestamp_ntz"),
        ("TIMESTAMP(3)", 11, 3): ("millis", "timestamp_ntz"),
        ("TIMESTAMP(9)", 11, 9): ("nanos", "timestamp_ntz"),
        ("TIMESTAMP(6) WITH TIME ZONE", 13, 6): ("iso", "timestamp"),
        ("TIMESTAMP WITH LOCAL TIME ZONE", 6, None): ("iso", "timestamp"),
        ("INTERVAL DAY(2) TO SECOND(6)", 2, 6): ("text", "string"),
        ("VARCHAR2", 9, None): ("auto", "string"),
        ("RAW", 16, None): ("hex", "binary"),
    }
    assert {k: ddl(k[0], "oracle", length=k[1], scale=k[2]) for k in expected} == expected
    # without the connector's name
    assert ddl("DATE", None, jdbcType=93) == ("millis", "timestamp_ntz")
    assert ddl("DATE", None, jdbcType=91) == ("days", "date")
    assert ddl("TIMESTAMP", None, jdbcType=2014) == ("iso", "timestamp")


def test_ddl_columns__sqlserver() -> None:
    expected = {
        ("int identity", 10, 0): ("number", "int"),
        ("tinyint", 3, 0): ("number", "smallint"),
        ("bit", 1, 0): ("boolean", "boolean"),
        ("float", 53, None): ("number", "double"),
        ("real", 24, None): ("number", "float"),
        ("decimal", 18, 4): ("auto", "decimal(18,4)"),
        ("money", 19, 4): ("auto", "decimal(19,4)"),
        ("date", 10, 0): ("days", "date"),
        ("datetime", 23, 3): ("millis", "timestamp_ntz"),
        ("datetime2", 27, 7): ("nanos", "timestamp_ntz"),
        ("datetime2", 26, 6): ("micros", "timestamp_ntz"),
        ("datetimeoffset", 34, 7): ("iso", "timestamp"),
        ("time", 16, 7): ("time_nanos", "string"),
        ("timestamp", 8, None): ("hex", "binary"),
        ("nvarchar", 9, None): ("auto", "string"),
        ("uniqueidentifier", 36, None): ("auto", "string"),
    }
    for connector in ("sqlserver", None):
        assert {k: ddl(k[0], connector, length=k[1], scale=k[2]) for k in expected} == expected


def test_ddl_columns__defaults() -> None:
    assert ddl_default("VARCHAR", "none") == "none"
    assert ddl_default("VARCHAR", None) == "absent"
    assert ddl_default("VARCHAR", None, hasDefaultValue=True) is None
    assert ddl_default("INT", "1") == "1"
    assert ddl_default("DATE", "2024-02-29") == "19782"
    assert ddl_default("DATE", "0001-01-01") == "-719162"
    assert ddl_default("DATE", "0000-00-00") == "absent"
    assert ddl_default("DATETIME", "2024-02-29 12:34:56.123", length=3) == "1709210096123"
    assert ddl_default("DATETIME", "2024-02-29 12:34:56.5", length=6) == "1709210096500000"
    assert ddl_default("DATETIME", "1969-12-31 23:59:59", length=0) == "-1000"
    assert ddl_default("TIMESTAMP", "2024-02-29 12:34:56") == "2024-02-29 12:34:56"
    assert ddl_default("TIME", "-838:59:59") == "-3020399000000"
    assert ddl_default("BIGINT UNSIGNED", "0") == "AA=="
    assert ddl_default("BIGINT UNSIGNED", "128") == "AIA="
    assert ddl_default("BIGINT UNSIGNED", "18446744073709551615") == "AP//////////"
    assert ddl_default("BIT", "1", length=1) == "1"
    assert ddl_default("BIT", "b'10101'", length=5) == "FQ=="
    assert ddl_default("BIT", "100000001", length=9) == "AQE="
    assert ddl_default("VARBINARY", "ab", length=9) == "6162"
    assert ddl_default("POINT", "x") == "absent"
    for kind, true in {"BOOLEAN": "true", "BIT": "true", "TINYINT": "1", "DECIMAL": "1"}.items():
        assert ddl_default(kind, "TRUE", length=1) == ddl_default(kind, "true", length=1) == true
    assert ddl_default("DECIMAL", "FALSE", length=3) == "0"
    assert ddl_default("VARCHAR", "TRUE") == "TRUE"
    assert ddl_default("BOOLEAN", "FALSE ", "oracle") == "false"
    assert ddl_default("VARCHAR2", "'it''s' ", "oracle") == "it's"
    assert ddl_default("NUMBER", "-1.5", "oracle", length=3, scale=1) == "-1.5"
    assert ddl_default("DATE", "SYSDATE", "oracle") == "absent"
    assert ddl_default("VARCHAR2", "NULL", "oracle") is None
    assert ddl_default("int", "((0))", "sqlserver") == "0"
    assert ddl_default("nvarchar", "(N'std')", "sqlserver") == "std"
    assert ddl_default("datetime2", "(getdate())", "sqlserver") == "absent"


def implicit(kind: str, ddl: str = "alter table t add c …", connector: str = "mysql", **column: Any) -> Any:  # fmt: skip
    given = {"name": "c", "typeName": kind, "optional": False, "defaultValueExpression": None, **column}  # fmt: skip
    (found,) = ddl_columns([given], connector, ddl=ddl)
    return found.get("default", "absent")


def test_ddl_columns__implicit_defaults() -> None:
    """What rows get for a column that is NOT NULL and has no default."""
    expected = {
        "INT": "0", "TINYINT UNSIGNED": "0", "DECIMAL": "0", "DOUBLE": "0", "BOOLEAN": "false", "YEAR": "0",
        "BIGINT UNSIGNED": "AA==", "VARCHAR": "", "LONGTEXT": "", "SET": "", "BLOB": "", "BINARY": "00", "TIME": "0",
        "DATE": "absent", "DATETIME": "absent", "TIMESTAMP": "absent", "JSON": "absent", "POINT": "absent", "UUID": "absent",
    }  # fmt: skip
    assert {kind: implicit(kind) for kind in expected} == expected
    assert (implicit("BIT", length=1), implicit("BIT", length=9)) == ("false", "AAA=")
    assert implicit("ENUM", enumValues=["'it''s'", "'b'"]) == "it's"
    assert implicit("INT", connector="mariadb") == implicit("INT", connector=None) == "0"  # type: ignore[arg-type]
    assert implicit("INT", "alter table t add c int not null, add d int default 5") == "0"
    # it is NULL, or what the server works out
    for ddl in (
        "alter table t add column c int not null, add column at datetime not null default current_timestamp",
        "alter table t add column c int not null comment 'by default open', add d int as ((a + b) * 2)",
        'alter table t add (d int as (a + b), `c` int not null comment "as (a)", e int default (rand()))',
        "alter table t /* as (x) */ add if not exists c decimal(9, 2) not null after d, add index (d)",
    ):
        assert implicit("INT", ddl) == "0", ddl
    assert implicit("INT", optional=True) == "absent"
    assert implicit("INT", autoIncremented=True) == "absent"
    assert implicit("NUMBER", connector="oracle") == "absent"
    for ddl in (
        "create table t (c int not null)", "rename table t to u, v to t", "alter table t add c int not null default (1 + 1)",
        "alter table t add c char(36) not null default uuid()",
        "alter table t add key k (a, c), add column c int not null default (a + 1)",
        "alter table t add d int as (coalesce(a, c(1))), add c int not null default (7)",
        "alter table t add (d int as (coalesce(a, c)), c int not null default (7))",
        "alter table t add (d int, c char(36) not null default (concat(a, ',', b)))", "alter table t add c int as (a + 1) stored not null",
    ):  # fmt: skip
        assert implicit("CHAR", ddl) == "absent", ddl


def test_ddl_columns__of_another_capture() -> None:
    columns = [
        {"name": "b", "typeName": "BLOB", "defaultValueExpression": "a"},
        {"name": "u", "typeName": "BIGINT UNSIGNED"},
        {"name": "d", "typeName": "DATE"},
    ]
    found = ddl_columns(columns, "mysql", captured=False)
    assert [(c["encoding"], c["type"]) for c in found] == [
        ("auto", "binary"),
        ("unsigned", "decimal(20,0)"),
        ("days", "date"),
    ]
    assert (found[0]["default"], found[0]["default_encoding"]) == ("61", "hex")


def test_ddl_columns__agree_with_the_schemas_of_the_events() -> None:
    by_ddl: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for line in captures.read("mariadb_schemaless.jsonl").splitlines():
        value = json.loads(line)["value"] or {}
        for change in value.get("tableChanges") or []:
            columns = (change.get("table") or {}).get("columns") or []
            for c in ddl_columns(columns, value["source"]["connector"]):
                key = (change["id"].replace('"', ""), c["name"])
                by_ddl.setdefault(key, set()).add((how(c["encoding"]), c["type"]))
    seen = 0
    for line in captures.read("mariadb_inline_schema.jsonl").splitlines():
        value = json.loads(line)["value"] or {}
        for field in value.get("schema", {}).get("fields", []):
            if field["field"] != "after":
                continue
            origin = value["payload"]["source"]
            for c in connect_columns(field["fields"]):
                known = by_ddl.get((f"{origin['db']}.{origin['table']}", c["name"]))
                if known is not None:
                    seen += 1
                    assert (how(c["encoding"]), c["type"]) in known, c["name"]
    assert seen > 100


def how(encoding: str) -> str:
    return "auto" if encoding in ("text", "number") else encoding


def test_decode_expr__unknown_encoding() -> None:
    decode_expr = load_sql_macros()["decode_expr"]
    for encoding in (
        "milis",
        "",
        "decimal_bytes",
        "decimal_bytes:x",
        "array:",
        "array:no",
        "days:1",
    ):
        with pytest.raises(MacroError, match="there is no encoding"):
            decode_expr("v", encoding, "array<int>")


def test_encodings__all_can_be_used() -> None:
    macros = load_sql_macros()
    for encoding in macros["encodings"]():
        usable = {"decimal_bytes": "decimal_bytes:2", "array": "array:days"}.get(encoding, encoding)
        assert macros["decode_expr"]("v", usable, "string")


def test_new_in_schemas() -> None:
    """A column that came before, and that was left out or ignored, is not new where it is taken in."""

    def column(name: str, recorded: str | None = None) -> dict[str, Any]:
        return {
            "name": name,
            "sources": [name],
            "recorded_type": recorded,
            "default": {"text": "x"},
        }

    def batch(*schemas: str) -> dict[str, Any]:
        return {
            "names": [],
            "schemas": {schema: [{"name": name} for name in schema] for schema in schemas},
            "first_nums": {schema: 10 * place for place, schema in enumerate(schemas)},
        }

    def new(columns: list[dict[str, Any]], recorded: Any, *schemas: str) -> list[tuple[str, int]]:
        found = new_in_schemas({"columns": columns}, batch(*schemas), recorded)
        return [(column["name"], number) for column, number in found]

    def told(*names: str) -> dict[str, Any]:
        return {"source": {"told": list(names)}}

    roles = [column("a", "string"), column("b")]
    # the first batch, then others
    assert new(roles, None, "ab") == []
    assert new(roles, None, "a", "ab") == [("b", 10)]
    assert new(roles, told("a"), "ab") == [("b", 0)]
    assert new(roles, told("a", "b"), "ab") == []
    # declared before the source had it
    assert new([column("b", "string")], told("a"), "ab") == [("b", 0)]
    # events from before and after it was added come again
    assert new([column("b", "string")], told("a", "b"), "a", "ab") == []
    # logs that do not tell what came
    assert new(roles, {"excluded": []}, "ab") == [("b", 0)]
    assert new(roles, {"excluded": ["b"]}, "ab") == []

    came = {**batch("ac"), "names": ["D", "a"]}
    assert names_in_batch(came, told("b")) == ["a", "b", "c", "d"]
    assert names_in_batch(came, None) == ["a", "c", "d"]
    before = {"columns": [{"name": "E"}], "excluded": ["f"], "source": {}}
    assert names_in_batch(came, before) == ["a", "c", "d", "e", "f"]
