"""A task of a session of DuckDB: one composed query, whose views are text and files.

    files, views ─► query ─► rows that are answered | a file that is kept | files of a table

No state is left in the worker. Nothing that is written is seen before a commit names it. Whatever
goes wrong declines: the same query is Spark's then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from tidemark.engine.files import FILE_PREFIX, Written, discard
from tidemark.engine.load import Load, Target
from tidemark.engine.pages import broken_file
from tidemark.engine.quoted import end_of, end_with_reason, identifier, list_sql, literal
from tidemark.engine.ranges import part_of, write_part
from tidemark.engine.room import Room, connection
from tidemark.engine.types import kind_of, known_years_sql, negative_zero_sql
from tidemark.sessions.declined import Declined

_REASON_ERRORS = ("BinderException", "CatalogException", "ParserException")
"""Errors whose texts have names and none of the values."""
_WHOLE = re.compile(r"\b(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)\b")
_KINDS = (
    ("rows_inserted", "I"),
    ("rows_updated", "U"),
    ("rows_deleted", "D"),
    ("rows_unchanged", "N"),
)
FILE = "_tidemark_file"
"""What the path of a row's file is called, where that is asked for."""


@dataclass(frozen=True)
class Stored:
    """A column of files.

    Args:
        name: Its name.
        field: What files call it.
        type: Its type in DuckDB.
    """

    name: str
    field: str
    type: str


@dataclass(frozen=True)
class Files:
    """Rows that lie in Parquet files.

    Args:
        paths: The files.
        columns: The columns.
        partitions: Path to the values that its rows have of some columns, which it lacks.
        unproven: Those of the files whose pages are still to be compared with their checksums.
    """

    paths: tuple[str, ...]
    columns: tuple[Stored, ...]
    partitions: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    unproven: tuple[str, ...] = ()


def staged_columns(load: Load) -> tuple[Stored, ...]:
    """Return the columns of staged_rows_sql(), as the file has them that keep_extract() wrote."""
    names = {"_key_hash": "kh", "_row_hash": "rh"}
    names |= {"_reject_reason": "reason", "_raw_payload": "raw"}
    return (
        *(
            Stored(column.name, f"c{number}", kind_of(column.type).duck)
            for number, column in enumerate(load.columns)
        ),
        *(Stored(name, field, "VARCHAR") for name, field in names.items()),
    )


Views = tuple[tuple[str, str | Files], ...]
"""Names and what they are, in an order in which each sees those that it is made of."""
Columns = tuple[tuple[str, str], ...]
"""Names and types in DuckDB."""


@dataclass(frozen=True)
class Answer:
    """What became of a query.

    Args:
        declined: Why DuckDB has no answer; None: it has.
        names: The names of the columns of its rows.
        rows: Its rows.
        path: The file that has them.
        columns: The names and types of its columns.
        figures: What was counted.
        files: Files for a table.
        replaced: The files that they take the place of; None: of all.
    """

    declined: str | None = None
    names: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    path: str | None = None
    columns: Columns = ()
    figures: Mapping[str, int] = field(default_factory=dict)
    files: tuple[tuple[str, Written], ...] = ()
    replaced: tuple[str, ...] | None = None


def answer(views: Views, sql: str, most: int, room: Room) -> Answer:
    """Return the rows of a query; more than `most` decline."""

    return _attempt(views, room, lambda db: _asked(db, sql, most))


def _asked(db: Any, sql: str, most: int) -> Answer:
    found = db.execute(sql)
    names = tuple(one[0] for one in found.description)
    rows = tuple(found.fetchmany(most + 1))
    if len(rows) > most:
        raise Declined(f"more than {most} rows")
    if any(isinstance(value, dict | list | bytes) for row in rows for value in row):
        raise Declined("rows with nested values")
    return Answer(names=names, rows=rows)


def keep(
    views: Views,
    sql: str,
    folder: str,
    room: Room,
    name: str = "kept",
    asked: tuple[str, int] | None = None,
) -> Answer:
    """Keep the rows of a query in a file of a folder.

    Args:
        views: What is there.
        sql: The query.
        folder: The folder.
        room: What may be taken.
        name: What `asked` calls the rows.
        asked: A query whose rows are returned, too, and the most that there may be.
    """

    def work(db: Any) -> Answer:
        Path(folder).mkdir(exist_ok=True)
        path = Path(folder) / f"{FILE_PREFIX}{uuid4()}.parquet"
        # a sum is of 128 bits, which no file has
        columns = tuple(
            (name, "BIGINT" if kind == "HUGEINT" else kind)
            for name, kind in _columns_of(db, sql).items()
            if name != FILE
        )
        rows = _typed_sql(db, sql, columns)
        if asked:
            db.execute(f"create temp table {identifier(name)} as {rows}")
            rows = f"from {identifier(name)}"
        found = _asked(db, *asked) if asked else Answer()
        try:
            db.execute(_copy_sql(rows, path, columns, []))
        except Exception:
            path.unlink(missing_ok=True)
            raise
        return replace(found, path=str(path), columns=columns)

    return _attempt(views, room, work)


@dataclass(frozen=True)
class Wanted:
    """A table that files are written for.

    Args:
        target: Its folder, what files call its columns, the files that it has.
        columns: All of its columns, with their types, in their order.
        required: Those that have no NULL.
        partition: The columns that are in the names of folders: none or one.
        bounded: Those whose least and greatest values are told.
        keeps_partition: Whether files have that column too.
    """

    target: Target
    columns: Columns
    required: tuple[str, ...]
    partition: tuple[str, ...]
    bounded: tuple[str, ...]
    keeps_partition: bool = False


def stage(
    views: Views,
    sql: str,
    counted: str,
    figures_sql: str,
    written_sql: str,
    wanted: Wanted,
    room: Room,
) -> Answer:
    """Write rows as files of a table, and count on the way.

    Args:
        views: What is there.
        sql: The rows to count.
        counted: What the other two queries call them.
        figures_sql: What is counted over them: one row of numbers.
        written_sql: What is written of them, by the columns' names.
        wanted: The table.
        room: What may be taken.
    """

    def work(db: Any) -> Answer:
        db.execute(f"create temp table {identifier(counted)} as {sql}")
        found = db.execute(figures_sql)
        names = [one[0] for one in found.description]
        counts = {
            name: int(value or 0) for name, value in zip(names, found.fetchone(), strict=True)
        }
        return Answer(figures=counts, files=_write(db, written_sql, wanted))

    return _attempt(views, room, work)


def append(views: Views, sql: str, wanted: Wanted, room: Room) -> Answer:
    """Write rows as files of a table."""
    return _attempt(views, room, lambda db: Answer(files=_write(db, sql, wanted)))


def revise(
    views: Views,
    slice_: str,
    log: str,
    match: Sequence[str],
    commit_id: int,
    wanted: Wanted,
    room: Room,
) -> Answer:
    """Write the rows of a slice as files of the log, and anew the files that have rows it marks.

    Args:
        views: What is there.
        slice_: The view of the rows to append and, with `_supersedes`, of those to mark.
        log: The view of the log, with FILE.
        match: What a row of the log and its mark have in common, beside the commit.
        commit_id: The commit.
        wanted: The log.
        room: What may be taken.
    """

    def work(db: Any) -> Answer:
        same = " and ".join(
            f"log.{identifier(name)} is not distinct from marks.{identifier(name)}"
            for name in match
        )
        marked = f"log._commit_id = marks._supersedes and {same}"
        db.execute(f"create temp table slice_rows as from {slice_}")
        db.execute(
            "create temp table marks as from slice_rows where _supersedes is not null;"
            f"create temp table marked_files as select distinct {FILE} as file "
            f"from {log} as log semi join marks on {marked}"
        )
        names = [name for name, _ in wanted.columns]
        had = _columns_of(db, "from slice_rows")
        own = {"_commit_id": str(commit_id)}
        came = ", ".join(
            own.get(name, identifier(name) if name in had else "null") + f" as {identifier(name)}"
            for name in names
        )
        mark = f"if(marks._supersedes is null, log._superseded_by, {commit_id})"
        stood = ", ".join(
            (mark if name == "_superseded_by" else f"log.{identifier(name)}")
            + f" as {identifier(name)}"
            for name in names
        )
        rows = (
            f"select {came} from slice_rows where _supersedes is null union all by name "
            f"select {stood} from {log} as log "
            f"left join marks on {marked} where log.{FILE} in (select file from marked_files)"
        )
        replaced = tuple(file for (file,) in db.execute("from marked_files").fetchall())
        files = _write(db, rows, wanted)
        of = {
            "rows_logged": f"_commit_id = {commit_id}",
            "rows_superseded": f"_superseded_by = {commit_id}",
            **{name: f"_commit_id = {commit_id} and _operation = '{one}'" for name, one in _KINDS},
        }
        counted = ", ".join(f"count(*) filter (where {one})" for one in of.values())
        counts = db.execute(f"select {counted} from written").fetchone()
        figures = dict(zip(of, counts, strict=True))
        return Answer(figures=figures, files=files, replaced=replaced)

    return _attempt(views, room, work)


def follow(
    views: Views,
    touched: str | None,
    stored: Files,
    name: str,
    sql: str,
    wanted: Wanted,
    room: Room,
) -> Answer:
    """Write the part of current anew that has some keys.

    Args:
        views: What is there.
        touched: A query of the keys, `_key_hash`; None: it is all of them.
        stored: Current as it is.
        name: What the query calls the rows that the part has.
        sql: The rows that take their place.
        wanted: Current.
        room: What may be taken.
    """

    def work(db: Any) -> Answer:
        keys = f"select _key_hash as kh from ({touched})" if touched else None
        added = 0
        if keys:
            db.execute(f"create temp table touched_keys as {keys}")
            keys = "select kh from touched_keys"
            (added,) = db.execute("select count(*) from touched_keys").fetchone()
        part = part_of(db, wanted.target, keys)
        paths = wanted.target.files if part.replaced is None else part.table.files
        _check_pages(db, [path for path in paths if path in stored.unproven])
        db.execute(_view_sql(db, name, Files(paths, stored.columns)))
        db.execute(f"create temp table followed as {_typed_sql(db, sql, wanted.columns)}")
        _check_rows(db, "followed", wanted)
        # write_part() makes 0.0 of -0.0: its dictionaries do not tell them apart
        zeros = (
            negative_zero_sql(identifier(name))
            for name, kind in wanted.columns
            if kind in ("FLOAT", "DOUBLE")
        )
        _check_none(db, "followed", zeros, "a -0.0")
        stored_as = wanted.target.fields
        names = ", ".join(
            f"{identifier(one)} as {identifier(stored_as[one][0])}" for one, _ in wanted.columns
        )
        order = [one for one, _ in wanted.columns]
        files = write_part(db, f"select {names} from followed", part, order, added)
        return Answer(files=tuple(("", one) for one in files), replaced=part.replaced)

    return _attempt(views, room, work)


def _attempt(views: Views, room: Room, work: Callable[[Any], Answer]) -> Answer:
    import duckdb

    try:
        with connection(room) as db:
            # DuckDB 1.5 fails by it where a join is below the window (an internal error)
            db.execute("set disabled_optimizers = 'top_n_window_elimination'")
            for name, of in views:
                if isinstance(of, Files):
                    _check_pages(db, of.unproven)
                db.execute(_view_sql(db, name, of))
            return work(db)
    except Declined as error:
        return Answer(declined=str(error))
    except duckdb.Error as error:
        return Answer(declined=_why_of(error))


def _check_pages(db: Any, paths: Sequence[str]) -> None:
    if broken_file(db, paths):
        raise Declined("a page of a file is not as it was written")


def _why_of(error: Exception) -> str:
    """Return what ended a query, without a value of a row."""
    kind, text = type(error).__name__, str(error).strip()
    if why := end_of(error):
        return why
    return f"{kind}: {text.splitlines()[0]}" if kind in _REASON_ERRORS else kind


def _view_sql(db: Any, name: str, of: str | Files) -> str:
    if isinstance(of, str):
        return f"create temp view {identifier(name)} as {of}"
    return f"create temp view {identifier(name)} as {files_sql(db, of)}"


def files_sql(db: Any, of: Files) -> str:
    """Return a query of the rows of files, by the names and types that the table has."""
    if not of.paths:
        nothing = ", ".join(
            f"cast(null as {one.type}) as {identifier(one.name)}" for one in of.columns
        )
        return f"select {nothing}, null::varchar as {FILE} where false"
    paths = list_sql(of.paths)
    there = {
        str(name)
        for (name,) in db.execute(f"select distinct name from parquet_schema({paths})").fetchall()
    }
    parted = sorted({name for values in of.partitions.values() for name in values})

    def value(one: Stored) -> str:
        if one.name in parted:
            return f"parts.{identifier(one.name)}"
        return f"files.{identifier(one.field)}" if one.field in there else "null"

    columns = ", ".join(
        f"cast({value(one)} as {one.type}) as {identifier(one.name)}" for one in of.columns
    )
    read = (
        f"read_parquet({paths}, union_by_name = true, hive_partitioning = false, "
        f"filename = '{FILE}')"
    )
    sql = f"select {columns}, files.{FILE} from {read} as files"
    if not parted:
        return sql
    rows = ", ".join(
        "(" + ", ".join([literal(path), *[_or_null(values.get(name)) for name in parted]]) + ")"
        for path, values in of.partitions.items()
    )
    names = ", ".join(identifier(name) for name in parted)
    return f"{sql} join (values {rows}) as parts(path, {names}) on files.{FILE} = parts.path"


def _or_null(text: str | None) -> str:
    return "null" if text is None else literal(text)


def _columns_of(db: Any, sql: str) -> dict[str, str]:
    found = db.execute(f"describe {sql}").fetchall()
    return {str(name): str(kind) for name, kind, *_ in found}


def _typed_sql(db: Any, sql: str, columns: Columns) -> str:
    """Return a query of rows by the names and types that are wanted, which what it lacks has too.

    A type that is another one ends it: what Spark would make of that value is not known.
    """
    found = _columns_of(db, sql)
    lower = {name.lower(): name for name in found}
    typed = []
    for name, wanted in columns:
        kind = wanted
        if "(" in kind or "[" in kind:
            # as DuckDB itself writes it
            (kind,) = db.execute(f"select typeof(cast(null as {wanted}))").fetchone()
        source = lower.get(name.lower())
        value = "null" if source is None else identifier(source)
        has = kind if source is None else found[source]
        if _WHOLE.sub("whole", has) != _WHOLE.sub("whole", kind):
            # DuckDB knows no type of a column of NULLs alone
            what = f"error({literal(end_with_reason('a value of another type'))})"
            value = f"case when {value} is not null then {what} end"
        typed.append(f"cast({value} as {kind}) as {identifier(name)}")
    return f"select {', '.join(typed)} from ({sql})"


def _copy_sql(
    sql: str, path: Path, columns: Columns, fields: Iterable[tuple[str, int | str | None]]
) -> str:
    # a dictionary does not tell -0.0 from 0.0
    floats = any(re.search(r"FLOAT|DOUBLE", kind) for _, kind in columns)
    numbers = ", ".join(f"{identifier(name)}: {n}" for name, n in fields if n is not None)
    numbered = f", field_ids {{{numbers}}}" if numbers else ""
    limit = 0 if floats else 10_000
    return (
        f"copy ({sql}) to {literal(str(path))} (format parquet, compression snappy, "
        f"dictionary_size_limit {limit}{numbered})"
    )


def _check_none(db: Any, table: str, conditions: Iterable[str], what: str) -> None:
    """Decline where a row of a table meets one of some conditions."""
    odd = " or ".join(conditions)
    if odd and db.execute(f"select 1 from {table} where {odd} limit 1").fetchone():
        raise Declined(end_with_reason(what))


def _check_rows(db: Any, table: str, wanted: Wanted) -> None:
    """Decline rows that a table does not take, or that not all readers of files read alike."""
    missing = (f"{identifier(name)} is null" for name in wanted.required)
    _check_none(db, table, missing, "a NULL in a column that is required")
    # before 1600 calendars differ, and behind 9999 texts do
    odd = (
        f"not ({known_years_sql(identifier(name), _TIMES[kind])})"
        for name, kind in wanted.columns
        if kind in _TIMES
    )
    _check_none(db, table, odd, "a date before 1600 or behind 9999")


_TIMES = {kind_of(name).duck: name for name in ("date", "timestamp", "timestamp_ntz")}


def _write(db: Any, sql: str, wanted: Wanted) -> tuple[tuple[str, Written], ...]:
    """Write rows as files of a table, one for each partition; return each with its value."""
    db.execute(f"create temp table written as {_typed_sql(db, sql, wanted.columns)}")
    _check_rows(db, "written", wanted)
    parts: list[tuple[str, str]] = [("", "")]
    if wanted.partition:
        (name,) = wanted.partition
        values = db.execute(
            f"select distinct cast({identifier(name)} as varchar) from written order by 1"
        ).fetchall()
        if not all(re.fullmatch(r"[\w-]+", value or "") for (value,) in values):
            raise Declined("a partition whose folder would not be called as its value")
        parts = [
            (str(value), f" where {identifier(name)} = {literal(str(value))}")
            for (value,) in values
        ]
    written: list[tuple[str, Written]] = []
    try:
        for value, where in parts:
            if file := _write_file(db, wanted, value, where):
                written.append((value, file))
    except Exception:
        discard(wanted.target, [file for _, file in written])
        raise
    return tuple(written)


def _write_file(db: Any, wanted: Wanted, value: str, where: str) -> Written | None:
    target = wanted.target
    left_out = () if wanted.keeps_partition else wanted.partition
    stored = [(name, kind) for name, kind in wanted.columns if name not in left_out]
    bounds = ", ".join(
        f"count({identifier(name)}), min({identifier(name)}), max({identifier(name)})"
        for name in wanted.bounded
    )
    rows, *bounded = db.execute(f"select count(*), {bounds} from written{where}").fetchone()
    if not rows:
        return None
    folder = f"{wanted.partition[0]}={value}" if wanted.partition else ""
    path = f"{folder}/{FILE_PREFIX}{uuid4()}.parquet".lstrip("/")
    file = Path(target.folder) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    names = ", ".join(
        f"{identifier(name)} as {identifier(target.fields[name][0])}" for name, _ in stored
    )
    try:
        fields = [target.fields[name] for name, _ in stored]
        db.execute(_copy_sql(f"select {names} from written{where}", file, tuple(stored), fields))
    except Exception:
        file.unlink(missing_ok=True)
        raise
    statistics: dict[str, Any] = {
        "numRecords": rows,
        "minValues": {},
        "maxValues": {},
        "nullCount": {},
    }
    for place, name in enumerate(wanted.bounded):
        there, least, greatest = bounded[3 * place : 3 * place + 3]
        stored_as = target.fields[name][0]
        statistics["nullCount"][stored_as] = rows - there
        if there:
            statistics["minValues"][stored_as] = least
            statistics["maxValues"][stored_as] = greatest
    return Written(path, file.stat().st_size, rows, statistics)
