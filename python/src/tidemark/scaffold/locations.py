"""Which files a command line names, and where the business date stands in their paths."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from tidemark.errors import ConfigError

_DATE = re.compile(
    r"(?<!\d)(?P<yyyy>\d{4})(?P<sep>[-_./]?)(?P<mm>\d{2})(?P=sep)(?P<dd>\d{2})(?!\d)"
)
_SPECIAL = re.compile(r"[\[\]{}*?\\]")
_PLACEHOLDERS = re.compile(r"\{(?:business_date|yyyy|mm|dd)\}")
_IS_GLOB = re.compile(r"[*?\[]")
# what the files of one day are numbered with: orders_20260304.csv, …_2.csv, …-part2.csv, ….b.csv
_NUMBERED = r"[_. -]?(?:part|p|teil|v|nr|no|seq|run)?[_. -]?(?:\d{1,6}|[a-zA-Z])"
_NUMBER = re.compile(f"(?:{_NUMBERED})?")
_ENDS_NUMBERED = re.compile(r"[_. -]?(?:part|p|teil|v|nr|no|seq|run)?[_. -]?\d*$")


@dataclass(frozen=True)
class Extract:
    """The files of one business date, and the setting that finds those of any date.

    Attributes:
        files: Files to sample, in order.
        location: The `location` setting.
        business_date: The date that was found in the path, as 2026-03-04; None where there is none.
        first_date: The first of all the dates for which there are files.
        found: Number of files that the command line named, of all dates.
        special: Characters of the files' own path that the setting takes for a pattern.
        family: A file of a day that has several, told apart by a number; then the setting finds
            all of them.
    """

    files: tuple[Path, ...]
    location: str
    business_date: str | None
    first_date: str | None
    found: int
    special: str = ""
    family: Path | None = None


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

    special = ""
    templates: dict[str, dict[str, list[Path]]] = {}
    for path in paths:
        template, found = put_placeholders(_relative(path, base), business_date)
        templates.setdefault(template, {}).setdefault(found or "", []).append(path)
    family = None
    if not any(_IS_GLOB.search(one) and put_placeholders(one)[1] for one in patterns):
        templates, family = _with_family(templates, paths, base, business_date)
    if business_date is not None:
        templates = {name: dates for name, dates in templates.items() if business_date in dates}
        if not templates:
            raise ConfigError(
                f"{' '.join(patterns)}: no path has the business date {business_date} in "
                "it: give --date as the path has it"
            )

    if len(templates) == 1:
        [(location, dates)] = templates.items()
        if family is None:
            special = "".join(sorted(set(_SPECIAL.findall(_PLACEHOLDERS.sub("", location)))))
        latest, first = business_date or max(dates), business_date or min(dates)
        chosen = dates[latest]
    elif len(patterns) == 1 and _IS_GLOB.search(patterns[0]):
        # Files of many names: the pattern itself must say where the date is.
        location, found = put_placeholders(_relative(Path(patterns[0]), base), business_date)
        latest = first = found or ""
        chosen = sorted(path for dates in templates.values() for path in dates.get(latest, []))
        if not chosen or (not latest and any(max(dates) for dates in templates.values())):
            raise ConfigError(
                f"{patterns[0]} finds files of several names and dates, such as "
                f"{paths[0].name} and {paths[-1].name}: put a date into the pattern"
            )
    else:
        raise ConfigError(
            f"{paths[0]} and {paths[-1]} differ in more than the business date: give the "
            "files of one entity only"
        )
    files: list[Path] = []
    for path in chosen:
        files += _data_files(path) if path.is_dir() else [path]
    if not files:
        raise ConfigError(f"{chosen[0]} is an empty folder: put a sample file there")
    return Extract(
        tuple(files), location, latest or None, first or None, len(paths), special, family
    )


def family_of(templates: Sequence[str]) -> str | None:
    """Return the location of files that have one date, and a number behind it or none.

    Example:
        >>> family_of(["in/orders_{yyyy}{mm}{dd}.csv", "in/orders_{yyyy}{mm}{dd}_2.csv"])
        'in/orders_{yyyy}{mm}{dd}*.csv'
        >>> family_of(["in/orders_{business_date}.csv", "in/orders_{business_date}_lines.csv"])

    Args:
        templates: Their paths with placeholders.
    """
    ends = [max((m.end() for m in _PLACEHOLDERS.finditer(one)), default=0) for one in templates]
    heads = {one[:end] for one, end in zip(templates, ends, strict=True)}
    if heads == {""} or len(heads) != 1:
        return None
    tails = [one[end:] for one, end in zip(templates, ends, strict=True)]
    stems = [_stem(tail) for tail in tails]
    endings = {tail[len(stem) :] for tail, stem in zip(tails, stems, strict=True)}
    common = _ENDS_NUMBERED.sub("", os.path.commonprefix(stems))  # noqa: RUF071
    if len(endings) != 1 or not all(_NUMBER.fullmatch(stem[len(common) :]) for stem in stems):
        return None
    return f"{heads.pop()}{common}*{endings.pop()}"


def _stem(tail: str) -> str:
    """Return what stands before the ending of a file's name, .csv.gz for one."""
    return re.sub(r"(?:\.(?!\d+(?:\.|$))[A-Za-z]\w+){1,2}$", "", tail)


def _with_family(
    templates: dict[str, dict[str, list[Path]]],
    paths: Sequence[Path],
    base: Path,
    business_date: str | None,
) -> tuple[dict[str, dict[str, list[Path]]], Path | None]:
    """Return the files with those beside them that are of the same days, numbered, by one location.

    Args:
        templates: The files by their path with placeholders, and by date.
        paths: All of them.
        base: The project's folder.
        business_date: The date to look for in the paths.

    Returns:
        What templates has, by one location if there is one that takes all and nothing else; and
        one of the numbered files.
    """
    if any(path.is_dir() for path in paths):
        return templates, None
    members = {name: next(iter(dates.values()))[0] for name, dates in templates.items()}
    dates: dict[str, list[Path]] = {}
    for known in templates.values():
        for day, files in known.items():
            dates.setdefault(day, []).extend(files)
    others = []
    folders = sorted({path.parent for path in paths})
    for path in sorted({one for folder in folders for one in _data_files(folder)} - {*paths}):
        template, found = put_placeholders(_relative(path, base), business_date)
        if found and template not in templates and family_of([*templates, template]):
            members[template] = path
            if found in dates:
                dates[found].append(path)
        elif template not in templates:
            others.append(template)
    location = family_of(list(members)) if len(members) > 1 else None
    if location is None or (len(templates) > 1 and location.replace("*", "") not in members):
        # if all files have a number, a glob may be meant to name some
        return templates, None
    if any(fnmatchcase(one, location.replace("[", "[[]")) for one in others):
        return templates, None
    family = members[max(members, key=len)]
    return {location: {day: sorted(files) for day, files in dates.items()}}, family


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
    raise ConfigError(f"the business date must be a date such as 2026-03-04, found: {text!r}")


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
        raise ConfigError(f"there is no file {pattern}. Check the path")
    found = [Path(name) for name in glob.glob(pattern, recursive=True)]
    if not found:
        raise ConfigError(f"no file matches {pattern}. Check the pattern")
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
