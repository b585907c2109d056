"""Names of columns: which a setting chooses, and lists of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def is_chosen(choice: Mapping[str, Any], name: str) -> bool:
    """Return whether a column is in a choice, whether it is there or not."""
    lower = name.lower()
    return lower in choice["include"] or (choice["all"] and lower not in choice["exclude"])


def lowered(names: Iterable[str]) -> list[str]:
    """Return names in lower case."""
    return [name.lower() for name in names]


def names_of(columns: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what columns are called."""
    return [column["name"] for column in columns]


def unique(names: Iterable[str]) -> list[str]:
    """Return each name once, as it is written first.

    Example:
        >>> unique(["Id", "name", "id"])
        ['Id', 'name']
    """
    spelt: dict[str, str] = {}
    for name in names:
        spelt.setdefault(name.lower(), name)
    return list(spelt.values())
