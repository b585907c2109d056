"""Findings of checks, and the questions that every database is asked in the same way."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from tidemark.capture.config import CaptureConfig
from tidemark.capture.properties import matches, selects


class Queries(Protocol):
    """What checks need of a database."""

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""

    def value(self, sql: str, *values: Any) -> Any:
        """Return the first value of a query."""


@dataclass(frozen=True)
class Finding:
    """A problem.

    Attributes:
        severity: `error`: capture would fail or lose changes; `warning`: it works, but.
        what: What is so.
        impact: What follows from it.
        suggestion: How to mend it: SQL, or a setting.
    """

    severity: Literal["error", "warning"]
    what: str
    impact: str
    suggestion: str


@dataclass(frozen=True)
class Table:
    """A table of the database.

    Attributes:
        name: `schema.table`.
        has_key: Whether it has a primary key.
        types: Types of columns by name.
    """

    name: str
    has_key: bool
    types: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """All that was found, and the tables that would be captured."""

    findings: Sequence[Finding]
    tables: Sequence[Table]

    @property
    def is_good(self) -> bool:
        """Whether there is no error."""
        return not any(finding.severity == "error" for finding in self.findings)


def error(what: str, impact: str, suggestion: str) -> Finding:
    """Return an error."""
    return Finding("error", what, impact, suggestion)


def warning(what: str, impact: str, suggestion: str) -> Finding:
    """Return a warning."""
    return Finding("warning", what, impact, suggestion)


def tables_of(rows: Sequence[tuple[Any, ...]]) -> list[Table]:
    """Return tables from rows of schema, table, whether it has a key, column and type."""
    tables: dict[str, Table] = {}
    for schema, name, has_key, column, type_ in rows:
        table = tables.setdefault(f"{schema}.{name}", Table(f"{schema}.{name}", bool(has_key)))
        if column is not None:
            table.types[str(column)] = str(type_)
    return list(tables.values())


def selected(config: CaptureConfig, tables: Sequence[Table]) -> list[Table]:
    """Return the tables that the patterns select."""
    return [table for table in tables if selects(config, table.name)]


def check_selection(config: CaptureConfig, tables: Sequence[Table]) -> Iterator[Finding]:
    """Does each pattern select a table, or a column of one?"""
    names = [table.name for table in tables]
    if not selected(config, tables):
        wanted = ", ".join(config.include) or "all"
        yield error(
            f"no table is selected (include: {wanted})",
            "capture has nothing to read",
            _nearest(config.include, names) or "grant the user select on some tables: it sees none",
        )
        return
    for pattern in config.include:
        if not any(selects(_only(config, pattern), name) for name in names):
            yield warning(
                f"the pattern {pattern} selects no table",
                "capture reads nothing for this pattern",
                _nearest([pattern], names) or "take the pattern out of `include`",
            )
    columns = [f"{table.name}.{name}" for table in selected(config, tables) for name in table.types]
    for pattern in (*config.columns.include, *config.columns.exclude):
        if not any(matches(pattern, name) for name in columns):
            yield warning(
                f"the pattern {pattern} of `columns` matches no column",
                "the pattern changes nothing",
                _nearest([pattern], columns) or "take the pattern out of `columns`",
            )


def _only(config: CaptureConfig, pattern: str) -> CaptureConfig:
    return replace(config, include=(pattern,), exclude=())


def _nearest(patterns: Sequence[str], names: Sequence[str]) -> str:
    near: list[str] = []
    for pattern in patterns:
        lowered = {name.lower(): name for name in names}
        found = difflib.get_close_matches(pattern.lower(), lowered, n=3, cutoff=0.4)
        near += [lowered[name] for name in found]
    near = near or list(names[:3])
    return f"there are: {', '.join(dict.fromkeys(near))}" if near else ""


def check_keys(tables: Sequence[Table]) -> Iterator[Finding]:
    """Which tables have no primary key?"""
    keyless = [table.name for table in tables if not table.has_key]
    if keyless:
        yield warning(
            f"tables without primary key: {several(keyless)}",
            "the copy counts equal rows, and each update looks for its row by all columns",
            "add a primary key to each table that can have one",
        )


def check_types(
    tables: Sequence[Table], unsupported: dict[str, tuple[str, str]]
) -> Iterator[Finding]:
    """Which columns lose something? `unsupported`: type → impact and suggestion."""
    for type_, (impact, suggestion) in unsupported.items():
        columns = [
            f"{table.name}.{column}"
            for table in tables
            for column, found in table.types.items()
            if found.lower().startswith(type_)
        ]
        if columns:
            yield warning(f"columns of type {type_}: {several(columns)}", impact, suggestion)


def several(names: Sequence[str], most: int = 5) -> str:
    """Return the first names of a list.

    Example:
        >>> several(["a", "b", "c"], 2)
        'a, b and 1 more'
    """
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
