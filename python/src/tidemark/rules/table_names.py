"""The name of an entity's table at the source of its events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidemark.errors import ConfigError
from tidemark.rules.names import lowered, unique
from tidemark.shapes.events import Batch
from tidemark.shapes.settings import Settings

Rows = Iterable[Mapping[str, Any]]


def is_one_of_tables(name: str, tables: Sequence[str]) -> bool:
    """Return whether a name is that of one of the tables, in any case.

    One of them may leave out the database. Without tables every name is.

    Example:
        >>> is_one_of_tables("shop.Orders", ["orders"])
        True
    """
    ours = lowered(tables)
    return not ours or any(f".{name.lower()}".endswith(f".{table}") for table in ours)


def names_of_table(batch: Batch) -> list[str]:
    """Return the names by which the table of an entity is known.

    That is after the statements of the batch so far, by the setting or by its events. What the
    setting leaves out, such as the database, they tell: there may be a table of that name in
    another one.
    """
    names: list[str] = []
    named = batch.get("named", [])
    for table in batch.get("tables", []):
        names += [one for one in named if is_one_of_tables(one, [table])] or [table]
    known: list[str] = batch.get("followed") or names or named
    return known


def is_database_of(database: str | None, tables: Iterable[str]) -> bool:
    """Return whether one of the tables is in a database."""
    return bool(database) and any(
        table.startswith(f"{str(database).lower()}.") for table in lowered(tables)
    )


def table_drift(cfg: Settings, taken: Sequence[str]) -> list[str]:
    """Return what has changed where `table` names none of the tables that a log was made of.

    Files are read once, so that another one would have none of the events that have landed. DDL
    events give a table further names.

    Example:
        >>> table_drift({"table": "shop.b"}, ["shop.a"])
        ['table was shop.a and is now shop.b']
    """
    table = cfg["table"]
    if not table or is_one_of_tables(table, taken):
        return []
    if any(is_one_of_tables(name, [table]) for name in taken):
        return []
    return [f"table was {', '.join(taken)} and is now {table}"]


def named_tables(batch: Batch, figures: Rows) -> list[str]:
    """Return the tables that events are of, as they are written: of earlier batches and this one.

    Example:
        >>> named_tables({"named": ["shop.a"]}, [{"_table_name": "A"}, {"_table_name": "b"}])
        ['shop.a', 'b']
    """
    named = list(batch["named"])
    for name in (row["_table_name"] for row in figures if row["_table_name"]):
        if not any(is_one_of_tables(name, [one]) or is_one_of_tables(one, [name]) for one in named):
            named.append(name)
    return named


def check_one_table(
    cfg: Settings, batch: Batch, figures: Rows, loaded: Sequence[str] | None
) -> None:
    """Refuse events of more tables than the setting and DDL events name.

    Without either, of more than the one that the first events are of.

    Args:
        cfg: The settings of the entity.
        batch: What the table is called.
        figures: What its events tell: `_table_name`.
        loaded: What those that were loaded are of.

    Raises:
        ConfigError: There are some.
    """
    tables = unique(row["_table_name"] for row in figures if row["_table_name"])
    # some may tell the database, some not
    ends = tuple(lowered(tables))
    found = [
        name
        for name in (tables if batch["tables"] else batch["named"])
        if not any(end.endswith(f".{name.lower()}") for end in ends)
    ]
    if len(found) > max(1, len(batch["tables"])):
        before = f". Those that were loaded are of {', '.join(loaded)}" if loaded else ""
        raise ConfigError(
            f"{cfg['entity']}: the events are of several tables "
            f"({', '.join(sorted(found, key=str.lower))}). "
            f"Name the table of this entity in meta.tidemark.table{before}"
        )
