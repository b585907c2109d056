"""Runs that failed, as they are remembered: what, when and why, without a value of any row.

A run that failed has written nothing to the tables, and neither has one that found nothing new,
after which all is well again. What is kept lies in TIDEMARK_HOME: a file of the failures, and for
each entity an empty one that is as old as the end of its last run which went through.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from tidemark.errors import INTERRUPTED
from tidemark.home import Home, write_private

_KEPT = 500
_WITHOUT_VALUES = re.compile(f"{INTERRUPTED}|cannot be opened: permission denied")
_MAX_BYTES = 512 * 1024


@dataclass(frozen=True)
class Failure:
    """A run of an entity that failed.

    Attributes:
        relation: schema.table.
        entity: The model.
        failed_at: When.
        message: What went wrong, in a line.
        business_date: Of the run, as it was given.
        invocation_id: dbt's.
    """

    relation: str
    entity: str
    failed_at: dt.datetime
    message: str
    business_date: str | None = None
    invocation_id: str | None = None


def one_line(message: str) -> str:
    """Return the line of an error's message that has no values of rows in it.

    Of ours it is the first one: examples are on lines of their own. Of Spark's it is the error's
    condition: its text may quote what could not be cast.

    Example:
        >>> one_line("Data Error in model a\\n  a: 1 of 4 rows cannot be used\\n  - x")
        'a: 1 of 4 rows cannot be used'
        >>> one_line("Database Error in model a\\n  [CAST_INVALID_INPUT] The value 'x' …")
        '[CAST_INVALID_INPUT] (see the log)'
    """
    head, _, rest = message.strip().partition("\n")
    first = rest.strip().partition("\n")[0].strip()
    is_ours = re.match(r"(Data|Configuration|Usage) Error\b", head) or _WITHOUT_VALUES.search(first)
    if is_ours and first:
        return first
    condition = re.search(r"\[[A-Z][A-Z0-9_.]+\]", message)
    reason = condition[0] if condition else head.partition(" in model ")[0][:80] or "it failed"
    return f"{reason} (see the log)"


def remember_failure(home: Home, failure: Failure) -> None:
    """Add a failure to those that are known; the oldest are forgotten."""
    line = json.dumps(asdict(failure), default=lambda moment: moment.isoformat())
    path = home.failures
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(descriptor, "a", encoding="utf-8") as file:
            file.write(line + "\n")
        if path.stat().st_size > _MAX_BYTES:
            last = path.read_text(encoding="utf-8").splitlines()[-_KEPT:]
            new = path.with_suffix(f".{os.getpid()}")
            write_private(new, "\n".join(last) + "\n")
            new.replace(path)
    except OSError:
        pass  # the run has failed already, and says so itself


def remember_success(home: Home, relation: str) -> None:
    """Remember that a run of an entity went through now, whether it brought anything or not."""
    path = _success(home, relation)
    with suppress(OSError):  # the run has done what it was to do
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def succeeded_at(home: Home, relation: str) -> dt.datetime | None:
    """Return when the last run of an entity went through here; None where that is not known."""
    try:
        return dt.datetime.fromtimestamp(_success(home, relation).stat().st_mtime, dt.UTC)
    except OSError:
        return None


def _success(home: Home, relation: str) -> Path:
    return home.successes / quote(relation, safe="")


def read_failures(home: Home) -> list[Failure]:
    """Return what is known, the newest first."""
    return sorted(_read(home), key=lambda failure: failure.failed_at, reverse=True)


def _read(home: Home) -> Iterator[Failure]:
    try:
        lines = home.failures.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            content = json.loads(line)
            moment = dt.datetime.fromisoformat(content["failed_at"])
            yield Failure(**{**content, "failed_at": moment})
        except (ValueError, TypeError, KeyError):
            continue  # a line that was cut when the disk was full
