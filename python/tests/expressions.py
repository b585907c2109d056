"""Every macro that makes an expression, with the values that it is tried on: `test_three_ways.py` has Spark work them out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.functional.test_decode import CASES as DECODED
from tests.nasty import literal, nasty_rows
from tests.render.test_golden import ERASED

#: Macros whose name ends in `_expr` and whose text is no value that Spark works out, or none by itself
NO_VALUES = {
    "column_definitions_expr": "columns of a CREATE TABLE",
    "properties_expr": "properties of a CREATE TABLE",
    "options_expr": "options of a reader",
    "file_relation_expr": "a relation",
    "_lines_relation_expr": "a relation",
    "_is_key_image_expr": "within debezium_events_sql() for PostgreSQL: test_debezium_messages.py",
    "_filled_field_expr": "within replayed_keys_sql() for structs: test_event_streams.py",
}

TYPES = [
    *("string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double"),
    *("decimal(10,0)", "decimal(10,2)", "decimal(38,0)", "decimal(38,10)", "decimal(38,38)"),
    *("date", "timestamp", "timestamp_ntz", "binary"),
    *("array<string>", "array<double>", "array<array<timestamp>>", "map<string,decimal(20,7)>"),
    *("map<int,string>", "struct<a:string,`b c`:int>", "array<struct<a:float,b:map<string,date>>>"),
]


TEXTS = nasty_rows({"v": "string"})


def _texts_of(values: list[str]) -> str:
    return nasty_rows({"v": "string"}, 0, {"v": values})


@dataclass(frozen=True)
class Tried:
    """Expressions over a relation.

    Attributes:
        macro: What makes them.
        rows: The query with the values, which the expressions may call `t`.
        expressions: SQL by what it is called.
    """

    macro: str
    rows: str
    expressions: dict[str, str] = field(repr=False)


def columns_of(types: list[str]) -> list[dict[str, Any]]:
    return [
        {"name": f"c {place}", "type": kind, "sensitive": False} for place, kind in enumerate(types)
    ]


def _hashes(macros: dict[str, Any]) -> Iterator[Tried]:
    columns = columns_of(TYPES)
    schema = ",".join(f"`{column['name']}`:{column['type']}" for column in columns)
    rows = nasty_rows({"l": f"struct<{schema}>", "r": f"struct<{schema}>"}, 60)
    flat = f"select l.* from ({rows})"
    yield Tried(
        "canonical_text_expr",
        flat,
        {c["type"]: macros["canonical_text_expr"](f"`{c['name']}`", c["type"]) for c in columns},
    )
    yield Tried("row_text_expr", flat, {"": macros["row_text_expr"](columns)})
    secret = [{**column, "sensitive": True} for column in columns[:4]]
    compared = [{**columns[0], "compare_as": "lower(trim(`c 0`))"}, *columns[1:3]]
    yield Tried(
        "row_hash_expr",
        flat,
        {
            "md5": macros["row_hash_expr"](columns, "md5"),
            "sha256": macros["row_hash_expr"](columns[:9], "sha256"),
            "only if": macros["row_hash_expr"](columns[:9], "md5", only_if="`c 1`"),
            "sensitive": macros["row_hash_expr"](secret, "md5"),
            "compare_as": macros["row_hash_expr"](compared, "md5"),
        },
    )
    comparing = {
        "all": macros["rows_differ_expr"](columns, "l", "r"),
        "changed": macros["changed_columns_expr"](columns, "l", "r"),
        "changed, compare_as": macros["changed_columns_expr"](compared, "l", "r"),
    }
    for column in columns:
        comparing[column["type"]] = macros["rows_differ_expr"]([column], "l", "r")
    yield Tried("rows_differ_expr, changed_columns_expr", rows, comparing)
    masked = [*secret, *columns[4:]]
    yield Tried("masked_json_expr", flat, {"": macros["masked_json_expr"](masked, "t")})
    values = {c["type"]: macros["compared_value_expr"](c, f"`{c['name']}`") for c in compared}
    yield Tried("compared_value_expr", flat, values)
    yield Tried("_texts_expr", flat, dict(_named(macros["_texts_expr"](columns))))


def _named(listed: str) -> Iterator[tuple[str, str]]:
    for part in listed.split(",\n"):
        value, _, name = part.strip().rpartition(" as ")
        yield name, value


_TO = ["boolean", "tinyint", "bigint", "double", "decimal(10,2)", "decimal(38,38)", "date"]
_TO += ["timestamp", "timestamp_ntz", "binary", "varchar(3)", "array<int>", "map<string,int>"]
_TO += ["struct<a:int,b:string,c:struct<d:array<string>>>"]


def _casts(macros: dict[str, Any]) -> Iterator[Tried]:
    rows = f"select v, v as a from ({TEXTS})"
    formats = {"dateFormat": "yyyy-MM-dd", "timestampFormat": "yyyy-MM-dd HH:mm:ss"}
    values = {}
    for kind in _TO:
        column = {"name": "v", "source_name": "v", "source_type": "string", "type": kind}
        values[kind] = macros["cast_expr"](column, {}, "t")
        values[f"{kind} failed"] = macros["cast_failed_expr"](column, "a")
        if kind in ("date", "timestamp", "timestamp_ntz"):
            values[f"{kind} by format"] = macros["cast_expr"](column, formats, "t")
    yield Tried("cast_expr, cast_failed_expr", rows, values)
    yield Tried(
        "dated_text_expr",
        rows,
        {kind: macros["dated_text_expr"]("v", kind) for kind in ("timestamp", "string")},
    )
    pairs = [
        *((one, "string") for one in TYPES[1:]),
        *(
            ("double", kind)
            for kind in ("int", "decimal(10,2)", "float", "timestamp", "boolean", "date")
        ),
        *(("bigint", kind) for kind in ("int", "decimal(5,0)", "double", "timestamp")),
        *(("timestamp", kind) for kind in ("date", "timestamp_ntz", "bigint")),
        *(("date", kind) for kind in ("timestamp", "timestamp_ntz", "int")),
        *(("timestamp_ntz", kind) for kind in ("date", "timestamp")),
        ("decimal(38,10)", "decimal(10,2)"),
        ("decimal(38,0)", "bigint"),
        ("struct<a:string,b:int>", "struct<b:bigint,a:int,c:date>"),
        ("array<struct<a:string,b:int>>", "array<struct<b:string>>"),
        ("map<string,struct<a:double>>", "map<int,struct<a:int>>"),
        ("map<int,string>", "map<bigint,double>"),
        ("struct<a:int>", "array<int>"),
    ]
    values = {}
    names = {kind: f"v{place}" for place, kind in enumerate(dict(pairs))}
    for one, other in pairs:
        cast = macros["cast_by_name_expr"](names[one], one, other)
        values[f"{one} → {other}"] = cast["value"]
        if cast["failed"]:
            values[f"{one} → {other} failed"] = cast["failed"]
    rows = nasty_rows({name: kind for kind, name in names.items()})
    yield Tried("cast_by_name_expr", rows, values)


def _variants(macros: dict[str, Any]) -> Iterator[Tried]:
    values = {}
    for kind in _TO:
        cast = macros["variant_value_expr"]("v", kind)
        values[kind] = cast["value"]
        if cast["failed"]:
            values[f"{kind} failed"] = cast["failed"]
    values["null"] = macros["is_json_null_expr"]("v")
    yield Tried("variant_value_expr, is_json_null_expr", nasty_rows({"v": "variant"}), values)


def _decoded(macros: dict[str, Any]) -> Iterator[Tried]:
    texts = sorted({text for values in DECODED.values() for text in values})
    own = [literal(text) for text in texts]
    rows = f"{TEXTS} union all {_texts_of(own)}"
    values = {f"{c[0]} {c[1]}": macros["decode_expr"]("v", *c) for c in DECODED}
    yield Tried("decode_expr", rows, values)
    words = ["__debezium_unavailable_value", "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="]
    rows = f"{TEXTS} union all {_texts_of(list(map(literal, words)))}"
    yield Tried("unavailable_expr", rows, {"": macros["unavailable_expr"]("v")})


def _texts(macros: dict[str, Any]) -> Iterator[Tried]:
    broken = ["cast(unhex('61FF62') as string)", "cast(unhex('C3') as string)", "'é'"]
    rows = f"{TEXTS} union all {_texts_of(broken)}"
    yield Tried(
        "shown_text_expr",
        rows,
        {
            "told": macros["shown_text_expr"]("v", "not is_valid_utf8(v)"),
            "malformed": macros["malformed_text_expr"]("v"),
            "raw": macros["_raw_text_expr"]("decode(cast(v as binary), 'ISO-8859-1')"),
        },
    )
    yield Tried(
        "is_one_json_expr",
        TEXTS,
        {
            "": macros["is_one_json_expr"]("v"),
            "options": macros["is_one_json_expr"]("v", ", map('allowSingleQuotes', 'true')"),
        },
    )


def _enriched(macros: dict[str, Any]) -> Iterator[Tried]:
    columns = macros["enriched_columns"]()
    envelope = "iglu:com.snowplowanalytics.snowplow/{}/jsonschema/1-0-0"
    entity = '{"schema":"iglu:com.acme/p/jsonschema/1-0-0","data":{"a":1}}'
    envelopes = [
        "{}",
        "x",
        f'{{"schema":"{envelope.format("contexts")}","data":[{entity},{entity}]}}',
        f'{{"schema":"{envelope.format("contexts")}","data":[]}}',
        f'{{"schema":"{envelope.format("unstruct_event")}","data":{entity}}}',
        '{"schema":"iglu:com.snowplowanalytics.snowplow/contexts/jsonschema/1-0-1","data":[{"schema":'
        '"iglu:com.snowplowanalytics.snowplow/duplicate/jsonschema/1-0-0","data":{"originalEventId":"A1"}}]}',
    ]
    names = ("contexts", "derived_contexts", "unstruct_event")
    given = {name: [literal(text) for text in envelopes] for name in names}
    typed = nasty_rows({c["name"]: c["type"] for c in columns}, 40, given)
    texts = {
        c["name"]: macros["enriched_text_expr"](c)
        for kind in ("timestamp", "boolean", "int", "double", "decimal(18,2)", "string")
        for c in [c for c in columns if c["type"] == kind][:2]
    }
    yield Tried("enriched_text_expr", typed, texts)
    yield Tried("utc_text_expr", typed, {"": macros["utc_text_expr"]("collector_tstamp")})
    # the text of a time in a field among others: what is lost there moves all that follow
    of_texts = ", ".join(f"{macros['enriched_text_expr'](c)} as `{c['name']}`" for c in columns)
    yield Tried(
        "fingerprint_expr",
        f"select {of_texts} from ({typed})",
        {"": macros["fingerprint_expr"](["event_id"]), "original id": macros["original_id_expr"]()},
    )
    strings = nasty_rows({c["name"]: "string" for c in columns}, 60, given)
    chosen = {c["type"]: c for c in columns if c["type"] != "string"}
    chosen |= {
        c["name"]: c for c in columns if c["name"] in ("event_id", "collector_tstamp", "v_etl")
    }
    values = {}
    for name, column in chosen.items():
        values[name] = macros["enriched_value_expr"](column)
        values[f"{name} problem"] = macros["enriched_problem_expr"](column)
    yield Tried("enriched_value_expr, enriched_problem_expr", strings, values)
    opened = ", ".join(f"{macros['envelope_expr'](name)} as _{name}" for name in names)
    yield Tried(
        "enriched_problem_expr of envelopes",
        f"select *, {opened} from ({strings})",
        {name: macros["enriched_problem_expr"]({"name": name}, f"_{name}") for name in names},
    )
    yield Tried(
        "synthetic_id_expr, with_duplicate_expr",
        strings,
        {
            "id": macros["synthetic_id_expr"]("event_id", "app_id"),
            "duplicate": macros["with_duplicate_expr"]("derived_contexts", "event_id"),
        },
    )
    document = f"select try_parse_json(v) as v from ({TEXTS})"
    yield Tried(
        "property_expr",
        document,
        {"": macros["property_expr"]({"name": "target_url"}, "v"), "path": macros["property_expr"]({"name": "a", "property": "c.d"}, "v")},
    )  # fmt: skip


def _feed(macros: dict[str, Any]) -> Iterator[Tried]:
    columns = columns_of(TYPES)
    roles = {"stored": [{**column, "key": False} for column in columns]}
    schema = ",".join(f"`{column['name']}`:{column['type']}" for column in columns)
    rows = nasty_rows(
        {
            "_operation": "string",
            "_changed_fields": "array<string>",
            "_pre_image": f"struct<{schema}>",
            "_post_image": f"struct<{schema}>",
        },
        40,
        {"_operation": ["'I'", "'U'", "'U'", "'D'"], "_changed_fields": ["array('c 0', 'c 8', 'c 14')", "array()", "array('c 21')"]},
    )  # fmt: skip
    images = ["change", "pre", "post"]
    values = {"json": macros["change_json_expr"](roles, images)}
    values["struct"] = macros["change_struct_expr"](roles, images)
    values["nothing stored"] = macros["change_json_expr"]({"stored": []}, images)
    yield Tried("change_json_expr, change_struct_expr", rows, values)


def _reconciled(macros: dict[str, Any]) -> Iterator[Tried]:
    forms = [
        *(("bigint", "integer"), ("string", "text"), ("decimal(10,2)", "decimal")),
        *(("decimal(38,10)", "decimal"), ("string", "decimal"), ("timestamp", "timestamp")),
        *(("timestamp_ntz", "timestamp"), ("string", "bytes"), ("binary", "bytes")),
        *(("double", "double"), ("array<string>", "array:text")),
    ]
    names = {kind: f"v{place}" for place, kind in enumerate(dict(forms))}
    values = {
        f"{kind} {form}": macros["reconcile_text_expr"](names[kind], kind, form)
        for kind, form in forms
    }
    rows = nasty_rows({name: kind for kind, name in names.items()})
    yield Tried("reconcile_text_expr", rows, values)


def _rest(macros: dict[str, Any]) -> Iterator[Tried]:
    rows = nasty_rows(
        {"id": "bigint", "_key_hash": "string", "_raw_payload": "string", "_before_id": "bigint"},
        0,
        {"_key_hash": ["'a1'", "'b2'", "'c'"], "id": ["7L", "8L"]},
    )
    names = ["id", "_key_hash", "_raw_payload", "_before_id"]
    yield Tried("erased_rows_expr", rows, {"": macros["erased_rows_expr"](names, ERASED)})
    rows = nasty_rows({"d": "date", "t": "timestamp", "n": "bigint"})
    yield Tried(
        "closed_end_expr",
        rows,
        {
            "date": macros["closed_end_expr"]("d", "9999-12-31"),
            "number": macros["closed_end_expr"]("n", 7),
            "none": macros["closed_end_expr"]("t", None),
        },
    )


def _files(macros: dict[str, Any]) -> Iterator[Tried]:
    rows = f"select v as value from ({TEXTS})"
    yield Tried(
        "_quotes_expr, _is_readable_expr",
        rows,
        {
            "quotes": macros["_quotes_expr"]({"format": "csv", "options": {}}),
            "UTF-8": macros["_is_readable_expr"]("value", True),
            "other": macros["_is_readable_expr"]("value", False),
        },
    )
    columns = [
        {"name": name, "data_type": kind}
        for name, kind in [("a", "string"), ("b", "decimal(38,10)"), ("c", "struct<d:array<int>>"), ("e", None)]
    ]  # fmt: skip
    cfg = {"columns": columns, "options": {}}
    lines = [
        '{"a":1.10,"b":12345678901234567890.0000000001,"c":{"d":[1,null]},"e":"x"}',
        '{"a":null,"b":null,"c":null,"e":1e400}',
        '{"c":{"a":7,"d":[]},"a":123456789.123456789}',
        '{"a":"😀","c":{}}',
    ]
    rows = f"select v as value from ({TEXTS} union all {_texts_of(list(map(literal, lines)))})"
    parsed = (
        f"select value, {macros['_own_members_expr']('value')} as own_members, "
        f"{macros['_json_fields_expr'](cfg, 'value')} as parsed from ({rows})"
    )
    values = {str(column): macros["_json_value_expr"](column) for column in columns}
    values["unreadable"] = macros["_unreadable_json_expr"](cfg)
    values["own members"] = macros["_own_members_expr"]("value")
    yield Tried("_json_value_expr, _unreadable_json_expr", parsed, values)
    fields = ["a", "", *(str(place) for place in range(129))]
    event = [
        "\t".join(fields),
        '{"event_id":"a","br_cookies":true,"etl_tstamp":"2026-03-04T09:30:00.123Z","contexts_com_acme_1":[{}]}',
        '{"schema":"iglu:a","data":{"event_id":null,"txn_id":1.5,"contexts":{}}}',
    ]
    numbered = f"select v as value, cast(1 as bigint) as _row from ({TEXTS} union all {_texts_of(list(map(literal, event)))})"
    names = ("_unreadable", "event_id", "br_cookies", "etl_tstamp", "txn_id", "contexts")
    yield Tried(
        "flattened_members_expr, lost_members_expr",
        macros["enriched_events_sql"](f"({numbered})"),
        {name: name for name in names},
    )


def _events(macros: dict[str, Any]) -> Iterator[Tried]:
    columns = [{**column, "hash_name": column["name"]} for column in columns_of(TYPES)]
    types = {column["name"]: column["type"] for column in columns}
    types |= {"_operation": "string", "_before_c 0": "string", "_row_hash": "string"}
    types |= {
        "_supersedes": "bigint",
        "_changed_columns": "array<string>",
        "_landing_num": "bigint",
    }
    types |= {"_is_key_image": "boolean", "_tidemark_text_c 13": "string"}
    types |= {
        "derived": "struct<_operation:string,_changed_columns:array<string>>",
        "logged": "struct<_changes_gone:boolean,_changed_columns:array<string>>",
    }
    roles = {"columns": columns[:6], "compared": columns[:6], "kept_gone": columns[6:8]}
    rows = nasty_rows(types, 60, {"_operation": ["'DELETE'", "'UPDATE'"], "_supersedes": ["null"]})
    supplied = {"_operation": "_operation", "_before_c 0": "`_before_c 0`"}
    former = [*columns, {"name": "_before_c 0", "type": "string"}]
    files = [{"_arrival_number": 3, "_file_number": 1}, {"_arrival_number": 4, "_file_number": 4}]
    whole = {
        "own or former": macros["_own_or_former_expr"](former, "c 0", supplied),
        "whole hash": macros["_whole_hash_expr"]({"hash": "md5"}, roles),
    }
    yield Tried(
        "of events",
        rows,
        {
            **{name: value.rpartition(" as ")[0] for name, value in whole.items()},
            "identity": macros["_row_identity_expr"](columns, ["c 3", "gone"]),
            "made up": macros["_is_made_up_expr"]({}, columns[13]),
            "missing": macros["_missing_field_expr"]("`c 22`", ["c 22", "b c"]),
            "gone": macros["_changes_of_gone_expr"](roles, "_changed_columns"),
            "operation": macros["_derived_operation_expr"](True),
            "changes": macros["_derived_changes_expr"](roles),
            "line": macros["line_num_expr"](files),
        },
    )


FAMILIES = (
    _hashes,
    _casts,
    _variants,
    _decoded,
    _texts,
    _enriched,
    _feed,
    _reconciled,
    _files,
    _events,
    _rest,
)
