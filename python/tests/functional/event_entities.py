"""Small entities fed with canonical change events, and functions that make such events.

shop = EventEntity(project, "customers", {"id": "int", "name": "string"}, "id")
shop.load([insert({"id": 1, "name": "ann"}), update({"id": 2}, before={"id": 1})])
assert shop.rows("id, name") == [(2, "ann")]
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .entities import MANY_REJECTS, Columns, Entity

Event = dict[str, Any]
"""A canonical event, as it stands in a line of JSON."""

Row = Mapping[str, Any]
"""Column → value. A column left out of an update is one that the source did not supply."""

EXTRACT = "{{ tidemark.extract() }}"


def insert(row: Row, **meta: Any) -> Event:
    """INSERT of a row. `meta` has the other event columns without their underscore: `sequence_num=7`."""
    return {**_meta("INSERT", meta), **row}


def update(row: Row, before: Row | None = None, **meta: Any) -> Event:
    """UPDATE to `row`; columns that it leaves out were not supplied. A `before` with another key is a move."""
    return {**_meta("UPDATE", meta), **_before(before or {}), **row}


def delete(before: Row, **meta: Any) -> Event:
    """DELETE of the row with this key, or of this whole row in a table without key."""
    return {**_meta("DELETE", meta), **_before(before)}


def truncate(**meta: Any) -> Event:
    """TRUNCATE of the table."""
    return _meta("TRUNCATE", meta)


def ddl(operation: str, schema: Sequence[Row] | None = None, **meta: Any) -> Event:
    """A DDL event such as ALTER_TABLE; `schema` is the table's columns after it: name, type, default, previous_name."""
    event = _meta(operation, meta)
    return event if schema is None else {**event, "_schema": [dict(column) for column in schema]}


def _meta(operation: str, meta: Mapping[str, Any]) -> Event:
    named = {f"_{name.removeprefix('_')}": value for name, value in meta.items()}
    return {"_operation": operation, **named}


def _before(row: Row) -> Event:
    return {f"_before_{name}": value for name, value in row.items()}


class EventEntity(Entity):
    """A cdc model of a test's project, fed with files of change events that land in a folder."""

    def __init__(
        self,
        project: Any,
        name: str,
        columns: Columns,
        key: str | list[str] | None = "id",
        *,
        body: str = EXTRACT,
        not_null: tuple[str, ...] = (),
        config: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self.project = project
        self.name = name
        self.columns = columns
        self.event_key = key
        self.body = body
        self.not_null = not_null
        self.config = config or {}
        self.settings = settings
        self.write()

    @property
    def folder(self) -> Path:
        """Where the event files land."""
        return Path(self.project.root) / "landing" / self.name

    def write(
        self, columns: Columns | None = None, key: str | list[str] | None = None, **settings: Any
    ) -> None:
        """(Re)write model and YAML, with some of it changed."""
        self.columns = columns if columns is not None else self.columns
        self.event_key = key if key is not None else self.event_key
        self.settings = {**self.settings, **settings}
        meta = {
            "extract": "events",
            "format": "canonical",
            "location": str(self.folder) if self.body == EXTRACT else None,
            "table": f"shop.{self.name}",
            **(MANY_REJECTS if self.settings.get("on_reject") == "quarantine" else {}),
            **self.settings,
        }
        model = {
            "name": self.name,
            "config": {
                "materialized": "cdc",
                **({"unique_key": self.event_key} if self.event_key is not None else {}),
                "file_format": self.project.file_format,
                **self.config,
                "meta": {"tidemark": {k: v for k, v in meta.items() if v is not None}},
            },
            "columns": [
                {
                    "name": name,
                    **({"data_type": kind} if kind else {}),
                    **({"constraints": [{"type": "not_null"}]} if name in self.not_null else {}),
                }
                for name, kind in self.columns.items()
            ],
        }
        self.project.write(f"models/{self.name}.sql", self.body)
        # JSON is YAML; Jinja must not see the names that tests make up
        text = json.dumps({"version": 2, "models": [model]}, indent=1, ensure_ascii=False)
        (Path(self.project.root) / f"models/{self.name}.yml").write_text(text, encoding="utf-8")

    def land(self, events: Sequence[Event | str], file: str | None = None) -> Path:
        """Write a file of events into the landing folder, the next by number or the named one; a str is a raw line."""
        self.folder.mkdir(parents=True, exist_ok=True)
        numbers = [int(p.stem) for p in self.folder.glob("*.jsonl") if p.stem.isdigit()]
        path = self.folder / (file or f"{max(numbers, default=0) + 1:06}.jsonl")
        database, _, table = str(self.settings.get("table") or self.name).rpartition(".")
        source = {"_database": database or "shop", "_table": table}
        lines = [
            event
            if isinstance(event, str)
            else json.dumps({**source, **event}, ensure_ascii=False, default=str)
            for event in events
        ]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    def run(self, *arguments: str, expect_pass: bool = True, **vars: Any) -> Any:
        """`dbt run` of this entity: takes what has landed."""
        return self.project.dbt(
            "run", "--select", self.name, *arguments, vars=vars or None, expect_pass=expect_pass
        )

    def load(  # type: ignore[override]
        self, events: Sequence[Event | str], *arguments: str, **options: Any
    ) -> Any:
        """Land a file of events and run."""
        self.land(events)
        return self.run(*arguments, **options)

    def add_scd2_view(self) -> str:
        """Write the model `<name>_scd2`, the view of the entity's intervals by sequence number; its name."""
        self.project.write(
            f"models/{self.name}_scd2.sql",
            "{{ config(materialized='view') }}\n"
            f"{{{{ tidemark.scd2(ref('{self.name}'), by='sequence') }}}}\n",
        )
        return f"{self.name}_scd2"

    def intervals(self, columns: str, where: str = "true") -> list[tuple[Any, ...]]:
        """Rows of that view, sorted: `columns`, then from and to by sequence number."""
        return self.rows(f"{columns}, _valid_from, _valid_to", "_scd2", where)
