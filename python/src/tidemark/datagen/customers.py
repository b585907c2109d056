"""Customers of a shop, day by day: extracts that people can read, and the counts they must give."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from tidemark.datagen.scenarios import Day, Row, Scenario
from tidemark.errors import ConfigError

COLUMNS = ("customer_id", "name", "city", "segment", "credit_limit", "updated_on")
TYPES = {"credit_limit": "decimal(10,2)", "updated_on": "date"}
FEWEST = 50
"""Below that a per cent is no row."""

_FIRST = "Ada Bela Chen Dana Emil Femi Gita Hugo Ines Jonas Kaja Lena Milo Nora Omar Pia".split()
_LAST = "Abel Brandt Costa Dahl Eriksen Fiala Garcia Haas Ito Jensen Kovacs Lind Meyer".split()
_CITIES = "Bern Bilbao Dublin Gdańsk Lille Lisbon Malmö Oslo Porto Riga Tartu Zürich".split()
_SEGMENTS = ("retail", "trade", "public")


@dataclass(frozen=True)
class _Customer:
    number: int
    name: str
    city: str
    segment: str
    cents: int
    updated_on: str

    @property
    def row(self) -> Row:
        limit = f"{self.cents // 100}.{self.cents % 100:02d}"
        key = f"C{self.number:05d}"
        return (key, self.name, self.city, self.segment, limit, self.updated_on)


def customers(number: int = 500, seed: int = 0) -> Scenario:
    """Return three business dates of customers, the third one twice.

    Day 2 has 6 per cent of new customers, 8 per cent that moved or got another limit, 2 per cent
    that are gone, and one whose limit is no number (`failed_cast`). Day 3 comes cut off after its
    first tenth (`delete_storm`), then whole, with that limit mended.

    Example:
        >>> [day.expected for day in customers(500).days][1]
        {'I': 30, 'U': 40, 'D': 10, 'N': 449, 'rejected': 1}

    Args:
        number: How many customers there are on day 1.
        seed: Same seed, same rows.

    Raises:
        ConfigError: They are too few.
    """
    if number < FEWEST:
        raise ConfigError(f"the number of customers must be {FEWEST} or more, found: {number}")
    dice = random.Random(f"tidemark customers {seed}")
    first = [_customer(i, "2026-03-01", dice) for i in range(1, number + 1)]
    second, changed, gone = _next_day(first, "2026-03-02", dice)
    added = len(second) - (number - gone)
    # a customer whom day 2 leaves alone
    broken = next(i for i, one in enumerate(second) if one.updated_on == "2026-03-01")
    rows = [one.row for one in second]
    rows[broken] = (*rows[broken][:4], "n/a", "2026-03-02")
    mended = replace(second[broken], cents=123_450, updated_on="2026-03-02")
    third, moved, left = _next_day(
        [*second[:broken], mended, *second[broken + 1 :]], "2026-03-03", dice, kept=mended
    )
    came = len(third) - (len(second) - left)
    whole = [one.row for one in third]
    return Scenario(
        "Customers of a shop: a usual day, a limit that is no number, an extract that is cut off.",
        ("customer_id",),
        (
            Day(COLUMNS, tuple(one.row for one in first), {"I": number}),
            Day(
                COLUMNS,
                tuple(rows),
                {
                    "I": added,
                    "U": changed,
                    "D": gone,
                    "N": number - changed - gone - 1,
                    "rejected": 1,
                },
            ),
            Day(COLUMNS, tuple(whole[: len(whole) // 10]), {"error": "max_delete_fraction"}),
            Day(
                COLUMNS,
                tuple(whole),
                {
                    "I": came,
                    "U": moved + 1,
                    "D": left,
                    "N": len(second) - moved - 1 - left,
                },
            ),
        ),
        {"on_reject": "quarantine"},
        TYPES,
    )


def _customer(number: int, date: str, dice: random.Random) -> _Customer:
    return _Customer(
        number,
        f"{dice.choice(_FIRST)} {dice.choice(_LAST)}",
        dice.choice(_CITIES),
        dice.choice(_SEGMENTS),
        dice.randrange(50_000, 2_000_000, 2_500),
        date,
    )


def _next_day(
    before: list[_Customer], date: str, dice: random.Random, kept: _Customer | None = None
) -> tuple[list[_Customer], int, int]:
    """Return the next day's customers, how many of them changed, and how many are gone."""
    others = [one for one in before if one is not kept]
    chosen = dice.sample(others, len(before) // 50 + len(before) * 8 // 100)
    gone = set(chosen[: len(before) // 50])
    changed = set(chosen[len(before) // 50 :])
    after = [
        _moved(one, date, dice) if one in changed else one for one in before if one not in gone
    ]
    last = max(one.number for one in before)
    after += [_customer(last + i, date, dice) for i in range(1, len(before) * 6 // 100 + 1)]
    return after, len(changed), len(gone)


def _moved(one: _Customer, date: str, dice: random.Random) -> _Customer:
    if dice.random() < 0.5:
        city = dice.choice([city for city in _CITIES if city != one.city])
        return replace(one, city=city, updated_on=date)
    return replace(one, cents=one.cents + dice.randrange(2_500, 100_000, 2_500), updated_on=date)
