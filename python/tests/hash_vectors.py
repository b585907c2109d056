"""The shared hash vectors: how their values are written in JSON, and how the file is made.

`python python/tests/hash_vectors.py` writes vectors/hash_vectors.json again with the Python
implementation. A change of a case that was there before is a change of the recipe and needs a new
recipe version.
"""

from __future__ import annotations

import datetime
import decimal
import json
from pathlib import Path
from typing import Any

from tidemark import hashing
from tidemark.hashing import types

VECTORS = Path(__file__).parent / "vectors" / "hash_vectors.json"
PEPPER = "a grain of salt"
VALUES = (
    "Whole numbers and booleans are JSON's. Floats are numbers, or text if JSON has none such. "
    "Decimals, dates and timestamps (ISO 8601) are text, binary is hexadecimal text, an interval "
    "is in microseconds, a struct is the list of its fields' values, a map a list of pairs."
)


def value_of(data: Any, data_type: str) -> Any:
    """The Python value of a vector's JSON value."""
    return _value(data, types.parse_type(data_type))


def _value(data: Any, kind: types.Type) -> Any:
    if data is None:
        return None
    if kind.base in ("double", "float"):
        return float(data)
    if kind.base == "decimal":
        return decimal.Decimal(data)
    if kind.base == "date":
        return datetime.date.fromisoformat(data)
    if kind.base.startswith("timestamp"):
        return datetime.datetime.fromisoformat(data)
    if kind.base == "binary":
        return bytes.fromhex(data)
    if kind.base == "interval":
        return datetime.timedelta(microseconds=data)
    if kind.base == "array":
        return [_value(item, kind.parts[0]) for item in data]
    if kind.base == "map":
        return {_value(k, kind.parts[0]): _value(v, kind.parts[1]) for k, v in data}
    if kind.base == "struct":
        return tuple(_value(item, part) for item, part in zip(data, kind.parts, strict=True))
    return data


def load() -> list[dict[str, Any]]:
    return json.loads(VECTORS.read_text(encoding="utf-8"))["cases"]


def columns_of(case: dict[str, Any]) -> list[hashing.Column]:
    return [
        hashing.Column(column["name"], column["type"], column.get("sensitive", False))
        for column in case["columns"]
    ]


def row_of(case: dict[str, Any]) -> dict[str, Any]:
    return {c["name"]: value_of(c["value"], c["type"]) for c in case["columns"]}


NESTED = "array<struct<a:int,b:map<string,double>>>"

# name, then (column, type, value[, sensitive]) of each column
CASES: list[tuple[Any, ...]] = [
    ("documented: a key", ("icao", "string", "LSZH")),
    (
        "documented: a row",
        ("name", "string", "Zürich"),
        ("elevation", "double", 432.5),
        ("opened", "date", "1948-06-14"),
        ("closed", "date", None),
    ),
    (
        "documented: nested and sensitive values",
        ("runways", "array<struct<name:string,length:int>>", [["10/28", 2500], ["16/34", None]]),
        ("tags", "map<string,boolean>", [["hub", True], ["coast", None]]),
        ("phone", "string", "+41 43", True),
    ),
    ("no columns",),
    ("all null", ("a", "string", None), ("b", "int", None), ("c", "double", None)),
    ("string", ("icao", "string", "EDDF")),
    ("string, new column is null", ("icao", "string", "EDDF"), ("iata", "string", None)),
    ("string, other column first null", ("iata", "string", None), ("icao", "string", "EDDF")),
    ("string, column renamed", ("ICAO", "string", "EDDF")),
    ("empty string", ("a", "string", "")),
    ("string NULL", ("a", "string", "NULL")),
    ("string null", ("a", "string", "null")),
    ("split ab c", ("a", "string", "ab"), ("b", "string", "c")),
    ("split a bc", ("a", "string", "a"), ("b", "string", "bc")),
    ("split 1 23", ("a", "int", 1), ("b", "int", 23)),
    ("split 12 3", ("a", "int", 12), ("b", "int", 3)),
    ("value looks like an encoding", ("a", "string", "x1:b1:y")),
    ("two columns of that look", ("a", "string", "x"), ("b", "string", "y")),
    ("null then value", ("a", "string", None), ("b", "string", "x")),
    ("value then null", ("a", "string", "x"), ("b", "string", None)),
    ("columns in other order", ("b", "string", "y"), ("a", "string", "x")),
    ("delimiters", ("a", "string", "||^^;:,|{}[]<>"), ("b", "string", "N;")),
    ("upper case", ("a", "string", "BOB")),
    ("mixed case", ("a", "string", "Bob")),
    ("trailing space", ("a", "string", "x ")),
    ("only spaces", ("a", "string", "   ")),
    ("latin letters", ("a", "string", "Zürich Ærø naïve")),
    ("decomposed letters", ("a", "string", "Zu\u0308rich")),
    ("other scripts", ("a", "string", "東京 Αθήνα القاهرة")),
    ("emoji", ("a", "string", "✈️ 🛬 👩‍🚀"), ("🛫", "string", "x")),
    ("quotes", ("a", "string", 'it\'s "so" `said`'), ("b", "string", "\\' \\\\ \\n")),
    ("newlines and tabs", ("a", "string", "one\ntwo\r\nthree\tfour")),
    ("NUL byte", ("a", "string", "a\x00b"), ("b", "string", "\x00")),
    ("percent and dollar", ("a", "string", "%s %d {{ x }} ${env:HOME} $1")),
    ("long string", ("a", "string", "0123456789" * 100)),
    ("char and varchar", ("a", "char(3)", "abc"), ("b", "varchar(10)", "abc")),
    (
        "odd column names",
        ("a`b", "int", 1),
        ("c d", "int", 2),
        ("e.f", "int", 3),
        ("1:g", "int", 4),
    ),
    ("odd column names 2", ("it's", "int", 1), ("back\\slash", "int", 2), ("größe", "int", 3)),
    ("column name like an encoding", ("a1:x1:b", "string", "y")),
    ("booleans", ("t", "boolean", True), ("f", "boolean", False), ("n", "boolean", None)),
    ("small integers", ("a", "tinyint", -128), ("b", "smallint", 32767), ("c", "int", -2147483648)),
    ("bigint", ("a", "bigint", 9223372036854775807), ("b", "bigint", -9223372036854775808)),
    ("one as int", ("a", "int", 1)),
    ("one as bigint", ("a", "bigint", 1)),
    ("one as decimal", ("a", "decimal(10,2)", "1.00")),
    ("one as double", ("a", "double", 1.0)),
    ("zero as int", ("a", "int", 0)),
    ("zero as double", ("a", "double", 0.0)),
    ("minus zero", ("a", "double", "-0.0")),
    ("zero as decimal", ("a", "decimal(38,18)", "0E-18")),
    ("decimal 1.5", ("a", "decimal(10,2)", "1.50")),
    ("decimal 1.5 widened", ("a", "decimal(38,10)", "1.5000000000")),
    ("decimal whole", ("a", "decimal(20,0)", "-100"), ("b", "decimal(10,3)", "100.000")),
    ("decimal without arguments", ("a", "decimal", "1200")),
    (
        "decimal of 38 digits",
        ("a", "decimal(38,0)", "-99999999999999999999999999999999999999"),
        ("b", "decimal(38,18)", "12345678901234567890.123456789012345678"),
    ),
    (
        "tiny decimals",
        ("a", "decimal(20,10)", "0.0000001000"),
        ("b", "decimal(20,10)", "-0.0000001230"),
        ("c", "decimal(38,38)", "0.00000000000000000000000000000000000001"),
        ("d", "decimal(20,10)", "0.0000010000"),
        ("e", "decimal(7,6)", "0.000001"),
        ("f", "decimal(20,7)", "0.0000009"),
    ),
    ("tiny decimal widened", ("a", "decimal(38,20)", "0.00000010000000000000")),
    (
        "decimals of nines",
        ("a", "decimal(38,38)", "0." + "9" * 38),
        ("b", "decimal(38,10)", "-" + "9" * 28 + "." + "9" * 10),
    ),
    ("double fractions", ("a", "double", 1.1), ("b", "double", -0.5), ("c", "double", 1e-7)),
    (
        "double limits",
        ("a", "double", 1.7976931348623157e308),
        ("b", "double", 5e-324),
        ("c", "double", 2.2250738585072014e-308),
        ("d", "double", 2.225073858507201e-308),
    ),
    (
        "doubles about 2^53",
        ("a", "double", 9007199254740991.0),
        ("b", "double", 9007199254740992.0),
        ("c", "double", -9007199254740991.0),
        ("d", "double", -9007199254740993.0),
        ("e", "double", 1e300),
    ),
    ("not a number", ("a", "double", "NaN"), ("b", "float", "NaN")),
    (
        "infinities",
        ("a", "double", "Infinity"),
        ("b", "double", "-Infinity"),
        ("c", "float", "inf"),
    ),
    (
        "floats",
        ("a", "float", 0.1),
        ("b", "float", 1.5),
        ("c", "float", 16777216.0),
        ("d", "float", -2.5e38),
    ),
    ("float widened to double", ("a", "double", 0.10000000149011612)),
    ("float minus zero", ("a", "float", "-0.0"), ("b", "float", 1.401298464324817e-45)),
    (
        "dates",
        ("a", "date", "2026-03-04"),
        ("b", "date", "1969-12-31"),
        ("c", "date", "2000-02-29"),
    ),
    ("dates at the ends", ("a", "date", "0001-01-01"), ("b", "date", "9999-12-31")),
    (
        "timestamps",
        ("a", "timestamp", "2026-03-04T05:06:07.890123+00:00"),
        ("b", "timestamp", "1970-01-01T00:00:00+00:00"),
        ("c", "timestamp", "2026-03-29T02:30:00+01:00"),
    ),
    (
        "timestamps before 1970",
        ("a", "timestamp", "1969-12-31T23:59:59.999999+00:00"),
        ("b", "timestamp", "1883-11-18T12:00:00.000001+00:00"),
    ),
    (
        "timestamps at the ends",
        ("a", "timestamp", "0001-01-01T00:00:00+00:00"),
        ("b", "timestamp", "9999-12-31T23:59:59.999999+00:00"),
    ),
    (
        "timestamps without zone",
        ("a", "timestamp_ntz", "2026-03-04T05:06:07"),
        ("b", "timestamp_ntz", "2026-03-04T05:06:07.890"),
        ("c", "timestamp_ntz", "0001-01-01T00:00:00.000001"),
        ("d", "timestamp_ntz", "9999-12-31T23:59:59.999999"),
    ),
    ("binary", ("a", "binary", "00ff10ab"), ("b", "binary", ""), ("c", "binary", None)),
    ("array of strings", ("a", "array<string>", ["a", None, "", "N;", "1:a;"])),
    ("array in other order", ("a", "array<string>", ["", None, "a", "N;", "1:a;"])),
    ("empty array", ("a", "array<int>", [])),
    ("array of null", ("a", "array<int>", [None])),
    ("array of doubles", ("a", "array<double>", [1.0, 0.1, "-0.0", "NaN"])),
    ("array of arrays", ("a", "array<array<string>>", [["a"], [], None, ["b", "c"]])),
    ("struct", ("a", "struct<x:int,y:string>", [1, "é"])),
    ("struct with null field", ("a", "struct<x:int,y:string>", [None, "x"])),
    ("struct of nulls", ("a", "struct<x:int,y:string>", [None, None])),
    ("null struct", ("a", "struct<x:int,y:string>", None)),
    (
        "struct with odd names",
        ("s", "struct<`a b`:int,`c``d`:int,`e,f:g`:int,`h.i`:int>", [1, 2, 3, 4]),
    ),
    (
        "struct in struct",
        ("a", "struct<x:struct<y:struct<z:decimal(10,2)>>,w:date>", [[["1.50"]], "2026-03-04"]),
    ),
    ("map", ("a", "map<string,int>", [["b", 2], ["a", 1], ["é", None], ["", 0]])),
    ("map in other order", ("a", "map<string,int>", [["", 0], ["é", None], ["a", 1], ["b", 2]])),
    ("empty map", ("a", "map<string,int>", [])),
    ("map of numbers", ("a", "map<int,array<int>>", [[10, [1]], [9, []], [-1, None]])),
    (
        "map sorted by bytes",
        ("a", "map<string,string>", [["\uffffa", "x"], ["😀", "y"], ["z", "z"]]),
    ),
    ("deep nesting", ("a", NESTED, [[1, [["k", 0.5], ["j", 1.0]]], None, [None, None], [2, []]])),
    (
        "map of maps",
        ("a", "map<string,map<string,boolean>>", [["x", [["b", True], ["a", None]]], ["w", None]]),
    ),
    (
        "timestamps in an array",
        ("a", "array<timestamp>", ["1969-12-31T23:59:59.5+00:00"]),
        ("b", "array<date>", ["1582-10-15"]),
    ),
    ("interval", ("a", "interval day to second", 93784500000), ("b", "interval day to second", -1)),
    ("sensitive", ("id", "int", 7), ("phone", "string", "+49 69 0", True)),
    ("sensitive null", ("id", "int", 7), ("phone", "string", None, True)),
    ("sensitive empty", ("id", "int", 7), ("phone", "string", "", True)),
    ("sensitive key", ("ssn", "bigint", 123456789, True)),
    (
        "an airport",
        ("icao", "string", "EDDF"),
        ("name", "string", "Frankfurt am Main Airport"),
        ("latitude", "double", 50.033333),
        ("elevation", "double", 364.0),
        ("opened", "date", "1936-07-08"),
        ("closed", "date", None),
    ),
]


def make() -> dict[str, Any]:
    """The content of the vector file."""
    cases = []
    for name, *columns in CASES:
        described = [
            {"name": c[0], "type": c[1], **({"sensitive": True} if c[3:] else {}), "value": c[2]}
            for c in columns
        ]
        case: dict[str, Any] = {"name": name, "columns": described}
        row, hashed = row_of(case), columns_of(case)
        case["row_text"] = hashing.row_text(row, hashed, PEPPER)
        for algorithm in hashing.ALGORITHMS:
            case[algorithm] = hashing.row_hash(row, hashed, algorithm, PEPPER)
        cases.append(case)
    return {"recipe": hashing.RECIPE_VERSION, "pepper": PEPPER, "values": VALUES, "cases": cases}


if __name__ == "__main__":
    VECTORS.write_text(json.dumps(make(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
