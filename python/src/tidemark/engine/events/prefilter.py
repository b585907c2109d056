"""Files of change events of many tables, opened once for all of them.

A line may wrap its envelope, as those of Kafka Connect and of `tidemark capture` do, together with
the schema of the table, which is ten times as long. What is kept of a file has the envelopes alone,
in the order of their tables, so that a table reads its own; what a line says of a schema is kept
once.

    lines » opened ──► a file of Parquet: num, db, schema, table, line, landed_id, known_doubt

What stands in a line that no table can be told of is for every table to judge.
"""

from __future__ import annotations

import gzip
import zlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tidemark.engine.events.lines import IS_NOT_BLANK
from tidemark.engine.events.load import Landed
from tidemark.engine.events.parsed import SPARK_ALONE, has_one_twice_sql, is_unsafe_sql
from tidemark.engine.header import stamp_of
from tidemark.engine.quoted import list_sql, literal
from tidemark.engine.room import Room, connection
from tidemark.engine.task import reading_failed

_CHUNK = 1 << 24
_MARK = b"\xef\xbb\xbf"
# what may stand around an envelope, beside it
_WRAPPERS = ("topic", "key", "value", "partition", "offset", "timestamp", "_id", "_seq", "_ord")
_TABLE = ("db", "schema", "table")
# rows of a group of the file: a table reads those that have some of its own
_GROUP = 2048


@dataclass(frozen=True)
class Shape:
    """Events of one table with one schema.

    Args:
        db: The database, as JSON; None: not told.
        schema: The schema, as JSON.
        table: The table, as JSON; None: that no table is told.
        schema_text: What the lines tell of the columns, as JSON; None: nothing.
        first: The number of the first line.
        rows: How many lines.
    """

    db: str | None
    schema: str | None
    table: str | None
    schema_text: str | None
    first: int
    rows: int


@dataclass(frozen=True)
class Prefiltered:
    """What became of a file.

    Args:
        declined: Why the engine does not answer for it; None: it does.
        path: The file of what was kept of it.
        lines: How many lines it has that are not blank.
        shapes: What events there are.
    """

    declined: str | None = None
    path: str = ""
    lines: int = 0
    shapes: tuple[Shape, ...] = ()


def prefilter(landed: Landed, path: str, room: Room) -> Prefiltered:
    """Write what is kept of a file.

    Args:
        landed: The file.
        path: Where that is written.
        room: What may be taken.
    """
    import duckdb

    with connection(room) as db:
        try:
            declined = _read(db, landed.path, room.threads)
        except (duckdb.Error, OSError, EOFError, zlib.error) as error:
            return Prefiltered(declined=reading_failed(error))
        if declined:
            return Prefiltered(declined=declined)
        if stamp_of(landed.path) != landed.stamp:
            return Prefiltered(declined="a file was written while it was read")
        order = 'order by "table" nulls first, schema, db, num'
        db.execute(
            f"copy (select * exclude (is_kept, schema_id) from opened where is_kept {order}) "
            f"to {literal(path)} (format parquet, row_group_size {_GROUP})"
        )
        (lines,) = db.execute("select count(*) from opened").fetchone()
        shapes = db.execute(
            'select db, schema, "table", any_value(schemas.text), min(num), count(*) '
            "from opened left join (select distinct schema_id, text from schemas) as schemas "
            "using (schema_id) where is_kept "
            'group by db, schema, "table", schema_id order by min(num)'
        ).fetchall()
        return Prefiltered(path=path, lines=lines, shapes=tuple(Shape(*shape) for shape in shapes))


def _read(db: Any, path: str, threads: int) -> str | None:
    """Make the tables `opened` and `schemas`; return why the engine does not answer for a line."""
    db.execute(
        'create table opened (num bigint, db varchar, schema varchar, "table" varchar, '
        " line varchar, landed_id varchar, known_doubt varchar, schema_id varchar, "
        "is_kept boolean)"
    )
    db.execute("create table schemas (schema_id varchar, text varchar)")
    count = 0
    with ThreadPoolExecutor(threads) as cores:
        under_way: deque[Future[None]] = deque()
        for text, found in _lines_of(path):
            if not found:
                return text
            under_way.append(cores.submit(_open, db, text, count, found))
            count += found
            # what a file has more waits: a core each is enough in memory
            if len(under_way) > threads:
                under_way.popleft().result()
        for one in under_way:
            one.result()
    return None


def _open(db: Any, text: str, count: int, found: int) -> None:
    """Add some lines to the tables `opened` and `schemas`; `count` came before them."""
    with db.cursor() as own:
        own.execute(
            "create temp table lines as select unnest(range(?::bigint, ?::bigint)) as num, "
            "unnest(string_split(?::varchar, chr(10))) as line",
            [count + 1, count + 1 + found, text],
        )
        own.execute(f"create temp table piece as {_opened_sql()}")
        own.execute("insert into opened by name select * exclude (schema_text) from piece")
        own.execute(
            "insert into schemas select distinct on (schema_id) schema_id, schema_text "
            "from piece where is_kept and schema_id is not null"
        )


def _lines_of(path: str) -> Iterator[tuple[str, int]]:
    """Yield some lines in turn, and how many; if none, why readers may see others."""
    rest, is_first = b"", True
    opened = gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")
    with opened as file:
        while chunk := file.read(_CHUNK):
            if is_first and chunk.startswith(_MARK):
                yield "a file begins with a byte order mark", 0
                return
            is_first = False
            if b"\r" in chunk or b"\x00" in chunk:
                yield "a file has carriage returns, or NUL", 0
                return
            whole, end, rest = (rest + chunk).rpartition(b"\n")
            if len(rest) > _CHUNK:
                yield SPARK_ALONE, 0
                return
            if end:
                yield _decoded(whole)
    if rest:
        yield _decoded(rest)


def _decoded(text: bytes) -> tuple[str, int]:
    try:
        return text.decode(), text.count(b"\n") + 1
    except UnicodeDecodeError:
        return SPARK_ALONE, 0


def _opened_sql() -> str:
    """Return a query of the lines that are not blank, with the envelopes that they wrap.

    Its columns are those of the table `opened` and `schema_text`.
    """
    wrappers, plain = list_sql(_WRAPPERS), list_sql(("schema", "payload"))
    members = "['$.op', '$.status', '$.ts_ms', '$.source.db', '$.source.schema', '$.source.table']"
    values = ", ".join(
        f"nullif(cast(members[{place}] as varchar), 'null') as {name}"
        for place, name in ((1, "op"), (2, "status"), (3, "ts_ms"))
    )
    of_table = ", ".join(
        f"nullif(cast(members[{place}] as varchar), 'null') as \"{name}\""
        for place, name in enumerate(_TABLE, 4)
    )
    # markers of transactions, messages of applications, heartbeats, and what goes after a delete
    is_ignored = (
        "line = 'null' and (form in ('value', 'value.payload') or trim(whole, ' ') = 'null') "
        "or op = '\"m\"' or op is null and (starts_with(status, '\"') "
        "or names[1] = ['ts_ms'] and ts_ms is not null)"
    )
    # in a case, each condition is judged where those before it do not hold, else everywhere
    return f"""select
    num, db, schema, if("table" is null or op is null or is_odd, null, "table") as "table",
    line, json_extract_string(landed_id, '$') as landed_id,
    if(is_odd or not is_plain, {literal(SPARK_ALONE)}, null) as known_doubt,
    md5(schema_text) as schema_id,
    is_odd or not coalesce({is_ignored}, false) as is_kept,
    schema_text
from (
    select
        *, {values}, {of_table},
        case when {is_unsafe_sql("bare")}
            or {has_one_twice_sql("top_names")}
            or coalesce({has_one_twice_sql("value_names")}, false)
            or coalesce({has_one_twice_sql("names[1]")}, false)
            or coalesce({has_one_twice_sql("names[2]")}, false)
            or form = 'value.payload' and not list_has_all({plain}, value_names)
            or form = 'payload' and not list_has_all({plain}, top_names)
            or starts_with(form, 'value') and not list_has_all({wrappers}, top_names)
            or coalesce(not starts_with(landed_id, '"'), false)
            or coalesce(not starts_with(schema_text, '{{'), false)
            then true else false end as is_odd
    from (
        select
            num, whole, form, line, landed_id, schema_text, top_names, value_names, is_plain,
            json_extract(line, {members}) as members,
            json_keys(line, ['$', '$.source']) as names,
            case
                when schema_text is null then whole
                when contains(whole, schema_text) then replace(whole, schema_text, '')
                else replace(replace(whole, ' ', ''), replace(schema_text, ' ', ''), '')
            end as bare
        from (
            select
                *,
                cast(case form
                    when 'value.payload' then parts[1] when 'value' then parts[2]
                    when 'payload' then parts[3] else json(whole)
                end as varchar) as line,
                nullif(cast(parts[4] as varchar), 'null') as landed_id,
                nullif(cast(case form
                    when 'value.payload' then parts[5] when 'payload' then parts[6]
                end as varchar), 'null') as schema_text
            from (
                select
                    num, whole, top_names, value_names, is_plain,
                    json_extract(whole, ['$.value.payload', '$.value', '$.payload', '$._id',
                        '$.value.schema', '$.schema']) as parts,
                    case
                        when list_contains(top_names, 'value')
                            then if(list_contains(value_names, 'payload'), 'value.payload', 'value')
                        when list_contains(top_names, 'payload') then 'payload'
                        else ''
                    end as form
                from (
                    select
                        num, whole, names[1] as top_names, names[2] as value_names,
                        case
                            when cast(json(whole) as varchar) = whole then true
                            else replace(cast(json(whole) as varchar), ' ', '')
                                = replace(whole, ' ', '')
                        end as is_plain
                    from (
                        select num, line as whole, json_keys(line, ['$', '$.value']) as names
                        from lines
                        where {IS_NOT_BLANK}
                    )
                )
            )
        )
    )
)"""
