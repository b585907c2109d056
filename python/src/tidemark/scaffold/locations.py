"""Which files a command line names, and where the business date stands in their paths."""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tidemark.errors import ConfigError

_DATE = re.compile(
    r"(?<!\d)(?P<yyyy>\d{4})(?P<sep>[-_./]?)(?P<mm>\d{2})(?P=sep)(?P<dd>\d{2})(?!\d)"
)
_SPECIAL = re.compile(r"[\[\]{}*?\\]")
_PLACEHOLDERS = re.compile(r"\{(?:business_date|yyyy|mm|dd)\}")
_IS_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Extract:
    """The files of one business date, and the setting that finds those of any date.

    Attributes:
        files: Files to sample, in order.
        location: The `location` setting.
        business_date: The date that was found in the path, as 2026-03-04; None where there is none.
        first_date: The first of all the dates for which there are files.
        found: Number of files that the command line named, of all dates.
    """

    files: tuple[Path, ...]
    location: str
    business_date: str | None
    first_date: str | None
    found: int


def find_extract(patterns: Sequence[str], base: Path, business_date: str | None = None) -> Extract:
    """Find the files to sample: those of the given business date, else of the latest.

    Args:
        patterns: Files, folders or globs.
        base: The project's folder; a location below it is written relative to it.
        business_date: The date to look for in the paths; by default the latest.

    Raises:
        ConfigError: Nothing is there, or no one location finds these files.
    """
    paths: list[Path] = []
    for pattern in patterns:
        paths += _expand(pattern)
    paths = sorted(set(paths))

    templates: dict[str, dict[str, list[Path]]] = {}
    for path in paths:
        template, found = put_placeholders(_relative(path, base), business_date)
        templates.setdefault(template, {}).setdefault(found or "", []).append(path)
    if business_date is not None:
        templates = {name: dates for name, dates in templates.items() if business_date in dates}
        if not templates:
            raise ConfigError(
                f"{' '.join(patterns)}: no path has the business date {business_date} in it"
            )

    if len(templates) == 1:
        [(location, dates)] = templates.items()
        if special := _SPECIAL.search(_PLACEHOLDERS.sub("", location)):
            raise ConfigError(
                f"{paths[0]} has {special[0]} in its name, which `location` takes for a pattern: "
                "rename it"
            )
        latest, first = business_date or max(dates), business_date or min(dates)
        chosen = dates[latest]
    elif len(patterns) == 1 and _IS_GLOB.search(patterns[0]):
        # Files of many names: the pattern itself must say where the date is.
        location, found = put_placeholders(_relative(Path(patterns[0]), base), business_date)
        latest = first = found or ""
        chosen = sorted(path for dates in templates.values() for path in dates.get(latest, []))
        if not chosen or (not latest and any(max(dates) for dates in templates.values())):
            raise ConfigError(
                f"{patterns[0]} finds files of several names and dates, such as {paths[0].name} "
                f"and {paths[-1].name}: put a date into the glob"
            )
    else:
        raise ConfigError(
            f"{paths[0]} and {paths[-1]} differ in more than the business date: "
            "give the files of one entity"
        )
    files: list[Path] = []
    for path in chosen:
        files += _data_files(path) if path.is_dir() else [path]
    if not files:
        raise ConfigError(f"{chosen[0]} is an empty folder: a sample file is needed")
    return Extract(tuple(files), location, latest or None, first or None, len(paths))


def put_placeholders(path: str, business_date: str | None = None) -> tuple[str, str | None]:
    """Replace the business date in a path by placeholders.

    The date is the given one, else the last that stands in the path; where the path spells the same
    date again, that is replaced too.

    Example:
        >>> put_placeholders("data/airports_2026-03-04.csv.gz")
        ('data/airports_{business_date}.csv.gz', '2026-03-04')
        >>> put_placeholders("landing/2026/03/04/airports_20260304.csv")
        ('landing/{yyyy}/{mm}/{dd}/airports_{yyyy}{mm}{dd}.csv', '2026-03-04')
    """
    dates = [_iso(match) for match in _DATE.finditer(path)]
    candidates = [found for found in dates if found and found == (business_date or found)]
    if not candidates:
        return path, None
    wanted = candidates[-1]

    def replace(match: re.Match[str]) -> str:
        if _iso(match) != wanted:
            return match.group()
        separator = match["sep"]
        return "{business_date}" if separator == "-" else separator.join(("{yyyy}", "{mm}", "{dd}"))

    return _DATE.sub(replace, path), wanted


def check_date(text: str) -> str:
    """Return a date such as 2026-03-04 as it is.

    Raises:
        ConfigError: The text is not such a date.
    """
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        match = _DATE.fullmatch(text)
        if match and _iso(match):
            return text
    raise ConfigError(f"business date must be a date such as 2026-03-04, found: {text!r}")


def _iso(match: re.Match[str]) -> str | None:
    try:
        found = date(int(match["yyyy"]), int(match["mm"]), int(match["dd"]))
    except ValueError:
        return None
    return found.isoformat() if 1900 <= found.year < 2200 else None


def _expand(pattern: str) -> list[Path]:
    if Path(pattern).exists():
        return [Path(pattern)]
    if not _IS_GLOB.search(pattern):
        raise ConfigError(f"no file {pattern}")
    found = [Path(name) for name in glob.glob(pattern, recursive=True)]
    if not found:
        raise ConfigError(f"no file matches {pattern}")
    return found


def _data_files(folder: Path) -> list[Path]:
    """The files of a folder that Spark would read: not `_SUCCESS`, not `.crc`."""
    return sorted(
        path for path in folder.iterdir() if path.is_file() and not path.name.startswith(("_", "."))
    )


def _relative(path: Path, base: Path) -> str:
    """A path as the project's runs will find it: relative to its folder, absolute if elsewhere."""
    absolute = Path.cwd() / path
    for one, other in ((absolute, base), (absolute.resolve(), base.resolve())):
        if one.is_relative_to(other):
            return one.relative_to(other).as_posix()
    return absolute.as_posix()
