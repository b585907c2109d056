"""What the report shows, read from a project's tables and commits."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidemark import distribution_version
from tidemark.engine.quoted import literal
from tidemark.read.commits import RUNS, Commit, by_relation, of_models
from tidemark.read.log import IN_FORCE
from tidemark.read.mirrors import operated_sources
from tidemark.read.project import Entity, KnownProject
from tidemark.read.rejects import open_rejects_sql
from tidemark.read.show import APART, next_command, notes
from tidemark.read.status import Status
from tidemark.read.tables import TableNotReadable, Tables
from tidemark.read.values import value_text
from tidemark.read.versions import Change, Version, versions_of
from tidemark.replicator.lag import Lag, read_lags, thinned
from tidemark.report.data import (
    MOST_VERSIONS,
    ColumnRow,
    EntityRow,
    KeyHistory,
    KeyVersion,
    LagRow,
    LineageEdge,
    LoadRow,
    RejectRow,
    ReplicatorRow,
    Report,
    RunRow,
    ValueInterval,
    VersionsRow,
)

if TYPE_CHECKING:
    from tidemark.replicator.metrics import SourceStatus

# those columns of an entity that changed most
_COLUMNS = 10
_NO_LOADS = {
    *("savepoint", "clean", "compact", "clone", "erase_key", "populate_manifest"),
    *("rehash", "promote", "repeat"),
}


def collected(
    project: KnownProject,
    tables: Tables,
    statuses: Sequence[Status],
    commits: Sequence[Commit],
    now: dt.datetime,
    days: int,
    keys: Iterable[tuple[str, Sequence[str]]] = (),
) -> Report:
    """Return what the report shows.

    Args:
        project: The project.
        tables: Where its tables are read.
        statuses: Of its entities.
        commits: All commits, the newest first.
        now: When it is made.
        days: How far back loads and changes are shown.
        keys: Entities and keys whose versions are shown.

    Raises:
        ConfigError: A key of another number of columns.
    """
    shown = {project.entities[status.entity].relation for status in statuses}
    since = now - dt.timedelta(days=days)
    columns: list[ColumnRow] = []
    versions: list[VersionsRow] = []
    rejects: list[RejectRow] = []
    rows: list[EntityRow] = []
    known = by_relation(commits)
    commits = [
        commit
        for commit in of_models(commits, project.entities.values())
        if commit.relation in shown
    ]
    for status in statuses:
        entity = project.entities[status.entity]
        own = known.get(entity.relation, [])
        rows.append(_entity_row(tables, entity, status, now))
        recent = [commit.commit_id for commit in own if _ended(commit) >= since]
        columns += _columns(tables, entity, min(recent, default=None))
        versions += _versions_per_key(tables, entity)
        rejects += _rejects(tables, entity, own)
    return Report(
        project=project.name,
        made_at=now,
        version=distribution_version(),
        days=days,
        entities=rows,
        loads=[
            _load(commit)
            for commit in reversed(commits)
            if commit.state == "completed"
            and commit.kind not in _NO_LOADS
            and _ended(commit) >= since
        ],
        columns=columns,
        rejects=rejects,
        versions=versions,
        lineage=[LineageEdge(reads=above, read_by=below) for above, below in project.edges],
        keys=[_key_history(tables, project.entities[name], key) for name, key in keys],
        runs=run_rows(project.entities, statuses, commits, since),
        replicators=[_replicator(operated.status()) for operated in operated_sources(project.root)],
        lags=[
            row
            for operated in operated_sources(project.root)
            for row in lag_rows(operated.source, read_lags(operated.state.lags), since, now)
        ],
    )


def run_rows(
    entities: Mapping[str, Entity],
    statuses: Sequence[Status],
    commits: Sequence[Commit],
    since: dt.datetime,
) -> list[RunRow]:
    """Return when runs of entities with an objective were completed, the first one first.

    Of those that found nothing new only the last one is known: they have no commit.

    Args:
        entities: Of the project, by name.
        statuses: Of those that are shown.
        commits: Of these, by the names of their models, the newest first.
        since: From when on.
    """
    found = [
        RunRow(entity=commit.entity, completed_at=_ended(commit))
        for commit in reversed(commits)
        if entities[commit.entity].fresh_minutes is not None
        and commit.state == "completed"
        and commit.kind in RUNS
    ]
    for status in statuses:
        minutes = entities[status.entity].fresh_minutes
        if status.fresh_until is not None and minutes is not None:
            passed = status.fresh_until - dt.timedelta(minutes=minutes)
            if passed != status.loaded_at:
                found.append(RunRow(entity=status.entity, completed_at=passed))
    return [run for run in found if run.completed_at >= since]


def _replicator(status: SourceStatus) -> ReplicatorRow:
    return ReplicatorRow(
        source=status.source,
        freshness_seconds=status.freshness_seconds,
        objective=status.objective,
        fresh=min((one.fresh for one in status.tables if one.fresh is not None), default=None),
        tables=len(status.tables),
    )


def lag_rows(
    source: str, lags: Sequence[Lag], since: dt.datetime, now: dt.datetime
) -> list[LagRow]:
    """Return how far a replicator was behind, as few points as a chart needs.

    Args:
        source: Its name.
        lags: What was noted.
        since: From when on.
        now: Thinned out by how long ago that was.
    """
    return [
        LagRow(
            source=source,
            at=dt.datetime.fromtimestamp(one.at, dt.UTC),
            lag_seconds=one.seconds,
            table=one.table,
            waiting=one.waiting,
        )
        for one in thinned(lags, now.timestamp())
        if one.seconds is not None and one.at >= since.timestamp()
    ]


def _ended(commit: Commit) -> dt.datetime:
    return commit.completed_at or commit.started_at


def _entity_row(tables: Tables, entity: Entity, status: Status, now: dt.datetime) -> EntityRow:
    last = status.last_load
    size = _size(tables, entity)
    return EntityRow(
        entity=status.entity,
        kind=status.kind,
        relation=status.relation,
        state=status.state,
        last_date=status.last_date,
        loaded_at=status.loaded_at,
        rows=status.rows,
        inserted=last.inserted if last else None,
        updated=last.updated if last else None,
        deleted=last.deleted if last else None,
        unchanged=last.unchanged if last else None,
        open_rejects=status.open_rejects,
        size_bytes=size[0] if size else None,
        files=size[1] if size else None,
        small_files=size[2] if size else None,
        notes=notes(status, now),
        next_command=next_command(status),
        fresh_minutes=entity.fresh_minutes,
        lag_seconds=status.mirror.lag_seconds if status.mirror else None,
    )


def _size(tables: Tables, entity: Entity) -> tuple[int, int, int] | None:
    sizes = []
    for side in ("", "__log") if entity.kind == "cdc" else ("",):
        try:
            path = tables.of(entity, side)
            if tables.exists(path):
                sizes.append(tables.size(path, by_partition=side == "__log"))
        except TableNotReadable:
            return None
    if not sizes:
        return None
    return sum(s[0] for s in sizes), sum(s[1] for s in sizes), sum(s[2] for s in sizes)


def _load(commit: Commit) -> LoadRow:
    return LoadRow(
        entity=commit.entity,
        commit_id=commit.commit_id,
        kind=commit.kind,
        business_date=commit.business_date,
        completed_at=_ended(commit),
        seconds=commit.seconds,
        inserted=commit.rows_inserted or 0,
        updated=commit.rows_updated or 0,
        deleted=commit.rows_deleted or 0,
        rejected=commit.rows_rejected or 0,
    )


def _columns(tables: Tables, entity: Entity, first: int | None) -> list[ColumnRow]:
    if entity.kind != "cdc" or first is None:
        return []
    found = _rows(
        tables,
        entity,
        "__log",
        "select name, count(*) as n from (select unnest(_changed_columns) as name from t "
        f"where {IN_FORCE} and _operation = 'U' and _commit_id >= {first}) "
        f"group by name order by n desc, name limit {_COLUMNS}",
    )
    return [ColumnRow(entity=entity.name, column=row["name"], changes=row["n"]) for row in found]


def _versions_per_key(tables: Tables, entity: Entity) -> list[VersionsRow]:
    if entity.kind != "cdc" or not entity.key:
        return []
    found = _rows(
        tables,
        entity,
        "__log",
        f"select least(n, {MOST_VERSIONS}) as versions, count(*) as n from (select count(*) as n "
        f"from t where {IN_FORCE} group by _key_hash) group by least(n, {MOST_VERSIONS}) "
        "order by versions",
    )
    return [VersionsRow(entity=entity.name, versions=r["versions"], keys=r["n"]) for r in found]


def _rejects(tables: Tables, entity: Entity, own: Sequence[Commit]) -> list[RejectRow]:
    try:
        if not tables.exists(tables.of(entity, "__rejects")):
            return []
        open_ones = open_rejects_sql(tables, entity, own)
    except TableNotReadable:
        return []
    found = _rows(
        tables,
        entity,
        "__rejects",
        f"select _reject_reason as reason, count(*) as n from ({open_ones}) "
        "group by _reject_reason order by n desc, reason limit 20",
    )
    return [RejectRow(entity=entity.name, reason=str(r["reason"]), rows=r["n"]) for r in found]


def _rows(tables: Tables, entity: Entity, side: str, select: str) -> list[dict[str, Any]]:
    """Return rows of a side table; none where it is not there, or where only Spark reads it."""
    try:
        path = tables.of(entity, side)
        return tables.rows(path, select) if tables.exists(path) else []
    except TableNotReadable:
        return []


def _key_history(tables: Tables, entity: Entity, key: Sequence[str]) -> KeyHistory:
    return history_of(entity, key, versions_of(tables, entity, key))


def history_of(entity: Entity, key: Sequence[str], versions: Sequence[Version]) -> KeyHistory:
    """Return versions of a key as the report shows them.

    Args:
        entity: Whose they are.
        key: The values of its key columns.
        versions: The first one first.
    """
    return KeyHistory(
        entity=entity.name,
        key=", ".join(key),
        versions=[
            KeyVersion(
                business_date=one.business_date,
                operation=one.operation,
                commit_id=one.commit_id,
                changes=[f"{c.column}: {_change(c)}" for c in one.changes],
            )
            for one in versions
        ],
        values=value_intervals(versions),
    )


def value_intervals(versions: Sequence[Version]) -> list[ValueInterval]:
    """Return how long the columns that ever changed had which value, by column and time.

    Of several changes on one day the last one counts.

    Args:
        versions: Of a key, the first one first.
    """
    changes = (change for one in versions for change in one.changes)
    columns = sorted({change.column for change in changes if not change.is_apart})
    found: list[ValueInterval] = []
    for column in columns:
        since: dt.date | None = None
        text = ""
        for one in versions:
            there = one.operation != "D"
            new = _text(one.values.get(column))
            if since is not None and one.business_date and (new != text or not there):
                if one.business_date > since:
                    found.append(
                        ValueInterval(
                            column=column, value=text, since=since, until=one.business_date
                        )
                    )
                since = None
            if there and since is None:
                since, text = one.business_date, new
        if since is not None:
            found.append(ValueInterval(column=column, value=text, since=since, until=None))
    return found


def _change(change: Change) -> str:
    return APART if change.is_apart else f"{_text(change.old)} → {_text(change.new)}"


def _text(value: Any) -> str:
    text = value_text(value)
    return "NULL" if text is None else literal(text) if isinstance(value, str) else text
