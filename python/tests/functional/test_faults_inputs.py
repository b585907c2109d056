"""Hostile inputs: names, values and files that somebody would think up to break a load.

Each is loaded right, or refused by one line before anything is written. All of them are loaded by one call of dbt, of
CSV by both engines.
"""

from __future__ import annotations

import gzip
import json
from math import inf
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import Project

from .hostile import DAY, Case, add, check, columns_of

pytestmark = [pytest.mark.faults, pytest.mark.iceberg]

# names that a source may well have: each a column of one file
NAMES = [
    "a b", "a.b", "a`b", "``", "a;b", "a'b", 'a"b', "a\tb", "a\\b", "a,b", "a|b", "{{ 1/0 }}", "{% raw %}", "{# x #}", "%s", "$x",
    "--", "/* */", "'; drop table x; --", "x" * 300, "e\u0301", "\u00e9", "\u0130", "\u00df", "\u202eabc", "a\u200bb", "\U0001f642", "1",
    "-", ".", "*", "?", "[x]", "a=b", "a/b", "null", "true", "current_date", "order", "value", "key", "rowid", "filename", "before",
    "after", "staged", "extract_rows", "_copy", "_copies", "_existing", "_rejected", "_before_k", "_before_value", "_metadata", "_file",
    "_corrupt_record", "_c0", "_change_type", "_commit_version", "_row_id", "_row", "_name", "__index_level_0__", "(x)",
]  # fmt: skip
# columns that each table of Iceberg has, unseen
HIDDEN = ["_file", "_row_id"] if Project.file_format == "iceberg" else []
NAMES = [name for name in NAMES if name not in HIDDEN]
# dbt takes what looks like Jinja in a YAML for Jinja
KEYS = [name for name in NAMES if "{" not in name and "," not in name]
REFUSED = {
    "reserved_key": ("_key_hash", "is reserved"),
    "reserved_commit": ("_Commit_Id", "is reserved"),
    "own_prefix": ("_tidemark_x", "is reserved"),
    "own_arrived": ("_TideMark_staged_1", "is reserved"),
    "unreadable": ("_unreadable", "is reserved"),
    "malformed": ("_MALFORMED", "is reserved"),
    "line_break": ("a\nb", "column `a\\nb` has a line break"),
    "nul": ("a\0b", "is not UTF-8"),
    "variable": ("${env:TIDEMARK_PEPPER}", "has `${` in its name"),
    **{f"hidden{name}": (name, "is reserved") for name in HIDDEN},
}
KV = {"k": "string", "v": "string"}
LONG = "x" * 65_536
VALUES = [
    "", None, "NULL", "null", "\\N", "NaN", " ", "  padded  ", "a,b", 'a"b', '"', '""', "a\nb", "a\r\nb", "\n", "\t", "\\", "\\\\", "'", "`",
    "{{ 1/0 }}", "{% raw %}", "${env:HOME}", "'; drop table x; --", "\U0001f642", "e\u0301", "\u00e9", "\u202e", "\u2028", "\ufeff",
    "\ufffd", "a\0b", "\x1b[31m", LONG, "%s", "#", "--",
]  # fmt: skip


def quoted(value: str | None) -> str:
    return "" if value is None else '"' + value.replace('"', '""') + '"'


def csv(*lines: list[str | None], end: str = "\n") -> bytes:
    return "".join(",".join(map(quoted, line)) + end for line in lines).encode()


NUMBERS = {
    "ti": ("tinyint", ["-128", "127", "0"], ["128", "-129", "1e2", "0x1", "1_0", "\u0967", "\uff11"]),
    "si": ("smallint", ["-32768", "32767"], ["32768"]),
    "i": ("int", ["-2147483648", "2147483647"], ["2147483648", "nan", ""]),
    "bi": ("bigint", ["-9223372036854775808", "9223372036854775807"], ["9223372036854775808", "99999999999999999999"]),
    "dec": ("decimal(38,0)", ["9" * 38, "-" + "9" * 38], ["9" * 39]),
    "d": ("double", ["1.7976931348623157E308", "-4.9E-324"], ["1.2.3", "abc"]),
    "day": ("date", ["0001-01-01", "9999-12-31"], ["2026-02-30", "2026-13-01", "today"]),
}  # fmt: skip


def numbers() -> list[Case]:
    """Each type's limits come through as they are; beyond them is a reject, never another value."""
    cases = []
    for name, (kind, good, bad) in NUMBERS.items():
        lines: list[list[str | None]] = [["k", "n"]]
        lines += [[f"g{place}", value] for place, value in enumerate(good)]
        lines += [[f"b{place}", value] for place, value in enumerate(bad) if value]
        rows = [(f"g{place}", value) for place, value in enumerate(good)]
        cases.append(
            Case(
                f"number_{name}", {f"{DAY}.csv": csv(*lines)}, rows, columns={"k": "string", "n": kind}, shown="k, cast(n as string)",
                rejects=["cast_failed: n"] * len([value for value in bad if value]), settings={"max_delete_fraction": 1},
            )
        )  # fmt: skip
    return cases


# Spark takes minutes to plan a query of some thousand
WIDE = [f"c{number}" for number in range(300)]
CSV = [
    Case("names", {f"{DAY}.csv": csv(["k", *NAMES], ["1", *NAMES])}, [("1", *NAMES)],
         shown=columns_of(["k", *NAMES])),
    Case("key_names", {f"{DAY}.csv": csv(["k", *KEYS], *[[str(n), *[v or "-"] * len(KEYS)] for n, v in enumerate(VALUES[:20])])},
         [(str(n), v or "-") for n, v in enumerate(VALUES[:20])], key=["k", *KEYS], shown="k, `a``b`"),
    *(Case(f"name_{case}", {f"{DAY}.csv": csv(["k", name], ["1", "x"])}, says=says) for case, (name, says) in REFUSED.items()),
    Case("values", {f"{DAY}.csv": csv(["k", "v"], *[[str(n), v] for n, v in enumerate(VALUES)])},
         [(str(n), v) for n, v in enumerate(VALUES)], columns=KV),
    Case("value_keys", {f"{DAY}.csv": csv(["k", "v"], *[[v, str(n)] for n, v in enumerate(VALUES) if v is not None])},
         [(v, str(n)) for n, v in enumerate(VALUES) if v is not None], columns=KV),
    *numbers(),
    Case("wide", {f"{DAY}.csv": csv(["k", *WIDE], ["1", *WIDE])}, [("1", "c0", "c299")], shown="k, c0, c299"),
    Case("no_line", {f"{DAY}.csv": b""}, [], columns=KV),
    Case("only_bom", {f"{DAY}.csv": b"\xef\xbb\xbf"}, says="has only a byte order mark", columns=KV),
    Case("only_header", {f"{DAY}.csv": b"k,v"}, [], columns=KV),
    Case("only_breaks", {f"{DAY}.csv": b"\n\n\n"}, [], columns=KV),
    Case("bom", {f"{DAY}.csv": b"\xef\xbb\xbfk,v\n1,a"}, [("1", "a")], columns=KV),
    Case("utf16", {f"{DAY}.csv": "k,v\n1,a\n".encode("utf-16")}, says="options: {encoding: UTF-16}", columns=KV),
    Case("latin_header", {f"{DAY}.csv": "k,gr\u00f6\u00dfe\n1,a\n".encode("latin-1")}, says="encoding", columns={"k": "string"}),
    Case("latin_key", {f"{DAY}.csv": "k,v\n1\u00fc,a\n2,b\n".encode("latin-1")}, [("2", "b")], rejects=["unreadable"],
         columns=KV),
    Case("twice", {f"{DAY}.csv": b"k,v,v\n1,a,b\n"}, says="twice", columns={"k": "string"}),
    Case("twice_in_case", {f"{DAY}.csv": b"k,v,V\n1,a,b\n"}, says="twice", columns={"k": "string"}),
    Case("unnamed", {f"{DAY}.csv": b"k,,v\n1,a,b\n"}, says="column 2 in the header", columns={"k": "string"}),
    Case("ragged", {f"{DAY}.csv": b"k,v\n1\n2,a,b\n3,c\n,d\n"}, [("3", "c")], rejects=["null_key: k", "unreadable", "unreadable"],
         columns=KV),
    Case("cr_only", {f"{DAY}.csv": b"k,v\r1,a\r2,b\r"}, [("1", "a"), ("2", "b")], columns=KV),
    Case("lf_then_crlf", {f"{DAY}.csv": b'k,v\n1,a\r\n2,"b"\r\n3,"c\r\nd"\r\n4,\r\n5,""\r\n6,e\n\r\n7\r\n'},
         [("1", "a"), ("2", "b"), ("3", "c\r\nd"), ("4", None), ("5", ""), ("6", "e")], rejects=["unreadable"], columns=KV),
    Case("crlf_then_lf", {f"{DAY}.csv": b'\xef\xbb\xbfk,v\r\n1,a\n2,"b"\n3,"c\r\nd"\r\n4,\n5,""\n6,e\r\n\r\n'},
         [("1", "a"), ("2", "b"), ("3", "c\nd"), ("4", None), ("5", ""), ("6", "e")], columns=KV),
    Case("crlf_then_lf_one_column", {f"{DAY}.csv": b"k\r\n1\n2\r\n\r\n3\n"}, [("1",), ("2",), ("3",)], columns={"k": "string"}),
    Case("ends_by_file", {f"{DAY}/1.csv": b"k,v\n1,a\n", f"{DAY}/2.csv": b"k,v\r\n2,b\r\n"}, [("1", "a"), ("2", "b")],
         columns=KV, settings={"location": "{business_date}"}),
    Case("headers_by_file", {f"{DAY}/1.csv": b"k,v\n1,a\n", f"{DAY}/2.csv": b"v,k\r\nb,2\r\n"}, says="different headers",
         columns=KV, settings={"location": "{business_date}"}),
    Case("mixed_ends_latin", {f"{DAY}.csv": "k,v\n1,\u00fc\r\n2,b\n".encode("latin-1")}, [("1", "\u00fc"), ("2", "b")],
         columns=KV, settings={"options": {"encoding": "latin1"}}),
    Case("excel_sep", {f"{DAY}.csv": b"sep=;\r\nk;v\r\n1;a\r\n"}, says="begins with the line sep=", columns=KV,
         settings={"options": {"sep": ";"}}),
    Case("excel_sep_comma", {f"{DAY}.csv": b"sep=;\r\nk;v\r\n1;a\r\n"}, says="begins with the line sep=", columns=KV),
    Case("workbook", {f"{DAY}.csv": b"PK\x03\x04" + bytes(range(256)) * 40}, says="is a zip archive or an Excel workbook", columns=KV),
    Case("binary", {f"{DAY}.csv": bytes(range(256)) * 40}, says="is one column", columns=KV),
    Case("long_line", {f"{DAY}.csv": csv(["k", "v"], ["1", "x" * 5_000_000], ["2", "y"])}, [("1", 5_000_000), ("2", 1)],
         columns=KV, shown="k, length(v)"),
    Case("bomb", {f"{DAY}.csv.gz": gzip.compress(b"k,v\n1," + b"x" * 20_000_000 + b"\n")}, [("1", 20_000_000)],
         columns=KV, shown="k, length(v)", settings={"location": "{business_date}.csv.gz"}),
    Case("members", {f"{DAY}.csv.gz": gzip.compress(b"k,v\n1,a\n") + gzip.compress(b"2,b\n")}, [("1", "a"), ("2", "b")],
         columns=KV, settings={"location": "{business_date}.csv.gz"}),
]  # fmt: skip


def lines(*rows: Any) -> bytes:
    """JSON lines; a bytes stays what it is."""
    return b"".join(
        row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows
    )


def nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


def with_nested(depth: int, row: dict[str, Any]) -> bytes:
    """A line whose "@" is a value of that many levels."""
    return json.dumps(row).replace('"@"', nested(depth)).encode() + b"\n"


def as_json(name: str, data: bytes, rows: Any = None, **other: Any) -> Case:
    given = {"format": "json", "location": "{business_date}.jsonl", **other.pop("settings", {})}
    return Case(name, {f"{DAY}.jsonl": data}, rows, **{"columns": KV, "settings": given, **other})


JSON_NAMES = [name for name in NAMES if "{" not in name]
DIGITS = "12345678901234567.89"
JSON = [
    as_json("json_digits", f'{{"k":"1","n":{DIGITS}}}\n{{"k":"2","n":"{DIGITS}"}}\n{{"k":"3","n":1.50}}\n{{"k":"4","n":null}}\n{{"k":"5"}}\n'
            f'{{"k":"6","n":{{"a":1}}}}\n{{"k":"7","n":-0.5}}\n'.encode(),
            [("1", DIGITS), ("2", DIGITS), ("3", "1.50"), ("4", None), ("5", None), ("7", "-0.50")], rejects=["cast_failed: n"],
            columns={"k": "string", "n": "decimal(20,2)"}, shown="k, cast(n as string)"),
    as_json("json_digits_not_utf8", f'{{"k":"1","n":{DIGITS}}}\n{{"k":"2","n":1,"v":"'.encode() + b'\xfc"}\n', [("1", DIGITS, None)], rejects=["unreadable"],
            columns={"k": "string", "n": "decimal(20,2)", "v": "string"}, shown="k, cast(n as string), v"),
    as_json("json_digits_in_texts", f'{{"k": "1", "v": {DIGITS}}}\n{{"v":1.50, "k":"2"}}\n{{"k":"3","v":1e3}}\n{{"k":"4","v" : -12345678.90 }}\n'
            '{"k":"5","v":"1.50"}\n{"k":"6","v":0.00001}\n{"k":"7","w":{"v":2.5},"v":3.50}\n{"k":"8","w":"\\"v\\":1.50","v":"1.5"}\n'
            '{"k":"9","w":{"v":1.50},"v":"1.5"}\n{"k":"a","w":["}",[{"v":1.50,"x":"]\\"{"}]],"v":1.5}\n{"k":"b","\\"v":1.50,"v":"1.5","w":{}}\n{"k":"c","v":-1e400}\n'.encode(),
            [("1", DIGITS), ("2", "1.50"), ("3", "1e3"), ("4", "-12345678.90"), ("5", "1.50"), ("6", "0.00001"), ("7", "3.50"), ("8", "1.5"),
             ("9", "1.5"), ("a", "1.5"), ("b", "1.5"), ("c", "-1e400")]),
    as_json("json_names", lines({"k": "1", **{name: name for name in JSON_NAMES}}), [("1", *JSON_NAMES)],
            columns=dict.fromkeys(["k", *JSON_NAMES], "string")),
    as_json("json_values", lines(*({"k": str(n), "v": v} for n, v in enumerate(VALUES))), [(str(n), v) for n, v in enumerate(VALUES)]),
    as_json("json_deep", with_nested(100, {"k": "1", "v": "@"}), [("1", nested(100))]),
    as_json("json_too_deep", with_nested(5000, {"k": "1", "v": "@"}) + lines({"k": "2", "v": "x"}), [("2", "x")], rejects=["unreadable"]),
    as_json("json_broken", b'{"k": "1", "v"\n{"k": "2"}\n[1]\nnull\n"x"\n{"k": "3", "v": "a"} more\n{}\n', [("2", None)],
            rejects=["null_key: k", "unreadable", "unreadable", "unreadable", "unreadable", "unreadable"]),
    as_json("json_joined", b'{"k": "1", "v": "a"}{"k": "2"}\n{"k": "3", "v": "b"}\n', [("3", "b")], rejects=["unreadable"]),
    as_json("json_bom", b"\xef\xbb\xbf" + lines({"k": "1", "v": "a"}), [("1", "a")]),
    as_json("json_twice", b'{"k": "1", "v": "a", "v": "b"}\n', [("1", "b")]),
    as_json("json_surrogate", b'{"k": "1", "v": "\\ud800"}\n{"k": "2", "v": "b"}\n', [("1", "?"), ("2", "b")]),
    as_json("json_invalid", b'{"k": "1", "v": "\xff"}\n{"k": "2", "v": "b"}\n', [("2", "b")], rejects=["unreadable"]),
    as_json("json_numbers", b'{"k": "1", "v": 1e400}\n{"k": "2", "v": 9223372036854775808}\n{"k": "3", "v": NaN}\n', [("2", "9223372036854775808")],
            columns={"k": "string", "v": "decimal(20,0)"}, shown="k, cast(v as string)", rejects=["cast_failed: v", "cast_failed: v"]),
    as_json("json_infinite", b'{"k": "1", "v": 1e400}\n{"k": "2", "v": 1e300}\n', [("2", 1e300)], columns={"k": "string", "v": "double"},
            rejects=["cast_failed: v"]),
    as_json("json_empty", b"", []),
]  # fmt: skip


def as_parquet(name: str, table: pa.Table | bytes, rows: Any = None, **other: Any) -> Case:
    sink = pa.BufferOutputStream()
    if isinstance(table, pa.Table):
        pq.write_table(table, sink)
    data = table if isinstance(table, bytes) else sink.getvalue().to_pybytes()
    settings = {"format": "parquet", "location": "{business_date}.parquet"}
    return Case(name, {f"{DAY}.parquet": data}, rows, settings=settings, **other)


def texts(*names: str) -> pa.Table:
    return pa.table({name: pa.array(["1" if name == "k" else name]) for name in names})


WHOLE = as_parquet("", texts("k", "v")).files[f"{DAY}.parquet"]
PARQUET_NAMES = [name for name in NAMES if name != "_metadata"]
PARQUET = [
    as_parquet("parquet_names", texts("k", *PARQUET_NAMES), [("1", *PARQUET_NAMES)],
               shown=columns_of(["k", *PARQUET_NAMES])),
    as_parquet("parquet_own", texts("k", "_tidemark_x"), says="is reserved"),
    as_parquet("parquet_break", texts("k", "a\nb"), says="has a line break"),
    as_parquet("parquet_variable", texts("k", "${env:HOME}"), says="has `${` in its name"),
    as_parquet("parquet_wide", texts("k", *WIDE), [("1", "c0", "c299")], shown="k, c0, c299"),
    as_parquet("parquet_no_rows", texts("k", "v").slice(0, 0), [], columns=KV),
    as_parquet("parquet_no_bytes", b"", says="is empty, so it is not a Parquet file", columns=KV),
    as_parquet("parquet_cut", WHOLE[:-20], says="cannot be read", columns=KV),
    as_parquet("parquet_not", b"k,v\n1,a\n" * 20, says="cannot be read", columns=KV),
]  # fmt: skip


def debezium(
    row: dict[str, Any] | None,
    before: dict[str, Any] | None = None,
    op: str = "c",
    table: str = "t",
    **more: Any,
) -> dict[str, Any]:
    source = {"connector": "mysql", "db": "shop", "table": table, "ts_ms": 1}
    return {"before": before, "after": row, "op": op, "source": source, "ts_ms": 1, **more}


def of_events(name: str, data: bytes, rows: Any = None, **other: Any) -> Case:
    given = {
        "extract": "events",
        "format": "debezium",
        "table": "shop.t",
        **other.pop("settings", {}),
    }
    return Case(name, {"000001.jsonl": data}, rows, **{"columns": {}, "settings": given, **other})


EVENT_NAMES = [
    name
    for name in JSON_NAMES
    if name.lower() not in ("_copy", "_row_id") and not name.startswith("_before")
]
OWN = [
    "_kind",
    "_identity",
    "_Content",
    "_total_order",
    "_before_k",
    "_before_row_hash",
    "_copy",
    "_tidemark_x",
    "a\nb",
    "${env:HOME}",
]
EVENTS = [
    of_events("events_names", lines(debezium({"k": "1", **{name: name for name in EVENT_NAMES}})), [("1", *EVENT_NAMES)],
              shown=columns_of(["k", *EVENT_NAMES])),
    *(of_events(f"events_own_{n}", lines(debezium({"k": "1", name: "x"})), says=f"column `{name}` of the events is reserved")
      for n, name in enumerate(OWN[:-2])),
    of_events("events_break", lines(debezium({"k": "1", "a\nb": "x"})), says="has a line break"),
    of_events("events_variable", lines(debezium({"k": "1", "${env:HOME}": "x"})), says="has `${` in its name"),
    of_events("events_values", lines(*(debezium({"k": str(n), "v": v}) for n, v in enumerate(VALUES))),
              [(str(n), v) for n, v in enumerate(VALUES)], shown="k, v"),
    of_events("events_keys", lines(*(debezium({"k": v, "v": str(n)}) for n, v in enumerate(VALUES) if v is not None)),
              [(v, str(n)) for n, v in enumerate(VALUES) if v is not None], shown="k, v"),
    of_events("events_wide", lines(debezium({"k": "1", **{name: name for name in WIDE}})), [("1", "c0", "c299")], shown="k, c0, c299"),
    of_events("events_deep", with_nested(100, debezium({"k": "1", "v": "@"})), [("1", nested(100))], shown="k, v"),
    of_events("events_broken", b'{"op": "c", "after"\n\n' + lines(debezium({"k": "1", "v": "a"}), [1], 7, debezium({"k": "2", "v": "b"}, op="?")),
              [("1", "a")], shown="k, v", rejects=["unknown_operation: ?", *["unreadable"] * 3]),
    of_events("events_joined", lines(debezium({"k": "1", "v": "a"}))[:-1] + lines(debezium({"k": "2", "v": "b"}), debezium({"k": "3", "v": "c"})),
              [("3", "c")], shown="k, v", rejects=["unreadable"]),
    of_events("events_bom", b"\xef\xbb\xbf" + lines(debezium({"k": "1", "v": "a"})), [("1", "a")], shown="k, v"),
    of_events("events_invalid", lines(debezium({"k": "1", "v": "a"})) + lines(debezium({"k": "2", "v": "@"})).replace(b"@", b"\xff"),
              [("1", "a")], shown="k, v", rejects=["unreadable"]),
    of_events("events_table", lines(debezium({"k": "1"}, table="a`b'{{ 1/0 }}\u2028${env:HOME}")), [("1",)], shown="k",
              settings={"table": None}),
    *(of_events(f"canonical_own_{n}", lines({"_database": "shop", "_table": "t", "_operation": "INSERT", "k": "1", name: "x"}),
                says=f"column `{name}` of the events is reserved", settings={"format": "canonical"}) for n, name in enumerate(["_kind", "_Content", "_tidemark_x"])),
    of_events("canonical_names", lines({"_database": "shop", "_table": "t", "_operation": "INSERT", "k": "1", **{name: name for name in EVENT_NAMES}}),
              [("1", *EVENT_NAMES)], shown=columns_of(["k", *EVENT_NAMES]), settings={"format": "canonical"}),
    of_events("canonical_infinite", b"".join(
                  f'{{"_database":"shop","_table":"t","_operation":"INSERT","k":"{n}","v":{v}}}\n'.encode() for n, v in enumerate(["1e400", '"Infinity"', "2", '{"a":[-1e400]}'])),
              [("1", inf), ("2", 2.0)], columns={"k": "string", "v": "double"}, settings={"format": "canonical"}, rejects=["unreadable", "unreadable"]),
    of_events("keyless_names", lines(debezium({name: name for name in EVENT_NAMES})), [tuple(EVENT_NAMES)], key=None,
              shown=columns_of(EVENT_NAMES)),
]  # fmt: skip

BY_SPARK = EVENTS
BY_BOTH = [*CSV, *JSON, *PARQUET]


@pytest.fixture(scope="module")
def loaded(request: pytest.FixtureRequest, module_project: Any) -> dict[str, Any]:
    """The cases that were asked for, loaded by one call: entities by name, and the result."""
    entities = {}
    for item in request.session.items:
        call = getattr(item, "callspec", None)
        if item.module is request.module and call is not None:
            entity = add(module_project, call.params["case"], call.params.get("engine"))
            entities[entity.name] = entity
    result = module_project.dbt("run", vars={"business_date": DAY}, expect_pass=None)
    assert len(result.statuses) == len(entities), result.error
    return {**entities, "result": result}


def name_of(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("engine", ["spark", "workers"])
@pytest.mark.parametrize("case", BY_BOTH, ids=name_of)
def test_by_both_engines(loaded: dict[str, Any], case: Case, engine: str) -> None:
    check(case, loaded[f"{case.name}_{engine}"], loaded["result"])


@pytest.mark.parametrize("case", BY_SPARK, ids=name_of)
def test_by_spark(loaded: dict[str, Any], case: Case) -> None:
    check(case, loaded[case.name], loaded["result"])
