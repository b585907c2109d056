"""Loads by the engine in the workers: Spark runs them, and its files get into commits of Delta."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tidemark.engine.files import Written
from tidemark.engine.listed import partition_of
from tidemark.engine.load import Load, Target
from tidemark.engine.task import Outcome, Targets, compare, keep, look_again, write_kept
from tidemark.errors import TidemarkError
from tidemark.spark.delta.log import (
    begin,
    commit,
    is_conflict,
    is_of_this_table,
    log_of,
    newest,
)
from tidemark.spark.delta.small import file_actions, listed_files, paths_of
from tidemark.spark.delta.staged import StagedRows, written_by_another
from tidemark.spark.delta.target import (
    Table,
    added_files,
    folder_of,
    target_of,
    why_not_types,
    with_files,
)
from tidemark.spark.delta.task import folder_of_task, run_task
from tidemark.spark.files import each, java_class


@dataclass
class WorkerRows(StagedRows):
    """Rows for the log, what goes beside it, and what current gets once the log has them.

    Beside it go the keys that a delta supplies, or change events as they came.
    """

    replaced: Table
    log_version: int
    version: int
    files: tuple[Written, ...] | None
    in_place_of: tuple[str, ...] | None
    supplied: Table | None
    keys: tuple[Written, ...]
    keys_partition: Mapping[str, str]
    of_table: str
    _session: SparkSession

    def commit_side_files(self) -> None:
        """Append what goes beside the log to its table, before the log has its rows.

        Raises:
            TidemarkError: The log is another table by now, or has moved on.
        """
        if self.supplied is None or not self.keys:
            return
        jvm: Any = self._session._jvm
        log = log_of(self._session, *self.supplied)
        # before the log is looked at: both are shut together, see vacuum_at_once()
        transaction = begin(self._session, log, newest(jvm, log), *self.supplied)
        version = int(newest(jvm, self._transaction.deltaLog()).version())
        if version != self.log_version or not is_of_this_table(jvm, self._transaction):
            self.discard()
            raise written_by_another(self.table)
        commit(jvm, transaction, added_files(jvm, self.keys, self.keys_partition), "Append")
        self.keys = ()

    def replace(self) -> int | None:
        """Put the files in the place of those of current that they were made from.

        Returns:
            The version of current that has them; None, and nothing was done, where it stays as it
            is, or is not what the files were made from.
        """
        jvm: Any = self._session._jvm
        log = log_of(self._session, *self.replaced)
        snapshot = newest(jvm, log)
        before = listed_files(snapshot)
        if self.files is None or before is None or int(snapshot.version()) != self.version:
            return None
        gone = each(before)
        if self.in_place_of is not None:
            paths = paths_of(log, gone) or ()
            gone = [
                file for file, path in zip(gone, paths, strict=False) if path in self.in_place_of
            ]
            if len(gone) != len(self.in_place_of):
                return None
        transaction = begin(self._session, log, snapshot, *self.replaced)
        transaction.readWholeTable()
        now = int(time.time() * 1000)
        actions = [file.removeWithTimestamp(now, True) for file in gone]
        actions += added_files(jvm, self.files, {})
        try:
            return commit(jvm, transaction, actions, "Overwrite")
        except Exception as error:
            if not is_conflict(jvm, error):
                raise
            return None

    def discard(self) -> None:
        """Remove the files, those for the other tables too."""
        super().discard()
        for table, files in ((self.replaced, self.files or ()), (self.supplied, self.keys)):
            if table and files:
                folder = folder_of(log_of(self._session, *table))
                for file in files:
                    Path(str(folder), file.path).unlink(missing_ok=True)


@dataclass
class KeptRows:
    """The rows of a first load, before there are tables for them, or of one that others compare.

    Of the latter `why` says why the engine did not do the load in one task.
    """

    figures: dict[str, int]
    load: Load
    path: str
    why: str = field(default="", kw_only=True)

    def discard(self) -> None:
        """Remove the file that has them."""
        shutil.rmtree(Path(self.path).parent, ignore_errors=True)


@dataclass(frozen=True)
class Tables:
    """The tables of an entity that a load writes to: log, current, and what goes beside them.

    That is the table of the keys of deltas, or the staging of change events.
    """

    log: Table
    current: Table
    supplied: Table | None = None


def stage_extract(
    session: SparkSession, load: Load, tables: Tables, version: int
) -> WorkerRows | KeptRows | str:
    """Compare an extract with current and write what its tables get, without a commit.

    Args:
        session: The running session.
        load: The load.
        tables: The tables.
        version: The version of the log that the rows go with.

    Returns:
        The rows; what was read, where some are rejects; or a text: why the engine does not do it.
        Nothing is left of the attempt then.

    Raises:
        TidemarkError: The log has another version by now.
    """
    places = places_of(session, load, tables, version)
    if isinstance(places, str):
        return places
    aside = str(folder_of_task()) if load.takes_rejects else ""
    outcome = run_task(session, partial(compare, load, places.targets, aside=aside))
    declined = outcome.declined or unseen(places, outcome)
    if declined:
        return _kept(load, outcome) or declined
    return rows_of(session, load, places, outcome, tables)


def _kept(load: Load, outcome: Outcome) -> KeptRows | None:
    """Return what a task has kept of the rows, if this machine sees it."""
    if not outcome.kept or not Path(outcome.kept).exists():
        return None
    why = str(outcome.declined or "")
    return KeptRows(dict(outcome.figures or {}), load, outcome.kept, why=why)


def compare_again(
    session: SparkSession, load: Load, tables: Tables, version: int
) -> dict[str, int] | KeptRows | str:
    """Compare a full extract of the last date with current, which has that date already.

    Args:
        session: The running session.
        load: The load.
        tables: The tables.
        version: The version of the log that current follows.

    Returns:
        The figures of an extract that is as current has it; what was read, where it is not; or a
        text: why that is not answered.

    Raises:
        TidemarkError: The log has another version by now.
    """
    places = places_of(session, load, tables, version)
    if isinstance(places, str):
        return places
    log = places.targets.log
    known = file_actions(log.folder, version)
    if isinstance(known, str):
        return f"{'.'.join(tables.log)} {known}"
    stored, day = log.fields["_business_date"][0], load.business_date
    files = tuple(
        row["path"] for row in known if partition_of(row, "_business_date", stored) == day
    )
    targets = replace(places.targets, log=replace(log, files=files))
    outcome = run_task(session, partial(look_again, load, targets, aside=str(folder_of_task())))
    return _kept(load, outcome) or outcome.declined or dict(outcome.figures or {})


def keep_extract(session: SparkSession, load: Load, *, has_copies: bool = False) -> KeptRows | str:
    """Stage the first extract of an entity, which has no tables yet, or one to be compared.

    Args:
        session: The running session.
        load: The load.
        has_copies: Exact copies of rows are kept, too.

    Returns:
        What write_kept_rows() takes; or a text: why the engine does not do it.
    """
    folder = folder_of_task()
    outcome = run_task(session, partial(keep, load, str(folder), has_copies=has_copies))
    kept = _kept(load, outcome)
    if kept is None:
        shutil.rmtree(folder, ignore_errors=True)
    return kept or outcome.declined or UNSEEN


def write_kept_rows(
    session: SparkSession, kept: KeptRows, tables: Tables, version: int
) -> WorkerRows:
    """Write the rows of a first load for its tables, which have been made meanwhile.

    Raises:
        TidemarkError: The tables are not as they were made, or the task failed.
    """
    try:
        places = places_of(session, kept.load, tables, version)
        if isinstance(places, str):
            raise TidemarkError(f"{places}, which this run has made. Run the model again")
        task = partial(write_kept, kept.load, kept.path, places.targets)
        outcome = run_task(session, task)
    finally:
        kept.discard()
    declined = outcome.declined or unseen(places, outcome)
    if declined:
        raise TidemarkError(f"the rows of {'.'.join(tables.log)}: {declined}. Run the model again")
    return rows_of(session, kept.load, places, outcome, tables)


@dataclass(frozen=True)
class Places:
    """The tables of a load, as the engine sees them."""

    targets: Targets
    log_version: int
    partition: str
    current_version: int
    transaction: Any
    """A transaction of the log, as it was before anything was written for it."""


def places_of(session: SparkSession, load: Load, tables: Tables, version: int) -> Places | str:
    """Return where the files of a load go; a text: why the engine cannot write them.

    Args:
        session: The running session.
        load: The load.
        tables: The tables.
        version: The version of the log that the rows go with.

    Raises:
        TidemarkError: The log has another version by now.
    """
    jvm: Any = session._jvm
    required = {column.name for column in load.columns if column.is_required}
    targets, versions, partitions = [], [], []
    chosen = (tables.log, tables.current, *([tables.supplied] if tables.supplied else []))
    for table in chosen:
        delta = log_of(session, *table)
        snapshot = newest(jvm, delta)
        target = target_of(jvm, delta, snapshot, required)
        if isinstance(target, str):
            return f"{'.'.join(table)} {target}"
        other = why_not_types(str(snapshot.metadata().schemaString()), load.columns)
        if other:
            return f"{'.'.join(table)} {other}"
        targets.append(target)
        versions.append(int(snapshot.version()))
        if table == tables.log:
            transaction = begin(session, delta, snapshot, *table)
        columns = snapshot.metadata().partitionColumns()
        partitions.append([str(column) for column in each(columns)])
    beside = ["_batch_id"] if load.extract == "events" else []
    for table, found, wanted in zip(
        chosen, partitions, (["_business_date"], [], beside), strict=False
    ):
        if found != wanted:
            return f"{'.'.join(table)} has partitions of its own"
    read = with_files(session, tables.current, targets[1])
    if isinstance(read, str):
        return f"{'.'.join(tables.current)} {read}"
    if versions[0] != version:
        raise written_by_another(".".join(tables.log))
    log, supplied = targets[0], targets[2] if tables.supplied else None
    partition = log.fields["_business_date"][0]
    return Places(Targets(log, read, supplied), versions[0], partition, versions[1], transaction)


def unseen(places: Places, outcome: Outcome) -> str | None:
    """Return that files which a worker wrote are not to be seen here; None: they are."""
    tables = places.targets
    written = [(tables.log, file) for file in outcome.log]
    written += [(tables.current, file) for file in outcome.current or ()]
    if tables.supplied is not None:
        written += [(tables.supplied, file) for file in outcome.supplied]
    return why_unseen(written)


def why_unseen(written: Iterable[tuple[Target, Written]]) -> str | None:
    """Return that files which a worker wrote are not to be seen here; None: they are."""
    for target, file in written:
        path = Path(target.folder, file.path)
        if not path.exists() or path.stat().st_size != file.size:
            return UNSEEN
    return None


UNSEEN = "what Spark's workers wrote is not to be seen here: the nodes share no files"


def rows_of(
    session: SparkSession,
    load: Load,
    places: Places,
    outcome: Outcome,
    tables: Tables,
    keys_partition: Mapping[str, str] | None = None,
) -> WorkerRows:
    """Begin the commit of the log; `keys_partition` is where the files beside it belong."""
    jvm: Any = session._jvm
    log = tables.log
    transaction = places.transaction
    # as if the table had been read: then any commit that comes between is a conflict
    transaction.readWholeTable()
    files = added_files(jvm, outcome.log, {places.partition: load.business_date})
    rows = WorkerRows(
        table=".".join(log),
        figures=dict(outcome.figures or {}),
        rows=sum(file.rows for file in outcome.log),
        _jvm=jvm,
        _transaction=transaction,
        _files=java_class(jvm, "org.apache.spark.api.python.PythonUtils").toSeq(files),
        replaced=tables.current,
        log_version=places.log_version,
        version=places.current_version,
        files=outcome.current,
        in_place_of=outcome.replaced,
        supplied=tables.supplied,
        keys=outcome.supplied,
        keys_partition=dict(keys_partition or {}),
        of_table=outcome.of_table,
        _session=session,
    )
    version = int(newest(jvm, transaction.deltaLog()).version())
    if version != places.log_version or not is_of_this_table(jvm, transaction):
        rows.discard()
        raise written_by_another(".".join(log))
    return rows
