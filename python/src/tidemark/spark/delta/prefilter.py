"""Files of change events of many tables: each is opened once by the process, for all its models."""

from __future__ import annotations

import atexit
import hashlib
import json
import shutil
import threading
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from tidemark.engine.events.load import Landed, PrefilteredFile
from tidemark.engine.events.prefilter import Prefiltered, Shape, prefilter
from tidemark.spark.delta.task import folder_of_task, is_on_cluster, run_task

# what is kept beyond the files of the model at work is let go from here on
_MOST_BYTES = 1 << 30
_MOST_FILES = 1000


@dataclass(frozen=True)
class Ours:
    """What files hold for one table.

    Args:
        files: What was kept of them.
        schemas: What the lines tell of its columns: a schema of Kafka Connect each, by an id.
        has_schemaless: Whether a line tells nothing of them.
    """

    files: tuple[PrefilteredFile, ...]
    schemas: dict[str, str]
    has_schemaless: bool


@dataclass
class _Prefilter:
    """What was kept of files, as long as the process lives."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    folder: Path | None = None
    known: dict[tuple[str, tuple[int, int]], Prefiltered] = field(default_factory=dict)
    # the schemas of a table stand in all files, and are long
    texts: dict[str, str] = field(default_factory=dict)

    def prefiltered(
        self, session: SparkSession, landed: Sequence[Landed]
    ) -> list[Prefiltered] | str:
        with self.lock:
            wanted = [(file.path, file.stamp) for file in landed]
            for file, known_by in zip(landed, wanted, strict=True):
                if known_by not in self.known:
                    found = self._prefilter(session, file)
                    if found.declined:
                        return found.declined
                    self._make_room(set(wanted))
                    self.known[known_by] = self._with_texts_of_all(found)
            return [self.known[known_by] for known_by in wanted]

    def _prefilter(self, session: SparkSession, file: Landed) -> Prefiltered:
        if self.folder is None:
            self.folder = folder_of_task()
            self.folder.mkdir(mode=0o700)
            atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        path = str(self.folder / f"{uuid4()}.parquet")
        found = run_task(session, partial(prefilter, file, path), Prefiltered)
        if found.declined:
            Path(path).unlink(missing_ok=True)
        return found

    def _with_texts_of_all(self, found: Prefiltered) -> Prefiltered:
        """Return what became of a file, with the texts that others have too kept once."""
        shapes = [
            replace(shape, schema_text=self.texts.setdefault(text, text))
            if (text := shape.schema_text) is not None
            else shape
            for shape in found.shapes
        ]
        return replace(found, shapes=tuple(shapes))

    def _make_room(self, wanted: Set[tuple[str, tuple[int, int]]]) -> None:
        """Let go of what is not wanted, the oldest first, once there is much of it."""
        size = sum(_size(one.path) for one in self.known.values())
        for file in [file for file in self.known if file not in wanted]:
            if size <= _MOST_BYTES and len(self.known) < _MOST_FILES:
                return
            path = self.known.pop(file).path
            size -= _size(path)
            Path(path).unlink(missing_ok=True)


def _size(path: str) -> int:
    return Path(path).stat().st_size if Path(path).exists() else 0


_PREFILTER = _Prefilter()


def prefilter_files(
    session: SparkSession, landed: Sequence[Landed], tables: Sequence[str]
) -> Ours | str:
    """Return what files hold for a table; a text: why the engine does not answer for them.

    Args:
        session: The running session.
        landed: The files.
        tables: The names of the table, lower case; empty: all events are of it.
    """
    if is_on_cluster(session):
        return "its lines wrap their events, or are compressed, and the session has a cluster"
    found = _PREFILTER.prefiltered(session, landed)
    if isinstance(found, str):
        return found
    files = tuple(
        PrefilteredFile(one.path, file.number, one.lines)
        for file, one in zip(landed, found, strict=True)
    )
    schemas: dict[str, str] = {}
    has_schemaless = False
    for one in found:
        for shape in one.shapes:
            if not all(name.isascii() for name in (*_names_of(shape), *tables)):
                return "the name of a table has other than ASCII letters"
            if not (shape.table is None or _is_of(shape, tables)):
                continue
            if shape.schema_text is None:
                has_schemaless = has_schemaless or shape.table is not None
                continue
            known_by = hashlib.md5(shape.schema_text.encode(), usedforsecurity=False).hexdigest()
            schemas[known_by] = shape.schema_text
    return Ours(files, schemas, has_schemaless)


def _names_of(shape: Shape) -> list[str]:
    """Return the names of database, schema and table that are told."""
    parts: list[Any] = [json.loads(one) for one in (shape.db, shape.schema, shape.table) if one]
    return [str(name) for name in parts]


def _is_of(shape: Shape, tables: Sequence[str]) -> bool:
    """Say whether events are of one of the tables, as is_ours_sql() does."""
    if not tables:
        return True
    db, schema, table = (
        [] if one is None else [str(json.loads(one))]
        for one in (shape.db, shape.schema, shape.table)
    )
    forms = (table, [*schema, *table], [*db, *table], [*db, *schema, *table])
    return any(".".join(form).lower() in tables for form in forms)
