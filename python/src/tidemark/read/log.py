"""The log of an entity: where it lies, and which of its rows count, now or as of a date."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from tidemark.errors import ConfigError
from tidemark.read.order import LogOrder
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


def rows_on_date_sql(log_order: LogOrder, names: Sequence[str], date: dt.date) -> str:
    """Return a query of an entity's rows as they stood at the end of a business date.

    What `tidemark.as_of` gives: an event that changed nothing in the order of the sequence may
    be what had changed the row by then.
    """
    order = log_order.newest_first()
    known = f"from t where {counts_sql(names)} and _business_date <= date '{date.isoformat()}'"
    if not log_order.is_of_events:
        return newest_rows_sql(order, known)
    of_key = "over (partition by _key_hash)"
    place, top, last = "_tidemark_place", "_tidemark_top", "_tidemark_last"
    pushed_aside = (
        "_operation = 'N' and _row_hash is null and coalesce(_tidemark_before_it, '') = 'MOVE_IN'"
    )
    return f"""select * from (
        select *,
            max(case when {place} = {top} then _row_hash end) {of_key} as {top}_hash,
            max(case when {place} = {top} then _operation end) {of_key} as {top}_operation,
            max(case when {place} = {last} then _row_hash end) {of_key} as {last}_hash,
            max(case when {place} = {last} then _operation end) {of_key} as {last}_operation
        from (
            select *,
                min(case when not ({pushed_aside}) then {place} end) {of_key} as {top},
                min(case when _operation <> 'N' then {place} end) {of_key} as {last}
            from (
                select *,
                    row_number() over (partition by _key_hash order by {order}) as {place},
                    lead(_source_operation) over (partition by _key_hash order by {order})
                        as _tidemark_before_it
                {known}
            )
        )
    ) where {top}_operation <> 'D' and {top}_hash is not null and {place} = case
        when {last}_operation <> 'D' and {last}_hash = {top}_hash then {last} else {top} end"""


def newest_rows_sql(order: str, known: str) -> str:
    """Return a query of each key's newest row that is not deleted, of rows `from … where …`."""
    return (
        f"select * from (select *, row_number() over (partition by _key_hash order by {order}) "
        f"as _tidemark_place {known}) where _tidemark_place = 1 and _operation <> 'D'"
    )


def counts_sql(names: Sequence[str]) -> str:
    """Return the condition of a log's rows that count as of a date; of events N is among them."""
    if "_event_id" not in names:
        return IN_FORCE
    return "_superseded_by is null and _operation in ('I', 'U', 'D', 'N') and _key_hash is not null"


def with_effects(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows of a key with what events say by themselves that changed nothing (N)."""
    effects: list[Mapping[str, Any]] = []
    before = ""
    for row in rows:
        is_gone = row["_row_hash"] is None
        # the departure of a row that another one had pushed aside
        if row["_operation"] != "N":
            effects.append(row)
        elif not (is_gone and before == "MOVE_IN"):
            effects.append({**row, "_operation": "D" if is_gone else "U"})
        before = row.get("_source_operation") or ""
    return effects


def log_of(tables: Tables, entity: Entity) -> tuple[str, list[str]]:
    """Return where the log of an entity lies, and its columns.

    Raises:
        ConfigError: It has none.
        TableNotReadable: Only Spark reads it.
    """
    if entity.kind != "cdc":
        raise ConfigError(
            f"{entity.name} is materialized {entity.kind}, so it has no log of versions. Choose a "
            "cdc model"
        )
    log = tables.of(entity, "__log")
    if not tables.exists(log):
        raise ConfigError(
            f"there is no log at {log}: {entity.name} was never loaded. Run it first, or check the "
            "location of its schema"
        )
    return log, tables.columns(log)


def key_columns(entity: Entity, names: Sequence[str]) -> list[str]:
    """Return those columns of a log that are the entity's key, as the log spells them."""
    spelt = {name.lower(): name for name in names}
    return [spelt[key.lower()] for key in entity.key if key.lower() in spelt]
