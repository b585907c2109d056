"""The tables and views of the golden files with rows: NULL, empty and extreme values, under few keys, dates and commits.

Example:
    >>> FilledRelations(session, folder).make()
    >>> session.sql(golden_sql("as_of.date")).collect()
    [Row(id=7, …), …]
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import functions

from tidemark.hashing import Column, row_hash

from ..nasty import TEXTS, literal, nasty_rows
from ..render.test_golden import COMMIT, EVENT_LOAD
from .golden_relations import EmptyRelations

_COUNT = 160
#: How many rows a table has, where not as many as most have
_COUNTS = {"tidemark_commits": 100, "atomic_events": 24, "people_snapshot": 40}
#: How many lines there are of Debezium, and of canonical events
_LINES = 90
#: Whether a row of a log was in force no more at the commit that queries name
_IS_PAST = f"coalesce(_superseded_by <= {COMMIT}, false)"
_IDS = ("1", "2", "3")
_KEY_HASHES = ["a1", "b2", "0a", "0a", "92eb5ffe", "c5", "c6", "c7", ""]
#: Keys of change events are those of the lines, so that what is stored meets what arrives
_EVENT_KEYS = [row_hash({"id": int(of)}, [Column("id", "bigint")]) for of in _IDS]


def _texts(*texts: str) -> list[str]:
    return [literal(text) for text in texts]


def _some(share: int, *values: str) -> list[str]:
    """Values among which there are so many more NULLs."""
    return [*["null"] * share, *values]


_MANY_KEYS = _texts(*_KEY_HASHES, *(f"k{number}" for number in range(90)))
_COMMITS = [f"{COMMIT + more}L" for more in (-2, -1, 0, 0, 0, 1, 2, 3, 4, 5)]
_DATES = [f"date'2026-03-0{day}'" for day in (2, 3, 4, 4, 5, 6)]
_MOMENTS = [
    "timestamp'2026-03-02 23:59:59.999999Z'",
    "timestamp'2026-03-03 00:00:00Z'",
    "timestamp'2026-03-04 09:00:00.123456Z'",
    "timestamp'0001-01-01 00:00:00Z'",
    "timestamp'2027-01-01 00:00:00Z'",
]
_PLACES = [
    f"named_struct('sequence_1', {_MOMENTS[number % 5]}, 'is_stream', {number % 3 > 0}, "
    f"'position', array({number}L, {number % 2}L), 'supplied_num', {f'{number}L' if number % 4 else 'null'})"
    for number in range(50)
]
_SCHEMAS = (
    ("com.acme", "product", "jsonschema", "1-2-0"),
    ("com.acme", "product", "jsonschema", "1-3-0"),
    ("org.other", "", "jsonschema", "x"),
)
_CONTEXT = {
    "schema": "iglu:com.snowplowanalytics.snowplow/contexts/jsonschema/1-0-0",
    "data": [
        {"schema": "iglu:com.acme/product/jsonschema/1-2-0", "data": {"sku": "a", "tags": [1]}},
        {
            "schema": "iglu:com.snowplowanalytics.snowplow/duplicate/jsonschema/1-0-0",
            "data": {"originalEventId": "E1"},
        },
    ],
}
_ENTITY = {
    "sku": "a",
    "unit_price": 12345678.9,
    "stock": {"count": 7},
    "tags": [1, None],
    "currency": "EUR",
    "sold_at": "2026-03-04T00:00:00Z",
}

#: The values that a column takes, by its name, in every table
_GIVEN: dict[str, Sequence[str]] = {
    "_key_hash": _texts(*_KEY_HASHES),
    "_before_key_hash": _texts(*_EVENT_KEYS),
    "_moved_from": _some(3, *_texts("a1", _EVENT_KEYS[0])),
    "_row_hash": _texts("r1", "r2"),
    "_operation": _texts(*"IIUUUUDDNXT"),
    "_business_date": _DATES,
    "_eff_start_date": _DATES,
    "_changed_columns": ["array('full name')", "array('phone', null)", "array()"],
    "_unsupplied": _some(1, "array('full name')", "array('phone', 'balance')", "array()"),
    "_commit_id": [*_COMMITS, "7L"],
    "_superseded_by": _some(4, *_COMMITS[4:7]),
    "_supersedes": _some(2, *_COMMITS[:2]),
    "_resolved_by": _some(3, *_COMMITS[4:7]),
    "_batch_id": [*_COMMITS, "7L"],
    "_sequence_num": [f"{number}L" for number in (-1, 0, 1, 2, 3, 5, 8, 2**63 - 1)],
    "_source_operation": _texts(
        *("INSERT", "UPDATE", "UPDATE", "DELETE", "READ", "READ", "UPSERT", "MOVE_IN", "MOVE_OUT"),
        *("TRUNCATE", "SNAPSHOT", "ADD_COLUMN"),
    ),
    "_event_id": _texts(*(f"e{number}" for number in range(_COUNT))),
    "_transaction_id": _texts("t1", "t2"),
    "_offset": _texts("o1", "o2", "o3"),
    "_event_time": _MOMENTS,
    "_tidemark_copies": ["1L", "2L"],
    "_reject_reason": _some(2, *_texts("duplicate_key", "cast_failed: balance", "tie: balance")),
    "_valid_from": _DATES,
    "_valid_to": _some(2, *_DATES),
    "_known_from": _COMMITS,
    "_known_to": _some(2, *_COMMITS),
    "_bucket": ["0", "1", "3"],
    "_commit_date": ["date'2026-03-04'"],
    "_file": _texts("file:/lake/a.tsv", "file:/lake/b.tsv"),
    "_file_size": ["0L", "3L"],
    "_file_time": _MOMENTS,
    "event_id": _texts("E1", "e2", "e3"),
    "_fingerprint": _texts("f1", "f2"),
    "fingerprint": _texts("f1", "f2"),
    "event_fingerprint": _texts("f1", "f2"),
    "etl_tstamp": _MOMENTS,
    "_etl_tstamp": _MOMENTS,
    "expires_at": _MOMENTS,
    "collector_tstamp": _MOMENTS,
    "contexts": _texts(json.dumps(_CONTEXT), "{}", "[{]"),
    "derived_contexts": _texts(json.dumps(_CONTEXT), "{}", "[{]"),
}

#: The same of one table or view alone
_GIVEN_OF: dict[str, dict[str, Sequence[str]]] = {
    "tidemark_commits": {
        "source_relation": _some(
            2, *_texts("shop.customers", "shop.customers", "shop.a", "shop.b", "shop.atomic_events")
        ),
        "business_date": _DATES,
        # some runs of a unit have ended before one has begun that has not
        "started_at": ["timestamp'1970-01-01 00:00:00Z'", *_MOMENTS[:3]],
        "completed_at": ["timestamp'0001-01-01 00:00:00Z'", *_MOMENTS],
        "source_commit_id": _COMMITS,
        "undone_by": ["9L", "12L"],
        "invocation_id": _texts("one", "it's", "other"),
        # what sums add up
        **{
            f"rows_{of}": ["0L", "7L", "100L", f"{2**40}L"]
            for of in ("inserted", "updated", "deleted", "rejected", "read")
        },
        "config": _texts('{"extract": "full"}', '{"extract": "delta", "made_by": 1}', "{}", "[{]"),
        "details": _texts(
            '{"name": "a", "removed": false, "table_id": "t", "from": "shop.atomic_events"}',
            '{"name": "b", "removed": false, "from": "shop.atomic_events"}',
            '{"name": "é", "removed": true, "from": "2026-01-01"}',
            "[{]",
        ),
    },
    "atomic_events": {"_commit_id": ["7L", "7L", "8L", *_COMMITS[:2]]},
    "people_snapshot": {
        "id": ["1L", "2L", "7L"],
        "dbt_valid_from": _MOMENTS,
        "dbt_valid_to": [*_MOMENTS, "timestamp'9999-12-31 00:00:00Z'"],
        "dbt_is_deleted": _texts("true", "False", "x"),
    },
    "classified": {"_operation": _texts("I", "U", "D", "N", "R")},
    "customers_without_key": {"_row_hash": _texts(*(f"r{number}" for number in range(_COUNT)))},
    "customers_in_sequence__log": {"_sequence_by": _PLACES},
    # of most keys one row
    "staged": {"_key_hash": _MANY_KEYS, "_reject_reason": _some(9, *_texts("null_key: id"))},
    "existing": {"_key_hash": _MANY_KEYS},
    "stored": {"_key_hash": _MANY_KEYS},
    "changed": {"_key_hash": _MANY_KEYS, "_operation": _texts(*"IUUD")},
    "atomic_events__entities": {
        "schema": [
            f"named_struct('vendor', '{vendor}', 'name', '{name}', 'format', '{form}', 'version', '{version}')"
            for vendor, name, form, version in _SCHEMAS
        ],
        "vendor": _texts("com.acme"),
        "name": _texts("product"),
        "model": ["1"],
        "data": _texts(json.dumps(_ENTITY), '{"sku":null,"tags":"x"}', "{}", "[{]"),
    },
    "decoded_events": {
        "id": [f"{number}L" for number in _IDS],
        "_before_id": _some(3, *(f"{number}L" for number in _IDS)),
        "_kind": _texts("row", "row", "row", "truncate", "unreadable"),
        "_problem": _texts("unreadable"),
        "_tidemark_reason": _some(3, *_texts("cast_failed: balance")),
        "_operation": _texts("INSERT", "UPDATE", "UPDATE", "DELETE", "READ", "TRUNCATE"),
        "_landing_num": [f"{number}L" for number in range(1, 100)],
        "_table": _texts("shop.customers"),
        "_group": _texts("g1", "g2", "g3"),
        "_identity": _texts("i1", "i2", "i3", "i4"),
        "_content": _texts("c1", "c2"),
        "_is_captured": ["true"],
    },
}
_STAGED_OPERATIONS = _texts("INSERT", "UPDATE", "DELETE", "TRUNCATE")

#: Relations that all have the same commits, each of other kinds
_COMMITTED = (
    *("shop.customers", "shop.people", "shop.customers_of_events", "shop.customers_scd2"),
    *("shop.atomic_events", "shop.products", "shop.orders", "shop.order_lines", "shop.lines"),
    *("shop.a", "shop.b", "shop.c", "shop.both"),
)
_KINDS = (
    *["load"] * 8,
    *("full_refresh", "rollback", "rehash", "repeat", "clean", "savepoint", "compact", "scd2"),
    *("feed", "shred", "erase_key", "populate_manifest"),
)
#: A commit is inflight, and then completed and rolled back, or not; what else is known of it stays
_STATES_OF_ROWS = f"""
    with placed as (
        select
            * except (relation, commit_id, kind, state, state_at, undone_by, _number),
            undone_by as _undone_by,
            cast(_number as int) as _place
        from numbered_rows
    ),

    told as (
        select *, pmod(hash(relation), {len(_KINDS)}) as _shift
        from placed
        cross join (select explode(array({", ".join(map(literal, _COMMITTED))}, null)) as relation)
        cross join (select explode(array(0, 1, 2)) as _step)
    )

    select
        * except (_place, _step, _shift, _undone_by),
        if(_step = 2, _undone_by, null) as undone_by,
        if(_place < 12, _place + 1, {COMMIT - 62}L + _place) as commit_id,
        array({", ".join(map(literal, _KINDS))})[(_place + _shift) % {len(_KINDS)}] as kind,
        array('inflight', 'completed', 'rolled_back')[_step] as state,
        timestamp_seconds(1772614800 + _place * 5 + _step) as state_at
    from told
    where _step <= array(0, 1, 1, 2)[(_place + _place div {len(_KINDS)}) % 4]
"""

#: Columns by which the rows of a table are not more than one: what queries order by has no ties
_UNIQUE = {
    "people_snapshot": ["id", "dbt_valid_from"],
    # of a key there is one row
    "existing": ["_key_hash"],
    "changed": ["_key_hash"],
    # what is in force of a log
    "logged": ["_key_hash", "_business_date"],
    # of several that came the last one stays
    "staged": ["_key_hash", "loaded_at"],
    # every row counts, but rows of one hash have the same values
    "customers_without_key": ["_row_hash"],
    # of the events that a snapshot has read one is the first
    "customers_in_sequence__log": ["_offset", "_sequence_by"],
}


class FilledRelations(EmptyRelations):
    """The same tables as files of Parquet, and views of such files."""

    def __init__(self, session: Any, folder: Path) -> None:
        super().__init__(session)
        self.folder = folder

    def table(self, relation: Any, columns: Sequence[Mapping[str, Any]]) -> None:
        """Make a table with rows."""
        name = relation.identifier
        types = {column["name"]: column["type"] for column in columns}
        rows = self._rows(name, types)
        rows.coalesce(1).createOrReplaceTempView("rows_of_a_table")
        # entities of one name take turns; to replace a table is not every catalogue's to do
        self.session.sql(f"drop table if exists shop.{name}")
        self.session.sql(f"create table shop.{name} using parquet as select * from rows_of_a_table")

    def log(self, entity: Any) -> None:
        """Make a log with rows."""
        self.table(entity.relations["log"], self.macros["log_columns"](entity.roles))

    def view(self, name: str, columns: Mapping[str, str]) -> None:
        """Make a view with rows."""
        rows = self._lines() if name == "arrived_lines" else self._rows(name, columns)
        self._keep(name, rows)

    def derived(self, name: str, query: str) -> None:
        """Make a view of what a query says once, so that others do not each ask it again."""
        self._keep(name, self.session.sql(query))

    def existing(self, entity: Any) -> str:
        """Return what a load of events finds, forward: the rows of the current table."""
        cfg, roles, relations = entity.cfg, entity.roles, entity.relations
        make = self.macros["existing_events_sql"]
        staged = "staged_keys" if roles["keyed"] else "staged_copies"
        return str(make(cfg, roles, relations, staged, EVENT_LOAD))

    def _keep(self, name: str, rows: Any) -> None:
        path = str(self.folder / name)
        rows.coalesce(1).write.mode("overwrite").parquet(path)
        self.session.read.parquet(path).createOrReplaceTempView(name)

    def _rows(self, name: str, types: Mapping[str, str]) -> Any:
        given = {**_GIVEN, **self._given_of_events(name, types), **_GIVEN_OF.get(name, {})}
        here = {column: values for column, values in given.items() if column in types}
        # of one part, so that the same rows are left on any machine
        rows = self.session.sql(nasty_rows(types, _COUNTS.get(name, _COUNT), here)).coalesce(1)
        if name == "tidemark_commits":
            number = functions.monotonically_increasing_id()
            rows.withColumn("_number", number).createOrReplaceTempView("numbered_rows")
            return self.session.sql(_STATES_OF_ROWS)
        is_past = functions.expr(_IS_PAST if "_superseded_by" in types else "false")
        rows = rows.withColumn("_is_past", is_past)
        unique = _UNIQUE.get(name, _unique_of(types))
        return (rows.dropDuplicates(unique) if unique else rows).drop("_is_past")

    def _given_of_events(self, name: str, types: Mapping[str, str]) -> dict[str, Sequence[str]]:
        if name.startswith("customers_") and name != "customers_scd2" and "phone" in types:
            keys = _texts(*_EVENT_KEYS, "a1")
            given: dict[str, Sequence[str]] = {"_key_hash": keys, "id": [f"{of}L" for of in _IDS]}
            if name.endswith("__staging"):
                given["_operation"] = _STAGED_OPERATIONS
            return given
        return {}

    def _lines(self) -> Any:
        lines = [(line, number) for number, line in enumerate(_arrived_lines(), 1)]
        return self.session.createDataFrame(lines, "value string, _landing_num bigint")


def _unique_of(types: Mapping[str, str]) -> list[str]:
    if "_event_id" in types and "_superseded_by" in types:
        return ["_event_id"]
    if "_superseded_by" in types:
        return ["_key_hash", "_business_date", "_is_past"]
    # of a key there is one row in current tables
    is_current = "_eff_start_date" in types and "_changed_columns" not in types
    return ["_key_hash"] if is_current else []


def _arrived_lines() -> list[str]:
    """Lines of change events, of Debezium and canonical ones, and such as are none."""
    chance = random.Random(46)
    lines = [*TEXTS]
    for number in range(_LINES):
        lines.append(_debezium_line(chance, number))
        lines.append(_canonical_line(chance, number))
    # some come again
    lines += chance.sample(lines, 12)
    return lines


def _row(chance: random.Random) -> dict[str, Any]:
    row = {
        "id": chance.choice([*map(int, _IDS), *_IDS, None, "x", 2**63]),
        "full name": chance.choice([None, "ann", "", *TEXTS]),
        "phone": chance.choice([None, "1", "__debezium_unavailable_value"]),
        "balance": chance.choice([None, "1.50", 1.5, "99999999.99", "-1e2", "1e400", "AP8="]),
    }
    for name in chance.sample([*row][1:], chance.choice([0, 0, 1])):
        del row[name]
    return row


def _debezium_line(chance: random.Random, number: int) -> str:
    operation = chance.choice([*"ccuuuddr", "r", "t", "m"])
    connector = chance.choice(["postgresql", "mysql", "sqlserver", "oracle"])
    row = _row(chance)
    other = {**_row(chance), "id": chance.choice([row["id"], row["id"], 2])}
    event = {
        "before": other if operation in "ud" and chance.random() < 0.8 else None,
        "after": row if operation in "cur" else None,
        "op": operation,
        "ts_ms": 1772614800000 + number,
        "source": {
            "connector": connector,
            "name": "shop",
            "db": "shop",
            "schema": "shop",
            "table": chance.choice(["customers"] * 5 + ["orders"]),
            "ts_ms": chance.choice([None, 1772614800000, 1772614800000 + number]),
            "snapshot": chance.choice(["false", "true", "last"]) if operation == "r" else "false",
            "txId": number // 3,
            "lsn": number,
            "file": "bin.000003",
            "pos": number * 10,
            "row": 0,
            "commit_lsn": f"00000027:00000ac0:{number:04x}",
            "change_lsn": chance.choice([None, "00000027:00000ac0:0002"]),
            "scn": str(number),
            "ssn": 0,
        },
        "transaction": chance.choice([None, {"id": "t1", "total_order": number}]),
    }
    wrapped = {"payload": event} if chance.random() < 0.2 else event
    return json.dumps(wrapped, ensure_ascii=chance.random() < 0.5)


def _canonical_line(chance: random.Random, number: int) -> str:
    event = {
        "_table": chance.choice(["shop.customers"] * 5 + ["orders"]),
        "_operation": chance.choice(["INSERT", "UPDATE", "update", "DELETE", "TRUNCATE", None]),
        "_sequence_num": chance.choice([None, number, str(number), "x", 2**63]),
        "_event_time": chance.choice([None, "2026-03-04T09:00:00Z", 1772614800000123, "0001"]),
        "_offset": chance.choice([None, f"o{number}"]),
        **_row(chance),
    }
    if chance.random() < 0.3:
        event |= {f"_before_{name}": value for name, value in _row(chance).items()}
    return json.dumps(event)
