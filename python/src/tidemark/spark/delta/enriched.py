"""Batches of enriched events by the engine in the workers: its files get into commits of Delta."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tidemark.engine.enriched.batch import Shelves, Shredded, batch_of
from tidemark.engine.enriched.task import shred
from tidemark.engine.header import is_read_as_it_stands
from tidemark.engine.load import Target
from tidemark.spark.delta.join import join_now_and_then
from tidemark.spark.delta.log import begin, commit, is_conflict, is_of_this_table, log_of, newest
from tidemark.spark.delta.small import file_actions, listed_files, paths_of
from tidemark.spark.delta.staged import StagedRows, written_by_another
from tidemark.spark.delta.target import Table, added_files, in_files, target_of
from tidemark.spark.delta.task import run_task
from tidemark.spark.delta.worker import why_unseen
from tidemark.spark.files import each, java_class


@dataclass
class _Beside:
    """Files of a table that gets them before atomic events do."""

    table: Table
    folder: str
    paths: tuple[str, ...]
    actions: list[Any]
    transaction: Any = None
    """That of the version which was read; None: the rows go with any."""

    @property
    def is_read(self) -> bool:
        """Whether batches read the table, which is to have few files."""
        return self.transaction is not None


@dataclass
class ShreddedRows(StagedRows):
    """Atomic events, and what lies beside them: claims, lines that cannot be used, entities.

    Args:
        kinds: How many lines each step of de-duplication took, by its name.
        reasons: Why lines cannot be used, and how many each, the most frequent first.
    """

    kinds: dict[str, int]
    reasons: tuple[tuple[str, int], ...]
    version: int
    _beside: list[_Beside]
    _session: SparkSession

    def commit_side_files(self) -> None:
        """Make the claims, and commit what counts once the events are stored.

        Raises:
            TidemarkError: Another run has claimed events since the batch was compared with the
                manifest, or has taken this one for dead.
        """
        jvm: Any = self._session._jvm
        # before that of atomic events is looked at, which are shut first: see fences_of_enriched()
        transactions = [one.transaction or self._begun(one.table) for one in self._beside]
        version = int(newest(jvm, self._transaction.deltaLog()).version())
        if version != self.version or not is_of_this_table(jvm, self._transaction):
            # as what takes a run for dead does before it looks for what that run wrote
            self.discard()
            raise written_by_another(self.table)
        while self._beside:
            one = self._beside[0]
            try:
                version = commit(jvm, transactions.pop(0), one.actions, "Append")
            except Exception as error:
                # what failed otherwise may have done so once the commit was there, which names them
                if not is_conflict(jvm, error):
                    raise
                self.discard()
                raise written_by_another(".".join(one.table)) from error
            if one.is_read:
                join_now_and_then(self._session, *one.table, version)
            self._beside.pop(0)

    def _begun(self, table: Table) -> Any:
        log = log_of(self._session, *table)
        return begin(self._session, log, newest(self._session._jvm, log), *table)

    def discard(self) -> None:
        """Remove the files that no commit names."""
        super().discard()
        for one in self._beside:
            for path in one.paths:
                Path(one.folder, path).unlink(missing_ok=True)
        self._beside = []


def stage_batch(
    session: SparkSession,
    cfg: Mapping[str, Any],
    files: Sequence[Mapping[str, Any]],
    commit_id: int,
    tables: Mapping[str, Table],
) -> ShreddedRows | str:
    """Have a batch read, judged and written in a worker, without a commit.

    Args:
        session: The running session.
        cfg: What atomic_config() returns.
        files: The files, as files_to_read() gives them.
        commit_id: The commit that the rows go with.
        tables: Those of `current`, `entities`, `rejects` and `manifest`.

    Returns:
        The rows; or a text: why the engine does not do it. Nothing is left of the attempt then.
    """
    jvm: Any = session._jvm
    java_version = int(java_class(jvm, "java.lang.Runtime").version().feature())
    batch = batch_of(cfg, files, commit_id, java_version)
    if isinstance(batch, str):
        return batch
    zone = str(session.conf.get("spark.sql.session.timeZone"))
    if batch.looks_across and zone != "UTC":
        # a day of the manifest's is one of the session
        return f"the session's time zone is {zone}"
    names = ("current", "entities", "rejects", *(["manifest"] if batch.looks_across else []))
    begun, targets = {}, {}
    for name in names:
        target = _target(session, name, tables[name])
        if isinstance(target, str):
            return f"{'.'.join(tables[name])} {target}"
        targets[name], begun[name] = target
    shelves = Shelves(
        targets["current"], targets["entities"], targets["rejects"], targets.get("manifest")
    )
    outcome = run_task(session, partial(shred, batch, shelves))
    if not isinstance(outcome, Shredded):
        return outcome.declined or "it failed"
    written = [
        *((shelves.events, file) for file in outcome.events),
        *((shelves.entities, file) for file, _ in outcome.entities),
        *((shelves.rejects, file) for file in outcome.rejects),
        *((shelves.manifest, file) for file in outcome.claims if shelves.manifest),
    ]
    declined = outcome.declined or why_unseen(written)
    return declined or _rows(session, outcome, shelves, tables, begun)


def _rows(
    session: SparkSession,
    outcome: Shredded,
    shelves: Shelves,
    tables: Mapping[str, Table],
    begun: Mapping[str, Any],
) -> ShreddedRows:
    jvm: Any = session._jvm
    current = begun["current"]
    entities = [
        action
        for file, partition in outcome.entities
        for action in added_files(jvm, [file], partition)
    ]
    beside = [
        _Beside(tables[name], target.folder, tuple(file.path for file in written), actions, read)
        for name, target, written, actions, read in (
            ("manifest", shelves.manifest, outcome.claims, None, begun.get("manifest")),
            ("rejects", shelves.rejects, outcome.rejects, None, None),
            ("entities", shelves.entities, [file for file, _ in outcome.entities], entities, None),
        )
        for actions in [actions or added_files(jvm, written, {})]
        if target is not None and written
    ]
    files = java_class(jvm, "org.apache.spark.api.python.PythonUtils")
    return ShreddedRows(
        table=".".join(tables["current"]),
        figures=dict(outcome.figures or {}),
        rows=sum(file.rows for file in outcome.events),
        _jvm=jvm,
        _transaction=current,
        _files=files.toSeq(added_files(jvm, outcome.events, {})),
        kinds=dict(outcome.kinds),
        reasons=outcome.reasons,
        version=int(current.snapshot().version()),
        _beside=beside,
        _session=session,
    )


_PARTITIONS = {"entities": ["vendor", "name", "model"]}
_CLAIM = {
    "event_id": "string",
    "fingerprint": "string",
    "etl_tstamp": "timestamp",
    "expires_at": "timestamp",
    "_commit_id": "long",
}


def _target(session: SparkSession, name: str, table: Table) -> tuple[Target, Any] | str:
    """Return a table as the engine writes it, and a transaction of it; a text: why it cannot.

    The transaction of atomic events and of the manifest is as if all of them had been read: then
    any commit that comes between is a conflict.
    """
    jvm: Any = session._jvm
    log = log_of(session, *table)
    snapshot = newest(jvm, log)
    target = target_of(jvm, log, snapshot, ())
    if isinstance(target, str):
        return target
    if not is_read_as_it_stands(target.folder):
        return "lies at a path that is not read as it stands"
    metadata = snapshot.metadata()
    columns = metadata.partitionColumns()
    found = [str(column) for column in each(columns)]
    if found != _PARTITIONS.get(name, []):
        return "has partitions of its own"
    fields = json.loads(metadata.schemaString())["fields"]
    target = replace(target, fields={**target.fields, **_parts(fields)})
    if name == "manifest":
        types = {field["name"]: field["type"] for field in fields}
        if any(types.get(column) != kind for column, kind in _CLAIM.items()):
            return "has not the columns of a manifest"
        files = _files_of(log, snapshot, target.folder)
        if isinstance(files, str):
            return files
        target = replace(target, files=files)
    transaction = begin(session, log, snapshot, *table)
    if name in ("current", "manifest"):
        transaction.readWholeTable()
    return target, transaction


def _parts(fields: list[dict[str, Any]]) -> dict[str, tuple[str, int | None]]:
    """Return the names and numbers that files have the parts of structs by."""
    parts = {}
    for field in fields:
        if isinstance(field["type"], dict) and field["type"]["type"] == "struct":
            for part in field["type"]["fields"]:
                parts[f"{field['name']}.{part['name']}"] = in_files(part)
    return parts


def _files_of(log: Any, snapshot: Any, folder: str) -> tuple[str, ...] | str:
    """Return the paths of the files that a table has; a text: why the engine cannot read them."""
    listed = listed_files(snapshot)
    if listed is None:
        rows = file_actions(folder, int(snapshot.version()))
        return rows if isinstance(rows, str) else tuple(row["path"] for row in rows)
    paths = paths_of(log, each(listed))
    return "lies at a path that is not read as it stands" if paths is None else paths
