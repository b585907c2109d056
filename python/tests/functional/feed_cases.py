"""Cases of change feeds and net changes, drawn from what other tools document and test, in our terms.

A case is a few keys, what happens to them batch by batch, and what a range then shows. All cases live side by side in
two entities, one of full extracts and one of change events, whose key is (the case, an id); batch n of all cases is
one load. Batches count from 1, a range (since, until] is told in batches, 0 is the beginning.

| batch | extracts | change events |
|---|---|---|
| 1 | 2026-01-01 | in order |
| 2 | 2026-01-02 | in order |
| 3 | 2026-01-04 | in order |
| 4 | 2026-01-04 again, corrected | late and redelivered events only |
| 5 | 2026-01-03, late | |

Which tool a case comes from is its origin: Phoenix CDC (its JSON images, CDCQueryIT), Iceberg's changelog view
(create_changelog_view, TestChangelogIterator, apache/iceberg#14851), Delta's change data feed (DeltaCDCSuite,
delta-io/delta#1963, #1274), Hudi's incremental queries (apache/hudi#7160, #11947, RFC-83).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = tuple[Any, ...]
"""v1, v2, note"""

COLUMNS = ("v1", "v2", "note")

EXTRACT_DATES = ("2026-01-01", "2026-01-02", "2026-01-04", "2026-01-04", "2026-01-03")
EVENT_BATCHES = 4
"""They are loaded with the first of these dates."""


@dataclass(frozen=True)
class Shown:
    """A row that a range shows.

    Attributes:
        batch: The batch of its commit.
        id: The key.
        event_type: insert, update, delete.
        change: The `change` of its JSON.
        pre: pre_image, None if there is none.
        post: post_image, None if there is none.
    """

    batch: int
    id: int
    event_type: str
    change: Mapping[str, Any]
    pre: Row | None
    post: Row | None


def inserted(batch: int, id: int, row: Row) -> Shown:
    """An insert: all columns are its change, NULLs too."""
    return Shown(batch, id, "insert", dict(zip(COLUMNS, row, strict=True)), None, row)


def updated(batch: int, id: int, pre: Row, post: Row, **change: Any) -> Shown:
    """An update; `change` says what changed."""
    return Shown(batch, id, "update", change, pre, post)


def deleted(batch: int, id: int, row: Row) -> Shown:
    """A delete of a row."""
    return Shown(batch, id, "delete", {}, row, None)


@dataclass(frozen=True)
class ExtractCase:
    """Extracts: id → row of each batch. Batches left out at the end bring what they must for nothing to happen."""

    name: str
    origin: str
    batches: Sequence[Mapping[int, Row]]
    feed: Sequence[Shown]
    net: Sequence[Shown]
    since: int = 0
    until: int = 5

    def extract(self, batch: int) -> Mapping[int, Row]:
        """The rows of a batch: the date after keeps the rows, the date again too, the late one has those before it."""
        if batch <= len(self.batches):
            return self.batches[batch - 1]
        return self.extract({2: 1, 3: 2, 4: 3, 5: 2}[batch])


@dataclass(frozen=True)
class SourceEvent:
    """An event of the source.

    Attributes:
        operation: INSERT, UPDATE or DELETE.
        id: The key, of an UPDATE or INSERT after it.
        columns: What the event supplies.
        old_id: The key before, if the event changes it.
        after: Late: the (batch, number from 0) of the event that it came right after in the source.
    """

    operation: str
    id: int
    columns: Mapping[str, Any] = field(default_factory=dict)
    old_id: int | None = None
    after: tuple[int, int] | None = None


@dataclass(frozen=True)
class Again:
    """The event of this (batch, number from 0), delivered again."""

    event: tuple[int, int]


def put(id: int, **columns: Any) -> SourceEvent:
    """INSERT."""
    return SourceEvent("INSERT", id, columns)


def change(id: int, after: tuple[int, int] | None = None, **columns: Any) -> SourceEvent:
    """UPDATE of these columns."""
    return SourceEvent("UPDATE", id, columns, after=after)


def move(old_id: int, id: int, **columns: Any) -> SourceEvent:
    """UPDATE of the key."""
    return SourceEvent("UPDATE", id, columns, old_id=old_id)


def remove(id: int, after: tuple[int, int] | None = None) -> SourceEvent:
    """DELETE."""
    return SourceEvent("DELETE", id, after=after)


@dataclass(frozen=True)
class EventCase:
    """Change events of each batch, in order; those of batch 4 are late or come again."""

    name: str
    origin: str
    batches: Sequence[Sequence[SourceEvent | Again]]
    feed: Sequence[Shown]
    net: Sequence[Shown]
    since: int = 0
    until: int = 4


A, B, C = (1, 10, "a"), (2, 20, "b"), (3, 30, "c")
NOTHING = (None, None, None)


EXTRACT_CASES = [
    # ── Phoenix: what the images hold ─────────────────────────────────────────────────────────────────────────────────
    ExtractCase(
        "null_columns_of_an_insert",
        "Phoenix: an upsert that names columns with NULL",
        [{3: (300, None, None)}],
        [inserted(1, 3, (300, None, None))],
        [inserted(1, 3, (300, None, None))],
    ),
    ExtractCase(
        "one_column_changes",
        "Phoenix: an upsert of one of three columns; the images are whole, the change is not",
        [{1: (100, 1000, "b")}, {1: (101, 1000, "b")}],
        [updated(2, 1, (100, 1000, "b"), (101, 1000, "b"), v1=101)],
        [updated(2, 1, (100, 1000, "b"), (101, 1000, "b"), v1=101)],
        since=1,
    ),
    ExtractCase(
        "change_to_null_and_back",
        "Phoenix: a column set to NULL is a change to NULL, not a missing one",
        [{2: (200, 2000, None)}, {2: (201, None, "x")}, {2: (201, 2000, "x")}],
        [
            updated(2, 2, (200, 2000, None), (201, None, "x"), v1=201, v2=None, note="x"),
            updated(3, 2, (201, None, "x"), (201, 2000, "x"), v2=2000),
        ],
        [updated(3, 2, (200, 2000, None), (201, 2000, "x"), v1=201, note="x")],
        since=1,
    ),
    ExtractCase(
        "insert_after_delete",
        "Phoenix: an upsert after a delete begins from nothing",
        [{1: (101, 1000, "b")}, {}, {1: (102, 1002, None)}],
        [
            inserted(1, 1, (101, 1000, "b")),
            deleted(2, 1, (101, 1000, "b")),
            inserted(3, 1, (102, 1002, None)),
        ],
        [inserted(3, 1, (102, 1002, None))],
    ),
    ExtractCase(
        "every_column_is_null",
        "Phoenix, Iceberg: a row of NULLs is a row",
        [{2: NOTHING, 4: NOTHING, 5: NOTHING}, {3: NOTHING, 4: NOTHING, 5: (None, None, "data")}],
        [
            deleted(2, 2, NOTHING),
            inserted(2, 3, NOTHING),
            updated(2, 5, NOTHING, (None, None, "data"), note="data"),
        ],
        [
            deleted(2, 2, NOTHING),
            inserted(2, 3, NOTHING),
            updated(2, 5, NOTHING, (None, None, "data"), note="data"),
        ],
        since=1,
    ),
    # ── Iceberg: carry-over rows, net changes ─────────────────────────────────────────────────────────────────────────
    ExtractCase(
        "rows_beside_a_change",
        "Iceberg: rows that are only written again are no changes",
        [{1: A, 2: B, 3: C}, {1: A, 3: C}, {1: A, 3: C, 4: A}],
        [deleted(2, 2, B), inserted(3, 4, A)],
        [deleted(2, 2, B), inserted(3, 4, A)],
        since=1,
    ),
    ExtractCase(
        "insert_then_delete_is_nothing",
        "Iceberg, net: an insert and a delete in later commits",
        [{}, {1: A}, {}],
        [inserted(2, 1, A), deleted(3, 1, A)],
        [],
    ),
    ExtractCase(
        "insert_then_update_is_an_insert",
        "Iceberg, net",
        [{}, {1: A}, {1: B}],
        [inserted(2, 1, A), updated(3, 1, A, B, v1=2, v2=20, note="b")],
        [inserted(3, 1, B)],
    ),
    ExtractCase(
        "update_then_update_is_one",
        "Iceberg, net: from the first row to the last; a column that went and came back did not change",
        [{1: (1, 10, "a")}, {1: (2, 11, "a")}, {1: (1, 12, "a")}],
        [
            updated(2, 1, (1, 10, "a"), (2, 11, "a"), v1=2, v2=11),
            updated(3, 1, (2, 11, "a"), (1, 12, "a"), v1=1, v2=12),
        ],
        [updated(3, 1, (1, 10, "a"), (1, 12, "a"), v2=12)],
        since=1,
    ),
    ExtractCase(
        "update_and_back_is_nothing",
        "Iceberg, net",
        [{1: A}, {1: B}, {1: A}],
        [
            updated(2, 1, A, B, v1=2, v2=20, note="b"),
            updated(3, 1, B, A, v1=1, v2=10, note="a"),
        ],
        [],
        since=1,
    ),
    ExtractCase(
        "update_then_delete_is_a_delete",
        "Iceberg, net: of the row that was there at the start",
        [{1: A}, {1: B}, {}],
        [updated(2, 1, A, B, v1=2, v2=20, note="b"), deleted(3, 1, B)],
        [deleted(3, 1, A)],
        since=1,
    ),
    ExtractCase(
        "delete_then_insert",
        "Iceberg, net: a delete and an insert of a key are an update; of the same row nothing",
        [{1: A, 2: C}, {}, {1: B, 2: C}],
        [deleted(2, 1, A), deleted(2, 2, C), inserted(3, 1, B), inserted(3, 2, C)],
        [updated(3, 1, A, B, v1=2, v2=20, note="b")],
        since=1,
    ),
    ExtractCase(
        "insert_carried_over_keeps_its_commit",
        "Iceberg #14851: a row that later commits only carry along belongs to the commit that brought it",
        [{}, {1: A, 2: B}, {1: A, 2: C}],
        [inserted(2, 1, A), inserted(2, 2, B), updated(3, 2, B, C, v1=3, v2=30, note="c")],
        [inserted(2, 1, A), inserted(3, 2, C)],
    ),
    # ── Delta: rows before and after, versions ────────────────────────────────────────────────────────────────────────
    ExtractCase(
        "merge_with_all_kinds",
        "Delta: an insert, an update, a delete and rows that match without a change, in one commit",
        [{1: A, 2: B, 3: C}, {1: A, 2: (2, 20, "bb"), 4: C}],
        [updated(2, 2, B, (2, 20, "bb"), note="bb"), deleted(2, 3, C), inserted(2, 4, C)],
        [updated(2, 2, B, (2, 20, "bb"), note="bb"), deleted(2, 3, C), inserted(2, 4, C)],
        since=1,
    ),
    ExtractCase(
        "range_without_its_start",
        "Delta has both ends in, Iceberg and Hudi leave the start out, as we do",
        [{1: A}, {1: A, 2: B}, {1: A, 2: B, 3: C}],
        [inserted(2, 2, B)],
        [inserted(2, 2, B)],
        since=1,
        until=2,
    ),
    ExtractCase(
        "range_of_nothing",
        "Delta, Iceberg: from a version to itself; with the start left out it is empty",
        [{1: A}, {1: B}],
        [],
        [],
        since=2,
        until=2,
    ),
    # ── Hudi: incremental pulls ───────────────────────────────────────────────────────────────────────────────────────
    ExtractCase(
        "pull_from_the_beginning",
        "Hudi: a pull from the beginning is the snapshot",
        [{1: A, 2: B}, {1: C, 2: B}, {1: C, 3: A}],
        [
            inserted(1, 1, A),
            inserted(1, 2, B),
            updated(2, 1, A, C, v1=3, v2=30, note="c"),
            deleted(3, 2, B),
            inserted(3, 3, A),
        ],
        [inserted(2, 1, C), inserted(3, 3, A)],
    ),
    # ── dates corrected and late ──────────────────────────────────────────────────────────────────────────────────────
    ExtractCase(
        "corrected_date",
        "Hudi: a commit that replaces another is told as what it does to the table",
        [{1: A, 2: B}, {1: A, 2: B}, {1: B, 3: C}, {1: A, 2: B, 3: A}],
        [
            updated(4, 1, B, A, v1=1, v2=10, note="a"),
            inserted(4, 2, B),
            updated(4, 3, C, A, v1=1, v2=10, note="a"),
        ],
        [
            updated(4, 1, B, A, v1=1, v2=10, note="a"),
            inserted(4, 2, B),
            updated(4, 3, C, A, v1=1, v2=10, note="a"),
        ],
        since=3,
    ),
    ExtractCase(
        "corrected_date_in_one_range",
        "the same, from before the date that is corrected",
        [{1: A, 2: B}, {1: A, 2: B}, {1: B, 3: C}, {1: A, 2: B}],
        [
            updated(3, 1, A, B, v1=2, v2=20, note="b"),
            deleted(3, 2, B),
            inserted(3, 3, C),
            updated(4, 1, B, A, v1=1, v2=10, note="a"),
            inserted(4, 2, B),
            deleted(4, 3, C),
        ],
        [],
        since=2,
    ),
    ExtractCase(
        "late_date_of_the_past",
        "a date loaded late changes history; what a later extract saw still stands",
        [{1: A}, {1: A}, {1: A}, {1: A}, {1: B, 2: C}],
        [],
        [],
        since=4,
    ),
    ExtractCase(
        "late_date_before_a_change",
        "Iceberg #14851 again: a net change is of the commit that changed the row last, not of one that changed its past",
        [{1: A}, {1: A}, {1: B}, {1: B}, {1: C}],
        [updated(3, 1, A, B, v1=2, v2=20, note="b")],
        [updated(3, 1, A, B, v1=2, v2=20, note="b")],
        since=2,
    ),
]


EVENT_CASES = [
    # ── Phoenix: what the images hold ─────────────────────────────────────────────────────────────────────────────────
    EventCase(
        "upsert_of_a_subset",
        "Phoenix: columns that an upsert leaves out keep their values, and are not in its change",
        [[put(1, v1=100, v2=1000, note="b")], [change(1, v1=101)]],
        [
            inserted(1, 1, (100, 1000, "b")),
            updated(2, 1, (100, 1000, "b"), (101, 1000, "b"), v1=101),
        ],
        [inserted(2, 1, (101, 1000, "b"))],
    ),
    EventCase(
        "columns_left_out_of_an_insert",
        "Phoenix: the post-image of an insert has every column",
        [[put(2, v1=200, v2=2000)]],
        [inserted(1, 2, (200, 2000, None))],
        [inserted(1, 2, (200, 2000, None))],
    ),
    EventCase(
        "delete_and_delete_again",
        "Phoenix tells a delete of nothing too; for us it is none",
        [[put(1, v1=1, v2=10, note="a")], [remove(1), remove(1)], [remove(1)]],
        [deleted(2, 1, A)],
        [deleted(2, 1, A)],
        since=1,
    ),
    EventCase(
        "upsert_after_delete",
        "Phoenix: nothing of the deleted row comes back",
        [
            [put(1, v1=101, v2=1000, note="b")],
            [remove(1)],
            [put(1, v1=102, v2=1002)],
        ],
        [deleted(2, 1, (101, 1000, "b")), inserted(3, 1, (102, 1002, None))],
        [updated(3, 1, (101, 1000, "b"), (102, 1002, None), v1=102, v2=1002, note=None)],
        since=1,
    ),
    EventCase(
        "change_to_null",
        "Phoenix: set to NULL, told as NULL",
        [[put(2, v1=200, v2=2000, note="b")], [change(2, v1=201, v2=None)]],
        [updated(2, 2, (200, 2000, "b"), (201, None, "b"), v1=201, v2=None)],
        [updated(2, 2, (200, 2000, "b"), (201, None, "b"), v1=201, v2=None)],
        since=1,
    ),
    EventCase(
        "life_in_one_batch",
        "Phoenix: upserts and deletes of a row in turn, each with the images of its place",
        [
            [
                put(1, v1=100, v2=1000, note="b"),
                change(1, v1=101),
                remove(1),
                put(1, v1=102, v2=1002, note=None),
                remove(1),
                put(1, v1=103, v2=1003, note="d"),
                change(1, note=None),
            ]
        ],
        [
            inserted(1, 1, (100, 1000, "b")),
            updated(1, 1, (100, 1000, "b"), (101, 1000, "b"), v1=101),
            deleted(1, 1, (101, 1000, "b")),
            inserted(1, 1, (102, 1002, None)),
            deleted(1, 1, (102, 1002, None)),
            inserted(1, 1, (103, 1003, "d")),
            updated(1, 1, (103, 1003, "d"), (103, 1003, None), note=None),
        ],
        [inserted(1, 1, (103, 1003, None))],
    ),
    # ── Iceberg: deletes and inserts of a key ─────────────────────────────────────────────────────────────────────────
    EventCase(
        "delete_and_insert_in_one_batch",
        "Iceberg: a delete and an insert of one key in one commit are an update, net",
        [
            [put(1, v1=1, v2=10, note="a")],
            [remove(1), put(1, v1=2, v2=20, note="b")],
        ],
        [deleted(2, 1, A), inserted(2, 1, B)],
        [updated(2, 1, A, B, v1=2, v2=20, note="b")],
        since=1,
    ),
    EventCase(
        "same_row_deleted_and_inserted",
        "Iceberg: the pair that copy-on-write leaves behind; net it is nothing",
        [
            [put(1, v1=1, v2=10, note="a")],
            [remove(1), put(1, v1=1, v2=10, note="a")],
        ],
        [deleted(2, 1, A), inserted(2, 1, A)],
        [],
        since=1,
    ),
    EventCase(
        "pairs_across_commits",
        "Iceberg, net: pairs within commits and across them go, what is left over stays",
        [
            [put(1, v1=1, v2=10, note="a")],
            [remove(1), put(1, v1=1, v2=10, note="a"), remove(1)],
            [put(1, v1=1, v2=10, note="a"), put(2, v1=2, v2=20, note="b"), remove(2)],
        ],
        [
            deleted(2, 1, A),
            inserted(2, 1, A),
            deleted(2, 1, A),
            inserted(3, 1, A),
            inserted(3, 2, B),
            deleted(3, 2, B),
        ],
        [],
        since=1,
    ),
    EventCase(
        "key_changes",
        "Iceberg: identifier columns that differ are two rows, a delete and an insert",
        [[put(6, v1=1, v2=10, note="a")], [move(6, 7, v1=2)]],
        [deleted(2, 6, A), inserted(2, 7, (2, 10, "a"))],
        [deleted(2, 6, A), inserted(2, 7, (2, 10, "a"))],
        since=1,
    ),
    # ── Delta: merges ─────────────────────────────────────────────────────────────────────────────────────────────────
    EventCase(
        "update_of_nothing",
        "Delta #1963: an update that matches and changes no value is no change",
        [[put(1, v1=1, v2=10, note="a")], [change(1, v1=1), change(1)], [change(1, v1=3)]],
        [updated(3, 1, A, (3, 10, "a"), v1=3)],
        [updated(3, 1, A, (3, 10, "a"), v1=3)],
        since=1,
    ),
    EventCase(
        "one_delete_of_many_matches",
        "Delta #1274: a row that is deleted by several source rows is one delete",
        [[put(1, v1=1, v2=10, note="a"), put(2, v1=2, v2=20, note="b")], [remove(1), remove(1)]],
        [deleted(2, 1, A)],
        [deleted(2, 1, A)],
        since=1,
    ),
    EventCase(
        "range_of_one_version",
        "Delta: startingVersion 2, endingVersion 2 is our range from 1 to 2",
        [
            [put(1, v1=1, v2=10, note="a")],
            [change(1, v1=2)],
            [change(1, v1=3), put(2, v1=2, v2=20, note="b")],
        ],
        [updated(2, 1, A, (2, 10, "a"), v1=2)],
        [updated(2, 1, A, (2, 10, "a"), v1=2)],
        since=1,
        until=2,
    ),
    # ── Hudi: pulls ───────────────────────────────────────────────────────────────────────────────────────────────────
    EventCase(
        "pull_of_the_last_state",
        "Hudi: an incremental pull has the last row of a key once, however often it changed",
        [
            [put(1, v1=1, v2=10, note="a")],
            [change(1, v1=2), change(1, v1=3)],
            [change(1, v2=11), put(2, v1=2, v2=20, note="b")],
        ],
        [
            updated(2, 1, A, (2, 10, "a"), v1=2),
            updated(2, 1, (2, 10, "a"), (3, 10, "a"), v1=3),
            updated(3, 1, (3, 10, "a"), (3, 11, "a"), v2=11),
            inserted(3, 2, B),
        ],
        [updated(3, 1, A, (3, 11, "a"), v1=3, v2=11), inserted(3, 2, B)],
        since=1,
    ),
    # ── late and redelivered events ───────────────────────────────────────────────────────────────────────────────────
    EventCase(
        "redelivered",
        "Hudi: a batch that is written again brings no rows",
        [
            [put(1, v1=1, v2=10, note="a")],
            [change(1, v1=2)],
            [],
            [Again((1, 0)), Again((2, 0))],
        ],
        [],
        [],
        since=2,
    ),
    EventCase(
        "late_update_of_another_column",
        "a late update shows in what later ones did not supply",
        [
            [put(1, v1=1, v2=10, note="a")],
            [change(1, v1=2)],
            [],
            [change(1, after=(1, 0), v1=5, v2=50)],
        ],
        [updated(4, 1, (2, 10, "a"), (2, 50, "a"), v2=50)],
        [updated(4, 1, (2, 10, "a"), (2, 50, "a"), v2=50)],
        since=3,
    ),
    EventCase(
        "late_update_is_covered",
        "a late update that a later one covers is history, not a change of current",
        [
            [put(1, v1=1, v2=10, note="a")],
            [change(1, v1=2, v2=20, note="b")],
            [],
            [change(1, after=(1, 0), v1=5, v2=50)],
        ],
        [],
        [],
        since=3,
    ),
    EventCase(
        "late_update_before_a_change",
        "the same in a range with the later one: that is the commit of the net change",
        [
            [put(1, v1=1, v2=10, note="a")],
            [change(1, v1=2, v2=20, note="b")],
            [],
            [change(1, after=(1, 0), v1=5, v2=50)],
        ],
        [updated(2, 1, A, B, v1=2, v2=20, note="b")],
        [updated(2, 1, A, B, v1=2, v2=20, note="b")],
        since=1,
    ),
    EventCase(
        "late_update_after_delete",
        "a late update of a row that is deleted does not bring it back",
        [
            [put(1, v1=1, v2=10, note="a")],
            [remove(1)],
            [],
            [change(1, after=(1, 0), v1=5)],
        ],
        [],
        [],
        since=3,
    ),
    EventCase(
        "late_delete_of_the_last_row",
        "several late events of a key are one change: its row before and after the commit",
        [
            [put(1, v1=1, v2=10, note="a")],
            [change(1, v1=2)],
            [],
            [change(1, after=(2, 0), v2=50), remove(1, after=(2, 0))],
        ],
        [deleted(4, 1, (2, 10, "a"))],
        [deleted(4, 1, (2, 10, "a"))],
        since=3,
    ),
]
