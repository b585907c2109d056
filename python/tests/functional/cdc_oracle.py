"""What hash CDC must give, in plain Python: the extracts of all dates, taken in order of date."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date

Row = tuple[str | None, ...]
"""Compared values of a row, in column order."""

Extract = Mapping[str, Row | None]
"""Key → row; None is a row that came but could not be used."""


@dataclass
class Outcome:
    """What the tables must hold.

    Attributes:
        history: (date, key) → (operation, row, changed columns); D with the last known row.
        current: key → (operation, row, date of the last change).
        tagged: key → operation that current shows with tag_unchanged.
    """

    history: dict[tuple[date, str], tuple[str, Row, tuple[str, ...] | None]] = field(
        default_factory=dict
    )
    current: dict[str, tuple[str, Row, date]] = field(default_factory=dict)
    tagged: dict[str, str] = field(default_factory=dict)


def replay(
    extracts: Mapping[date, Extract],
    columns: tuple[str, ...],
    *,
    delta: bool | Mapping[date, bool],
    scope: tuple[str, ...] = (),
    scoped: Collection[date] | None = None,
) -> Outcome:
    """Load the extracts in order of date into an empty entity; `delta` may be other by date.

    Of a full extract with a `scope` only rows that had a scope which came are deleted; that is of
    all dates, or of those that are `scoped`.
    """
    outcome = Outcome()
    places = [columns.index(name) for name in scope]

    def scope_of(row: Row) -> Row:
        return tuple(row[place] for place in places)

    for day in sorted(extracts):
        extract = extracts[day]
        came = {scope_of(row) for row in extract.values() if row is not None}
        by_scope = bool(scope) and (scoped is None or day in scoped)
        stood = {key: scope_of(row) for key, (_, row, _) in outcome.current.items()}
        for key, row in extract.items():
            if row is None:
                continue
            before = outcome.current.get(key)
            if before is None:
                outcome.history[day, key] = ("I", row, None)
                outcome.current[key] = ("I", row, day)
            elif before[1] != row:
                changed = tuple(
                    c for c, a, b in zip(columns, before[1], row, strict=True) if a != b
                )
                outcome.history[day, key] = ("U", row, changed)
                outcome.current[key] = ("U", row, day)
        if not (delta if isinstance(delta, bool) else delta[day]):
            gone = [k for k in outcome.current if k not in extract]
            for key in [k for k in gone if not by_scope or stood[k] in came]:
                outcome.history[day, key] = ("D", outcome.current.pop(key)[1], None)
    last = max(extracts)
    for key, (operation, _, day) in outcome.current.items():
        seen = extracts[last].get(key) is not None
        outcome.tagged[key] = operation if day == last else "N" if seen else "X"
    return outcome
