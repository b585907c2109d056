"""Bugs that users of comparable tools reported, with canonical events; the numbers are those of the list of pitfalls.

The cases share a few entities and five runs, the days. Each case has ids and sequence numbers of its own, which begin
with its number, and says above its test what lands on which day.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pytest

from .event_entities import Event, EventEntity, ddl, delete, insert, truncate, update

Row = tuple[Any, ...]
Day = Sequence[Event | str]
Days = tuple[Day, Day, Day]
"""What lands on days 1, 2 and 3."""

PEOPLE = {"id": "int", "name": "string"}
BACKFILL = "2026-03-04"
"""Business date that day 2 is run with; the other days have none."""


def person(number: int, name: str | None, **more: Any) -> dict[str, Any]:
    return {"id": number, "name": name, **more}


def key(number: int) -> dict[str, Any]:
    return {"id": number}


# ── 23: the same row twice, a delete, another row: in order, and with the delete first ────────────────────────────────
OVERLAP: Days = (
    [
        insert(person(2301, "a"), sequence_num=2310),
        update(person(2301, "a"), sequence_num=2311),
        delete(key(2302), sequence_num=2362),
    ],
    [
        delete(key(2301), sequence_num=2312),
        insert(person(2302, "b"), sequence_num=2370),
        update(person(2302, "a"), sequence_num=2361),
    ],
    [
        insert(person(2301, "b"), sequence_num=2320),
        insert(person(2302, "a"), sequence_num=2360),
    ],
)


def test_23_no_overlapping_intervals(days: list[Tables]) -> None:
    # day 1
    assert days[0].current("people", 2301, 2302) == [(2301, "a")]
    assert days[0].intervals("people", 2301, 2302) == [(2301, "a", 2310, None)]
    # day 2
    assert days[1].current("people", 2301, 2302) == [(2302, "b")]
    assert days[1].intervals("people", 2301, 2302) == [
        (2301, "a", 2310, 2312),
        (2302, "a", 2361, 2362),
        (2302, "b", 2370, None),
    ]
    # day 3
    assert days[2].current("people", 2301, 2302) == [(2301, "b"), (2302, "b")]
    assert days[2].intervals("people", 2301, 2302) == [
        (2301, "a", 2310, 2312),
        (2301, "b", 2320, None),
        (2302, "a", 2360, 2362),
        (2302, "b", 2370, None),
    ]


# ── 25: a delete, then the insert that it deleted, then an update from between ────────────────────────────────────────
TOMBSTONE: Days = (
    [delete(key(2501), sequence_num=2530), delete(key(2502), sequence_num=2531)],
    [insert(person(2501, "a"), sequence_num=2510)],
    [update(person(2501, "b"), sequence_num=2520), insert(person(2502, "c"), sequence_num=2540)],
)


def test_25_late_events_do_not_resurrect(days: list[Tables]) -> None:
    for day in days[:2]:
        assert day.current("people", 2501, 2502) == []
    assert days[0].intervals("people", 2501, 2502) == []
    assert days[1].intervals("people", 2501, 2502) == [(2501, "a", 2510, 2530)]
    # day 3: only what is newer than the delete is there
    assert days[2].current("people", 2501, 2502) == [(2502, "c")]
    assert days[2].intervals("people", 2501, 2502) == [
        (2501, "a", 2510, 2520),
        (2501, "b", 2520, 2530),
        (2502, "c", 2540, None),
    ]


# ── 29, 30: several changes of a key in one batch and at one moment ───────────────────────────────────────────────────
MOMENT = "2026-03-04T08:00:00.000Z"
ONE_MOMENT: Days = (
    [
        insert(person(2901, "a"), sequence_num=2901, event_time=MOMENT),
        delete(key(2901), sequence_num=2902, event_time=MOMENT),
        insert(person(3001, "first"), sequence_num=3001, event_time=MOMENT),
        delete(key(3001), sequence_num=3002, event_time=MOMENT),
        insert(person(3001, "last"), sequence_num=3003, event_time=MOMENT),
        # the same in a file that is out of order
        insert(person(3002, "last"), sequence_num=3013, event_time=MOMENT),
        delete(key(3002), sequence_num=3012, event_time=MOMENT),
        insert(person(3002, "first"), sequence_num=3011, event_time=MOMENT),
    ],
    [],
    [],
)


def test_29_insert_and_delete_at_one_moment(days: list[Tables]) -> None:
    assert days[0].current("people", 2901) == []
    assert days[0].intervals("people", 2901) == [(2901, "a", 2901, 2902)]


def test_30_insert_delete_insert_at_one_moment(days: list[Tables]) -> None:
    assert days[0].current("people", 3001, 3002) == [(3001, "last"), (3002, "last")]
    assert days[0].intervals("people", 3001, 3002) == [
        (3001, "first", 3001, 3002),
        (3001, "last", 3003, None),
        (3002, "first", 3011, 3012),
        (3002, "last", 3013, None),
    ]


# ── 34: a key changes, as delete and insert, or as an update with the key before; swap and chain in one batch ─────────
KEY_CHANGES: Days = (
    [
        insert(person(3401, "pair"), sequence_num=3401),
        insert(person(3403, "before"), sequence_num=3402),
        insert(person(3411, "one"), sequence_num=3403),
        insert(person(3412, "two"), sequence_num=3404),
        insert(person(3421, "chain"), sequence_num=3405),
    ],
    [
        delete(key(3401), sequence_num=3441, transaction_id="pair"),
        insert(person(3402, "pair"), sequence_num=3442, transaction_id="pair"),
        update(key(3404), before=key(3403), sequence_num=3443, transaction_id="before"),
        update(person(3412, "one"), key(3411), sequence_num=3444, transaction_id="swap"),
        update(person(3411, "two"), key(3412), sequence_num=3445, transaction_id="swap"),
        update(person(3422, "chain"), key(3421), sequence_num=3446, transaction_id="chain"),
        update(key(3423), before=key(3422), sequence_num=3447, transaction_id="chain"),
    ],
    # a key that a move has left is free again
    [insert(person(3421, "new"), sequence_num=3450)],
)


def test_34_key_changes(days: list[Tables]) -> None:
    ids = range(3401, 3424)
    assert days[1].current("people", *ids) == [
        (3402, "pair"),
        (3404, "before"),
        (3411, "two"),
        (3412, "one"),
        (3423, "chain"),
    ]
    assert days[2].current("people", 3421, 3422, 3423) == [(3421, "new"), (3423, "chain")]
    assert days[2].intervals("people", *ids) == [
        (3401, "pair", 3401, 3441),
        (3402, "pair", 3442, None),
        (3403, "before", 3402, 3443),
        (3404, "before", 3443, None),
        (3411, "one", 3403, 3444),
        (3411, "two", 3445, None),
        (3412, "one", 3444, None),
        (3412, "two", 3404, 3444),
        (3421, "chain", 3405, 3446),
        (3421, "new", 3450, None),
        (3422, "chain", 3446, 3447),
        (3423, "chain", 3447, None),
    ]


# ── 36: what is no change of this table ───────────────────────────────────────────────────────────────────────────────
OTHERS: Days = (
    [
        {"_operation": "COMMIT", "_transaction_id": "t", "_sequence_num": 3601},
        insert(person(3601, "of another table"), sequence_num=3602, table="pets"),
        insert(person(3602, "of another database"), sequence_num=3603, database="attic"),
    ],
    [],
    [],
)


def test_36_commits_and_other_tables(days: list[Tables]) -> None:
    assert days[0].current("people", 3601, 3602) == []


# ── 41: the row with the highest sequence number is deleted; then a run without events, then all of them again ────────
HIGHEST: Days = (
    [insert(person(4101, "a"), sequence_num=4101), insert(person(4102, "b"), sequence_num=4102)],
    [update(person(4101, "c"), sequence_num=4103)],
    [delete(key(4102), sequence_num=4199)],
)


def test_41_the_mark_does_not_go_back(days: list[Tables]) -> None:
    assert days[1].current("people", 4101, 4102) == [(4101, "c"), (4102, "b")]
    assert days[2].current("people", 4101, 4102) == [(4101, "c")]
    # day 4: nothing has landed, nothing is written
    for entity in ENTITIES:
        assert days[3].rows[entity] == days[2].rows[entity]
        assert days[3].versions[entity] == days[2].versions[entity]
    # day 5: everything of days 1 to 3 again, shuffled
    for entity in ("people", "regions"):
        assert days[4].rows[entity] == days[2].rows[entity]
        assert days[4].history[entity] == days[2].history[entity]
        assert days[4].scd2[entity] == days[2].scd2[entity]


# ── 32, 33, 26: rows of a table with partitions move to another one, and are deleted by key alone ─────────────────────
REGIONS: Days = (
    [
        insert(person(3301, "a", region="EU"), sequence_num=3301),
        insert(person(3302, "b", region="EU"), sequence_num=3302),
        insert(person(3303, "c", region=None), sequence_num=3303),
        insert(person(3304, "d", region="EU"), sequence_num=3304),
    ],
    [
        update(person(3301, "a", region="US"), sequence_num=3311),
        update({"id": 3302, "region": None}, sequence_num=3312),
        update({"id": 3303, "region": "US"}, sequence_num=3313),
        delete(key(3304), sequence_num=3314),
    ],
    [delete(key(3301), sequence_num=3321), update(person(3302, "B"), sequence_num=3322)],
)


def test_33_update_moves_a_row_to_another_partition(days: list[Tables]) -> None:
    assert days[1].current("regions") == [
        (3301, "a", "US"),
        (3302, "b", None),
        (3303, "c", "US"),
    ]


def test_32_delete_by_key_alone_in_a_table_with_partitions(days: list[Tables]) -> None:
    assert days[2].current("regions") == [(3302, "B", None), (3303, "c", "US")]


def test_26_a_business_date_does_not_stick(days: list[Tables]) -> None:
    dates = {row[-1]: str(row[-2]) for row in days[2].history["regions"]}
    assert dates[3311] == dates[3314] == BACKFILL
    assert BACKFILL not in (dates[3301], dates[3321])


# ── 37: truncate, then inserts in the same batch; inserts, truncate and inserts ───────────────────────────────────────
TRUNCATED: Days = (
    [insert(person(1, "a")), insert(person(2, "b"))],
    [truncate(), insert(person(1, "c")), insert(person(3, "d"))],
    [insert(person(4, "e")), update(person(1, "f")), truncate(), insert(person(3, "d"))],
)


def test_37_truncate_then_inserts_in_one_batch(days: list[Tables]) -> None:
    assert days[0].current("truncated") == [(1, "a"), (2, "b")]
    assert days[1].current("truncated") == [(1, "c"), (3, "d")]
    assert days[2].current("truncated") == [(3, "d")]
    # in order of the log, a row per version; closed ones have an end
    versions = [
        (number, name, until is not None) for number, name, _, until in days[2].scd2["truncated"]
    ]
    assert sorted(versions) == [
        (1, "a", True),
        (1, "c", True),
        (1, "f", True),
        (2, "b", True),
        (3, "d", False),
        (3, "d", True),
        (4, "e", True),
    ]


# ── 38: a new column, and an update of it in the same batch; a table whose first event is a delete ────────────────────
SCHEMA = [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}]
WIDENED: Days = (
    [
        ddl("CREATE_TABLE", SCHEMA, primary_key=["id"]),
        insert(person(1, "a")),
        insert(person(2, "b")),
    ],
    [
        ddl("ALTER_TABLE", [*SCHEMA, {"name": "note", "type": "string"}], primary_key=["id"]),
        update(person(1, "a", note="x")),
        insert(person(3, "c", note="y")),
    ],
    [update({"id": 2, "note": "z"})],
)
DELETE_FIRST: Days = ([delete(key(1))], [insert(person(1, "a")), insert(person(2, None))], [])


def test_38_add_column_then_update_it_in_one_batch(days: list[Tables]) -> None:
    assert days[0].current("widened") == [(1, "a"), (2, "b")]
    assert days[1].notes == [(1, "a", "x"), (2, "b", None), (3, "c", "y")]
    assert days[2].notes == [(1, "a", "x"), (2, "b", "z"), (3, "c", "y")]
    # the new column alone is no change of row 2
    changes = [[row[0] for row in day.history["widened"]].count(2) for day in days[:3]]
    assert changes == [1, 1, 2]


def test_38_first_event_is_a_delete(days: list[Tables]) -> None:
    assert days[0].current("delete_first") == []
    assert days[1].current("delete_first") == [(1, "a"), (2, None)]


# ── 39: values and lines that cannot be read ──────────────────────────────────────────────────────────────────────────
MEASURES = {"id": "int", "n": "int", "ok": "boolean"}
BROKEN_LINE = '{"_operation": "INSERT", "_database": "shop", "_table": "measures", "id": 5, "n":'
UNREADABLE: Days = (
    [
        insert({"id": 1, "n": 0, "ok": False}),
        insert({"id": 2, "n": "twelve", "ok": True}),
        insert({"id": 3, "n": 3, "ok": "perhaps"}),
        insert({"id": 4, "n": None, "ok": None}),
        BROKEN_LINE,
    ],
    [update({"id": 1, "n": "one"}), update({"id": 4, "n": 4})],
    [],
)


def test_39_unreadable__quarantine(days: list[Tables]) -> None:
    assert days[0].current("measures") == [(1, 0, False), (4, None, None)]
    assert days[1].current("measures") == [(1, 0, False), (4, 4, None)]
    # (day, reason, part of the raw text)
    for day, reason, text in [
        (0, "cast_failed: n", '"twelve"'),
        (0, "cast_failed: ok", '"perhaps"'),
        (0, "unreadable", BROKEN_LINE),
        (1, "cast_failed: n", '"one"'),
    ]:
        found = [raw for why, raw in days[day].rejects if why == reason and text in raw]
        assert len(found) == 1, (reason, text, days[day].rejects)
    assert [len(day.rejects) for day in days] == [3, 4, 4, 4, 4]


def test_39_unreadable__fail(module_project: Any) -> None:
    strict = EventEntity(module_project, "strict", MEASURES)
    good, bad = {"id": 1, "n": 0, "ok": False}, {"id": 2, "n": "twelve", "ok": True}
    file = strict.land([insert(good), insert(bad)]).name
    result = strict.run(expect_pass=False)
    for text in ("cast_failed: n", "nothing was written", "on_reject: quarantine"):
        assert text in result.error
    assert not strict.exists() and not strict.exists("__log") and strict.commits() == []
    # mended: nothing was skipped
    strict.land([insert(good), insert({**bad, "n": 12})], file)
    strict.run()
    assert strict.rows("id, n, ok") == [(1, 0, False), (2, 12, True)]


# ── the days ──────────────────────────────────────────────────────────────────────────────────────────────────────────
PEOPLE_CASES = (OVERLAP, TOMBSTONE, ONE_MOMENT, KEY_CHANGES, OTHERS, HIGHEST)

ENTITIES: dict[str, tuple[dict[str, str], Sequence[Day], dict[str, Any]]] = {
    "people": (
        PEOPLE,
        [list(chain(*events)) for events in zip(*PEOPLE_CASES, strict=True)],
        {"sequence_by": ["_sequence_num"]},
    ),
    "regions": (
        {**PEOPLE, "region": "string"},
        REGIONS,
        {"sequence_by": ["_sequence_num"], "config": {"partition_by": "region"}},
    ),
    "truncated": (PEOPLE, TRUNCATED, {}),
    "widened": (PEOPLE, WIDENED, {}),
    "delete_first": (PEOPLE, DELETE_FIRST, {}),
    "measures": (MEASURES, UNREADABLE, {"on_reject": "quarantine"}),
}
"""Name → columns, what lands on days 1 to 3, settings."""

WITH_INTERVALS = ("people", "regions", "truncated")


@dataclass
class Tables:
    """What the tables hold after a day, by entity."""

    rows: dict[str, list[Row]]
    history: dict[str, list[Row]]  # columns, business date, sequence number
    scd2: dict[str, list[Row]]  # columns, from, to
    versions: dict[str, list[int]]  # of current and log
    rejects: list[Row]  # of measures: reason, raw text
    notes: list[Row]  # of widened, with its new column

    def current(self, entity: str, *ids: int) -> list[Row]:
        return [row for row in self.rows[entity] if not ids or row[0] in ids]

    def intervals(self, entity: str, *ids: int) -> list[Row]:
        return [row for row in self.scd2[entity] if row[0] in ids]


@pytest.fixture(scope="module")
def days(module_project: Any) -> list[Tables]:
    """The tables after each of the five days."""
    entities = {
        name: EventEntity(module_project, name, columns, **settings)
        for name, (columns, _, settings) in ENTITIES.items()
    }
    models = [*entities, *(entities[name].add_scd2_view() for name in WITH_INTERVALS)]
    found = []
    for day in range(5):
        for name, (_, landings, _) in ENTITIES.items():
            if day < 3 and landings[day]:
                entities[name].land(landings[day])
            elif day == 4 and name in ("people", "regions"):
                entities[name].land(
                    random.Random(41).sample(again := [*chain(*landings)], len(again))
                )
        vars = {"business_date": BACKFILL} if day == 1 else None
        module_project.dbt("run", "--select", *models, vars=vars)
        found.append(read_tables(entities, with_notes=day > 0))
    return found


def read_tables(entities: dict[str, EventEntity], *, with_notes: bool) -> Tables:
    tables = Tables({}, {}, {}, {}, [], [])
    for name, entity in entities.items():
        columns = ", ".join(entity.columns)
        tables.rows[name] = entity.rows(columns)
        tables.history[name] = entity.rows(f"{columns}, _business_date, _sequence_num", "__history")
        tables.versions[name] = [
            entity.project.sql(f"describe history {name}{table} limit 1")[0].version
            for table in ("", "__log")
        ]
    for name in WITH_INTERVALS:
        tables.scd2[name] = entities[name].intervals(", ".join(entities[name].columns))
    tables.rejects = entities["measures"].rows("_reject_reason, _raw_payload", "__rejects")
    if with_notes:
        tables.notes = entities["widened"].rows("id, name, note")
    return tables
