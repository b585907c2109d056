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

pytestmark = (
    pytest.mark.slow
)  # what the random streams show in the default ring is told here case by case

Row = tuple[Any, ...]
Day = Sequence[Event | str]
Days = Sequence[Day]
"""What lands on days 1, 2, 3 and so on."""

PEOPLE = {"id": "int", "name": "string", "region": "string"}
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
    assert days[4].rows["people"] == days[2].rows["people"]
    assert days[4].history["people"] == days[2].history["people"]
    assert days[4].scd2["people"] == days[2].scd2["people"]
    assert days[4].regions == days[2].regions


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
    assert days[1].regions == [
        (3301, "a", "US"),
        (3302, "b", None),
        (3303, "c", "US"),
    ]


def test_32_delete_by_key_alone_in_a_table_with_partitions(days: list[Tables]) -> None:
    assert days[2].regions == [(3302, "B", None), (3303, "c", "US")]


def test_26_a_business_date_does_not_stick(days: list[Tables]) -> None:
    dates = {row[-1]: str(row[-2]) for row in days[2].history["people"]}
    assert dates[3311] == dates[3314] == BACKFILL
    assert BACKFILL not in (dates[3301], dates[3321])


# ── 37, 38: a table whose first event is a delete; truncate, then inserts in the same batch; inserts, truncate, inserts ─
TRUNCATED: Days = (
    [delete(key(1))],
    [insert(person(1, "a")), insert(person(2, None))],
    [truncate(), insert(person(1, "c")), insert(person(3, "d"))],
    [],
    [insert(person(4, "e")), update(person(1, "f")), truncate(), insert(person(3, "d"))],
)


def test_38_first_event_is_a_delete(days: list[Tables]) -> None:
    assert days[0].current("truncated") == []
    assert days[1].current("truncated") == [(1, "a"), (2, None)]


def test_37_truncate_then_inserts_in_one_batch(days: list[Tables]) -> None:
    assert days[2].current("truncated") == [(1, "c"), (3, "d")]
    assert days[4].current("truncated") == [(3, "d")]
    # in order of the log, a row per version; closed ones have an end
    versions = [
        (number, name, until is not None) for number, name, _, until in days[4].scd2["truncated"]
    ]
    assert sorted(versions) == [
        (1, "a", True),
        (1, "c", True),
        (1, "f", True),
        (2, None, True),
        (3, "d", False),
        (3, "d", True),
        (4, "e", True),
    ]


# ── 38: a new column, and an update of it in the same batch ───────────────────────────────────────────────────────────
THINGS = {"id": "int", "name": "string", "n": "int", "ok": "boolean"}
SCHEMA = [{"name": name, "type": type_} for name, type_ in THINGS.items()]
WIDENED: Days = (
    [
        ddl("CREATE_TABLE", SCHEMA, primary_key=["id"]),
        insert(person(3801, "a")),
        insert(person(3802, "b")),
    ],
    [
        ddl("ALTER_TABLE", [*SCHEMA, {"name": "note", "type": "string"}], primary_key=["id"]),
        update(person(3801, "a", note="x")),
        insert(person(3803, "c", note="y")),
    ],
    [update({"id": 3802, "note": "z"})],
)


def test_38_add_column_then_update_it_in_one_batch(days: list[Tables]) -> None:
    assert days[0].current("things", 3801, 3802) == [(3801, "a"), (3802, "b")]
    assert days[1].notes == [(3801, "a", "x"), (3802, "b", None), (3803, "c", "y")]
    assert days[2].notes == [(3801, "a", "x"), (3802, "b", "z"), (3803, "c", "y")]
    # the new column alone is no change of row 2
    changes = [[row[0] for row in day.history["things"]].count(3802) for day in days[:3]]
    assert changes == [1, 1, 2]


# ── 39: values and lines that cannot be read ──────────────────────────────────────────────────────────────────────────
BROKEN_LINE = '{"_operation": "INSERT", "_database": "shop", "_table": "things", "id": 5, "n":'
UNREADABLE: Days = (
    [
        insert({"id": 3901, "n": 0, "ok": False}),
        insert({"id": 3902, "n": "twelve", "ok": True}),
        insert({"id": 3903, "n": 3, "ok": "perhaps"}),
        insert({"id": 3904, "n": None, "ok": None}),
        BROKEN_LINE,
        # a tombstone is no event
        "null",
    ],
    [update({"id": 3901, "n": "one"}), update({"id": 3904, "n": 4})],
    [],
)


def test_39_unreadable__quarantine(days: list[Tables]) -> None:
    assert days[0].measures == [(3901, 0, False), (3904, None, None)]
    assert days[1].measures == [(3901, 0, False), (3904, 4, None)]
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


# the same events in a table that takes none that it cannot read; on day 2 the same file comes mended
GOOD, BAD = {"id": 1, "n": 0, "ok": False}, {"id": 2, "n": "twelve", "ok": True}


def test_39_unreadable__fail(days: list[Tables]) -> None:
    for text in ("cast_failed: n", "nothing was written", "on_reject: quarantine"):
        assert text in days[0].strict_error
    assert days[0].strict is None
    # mended: nothing was skipped
    assert days[1].strict_error == ""
    assert days[1].strict == [(1, 0, False), (2, 12, True)]


# ── the days ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def together(*cases: Days) -> Days:
    """Cases whose events land in the same files."""
    return [list(chain(*events)) for events in zip(*cases, strict=True)]


PEOPLE_CASES = together(OVERLAP, TOMBSTONE, ONE_MOMENT, KEY_CHANGES, OTHERS, HIGHEST, REGIONS)

ENTITIES: dict[str, tuple[dict[str, str], Days, dict[str, Any]]] = {
    "people": (
        PEOPLE,
        PEOPLE_CASES,
        {"sequence_by": ["_sequence_num"], "config": {"partition_by": "region"}},
    ),
    "truncated": ({"id": "int", "name": "string"}, TRUNCATED, {}),
    "things": (THINGS, together(WIDENED, UNREADABLE), {"on_reject": "quarantine"}),
}
"""Name → columns, what lands on each day, settings."""

WITH_INTERVALS = ("people", "truncated")


@dataclass
class Tables:
    """What the tables hold after a day, by entity."""

    rows: dict[str, list[Row]]  # id, name
    history: dict[str, list[Row]]  # id, name, business date, sequence number
    scd2: dict[str, list[Row]]  # id, name, from, to
    versions: dict[str, list[int]]  # of current and log
    regions: list[Row]  # of people, with their partition
    measures: list[Row]  # of things: id, n, ok
    rejects: list[Row]  # of things: reason, raw text
    notes: list[Row]  # of things, with their new column
    strict: list[Row] | None  # None if nothing of it is there
    strict_error: str

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
    strict = entities["strict"] = EventEntity(module_project, "strict", THINGS)
    views = [entities[name].add_scd2_view() for name in WITH_INTERVALS]
    found = []
    for day in range(5):
        for name, (_, landings, _) in ENTITIES.items():
            if landing := landings[day] if day < len(landings) else ():
                entities[name].land(landing)
        if day == 4:
            again = [*chain(*PEOPLE_CASES)]
            entities["people"].land(random.Random(41).sample(again, len(again)))
        if day < 2:
            strict.land([insert(GOOD), insert(BAD if day == 0 else {**BAD, "n": 12})], "1.jsonl")
        result = module_project.dbt(
            "run",
            "--select",
            *(entities if day < 2 else ENTITIES),
            *(views if day == 0 else ()),
            vars={"business_date": BACKFILL} if day == 1 else None,
            expect_pass=day > 0,
        )
        failed = {name for name, status in result.statuses.items() if status == "error"}
        assert failed == ({"strict"} if day == 0 else set()), result.error
        found.append(read_tables(entities, result.error))
    return found


def read_tables(entities: dict[str, EventEntity], error: str) -> Tables:
    people, things, strict = (entities[name] for name in ("people", "things", "strict"))
    # until day 2 there is no such column
    noted = "note" in people.project.session.table(f"`{people.project.schema}`.things").columns
    left = strict.exists() or strict.exists("__log") or strict.commits()
    return Tables(
        rows={name: entities[name].rows("id, name") for name in ENTITIES},
        history={
            name: entities[name].rows("id, name, _business_date, _sequence_num", "__history")
            for name in ENTITIES
        },
        scd2={name: entities[name].intervals("id, name") for name in WITH_INTERVALS},
        versions={
            name: [
                entities[name].project.sql(f"describe history {name}{table} limit 1")[0].version
                for table in ("", "__log")
            ]
            for name in ENTITIES
        },
        regions=people.rows("id, name, region", where="id between 3301 and 3309"),
        measures=things.rows("id, n, ok", where="id between 3901 and 3909"),
        rejects=things.rows("_reject_reason, _raw_payload", "__rejects"),
        notes=things.rows("id, name, note", where="id < 3900") if noted else [],
        strict=strict.rows("id, n, ok") if left else None,
        strict_error=error,
    )
