"""The sides of a comparison as they are named on the command line.

| spelling | side |
|---|---|
| `airports` | the current table of an entity |
| `airports@2026-03-04` | the entity at the end of a business date, as it is known today |
| `airports@commit:123` | the entity as it was known at a commit |
| `airports__log`, `schema.table` | a table of the warehouse |
| `schema` | all entities in a schema |
| `source:schema.table` | a table of a database, by the source that mirrors it |
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tidemark.console import nearest
from tidemark.engine.quoted import identifier
from tidemark.errors import ConfigError, first_line
from tidemark.lineage.datasets import schema_folder
from tidemark.read.log import IN_FORCE, Log, key_columns, log_of
from tidemark.read.past import state_at
from tidemark.read.project import Entity, KnownProject
from tidemark.read.tables import Opened, TableNotReadable, Tables, is_local

_COMMIT = re.compile(r"commit:(\d+)")


@dataclass(frozen=True)
class Schema:
    """All entities in a schema.

    Attributes:
        name: The schema.
        problem: Why it may be none: nothing is called so.
    """

    name: str
    problem: str | None = None


@dataclass(frozen=True)
class DatabaseTable:
    """A table of a database.

    Attributes:
        name: As it was named.
        source: The source of the project that mirrors it.
        table: `schema.table`.
    """

    name: str
    source: str
    table: str


@dataclass(frozen=True)
class Stored:
    """Rows of the warehouse.

    Attributes:
        name: As they were named.
        table: The table that they are in, as it was when the comparison began.
        names: Their columns.
        rows: What they are selected from, of the table called `t`.
        key: The key of their model; none if there is none.
        sensitive: Columns whose values are not shown, in small letters.
    """

    name: str
    table: Opened
    names: tuple[str, ...]
    rows: str
    key: tuple[str, ...] = ()
    sensitive: frozenset[str] = frozenset()

    def show(self, db: Any, view: str, selected: Sequence[tuple[str, str]], end: str = "") -> None:
        """Make a view of some columns, names and what they are called there, to be read once.

        Raises:
            TableNotReadable: Only Spark reads it.
        """
        chosen = ", ".join(f"{identifier(name)} as {called}" for name, called in selected)
        try:
            self.table.show(db, view, f"select {chosen} from {self.rows} {end}")
        except Exception as error:
            # whatever delta-rs raises: a feature that it does not know
            raise TableNotReadable(f"{self.name} cannot be read: {first_line(error)}") from error


Side = Schema | DatabaseTable | Stored


def side_of(project: KnownProject, tables: Tables, text: str) -> Side:
    """Return a side by its spelling. What nothing is called may be a schema without a table yet.

    Raises:
        ConfigError: Nothing is called so.
        TableNotReadable: Only Spark reads the table.
    """
    name, at, moment = text.rpartition("@")
    if at:
        return _at_moment(project, tables, text, name, _moment(text, moment))
    source, colon, table = text.partition(":")
    if colon:
        if "." not in table:
            raise ConfigError(f"{text}: name a table of a database as source:schema.table")
        return DatabaseTable(text, source, table)
    entity = _entity(project, text)
    if entity is not None:
        return current(project, tables, entity, text)
    return _table(project, tables, text) or _schema(project, text)


def _namesake(project: KnownProject, table: str) -> Entity | None:
    """Return the entity whose table has a name in its own schema, as a clone's in another one."""
    return next((one for one in project.entities.values() if one.table == table), None)


def current(
    project: KnownProject, tables: Tables, entity: Entity, name: str, path: str | None = None
) -> Stored:
    """Return the current table of an entity as it is known now.

    Rows that are only marked as deleted are left out, and those that commits knew before.

    Args:
        project: That of the entity.
        tables: Where it is read.
        entity: Its model.
        name: What the side is called.
        path: Where it lies, if it is that of another schema.
    """
    path = path or tables.of(entity)
    table = _opened(tables, path, name)
    names = tuple(table.columns())
    is_marked = entity.kind == "cdc" and "_operation" in names
    rows = "(select * from t where _operation is distinct from 'D')" if is_marked else "t"
    key = _key(entity, names)
    if entity.kind == "scd2":
        rows = "(select * from t where _known_to is null)" if "_known_to" in names else "t"
        key = _key_of_intervals(project, entity, names)
    return Stored(name, table, names, rows, key, _sensitive(entity))


def _key_of_intervals(
    project: KnownProject, entity: Entity, names: Sequence[str]
) -> tuple[str, ...]:
    """Return the key of kept intervals: that of the model that they are of, and their begin."""
    read = {above for above, model in project.edges if model == entity.name}
    keys = [one.key for name, one in project.entities.items() if name in read and one.key]
    key = entity.key or (keys[0] if len(keys) == 1 else ())
    own = _key(replace(entity, key=key), names) or ("_key_hash",)
    return (*own, entity.valid_from) if entity.valid_from in names else own


def _at_moment(
    project: KnownProject, tables: Tables, text: str, name: str, moment: dt.date | int
) -> Stored:
    entity = _entity(project, name)
    if entity is None:
        hint = nearest(name, project.entities)
        raise ConfigError(
            f"{text}: there is no entity named {name!r}. Take a name that `tidemark status` "
            f"lists.{hint}"
        )
    return at_moment(tables, entity, text, moment)


def at_moment(tables: Tables, entity: Entity, name: str, moment: dt.date | int) -> Stored:
    """Return the rows of an entity as they stood at the end of a business date, or at a commit.

    Args:
        tables: Where they are read.
        entity: Its model.
        name: What the side is called.
        moment: The date or the commit.
    """
    log, stood = state_at(tables, entity, moment)
    return _of_log(tables, entity, name, log, f"({stood})")


def versions_between(
    tables: Tables, entity: Entity, name: str, first: dt.date, last: dt.date
) -> Stored:
    """Return the versions that business dates of an entity's extracts have, one of a key and date.

    Args:
        tables: Where they are read.
        entity: Its model.
        name: What the side is called.
        first: The first date.
        last: The last one.
    """
    log = log_of(tables, entity)
    dates = f"_business_date between date '{first.isoformat()}' and date '{last.isoformat()}'"
    side = _of_log(tables, entity, name, log, f"(select * from t where {IN_FORCE} and {dates})")
    return replace(side, key=(*side.key, "_business_date"))


def _of_log(tables: Tables, entity: Entity, name: str, log: Log, rows: str) -> Stored:
    key = _key(entity, log.names)
    return Stored(name, tables.open(log.path), log.names, rows, key, _sensitive(entity))


def _moment(text: str, moment: str) -> dt.date | int:
    found = _COMMIT.fullmatch(moment)
    if found:
        return int(found[1])
    try:
        return dt.date.fromisoformat(moment)
    except ValueError:
        raise ConfigError(
            f"{text}: write a business date or a commit behind @, such as @2026-03-04 or "
            "@commit:123"
        ) from None


def _entity(project: KnownProject, name: str) -> Entity | None:
    by_relation = {one.relation: one for one in project.entities.values()}
    return project.entities.get(name) or by_relation.get(name)


def _table(project: KnownProject, tables: Tables, text: str) -> Stored | None:
    """Return a table of the warehouse; None if there is none of that name."""
    schema, dot, name = text.rpartition(".")
    base, mark, side = name.rpartition("__")
    of = _entity(project, f"{schema}{dot}{base}") if mark else None
    beside = of or (_namesake(project, base) if mark and dot else None)
    sensitive = _sensitive(beside) if beside else frozenset[str]()
    if of is None:
        path = tables.at(schema or project.commits_schema, name)
    else:
        path = tables.of(of, f"__{side}")
    if not tables.exists(path):
        if dot or of:
            raise ConfigError(
                f"there is no table {text} at {path}. Give another name; a view cannot be compared"
            )
        return None
    clone = _namesake(project, name) if dot else None
    if clone is not None:
        return current(project, tables, clone, text, path)
    table = _opened(tables, path, text)
    return Stored(text, table, tuple(table.columns()), "t", sensitive=sensitive)


def _schema(project: KnownProject, text: str) -> Schema:
    folder = schema_folder(project.warehouse, text.lower())
    known = {one.schema for one in project.entities.values()}
    if text in known or not is_local(folder) or (project.root / Path(folder)).is_dir():
        return Schema(text)
    hint = nearest(text, [*project.entities, *known])
    return Schema(text, f"there is no entity, table or schema named {text!r}.{hint}")


def _opened(tables: Tables, path: str, name: str) -> Opened:
    if not tables.exists(path):
        raise ConfigError(
            f"{name} was never loaded, or is a view: there is no table at {path}. Run it first"
        )
    return tables.open(path)


def _key(entity: Entity, names: Sequence[str]) -> tuple[str, ...]:
    """Return the key of an entity's rows; its hash where sensitive columns of it stand apart."""
    there = key_columns(entity, names)
    if len(there) < len(entity.key) and "_key_hash" in names:
        return ("_key_hash",)
    return entity.key


def _sensitive(entity: Entity) -> frozenset[str]:
    return frozenset(name.lower() for name in entity.sensitive)
