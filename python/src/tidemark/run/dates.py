"""Business dates as they are written on a command line."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable

from tidemark.errors import ConfigError

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def parse_business_dates(texts: Iterable[str]) -> list[dt.date]:
    """Return the dates that the options name, in the order written, each once.

    Example:
        >>> parse_business_dates(["2026-01-30..2026-02-01", "2025-12-31,2026-01-30"])
        [date(2026, 1, 30), date(2026, 1, 31), date(2026, 2, 1), date(2025, 12, 31)]

    Args:
        texts: Each a date, dates with commas between them, or a range `first..last` (both count).

    Raises:
        ConfigError: All that is wrong, at once.
    """
    dates: dict[dt.date, None] = {}
    problems: list[str] = []
    for text in texts:
        for part in text.split(","):
            try:
                for date in _parse_part(part.strip()):
                    dates[date] = None
            except ValueError as error:
                problems.append(str(error))
    if problems:
        raise ConfigError("; ".join(problems))
    return list(dates)


def _parse_part(part: str) -> list[dt.date]:
    first_text, dots, last_text = part.partition("..")
    first = _parse_date(first_text.strip())
    if not dots:
        return [first]
    last = _parse_date(last_text.strip())
    if last < first:
        raise ValueError(f"{part!r} ends before it begins: write {last}..{first}")
    return [first + dt.timedelta(days=days) for days in range((last - first).days + 1)]


def _parse_date(text: str) -> dt.date:
    if _DATE.fullmatch(text):
        try:
            return dt.date.fromisoformat(text)
        except ValueError:
            pass
    raise ValueError(
        f"{text!r} is not a date: write 2026-03-04, 2026-03-04,2026-03-05 or 2026-03-01..2026-03-31"
    )


def date_ranges(dates: Iterable[dt.date]) -> str:
    """Return dates in the form of the option, those that follow each other as a range.

    Example:
        >>> date_ranges([date(2026, 1, 30), date(2026, 1, 31), date(2026, 2, 1), date(2026, 2, 3)])
        '2026-01-30..2026-02-01, 2026-02-03'
    """
    ranges: list[list[dt.date]] = []
    for date in sorted(dates):
        if ranges and date - ranges[-1][-1] <= dt.timedelta(days=1):
            ranges[-1][1:] = [date]
        else:
            ranges.append([date])
    return ", ".join("..".join(map(str, ends)) for ends in ranges)


def extract_path(location: str, date: dt.date) -> str:
    """Return where the extract of a date lies; the same placeholders as the macro of that name."""
    return (
        location.replace("{business_date}", date.isoformat())
        .replace("{yyyy}", f"{date:%Y}")
        .replace("{mm}", f"{date:%m}")
        .replace("{dd}", f"{date:%d}")
    )
