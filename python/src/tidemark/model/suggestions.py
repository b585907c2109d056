"""Suggestions for a misspelt name."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

_SHOWN = 30


def did_you_mean(name: Any, known: Collection[Any]) -> str:
    """Return the end of a sentence about a name that is not among those known.

    Example:
        >>> did_you_mean("ignroe", ["ignore", "hash"]), did_you_mean("x", ["b", "a"])
        ('; did you mean `ignore`?', '; there are a, b')
    """
    near = nearest(name, known)
    if near:
        return f"; did you mean `{near}`?"
    others = len(known) - _SHOWN
    names = sorted(map(str, known), key=str.lower)[:_SHOWN]
    return f"; there are {', '.join(names)}" + (f" and {others} more" if others > 0 else "")


def nearest(name: Any, known: Iterable[Any], least: float = 0.4) -> Any:
    """Return the known name that shares most letter pairs with this one.

    Example:
        >>> nearest("locaton", ["format", "location"]), nearest("x", ["format"])
        ('location', None)

    Args:
        name: What was written.
        known: What could have been meant; of several that are as near, the first.
        least: How large a part is to be shared.
    """
    wanted = _letter_pairs(str(name).lower())
    best, score = None, 0.0
    for candidate in known:
        pairs = _letter_pairs(str(candidate).lower())
        shared = 2.0 * len(pairs & wanted) / (len(wanted) + len(pairs))
        if shared > score:
            best, score = candidate, shared
    return best if score >= least else None


@cache
def _letter_pairs(word: str) -> frozenset[str]:
    """Each letter with the next and with the one after that: some may have changed places."""
    framed = f" {word} "
    near = {framed[at : at + 2] for at in range(len(framed) - 1)}
    return frozenset(near | {framed[at] + framed[at + 2] for at in range(len(framed) - 2)})
