"""Versions of a key, and the changes of dates, read from the log."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tidemark.engine.quoted import literal
from tidemark.errors import ConfigError
from tidemark.printable import counted
from tidemark.read.commits import Commit
from tidemark.read.log import IN_FORCE, OWN, Log, key_columns, log_of
from tidemark.read.project import Entity
from tidemark.read.rejects import open_rejects_on
from tidemark.read.tables import Tables
from tidemark.read.values import are_same

_COUNTED = ("_key_hash", "_operation", "_business_date", "_superseded_by", "_changed_columns")
"""The columns of a log that changes are counted by."""


@dataclass(frozen=True)
class Change:
    """A column that a version changed.

    Attributes:
        column: Its name.
        old: Its value before.
        new: Its value since.
        is_apart: Whether the log has no values of it: it is sensitive, or was dropped.
    """

    column: str
    old: Any
    new: Any
    is_apart: bool = False


@dataclass(frozen=True)
class Version:
    """A row as one change left it.

    Attributes:
        key: Its key columns.
        operation: I, U or D.
        business_date: Of the extract, or of the arrival of the event.
        commit_id: Who wrote it.
        event: What the source said of the change: operation, time, transaction, position; of
            extracts nothing.
        values: Its columns; of a D those that it had.
        changes: What a U changed.
    """

    key: dict[str, Any]
    operation: str
    business_date: dt.date | None
    commit_id: int
    event: dict[str, Any]
    values: dict[str, Any]
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class DayChanges:
    """What a business date changed in an entity.

    Attributes:
        entity: Its model.
        business_date: The date.
        inserted: Rows inserted.
        updated: Rows updated.
        deleted: Rows deleted.
        rejected: Its open rejects.
        columns: How many updates changed a column, the most changed first.
        samples: Some of its versions.
        is_loaded: Whether a load of the date is in force.
    """

    entity: str
    business_date: dt.date
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    rejected: int = 0
    columns: tuple[tuple[str, int], ...] = ()
    samples: tuple[Version, ...] = field(default=())
    is_loaded: bool = True


@dataclass(frozen=True)
class Difference:
    """What differs between how an entity stood at the ends of two dates.

    Attributes:
        entity: Its model.
        first: The one date.
        last: The other one.
        inserted: Keys that only the last date has.
        updated: Keys that both have, with another row.
        deleted: Keys that only the first date has.
        samples: Some of these rows, with what differs.
    """

    entity: str
    first: dt.date
    last: dt.date
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    samples: tuple[Version, ...] = field(default=())


def versions_of(tables: Tables, entity: Entity, key: Sequence[str]) -> list[Version]:
    """Return every version of a row, the first one first.

    Args:
        tables: Where they are read.
        entity: A cdc model with a key.
        key: The values of its key columns as text, in the order of `unique_key`; NULL for none.

    Raises:
        ConfigError: It has no key, one with sensitive columns, or another number of key columns.
        TableNotReadable: Only Spark reads the log.
    """
    log = log_of(tables, entity)
    keys = key_columns(entity, log.names)
    if not entity.key:
        raise ConfigError(
            f"{entity.name} has no unique_key, so its rows have no versions: add `unique_key` "
            "to the model"
        )
    if len(keys) != len(entity.key):
        raise ConfigError(
            f"the key of {entity.name} is {', '.join(entity.key)}, but its log has "
            f"{', '.join(keys) or 'none'}: sensitive columns are stored apart. Read "
            "tidemark.with_sensitive() in SQL instead"
        )
    if len(key) != len(keys):
        raise ConfigError(
            f"the key of {entity.name} is {', '.join(keys)}: give "
            f"{counted(len(keys), 'value')}, found {len(key)}"
        )
    where = " and ".join(
        tables.equals(log.path, name, text) for name, text in zip(keys, key, strict=True)
    )
    rows = tables.rows(log.path, log.in_order_sql(), f"{IN_FORCE} and {where}")
    # between a row without a value and one whose value is the text NULL: the one without
    one = min(rows, key=lambda row: _texts_of_null(row, keys), default={"_key_hash": None})
    return _versions([row for row in rows if row["_key_hash"] == one["_key_hash"]], keys)


def changes_of(
    tables: Tables, entity: Entity, own: Sequence[Commit], date: dt.date, samples: int
) -> DayChanges:
    """Return what a business date changed.

    Args:
        tables: Where they are read.
        entity: A cdc model.
        own: Its commits.
        date: The business date.
        samples: Of how many changed keys to show what changed.

    Raises:
        TableNotReadable: Only Spark reads the log.
    """
    if not tables.exists(tables.of(entity, "__log")):
        return DayChanges(entity.name, date)
    log = log_of(tables, entity)
    day = f"{IN_FORCE} and _business_date = date '{date.isoformat()}'"
    counts = {
        row["_operation"]: row["n"]
        for row in tables.rows(
            log.path,
            "select _operation, count(*) as n from t group by _operation",
            day,
            _COUNTED,
        )
    }
    columns = tables.rows(
        log.path,
        "select name, count(*) as n from (select unnest(_changed_columns) as name from t) "
        "group by name order by n desc, name",
        f"{day} and _operation = 'U'",
        _COUNTED,
    )
    shown: list[Version] = []
    keys = key_columns(entity, log.names)
    if samples and entity.key:
        for of_key in _sampled_rows(tables, log, date, samples):
            versions = _versions(of_key, keys)
            shown += [one for one in versions if one.business_date == date]
    return DayChanges(
        entity.name,
        date,
        inserted=counts.get("I", 0),
        updated=counts.get("U", 0),
        deleted=counts.get("D", 0),
        rejected=open_rejects_on(tables, entity, own, date),
        columns=tuple((row["name"], row["n"]) for row in columns),
        samples=tuple(shown),
    )


def difference_of(
    tables: Tables, entity: Entity, first: dt.date, last: dt.date, samples: int
) -> Difference:
    """Return what differs between how an entity stood at the ends of two business dates.

    Args:
        tables: Where they are read.
        entity: A cdc model with a key.
        first: The one date.
        last: The other one.
        samples: Of how many keys to show what differs.

    Raises:
        ConfigError: It has no key.
        TableNotReadable: Only Spark reads the log.
    """
    log = log_of(tables, entity)
    keys = key_columns(entity, log.names)
    if not entity.key:
        raise ConfigError(
            f"{entity.name} has no unique_key, so its rows cannot be compared: add "
            "`unique_key` to the model"
        )
    states = ", ".join(
        f"{side} as (select _key_hash, _row_hash from ({log.rows_at_sql(date)}))"
        for side, date in (("a", first), ("b", last))
    )
    kinds = f"""
        with {states}
        select coalesce(a._key_hash, b._key_hash) as key_hash, case
            when a._key_hash is null then 'I'
            when b._key_hash is null then 'D'
            else 'U'
        end as kind
        from a full outer join b on a._key_hash = b._key_hash
        where a._row_hash is distinct from b._row_hash
    """
    counts = {
        row["kind"]: row["n"]
        for row in tables.rows(log.path, f"select kind, count(*) as n from ({kinds}) group by kind")
    }
    chosen = tables.rows(
        log.path,
        f"select key_hash, kind from ({kinds}) "
        "order by case kind when 'U' then 0 when 'D' then 1 else 2 end, key_hash "
        f"limit {samples}",
    )
    shown = []
    for row in chosen:
        of_key = tables.rows(
            log.path,
            log.effects_sql(),
            f"_superseded_by is null and _key_hash = {literal(row['key_hash'])} "
            f"and _business_date <= date '{max(first, last).isoformat()}'",
        )
        shown.append(_between(_versions(of_key, keys), row["kind"], first, last))
    return Difference(
        entity.name,
        first,
        last,
        inserted=counts.get("I", 0),
        updated=counts.get("U", 0),
        deleted=counts.get("D", 0),
        samples=tuple(shown),
    )


def _between(versions: Sequence[Version], kind: str, first: dt.date, last: dt.date) -> Version:
    """Return a row as it was at the last date, with what differs from the first one."""

    def at(date: dt.date) -> Version | None:
        known = [one for one in versions if one.business_date and one.business_date <= date]
        return known[-1] if known else None

    before, after = at(first), at(last)
    # a key that one of the dates does not have is deleted there, or not yet known
    shown = after if after is not None and kind != "D" else before
    if shown is None:
        raise AssertionError("a key that differs has a version")
    changes = []
    if kind == "U" and before is not None and after is not None:
        changes = [
            Change(name, before.values.get(name), value)
            for name, value in after.values.items()
            if not are_same(before.values.get(name), value)
        ]
    return replace(shown, operation=kind, changes=tuple(changes))


def _sampled_rows(
    tables: Tables, log: Log, date: dt.date, number: int
) -> list[list[dict[str, Any]]]:
    """Return the rows up to a date of some keys of each operation, by key; updates first."""
    day = f"{IN_FORCE} and _business_date = date '{date.isoformat()}'"
    hashes: list[str] = []
    for operation in ("U", "D", "I"):
        left = number - len(hashes)
        if left <= 0:
            break
        found = tables.rows(
            log.path,
            f"select distinct _key_hash from t order by _key_hash limit {left}",
            f"{day} and _operation = '{operation}'",
            _COUNTED,
        )
        hashes += [row["_key_hash"] for row in found if row["_key_hash"] not in hashes]
    if not hashes:
        return []
    chosen = ", ".join(map(literal, hashes))
    rows = tables.rows(
        log.path,
        log.in_order_sql(),
        f"{IN_FORCE} and _key_hash in ({chosen}) and _business_date <= date '{date.isoformat()}'",
    )
    return [[row for row in rows if row["_key_hash"] == one] for one in hashes]


def _versions(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[Version]:
    versions: list[Version] = []
    before: dict[str, Any] | None = None
    for row in rows:
        values = {name: value for name, value in row.items() if name not in OWN}
        versions.append(
            Version(
                key={name: values[name] for name in keys},
                operation=row["_operation"],
                business_date=row["_business_date"],
                commit_id=row["_commit_id"],
                event={
                    name: row[column]
                    for name, column in (
                        ("operation", "_source_operation"),
                        ("time", "_event_time"),
                        ("transaction", "_transaction_id"),
                        ("position", "_offset"),
                    )
                    if row.get(column) is not None
                },
                values=values,
                changes=tuple(_changes(row, before, values)),
            )
        )
        before = values
    return versions


def _changes(
    row: Mapping[str, Any], before: Mapping[str, Any] | None, values: Mapping[str, Any]
) -> Iterator[Change]:
    """Yield what a U changed; nothing where what was before is not there any more (`clean`)."""
    if before is None or row["_operation"] != "U":
        return
    changed = row["_changed_columns"]
    if changed is None:
        # `changed_columns: false`
        changed = [name for name in values if not are_same(before.get(name), values[name])]
    for name in changed:
        yield Change(name, before.get(name), values.get(name), is_apart=name not in values)


def _texts_of_null(row: Mapping[str, Any], keys: Sequence[str]) -> int:
    return sum(row[name] == "NULL" for name in keys)
