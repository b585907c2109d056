"""Whether a load changed as many rows as loads of its entity usually do."""

from __future__ import annotations

import datetime as dt
import math
import statistics
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

COUNTS = ("inserted", "updated", "deleted", "rejected")
"""What is judged."""

# a load is compared with the last loads of its weekday …
_PEERS = 8
_FEWEST_PEERS = 4
# … its distance from their median with those of as many loads before it …
_DISTANCES = 60
_FEWEST_DISTANCES = 20
# … and at a month's end also with those of the last days of that kind
_MONTH_ENDS = 8
_FEWEST_MONTH_ENDS = 3
_USUAL_DISTANCES = 6.0
_BEYOND_SEEN = 1.25
# what comes by chance scatters by 0.5 in square roots, however many there are
_BY_CHANCE = 3.0


@dataclass(frozen=True)
class Load:
    """What a business date changed.

    Attributes:
        date: The business date.
        commit_id: The commit that loaded it last.
        inserted: Rows, as the next three.
        updated: …
        deleted: …
        rejected: …
    """

    date: dt.date
    commit_id: int
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    rejected: int = 0


@dataclass(frozen=True)
class Unusual:
    """A count that is not what it usually is.

    Attributes:
        date: The business date.
        commit_id: The commit.
        what: inserted, updated, deleted or rejected.
        number: How many rows.
        usual: How many they usually are.
        problem: too many, or too few.
    """

    date: dt.date
    commit_id: int
    what: str
    number: int
    usual: int
    problem: str


def unusual_counts(
    loads: Sequence[Load],
    *,
    min_rows: int = 10,
    min_factor: float = 1.5,
    except_dates: Collection[dt.date] = (),
    of_events: bool = False,
) -> list[Unusual]:
    """Return what is not usual in loads, each judged by those before it.

    A count is taken as its logarithm, ln(1 + count). Its distance is the difference to the median
    of the last 8 loads of its weekday (at least 4), without those at a month's end; of all loads
    where fewer than five came in a fortnight. What is usual is the median of the distances that the
    last 60 loads had (at least 20): so growth is no alarm. A load is unusual if it is further from
    there

    - than 6 times the usual scatter, which is 1.4826 times the median by which those were off it,
    - by a quarter than two of those 60 were to that side,
    - than by `min_factor`, by `min_rows` rows, and by 3 in square roots (from 100 to more than
      169), which is what small counts come to by chance.

    A month's end is from its last working day on. There everything is usual between an ordinary day
    and what the last 8 days of that kind had (at least 3), and the distance begins beyond it.

    Of rejects there are never too few, and of change events neither, whose day may go on.

    Example:
        >>> monday = dt.date(2026, 1, 5)
        >>> days = [monday + dt.timedelta(days=day) for day in range(70)]
        >>> loads = [Load(day, at, inserted=100 + at % 3) for at, day in enumerate(days)]
        >>> storm = Load(dt.date(2026, 3, 16), 70, inserted=2000)
        >>> [(one.what, one.problem, one.usual) for one in unusual_counts([*loads, storm])]
        [('inserted', 'too many', 101)]

    Args:
        loads: One for each business date; the order does not matter.
        min_rows: A difference of fewer rows is none.
        min_factor: Nor is one by less than this factor.
        except_dates: Dates that are no ordinary ones: they are neither judged nor compared with.
        of_events: They are sums of all loads of a day.

    Returns:
        In order of date, and of `COUNTS`.
    """
    known = sorted((one for one in loads if one.date not in except_dates), key=lambda one: one.date)
    days = [_day_of(known, place) for place in range(len(known))]
    found = [
        one
        for what in COUNTS
        for one in _judged(known, days, what, min_rows, min_factor)
        if one.problem == "too many" or not (what == "rejected" or of_events)
    ]
    return sorted(found, key=lambda one: (one.date, COUNTS.index(one.what)))


@dataclass(frozen=True)
class _Day:
    kind: str
    ends_month: bool


def _judged(
    loads: Sequence[Load], days: Sequence[_Day], what: str, min_rows: int, min_factor: float
) -> Iterator[Unusual]:
    magnitudes: defaultdict[str, deque[float | None]] = defaultdict(lambda: deque(maxlen=_PEERS))
    ordinary: deque[float | None] = deque(maxlen=_DISTANCES)
    month_ends: deque[float | None] = deque(maxlen=_MONTH_ENDS)
    for load, day in zip(loads, days, strict=True):
        number = getattr(load, what)
        magnitude = math.log1p(number)
        peers = _known(magnitudes[day.kind])
        usual = statistics.median(peers) if len(peers) >= _FEWEST_PEERS else None
        distance = None if usual is None else magnitude - usual
        others = _known(ordinary)
        if usual is not None and distance is not None and len(others) >= _FEWEST_DISTANCES:
            drift = statistics.median(others)
            rows = max(0.0, math.expm1(usual + drift))
            beyond = distance - drift
            if day.ends_month:
                beyond = _beyond(distance, [drift, *_known(month_ends)])
            is_far = abs(beyond) > _limit(others, drift, min_factor, 1 if beyond > 0 else -1)
            is_large = abs(math.sqrt(number) - math.sqrt(rows)) > _BY_CHANCE
            if is_far and is_large and abs(number - rows) >= min_rows:
                problem = "too many" if beyond > 0 else "too few"
                yield Unusual(load.date, load.commit_id, what, number, round(rows), problem)
        magnitudes[day.kind].append(None if day.ends_month else magnitude)
        ordinary.append(None if day.ends_month else distance)
        if day.ends_month:
            month_ends.append(distance)


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _beyond(distance: float, usual: Sequence[float]) -> float:
    """Return how far the end of a month is from all that is usual; 0 if that is not known yet."""
    if len(usual) <= _FEWEST_MONTH_ENDS:
        return 0.0
    return distance - max(min(usual), min(distance, max(usual)))


def _limit(others: Sequence[float], drift: float, min_factor: float, side: int) -> float:
    """Return how far is unusual to a side, 1 or -1."""
    usual = 1.4826 * statistics.median(abs(one - drift) for one in others)
    second = sorted((side * (one - drift) for one in others), reverse=True)[1]
    return max(_USUAL_DISTANCES * usual, _BEYOND_SEEN * second, math.log(min_factor))


def _day_of(loads: Sequence[Load], place: int) -> _Day:
    date = loads[place].date
    if place >= 5 and (date - loads[place - 5].date).days > 14:
        return _Day("any", ends_month=False)
    # from Friday on the next working day is Monday
    following = date + dt.timedelta(days=1 if date.weekday() < 4 else 7 - date.weekday())
    return _Day(str(date.weekday()), ends_month=following.month != date.month)
