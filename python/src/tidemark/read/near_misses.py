"""Files that lie where the extracts of an entity land, and that its location does not find."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from tidemark.scaffold.locations import put_placeholders

_PLACEHOLDER = re.compile(r"\{(?:business_date|yyyy|mm|dd)\}")
_IN_TEXT = {
    "{business_date}": r"\d{4}-\d{2}-\d{2}",
    "{yyyy}": r"\d{4}",
    "{mm}": r"\d\d",
    "{dd}": r"\d\d",
}
_TOKEN = re.compile(r"\{(?:business_date|yyyy|mm|dd)\}|\{|\}|,|\*+|\?|\[[^\]]*\]|.", re.DOTALL)


def near_misses(
    root: Path, location: str | None, others: Iterable[str | None] = ()
) -> dict[dt.date, list[str]]:
    """Return the files of each date that begin as those of a location do, and are not found by it.

    Such as `orders_20260304_2.csv` beside `orders_{yyyy}{mm}{dd}.csv`, or `orders_2026-03-04.csv`.

    Args:
        root: The project, from which a path without a root counts.
        location: As the entity's YAML says it. Nothing is known of a URL.
        others: The locations of the project's other entities: their files are none of its own.
    """
    pattern = _path_of(root, location)
    if pattern is None or not _PLACEHOLDER.search(pattern):
        return {}
    folder, _, name = pattern.rpartition("/")
    begin = re.split(r"[{*?\[.]", name)[0].lower()
    known = [
        re.compile(_regex(one))
        for one in (pattern, *(_path_of(root, other) for other in others))
        if one is not None
    ]
    found: dict[dt.date, list[str]] = {}
    glob = re.sub(r"\*+", "*", _PLACEHOLDER.sub("*", folder)).lstrip("/")
    for place in Path("/").glob(glob) if glob else [Path("/")]:
        for file in sorted(place.iterdir()) if _is_open(place) else []:
            text = str(file)
            rest = file.name[len(begin) :]
            # a name that goes on with a letter is another one: orders_lines_20260304.csv
            is_like = file.name.lower().startswith(begin) and not rest[:1].isalpha()
            if not is_like or file.name.startswith((".", "_")) or not file.is_file():
                continue
            _, date = put_placeholders(text)
            if date is None or any(one.fullmatch(text) for one in known):
                continue
            found.setdefault(dt.date.fromisoformat(date), []).append(file.name)
    return dict(sorted(found.items()))


def _is_open(place: Path) -> bool:
    return place.is_dir() and os.access(place, os.R_OK | os.X_OK)


def describe_misses(misses: Mapping[dt.date, list[str]], location: str) -> str:
    """Return a sentence on files that a location does not find.

    Example:
        >>> describe_misses({dt.date(2026, 3, 4): ["a_20260304_2.csv"]}, "in/a_{yyyy}{mm}{dd}.csv")
        'a_20260304_2.csv lies there, which location in/a_{yyyy}{mm}{dd}.csv does not match'
    """
    names = [name for files in misses.values() for name in files]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    verb = "lies" if len(names) == 1 else "lie"
    return f"{shown} {verb} there, which location {location} does not match"


def _path_of(root: Path, location: str | None) -> str | None:
    if location is None or ("://" in location and not location.startswith("file:")):
        return None
    return str(root / re.sub(r"^file:/*", "/", location))


def _regex(pattern: str) -> str:
    """Return the regular expression of the paths that a location finds, of any date."""
    parts, depth = [], 0
    for token in _TOKEN.findall(pattern):
        if token in _IN_TEXT:
            parts.append(_IN_TEXT[token])
        elif token == "{":
            depth += 1
            parts.append("(?:")
        elif token == "}" and depth:
            depth -= 1
            parts.append(")")
        elif token == "," and depth:
            parts.append("|")
        elif token.startswith("*"):
            parts.append("[^/]*")
        elif token == "?":
            parts.append("[^/]")
        elif len(token) > 1:
            one_of = token[1:-1]
            is_not = one_of[:1] in ("!", "^")
            body = re.escape(one_of[is_not:]).replace(r"\-", "-")
            parts.append(f"[{'^' if is_not else ''}{body}]")
        else:
            parts.append(re.escape(token))
    # a folder's files are found by its name
    return "".join(parts) + ")" * depth + r"(?:/[^/]+)?"
