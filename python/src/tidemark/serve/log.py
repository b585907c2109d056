"""The end of dbt's log, as far as it is certain to have no value of any row.

A log has SQL with its literals, what macros and users print, and Spark's errors, which quote what
they could not read. So lines are shown by what they are, not hidden by what they may have: those
that dbt itself writes of nodes and counts, and of an error what kind of error it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tidemark.failures import one_line

_READ_BYTES = 256 * 1024
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LINE = re.compile(r"(\d\d:\d\d:\d\d)(?:\.\d+)? \[(\w+) *\] \[[^\]]*\]: ?(.*)")
_SHOWN = re.compile(
    r"Running with dbt=[\w.+-]+$"
    r"|Found \d+ [\w, ]+$"
    r"|Concurrency: \d+ threads? \(target='[\w.-]+'\)$"
    r"|\d+ of \d+ (START|OK|ERROR|SKIP|PASS|FAIL|WARN|NO-OP|PARTIAL SUCCESS|PARTIALLY|CANCEL)\b"
    r"[^'\"]* \[[A-Z][^\]]*\]$"
    r"|Finished running [\w, ]+ in [\w., ()]+\.$"
    r"|Completed (successfully|with \d+ [\w, ]+)[\w, :]*$"
    r"|Done\. PASS=\d+[\w =-]*$"
)
_COUNTS = "tidemark commit "
_ERROR = re.compile(
    r"(Data|Configuration|Usage|Database|Compilation|Runtime|Parsing|Internal) Error\b"
)


@dataclass(frozen=True)
class LogLine:
    """A line of the log.

    Attributes:
        at: The time of day, in UTC.
        level: info, warn or error.
        text: What it says.
    """

    at: str
    level: str
    text: str


def log_tail(path: Path, lines: int = 30) -> list[LogLine]:
    """Return the last lines of dbt's log that may be shown; none if there is no log.

    Args:
        path: The log.
        lines: How many at most.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _READ_BYTES))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return []
    return list(shown_lines(text))[-lines:]


def shown_lines(text: str) -> Iterator[LogLine]:
    """Yield what may be shown of a log."""
    for at, level, message in _messages(text):
        first = message.partition("\n")[0].rstrip()
        if _SHOWN.match(first):
            shown: str | None = first
        elif first.startswith(_COUNTS):
            shown = _counts(first)
        else:
            shown = error_line(message) if level == "error" else None
        if shown is not None:
            yield LogLine(at, level, shown)


def error_line(message: str) -> str | None:
    """Return what kind of error a message tells, in a line without values; None if it tells none.

    Example:
        >>> error_line("Runtime Error in model a (models/a.sql)\\n  could not cast 'secret'")
        'a: Runtime Error (see the log)'
    """
    found = _ERROR.search(message)
    if found is None:
        return "an error (see the log)" if message.strip() else None
    message_part = message[found.start() :]
    model = re.match(r"[A-Z]\w+ Error in \w+ (\w+)", message_part)
    line = one_line(message_part)
    named = f"{model[1]}: " if model else ""
    return line if line.startswith(named) else named + line


def _messages(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield time, level and message of what has a level worth showing; messages have many lines."""
    current: tuple[str, str, list[str]] | None = None
    for line in _COLOURS.sub("", text).splitlines():
        found = _LINE.match(line)
        if found is None:
            if current is not None:
                current[2].append(line)
            continue
        if current is not None:
            yield current[0], current[1], "\n".join(current[2])
        current = None
        if found[2] in ("info", "warn", "error"):
            current = (found[1], found[2], [found[3]])
    if current is not None:
        yield current[0], current[1], "\n".join(current[2])


def _counts(message: str) -> str | None:
    """Return the counts of a commit: names and numbers, and nothing else."""
    try:
        content = json.loads(message[len(_COUNTS) :])
        relation = str(content["relation"]).replace("`", "")
        counts = {name: int(value) for name, value in content["counts"].items() if value}
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    told = ", ".join(
        f"{value:,} {name.removeprefix('rows_').replace('_', ' ')}"
        for name, value in counts.items()
        if re.fullmatch(r"rows_[a-z_]+", name)
    )
    return f"{relation}: {told or 'nothing new'}"
