"""Loads by the engine in the workers: Spark runs them, and its files get into commits of Delta."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import socket
import threading
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from tidemark.engine.files import Written
from tidemark.engine.header import is_read_as_it_stands, local_path
from tidemark.engine.load import Column, Load, Target
from tidemark.engine.room import Found, Room, attempt, import_engine
from tidemark.engine.task import Outcome, Targets, compare, keep, look_again, write_kept
from tidemark.errors import TidemarkError
from tidemark.home import tidemark_home
from tidemark.spark.defaults import is_local
from tidemark.spark.delta.log import (
    added_file,
    begin,
    commit,
    is_conflict,
    is_of_this_table,
    log_of,
    newest,
)
from tidemark.spark.delta.small import file_actions, listed_files, paths_of
from tidemark.spark.delta.staged import StagedRows, written_by_another
from tidemark.spark.files import each, folder_to_come, java_class
from tidemark.spark.messages import readable_error

Table = tuple[str, str]
"""Schema and name."""

# what a table may be set to without an effect on how its files are written
_HARMLESS = frozenset(
    f"delta.{name}"
    for name in (
        "checkpointInterval",
        "columnMapping.maxColumnId",
        "columnMapping.mode",
        "dataSkippingStatsColumns",
        "deletedFileRetentionDuration",
        "enableDeletionVectors",
        "enableTypeWidening",
        "logRetentionDuration",
        "parquet.compression.codec",
    )
)
_FIELD_METADATA = frozenset(
    ("comment", "delta.columnMapping.id", "delta.columnMapping.physicalName")
)


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

    def commit_beside(self) -> None:
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
                folder = _folder(log_of(self._session, *table))
                for file in files:
                    Path(str(folder), file.path).unlink(missing_ok=True)


@dataclass
class KeptRows:
    """The rows of a first load, before there are tables for them."""

    figures: dict[str, int]
    load: Load
    path: str

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
) -> WorkerRows | str:
    """Compare an extract with current and write what its tables get, without a commit.

    Args:
        session: The running session.
        load: The load.
        tables: The tables.
        version: The version of the log that the rows go with.

    Returns:
        The rows; or a text: why the engine does not do it. Nothing is left of the attempt then.

    Raises:
        TidemarkError: The log has another version by now.
    """
    places = places_of(session, load, tables)
    if isinstance(places, str):
        return places
    if places.log_version != version:
        raise written_by_another(".".join(tables.log))
    outcome = run_task(session, partial(compare, load, places.targets))
    declined = outcome.declined or unseen(places, outcome)
    return declined or rows_of(session, load, places, outcome, tables)


def compare_again(
    session: SparkSession, load: Load, tables: Tables, version: int
) -> dict[str, int] | str:
    """Compare a full extract of the last date with current, which has that date already.

    Args:
        session: The running session.
        load: The load.
        tables: The tables.
        version: The version of the log that current follows.

    Returns:
        The figures of an extract that is as current has it; or a text: why that is not answered.

    Raises:
        TidemarkError: The log has another version by now.
    """
    places = places_of(session, load, tables)
    if isinstance(places, str):
        return places
    if places.log_version != version:
        raise written_by_another(".".join(tables.log))
    log = places.targets.log
    known = file_actions(log.folder, version)
    if isinstance(known, str):
        return f"{'.'.join(tables.log)} {known}"
    files = tuple(row["path"] for row in known if str(_partition(row, log)) == load.business_date)
    targets = replace(places.targets, log=replace(log, files=files))
    outcome = run_task(session, partial(look_again, load, targets))
    return outcome.declined or dict(outcome.figures or {})


def _partition(row: Mapping[str, Any], log: Target) -> Any:
    """Return the date that file_actions() tells of a file of the log."""
    field = log.fields["_business_date"][0]
    return row.get(f"partition.{field}", row.get("partition._business_date"))


def keep_extract(session: SparkSession, load: Load) -> KeptRows | str:
    """Stage the first extract of an entity, which has no tables yet.

    Returns:
        What write_kept_rows() takes; or a text: why the engine does not do it.
    """
    folder = folder_of_task()
    outcome = run_task(session, partial(keep, load, str(folder)))
    if outcome.declined or not Path(str(outcome.kept)).exists():
        shutil.rmtree(folder, ignore_errors=True)
        return outcome.declined or UNSEEN
    return KeptRows(dict(outcome.figures or {}), load, str(outcome.kept))


def write_kept_rows(
    session: SparkSession, kept: KeptRows, tables: Tables, version: int
) -> WorkerRows:
    """Write the rows of a first load for its tables, which have been made meanwhile.

    Raises:
        TidemarkError: The tables are not as they were made, or the task failed.
    """
    try:
        places = places_of(session, kept.load, tables)
        if isinstance(places, str):
            raise TidemarkError(f"{places}, which this run has made. Run it again")
        if places.log_version != version:
            raise written_by_another(".".join(tables.log))
        task = partial(write_kept, kept.load, kept.path, places.targets)
        outcome = run_task(session, task)
    finally:
        kept.discard()
    declined = outcome.declined or unseen(places, outcome)
    if declined:
        raise TidemarkError(f"the rows of {'.'.join(tables.log)}: {declined}. Run it again")
    return rows_of(session, kept.load, places, outcome, tables)


def why_not_made(session: SparkSession, log: tuple[str, str], root: str | None) -> str | None:
    """Return why the engine could not write to tables that are to be made; None: it can.

    Asked before they are made: a first load that finds it out afterwards would do so each time.

    Args:
        session: The running session.
        log: The schema and the name of the entity's log.
        root: The folder of the tables' folders, where that is not the schema's.
    """
    folder = folder_to_come(session, *log, root)
    if folder is None:
        return f"{'.'.join(log)} is not to lie on a local file system"
    if not is_read_as_it_stands(folder):
        return f"{'.'.join(log)} is to lie at a path that is not read as it stands"
    # one call of the JVM in place of one for each setting
    is_set = _DEFAULTS in str(session._jsparkSession.conf().getAll().toString())
    for name, value in (session.conf.getAll if is_set else {}).items():
        default = f"delta.{name.removeprefix(_DEFAULTS)}"
        if name.startswith(_DEFAULTS) and _is_harmful(default, value):
            return f"the session gives new tables the property {default}"
    return None


@dataclass(frozen=True)
class Places:
    """The tables of a load, as the engine sees them."""

    targets: Targets
    log_version: int
    partition: str
    current_version: int
    transaction: Any
    """Of the log, as it was before anything was written for it."""


def places_of(session: SparkSession, load: Load, tables: Tables) -> Places | str:
    """Return where the files of a load go; a text: why the engine cannot write them."""
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
    log, supplied = targets[0], targets[2] if tables.supplied else None
    partition = log.fields["_business_date"][0]
    return Places(Targets(log, read, supplied), versions[0], partition, versions[1], transaction)


def with_files(session: SparkSession, table: Table, target: Target) -> Target | str:
    """Return a table with the files that it has; a text: why the engine cannot read them."""
    delta = log_of(session, *table)
    before = listed_files(newest(session._jvm, delta))
    if before is None:
        return "has many files, or deletion vectors"
    paths = paths_of(delta, each(before))
    if paths is None or not is_read_as_it_stands(target.folder):
        return "lies at a path that is not read as it stands"
    return Target(target.folder, target.fields, paths)


def target_of(jvm: Any, delta: Any, snapshot: Any, required: Collection[str]) -> Target | str:
    """Return a table as the engine writes it; a text: why it cannot.

    Args:
        jvm: The session's JVM.
        delta: The table's log.
        snapshot: The table as it is.
        required: The columns of which no row comes without a value.
    """
    folder = _folder(delta)
    if folder is None:
        return "is not on a local file system"
    metadata = snapshot.metadata()
    converters = java_class(jvm, "scala.jdk.javaapi.CollectionConverters")
    settings = dict(converters.asJava(metadata.configuration()))
    for name, value in settings.items():
        if _is_harmful(name, value):
            return f"has the property {name}"
    fields = {}
    for place, field in enumerate(json.loads(metadata.schemaString())["fields"]):
        known = field["metadata"]
        if not _FIELD_METADATA.issuperset(known):
            return f"has more to say of column {field['name']} than its name and type"
        if not field["nullable"] and field["name"] not in required:
            return f"has column {field['name']} as NOT NULL, which the load may have as NULL"
        fields[str(field["name"])] = (
            str(known.get("delta.columnMapping.physicalName", field["name"])),
            int(known.get("delta.columnMapping.id", place + 1)),
        )
    return Target(folder, fields)


def why_not_types(schema: str, columns: Collection[Column]) -> str | None:
    """Return why files by the plan do not fit a table, as Spark could not read them; None: they do.

    Example:
        >>> why_not_types('{"fields": [{"name": "price", "type": "integer"}]}', [price])
        'has column price as int, and the load has it as decimal(10,2)'

    Args:
        schema: What the table's log says of its columns.
        columns: The columns of the load.
    """
    types = {field["name"]: field["type"] for field in json.loads(schema)["fields"]}
    for column in columns:
        # staging has the values before a change, too
        for name in (column.name, f"_before_{column.name}"):
            found: Any = _SQL_TYPES.get(str(types.get(name)), types.get(name))
            if found not in (None, column.type):
                shown = found if isinstance(found, str) else found["type"]
                return f"has column {name} as {shown}, and the load has it as {column.type}"
    return None


_SQL_TYPES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
_HARMFUL = (("delta.enableDeletionVectors", "true"), ("delta.columnMapping.mode", "id"))
_DEFAULTS = "spark.databricks.delta.properties.defaults."


def _is_harmful(name: str, value: str) -> bool:
    return (name.startswith("delta.") and name not in _HARMLESS) or (name, value) in _HARMFUL


def _folder(delta: Any) -> str | None:
    return local_path(str(delta.dataPath().toString()))


def warm_worker(session: SparkSession) -> None:
    """Have a worker of Spark's start and import the engine, while this process goes on.

    The first task of a session waits a second for that. On a cluster it may be any node's.
    """
    context = session.sparkContext
    if is_on_cluster(session) or context.applicationId in _warmed:
        return
    _warmed.add(context.applicationId)

    def work() -> None:
        # what goes wrong shows in the first task
        with suppress(Exception):
            context.parallelize([0], 1).foreach(import_engine)

    threading.Thread(target=work, name="tidemark-warm-worker", daemon=True).start()


# sessions that a worker was started for
_warmed: set[str] = set()


def run_task(
    session: SparkSession,
    task: Callable[[Room], Found],
    declined: Callable[[str], Found] = Outcome,  # type: ignore[assignment]
) -> Found:
    """Run a load as a task of Spark; what fails there is declined, so that Spark SQL tries it.

    Args:
        session: The running session.
        task: The task.
        declined: What makes an outcome of the reason why there is none.
    """
    context, scratch = session.sparkContext, None
    if is_on_cluster(session):
        cores, memory = _share_of_node(session)
        room = Room(cores, folder=None, memory=memory)
    else:
        scratch = folder_of_task()
        room = Room(context.defaultParallelism, folder=str(scratch))
    try:
        (outcome,) = context.parallelize([room], 1).map(partial(attempt, task)).collect()
    except Exception as error:
        return declined(f"it failed ({_why(error)})")
    finally:
        for left in scratch.parent.glob(f"{scratch.name}-*") if scratch else ():
            shutil.rmtree(left, ignore_errors=True)  # of an attempt that was killed
    found: Found = outcome
    return found


def _why(error: Exception) -> str:
    """Return what ended a task without a word of its text that may be a value of a row."""
    text = readable_error(error)
    for number in (errno.ENOSPC, errno.EROFS, errno.EIO, errno.EACCES):
        if os.strerror(number) in text:
            return os.strerror(number)
    raised = re.findall(r"(?m)^(?:\w+\.)*(\w+(?:Error|Exception))\b", text)
    return str(raised[-1]) if raised else type(error).__name__


def is_on_cluster(session: SparkSession) -> bool:
    """Say whether Spark's workers may be on other machines than this process."""
    return not is_local(str(session.sparkContext.master))


def _share_of_node(session: SparkSession) -> tuple[int, int]:
    """Return how many cores of a node of the cluster a task has, and how many bytes of memory.

    They are those that Spark gives to Python beside the JVM of an executor.
    """
    conf: Any = session.sparkContext._jsc.sc().conf()
    cores = int(conf.get("spark.task.cpus", "1"))
    for name in ("spark.executor.pyspark.memory", "spark.executor.memoryOverhead"):
        if conf.contains(name):
            return cores, int(conf.getSizeAsMb(name)) << 20
    return cores, max(384, int(conf.getSizeAsMb("spark.executor.memory", "1g")) // 10) << 20


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


def folder_of_task() -> Path:
    """Return a new folder below TIDEMARK_HOME, and remove those that killed runs have left.

    Machines that share the folder number their processes each for itself: those of another one are
    left for a day.
    """
    parent = tidemark_home().create().temporary
    own = f"{zlib.crc32(socket.gethostname().encode()):08x}"
    for folder in parent.glob(f"{_FOLDERS}*"):
        process, _, more = folder.name.removeprefix(_FOLDERS).partition("-")
        with suppress(OSError):
            if more.startswith(f"{own}-"):
                is_left = Path("/proc").exists() and not Path("/proc", process).exists()
            else:
                is_left = folder.stat().st_mtime < time.time() - _A_DAY
            if is_left:
                shutil.rmtree(folder, ignore_errors=True)
    return parent / f"{_FOLDERS}{os.getpid()}-{own}-{uuid4()}"


_FOLDERS = "engine-"
_A_DAY = 24 * 60 * 60
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


def added_files(jvm: Any, files: Sequence[Written], partition: Mapping[str, str]) -> list[Any]:
    """Return what a commit says of files that come."""
    return [added_file(jvm, file.path, file.size, file.statistics, partition) for file in files]
