"""Counts of loads as they ordinarily are, and storms in them: seeded, for the rule of `tests.usual`.

Example:
    >>> loads = ordinary_loads(7)          # seven months, of which the last is to be judged
    >>> stormy = STORMS["deletes x20"](loads)
"""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable
from dataclasses import replace

from tests.usual import Load

MONTHS = range(200)
DAYS = 210
# how far the last days are judged
JUDGED_DAYS = 30


def ordinary_loads(seed: int, *, quiet: bool = False) -> list[Load]:
    """Loads of an entity with a pattern of weekdays, growth, noise and peaks at the end of a month.

    Args:
        seed: Each gives another entity.
        quiet: Hundreds of rows and more of each kind, day for day nearly the same.
    """
    chance = random.Random(seed)
    noise = 0.05 if quiet else chance.choice([0.03, 0.06, 0.1, 0.15, 0.25])
    growth = chance.uniform(-0.03, 0.06) / 30
    on_weekends = chance.random() < 0.6
    pattern = [chance.uniform(0.5, 2) for _ in range(5)]
    pattern += [chance.uniform(0.5, 1) if quiet else chance.uniform(0.02, 0.5) for _ in range(2)]
    peak = chance.choice([1, 1.5, 2, 4, 6])
    start = dt.date(2026, 1, 1) + dt.timedelta(days=chance.randrange(700))
    levels = {
        "inserted": math.exp(chance.uniform(7, 10) if quiet else chance.uniform(1, 10)),
        "updated": math.exp(chance.uniform(7, 10) if quiet else chance.uniform(1, 11)),
        "deleted": math.exp(chance.uniform(6, 7) if quiet else chance.uniform(-1, 7)),
        "rejected": math.exp(chance.uniform(-3, 3)),
    }
    loads = []
    for number in range(DAYS):
        date = start + dt.timedelta(days=number)
        if date.weekday() > 4 and not on_weekends:
            continue
        factor = pattern[date.weekday()] * math.exp(growth * number)
        factor *= peak if _ends_month(date) else 1
        counts = {
            what: _poisson(chance, level * factor * math.exp(chance.gauss(0, noise)))
            for what, level in levels.items()
        }
        loads.append(Load(date, number, **counts))
    return loads


def _ends_month(date: dt.date) -> bool:
    following = date + dt.timedelta(days={4: 3, 5: 2}.get(date.weekday(), 1))
    return following.month != date.month


def _poisson(chance: random.Random, mean: float) -> int:
    if mean > 50:
        return max(0, round(chance.gauss(mean, math.sqrt(mean))))
    number, product = 0, chance.random()
    while product > math.exp(-mean):
        number += 1
        product *= chance.random()
    return number


def _of_last(change: Callable[[Load], Load]) -> Callable[[list[Load]], list[Load]]:
    return lambda loads: [*loads[:-1], change(loads[-1])]


STORMS: dict[str, Callable[[list[Load]], list[Load]]] = {
    "deletes x20": _of_last(lambda load: replace(load, deleted=load.deleted * 20)),
    "no changes": _of_last(lambda load: replace(load, inserted=0, updated=0, deleted=0)),
    "no deletes": _of_last(lambda load: replace(load, deleted=0)),
    "updates of everything": _of_last(lambda load: replace(load, updated=load.updated * 50)),
    "inserts doubled": _of_last(lambda load: replace(load, inserted=load.inserted * 2)),
    "inserts halved": _of_last(lambda load: replace(load, inserted=load.inserted // 2)),
    "all inserted and deleted": _of_last(
        lambda load: replace(load, inserted=load.updated * 50, deleted=load.updated * 50)
    ),
    "rejects": _of_last(lambda load: replace(load, rejected=load.inserted)),
}
"""What may go wrong in the last load, of an entity that is quiet."""

TELLTALE = {
    "deletes x20": ("deleted", "too many"),
    "no changes": ("updated", "too few"),
    "no deletes": ("deleted", "too few"),
    "updates of everything": ("updated", "too many"),
    "inserts doubled": ("inserted", "too many"),
    "inserts halved": ("inserted", "too few"),
    "all inserted and deleted": ("deleted", "too many"),
    "rejects": ("rejected", "too many"),
}


def quiet_days(seed: int) -> list[Load]:
    """A quiet entity whose last load is of an ordinary day: no month ends."""
    loads = ordinary_loads(seed, quiet=True)
    while _ends_month(loads[-1].date):
        loads.pop()
    return loads
