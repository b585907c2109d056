"""The log of an entity: where it lies, and which of its rows count, now or as of a date."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidemark.errors import ConfigError
from tidemark.read.commits import recorded_config
from tidemark.read.macros import Macros, in_duckdb
from tidemark.read.project import Entity
from tidemark.read.tables import Tables

OWN = {
    "_key_hash",
    "_row_hash",
    "_operation",
    "_business_date",
    "_eff_start_date",
    "_changed_columns",
    "_commit_id",
    "_superseded_by",
    "_sequence_num",
    "_sequence_by",
    "_event_time",
    "_batch_id",
    "_source_operation",
    "_event_id",
    "_transaction_id",
    "_offset",
    "_unsupplied",
    "_moved_from",
}
"""Those columns of a log that are not the source's."""

# superseded rows are no change any more; of events N changed nothing and T is no row's
IN_FORCE = """_superseded_by is null and _operation in ('I', 'U', 'D')"""


@dataclass(frozen=True)
class Log:
    """The log of an entity, with the rules that the macros have for it.

    Attributes:
        path: Where it lies.
        names: Its columns.
        roles: What the macros ask of it: `flow`, and for events what orders them.
        macros: The macros.
    """

    path: str
    names: tuple[str, ...]
    roles: Mapping[str, Any]
    macros: Macros

    @property
    def is_of_events(self) -> bool:
        """Whether it is one of change events."""
        return bool(self.roles["flow"] == "events")

    def rows_at_sql(self, moment: dt.date | int | None) -> str:
        """Return a query of the rows as they stood, as `tidemark.as_of` gives them.

        Args:
            moment: The end of a business date, a commit, or None for now.
        """
        is_date = isinstance(moment, dt.date)
        known_at = None if is_date else moment
        condition = self.macros.in_force_expr(known_at)
        if is_date:
            condition += f" and _business_date <= date'{moment}'"
        # an event that changed nothing by the sequence may have changed the row as known by a date
        with_unchanged = is_date and self.is_of_events
        return in_duckdb(self.macros.as_of_rows_sql(self.roles, "t", condition, with_unchanged))

    def in_order_sql(self) -> str:
        """Return a query of all rows that are meant, those of a key in their order."""
        order = self.macros.log_order_expr(self.roles)
        return in_duckdb(f"select * from t order by {order} asc nulls first")

    def effects_sql(self) -> str:
        """Return the same, with what events did by themselves that changed nothing (N)."""
        if not self.is_of_events:
            return self.in_order_sql()
        order = self.macros.log_order_expr(self.roles)
        effects = self.macros.effects_of_events_sql("t", "true", order)
        return in_duckdb(
            f"select * except (_tidemark_is_same) from {effects} order by {order} asc nulls first"
        )


def log_of(tables: Tables, entity: Entity) -> Log:
    """Return the log of an entity.

    Ties are broken as the last commit broke them, which put the log in this order: what the
    settings say now counts from the next run on.

    Raises:
        ConfigError: It has none.
        TableNotReadable: Only Spark reads it.
    """
    if entity.kind != "cdc":
        raise ConfigError(
            f"{entity.name} is materialized {entity.kind}, so it has no log of versions. Choose a "
            "cdc model"
        )
    path = tables.of(entity, "__log")
    if not tables.exists(path):
        raise ConfigError(
            f"there is no log at {path}: {entity.name} was never loaded. Run it first, or check "
            "the location of its schema"
        )
    names = tuple(tables.columns(path))
    if "_event_id" not in names:
        return Log(path, names, {"flow": "extract"}, tables.macros)
    fields = tables.fields(path, "_sequence_by") if "_sequence_by" in names else ()
    recorded = recorded_config(tables, entity.relation)
    roles = {
        "flow": "events",
        "sequence_by": sum(name.startswith("sequence_") for name in fields),
        # every log that does not tell was made by content
        "on_tie": recorded.get("on_tie", "content") if recorded else "later",
    }
    return Log(path, names, roles, tables.macros)


def key_columns(entity: Entity, names: Sequence[str]) -> list[str]:
    """Return those columns of a log that are the entity's key, as the log spells them."""
    spelt = {name.lower(): name for name in names}
    return [spelt[key.lower()] for key in entity.key if key.lower() in spelt]
