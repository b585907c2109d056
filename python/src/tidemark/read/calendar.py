"""Which business dates an entity should have."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Collection, Iterable, Sequence

from tidemark.errors import ConfigError

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
# so many dates say how often an entity is loaded
_ENOUGH_DATES = 5


def missing_dates(
    dates: Iterable[dt.date],
    every: str | Sequence[str] | None = None,
    since: dt.date | None = None,
    except_dates: Collection[dt.date] = (),
) -> tuple[dt.date, ...]:
    """Return the days that are missing between the first date and the last.

    Without `every` nothing is missing unless the entity is loaded day by day: of at least five
    dates more than half follow the day before, or the working day before. Where no date is a
    Saturday or a Sunday, none of those is missing.

    Example:
        >>> days = [dt.date(2026, 3, day) for day in (2, 3, 4, 6, 9)]
        >>> [str(day) for day in missing_dates(days)]
        ['2026-03-05']
        >>> [str(day) for day in missing_dates(days, every=["mon", "sun"])]
        ['2026-03-08']

    Args:
        dates: What was loaded.
        every: Which days there should be: `day`, `weekday`, or names of weekdays such as `mon`.
        since: What the first date should be; by default what it is.
        except_dates: Days of which none is missed.
    """
    known = sorted(set(dates))
    days = _weekdays(known) if every is None else expected_weekdays(every)
    if not known or not days:
        return ()
    expected = _days(since or known[0], known[-1], days)
    return tuple(sorted(set(expected) - set(known) - set(except_dates)))


def expected_weekdays(every: str | Sequence[str]) -> frozenset[int]:
    """Return the numbers of weekdays, Monday being 0.

    Raises:
        ConfigError: It is none of what is known.
    """
    if every == "day":
        return frozenset(range(7))
    if every == "weekday":
        return frozenset(range(5))
    names = [every] if isinstance(every, str) else list(every)
    unknown = [name for name in names if name not in WEEKDAYS]
    if unknown or not names:
        raise ConfigError(
            f"every must be day, weekday or a list of {', '.join(WEEKDAYS)}, found: {every!r}"
        )
    return frozenset(WEEKDAYS.index(name) for name in names)


def _weekdays(known: Sequence[dt.date]) -> frozenset[int]:
    """Return on which weekdays an entity is loaded, as its dates tell; none if they do not."""
    if len(known) < _ENOUGH_DATES:
        return frozenset()
    working_days = all(day.weekday() < 5 for day in known)
    days = expected_weekdays("weekday" if working_days else "day")
    follow = [_days(before, after, days)[1] == after for before, after in itertools.pairwise(known)]
    return days if 2 * sum(follow) > len(follow) else frozenset()


def _days(first: dt.date, last: dt.date, days: frozenset[int]) -> list[dt.date]:
    span = (last - first).days
    every = (first + dt.timedelta(days=number) for number in range(span + 1))
    return [day for day in every if day.weekday() in days]
