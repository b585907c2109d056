"""One batch of change events in a worker: read, replayed, written; no commit names the files."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from tidemark.engine.events.canonical import parsed_canonical_sql, shapes_of, shapes_sql
from tidemark.engine.events.decoded import Asked, decoded_columns, decoded_sql
from tidemark.engine.events.lines import drop_lines, read_lines, read_prefiltered
from tidemark.engine.events.load import Batch, EventTargets, LogFile
from tidemark.engine.events.parsed import is_ours_sql, names_sql, parsed_sql, usual_names
from tidemark.engine.events.replayed import replayed_sql
from tidemark.engine.events.staged import (
    MOVED,
    again_sql,
    carried_sql,
    continued_sql,
    has_pairs_sql,
    is_partial_move_sql,
    is_tied_sql,
    known_sql,
    paired_sql,
    possible_sql,
    staged_sql,
    tables_sql,
)
from tidemark.engine.events.written import (
    LOGGED,
    PARTIAL,
    SHOWN,
    current_sql,
    latest_sql,
    log_sql,
    staged_names,
    staging_sql,
)
from tidemark.engine.files import FILE_PREFIX, Written, copy, discard
from tidemark.engine.header import stamp_of
from tidemark.engine.load import Target
from tidemark.engine.pages import broken_file
from tidemark.engine.quoted import identifier, literal
from tidemark.engine.ranges import part_of, write_part
from tidemark.engine.room import Room, connection
from tidemark.engine.sql import existing_sql, parquet_sql, unwritable_sql
from tidemark.engine.task import Outcome, reading_failed
from tidemark.shapes.events import HAS_DDL

# what kinds of lines there are is told by the first ones, as a rule
_FIRST_LINES = 20_000


def replay(batch: Batch, targets: EventTargets, known: tuple[LogFile, ...], room: Room) -> Outcome:
    """Replay a batch onto current and write what its tables get.

    Args:
        batch: The batch.
        targets: The tables.
        known: The files of the log.
        room: What may be taken.
    """
    with connection(room) as db:
        declined = _stage(db, batch)
        if declined:
            return Outcome(declined=declined)
        old = _possible(db, batch, known)
        if broken_file(db, old):
            return Outcome(declined="a page of a file of the log is not as it was written")
        figures = _use(db, batch, targets.log, old)
        declined = _why_not(db, batch, targets.log, known)
        if declined:
            return Outcome(declined=declined)
        return replace(_write(db, batch, targets, figures), of_table=max(_tables(db), default=""))


def keep(batch: Batch, folder: str, room: Room) -> Outcome:
    """Stage the first batch of an entity, which has no tables yet, in a file of a folder."""
    with connection(room) as db:
        declined = _stage(db, batch)
        if declined:
            return Outcome(declined=declined)
        figures = _use(db, batch, None, [])
        declined = _why_not(db, batch, None, ())
        if declined:
            return Outcome(declined=declined)
        Path(folder).mkdir(exist_ok=True)
        kept = str(Path(folder) / f"{FILE_PREFIX}{uuid4()}.parquet")
        try:
            db.execute(f"copy usable to {literal(kept)} (format parquet, parquet_version v2)")
        except Exception:
            Path(kept).unlink(missing_ok=True)
            raise
        return Outcome(figures=figures, kept=kept, of_table=max(_tables(db), default=""))


def write_kept(batch: Batch, kept: str, targets: EventTargets, room: Room) -> Outcome:
    """Replay the events that keep() kept, and write the files of the tables."""
    with connection(room) as db:
        db.execute(f"create temp view usable as from {parquet_sql([kept])}")
        return _write(db, batch, targets, {})


def read(batch: Batch, asked: Asked, folder: str, room: Room) -> Outcome:
    """Keep the events of a batch in a file of a folder, typed, for the macros to stage."""
    with connection(room) as db:
        declined = _attempted(db, batch, lambda: _decoded(db, batch, asked))
        if declined:
            return Outcome(declined=declined)
        (count, whole, tables) = db.execute(
            f"select count(*), coalesce(bool_or({'false' if batch.is_canonical else 'is_whole'}), "
            "false), (select list(distinct concat_ws('.', _database, _table)) from decoded) "
            "from parsed where is_ours and op is not null"
        ).fetchone()
        read_lines = _lines_of(db, batch)
        if not _is_of(batch.named, tables or []) or len(tables or []) > 1:
            return Outcome(declined="its events are of several tables")
        Path(folder).mkdir(exist_ok=True)
        kept = str(Path(folder) / f"{FILE_PREFIX}{uuid4()}.parquet")
        names = ", ".join(identifier(name) for name, _ in decoded_columns(batch, asked))
        try:
            db.execute(
                f"copy (select {names} from decoded) to {literal(kept)} "
                "(format parquet, dictionary_size_limit 0)"
            )
        except Exception:
            Path(kept).unlink(missing_ok=True)
            raise
        figures = {
            "rows_read": read_lines,
            "rows_ignored": read_lines - count,
            "has_whole_rows": int(whole),
        }
        return Outcome(figures=figures, kept=kept, of_table=max(tables or [], default=""))


def _decoded(db: Any, batch: Batch, asked: Asked) -> str | None:
    """Make the table `decoded` of `parsed`; return why the engine does not answer for it."""
    db.execute(f"create temp table decoded as {decoded_sql(batch, asked)}")
    return _unproven(db, batch, "decoded")


def _unproven(db: Any, batch: Batch, table: str) -> str | None:
    (column,) = db.execute(f"select min(unproven) from {table}").fetchone()
    if column is None:
        return None
    if column == -2:
        return "the place of an event in its source is told by Spark alone"
    name = "_event_time" if column < 0 else batch.load.columns[column].name
    return f"column {name} has a value that is a reject, or of a form that is read by Spark alone"


def _stage(db: Any, batch: Batch) -> str | None:
    """Make the table `staged` of the events; return why the engine does not answer for them."""
    return _attempted(db, batch, lambda: _staged(db, batch))


def _attempted(db: Any, batch: Batch, work: Callable[[], str | None]) -> str | None:
    """Make the table `parsed` and have it worked on; return why the engine does not."""
    import duckdb

    try:
        return _parsed(db, batch) or work()
    except (duckdb.Error, OSError, EOFError, zlib.error) as error:
        return reading_failed(error)


def _parsed(db: Any, batch: Batch) -> str | None:
    if batch.prefiltered:
        opened = [file for file in batch.prefiltered if batch.reaches(file.number)]
        read_prefiltered(db, opened, is_ours_sql(batch.tables))
    else:
        landed = [file for file in batch.landed if batch.reaches(file.number)]
        declined = read_lines(db, landed)
        if declined:
            return declined
    drop_lines(db, batch.after, batch.before, batch.left_out)
    if not batch.is_canonical:
        usual = usual_names(_lists(db, names_sql()))
        db.execute(f"create temp table parsed as {parsed_sql(batch, usual)}")
    elif not _parse_canonical(db, batch):
        return "its lines have too many kinds of members"
    stamps = tuple(stamp_of(file.path) for file in batch.landed)
    if stamps != batch.load.stamps and not batch.prefiltered:
        return "a file was written while it was read"
    db.execute("drop table lines")
    # of what comes behind a DDL event is judged otherwise once that is applied
    (doubt, has_ddl) = db.execute(
        f"select min(doubt), bool_or(doubt = {literal(HAS_DDL)}) from parsed"
    ).fetchone()
    return HAS_DDL if has_ddl else doubt


def _staged(db: Any, batch: Batch) -> str | None:
    db.execute(f"create temp table staged as {staged_sql(batch)}")
    if declined := _unproven(db, batch, "staged"):
        return declined
    if len(_tables(db)) > 1 or not _is_of(batch.named, _tables(db)):
        return "its events are of several tables"
    if not batch.is_canonical and db.execute(has_pairs_sql()).fetchone():
        db.execute(f"create temp table paired as {paired_sql(batch)}")
        db.execute("drop table staged")
        db.execute("alter table paired rename to staged")
    return None


def _tables(db: Any) -> list[str]:
    return [str(name) for (name,) in db.execute(tables_sql()).fetchall()]


def _is_of(named: Sequence[str], tables: Sequence[str]) -> bool:
    """Say whether tables are those that are named; either may leave out the database."""
    known = [f".{name}" for name in named]
    wanted = [f".{table.lower()}" for table in tables if table]
    return not known or all(
        any(one.endswith(name) or name.endswith(one) for name in known) for one in wanted
    )


def _parse_canonical(db: Any, batch: Batch) -> bool:
    """Make the table `parsed` of the lines; say whether they are of so many kinds only."""
    shapes = shapes_of(batch, _lists(db, shapes_sql(_FIRST_LINES)))
    if shapes is None:
        return False
    db.execute(f"create temp table parsed as {parsed_canonical_sql(batch, shapes)}")
    doubtful = "from parsed where doubt is not null"
    if not _one(db, f"select exists({doubtful})"):
        return True
    # members that none of the first lines has
    db.execute(f"create temp table others as from lines semi join ({doubtful}) using (num)")
    db.execute("drop table lines")
    db.execute("alter table others rename to lines")
    shapes = shapes_of(batch, _lists(db, shapes_sql()))
    if shapes is None:
        return False
    db.execute(f"delete {doubtful}")
    db.execute(f"insert into parsed {parsed_canonical_sql(batch, shapes)}")
    return True


def _lists(db: Any, query: str) -> list[list[str]]:
    """Return what a query of one value gives in all its rows."""
    return [found for (found,) in db.execute(query).fetchall()]


def _one(db: Any, query: str) -> Any:
    """Return what a query of one value gives."""
    return db.execute(query).fetchone()[0]


def _why_not(db: Any, batch: Batch, log: Target | None, known: Sequence[LogFile]) -> str | None:
    """Return why the usable events need more than the rows that stand; None: they do not."""
    if _one(db, again_sql(batch)):
        return "a snapshot was read again"
    if batch.is_canonical:
        if _one(db, is_tied_sql()):
            return "two events have one _sequence_num"
        if _one(db, is_partial_move_sql()):
            return "an event that changes its key leaves out a column"
        last, first = _last_known(db, log, known), _one(db, "select min(num) from usable")
        if None not in (last, first) and first <= last:
            return "an event comes before one that the log has"
    if log is None or not batch.has_moves:
        return None
    files = [file.path for file in known]
    if files and _one(db, f"select coalesce(bool_or(op = 'd' or {MOVED}), false) from usable"):
        if broken_file(db, files):
            return "a page of a file of the log is not as it was written"
        if db.execute(continued_sql(parquet_sql(files), log)).fetchone():
            return "a transaction goes on in which a row has changed its key"
    return None


def _columns_of(db: Any, files: Sequence[str]) -> list[str]:
    """Return the names of the columns that some of the files have."""
    listed = ", ".join(literal(file) for file in files)
    found = db.execute(f"select distinct name from parquet_schema([{listed}])").fetchall()
    return [str(name) for (name,) in found]


def _possible(db: Any, batch: Batch, known: Sequence[LogFile]) -> list[str]:
    """Return the files of the log that may have an event of the batch, by its positions."""
    db.execute("create temp table bounded (path varchar, least varchar, greatest varchar, first bigint, last bigint)")  # fmt: skip  # noqa: E501
    if known:
        rows = ", ".join(
            f"({_literal_of(file.path)}, {_literal_of(file.least)}, {_literal_of(file.greatest)}, "
            f"{_literal_of(file.first)}, {_literal_of(file.last)})"
            for file in known
        )
        db.execute(f"insert into bounded values {rows}")
    found = db.execute(possible_sql(batch)).fetchall()
    return [str(path) for (path,) in found]


def _literal_of(value: str | int | None) -> str:
    return "null" if value is None else literal(str(value))


def _last_known(db: Any, log: Target | None, known: Sequence[LogFile]) -> int | None:
    """Return the greatest number of an event in the log; None: it has none."""
    numbers = [file.last for file in known if file.last is not None]
    untold = [file.path for file in known if file.last is None]
    if log is not None and untold:
        name = identifier(log.fields["_sequence_num"][0])
        numbers.append(_one(db, f"select max({name}) from {parquet_sql(untold)}"))
    return max((number for number in numbers if number is not None), default=None)


def _use(db: Any, batch: Batch, log: Target | None, old: Sequence[str]) -> dict[str, int]:
    """Make the view `usable` of the events that are not known yet; return the batch's figures."""
    if log is not None and old:
        query = known_sql(parquet_sql(old), _columns_of(db, old), log)
        db.execute(f"create temp table known as {query}")
        unknown = "from staged anti join known using (event_id)"
    else:
        unknown = "from staged"
    (count, distinct) = db.execute(
        "select count(*), count(distinct (grp, event_id)) from staged"
    ).fetchone()
    once = "" if count == distinct else "qualify row_number() over (partition by grp, event_id order by landing_num) = 1"  # fmt: skip  # noqa: E501
    db.execute(f"create temp table usable as select * {unknown} {once}")
    usable, first, last = db.execute("select count(*), min(num), max(num) from usable").fetchone()
    read = _lines_of(db, batch)
    whole = "select coalesce(bool_or(is_whole and is_ours), false) from parsed"
    return {
        "rows_read": read,
        "rows_ignored": read - count,
        "rows_duplicate": count - usable,
        "has_moves": int(_has_moves(db)),
        "has_whole_rows": int(not batch.is_canonical and _one(db, whole)),
        **({} if first is None else {"first_sequence_num": first, "last_sequence_num": last}),
    }


def _lines_of(db: Any, batch: Batch) -> int:
    read = sum(file.lines for file in batch.prefiltered) or _one(db, "select count(*) from parsed")
    return int(read)


def _has_moves(db: Any) -> bool:
    return bool(_one(db, f"select coalesce(bool_or({MOVED}), false) from usable"))


def _write(db: Any, batch: Batch, targets: EventTargets, figures: dict[str, int]) -> Outcome:
    """Replay, count, and write the files of the tables."""
    load, moves = batch.load, _has_moves(db)
    touched = "select kh from usable"
    if moves:
        touched += f" union select before_kh as kh from usable where {MOVED}"
    part = part_of(db, targets.current, touched)
    current = part.table
    if broken_file(db, current.files):
        return Outcome(declined="a page of a file of current is not as it was written")
    db.execute(f"create temp view existing as {_existing(db, batch, current)}")
    columns = ", ".join(f"c{number}" for number in range(len(load.columns)))
    there = " where operation <> 'D'" if load.soft_delete else ""
    db.execute(
        "create temp table base as select cast(-1 as bigint) as num, 'base' as source_op, "
        f"false as is_gone, kh, rh, {columns} from (from existing{there}) "
        f"semi join ({touched}) using (kh)"
    )
    carried = [name for (name,) in db.execute(carried_sql()).fetchall()] if batch.is_canonical else []  # fmt: skip  # noqa: E501
    db.execute(f"create temp table replayed as {replayed_sql(batch, moves, carried)}")
    unwritable = unwritable_sql(load, "replayed")
    if unwritable and db.execute(unwritable).fetchone():
        return Outcome(declined="current has a -0.0")
    counts = dict(db.execute("select op, count(*) from replayed group by op").fetchall())
    figures = {
        **figures,
        "rows_inserted": counts.get("I", 0),
        "rows_updated": counts.get("U", 0),
        "rows_deleted": counts.get("D", 0),
        "rows_unchanged": counts.get("N", 0),
        "rows_logged": sum(counts.values()),
    }
    names = [column.name for column in load.columns]
    partial = PARTIAL if carried else ()
    written: list[tuple[Target, tuple[Written, ...]]] = []
    try:
        staging = copy(
            db, staging_sql(batch, targets.staging, bool(carried)), targets.staging,
            f"_batch_id={batch.batch_id}", [*names, *staged_names(batch), *partial], {},
        )  # fmt: skip
        written.append((targets.staging, staging))
        bounds = {"_commit_id": (load.commit_id, load.commit_id), "_superseded_by": None}
        folder = f"_business_date={load.business_date}"
        query = log_sql(batch, targets.log, bool(carried))
        log = copy(db, query, targets.log, folder, [*names, *LOGGED, *partial], bounds)
        written.append((targets.log, log))
        kept = None
        if any(counts.get(operation) for operation in "IUD"):
            db.execute(f"create temp table latest as {latest_sql()}")
            query = current_sql(batch, current)
            kept = write_part(db, query, part, [*names, *SHOWN], counts.get("I", 0))
    except Exception:
        for target, files in written:
            discard(target, files)
        raise
    log = tuple(_with_positions(db, file, targets.log) for file in log)
    return Outcome(figures=figures, log=log, current=kept, replaced=part.replaced, supplied=staging)


def _with_positions(db: Any, file: Written, log: Target) -> Written:
    """Return a file of the log with what tells which positions it has."""
    least, greatest, first, last = db.execute(
        "select min(place), max(place), min(num), max(num) from replayed"
    ).fetchone()
    bounds = {"_offset": (least, greatest), "_sequence_num": (first, last)}
    statistics = {**file.statistics}
    for number, side in enumerate(("minValues", "maxValues")):
        bound = {log.fields[name][0]: of[number] for name, of in bounds.items() if of[number] is not None}  # fmt: skip  # noqa: E501
        statistics[side] = {**statistics[side], **bound}
    return replace(file, statistics=statistics)


def _existing(db: Any, batch: Batch, current: Target) -> str:
    """Return the query of current as it is; of a table without files one without rows."""
    number = ("num", "_sequence_num", "BIGINT")
    if current.files:
        names = _columns_of(db, current.files)
        return existing_sql(batch.load, current, names, [number])
    columns = ", ".join(f"c{number}" for number in range(len(batch.load.columns)))
    return (
        f"select {columns}, kh, rh, cast(null as varchar) as operation, "
        "cast(null as date) as since, num from usable where false"
    )
