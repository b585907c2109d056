"""Which dates are missing and which counts are unusual: no false alarm in ordinary months, and one in every storm."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace

import pytest

from tests.ordinary_months import (
    JUDGED_DAYS,
    MONTHS,
    STORMS,
    TELLTALE,
    ordinary_loads,
    quiet_days,
)
from tests.usual import Load, unusual_counts
from tidemark.errors import ConfigError
from tidemark.read.calendar import missing_dates

MONDAY = dt.date(2026, 1, 5)


def days(*numbers: int) -> list[dt.date]:
    """Days after a Monday."""
    return [MONDAY + dt.timedelta(days=number) for number in numbers]


# --- dates


@pytest.mark.parametrize(
    ("loaded", "arguments", "missing"),
    [
        # told from what was loaded
        ((0, 1, 2, 4), {}, ()),
        ((0, 1, 2, 4, 7), {}, (3,)),
        ((0, 1, 2, 5, 6), {}, (3, 4)),
        ((0, 7, 14, 21, 28), {}, ()),
        # stated
        ((0, 3), {"every": "day"}, (1, 2)),
        ((4, 7), {"every": "weekday"}, ()),
        ((4, 7), {"every": "day"}, (5, 6)),
        ((0, 14), {"every": "mon"}, (7,)),
        ((0, 14), {"every": ["mon", "fri"]}, (4, 7, 11)),
        ((0, 3), {"every": "day", "except_dates": days(2)}, (1,)),
        ((2, 3), {"every": "day", "since": MONDAY}, (0, 1)),
        ((0, 2, 5), {"every": "day", "since": days(4)[0]}, (4,)),
        ((0, 2), {"every": "day", "since": days(9)[0]}, ()),
        ((), {"every": "day", "since": MONDAY}, ()),
    ],
)
def test_missing_dates(
    loaded: tuple[int, ...], arguments: dict[str, object], missing: tuple[int, ...]
) -> None:
    assert missing_dates(days(*loaded), **arguments) == tuple(days(*missing))  # type: ignore[arg-type]


def test_missing_dates__names_of_days() -> None:
    with pytest.raises(
        ConfigError, match=r"every must be day, weekday or a list of mon, .*'month'"
    ):
        missing_dates(days(0), every="month")


# --- counts


def test_unusual_counts__no_false_alarm_in_ordinary_months() -> None:
    judged = 0
    for seed in MONTHS:
        loads = ordinary_loads(seed)
        since = loads[-1].date - dt.timedelta(days=JUDGED_DAYS)
        judged += sum(load.date > since for load in loads)
        assert [one for one in unusual_counts(loads) if one.date > since] == [], seed
    assert judged > 4000


def test_unusual_counts__no_alarm_before_the_storm() -> None:
    for seed in range(15):
        assert unusual_counts(quiet_days(seed)) == [], seed


@pytest.mark.parametrize("storm", STORMS)
def test_unusual_counts__an_alarm_in_every_storm(storm: str) -> None:
    for seed in range(15):
        loads = quiet_days(seed)
        found = unusual_counts(STORMS[storm](loads))
        told = {(one.what, one.problem) for one in found if one.date == loads[-1].date}
        assert TELLTALE[storm] in told, seed
        others = {
            "deletes x20",
            "no deletes",
            "updates of everything",
            "inserts doubled",
            "rejects",
        }
        assert storm not in others or len(told) == 1, seed


def test_unusual_counts__great_storms_also_where_it_is_not_quiet() -> None:
    found = seen = 0
    for seed in MONTHS:
        loads = ordinary_loads(seed)
        usual = loads[-8].updated
        if usual < 20:
            continue
        storm = replace(loads[-1], updated=max(loads[-1].updated, usual) * 50)
        seen += 1
        found += any(
            one.what == "updated" and one.date == storm.date
            for one in unusual_counts([*loads[:-1], storm])
        )
    assert seen > 100 and found == seen


def steady(number: int, **counts: int) -> list[Load]:
    """So many days, all alike."""
    return [Load(MONDAY + dt.timedelta(days=day), day, **counts) for day in range(number)]


def last(loads: list[Load], **counts: int) -> list[Load]:
    return [*loads[:-1], replace(loads[-1], **counts)]


@pytest.mark.parametrize(
    ("loads", "problems"),
    [
        # not judged: too little is known of it
        (last(steady(40), inserted=1000), []),
        (last(steady(60, inserted=100), inserted=1000), ["too many"]),
        (last(steady(60, inserted=100), inserted=0), ["too few"]),
        # by a factor, by rows, and by more than chance
        (last(steady(60, inserted=10_000), inserted=14_000), []),
        (last(steady(60, inserted=10_000), inserted=16_000), ["too many"]),
        (last(steady(60, deleted=1), deleted=10), []),
        (last(steady(60, deleted=1), deleted=30), ["too many"]),
        (last(steady(60, deleted=20), deleted=40), []),
        # fewer rejects are no harm
        (last(steady(60, rejected=500), rejected=0), []),
        (last(steady(60), rejected=50), ["too many"]),
    ],
)
def test_unusual_counts__what_counts(loads: list[Load], problems: list[str]) -> None:
    assert [one.problem for one in unusual_counts(loads)] == problems


def test_unusual_counts__what_came_twice_is_known() -> None:
    loads = steady(90, deleted=5)
    for day in (75, 82):
        loads[day] = replace(loads[day], deleted=4000)
    loads = last(loads, deleted=4100)
    assert [one.commit_id for one in unusual_counts(loads)] == [75, 82]
    assert [one.commit_id for one in unusual_counts(last(loads, deleted=4000 * 9))] == [75, 82, 89]


def test_unusual_counts__arguments() -> None:
    loads = last(steady(60, inserted=100), inserted=400)
    storm = loads[-1].date
    assert len(unusual_counts(loads)) == 1
    assert unusual_counts(loads, min_factor=5) == unusual_counts(loads, min_rows=301) == []
    assert unusual_counts(loads, except_dates=[storm]) == []
    calm = last(steady(60, inserted=100), inserted=0)
    assert len(unusual_counts(calm)) == 1 and unusual_counts(calm, of_events=True) == []


def test_unusual_counts__an_entity_that_is_loaded_by_the_month() -> None:
    loads = [
        Load(dt.date(2020 + number // 12, number % 12 + 1, 1), number, inserted=100 + number % 3)
        for number in range(50)
    ]
    assert unusual_counts(loads) == []
    (found,) = unusual_counts(last(loads, inserted=1000))
    assert (found.what, found.usual) == ("inserted", 101)


def test_unusual_counts__the_end_of_a_month() -> None:
    def peak(date: dt.date) -> int:
        following = date + dt.timedelta(days={4: 3, 5: 2}.get(date.weekday(), 1))
        return 1000 if following.month != date.month else 100

    loads = [replace(load, inserted=peak(load.date)) for load in steady(207)]
    ends = [load for load in loads if load.inserted == 1000]
    assert unusual_counts(loads) == [] and len(ends) > 8
    assert math.isclose(len(ends), 7, abs_tol=5)
    for inserted, problems in ((1000, []), (100, []), (4000, ["too many"]), (20, ["too few"])):
        month_end = [load for load in loads if load.date <= ends[-1].date]
        found = unusual_counts(last(month_end, inserted=inserted))
        assert [one.problem for one in found] == problems, inserted
