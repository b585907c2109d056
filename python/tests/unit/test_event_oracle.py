"""The oracle of change events, by examples worked out by hand; and that the generator of streams agrees with it."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from ..functional.event_entities import Event, delete, insert, truncate, update
from ..functional.event_oracle import Change, Truth, Version, simulate, versions_of
from ..functional.event_streams import COLUMNS, KEY, deliver, random_streams, simulate_sources

COLUMN_NAMES = ("id", "name")


def person(number: int, name: str | None) -> dict[str, Any]:
    return {"id": number, "name": name}


def move(old: int, new: int, transaction: str | None = None, **supplied: Any) -> Event:
    meta = {} if transaction is None else {"transaction_id": transaction}
    return update({"id": new, **supplied}, before={"id": old}, **meta)


def keyed(*events: Event) -> Truth:
    """Truth of events at 0, 1, 2 …"""
    return simulate(events, COLUMN_NAMES, ["id"])


def keyless(*events: Event) -> Truth:
    return simulate(events, COLUMN_NAMES, None)


def names(truth: Truth) -> dict[int, str | None]:
    return {key[0]: row[1] for key, row in truth.current.items()}


def versions(truth: Truth) -> list[tuple[Any, ...]]:
    """(id, name, from, to), sorted."""
    return sorted((key[0], row[1], since, until) for key, since, until, row in truth.versions)


def test_worked_example() -> None:
    truth = keyed(
        insert(person(0, "alice")),
        move(0, 1),
        move(1, 2),
        delete({"id": 2}),
        insert(person(0, "Alice")),
        insert(person(1, "blob")),
        update(person(1, "Bob")),
    )
    assert truth.current == {(0,): (0, "Alice"), (1,): (1, "Bob")}
    assert versions(truth) == [
        (0, "Alice", 4, None),
        (0, "alice", 0, 1),
        (1, "Bob", 6, None),
        (1, "alice", 1, 2),
        (1, "blob", 5, 6),
        (2, "alice", 2, 3),
    ]


def test_swap() -> None:
    truth = keyed(
        insert(person(1, "a")), insert(person(2, "b")), move(1, 2, "swap"), move(2, 1, "swap")
    )
    assert names(truth) == {1: "b", 2: "a"}
    assert versions(truth) == [(1, "a", 0, 2), (1, "b", 3, None), (2, "a", 2, None), (2, "b", 1, 2)]


def test_swap_in_two_transactions__the_newcomer_overwrites_and_moves_on() -> None:
    truth = keyed(
        insert(person(1, "a")), insert(person(2, "b")), move(1, 2, "t1"), move(2, 1, "t2")
    )
    assert names(truth) == {1: "a"}


def test_cycle_of_three() -> None:
    truth = keyed(
        *(insert(person(i, name)) for i, name in [(1, "a"), (2, "b"), (3, "c")]),
        *(move(old, new, "cycle") for old, new in [(1, 2), (2, 3), (3, 1)]),
    )
    assert names(truth) == {1: "c", 2: "a", 3: "b"}


def test_delete_in_the_transaction_that_takes_the_key__is_of_the_old_occupant() -> None:
    inserts = [insert(person(1, "a")), insert(person(2, "b"))]
    assert names(keyed(*inserts, move(1, 2, "t"), delete({"id": 2}, transaction_id="t"))) == {
        2: "a"
    }
    assert names(keyed(*inserts, move(1, 2, "t"), delete({"id": 2}, transaction_id="u"))) == {}


@pytest.mark.parametrize("transaction", [None, "t"])
def test_chain(transaction: str | None) -> None:
    truth = keyed(
        insert(person(1, "a")), move(1, 2, transaction), move(2, 3, transaction, name="b")
    )
    assert versions(truth) == [(1, "a", 0, 1), (2, "a", 1, 2), (3, "b", 2, None)]


def test_key_re_use() -> None:
    truth = keyed(
        insert(person(1, "a")), move(1, 2), insert(person(1, "b")), update({"id": 1}), move(1, 3)
    )
    assert names(truth) == {2: "a", 3: "b"}
    assert versions(truth) == [(1, "a", 0, 1), (1, "b", 2, 4), (2, "a", 1, None), (3, "b", 4, None)]


def test_delete_and_reinsert__a_gap_even_if_the_row_is_the_same() -> None:
    truth = keyed(insert(person(1, "a")), delete({"id": 1}), insert(person(1, "a")))
    assert versions(truth) == [(1, "a", 0, 1), (1, "a", 2, None)]
    # consecutive equal rows are one version
    assert versions(keyed(insert(person(1, "a")), update(person(1, "a")))) == [(1, "a", 0, None)]


def test_not_supplied_and_null() -> None:
    assert names(keyed(insert(person(1, "a")), update({"id": 1}))) == {1: "a"}
    assert names(keyed(insert(person(1, "a")), update(person(1, None)))) == {1: None}
    assert names(keyed(insert(person(1, "a")), delete({"id": 1}), update({"id": 1}))) == {1: None}
    # an update or delete of a key that is not there
    assert names(keyed(update(person(1, "a")), delete({"id": 2}))) == {1: "a"}


def test_truncate() -> None:
    truth = keyed(
        insert(person(1, "a")), truncate(), insert(person(1, "a")), insert(person(2, "b"))
    )
    assert versions(truth) == [(1, "a", 0, 1), (1, "a", 2, None), (2, "b", 3, None)]


def test_sequence_numbers_of_events() -> None:
    truth = keyed(insert(person(1, "a"), sequence_num=7), delete({"id": 1}, sequence_num=30))
    assert versions(truth) == [(1, "a", 7, 30)]


def test_keyless__copies_count() -> None:
    a, b = person(1, "a"), person(1, "b")
    truth = keyless(insert(a), insert(a), insert(a), delete(a), update(b, before=a), update(b, b))
    assert truth.current == Counter({(1, "a"): 1, (1, "b"): 1})
    wanted: list[Version] = [
        ((1, "a", 1), 0, None, (1, "a")),
        ((1, "a", 2), 1, 4, (1, "a")),
        ((1, "a", 3), 2, 3, (1, "a")),
        ((1, "b", 1), 4, None, (1, "b")),
    ]
    assert sorted(truth.versions) == wanted


def test_keyless__below_zero_and_truncate() -> None:
    a = person(1, "a")
    assert keyless(delete(a)).current == {}
    assert keyless(delete(a), insert(a)).current == {}
    truth = keyless(delete(a), insert(a), insert(a))
    assert sorted(truth.versions) == [((1, "a", 1), 2, None, (1, "a"))]
    truth = keyless(delete(a), truncate(), insert(a), insert(a), truncate())
    assert truth.current == {}
    assert sorted(truth.versions) == [((1, "a", 1), 2, 4, (1, "a")), ((1, "a", 2), 3, 4, (1, "a"))]


@pytest.mark.parametrize("truncates", [0, 3])
@pytest.mark.parametrize("keyless_table", [False, True])
def test_streams__the_oracle_finds_what_the_sources_hold(
    keyless_table: bool, truncates: int
) -> None:
    for seed in range(12):
        events, rows = simulate_sources(random.Random(seed), 40, 15, keyless_table, truncates)
        truth = simulate(events, list(COLUMNS), None if keyless_table else KEY)
        found = Counter(truth.current) if keyless_table else Counter(truth.current.values())
        assert found == Counter(rows), f"seed {seed}"
        sequences = [event["_sequence_num"] for event in events]
        assert sequences == sorted(set(sequences))
        times = [event["_event_time"] for event in events]
        assert times == sorted(times) and len(set(times)) < len(times)
        assert sum(event["_operation"] == "TRUNCATE" for event in events) == truncates


@pytest.mark.parametrize("order", ["in_order", "shuffled"])
def test_deliver__every_event_at_least_once(order: Any) -> None:
    rng = random.Random(1)
    events = random_streams(rng, 50, 12)
    batches = deliver(rng, events, 3, order)
    delivered = [event["_sequence_num"] for batch in batches for event in batch]
    assert len(batches) == 3 and all(batches)
    assert set(delivered) == {event["_sequence_num"] for event in events}
    assert 0.10 < len(delivered) / len(events) - 1 < 0.20
    firsts = list(dict.fromkeys(delivered))
    assert (firsts == sorted(firsts)) == (order == "in_order")


def test_versions_of__tracked() -> None:
    rows = [
        ("alice", 1, (5, 1)),
        ("bob", 1, (9, 2)),  # overtaken
        ("alice", 2, (6, 3)),
        ("bob", 2, (7, 4)),
        ("cy", 3, (7, 5)),
        (None, None, (8, 6)),
        ("cy", 3, (10, 7)),
    ]
    changes = [Change(moment, rank, name and (name, n)) for name, n, (moment, rank) in rows]
    assert versions_of(reversed(changes), lambda row: row[0]) == [
        ("alice", 2, 5, 7),
        ("cy", 3, 7, 8),
        ("cy", 3, 10, None),
    ]
    assert versions_of(changes, lambda row: row)[:2] == [("alice", 1, 5, 6), ("alice", 2, 6, 7)]
