"""An entity fed by change events without Spark: the engine reads the lines, and the macros' SQL, by DuckDB, does all else.

The pipeline's own code stages and derives; a warehouse keeps views and tables in DuckDB's memory. Where the contract leaves
a query to Spark because NULL within a struct is ordered otherwise, DuckDB has it nevertheless: places of the events here have
the same parts.

Example:
    >>> shop = EventShop(folder, {"id": "int", "name": "string"}, "id")
    >>> shop.load([insert({"id": 1, "name": "ann"}, sequence_num=1)])["rows_inserted"]
    1
    >>> shop.rows("id, name")
    [(1, 'ann')]
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from tests.functional.event_entities import Event
from tests.macros import MacroWarehouse
from tests.rendering import load_sql_macros, relation
from tidemark.engine.events import task
from tidemark.engine.events.decoded import asked_of
from tidemark.engine.events.load import batch_of, landed_of
from tidemark.engine.header import stamp_of
from tidemark.engine.room import Room
from tidemark.pipeline import events_derive, events_stage, events_workers
from tidemark.rules.batches import ALL_OF_IT
from tidemark.sessions import contract
from tidemark.sessions.declined import Declined

Row = tuple[Any, ...]
_DAY = "2026-03-04"
_TYPES = {
    "VARCHAR": "string",
    "INTEGER": "int",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
    "HUGEINT": "decimal(38,0)",
}
_MADE = re.compile(r"create (?:or replace temporary view|table) (\S+) (?:using parquet )?as\n(.*)", re.DOTALL)  # fmt: skip
_PASSED_OVER = re.compile("drop |cache |uncache ")


class _Row(tuple[Any, ...]):
    """A row as dbt gives it: by position, and as a dict."""

    names: Sequence[str] = ()

    def dict(self) -> dict[str, Any]:
        return dict(zip((name.lower() for name in self.names), self, strict=True))


class DuckWarehouse(MacroWarehouse):
    """The warehouse of the pipeline whose views and tables are DuckDB's, with nothing of what the adapter can."""

    def __init__(self, folder: Path) -> None:
        self.db = duckdb.connect()
        self.db.execute("set TimeZone = 'UTC'")
        self.db.execute("set disabled_optimizers = 'top_n_window_elimination'")
        self.folder = folder
        macros = {
            **load_sql_macros(),
            "run_query": self.run,
            "query_rows": self.rows,
            "describe_query": self._columns,
            "can": lambda _: False,
            "row_count": lambda rows: self.run(f"select count(*) from {rows}")[0][0],
            "warn": lambda *_: None,
        }
        super().__init__(macros, SimpleNamespace(read_events=self._read_events))

    def crossed(self, sql: str) -> str:
        """A query of Spark's in DuckDB's SQL."""

        def known_as(schema: str | None, name: str) -> str:
            return f"{schema}.{name}".lower() if schema else name.lower()

        try:
            return contract.crossed(sql, known_as)
        except Declined:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(contract, "_UNORDERED", ())
                return contract.crossed(sql, known_as)

    def run(self, sql: str) -> Any:
        if _PASSED_OVER.match(sql.strip()):
            return []
        if made := _MADE.match(sql.strip()):
            kind = "view" if "view" in sql[:30] else "table"
            self.db.execute(f"create or replace temp {kind} {_quoted(made[1])} as {self.crossed(made[2])}")  # fmt: skip
            return []
        found = self.db.execute(self.crossed(sql))
        names = [one[0] for one in found.description]
        rows = [_Row(row) for row in found.fetchall()]
        for row in rows:
            row.names = names
        return rows

    def rows(self, sql: str) -> Any:
        return [row.dict() for row in self.run(sql)]

    def _columns(self, sql: str) -> list[dict[str, str]]:
        found = self.db.execute(f"describe {self.crossed(sql)}").fetchall()
        return [{"name": name, "type": _type_of(kind)} for name, kind, *_ in found]

    def _read_events(self, cfg: Any, roles: Any, source: Any, view: str) -> Any:
        """What the adapter does by a task in a worker."""
        batch = batch_of(cfg, roles, {"business_date": "", "commit_id": 0, "batch_id": 0}, source)
        room = Room(1, str(self.folder / "scratch"), 1 << 30)
        read = task.read(batch, asked_of(cfg, roles, source), str(self.folder / "kept"), room)
        if read.declined:
            return read.declined
        self.db.execute(f"create or replace temp table {_quoted(view)} as from '{read.kept}'")
        return read


class EventShop:
    """A cdc model of change events, its landing folder, and its tables after each load.

    Args:
        folder: Where its files land.
        columns: Name to data_type.
        key: The key; None for a table without one.
        **settings: Those of meta.tidemark.
    """

    def __init__(
        self, folder: Path, columns: Mapping[str, str], key: str | list[str] | None, **settings: Any
    ) -> None:
        self.warehouse = DuckWarehouse(folder)
        self.columns = columns
        self.landing = folder / "landing"
        self.landing.mkdir()
        given = {"extract": "events", "location": str(self.landing), "format": "canonical", "table": "shop.t", **settings}  # fmt: skip
        self.cfg = self.warehouse.macro(
            "entity_config",
            {
                "alias": "t",
                "name": "t",
                "database": None,
                "schema": "shop",
                "unique_id": "model.shop.t",
                "columns": {
                    name: {"name": name, "data_type": kind, "constraints": []}
                    for name, kind in columns.items()
                },
                "config": {
                    "unique_key": key,
                    "file_format": "delta",
                    "meta": {"tidemark": given},
                },
            },
        )
        self.relations = self.warehouse.macro("side_relations", relation("shop", "t"))
        self.roles: Any = None
        self._state: dict[str, Any] = {
            "first": True, "has_log": False, "recorded": None, "log_version": None, "last_id": 0, "last_commit_id": 0,
            "last_sequence_num": None,
        }  # fmt: skip

    def load(self, *files: Sequence[Event | str]) -> dict[str, Any]:
        """Land files of events and load them; what was counted.

        Raises:
            Declined: Spark alone reads one of them.
        """
        warehouse, is_first = self.warehouse, self._state["first"]
        run = {"business_date": _DAY, "full_refresh": False, "empty": False, "dry_run": False, "plan": False, "allow_rejects": True}  # fmt: skip
        opened: Any = {"cfg": self.cfg, "run": run, "relations": self.relations, "state": self._state}  # fmt: skip
        landed_files = self._land(files)
        landed: Any = landed_of(landed_files)
        with pytest.MonkeyPatch.context() as patch:
            # tables are made of what is derived, and nothing is looked at before
            patch.setattr(events_stage, "_tried_stretch", lambda *_: None)
            patch.setattr(events_stage, "_evolved", lambda _, known, __: known)
            patch.setattr(events_stage, "relation_exists", lambda *_: False)
            batch: Any = _or_declined(events_workers._batch_to_come(warehouse, opened, None))
            lines: Any = {"landed": landed, "prefiltered": None}
            source = events_workers._read_by_workers(warehouse, opened, landed_files, lines, batch)
            staged: Any = events_stage.stage_events(warehouse, opened, _or_declined(source), ALL_OF_IT)  # fmt: skip
            load = {**staged["load"], "log_version": None}
            self.roles = staged["roles"]
            derived: Any = events_derive._replay(warehouse, opened, self.roles, load)
        self._commit(load, derived["slice"], is_first)
        self._state = {
            **self._state,
            "first": False,
            "recorded": self.roles["recorded"],
            "last_id": load["commit_id"],
            "last_commit_id": load["commit_id"],
        }
        return {**staged["figures"], **derived["counts"]}

    def rows(self, columns: str, table: str = "current") -> list[Row]:
        """Rows of a table: current, log or staging."""
        return self.warehouse.db.execute(f"select {columns} from {self._name(table)}").fetchall()

    def intervals(self) -> list[Row]:
        """Its versions by sequence: all columns, from and to."""
        flow = {
            "sequence_by": self.cfg["sequence_by"], "hash": self.cfg["hash"], "on_tie": self.cfg["on_tie"], "sensitive": None,
            "tracked": None, "has_copies": not self.roles["keyed"],
        }  # fmt: skip
        log = str(self.relations["log"])
        query = self.warehouse.macro("event_intervals_sql", flow, log, "_superseded_by is null", "sequence")  # fmt: skip
        names = ", ".join(self.columns)
        return self.warehouse.db.execute(
            f"select {names}, _valid_from, _valid_to from ({self.warehouse.crossed(query)})"
        ).fetchall()

    def _land(self, files: Sequence[Sequence[Event | str]]) -> list[dict[str, Any]]:
        last = len(list(self.landing.iterdir()))
        landed = []
        for number, events in enumerate(files, last + 1):
            path = self.landing / f"{number:06}.jsonl"
            path.write_text("".join(f"{line}\n" for line in map(_line, events)), encoding="utf-8")
            size, written = stamp_of(str(path))
            landed.append(
                {"_file": f"file:{path}", "_file_number": number, "_last_number": last, "_file_size": size,
                 "_file_micros": written // 1000}
            )  # fmt: skip
        return landed

    def _commit(self, load: Any, slice_: Any, is_first: bool) -> None:
        """Bring the log, staging and current after what was derived."""
        warehouse, db, roles = self.warehouse, self.warehouse.db, self.roles
        log, new, commit = self._name("log"), _quoted(str(slice_)), load["commit_id"]
        names = _names(warehouse.macro("slice_columns", roles))
        rows = f"select {names}, cast({commit} as bigint) as _commit_id, cast(null as bigint) as _superseded_by from {new} where _supersedes is null"  # fmt: skip
        same = " and ".join(
            f"log.{name} is not distinct from marks.{name}"
            for name in ("_key_hash", "_business_date", "_event_id", "_source_operation")
        )
        if not is_first:
            db.execute(
                f"update {log} as log set _superseded_by = {commit} from {new} as marks "
                f"where marks._supersedes = log._commit_id and {same}"
            )
        self._append("log", rows, is_first)
        columns = _names(warehouse.macro("staging_columns", self.cfg, roles))
        staged = warehouse.crossed(
            f"select * except (_landing_num), _tidemark_line_num as _landing_num, {load['batch_id']} as _batch_id, "
            f"_source_operation as _operation, {commit} as _commit_id from {load['staged']} where _is_usable"
        )
        self._append("staging", f"select {columns} from ({staged})", is_first)
        load = {**load, "last_date": _DAY}
        stored = None if is_first or not roles["keyed"] else self.relations["current"]
        touched = (
            warehouse.macro("touched_rows_sql", roles, self.relations, load)
            if roles["keyed"]
            else warehouse.macro("latest_rows_sql", roles, self.relations)
        )
        both = {"touched": touched, "stored": stored}
        query = warehouse.macro("current_rows_sql", self.cfg, roles, self.relations, both, load)
        db.execute(f"create or replace temp table next_rows as {warehouse.crossed(query)}")
        db.execute(f"create or replace table {self._name('current')} as from next_rows")

    def _append(self, table: str, query: str, is_first: bool) -> None:
        made = "create table {} as {}" if is_first else "insert into {} by name {}"
        self.warehouse.db.execute(made.format(self._name(table), query))

    def _name(self, table: str) -> str:
        return _quoted(str(self.relations[table]))


def _line(event: Event | str) -> str:
    if isinstance(event, str):
        return event
    return json.dumps({"_database": "shop", "_table": "t", **event}, ensure_ascii=False)


def _or_declined(found: Any) -> Any:
    if isinstance(found, str):
        raise Declined(found)
    return found


def _names(columns: Iterable[Any]) -> str:
    names = (one if isinstance(one, str) else one["name"] for one in columns)
    return ", ".join(f'"{name}"' for name in names)


def _quoted(name: str) -> str:
    return '"' + name.replace("`", "").lower() + '"'


def _type_of(kind: str) -> str:
    """Spark's name of a type of DuckDB's."""
    if kind.endswith("[]"):
        return f"array<{_type_of(kind[:-2])}>"
    if kind.startswith("STRUCT("):
        fields = re.findall(r'"?(\w+)"? ((?:DECIMAL\([^)]*\)|[^,])+)', kind[7:-1])
        return f"struct<{','.join(f'{name}:{_type_of(inner)}' for name, inner in fields)}>"
    return _TYPES.get(kind, kind.lower())
