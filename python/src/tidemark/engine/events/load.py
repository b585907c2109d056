"""The input and output of one batch of change events."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import unquote

from tidemark.engine.header import paths_of, stamp_of
from tidemark.engine.load import Column, Load, Target

LINES_OF_FILE = 1 << 32
"""The number of a file times this, and that of a line in it, number the line."""
# how much of a file is read for its first line
_LONGEST = 1 << 22


@dataclass(frozen=True)
class Landed:
    """A file of events.

    Args:
        path: Where it lies.
        number: Its number, the upper half of those of its lines.
        stamp: What stamp_of() said of it as it was listed.
    """

    path: str
    number: int
    stamp: tuple[int, int]


@dataclass(frozen=True)
class PrefilteredFile:
    """What prefilter() has kept of a file of events.

    Args:
        path: Where it lies.
        number: The number of the file that it was made from.
        lines: How many lines that has.
    """

    path: str
    number: int
    lines: int


@dataclass(frozen=True)
class Batch:
    """Change events that come after all others.

    Args:
        load: Columns, hashes, date and commit, as of an extract.
        landed: The files, in the order of their events.
        tables: The names of the table, lower case; empty: all events are of it.
        named: The name by which earlier events have called the table, lower case; empty: none
            has, or `tables` tells.
        placeholders: The texts that stand for a value that the source did not log.
        batch_id: The commit that takes the events.
        is_first: Whether there are no events before them.
        has_moves: Whether a row has changed its key in an earlier batch.
        prefiltered: What was kept of the files, where they are not read as they are.
        encodings: What the columns are written with; empty: no schema tells.
        identifying: Of rows, the columns that a line is known by even where they are NULL, lower
            case.
        by_server: Whether a change of MySQL or MariaDB is known by its GTID or server, too.
        after: The landing number behind which the events come; None: from the first on.
        before: The one before which they come; None: to the last.
        left_out: The landing numbers of lines that are of no row.
    """

    load: Load
    landed: tuple[Landed, ...]
    tables: tuple[str, ...]
    placeholders: tuple[str, ...]
    batch_id: int
    is_first: bool
    has_moves: bool = False
    prefiltered: tuple[PrefilteredFile, ...] = ()
    named: tuple[str, ...] = ()
    encodings: tuple[str, ...] = ()
    identifying: tuple[str, ...] = ()
    by_server: bool = False
    after: int | None = None
    before: int | None = None
    left_out: tuple[int, ...] = ()

    def reaches(self, number: int) -> bool:
        """Return whether lines of a file may be of the batch, by the file's number."""
        first = number * LINES_OF_FILE
        is_behind = self.after is None or self.after < first + LINES_OF_FILE
        return is_behind and (self.before is None or self.before > first)

    @property
    def befores(self) -> tuple[str, ...]:
        """The columns of an image from before that count: the key, or all of a table without."""
        return self.load.keys or tuple(column.name for column in self.load.columns)

    @property
    def is_canonical(self) -> bool:
        """Whether its lines are canonical events, or rows, not envelopes of Debezium."""
        return self.load.format in ("canonical", "rows")

    @property
    def are_rows(self) -> bool:
        """Whether a line that tells no operation is an upsert."""
        return self.load.format == "rows"


@dataclass(frozen=True)
class EventTargets:
    """The tables that a batch writes files for.

    Args:
        log: The log, with the files that may have an event of the batch already.
        current: Current, with the files that it has.
        staging: Where the events go as they came.
    """

    log: Target
    current: Target
    staging: Target


@dataclass(frozen=True)
class LogFile:
    """A file of the log, and which positions in the source it may have events of.

    Args:
        path: Where it lies.
        least: The least position, as text; None: nothing is known.
        greatest: The greatest, or what is greater than it.
        first: The least number by which its events are ordered; None: nothing is known.
        last: The greatest.
    """

    path: str
    least: str | None
    greatest: str | None
    first: int | None = None
    last: int | None = None


def landed_of(files: Sequence[Mapping[str, Any]]) -> tuple[Landed, ...] | str:
    """Return files of events as the workers open them; a text: why they do not.

    Args:
        files: The files as files_to_read() gives them.
    """
    if any(int(file["_file_number"]) <= int(file["_last_number"]) for file in files):
        return "a file was read before"
    paths = paths_of([{"path": unquote(str(file["_file"]))} for file in files])
    if isinstance(paths, str):
        return paths
    folders = {os.path.dirname(path) for path in paths}
    if len(folders) > 1 or any("=" in os.path.basename(folder) for folder in folders):
        return "its files lie in several folders"
    found = []
    for path, file in zip(paths, files, strict=True):
        stamp = stamp_of(path)
        if path.endswith(".parquet"):
            return "its files are no plain text"
        if stamp[0] != int(file["_file_size"]):
            return "a file was written while it was read"
        found.append(Landed(path, int(file["_file_number"]), stamp))
    return tuple(found)


def are_wrapped(landed: Sequence[Landed]) -> bool:
    """Say whether files are to be prefiltered: their envelopes are wrapped, or compressed.

    The first line tells. Another that is wrapped is not taken for an envelope.
    """
    for file in landed:
        if file.path.endswith(".gz"):
            return True
        with open(file.path, "rb") as lines:
            found = iter(partial(lines.readline, _LONGEST), b"")
            line = next((line for line in found if line.strip()), b"")
        try:
            content = json.loads(line)
        except ValueError:
            return False
        if isinstance(content, dict):
            return "value" in content or "payload" in content
    return False


def batch_of(
    cfg: Mapping[str, Any],
    roles: Mapping[str, Any],
    load: Mapping[str, Any],
    source: Mapping[str, Any],
) -> Batch:
    """Return the batch that a model's configuration, the roles of its columns and its files make.

    Args:
        cfg: What entity_config() returns.
        roles: What event_roles() returns.
        load: What load_of_stretch() returns.
        source: `landed`, what was `prefiltered` of it, `tables`, how earlier events `named` them,
            whether the batch is the `first`, `by_server`, and of a part of the files `after`,
            `before` and `left_out`.
    """

    def names(columns: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        return tuple(str(column["name"]) for column in columns)

    return Batch(
        load=Load(
            extract="events",
            format=str(cfg["format"]),
            files=tuple(file.path for file in source["landed"]),
            stamps=tuple(file.stamp for file in source["landed"]),
            separator="",
            fields=(),
            columns=tuple(
                Column(
                    name=str(column["name"]),
                    type=str(column["type"]),
                    place=place,
                    is_required=bool(column["not_null"]),
                )
                for place, column in enumerate(roles["columns"])
            ),
            keys=names(roles["keys"]),
            compared=names(roles["compared"]),
            ignored=names(roles["ignored"]),
            hash=str(cfg["hash"]),
            changed_columns=bool(cfg["changed_columns"]),
            soft_delete=bool(cfg["soft_delete"]),
            tag_unchanged=False,
            business_date=str(load["business_date"]),
            commit_id=int(load["commit_id"]),
        ),
        landed=tuple(source["landed"]),
        tables=tuple(str(name).lower() for name in source["tables"]),
        placeholders=placeholders_of(str(cfg["unavailable_value"])),
        batch_id=int(load["batch_id"]),
        is_first=bool(source["first"]),
        has_moves=bool(source["has_moves"]),
        prefiltered=tuple(source.get("prefiltered", ())),
        named=tuple(str(name).lower() for name in source["named"] if not source["tables"]),
        encodings=tuple(next(iter(column["encodings"].values())) for column in roles["columns"]),
        identifying=tuple(str(name).lower() for name in source.get("identifying", ())),
        by_server=bool(source.get("by_server")),
        after=source.get("after"),
        before=source.get("before"),
        left_out=tuple(source.get("left_out", ())),
    )


def placeholders_of(text: str) -> tuple[str, ...]:
    """Return the texts by which a line tells a value that the source did not log.

    Those within lists and maps have one of them too, or are no value of a column that the engine
    knows.
    """
    given = bytes.fromhex(text[4:]) if text.startswith("hex:") else text.encode()
    plain = given.decode(errors="replace")
    return (plain, base64.b64encode(given).decode(), given.hex())
