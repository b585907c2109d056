"""The line of a landed file that a rejected row came from: no table keeps it, so it is searched."""

from __future__ import annotations

import bz2
import codecs
import csv
import glob
import gzip
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

MASKED = "***"
"""What stands in a reject for a sensitive value."""
_MOST_BYTES = 64 * 1024 * 1024
"""In larger files no line is looked for: that would take longer than one waits for a command."""
_MOST_UNPACKED = 4 * _MOST_BYTES
_OPENERS: Mapping[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}

Place = tuple[str, int | None]
"""The path of a file as the location has it, and the line, from 1; None where it is not known."""
Record = tuple[int, dict[str, str | None]]


@dataclass(frozen=True)
class Landed:
    """How the files of a model are found and read.

    Attributes:
        location: Where its extracts or events land, as its YAML says; None if its SQL says it.
        extract: full, delta or events; None if it has none.
        format: That of the files.
        key: Its key columns; none for a table without key.
        options: How they are read, names and values.
    """

    location: str | None
    extract: str | None
    format: str
    key: tuple[str, ...]
    options: tuple[tuple[str, str], ...]

    def option(self, *names: str) -> str | None:
        """Return how its files are read: the value of an option by its names, in any case."""
        return next((value for name, value in self.options if name.lower() in names), None)


@dataclass(frozen=True)
class _File:
    path: Path
    shown: str


def places_of(
    root: Path, landed: Landed, date: str | None, payloads: Sequence[str | None]
) -> list[Place | None]:
    """Return where rows that were rejected stand in the files of their extract or events.

    What was delivered anew since may not have them any more: then the file is told where there is
    one for the date, and no line.

    Args:
        root: The project, from which a location without a root counts.
        landed: How its files are read.
        date: The business date whose extract it was, as 2026-03-04; of change events it says
            nothing of the files.
        payloads: The rows as the table of rejects has them.
    """
    files = _files_of(root, landed, date)
    only = (files[0].shown, None) if len(files) == 1 else None
    found: list[Place | None] = [only] * len(payloads)
    if sum(_size(file.path) for file in files) > _MOST_BYTES:
        return found
    wanted = {number: text for number, text in enumerate(payloads) if text}
    for file in files:
        try:
            for number, line in _lines_in(file.path, landed, wanted):
                found[number] = (file.shown, line)
                wanted.pop(number)
        except (OSError, EOFError, ValueError, LookupError, csv.Error):
            continue
    for number, place in _by_key(files, landed, wanted).items():
        found[number] = place
    return found


def _by_key(files: Sequence[_File], landed: Landed, wanted: Mapping[int, str]) -> dict[int, Place]:
    """Return where rows stand that the model's body changed: where one record alone has the key."""
    names = tuple(name.lower() for name in landed.key)
    rows = {number: row for number, text in wanted.items() if (row := _object(text)) is not None}
    is_of_records = landed.extract != "events" and landed.format in ("csv", "json")
    if not rows or not names or not is_of_records:
        return {}
    records = _csv_records if landed.format == "csv" else _json_records
    places: dict[tuple[str, ...], list[Place]] = {}
    for file in files:
        try:
            with _opened(file.path, landed) as content:
                for line, record in records(content, landed, names):
                    places.setdefault(_key(record, names), []).append((file.shown, line))
        except (OSError, EOFError, ValueError, LookupError, csv.Error):
            return {}
    keys = {number: _key(row, names) for number, row in rows.items()}
    known = {number: places.get(key, []) for number, key in keys.items() if all(key)}
    return {number: found[0] for number, found in known.items() if len(found) == 1}


def _files_of(root: Path, landed: Landed, date: str | None) -> list[_File]:
    location = landed.location
    if location is None or ("://" in location and not location.startswith("file:")):
        return []
    if landed.extract != "events":
        if date is None:
            return []
        year, month, day = date.split("-")
        for name, text in {"business_date": date, "yyyy": year, "mm": month, "dd": day}.items():
            location = location.replace(f"{{{name}}}", text)
    found = []
    for pattern in _alternatives(re.sub(r"^file:/*", "/", location)):
        for name in sorted(glob.glob(pattern, root_dir=root)):
            path = root / name
            inner = sorted(path.iterdir()) if path.is_dir() else [path]
            found += [
                _File(one, name if one == path else f"{name.rstrip('/')}/{one.name}")
                for one in inner
                if one.is_file() and not one.name.startswith(("_", "."))
            ]
    return found


def _alternatives(pattern: str) -> list[str]:
    """Return the patterns that one with {a,b} stands for."""
    choice = re.search(r"\{([^{}]*)\}", pattern)
    if choice is None:
        return [pattern]
    parts = [
        pattern[: choice.start()] + one + pattern[choice.end() :] for one in choice[1].split(",")
    ]
    return [inner for part in parts for inner in _alternatives(part)]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _lines_in(path: Path, landed: Landed, wanted: Mapping[int, str]) -> Iterator[tuple[int, int]]:
    """Return the number of each row that a file has, with its line; equal ones in their order."""
    whole, rows = {}, {}
    for number, text in wanted.items():
        row = _object(text)
        if row is not None and landed.extract != "events" and landed.format in ("csv", "json"):
            rows[number] = row
        else:
            whole[number] = text
    if whole and landed.format != "parquet":
        yield from _matching(_text_lines(path, landed), whole)
    if rows:
        records = _csv_records if landed.format == "csv" else _json_records
        names = _compared_names(rows.values())
        keys = {number: _key(row, names) for number, row in rows.items()}
        with _opened(path, landed) as file:
            read = ((line, _key(record, names)) for line, record in records(file, landed, names))
            yield from _matching(read, keys)


def _matching(
    lines: Iterable[tuple[int, Any]], wanted: Mapping[int, Any]
) -> Iterator[tuple[int, int]]:
    left: dict[Any, list[int]] = {}
    for number, what in wanted.items():
        left.setdefault(what, []).append(number)
    for line, what in lines:
        numbers = left.get(what)
        if numbers:
            yield numbers.pop(0), line
            if not numbers:
                del left[what]
            if not left:
                return


def _compared_names(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names, in small letters, of what no row has masked or nested."""
    names: dict[str, bool] = {}
    for row in rows:
        for name, value in row.items():
            is_plain = value != MASKED and not isinstance(value, dict | list)
            names[name.lower()] = names.get(name.lower(), True) and is_plain
    return tuple(name for name, is_plain in names.items() if is_plain)


def _key(row: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    small = {name.lower(): value for name, value in row.items()}
    # in a file an empty field and no value are told apart by quotes alone
    return tuple("" if small.get(name) is None else str(small[name]) for name in names)


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _opened(path: Path, landed: Landed) -> IO[str]:
    with _OPENERS.get(path.suffix, open)(path, "rb") as file:
        content = file.read(_MOST_UNPACKED)
    encoding = landed.option("encoding", "charset") or "utf-8"
    if content.startswith(codecs.BOM_UTF8):
        content = content.removeprefix(codecs.BOM_UTF8)
        try:
            return io.StringIO(content.decode(), newline="")
        except UnicodeDecodeError:
            pass
    return io.StringIO(content.decode(encoding, "replace"), newline="")


def _text_lines(path: Path, landed: Landed) -> Iterator[tuple[int, str]]:
    with _opened(path, landed) as file:
        for line, text in enumerate(file, start=1):
            yield line, text.rstrip("\r\n")


def _csv_records(
    file: IO[str], landed: Landed, names: Sequence[str]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    quote = landed.option("quote") or '"'
    escape = landed.option("escape") or quote
    separator = landed.option("sep", "delimiter") or ","
    reader = csv.reader(
        file,
        delimiter="\t" if separator == "\\t" else separator,
        quotechar=quote,
        doublequote=escape == quote,
        escapechar=None if escape == quote else escape,
    )
    has_header = (landed.option("header") or "true").lower() == "true"
    header: Sequence[str] = names
    begun = 0
    for record in reader:
        if has_header and not begun:
            header = record
        elif record:
            yield begun + 1, dict(zip(header, record, strict=False))
        begun = reader.line_num


def _json_records(
    file: IO[str], landed: Landed, names: Sequence[str]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for line, text in enumerate(file, start=1):
        try:
            # a number is compared as it is written
            record = json.loads(text, parse_float=str, parse_int=str)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield line, {name: _written(value) for name, value in record.items()}


def _written(value: Any) -> Any:
    return ("true" if value else "false") if isinstance(value, bool) else value
