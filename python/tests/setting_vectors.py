"""What models and runs are configured with, and what is said of it, as `vectors/settings.json` keeps it.

`python -m tests.setting_vectors` writes the file anew: a change of it is reviewed like code.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from tidemark.errors import ConfigError, UsageError
from tidemark.model.derived import feed_settings, scd2_settings
from tidemark.model.enriched import atomic_settings, shred_settings
from tidemark.model.entity import entity_settings
from tidemark.model.given import FLOWS
from tidemark.model.run import run_settings

FILE = Path(__file__).parent / "vectors" / "settings.json"

BASES: Mapping[str, dict[str, Any]] = {
    "extract": {"extract": "full", "location": "landing/shop_{business_date}.csv"},
    "events": {"extract": "events", "location": "landing/shop"},
    "atomic": {"location": "landing"},
    "shred": {"registry": None},
    "scd2": {},
    "feed": {},
}
"""The least settings of a model of each flow."""

_VALUES: tuple[Any, ...] = (
    None, "", [], {}, True, 0, "x", "False", "30 days", ["id", "A"], ["a", 1], {"include": "A"}, {"exclude": ["id"]},
)  # fmt: skip
_SHARED: tuple[Any, ...] = (None, "x", ["a", 1])
_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "extract": ("full", "delta", "events", "event", "fulll"),
    "format": ("csv", "json", "parquet", "debezium", "canonical", "rows", "jsno"),
    "hash": ("md5", "sha256", "xxhash64x2", "sha265"),
    "null_keys": ("allow", "reject", "rejcet"),
    "on_reject": ("fail", "quarantine", "quarantene"),
    "write_mode": ("copy_on_write", "merge_on_read", "merge"),
    "engine": ("auto", "spark", "workers", "worker"),
    "on_tie": ("later", "reject", "content", "latter"),
    "feed_images": ("change", ["pre", "post"], ["pre", "pst"]),
    "deduplicate": (["natural_in_batch", "synthetic_in_batch"], "natural_in_bach"),
    "fingerprint_ignore": (["event_id", "event_fingerprint"], ["event_idd", "event_id"]),
    "manifest": ("shop.taken", "a.b.c", "1a"),
    "manifest_ttl": ("6 Months", " 1 day ", "6 fortnights"),
    "feed_retention": ("12 HOURS", "1234567 days", "NONE"),
    "feed_buckets": (8, 1024, 1025, "8"),
    "ddl": ({"add_colum": "apply"}, {"add_column": "aply"}, {"drop_column": "apply"}, {"drop_table": "apply"}),
    "encodings": ({"a": "milis"}, {"a": "decimal_bytes"}, {"a": "decimal_bytes:2", "b": "array:iso"}, {"a": 1}),
    "location": (
        "a_{yyyy}{mm}{dd}.csv", "a_{busines_date}.csv", "a_{b,c}.csv", "{}", ["a.csv"], "{year}/{mm}/{zzz}.csv",
    ),
    "options": (
        {"Sep": ";", "sep": ","}, {"DELIMITER": ";", "sep": ";"}, {"header": [True]}, {"headers": True}, {"seperator": ";"},
        {"mode": "FAILFAST"}, {"locale": "de"}, {"encoding": "latin1", "dateformat": "d"}, {"inferSchema": True},
        {"escapeQuotes": True, "nanValue": "n", "zzz": 1},
    ),
    "sequence_by": (["at", "n desc"], "a, b", "_sequence_num", ["f(x"]),
    "apply_as_deletes": ("op = 'd'", "op = 'd", "a;b", "f(x))"),
    "max_reject_fraction": (0.25, 1, 1.5, "half"),
    "max_delete_fraction": (0.25, 1, 1.5, "half"),
    "registry": ("schemas",),
    "entity": ("orders", "order", "customers"),
    "compare": (False, {"includes": ["a"]}, {"exclude": []}, {"include": ["a"], "exclude": ["b"]}, {"include": ["id", 5]}),
    "columns": (False, "name", {"include": ["a"], "exclude": ["b"]}),
    "scope": ({"columns": "region"}, {"columns": ["region", "region"]}, {"columns": []}, {"column": ["a"]}, {"columns": ["id", "A"], "x": 1}),
    "ignore": (" ", 3), "soft_delete": (False, "yes", 1.5), "valid_from": (" ",),
    "table": ("shop.t",),
}  # fmt: skip
_DBT: Mapping[str, tuple[Any, ...]] = {
    "unique_key": (None, "", [], 2024, False, True, {"a": "b"}, "id, name", "id || name", ["concat(id, name)"], ["a", "A"], ["a", 1], "a::int"),
    "file_format": ("delta", "iceberg", "parquet", "detla", "", 5),
    "partition_by": ("a", ["a", "A"], ["a", 1], {"a": 1}, ["skw", "etl_tstamp"], ["_commit_id", "b.c"], ""),
    "liquid_clustered_by": ("a", ["b", "B"], ["app_idd"], 5),
    "location_root": ("/data", "", " ", 5),
    "tblproperties": ({"a": "b"}, ["a"], "x"),
    "persist_docs": ({"relation": True}, {"relation": False, "columns": True}),
    "meta": (None, {}, {"owner": "me"}, {"tidemark": None}, {"tidemark": "full"}, {"tidemark": []}, {"tidmark": {"hash": "md5"}}, {"Tidemark": 5}, {"tidemark ": {"x": 1}}),
    "unique_keys": ("id",), "file_formt": ("delta",), "partitoned_by": ("a",), "tag_unchangd": (True,), "snowflake_warehouse": ("w",), "clustered_by": (["a"],),
}  # fmt: skip
_COLUMNS: tuple[dict[str, Any], ...] = (
    {"id": {"data_type": "strng"}},
    {"id": {"data_type": "varchar"}, "ID": {"data_type": "TEXT"}},
    {"sku": {"data_type": "map<string, strng>", "constraints": [{"type": "not_null"}], "description": "of it"}},
    {"sku": {"data_type": "struct<a: int, b: array<dat>>"}, "b": {"data_type": "decimal(40,2)"}, "c": {"data_type": "decimal(3,5)"}},
    {"sku": {"data_type": "foo"}, "b": {"data_type": "int('x')"}, "c": {"data_type": 5}, "d": {"data_type": "timestamp(3) with time zone"}},
    {"_key_hash": {"data_type": "string"}, "_tidemark_x": {}, "a\nb": {}, "${x}": {}, "_file": {}, "_Commit_Id": {"data_type": "int"}},
    {"lat": {"meta": {"tidemark": {"compare_as": "round(lat, 1)"}}}},
    {"lat": {"meta": {"tidemark": {"compare_as": "round(lat"}}}, "b": {"config": {"meta": {"tidemark": {"compare_at": "x"}}}}},
    {"lat": {"meta": {"tidemark": {"compare_as": ["lat"]}}}, "id": {"meta": {"tidemark": {"compare_as": "lower(id)"}}}},
    {"lat": {"compare_as": "x", "property": "y"}, "b": {"config": {"meta": {"compare_as": "x", "property": "y"}}}},
    {"lat": {"meta": {"tidmark": {}}}, "b": {"meta": {"tidemark": "x"}}, "c": {"config": {"meta": {"tidmark": {}, "tidemark": None}}}},
    {"lat": {"data_type": "int", "meta": {"tidemark": {"property": "latitude"}}}, "schema": {"data_type": "string"}},
    {"lat": {"data_type": "int", "meta": {"tidemark": {"property": " ", "proprety": "x"}}}, "hierarchy": {"data_type": "string"}},
)  # fmt: skip
_TOGETHER: Mapping[str, tuple[dict[str, Any], ...]] = {
    "extract": (
        {"compare": {"include": ["b"]}, "ignore": ["a"]}, {"stored_hashes": True, "sensitive": ["a"]}, {"ignore": ["ID"]},
        {"effective_from": "At", "sensitive": ["at"]}, {"location": None, "format": "csv", "options": {}}, {"format": "json", "options": {"multiLine": True, "allowComments": True}},
        {"format": "json", "options": {"CHARSET": "UTF_8", "encoding": "latin1"}}, {"format": "parquet", "options": {"compression": "gzip", "mergeSchema": True}},
        {"history_retention": "3 days", "hash": "md6", "tag_unchanged": "yes", "sensitiv": ["a"], "staging_retention": "3 days", "unique_key": "id"},
        {"scope": {"columns": ["a"]}, "extract": "delta"}, {"scope": {"columns": ["a"]}, "sensitive": ["A"]}, {"scope": {"columns": ["a"]}, "ignore": ["A"]},
        {"scope": {"columns": ["a"]}, "stored_hashes": True}, {"scope": {"columns": ["id", "b"]}, "compare": {"exclude": ["b"]}},
        {"format": "json", "options": {"timeZone": "UTC", "primitivesAsString": True}}, {"compare": {"include": ["b"]}, "sensitive": "c"},
    ),
    "events": (
        {"format": "rows"}, {"format": "rows", "sequence_by": "at"}, {"format": "rows", "sequence_by": "at", "apply_as_deletes": "gone"},
        {"columns": ["name"], "track_history": ["id", "name", "x"]}, {"ignore": ["A"], "track_history": {"include": ["a"]}},
        {"sequence_by": "at", "ddl": {"drop_table": "apply", "drop_database": "apply"}}, {"on_tie": "reject", "sequence_by": "n"},
        {"encodings": {"a": "milis"}, "previous_names": {"b": "c"}, "unavailable_value": 5, "table": ["a"]},
        {"format": "csv", "options": {}, "max_delete_fraction": 1}, {"history_retention": "1 year", "staging_retention": "2 weeks"},
    ),
    "atomic": ({"deduplicate": ["synthetic_cross_batch"]}, {"fingerprint_ignore": ["txn_id"], "format": "csv"}),
    "shred": ({"registry": "schemas", "on_reject": "x", "max_reject_fraction": 5},),
    "scd2": (
        {"entity": "orders", "valid_from": "since"}, {"valid_from": ""}, {"axes": "business"}, {"axes": ["business", "system"]},
        {"axes": ["system"]}, {"axes": ["business", "sytem"]}, {"axes": ["system", "business"]}, {"axes": {"system": True}},
    ),
    "feed": ({"feed_buckets": 4, "feed_retention": "3 days"},),
}  # fmt: skip


def cases() -> Iterator[dict[str, Any]]:
    """Every case: its flow, and what is not as in the least model of it."""
    names = {
        flow: sorted(kind.model_fields) for flow, kind in zip(_FLOWS, FLOWS.values(), strict=True)
    }
    for flow, base in BASES.items():
        yield {"flow": flow}
        yield {"flow": flow, "settings": None}
        for name in names[flow]:
            is_shared = flow == "events" and name in names["extract"]
            for value in (*(_SHARED if is_shared else _VALUES), *_CHOICES.get(name, ())):
                yield {"flow": flow, "settings": {**base, name: value}}
            yield {"flow": flow, "settings": {k: v for k, v in base.items() if k != name}}
            cut, swapped = name[:-3] + name[-2:], name[1] + name[0] + name[2:]
            for wrong in (cut, swapped):
                yield {"flow": flow, "settings": {**base, wrong: base.get(name, "x")}}
            yield {"flow": flow, "config": {name: "x", cut: "x"}}
            yield {"flow": flow, "settings": None, "config": {"meta": {**base, name: "x"}}}
        for name in sorted({name for others in names.values() for name in others} - {*names[flow]}):
            yield {"flow": flow, "settings": {**base, name: "x"}}
        for name, values in _DBT.items():
            for value in values:
                yield {"flow": flow, "config": {name: value}}
                if name == "meta":
                    yield {"flow": flow, "settings": None, "config": {name: value}}
                elif isinstance(value, str):
                    yield {"flow": flow, "settings": {**base, name: value}}
                if name in ("file_format", "liquid_clustered_by"):
                    yield {"flow": flow, "config": {name: value}, "lake": "iceberg"}
        for layout in ({"partition_by": "a", "liquid_clustered_by": "b"}, {"partition_by": "id"}):
            yield {"flow": flow, "config": layout}
            yield {"flow": flow, "config": layout, "settings": {**base, "sensitive": "A"}}
        for columns in _COLUMNS:
            yield {"flow": flow, "columns": columns}
            yield {"flow": flow, "columns": columns, "lake": "iceberg"}
        for settings in _TOGETHER[flow]:
            yield {"flow": flow, "settings": {**base, **settings}}
            yield {"flow": flow, "settings": {**base, **settings}, "config": {"unique_key": None}}
        for referred in ([], ["orders", "customers"], ["orders", "view"]):
            for settings in ({}, {"entity": "customers"}, {"entity": "customer"}):
                if flow == "scd2":
                    yield {"flow": flow, "refers": referred, "settings": settings}


_FLOWS = ("extract", "events", "atomic", "shred", "scd2", "feed")


def run_cases() -> Iterator[dict[str, Any]]:
    """Every case of a run's variables."""
    yield {}
    for name, values in {
        "allow_deletes": (True, "TRUE", "no", 1),
        "allow_rejects": (True, "true", None),
        "tidemark__sample_rows": (7, "7", "x", None),
        "tidemark__merge_keys": (7,),
        "tidemark__max_line_bytes": ("1024",),
        "plan": (True, "kept", "FALSE", "maybe", None),
        "tidemark__planned": ({"a": 1},),
        "tidemark__engine": ("spark", "worker", None, 5),
    }.items():
        for value in values:
            yield {name: value}


def node_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """The model of a case, as dbt's graph has it."""
    flow = case["flow"]
    kind = {"extract": "cdc", "events": "cdc"}.get(flow, flow)
    config: dict[str, Any] = {"materialized": kind}
    if kind == "cdc":
        config["unique_key"] = "id"
    settings = case.get("settings", BASES[flow])
    if settings is not None:
        config["meta"] = {"tidemark": settings}
    columns = case.get("columns", {"sku": {"data_type": "string"}} if flow == "shred" else {})
    referred = case.get("refers", ["orders"] if flow == "scd2" else [])
    return {
        "alias": "shop",
        "schema": "s",
        "database": None,
        "description": "What we sell",
        "columns": {name: {"name": name, **column} for name, column in columns.items()},
        "config": {**config, **case.get("config", {})},
        "depends_on": {"nodes": [f"model.shop.{name}" for name in referred]},
    }


GRAPH: Mapping[str, Any] = {
    f"model.shop.{name}": {
        "name": name, "alias": f"{name}_2", "schema": "s", "database": None,
        "config": {"materialized": "view" if name == "view" else "cdc"},
    }
    for name in ("orders", "customers", "view")
}  # fmt: skip
"""The models that those of scd2 refer to."""


# --- what comes of them

_READERS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "extract": entity_settings,
    "events": entity_settings,
    "atomic": atomic_settings,
    "shred": partial(shred_settings, can_validate=True),
    "scd2": partial(scd2_settings, nodes=GRAPH),
    "feed": feed_settings,
}
_VARIABLES: Mapping[str, Any] = {
    "allow_deletes": False, "allow_rejects": False, "sample_rows": 5, "merge_keys": 32, "max_line_bytes": 67108864,
    "plan": False, "planned": {}, "engine": "auto",
}  # fmt: skip


def outcome(case: Mapping[str, Any]) -> dict[str, Any] | list[str]:
    """The settings that are not those of the least model (of that, all), or the problems of the model."""
    try:
        read = _read(case)
    except ConfigError as error:
        head, *problems = str(error).split("\n  - ")
        count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
        assert head == f"shop: the configuration has {count}"
        return problems
    usual = {} if [*case] == ["flow"] else _usual(case["flow"])
    return {name: value for name, value in read.items() if json.dumps(value) != usual.get(name)}


def _read(case: Mapping[str, Any]) -> dict[str, Any]:
    read = _READERS[case["flow"]](node_of(case), case.get("lake", "delta"))
    if case["flow"] == "scd2":
        node = read["entity"]
        read["entity"] = {"database": None, "schema": node["schema"], "identifier": node["alias"]}
    return read


@cache
def _usual(flow: str) -> dict[str, str]:
    return {name: json.dumps(value) for name, value in _read({"flow": flow}).items()}


def run_outcome(case: Mapping[str, Any]) -> dict[str, Any] | list[str]:
    """What the variables of a run give beside the usual (without any, all), or kind and message of an error."""
    given = {name.removeprefix("tidemark__"): value for name, value in case.items()}
    try:
        read = run_settings({**_VARIABLES, **given})
    except UsageError as error:
        return [error.kind, str(error)]
    usual = run_settings(_VARIABLES) if case else {}
    return {
        name: value for name, value in read.items() if name not in usual or value != usual[name]
    }


def main() -> None:
    """Write the file."""
    models = {json.dumps(case, ensure_ascii=False): outcome(case) for case in cases()}
    lines = [f"[{case}, {json.dumps(found, ensure_ascii=False)}]" for case, found in models.items()]
    runs = [json.dumps([case, run_outcome(case)], ensure_ascii=False) for case in run_cases()]
    FILE.write_text(
        '{"models": [\n' + ",\n".join(lines) + '\n],\n"runs": [\n' + ",\n".join(runs) + "\n]}\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
