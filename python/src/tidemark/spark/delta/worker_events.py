"""Batches of change events by the engine in the workers: what they read, and their commits."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tidemark.engine.events.decoded import Asked
from tidemark.engine.events.load import Batch, EventTargets, LogFile
from tidemark.engine.events.task import keep, read, replay, write_kept
from tidemark.engine.load import Target
from tidemark.errors import TidemarkError
from tidemark.spark.delta.small import file_actions
from tidemark.spark.delta.task import folder_of_task, run_task
from tidemark.spark.delta.worker import (
    UNSEEN,
    KeptRows,
    Places,
    Tables,
    WorkerRows,
    places_of,
    rows_of,
    unseen,
)


@dataclass
class KeptEvents(KeptRows):
    """The events of a first batch, before there are tables for them."""

    batch: Batch
    of_table: str


@dataclass(frozen=True)
class ReadEvents:
    """Events of a batch, typed and not judged yet.

    Args:
        figures: rows_read, rows_ignored, has_whole_rows (0 or 1).
        path: The file that has them.
        of_table: What they call their table.
    """

    figures: dict[str, int]
    path: str
    of_table: str

    def discard(self) -> None:
        """Remove the folder of the file."""
        shutil.rmtree(Path(self.path).parent, ignore_errors=True)


def read_events(session: SparkSession, batch: Batch, asked: Asked) -> ReadEvents | str:
    """Read the events of a batch; a text: why the engine does not do it."""
    folder = folder_of_task()
    outcome = run_task(session, partial(read, batch, asked, str(folder)))
    if outcome.declined or not Path(str(outcome.kept)).exists():
        shutil.rmtree(folder, ignore_errors=True)
        return outcome.declined or UNSEEN
    return ReadEvents(dict(outcome.figures or {}), str(outcome.kept), outcome.of_table)


def stage_events(
    session: SparkSession, batch: Batch, tables: Tables, version: int
) -> WorkerRows | str:
    """Replay a batch onto current and write what its tables get, without a commit.

    Args:
        session: The running session.
        batch: The batch.
        tables: The tables; `supplied` is staging.
        version: The version of the log that the rows go with.

    Returns:
        The rows; or a text: why the engine does not do it. Nothing is left of the attempt then.

    Raises:
        TidemarkError: The log has another version by now.
    """
    places = places_of(session, batch.load, tables, version)
    if isinstance(places, str):
        return places
    known = _log_files(places)
    if isinstance(known, str):
        return f"{'.'.join(tables.log)} {known}"
    outcome = run_task(session, partial(replay, batch, _targets(places), known))
    declined = outcome.declined or unseen(places, outcome)
    return declined or rows_of(
        session, batch.load, places, outcome, tables, _staging(batch, places)
    )


def keep_events(session: SparkSession, batch: Batch) -> KeptEvents | str:
    """Read the first batch of an entity, which has no tables yet.

    Returns:
        What write_kept_events() takes; or a text: why the engine does not do it.
    """
    folder = folder_of_task()
    outcome = run_task(session, partial(keep, batch, str(folder)))
    if outcome.declined or not Path(str(outcome.kept)).exists():
        shutil.rmtree(folder, ignore_errors=True)
        return outcome.declined or UNSEEN
    figures = dict(outcome.figures or {})
    return KeptEvents(figures, batch.load, str(outcome.kept), batch, outcome.of_table)


def write_kept_events(
    session: SparkSession, kept: KeptEvents, tables: Tables, version: int
) -> WorkerRows:
    """Replay the events of a first batch for its tables, which have been made meanwhile.

    Raises:
        TidemarkError: The tables are not as they were made, or the task failed.
    """
    try:
        places = places_of(session, kept.load, tables, version)
        if isinstance(places, str):
            raise TidemarkError(f"{places}, which this run has made. Run the model again")
        task = partial(write_kept, kept.batch, kept.path, _targets(places))
        outcome = run_task(session, task)
    finally:
        kept.discard()
    declined = outcome.declined or unseen(places, outcome)
    if declined:
        raise TidemarkError(f"the rows of {'.'.join(tables.log)}: {declined}. Run the model again")
    staging = _staging(kept.batch, places)
    return rows_of(session, kept.load, places, outcome, tables, staging)


def _targets(places: Places) -> EventTargets:
    staging = places.targets.supplied
    if staging is None:
        raise ValueError("a batch of events has a table of staging")
    return EventTargets(places.targets.log, places.targets.current, staging)


def _staging(batch: Batch, places: Places) -> dict[str, str]:
    """Return the partition of staging that the batch is."""
    return {_targets(places).staging.fields["_batch_id"][0]: str(batch.batch_id)}


def _log_files(places: Places) -> tuple[LogFile, ...] | str:
    """Return the files of the log with the positions that they may have; a text: why not."""
    log = places.targets.log
    rows = file_actions(log.folder, places.log_version)
    if isinstance(rows, str):
        return rows
    return tuple(
        LogFile(
            row["path"], *_bounds_of(row, log, "_offset"), *_bounds_of(row, log, "_sequence_num")
        )
        for row in rows
    )


def _bounds_of(row: Mapping[str, Any], log: Target, name: str) -> tuple[Any, Any]:
    """Return the least and the greatest value that statistics of a file tell of a column."""
    field = log.fields[name][0]
    least, greatest = (
        row.get(f"{bound}.{field}", row.get(f"{bound}.{name}")) for bound in ("min", "max")
    )
    return least, greatest
