"""The oracle of timelines, by examples worked out by hand; and its rules on random timelines."""

from __future__ import annotations

import random
from datetime import date
from typing import Any

import pytest

from ..functional.timeline_oracle import (
    START,
    Change,
    Entry,
    FeedError,
    Timeline,
    apply_feed,
    fold,
)

BatchColumns = list[tuple[Any, ...]]


def day(number: int) -> date:
    return date(2026, 1, number)


def timeline(*, delta: bool = False) -> Timeline:
    """An entity with the compared columns a and b and the ignored column i."""
    return Timeline(["a", "b"], ["i"], delta=delta)


def row(a: str | None, stamp: int | None = 1, b: str | None = "b") -> tuple[Any, ...]:
    return (a, b, stamp)


def told(changes: list[Change]) -> BatchColumns:
    """(commit, key, event type, a before, a after)"""
    return [
        (c.commit, c.key, c.event_type, c.pre and c.pre[0], c.post and c.post[0]) for c in changes
    ]


# ── loads ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_forward__full() -> None:
    entity = timeline()
    entity.load(day(1), {"k": row("x"), "l": row("x"), "m": row(None)})
    entity.load(day(2), {"k": row("y"), "m": row(None), "n": row("x")})
    assert told(entity.feed()) == [
        (0, "k", "insert", None, "x"),
        (0, "l", "insert", None, "x"),
        (0, "m", "insert", None, None),
        (1, "k", "update", "x", "y"),
        (1, "l", "delete", "x", None),
        (1, "n", "insert", None, "x"),
    ]
    assert entity.feed(0, 1) == entity.feed(0)
    assert entity.feed(1, 1) == []
    assert entity.loaded_dates() == {day(1), day(2)}


def test_forward__delta() -> None:
    entity = timeline(delta=True)
    entity.load(day(1), {"k": row("x"), "l": row("x")})
    entity.load(day(2), {"k": row("y")})
    assert told(entity.feed(0)) == [(1, "k", "update", "x", "y")]
    assert set(entity.current()) == {"k", "l"}


def test_null() -> None:
    entity = timeline()
    entity.load(day(1), {"k": row("x"), "l": row(None)})
    entity.load(day(2), {"k": row(None), "l": row("")})
    assert told(entity.feed(0)) == [(1, "k", "update", "x", None), (1, "l", "update", None, "")]


def test_ignored__of_the_last_real_change() -> None:
    entity = timeline()
    entity.load(day(1), {"k": row("x", 1), "l": row("x", 1)})
    entity.load(day(2), {"k": row("x", 2), "l": row("y", 2)})
    entity.load(day(3), {"k": row("x", 3)})
    assert entity.current(1) == {"k": row("x", 1), "l": row("y", 2)}
    # a delete has the last known row
    assert entity.feed(1) == [Change(2, "l", "delete", row("y", 2), None)]
    assert entity.history()[day(3), "l"] == Entry("D", row("y", 2), None)


def test_repeat__changes_nothing() -> None:
    entity = timeline()
    entity.load(day(1), {"k": row("x", 1)})
    assert entity.load(day(1), {"k": row("x", 2)}) == 1
    assert entity.feed(0) == []
    assert entity.current() == {"k": row("x", 1)}


def test_corrected_date() -> None:
    entity = timeline()
    entity.load(day(1), {"k": row("x", 1), "l": row("x", 1)})
    entity.load(day(2), {"k": row("y", 2), "l": row("x", 2)})
    entity.load(day(2), {"k": row("x", 3), "m": row("z", 3)})
    assert told(entity.feed(1)) == [
        (2, "k", "update", "y", "x"),
        (2, "l", "delete", "x", None),
        (2, "m", "insert", None, "z"),
    ]
    # k is as it was on the first date, ignored column too
    assert entity.current() == {"k": row("x", 1), "m": row("z", 3)}


def test_late_date__later_full_extract_restores() -> None:
    entity = timeline()
    entity.load(day(1), {"k": row("x", 1)})
    entity.load(day(3), {"k": row("x", 2)})
    entity.load(day(2), {"k": row("y", 3), "l": row("y", 3)})
    # current is that of the last date: history changed, current did not
    assert told(entity.feed(1)) == []
    assert entity.history() == {
        (day(1), "k"): Entry("I", row("x", 1), None),
        (day(2), "k"): Entry("U", row("y", 3), ("a",)),
        (day(2), "l"): Entry("I", row("y", 3), None),
        (day(3), "k"): Entry("U", row("x", 1), ("a",)),
        (day(3), "l"): Entry("D", row("y", 3), None),
    }
    assert entity.as_of(day(2)) == {"k": row("y", 3), "l": row("y", 3)}
    assert entity.as_of(day(2), known_at=1) == {"k": row("x", 1)}
    assert entity.as_of(day(2), known_at=0) == {"k": row("x", 1)}


def test_late_date__same_row_earlier() -> None:
    # the row moves to the earlier date; its business columns stay, but for the ignored one
    entity = timeline()
    entity.load(day(2), {"k": row("x", 1)})
    entity.load(day(1), {"k": row("x", 2)})
    assert entity.history() == {(day(1), "k"): Entry("I", row("x", 2), None)}
    assert entity.feed(0) == [Change(1, "k", "update", row("x", 1), row("x", 2))]
    same = timeline()
    same.load(day(2), {"k": row("x", 1)})
    same.load(day(1), {"k": row("x", 1)})
    assert same.feed(0) == []


def test_late_date__delta_not_seen_later() -> None:
    entity = timeline(delta=True)
    entity.load(day(1), {"k": row("x"), "l": row("x")})
    entity.load(day(3), {"k": row("x")})
    entity.load(day(2), {"k": row("y"), "l": row("y")})
    # k was seen on the third date, l was not
    assert told(entity.feed(1)) == [(2, "l", "update", "x", "y")]


def test_rejected_row__is_no_delete() -> None:
    entity = timeline()
    entity.load(day(1), {"k": row("x")})
    entity.load(day(2), {"k": None})
    assert entity.feed(0) == []
    assert entity.tags() == {"k": "X"}


# ── net changes ───────────────────────────────────────────────────────────────────────────────────────────────────────


def days(*extracts: dict[str, tuple[Any, ...]]) -> Timeline:
    """An entity loaded forward, from day 1 on."""
    entity = timeline()
    for number, extract in enumerate(extracts):
        entity.load(day(number + 1), extract)
    return entity


def test_net__insert_delete() -> None:
    assert days({}, {"k": row("x")}, {}).net_changes() == []


def test_net__insert_update() -> None:
    entity = days({}, {"k": row("x")}, {"k": row("y")})
    assert told(entity.net_changes()) == [(2, "k", "insert", None, "y")]


def test_net__update_update() -> None:
    entity = days({"k": row("x")}, {"k": row("y")}, {"k": row("z")})
    assert told(entity.net_changes(0)) == [(2, "k", "update", "x", "z")]
    assert days({"k": row("x")}, {"k": row("y")}, {"k": row("x")}).net_changes(0) == []


def test_net__update_delete() -> None:
    entity = days({"k": row("x")}, {"k": row("y")}, {})
    assert told(entity.net_changes(0)) == [(2, "k", "delete", "x", None)]


def test_net__delete_insert() -> None:
    assert told(days({"k": row("x")}, {}, {"k": row("y")}).net_changes(0)) == [
        (2, "k", "update", "x", "y")
    ]
    assert days({"k": row("x")}, {}, {"k": row("x")}).net_changes(0) == []
    # ignored columns are columns too
    assert days({"k": row("x", 1)}, {}, {"k": row("x", 2)}).net_changes(0) == [
        Change(2, "k", "update", row("x", 1), row("x", 2))
    ]


# ── rollback ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_rollback() -> None:
    entity = days({"k": row("x"), "l": row("x")}, {"k": row("y"), "m": row("y")}, {"k": row("z")})
    assert entity.rollback(0) == 3
    assert entity.current() == entity.current(0)
    assert entity.history() == entity.history(0)
    assert entity.loaded_dates() == {day(1)}
    assert told(entity.feed(2)) == [
        (3, "k", "update", "z", "x"),
        (3, "l", "insert", None, "x"),
    ]
    assert entity.net_changes(0) == []
    assert entity.state().live == {0, 3}
    # what was known before is as it was
    assert entity.as_of(day(2), known_at=2)["k"] == row("y")
    assert "m" not in entity.as_of(day(2))


def test_rollback__again() -> None:
    entity = days({"k": row("x")}, {"k": row("y")})
    assert entity.rollback(0) == 2
    assert entity.rollback(0) is None
    assert entity.rollback(2) is None
    assert entity.last == 2


def test_rollback__to_now() -> None:
    entity = days({"k": row("x")})
    assert entity.rollback(0) is None


def test_rollback__of_a_rollback() -> None:
    entity = days({"k": row("x")}, {"k": row("y")}, {"k": row("z")})
    entity.rollback(0)
    assert entity.rollback(2) == 4
    assert told(entity.feed(3)) == [(4, "k", "update", "x", "z")]
    assert entity.state().live == {0, 1, 2, 4}
    assert entity.loaded_dates() == {day(1), day(2), day(3)}
    # a part of what was undone
    entity.rollback(0)
    entity.rollback(1)
    assert told(entity.feed(5)) == [(6, "k", "update", "x", "y")]
    assert entity.state().live == {0, 1, 6}
    assert entity.loaded_dates() == {day(1), day(2)}


def test_rollback__to_a_rollback() -> None:
    entity = days({"k": row("x")}, {"k": row("y")})
    entity.rollback(0)
    entity.load(day(2), {"k": row("z")})
    assert entity.rollback(2) == 4
    assert entity.current() == {"k": row("x")}
    assert entity.state().live == {0, 2, 4}


def test_rollback__date_loaded_before_and_after() -> None:
    entity = days({"k": row("x")}, {"k": row("y")})
    entity.load(day(2), {"k": row("z")})
    entity.load(day(3), {"k": row("z")})
    entity.rollback(1)
    # the second date is that of its first load
    assert entity.loaded_dates() == {day(1), day(2)}
    assert entity.current() == {"k": row("y")}
    # and this is what a date after it is compared with
    entity.load(day(3), {"k": row("y")})
    assert entity.feed(4) == []


def test_rollback__of_a_late_date() -> None:
    entity = timeline()
    entity.load(day(1), {"k": row("x", 1)})
    entity.load(day(3), {"k": row("x", 2)})
    entity.load(day(2), {"k": row("y", 3)})
    entity.rollback(1)
    assert entity.history() == {(day(1), "k"): Entry("I", row("x", 1), None)}
    # late again, after it was undone
    entity.load(day(2), {})
    assert told(entity.feed(3)) == []
    assert [e.operation for _, e in sorted(entity.history().items())] == ["I", "D", "I"]


def test_rollback__changes_nothing_but_dates() -> None:
    entity = days({"k": row("x")}, {"k": row("x")})
    assert entity.rollback(0) == 2
    assert entity.feed(0) == []
    assert entity.loaded_dates() == {day(1)}


def test_rerun_after_rollback() -> None:
    entity = days({"k": row("x")}, {"k": row("y")})
    entity.rollback(0)
    entity.load(day(2), {"k": row("y")})
    assert told(entity.feed(0)) == [
        (1, "k", "update", "x", "y"),
        (2, "k", "update", "y", "x"),
        (3, "k", "update", "x", "y"),
    ]
    assert entity.state().live == {0, 2, 3}


def test_moment() -> None:
    entity = days({"k": row("x")}, {"k": row("y")})
    entity.load(day(1), {"k": row("z")})
    assert entity.moment(day(1)) == 0
    assert entity.moment(day(5)) is None
    entity.rollback(0)
    assert entity.moment(day(2)) is None
    entity.rollback(2)
    assert entity.moment(day(2)) == 1


# ── restate ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_restate() -> None:
    entity = days({"k": row("x")}, {"k": row("y")}, {"k": row("z")})
    files = {day(1): {}, day(2): {"k": row("x")}, day(3): {"k": row("z")}}
    assert entity.restate(day(2), files) == [3, 4]
    assert told(entity.feed(2)) == []
    assert entity.as_of(day(2)) == {"k": row("x")}
    assert entity.as_of(day(2), known_at=2) == {"k": row("y")}


def test_restate__dates_that_are_loaded() -> None:
    entity = days({"k": row("x")}, {"k": row("y")})
    entity.rollback(0)
    assert entity.restate(day(1), {day(1): {"k": row("q")}, day(2): {}}) == [3]
    assert told(entity.feed(2)) == [(3, "k", "update", "x", "q")]


# ── applying ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_apply_feed() -> None:
    entity = days({"k": row("x"), "l": row("x")}, {"k": row("y")}, {"m": row("z")})
    assert apply_feed({}, entity.feed()) == entity.current()
    assert apply_feed(entity.current(0), entity.feed(0, 1)) == entity.current(1)


@pytest.mark.parametrize(
    "change",
    [
        Change(0, "k", "insert", None, row("y")),
        Change(0, "k", "update", row("z"), row("y")),
        Change(0, "k", "update", row("x"), row("x")),
        Change(0, "k", "delete", row("x"), row("y")),
        Change(0, "l", "update", row("x"), row("y")),
        Change(0, "l", "delete", row("x"), None),
    ],
)
def test_apply_feed__does_not_fit(change: Change) -> None:
    with pytest.raises(FeedError):
        apply_feed({"k": row("x")}, [change])


def test_apply_feed__out_of_order() -> None:
    first = Change(1, "k", "update", row("x"), row("y"))
    second = Change(0, "k", "update", row("y"), row("z"))
    with pytest.raises(FeedError, match="comes after commit 1"):
        apply_feed({"k": row("x")}, [first, second])


# ── rules ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("delta", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_rules(seed: int, delta: bool) -> None:
    rng = random.Random(seed)
    entity = random_timeline(rng, delta=delta)
    for until in range(entity.last + 1):
        since = rng.randrange(START, until + 1)
        feed = entity.feed(since, until)
        assert apply_feed(entity.current(since), feed) == entity.current(until)
        assert entity.net_changes(since, until) == fold(feed)
        commit = entity.commits[until]
        if commit.target is not None:
            assert entity.current_rows(until) == entity.current_rows(commit.target)
            assert entity.history(until) == entity.history(commit.target)
            assert entity.net_changes(commit.target, until) == []
        # history leads to current, and its dates are loaded
        assert entity.as_of(day(9), until) == entity.current(until)
        assert {d for d, _ in entity.history(until)} <= entity.loaded_dates(until)
    # adjacent ranges are the whole
    pieces = [change for n in range(entity.last + 1) for change in entity.feed(n - 1, n)]
    assert pieces == entity.feed()


def random_timeline(rng: random.Random, *, delta: bool) -> Timeline:
    entity = timeline(delta=delta)
    files: dict[date, dict[str, tuple[Any, ...] | None]] = {}
    for step in range(12):
        dice = rng.random()
        if dice < 0.65 or entity.last == START:
            loaded = day(rng.randrange(1, 7))
            files[loaded] = {
                key: None if rng.random() < 0.05 else row(rng.choice(["x", "y", None]), step)
                for key in "klmnopq"
                if rng.random() < (0.5 if delta else 0.8)
            }
            entity.load(loaded, files[loaded])
        elif dice < 0.9:
            entity.rollback(rng.randrange(entity.last + 1))
        else:
            entity.restate(rng.choice(sorted(entity.loaded_dates())), files)
    return entity
