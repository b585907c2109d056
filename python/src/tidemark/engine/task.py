"""One load in a worker: files are read, compared and written; no commit names what is written.

A worker that dies leaves files that are nobody's: Delta removes them in time as it does those of a
task of Spark's. A task that is repeated writes others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from tidemark.engine.files import FILE_PREFIX, Written, copy, discard
from tidemark.engine.header import stamp_of
from tidemark.engine.lines import lines_of
from tidemark.engine.load import Load, Target
from tidemark.engine.members import doubt_of
from tidemark.engine.pages import broken_file
from tidemark.engine.quoted import end_of, identifier, literal
from tidemark.engine.ranges import part_of, write_part
from tidemark.engine.room import Room, connection
from tidemark.engine.sql import (
    STANDING,
    all_new_sql,
    arrived_sql,
    classified_sql,
    current_sql,
    existing_sql,
    log_sql,
    one_of_each_sql,
    parquet_sql,
    supplied_sql,
    there_sql,
    unwritable_sql,
)


@dataclass(frozen=True)
class Outcome:
    """What became of a load.

    Args:
        declined: Why the engine does not do it: nothing was written; None: it did.
        figures: How many rows were read, inserted, …, by the names of tidemark_commits.
        log: The files for the log.
        current: Those for current; None: it stays as it is.
        replaced: The paths of the files that they take the place of; None: of all that it has.
        supplied: Those with the keys that a delta supplies.
        kept: The file that has the rows until there are tables for them, or, of a load that is
            declined, until other tasks compare them; None: there is none.
        of_table: The table of the source that change events call theirs; empty: they call none.
    """

    declined: str | None = None
    figures: dict[str, int] | None = None
    log: tuple[Written, ...] = ()
    current: tuple[Written, ...] | None = None
    replaced: tuple[str, ...] | None = None
    supplied: tuple[Written, ...] = ()
    kept: str | None = None
    of_table: str = ""


@dataclass(frozen=True)
class Targets:
    """The tables that a load writes files for.

    Args:
        log: The log.
        current: Current, with the files that it has.
        supplied: What has the keys of each delta; None: the load is none.
    """

    log: Target
    current: Target
    supplied: Target | None = None


def compare(load: Load, targets: Targets, room: Room, *, aside: str = "") -> Outcome:
    """Compare an extract with current and write what its tables get.

    Args:
        load: The load.
        targets: The tables.
        room: What may be taken.
        aside: The folder where the rows are kept if some are rejects; its parent is there. Empty:
            they are not.
    """
    with connection(room) as db:
        found = _classify(db, load, targets)
        if isinstance(found, str):
            return _left(db, load, found, aside)
        unwritable = unwritable_sql(load, STANDING)
        if unwritable and db.execute(unwritable).fetchone():
            return Outcome(declined="current has a -0.0")
        return _write(db, load, targets, found)


def look_again(load: Load, targets: Targets, room: Room, *, aside: str = "") -> Outcome:
    """Compare a full extract of the last date with current, which has that date already.

    No table is written to. Where the extract is not what current has, the engine does not answer.

    Args:
        load: The load.
        targets: The tables; of the log the files of the date.
        room: What may be taken.
        aside: The folder where the rows are kept if they are others; its parent is there. Empty:
            they are not.

    Returns:
        The figures that a load of the date has by what stood before it.
    """
    with connection(room) as db:
        found = _classify(db, load, targets)
        if isinstance(found, str):
            return _left(db, load, found, aside)
        counts = _operations(db)
        if any(counts.get(operation) for operation in "IUD"):
            why = "the last date comes again, and not as it was"
            return Outcome(declined=why, kept=_keep(db, _all_of(found), aside))
        logged = _logged(db, load, targets.log)
        if isinstance(logged, str):
            return Outcome(declined=logged)
        # what came with the date is among what is as it was
        inserted, updated = logged.get("I", 0), logged.get("U", 0)
        stood = counts.get("N", 0) - inserted
        return Outcome(figures=_figures({**logged, "N": stood - updated}, found))


def _logged(db: Any, load: Load, log: Target) -> dict[str, int] | str:
    """Return how many rows in force files of the log have, by operation."""
    if not log.files:
        return {}
    operation, changed, superseded = (
        log.fields[name][0] for name in ("_operation", "_changed_columns", "_superseded_by")
    )
    if broken_file(db, log.files, operation):
        return "a page of a file of the log is not as it was written"
    files = parquet_sql(log.files)
    names = [name for (name, *_) in db.execute(f"describe select * from {files}").fetchall()]
    changes = f"{identifier(changed)} is not null" if changed in names else "false"
    in_force = f"where {identifier(superseded)} is null" if superseded in names else ""
    rows = db.execute(
        f"select op, count(*), count_if(op = 'U' and changes <> {load.changed_columns}) from ("
        f"select {identifier(operation)} as op, {changes} as changes from {files} "
        f"{in_force}) group by op"
    ).fetchall()
    if any(others for _, _, others in rows):
        return "changed_columns is not as it was when the last date came"
    return {str(name): int(count) for name, count, _ in rows}


def keep(load: Load, folder: str, room: Room, *, has_copies: bool = False) -> Outcome:
    """Stage an extract in a file of a folder: the first of an entity, which has no tables yet.

    The file is for write_kept(), once the tables are made; or for whatever compares the rows.

    Args:
        load: The load.
        folder: The folder, whose parent is there.
        room: What may be taken.
        has_copies: The file has exact copies of rows and rejects, too.
    """
    import duckdb

    with connection(room) as db:
        try:
            found = _stage(db, load)
        except duckdb.Error as error:
            return Outcome(declined=reading_failed(error))
        if isinstance(found, str):
            left = _left(db, load, found, folder)
            return replace(left, declined=None) if has_copies and left.kept else left
        kept = _keep(db, _all_of(found) if has_copies else "staged", folder)
        return Outcome(figures=_figures({"I": found[1]}, found), kept=kept)


def _left(db: Any, load: Load, why: str, folder: str) -> Outcome:
    """Return the outcome of a load that is declined; rows with rejects are kept for other tasks."""
    is_good = load.takes_rejects and why in (_REJECTED, _DIFFERING)
    return Outcome(declined=why, kept=_keep(db, "arrived", folder) if is_good else None)


def _all_of(found: tuple[int, int]) -> str:
    """Return the table that has all rows, exact copies too, by what _stage() returned."""
    return "arrived" if found[0] != found[1] else "staged"


def _keep(db: Any, rows: str, folder: str) -> str | None:
    """Keep the rows of a table in a file of a folder, if one is named; return its path."""
    if not folder:
        return None
    # no parents: of a folder that this machine does not share there is none
    Path(folder).mkdir(mode=0o700, exist_ok=True)
    kept = str(Path(folder) / f"{FILE_PREFIX}{uuid4()}.parquet")
    try:
        db.execute(f"copy {rows} to {literal(kept)} (format parquet, parquet_version v2)")
    except Exception:
        Path(kept).unlink(missing_ok=True)
        raise
    return kept


def write_kept(load: Load, kept: str, targets: Targets, room: Room) -> Outcome:
    """Write the rows that keep() kept for the tables that they belong to."""
    with connection(room) as db:
        db.execute(f"create temp view staged as from {parquet_sql([kept])}")
        db.execute(f"create temp view classified as {all_new_sql()}")
        rows = _count(db, "select count(*) from staged")
        return _write(db, load, targets, (rows, rows))


def _stage(db: Any, load: Load) -> tuple[int, int] | str:
    """Make the table `staged` of the good rows; return how many came and how many are left.

    A text: why the engine does not answer for them.
    """
    if load.format == "parquet" and broken_file(db, load.files):
        return "a page of a file is not as it was written"
    lines = lines_of(load.files, load.separator) if load.format == "csv" else None
    doubt = lines.doubt if lines else doubt_of(load.files) if load.format == "json" else None
    if doubt:
        return f"a file {doubt}"
    has_quotes = lines is not None and lines.has_quotes
    db.execute(f"create temp table arrived as {arrived_sql(load, has_quotes)}")
    rejected = "count(reason)" if load.takes_rejects else "0"
    read, keys, unproven, within, rejects = db.execute(
        "select count(*), count(distinct kh), min(unproven), coalesce(sum(within), 0), "
        f"{rejected} from arrived"
    ).fetchone()
    if tuple(stamp_of(file) for file in load.files) != load.stamps:
        # by what came in its place a column may be another one
        return "a file was written while it was read"
    if unproven == -1:
        return "a line has a member twice, or is of a form that is read by Spark alone"
    if unproven is not None:
        return (
            f"column {load.columns[unproven].name} has a value that is a reject, or of a form "
            "that is read by Spark alone"
        )
    if lines and lines.separators != (read + len(load.files)) * (load.width - 1) + within:
        return "a line has more fields than the header"
    if rejects:
        return _REJECTED
    if keys == read:
        db.execute("alter table arrived rename to staged")
        return read, read
    differing = "select 1 from arrived group by kh having min(rh) <> max(rh) limit 1"
    if db.execute(differing).fetchone():
        return _DIFFERING
    db.execute(f"create temp table staged as {one_of_each_sql(load)}")
    return read, keys


def _classify(db: Any, load: Load, targets: Targets) -> tuple[int, int] | str:
    """Make the table `classified` of what becomes of each key; return what _stage() does."""
    import duckdb

    try:
        found = _stage(db, load)
    except duckdb.Error as error:
        return reading_failed(error)
    if isinstance(found, str):
        return found
    supplied = None if load.judges_all else "select kh from staged"
    known = part_of(db, targets.current, supplied).table
    if _is_broken(db, targets.current, known):
        return "a page of a file of current is not as it was written"
    db.execute(f"create temp view existing as {_existing(db, load, known)}")
    db.execute(f"create temp table classified as {classified_sql(load)}")
    return found


def _is_broken(db: Any, current: Target, known: Target) -> bool:
    """Say whether a page that is read of current is not as it was written.

    For files that have no key of the load these are the operations, by which rows are counted.
    """
    others = sorted({*current.files} - {*known.files})
    return bool(
        broken_file(db, known.files) or broken_file(db, others, current.fields["_operation"][0])
    )


def _existing(db: Any, load: Load, current: Target) -> str:
    """Return the query of current as it is; of a table without files one without rows."""
    if current.files:
        files = ", ".join(literal(file) for file in current.files)
        names = db.execute(f"select distinct name from parquet_schema([{files}])").fetchall()
        return existing_sql(load, current, [name for (name,) in names])
    nothing = "cast(null as varchar) as operation, cast(null as date) as since"
    return f"select * exclude (unproven, within), {nothing} from staged where false"


def _write(db: Any, load: Load, targets: Targets, found: tuple[int, int]) -> Outcome:
    """Count what becomes of the keys, and write the files of the tables."""
    log, current, supplied = targets.log, targets.current, targets.supplied
    counts = _operations(db)
    if not load.judges_all:
        there = _count(db, there_sql(current)) if current.files else 0
        counts["X"] = there - counts.get("U", 0) - counts.get("N", 0)
    figures = _figures(counts, found)
    changed = sum(counts.get(operation, 0) for operation in "IUD")
    logged: tuple[Written, ...] = ()
    if changed:
        partition = f"_business_date={load.business_date}"
        names = [*_columns(load), *_LOGGED]
        bounds = {"_commit_id": (load.commit_id, load.commit_id), "_superseded_by": None}
        logged = copy(db, log_sql(load, log, counts), log, partition, names, bounds)
    keys: tuple[Written, ...] = ()
    if supplied is not None:
        query = supplied_sql(load, supplied)
        try:
            keys = copy(db, query, supplied, "", _SUPPLIED, {})
        except Exception:
            discard(log, logged)
            raise
    kept, part = None, None
    if load.tag_unchanged or changed:
        try:
            # a tag of each row is a change of all of them
            part = part_of(db, current, None if load.tag_unchanged else _CHANGED)
            standing = _existing(db, load, part.table)
            db.execute(f"create temp view standing as {standing}")
            query = current_sql(load, current, counts, part.replaced is None)
            names = [*_columns(load), *_SHOWN]
            kept = write_part(db, query, part, names, counts.get("I", 0))
        except Exception:
            discard(log, logged)
            if supplied is not None:
                discard(supplied, keys)
            raise
    replaced = part.replaced if part else None
    return Outcome(figures=figures, log=logged, current=kept, replaced=replaced, supplied=keys)


_REJECTED = "a value is a reject"
_DIFFERING = "a key came with different values"
_CHANGED = "select kh from classified where op in ('I', 'U', 'D')"
_SUPPLIED = ("_key_hash", "_business_date", "_commit_id")
_LOGGED = (
    "_key_hash",
    "_row_hash",
    "_operation",
    "_eff_start_date",
    "_changed_columns",
    "_commit_id",
)
_SHOWN = ("_key_hash", "_row_hash", "_operation", "_eff_start_date")


def _columns(load: Load) -> list[str]:
    return [column.name for column in load.columns]


def _figures(counts: dict[str, int], found: tuple[int, int]) -> dict[str, int]:
    """Return the figures of a load, by the names of tidemark_commits."""
    read, distinct = found
    return {
        "rows_read": read,
        "rows_inserted": counts.get("I", 0),
        "rows_updated": counts.get("U", 0),
        "rows_deleted": counts.get("D", 0),
        "rows_unchanged": counts.get("N", 0),
        "rows_not_supplied": counts.get("X", 0),
        "rows_rejected": 0,
        "rows_duplicate": read - distinct,
        "existing": sum(counts.get(operation, 0) for operation in "UDNX"),
    }


def _operations(db: Any) -> dict[str, int]:
    """Return how many keys come to each operation."""
    return dict(db.execute("select op, count(*) from classified group by op").fetchall())


def _count(db: Any, query: str) -> int:
    (count,) = db.execute(query).fetchone()
    return int(count)


def reading_failed(error: Exception) -> str:
    """Return what kind of error ended the reading: its text has lines of the file."""
    return end_of(error) or f"a file is not read by it ({type(error).__name__})"
