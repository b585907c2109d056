"""How each entity stands, judged from its commits, its tables and the files that have landed."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tidemark.failures import Failure
from tidemark.read.calendar import missing_dates
from tidemark.read.commits import LOADS, RUNS, Commit
from tidemark.read.project import Entity
from tidemark.rules.timeline import REWRITING

_PARTS = {
    "{business_date}": r"(?P<business_date>\d{4}-\d{2}-\d{2})",
    "{yyyy}": r"(?P<yyyy>\d{4})",
    "{mm}": r"(?P<mm>\d{2})",
    "{dd}": r"(?P<dd>\d{2})",
}


@dataclass(frozen=True)
class Mirror:
    """How far a mirrored table is behind its source.

    Attributes:
        source: Whose replicator.
        lag_seconds: By how much; None if that is not known.
        limit_seconds: How much its `freshness` allows.
    """

    source: str
    lag_seconds: float | None
    limit_seconds: float

    @property
    def is_late(self) -> bool:
        """Whether it is further behind than it may be."""
        return self.lag_seconds is not None and self.lag_seconds > self.limit_seconds


@dataclass(frozen=True)
class Counts:
    """Rows of an entity's last load that brought anything."""

    inserted: int
    updated: int
    deleted: int
    unchanged: int | None = None
    rejected: int = 0


@dataclass(frozen=True)
class Status:
    """How an entity stands.

    Attributes:
        entity: Its model.
        kind: Its materialization.
        relation: schema.table.
        state: loaded, empty (never loaded), failed (the last run did), in flight (a run is at work
            or died), behind (what it reads has more), stale (its last run is longer ago than its
            `freshness` allows).
        last_date: The greatest business date in force.
        loaded_at: When its last run that has a commit was completed.
        fresh_until: Until when its last run keeps it fresh, also one that found nothing new; None
            if nothing says so.
        rows: Rows of its table; None where only Spark can tell.
        last_load: The rows of its last load.
        open_rejects: Rejected rows that no later load of their date has mended; None where only
            Spark can tell.
        missing_dates: Days without a load between the first and the last, of an entity that is
            loaded daily, or on working days.
        landed_dates: Dates whose files have landed and that are not loaded.
        in_flight: Commits that are not completed.
        failure: The last run, if it failed.
        problem: What could not be read.
        mirror: How far it is behind its source, of a table that a replicator mirrors.
        unmatched: Which files lie where its extracts land and are not found by its location.
        broken_rules: How many rows of its last load failed a rule, by the rule's name.
    """

    entity: str
    kind: str
    relation: str
    state: str
    last_date: dt.date | None = None
    loaded_at: dt.datetime | None = None
    fresh_until: dt.datetime | None = None
    rows: int | None = None
    last_load: Counts | None = None
    open_rejects: int | None = None
    missing_dates: tuple[dt.date, ...] = ()
    landed_dates: tuple[dt.date, ...] = ()
    in_flight: tuple[int, ...] = ()
    failure: Failure | None = None
    problem: str | None = None
    mirror: Mirror | None = None
    unmatched: str | None = None
    broken_rules: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """What was found of an entity beside its commits.

    Attributes:
        rows: Rows of its table.
        open_rejects: Its open rejects.
        landed: The dates that have files.
        failure: The last run that failed.
        succeeded_at: When the last run went through here, whether it brought anything or not.
        problem: What could not be read.
        mirror: How far it is behind its source.
        unmatched: Which files its location does not find.
    """

    rows: int | None = None
    open_rejects: int | None = None
    landed: tuple[dt.date, ...] = ()
    failure: Failure | None = None
    succeeded_at: dt.datetime | None = None
    problem: str | None = None
    mirror: Mirror | None = None
    unmatched: str | None = None


@dataclass(frozen=True)
class Loaded:
    """The commits of an entity that count."""

    completed: list[Commit] = field(default_factory=list)
    dates: set[dt.date] = field(default_factory=set)


def status_of(entity: Entity, commits: Sequence[Commit], seen: Seen, now: dt.datetime) -> Status:
    """Judge one entity.

    Args:
        entity: The model.
        commits: All commits of all entities, the newest first.
        seen: What was found beside them.
        now: When.
    """
    own = [commit for commit in commits if commit.relation == entity.relation]
    loaded = loaded_of(own)
    in_flight = tuple(commit.commit_id for commit in own if commit.state == "inflight")
    bringing = next((c for c in loaded.completed if c.kind in (*LOADS, entity.kind)), None)
    last_date = max(loaded.dates, default=None)
    failure = seen.failure
    fresh_until = None
    ended = next((c.completed_at for c in loaded.completed if c.kind in RUNS), None)
    # the commits tell of runs anywhere, but not of those that found nothing new
    passed = max((moment for moment in (ended, seen.succeeded_at) if moment), default=None)
    if failure is not None and (
        _went_through(own, failure.failed_at) or (passed is not None and passed > failure.failed_at)
    ):
        failure = None
    if passed is not None and entity.fresh_minutes is not None:
        fresh_until = passed + dt.timedelta(minutes=entity.fresh_minutes)
    if failure is not None:
        state = "failed"
    elif in_flight:
        state = "in flight"
    elif not loaded.completed:
        state = "empty"
    elif _is_behind(own, commits):
        state = "behind"
    else:
        is_old = fresh_until is not None and fresh_until < now
        is_late = seen.mirror is not None and seen.mirror.is_late
        state = "stale" if is_old or is_late else "loaded"
    return Status(
        entity=entity.name,
        kind=entity.kind,
        relation=entity.relation,
        state=state,
        last_date=last_date,
        loaded_at=ended,
        fresh_until=fresh_until,
        rows=seen.rows,
        last_load=_counts(bringing),
        open_rejects=seen.open_rejects,
        missing_dates=missing_dates(loaded.dates),
        landed_dates=tuple(sorted(set(seen.landed) - loaded.dates)),
        in_flight=in_flight,
        failure=failure,
        problem=seen.problem,
        mirror=seen.mirror,
        unmatched=seen.unmatched,
        broken_rules=bringing.broken_rules if bringing else {},
    )


def landed_dates(root: Path, location: str | None) -> tuple[dt.date, ...]:
    """Return the dates of which files lie at a location that has one for each.

    Args:
        root: The project, from which a path without a root counts.
        location: As the entity's YAML says it. Nothing is known of a URL.
    """
    if location is None or not ("{business_date}" in location or "{dd}" in location):
        return ()
    if "://" in location and not location.startswith("file:"):
        return ()
    path = str(root / re.sub(r"^file:/*", "/", location))
    parts = re.split(r"(\{\w+\}|\*|\?)", path)
    pattern, glob = "", ""
    for part in parts:
        named = _PARTS.get(part)
        if named is not None:
            name = part.strip("{}")
            pattern += f"(?P={name})" if f"(?P<{name}>" in pattern else named
            glob += "*"
        elif part in ("*", "?"):
            pattern += r"[^/]*" if part == "*" else r"[^/]"
            glob += part
        else:
            pattern += re.escape(part)
            glob += re.sub(r"([\[\]])", r"[\1]", part)
    found = set()
    # two stars beside each other are one, as they are to who loads the files
    for file in Path("/").glob(re.sub(r"\*+", "*", glob).lstrip("/")):
        match = re.fullmatch(pattern, str(file))
        date = _date(match.groupdict()) if match else None
        if date is not None:
            found.add(date)
    return tuple(sorted(found))


def _date(parts: Mapping[str, str | None]) -> dt.date | None:
    text = parts.get("business_date") or "-".join(parts.get(p) or "" for p in ("yyyy", "mm", "dd"))
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None


def loaded_of(own: Sequence[Commit]) -> Loaded:
    """Return what was completed, the newest first, and the dates since the log began anew."""
    completed = [commit for commit in own if commit.state == "completed"]
    begun = max((c.commit_id for c in completed if c.kind == "full_refresh"), default=0)
    dates = {
        commit.business_date
        for commit in completed
        if commit.kind in LOADS and commit.business_date is not None and commit.commit_id >= begun
    }
    return Loaded(completed, dates)


def _is_behind(own: Sequence[Commit], commits: Sequence[Commit]) -> bool:
    """Say whether what a derived table reads has loaded more than it has read."""
    done = next((c for c in own if c.state == "completed" and c.source_relation), None)
    if done is None or done.kind in ("rollback", "clean"):
        return False
    # a feed of several entities records one commit for each
    reads = [c for c in own if c.source_relation and c.started_at == done.started_at]
    return any(_is_news(commit, read) for read in reads for commit in commits)


def _is_news(commit: Commit, read: Commit) -> bool:
    """Say whether a commit of what a derived table reads brought something that it has not read."""
    if commit.relation != read.source_relation or commit.state != "completed":
        return False
    if read.source_commit_id is None or commit.commit_id <= read.source_commit_id:
        return False
    if commit.kind == "load":
        # what changed nothing has no rows in the log, by which intervals say how far they read
        return commit.changed > 0 or bool(commit.is_correction) or commit.rows_inserted is None
    if commit.kind in REWRITING:
        # it leaves the numbers in the log as they are
        return commit.commit_id > read.commit_id
    return commit.kind in (*LOADS, "rollback")


def _went_through(own: Sequence[Commit], failed_at: dt.datetime) -> bool:
    """Say whether a run was completed after one that failed, whatever became of it since."""
    return any(
        commit.kind in RUNS and commit.completed_at is not None and commit.completed_at > failed_at
        for commit in own
    )


def _counts(commit: Commit | None) -> Counts | None:
    if commit is None:
        return None
    return Counts(
        commit.rows_inserted or 0,
        commit.rows_updated or 0,
        commit.rows_deleted or 0,
        commit.rows_unchanged,
        commit.rows_rejected or 0,
    )
