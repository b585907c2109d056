"""Hostile inputs: names, values and files that somebody would think up to break a load.

Each is loaded right, or refused by one line before anything is written. All of them are loaded by one call of dbt, of
CSV by both engines.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .hostile import DAY, Case, add, check, columns_of

pytestmark = pytest.mark.faults

# names that a source may well have: each a column of one file
NAMES = [
    "a b", "a.b", "a`b", "``", "a;b", "a'b", 'a"b', "a\tb", "a\\b", "a,b", "a|b", "{{ 1/0 }}", "{% raw %}", "{# x #}", "%s", "$x",
    "--", "/* */", "'; drop table x; --", "x" * 300, "e\u0301", "\u00e9", "\u0130", "\u00df", "\u202eabc", "a\u200bb", "\U0001f642", "1",
    "-", ".", "*", "?", "[x]", "a=b", "a/b", "null", "true", "current_date", "order", "value", "key", "rowid", "filename", "before",
    "after", "staged", "extract_rows", "_copy", "_copies", "_existing", "_rejected", "_before_k", "_before_value", "_metadata", "_file",
    "_corrupt_record", "_c0", "_change_type", "_commit_version", "_row_id", "_row", "_name", "__index_level_0__", "(x)",
]  # fmt: skip
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


NUMBERS = ["-2147483648", "2147483647", "2147483648", "nan"]
CSV = [
    Case("names", {f"{DAY}.csv": csv(["k", *NAMES], ["1", *NAMES])}, [("1", *NAMES)],
         shown=columns_of(["k", *NAMES])),
    Case("key_names", {f"{DAY}.csv": csv(["k", *KEYS], *[[str(n), *[v or "-"] * len(KEYS)] for n, v in enumerate(VALUES[:20])])},
         [(str(n), v or "-") for n, v in enumerate(VALUES[:20])], key=["k", *KEYS], shown="k, `a``b`"),
    *(Case(f"name_{case}", {f"{DAY}.csv": csv(["k", name], ["1", "x"])}, says=says) for case, (name, says) in REFUSED.items()),
    Case("values", {f"{DAY}.csv": csv(["k", "v"], *[[str(n), v] for n, v in enumerate(VALUES)])},
         [(str(n), v) for n, v in enumerate(VALUES)], columns=KV),
    Case("numbers", {f"{DAY}.csv": csv(["k", "n"], *[[n, n] for n in NUMBERS])}, [(n, n) for n in NUMBERS[:2]],
         columns={"k": "string", "n": "int"}, shown="k, cast(n as string)", rejects=["cast_failed: n"] * 2),
    Case("no_line", {f"{DAY}.csv": b""}, [], columns=KV),
    Case("only_bom", {f"{DAY}.csv": b"\xef\xbb\xbf"}, says="nothing in it but a byte order mark", columns=KV),
    Case("bom", {f"{DAY}.csv": b"\xef\xbb\xbfk,v\n1,a"}, [("1", "a")], columns=KV),
    Case("utf16", {f"{DAY}.csv": "k,v\n1,a\n".encode("utf-16")}, says="encoding", columns=KV),
    Case("latin_header", {f"{DAY}.csv": "k,gr\u00f6\u00dfe\n1,a\n".encode("latin-1")}, says="encoding", columns={"k": "string"}),
    Case("twice", {f"{DAY}.csv": b"k,v,v\n1,a,b\n"}, says="twice", columns={"k": "string"}),
    Case("twice_in_case", {f"{DAY}.csv": b"k,v,V\n1,a,b\n"}, says="twice", columns={"k": "string"}),
    Case("unnamed", {f"{DAY}.csv": b"k,,v\n1,a,b\n"}, says="column 2 in the header", columns={"k": "string"}),
    Case("bomb", {f"{DAY}.csv.gz": gzip.compress(b"k,v\n1," + b"x" * 20_000_000 + b"\n")}, [("1", 20_000_000)],
         columns=KV, shown="k, length(v)", settings={"location": "{business_date}.csv.gz"}),
]  # fmt: skip


def lines(*rows: Any) -> bytes:
    """JSON lines; a bytes stays what it is."""
    return b"".join(
        row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows
    )


def as_parquet(name: str, table: pa.Table | bytes, rows: Any = None, **other: Any) -> Case:
    sink = pa.BufferOutputStream()
    if isinstance(table, pa.Table):
        pq.write_table(table, sink)
    data = table if isinstance(table, bytes) else sink.getvalue().to_pybytes()
    settings = {"format": "parquet", "location": "{business_date}.parquet"}
    return Case(name, {f"{DAY}.parquet": data}, rows, settings=settings, **other)


def texts(*names: str) -> pa.Table:
    return pa.table({name: pa.array(["1" if name == "k" else name]) for name in names})


PARQUET_NAMES = [name for name in NAMES if name != "_metadata"]
PARQUET = [
    as_parquet("parquet_names", texts("k", *PARQUET_NAMES), [("1", *PARQUET_NAMES)],
               shown=columns_of(["k", *PARQUET_NAMES])),
    as_parquet("parquet_own", texts("k", "_tidemark_x"), says="is reserved"),
    as_parquet("parquet_break", texts("k", "a\nb"), says="has a line break"),
    as_parquet("parquet_variable", texts("k", "${env:HOME}"), says="has `${` in its name"),
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
    *(of_events(f"events_own_{n}", lines(debezium({"k": "1", name: "x"})), says=f"column `{name}` of the events is reserved")
      for n, name in enumerate(OWN[:-2])),
    of_events("events_break", lines(debezium({"k": "1", "a\nb": "x"})), says="has a line break"),
    of_events("events_variable", lines(debezium({"k": "1", "${env:HOME}": "x"})), says="has `${` in its name"),
    *(of_events(f"canonical_own_{n}", lines({"_database": "shop", "_table": "t", "_operation": "INSERT", "k": "1", name: "x"}),
                says=f"column `{name}` of the events is reserved", settings={"format": "canonical"}) for n, name in enumerate(["_kind", "_Content", "_tidemark_x"])),
]  # fmt: skip

BY_SPARK = EVENTS
BY_BOTH = [*CSV, *PARQUET]


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
