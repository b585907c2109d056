"""Values of change events in Spark's types, by every encoding; every column of the captured events against the rows
that the databases themselves gave."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests import captures
from tests.rendering import load_sql_macros

NINES = "9" * 38
WORD = "__debezium_unavailable_value"

# (encoding, type): {text: expected}. Timestamps are expected as the UTC wall time, binaries as
# hexadecimal, all else as Spark's own text or, for nested values, as JSON.
CASES: dict[tuple[str, str], dict[str, str | None]] = {
    ("auto", "string"): {"": "", " a ": " a ", "1.50": "1.50", "NaN": "NaN"},
    ("number", "varchar(9)"): {"12345678901234567890": "12345678901234567890"},
    ("auto", "tinyint"): {"127": "127", "-128": "-128", "128": None, "300": None, "": None},
    ("number", "smallint"): {"32767": "32767", "32768": None, "1.0": None},
    ("number", "int"): {
        "0": "0",
        "-2147483648": "-2147483648",
        "2147483648": None,
        "1e3": None,
        "12.5": None,
        "true": None,
        "abc": None,
        "1_000": None,
        "0x10": None,
    },
    ("auto", "bigint"): {
        "9223372036854775807": "9223372036854775807",
        "-9223372036854775808": "-9223372036854775808",
        "9223372036854775808": None,
        "": None,
    },
    ("boolean", "boolean"): {
        "true": "true",
        "1": "true",
        "false": "false",
        "0": "false",
        "TRUE": None,
        "yes": None,
        "t": None,
        "2": None,
        "abc": None,
        "": None,
    },
    ("auto", "decimal(12,3)"): {
        "1.125": "1.125",
        "1.1250": "1.125",
        "-0.001": "-0.001",
        "1.1255": None,
        "999999999.999": "999999999.999",
        "1000000000": None,
        "7": "7.000",
        "7.": "7.000",
        ".5": "0.500",
        "1E+3": "1000.000",
        "1.5E-2": "0.015",
        "1.5E-3": None,
        "1500E-5": "0.015",
        "0E-10": "0.000",
        "0.000E-10": "0.000",
        "1E+99": None,
        "1E-999999999": None,
        "NaN": None,
        "NAN": None,
        "Infinity": None,
        "POSITIVE_INFINITY": None,
        "1,5": None,
        ".": None,
        "": None,
    },
    ("number", "decimal(38,0)"): {
        NINES: NINES,
        "-" + NINES: "-" + NINES,
        "1" + "0" * 38: None,
        "18446744073709551615": "18446744073709551615",
        "0.5": None,
    },
    ("auto", "decimal(38,9)"): {
        "12345678901234567890123456789.123456789": "12345678901234567890123456789.123456789",
        "123456789012345678901234567890.123456789": None,
    },
    ("auto", "decimal(38,38)"): {"0." + NINES: "0." + NINES, "1": None},
    ("auto", "decimal"): {"9999999999": "9999999999", "10000000000": None, "1.5": None},
    ("number", "double"): {
        "1.5": "1.5",
        "1e308": "1.0E308",
        "1.0E308": "1.0E308",
        "-2": "-2.0",
        "1e309": None,
        "-1e309": None,
        "NaN": "NaN",
        "Infinity": "Infinity",
        "-Infinity": "-Infinity",
        "nan": None,
        "NAN": None,
        "inf": None,
        "1d": None,
        "0x1p3": None,
        "": None,
    },
    ("number", "float"): {
        "1.1": "1.1",
        "1e39": None,
        "3.4028235E38": "3.4028235E38",
        "Infinity": "Infinity",
        "": None,
    },
    ("auto", "date"): {
        "19782": "2024-02-29",
        "0": "1970-01-01",
        "-1": "1969-12-31",
        "-719162": "0001-01-01",
        "-719163": None,
        "2932896": "9999-12-31",
        "2932897": None,
        "2024-02-29": "2024-02-29",
        "1990-01-02Z": "1990-01-02",
        "1990-01-02T00:00:00Z": "1990-01-02",
        "1990-01-02 00:00:00.000": "1990-01-02",
        "1990-01-02T00:00:01Z": None,
        "2023-02-29": None,
        "0000-01-01": None,
        "0001-01-01 BC": None,
        "2024-2-9": None,
        "2024": "1975-07-18",
        "infinity": None,
        "": None,
    },
    ("auto", "timestamp"): {
        "2024-02-29T12:34:56.123456Z": "2024-02-29 12:34:56.123456",
        "2024-02-29T12:34:56.03366Z": "2024-02-29 12:34:56.033660",
        "2024-02-29T12:34:56.033660Z": "2024-02-29 12:34:56.033660",
        "2024-02-29T12:34:56.123456789Z": "2024-02-29 12:34:56.123456",
        "1969-12-31T23:59:59.9999999Z": "1969-12-31 23:59:59.999999",
        "2024-02-29 12:34:56": "2024-02-29 12:34:56",
        "2024-02-29 12:34:56+02": "2024-02-29 10:34:56",
        "2024-02-29T12:34:56+02:00": "2024-02-29 10:34:56",
        "2024-02-29T12:34:56-0330": "2024-02-29 16:04:56",
        "2024-02-29T12:34": "2024-02-29 12:34:00",
        "2024-02-29T12:34Z": "2024-02-29 12:34:00",
        "2024-02-29T12:34+02:00": "2024-02-29 10:34:00",
        "2024-02-29": "2024-02-29 00:00:00",
        "2024-02-29Z": "2024-02-29 00:00:00",
        "2024-03-10T02:30:00": "2024-03-10 02:30:00",
        "0001-01-01T00:00:00Z": "0001-01-01 00:00:00",
        "0001-01-01T00:00:00+01:00": None,
        "0001-01-01T05:00:00+02:00": "0001-01-01 03:00:00",
        "9999-12-31T23:59:59.999999Z": "9999-12-31 23:59:59.999999",
        "9999-12-31T23:59:59-01:00": None,
        "0000-12-31T00:00:00Z": None,
        "2024-02-30T00:00:00Z": None,
        "2024-02-29T24:00:00Z": None,
        "2024-02-29T12:34:56.Z": None,
        "2024-02-29T12:34:56 UTC": None,
        "T12:34:56Z": None,
        "infinity": None,
        "-infinity": None,
        "1709210096123456": "2024-02-29 12:34:56.123456",
        "-1709210096123456": "1915-11-03 11:25:03.876544",
        "1709210096123456789": "2024-02-29 12:34:56.123456",
        "1709210096123": None,
        "1709210096": None,
        "0": None,
        "99999999999999": None,
        "100000000000000": "1973-03-03 09:46:40",
        "100000000000000000": "1973-03-03 09:46:40",
        "9223372036854775808": None,
        "1.5": None,
        "": None,
    },
    ("auto", "timestamp_ntz"): {
        "2024-02-29T12:34:56.123456": "2024-02-29 12:34:56.123456",
        "2024-02-29T12:34:56+02:00": "2024-02-29 10:34:56",
        "2024-03-10T02:30:00": "2024-03-10 02:30:00",
        "0001-01-01 00:00:00": "0001-01-01 00:00:00",
        "1709210096123456": "2024-02-29 12:34:56.123456",
        "1709210096123": None,
        "infinity": None,
        "": None,
    },
    # what hexadecimal digits stand for is not told
    ("auto", "binary"): {
        "AAAA": None,
        "deadBEEF": None,
        "00": None,
        "\\x00ff": "00FF",
        "\\x0": None,
        "AP8=": "00FF",
        "-_8=": "FBFF",
        "": "",
        "zz?": None,
        "é": None,
    },
    ("text", "array<string>"): {
        '["a","b\\n",null]': '["a","b\\n",null]',
        "[]": "[]",
        '["a"': None,
        '{"a":1}': None,
        "a": None,
        '"[]"': None,
        "[a]": None,
        "": None,
    },
    ("json", "array<int>"): {"[1,null,-3]": "[1,null,-3]", "[1,2.5]": None, '["x"]': None},
    ("auto", "array<timestamp>"): {
        '["2024-01-01T00:00:00.000000Z"]': '["2024-01-01 00:00:00"]',
        "[null]": "[null]",
        '["2024-01-01T00:00:00Z","infinity"]': None,
        "[]": "[]",
    },
    ("auto", "array<array<bigint>>"): {
        "[[1],[2,null],null,[]]": "[[1],[2,null],null,[]]",
        "[1]": None,
    },
    ("json", "map<string,string>"): {
        '{"a":1,"b":"x y","c":null,"d":{"e":[1]}}': '{"a":"1","b":"x y","c":null,"d":"{\\"e\\":[1]}"}',
        "{}": "{}",
        '{"a":1': None,
        "[]": None,
        "": None,
    },
    ("json", "map<string,decimal(5,2)>"): {'{"a":"1.50"}': '{"a":1.50}', '{"a":"1.505"}': None},
    ("json", "struct<a:int,b:struct<at:date,l:array<boolean>>>"): {
        '{"a":1,"b":{"at":19782,"l":[true,"0"]},"z":0}': '{"a":1,"b":{"at":"2024-02-29","l":[true,false]}}',
        '{"b":null}': '{"a":null,"b":null}',
        '{"a":"x"}': None,
        '{"b":{"l":1}}': None,
        "[1]": None,
        '{"a":1,,}': None,
    },
    ("days", "date"): {
        "-719528": None,
        "7306": "1990-01-02",
        "2147483647": None,
        "x": None,
        "": None,
    },
    ("days", "timestamp_ntz"): {"-719162": "0001-01-01 00:00:00", "2932896": "9999-12-31 00:00:00"},
    ("days", "string"): {
        "19782": "2024-02-29",
        "2932897": "+10000-01-01",
        "-735160": "-0043-03-15",
        "-622191234": "infinity",
        "-2147472692": "infinity",
        "-625821272": "-infinity",
        "-2147472691": "-infinity",
        "2147483648": "2147483648",
        "x": None,
    },
    ("days", "int"): {"19782": "19782"},
    ("seconds", "timestamp"): {"-1": "1969-12-31 23:59:59", "253402300800": None},
    ("millis", "timestamp_ntz"): {
        "1709210096123": "2024-02-29 12:34:56.123000",
        "-1": "1969-12-31 23:59:59.999000",
        "-62135596800000": "0001-01-01 00:00:00",
        "-62135596800001": None,
        "253402300799999": "9999-12-31 23:59:59.999000",
        "253402300800000": None,
        "9223372036854775807": None,
        "1.5": None,
        "infinity": None,
        "": None,
    },
    ("millis", "date"): {"1709164800000": "2024-02-29", "-86400000": "1969-12-31", "1": None},
    ("millis", "string"): {
        "1709210096123": "2024-02-29T12:34:56.123",
        "-62135596800000": "0001-01-01T00:00:00",
        "253402300800000": "+10000-01-01T00:00:00",
        "9223372036825200": "infinity",
        "-9223372036832400": "-infinity",
        "9223372036854775807": "9223372036854775807",
        "1.5": None,
    },
    ("seconds", "string"): {
        "253402300800": "+10000-01-01T00:00:00",
        "9223372036854775807": "9223372036854775807",
    },
    ("micros", "string"): {
        "1709210096123456": "2024-02-29T12:34:56.123456",
        "9223372036825200000": "infinity",
        "-9223372036832400000": "-infinity",
        "-63517824000000000": "-0043-03-15T00:00:00",
        "9223372036854775806": "+294247-01-10T04:00:54.775806",
        "9223372036854775807": "9223372036854775807",
    },
    ("array:micros", "array<string>"): {'["9223372036825200000"]': '["infinity"]'},
    ("micros", "timestamp"): {
        "1709210096123456": "2024-02-29 12:34:56.123456",
        "-62135596800000000": "0001-01-01 00:00:00",
        "-62135596800000001": None,
        "253402300799999999": "9999-12-31 23:59:59.999999",
        "253402300800000000": None,
        "9223372036825200000": None,
        "-9223372036832400000": None,
    },
    ("micros", "bigint"): {"9223372036825200000": "9223372036825200000"},
    ("micros", "double"): {"1": None},
    ("nanos", "timestamp_ntz"): {
        "1709210096123456789": "2024-02-29 12:34:56.123456",
        "-1": "1969-12-31 23:59:59.999999",
        "-1000": "1969-12-31 23:59:59.999999",
        "-1001": "1969-12-31 23:59:59.999998",
        "9223372036854775807": "2262-04-11 23:47:16.854775",
        "-9223372036854775808": "1677-09-21 00:12:43.145224",
    },
    ("time_micros", "string"): {
        "45296789123": "12:34:56.789123",
        "86400000000": "24:00:00",
        "-3020399000000": "-838:59:59",
        "-3020399000001": "-838:59:59.000001",
        "0": "00:00:00",
        "-1": "-00:00:00.000001",
        "500000": "00:00:00.500000",
        "9223372036854775807": None,
        "-9223372036854775808": None,
        "24:00": None,
        "": None,
    },
    ("time_millis", "string"): {"45296789": "12:34:56.789000", "3600000": "01:00:00"},
    ("time_nanos", "string"): {"45296789123456": "12:34:56.789123", "999": "00:00:00"},
    ("time_micros", "bigint"): {"-3020399000000": "-3020399000000"},
    ("time_micros", "timestamp"): {"1": None},
    ("iso", "string"): {"10:34:56Z": "10:34:56Z"},
    ("iso", "date"): {"0001-01-01Z": "0001-01-01", "19782": None},
    ("iso", "timestamp"): {"1000-01-01T00:00:00Z": "1000-01-01 00:00:00", "1709210096123456": None},
    ("base64", "binary"): {
        "FQ==": "15",
        "FQ": "15",
        "-_8=": "FBFF",
        "+/8=": "FBFF",
        "": "",
        "F": None,
        "FQ=": None,
        "F?==": None,
    },
    ("base64", "string"): {"FQ==": "FQ=="},
    ("hex", "binary"): {"00ff": "00FF", "": "", "0": None, "0g": None, "\\x00": "00", "x00": None},
    ("hex", "string"): {"00ff": "00ff"},
    ("hex", "int"): {"00": None},
    ("decimal_bytes:0", "decimal(20,0)"): {
        "AP//////////": "18446744073709551615",
        "AA==": "0",
        "/w==": "-1",
        "gA==": "-128",
        "f/////////8=": "9223372036854775807",
        "gAAAAAAAAAA=": "-9223372036854775808",
        "AQAAAAAAAAAA": "18446744073709551616",
        "//8=": "-1",
        "": None,
        "A": None,
        "18446744073709551615": None,
    },
    ("decimal_bytes:0", "decimal(38,0)"): {
        "SztMqFqGxHoJiiI//////w==": NINES,
        "tMSzV6V5O4X2dd3AAAAAAQ==": "-" + NINES,
        "SztMqFqGxHoJiiJAAAAAAA==": None,
        "tMSzV6V5O4X2dd3AAAAAAA==": None,
        "f////////////////////w==": None,
        "gAAAAAAAAAAAAAAAAAAAAA==": None,
        "AH////////////////////8=": None,
    },
    ("decimal_bytes:0", "bigint"): {"f/////////8=": "9223372036854775807", "AP//////////": None},
    ("unsigned", "decimal(20,0)"): {
        "AP//////////": "18446744073709551615",
        "18446744073709551615": "18446744073709551615",
        "AA==": "0",
        "0": "0",
        "1234": "1234",
        "12345678": "12345678",
        "-1": "18446744073709551615",
        "-9223372036854775808": "9223372036854775808",
        "-9223372036854775809": None,
        "-0": None,
        "-01": None,
        "/w==": None,
        "1.5": None,
        "-1.5": None,
        "": None,
    },
    ("unsigned", "string"): {"AP8=": "255", "255": "255", "-1": "18446744073709551615"},
    ("unsigned", "bigint"): {"-1": None, "9223372036854775807": "9223372036854775807"},
    ("unsigned", "decimal(10,0)"): {"-1": None, "7": "7"},
    ("unsigned", "double"): {"-1": "1.8446744073709552E19"},
    ("decimal_bytes:3", "decimal(12,3)"): {"BGU=": "1.125", "/w==": "-0.001", "AA==": "0.000"},
    ("decimal_bytes:3", "decimal(12,2)"): {"BGU=": None, "BOI=": "1.25"},
    ("decimal_bytes:3", "string"): {"BGU=": "1.125", "/w==": "-0.001", "AA==": "0.000", "!": None},
    ("decimal_bytes:3", "double"): {"BGU=": "1.125"},
    ("decimal_bytes:2", "int"): {"BLA=": "12", "BGU=": None},
    ("decimal_bytes:-2", "string"): {"BQ==": "500", "AA==": "0", "+w==": "-500"},
    ("decimal_bytes:2", "boolean"): {"AQ==": None},
    ("decimal_struct", "string"): {
        '{"scale":3,"value":"BGU="}': "1.125",
        '{"scale":0,"value":"BGU="}': "1125",
        '{"scale":5,"value":"/w=="}': "-0.00001",
        '{"scale":-1,"value":"BQ=="}': "50",
        '{"value":"BQ=="}': None,
        '{"scale":1}': None,
        "1.5": None,
        "": None,
    },
    ("decimal_struct", "decimal(10,3)"): {
        '{"scale":3,"value":"BGU="}': "1.125",
        '{"scale":4,"value":"BGU="}': None,
        '{"scale":4,"value":"BOI="}': "0.125",
    },
    ("array:iso", "array<timestamp_ntz>"): {
        '["2024-01-01T00:00:00+01:00"]': '["2023-12-31 23:00:00"]'
    },
    ("array:days", "array<date>"): {"[19782,null]": '["2024-02-29",null]', "[2147483647]": None},
    ("array:micros", "array<timestamp>"): {"[1709210096123456]": '["2024-02-29 12:34:56.123456"]'},
    ("array:decimal_bytes:3", "array<decimal(12,3)>"): {
        '["BGU=","/w==",null]': "[1.125,-0.001,null]",
        '["BGU=","?"]': None,
    },
    ("array:array:hex", "array<array<string>>"): {'[["00"],null]': '[["00"],null]', "[1": None},
    ("array:days", "string"): {"[1]": "[1]"},
}

UNAVAILABLE = {
    WORD: True,
    "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==": True,
    "5f5f646562657a69756d5f756e617661696c61626c655f76616c7565": True,
    '["__debezium_unavailable_value"]': True,
    "[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]": True,
    "[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]": True,
    '{"__debezium_unavailable_value":"__debezium_unavailable_value"}': True,
    "x__debezium_unavailable_value": False,
    "": False,
    None: False,
}


# Rows of the capture of which the database was asked for the times only: what was inserted
TYPES: list[dict[str, Any]] = [
    {
        "id": 1,
        "i": 37091106789000,
        "t": "12:34:56.789123",
        "tz": "10:34:56Z",
        "d": "2024-02-29",
        "n": "123456789012345678901234567890.123456789",
        "m": "12.34",
        "h": "\\x15",
        "ip": "10.0.0.1/8",
        "r": "[1,5)",
        "x": "<a/>",
        "dp": 1e308,
        "bi": 9223372036854775807,
        "si": 7,
        "c": "ab   ",
        "ta": ["1704067200000000"],
        "en": "e",
    },
    {
        "id": 2,
        "t": "24:00:00",
        "tz": "12:00:00Z",
        "d": "0001-01-01",
        "n": "NAN",
        "r": "empty",
        "dp": float("-inf"),
        "si": 7,
        "c": "     ",
        "en": "",
        **dict.fromkeys(["i", "m", "h", "ip", "x", "bi", "ta"]),
    },
]


@pytest.fixture(scope="module")
def spark(make_project: Callable[[str], Any]) -> Iterator[SparkSession]:
    session: SparkSession = make_project("decode").session
    names = ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")
    before = {name: session.conf.get(name) for name in names}
    yield session
    for name, value in before.items():
        session.conf.set(name, value)


def micros(wall_time: str) -> int:
    since = datetime.datetime.fromisoformat(wall_time) - datetime.datetime(1970, 1, 1)
    return since // datetime.timedelta(microseconds=1)


def text_expr(value: str, data_type: str) -> str:
    """SQL for the text that a decoded value is compared by, in no session's time zone."""
    base = data_type.split("<")[0].split("(")[0]
    if base == "timestamp":
        return f"string(unix_micros({value}))"
    if base == "binary":
        return f"hex({value})"
    if base == "array" and "timestamp" in data_type:
        return f"to_json(transform({value}, x -> {text_expr('x', data_type[6:-1])}))"
    if base in ("array", "map", "struct"):
        return f"to_json({value}, map('ignoreNullFields', 'false'))"
    return f"string({value})"


def expected_text(expected: str | None, data_type: str) -> str | None:
    if expected is None:
        return None
    if data_type == "timestamp":
        return str(micros(expected))
    if data_type == "array<timestamp>":
        items = (None if item is None else str(micros(item)) for item in json.loads(expected))
        return json.dumps(list(items), separators=(",", ":"))
    if data_type == "timestamp_ntz" and "." in expected:
        return expected.rstrip("0")
    return expected


def decode_all(
    spark: SparkSession, asked: list[tuple[str, str, str | None]], column: str = "text"
) -> list[str | None]:
    """The texts of decoded (encoding, type, text)s, by one query for each type."""
    macros = load_sql_macros()
    found: dict[int, str | None] = {}
    for data_type in {data_type for _, data_type, _ in asked}:
        numbered = [(i, a[0], a[2]) for i, a in enumerate(asked) if a[1] == data_type]
        # An RDD: rows that are part of the plan would be folded, without running the generated code.
        rows = spark.sparkContext.parallelize(numbered, 1)
        rows.toDF("i int, encoding string, text string").createOrReplaceTempView("asked")
        branches = []
        for encoding in sorted({row[1] for row in numbered}):
            value = macros["decode_expr"](column, encoding, data_type)
            branches.append(f"when '{encoding}' then {text_expr(value, data_type)}")
        query = f"select i, case encoding {' '.join(branches)} end from asked"
        found.update({row[0]: row[1] for row in spark.sql(query).collect()})
    return [found[i] for i in range(len(asked))]


@pytest.mark.parametrize(
    ("ansi", "time_zone"),
    [
        pytest.param("false", "UTC", id="plain", marks=pytest.mark.slow),
        pytest.param("true", "America/New_York", id="ansi"),
    ],
)
def test_decode_expr__cases(spark: SparkSession, ansi: str, time_zone: str) -> None:
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    spark.conf.set("spark.sql.session.timeZone", time_zone)
    asked: list[tuple[str, str, str | None]] = []
    expected = []
    for (encoding, data_type), values in CASES.items():
        for text, value in [*values.items(), (None, None)]:
            asked.append((encoding, data_type, text))
            expected.append(expected_text(value, data_type))
    # In ANSI mode also the form that the expression takes for a long text
    long = load_sql_macros()["unavailable_expr"]("text")
    found = decode_all(spark, asked, "text" if ansi == "false" else f"if({long}, null, text)")
    wrong = [
        (*question, "gave", is_, "not", should_be)
        for question, is_, should_be in zip(asked, found, expected, strict=True)
        if is_ != should_be
    ]
    assert wrong == []


def test_decode_expr__type_of_the_value(spark: SparkSession) -> None:
    macros = load_sql_macros()
    for encoding, data_type in CASES:
        value = macros["decode_expr"]("'x'", encoding, data_type)
        found = spark.sql(f"select {value} as v").schema["v"].dataType.simpleString()
        assert found == {"varchar(9)": "string", "decimal": "decimal(10,0)"}.get(
            data_type, data_type
        )


def test_unavailable_expr(spark: SparkSession) -> None:
    unavailable = load_sql_macros()["unavailable_expr"]
    rows = spark.sparkContext.parallelize([(text,) for text in UNAVAILABLE], 1).toDF("text string")
    rows.createOrReplaceTempView("texts")
    same = unavailable("text", "hex:" + WORD.encode().hex())
    found = spark.sql(f"select text, {unavailable('text')}, {same} from texts").collect()
    assert {row[0]: row[1] for row in found} == UNAVAILABLE
    assert {row[0]: row[2] for row in found} == UNAVAILABLE


def test_unavailable_expr__another_placeholder(spark: SparkSession) -> None:
    unavailable = load_sql_macros()["unavailable_expr"]
    for word in ('it\'s "n\\a"', "é", "ab", "abc"):
        forms = [
            word,
            base64.b64encode(word.encode()).decode(),
            word.encode().hex(),
            json.dumps([word], ensure_ascii=False),
            json.dumps([b - 256 if b > 127 else b for b in word.encode()]),
            json.dumps({word: word}, ensure_ascii=False),
        ]
        rows = spark.sparkContext.parallelize([(form,) for form in forms], 1).toDF("text string")
        found = rows.selectExpr("text", unavailable("text", word)).collect()
        assert [row[0] for row in found if not row[1]] == []


def captured_values(db: str) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """(table, columns by name, row as text) of each row that the captured events leave behind."""
    connect_columns = load_sql_macros()["connect_columns"]
    rows: dict[tuple[str, str], tuple[str, dict[str, Any], dict[str, Any]]] = {}
    for line in captures.read(f"{db}_inline_schema.jsonl").splitlines():
        # Digits as they are, as from_json() is to keep them
        event = json.loads(line, parse_float=Number, parse_int=Number)
        value = event.get("value")
        if not value or "after" not in (value.get("payload") or {}):
            continue
        payload, key = (
            value["payload"],
            json.dumps((event["key"] or {}).get("payload"), default=str),
        )
        table = payload["source"]["table"]
        if payload["op"] == "t":
            rows = {k: row for k, row in rows.items() if k[0] != table}
        elif payload["after"] is None:
            rows.pop((table, key), None)
        else:
            fields = next(f for f in value["schema"]["fields"] if f["field"] == "after")["fields"]
            columns = {
                c["name"]: c for c in connect_columns(json.loads(json.dumps(fields, default=int)))
            }
            before = rows.get((table, key))
            after = {
                name: before[2][name] if before and item == WORD else as_text(item)
                for name, item in payload["after"].items()
            }
            rows[table, key] = (table, columns, after)
    return list(rows.values())


class Number(str):
    """The digits of a JSON number."""

    def __int__(self) -> int:
        return int(str(self))


def as_text(item: Any) -> str | None:
    if item is None or isinstance(item, str):
        return None if item is None else str(item)
    if isinstance(item, bool):
        return "true" if item else "false"
    return json.dumps(item, separators=(",", ":"))


@pytest.mark.parametrize("db", ["postgres", "mariadb"])
def test_decode_expr__captured_rows(spark: SparkSession, db: str) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    truths = json.loads(captures.read(f"{db}_final_rows.json"))
    truths["types"] = TYPES
    events = captured_values(db)
    asked, wanted = [], []
    for table, columns, row in events:
        truth = next((t for t in truths.get(table, []) if str(t.get("id")) == row.get("id")), None)
        if table == "orders":
            truth = next(
                (
                    t
                    for t in truths[table]
                    if [str(t["cust"]), str(t["ord"])] == [row["cust"], row["ord"]]
                ),
                None,
            )
        if truth is None:
            continue
        for name, text in row.items():
            if name in truth:
                column = columns[name]
                asked.append((column["encoding"], column["type"], text))
                wanted.append((table, name, truth[name]))
    found = decode_all(spark, asked)
    wrong, unreadable = [], []
    for question, (table, name, truth), value in zip(asked, wanted, found, strict=True):
        if value is None and question[2] is not None:
            unreadable.append((name, question[2]))
        elif as_truth(value, question[1], truth, db) != truth:
            wrong.append((table, name, value, truth))
    # MariaDB's YEAR 0 is sent as 1900, which no reader can tell from the year
    assert wrong == ([("customers", "yr", "1900", 0)] if db == "mariadb" else [])
    assert unreadable == ([("created", "infinity")] if db == "postgres" else [])
    assert len(asked) == {"postgres": 108, "mariadb": 70}[db]


def as_truth(value: str | None, data_type: str, truth: Any, db: str) -> Any:
    """The decoded value as the database's own client prints it."""
    if value is None or truth is None:
        return value
    if data_type in ("timestamp", "timestamp_ntz"):
        if data_type == "timestamp":
            moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=int(value))
        else:
            moment = datetime.datetime.fromisoformat(value)
        if db == "postgres":
            return moment.isoformat() + ("+00:00" if data_type == "timestamp" else "")
        return str(moment)
    if data_type == "binary":
        return ("\\x" if db == "postgres" else "") + value.lower()
    if data_type == "boolean":
        return value == "true"
    if isinstance(truth, (list, dict)):
        return json.loads(value)
    if data_type.startswith("decimal") and isinstance(truth, str):
        return truth if decimal.Decimal(value) == decimal.Decimal(truth) else value
    if isinstance(truth, (int, float)):
        return type(truth)(value)
    if truth == "-35 days, 1:00:01":  # timedelta(hours=-838, minutes=-59, seconds=-59)
        return {"-838:59:59": truth}.get(value)
    if truth == "0:00:01":
        return {"00:00:01": truth}.get(value)
    return value
