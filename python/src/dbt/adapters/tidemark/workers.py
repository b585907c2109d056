"""What the engine in the workers does for loads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from dbt.adapters.tidemark.base import SessionAdapter
from tidemark.engine.covers import why_not_columns, why_not_images
from tidemark.engine.events.decoded import asked_of, decoded_columns
from tidemark.engine.events.load import Landed, are_wrapped, batch_of
from tidemark.engine.load import Load, load_of
from tidemark.engine.room import Found
from tidemark.hashing.recipe import PEPPER_VARIABLE
from tidemark.sessions.duck import Stored, staged_columns
from tidemark.shapes.opened import RelationName, Relations
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings
from tidemark.spark.delta import StagedRows
from tidemark.spark.delta.enriched import ShreddedRows, stage_batch
from tidemark.spark.delta.prefilter import Ours, prefilter_files
from tidemark.spark.delta.target import why_not_made
from tidemark.spark.delta.task import is_on_cluster, warm_worker
from tidemark.spark.delta.worker import (
    KeptRows,
    Tables,
    WorkerRows,
    compare_again,
    keep_extract,
    stage_extract,
    write_kept_rows,
)
from tidemark.spark.delta.worker_events import (
    KeptEvents,
    ReadEvents,
    keep_events,
    read_events,
    stage_events,
    write_kept_events,
)


class WorkersAdapter(SessionAdapter):
    """The loads that the engine does in Spark's workers."""

    def is_on_cluster(self) -> bool:
        """Say whether Spark's workers may be on other machines than this process."""
        with self.connections.exception_handler("is_on_cluster"):
            return is_on_cluster(self._session)

    def _why_not_made(self, cfg: Settings, relations: Relations) -> str | None:
        log, given = relations["log"], cfg.get("table_properties") or {}
        root = cfg["location_root"]
        return why_not_made(self._session, (log.schema, log.identifier), root, given)

    def keep_extract(
        self,
        cfg: Settings,
        roles: Roles,
        load: dict[str, Any],
        source: dict[str, Any],
        relations: Relations,
    ) -> KeptRows | str:
        """Have the engine in the workers stage an extract whose tables are not there yet.

        Args:
            cfg: The entity's configuration.
            roles: What becomes of each column.
            load: The date and the commit.
            source: The files and their columns.
            relations: The entity's, which are to be made.

        Returns:
            What write_kept_rows() takes, with `figures`; or a text: why the engine does not do it.
        """
        with self.connections.exception_handler("keep_extract"):
            why = why_not_columns(roles["columns"], self._time_zone)
            why = why or self._why_not_made(cfg, relations)
            return why or keep_extract(self._session, _extract_of(cfg, roles, load, source))

    def write_kept_rows(self, kept: KeptRows, relations: Relations, version: int) -> WorkerRows:
        """Write what was kept as files of the entity's tables, without a commit.

        Args:
            kept: What keep_extract() or keep_events() returned.
            relations: The entity's, which were made for them.
            version: The version of the log that the rows go with.
        """
        with self.connections.exception_handler(f"write_kept_rows({relations['log']})"):
            tables = _tables(kept.load, relations)
            if isinstance(kept, KeptEvents):
                return write_kept_events(self._session, kept, tables, version)
            return write_kept_rows(self._session, kept, tables, version)

    def _with_tables(
        self,
        work: Callable[[SparkSession, Load, Tables, int], Found],
        cfg: Settings,
        roles: Roles,
        load: dict[str, Any],
        source: dict[str, Any],
        relations: Relations,
    ) -> Found | str:
        """Return what the engine makes of an extract whose tables are there, or why it does not."""
        why = why_not_columns(roles["columns"], self._time_zone)
        if why:
            return why
        extract = _extract_of(cfg, roles, load, source)
        return work(self._session, extract, _tables(extract, relations), load["log_version"])

    def stage_extract(
        self,
        cfg: Settings,
        roles: Roles,
        load: dict[str, Any],
        source: dict[str, Any],
        relations: Relations,
    ) -> WorkerRows | KeptRows | str:
        """Have the engine in the workers compare an extract with current and write what changed.

        Args:
            cfg: The entity's configuration.
            roles: What becomes of each column.
            load: The date and the commit, and the version of the log that the rows go with.
            source: The files and their columns.
            relations: The entity's.

        Returns:
            As stage_rows() does; what view_staged() takes, where rows are rejects; or a text: why
            the engine does not do it.
        """
        with self.connections.exception_handler(f"stage_extract({relations['log']})"):
            return self._with_tables(stage_extract, cfg, roles, load, source, relations)

    def keep_staged(
        self,
        cfg: Settings,
        roles: Roles,
        load: dict[str, Any],
        source: dict[str, Any],
        view: str,
    ) -> str | None:
        """Have the engine in the workers type and hash an extract, as staged_rows_sql() does.

        Args:
            As of keep_extract().
            view: The view that has the rows then, quoted as in SQL.

        Returns:
            None; or a text: why the engine does not do it.
        """
        with self.connections.exception_handler("keep_staged"):
            why = why_not_columns(roles["columns"], self._time_zone)
            extract = _extract_of(cfg, roles, load, source)
            kept = why or keep_extract(self._session, extract, has_copies=True)
            if isinstance(kept, str):
                return kept
            self.view_staged(kept, view)
        return None

    def view_staged(self, kept: KeptRows, view: str) -> None:
        """Make a view of an extract that the engine in the workers has typed and hashed.

        Args:
            kept: What stage_extract(), keep_extract() or compare_again() returned.
            view: The view, quoted as in SQL.
        """
        with self.connections.exception_handler("view_staged"):
            try:
                self.views.view_kept(view, kept.path, staged_columns(kept.load))
            finally:
                kept.discard()

    def compare_again(
        self,
        cfg: Settings,
        roles: Roles,
        load: dict[str, Any],
        source: dict[str, Any],
        relations: Relations,
    ) -> dict[str, int] | KeptRows | str:
        """Have the engine in the workers compare a full extract of the last date with current.

        Args:
            As of stage_extract().

        Returns:
            The figures of an extract that is as current has it; what view_staged() takes, where
            it is not; or a text: why that is not answered.
        """
        with self.connections.exception_handler(f"compare_again({relations['log']})"):
            return self._with_tables(compare_again, cfg, roles, load, source, relations)

    def prefilter_events(self, landed: Sequence[Landed], tables: list[str]) -> Ours | str | None:
        """Have the engine in the workers open files of events whose lines wrap their envelopes.

        Args:
            landed: The files.
            tables: The names of the entity's table.

        Returns:
            What they hold for it: `files`, `schemas` and `has_schemaless`; None: they
            are read as they are; or a text: why the engine does not do it.
        """
        with self.connections.exception_handler("prefilter_events"):
            if not are_wrapped(landed):
                return None
            return prefilter_files(self._session, landed, [name.lower() for name in tables])

    def keep_events(
        self,
        cfg: Settings,
        roles: Roles,
        load: dict[str, Any],
        source: dict[str, Any],
        relations: Relations,
    ) -> KeptEvents | str:
        """Have the engine in the workers read the first change events of an entity.

        Args:
            cfg: The entity's configuration.
            roles: What becomes of each column.
            load: The commit, and the batch that it takes.
            source: The files (`landed`, and what was `prefiltered` of them), the `tables` whose
                events count, and `first`.
            relations: The entity's, which are to be made.

        Returns:
            What write_kept_rows() takes, with `figures`; or a text: why the engine does not do it.
        """
        with self.connections.exception_handler("keep_events"):
            why = why_not_images(roles["columns"], self._time_zone)
            why = why or self._why_not_made(cfg, relations)
            return why or keep_events(self._session, batch_of(cfg, roles, load, source))

    def stage_events(
        self,
        cfg: Settings,
        roles: Roles,
        load: dict[str, Any],
        source: dict[str, Any],
        relations: Relations,
    ) -> WorkerRows | str:
        """Have the engine in the workers replay change events and write what the tables get.

        Args:
            cfg: The entity's configuration.
            roles: What becomes of each column.
            load: The commit, the batch that it takes, and the version of the log that it goes with.
            source: The files (`landed`, and what was `prefiltered` of them), the `tables` whose
                events count, and `first`.
            relations: The entity's.

        Returns:
            As stage_rows() does; or a text: why the engine does not do it.
        """
        with self.connections.exception_handler(f"stage_events({relations['log']})"):
            why = why_not_images(roles["columns"], self._time_zone)
            if why:
                return why
            batch = batch_of(cfg, roles, load, source)
            tables = _tables(batch.load, relations)
            return stage_events(self._session, batch, tables, load["log_version"])

    def read_events(
        self,
        cfg: Settings,
        roles: Roles,
        source: dict[str, Any],
        view: str,
    ) -> ReadEvents | str:
        """Have the engine in the workers read and type change events, for the macros to stage.

        Args:
            cfg: The entity's configuration.
            roles: What becomes of each column.
            source: As of stage_events(), and `by_content`.
            view: The view that has the events then, quoted as in SQL.

        Returns:
            Their figures and their table; or a text: why the engine does not do it.
        """
        with self.connections.exception_handler("read_events"):
            why = why_not_images(roles["columns"], self._time_zone)
            if why:
                return why
            load = {"business_date": "", "commit_id": 0, "batch_id": 0}
            batch = batch_of(cfg, roles, load, source)
            asked = asked_of(cfg, roles, source)
            found = read_events(self._session, batch, asked)
            if isinstance(found, str):
                return found
            try:
                columns = decoded_columns(batch, asked)
                kept = [Stored(name, name, kind) for name, kind in columns]
                self.views.view_kept(view, found.path, kept)
            finally:
                found.discard()
        return found

    def is_in_files(self, name: str) -> bool:
        """Say whether the rows of a view of a load lie in files of the run."""
        return self.views.has_files(name)

    def warm_worker(self) -> None:
        """Have a worker start and import the engine while this process goes on."""
        warm_worker(self._session)

    def stage_batch(
        self,
        cfg: Settings,
        files: list[dict[str, Any]],
        commit_id: int,
        relations: Relations,
    ) -> ShreddedRows | str:
        """Have the engine in the workers read a batch of enriched events and write what it gives.

        Args:
            cfg: The model's configuration.
            files: The files that are read.
            commit_id: The commit.
            relations: The model's.

        Returns:
            As stage_rows() does, with `kinds`; or a text: why the engine does not do it.
        """
        with self.connections.exception_handler(f"stage_batch({relations['current']})"):
            names: list[RelationName] = ["current", "entities", "rejects", "manifest"]
            tables: dict[str, tuple[str, str]] = {
                name: (relations[name].schema, relations[name].identifier) for name in names
            }
            return stage_batch(self._session, cfg, files, commit_id, tables)

    @property
    def _time_zone(self) -> str:
        return str(self._session.conf.get("spark.sql.session.timeZone"))

    def replace_current(self, staged: StagedRows) -> int | None:
        """Put what the engine in the workers wrote for current in the place of what it has.

        Args:
            staged: What stage_extract() or write_kept_rows() returned, or stage_rows(), which
                writes nothing for current.

        Returns:
            The version of current that has it; none, and nothing was done, if there is nothing
            for it, or another commit came to it.
        """
        if not isinstance(staged, WorkerRows):
            return None
        with self.connections.exception_handler(f"replace_current({staged.table})"):
            return staged.replace()


def _extract_of(cfg: Settings, roles: Roles, load: dict[str, Any], source: dict[str, Any]) -> Load:
    """Return the load of an extract, with what its environment has for it."""
    extract = load_of(cfg, roles, load, source)
    judges = cfg["on_reject"] == "quarantine" and extract.format != "parquet"
    pepper = os.environ.get(PEPPER_VARIABLE, "") if roles.get("sensitive") else ""
    return replace(extract, takes_rejects=judges, pepper=pepper)


def _tables(load: Load, relations: Relations) -> Tables:
    """Return the tables that the engine in the workers writes to."""
    beside: dict[str, list[RelationName]] = {"delta": ["supplied"], "events": ["staging"]}
    names: list[RelationName] = ["log", "current", *beside.get(load.extract, [])]
    return Tables(*[(relations[name].schema, relations[name].identifier) for name in names])
