"""Errors that nobody foresaw: a sentence for who called, the trace for who mends it."""

from __future__ import annotations

import datetime as dt
import os
import tempfile
import traceback
from pathlib import Path

from tidemark.home import tidemark_home


def report_defect(error: BaseException, doing: str) -> str:
    """Return what is said of an error that nobody foresaw; its trace goes to a log of the owner's.

    Args:
        error: What was raised.
        doing: What was called, such as `tidemark status`.
    """
    lines = "".join(traceback.format_exception_only(error)).strip().splitlines()
    log = _written(f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M:%S} UTC  {doing}\n{_trace(error)}\n")
    return (
        f"{doing} stopped {_place(error)} by an unexpected error: {lines[-1]}\nThis is a defect "
        f"of Tidemark. Report it with the trace in {log}"
    )


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def _place(error: BaseException) -> str:
    """Return the innermost function of ours that was at work."""
    ours = Path(__file__).parent.parent
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(ours / "tidemark") or path.is_relative_to(ours / "dbt"):
            return f"in {frame.name} ({path.relative_to(ours)}, line {frame.lineno})"
    return "outside Tidemark"


def _written(text: str) -> Path:
    log = tidemark_home().own_log
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        # an error may have values of rows
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        descriptor, name = tempfile.mkstemp(prefix="tidemark-", suffix=".log", text=True)
        log = Path(name)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return log


__all__ = ["report_defect"]
