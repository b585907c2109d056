"""One batch in a worker: lines are read and judged, files are written; no commit names them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from tidemark.engine.enriched.batch import Batch, Shelves, Shredded
from tidemark.engine.enriched.entities import Reader, Undecided, is_too_deep
from tidemark.engine.enriched.lines import count_lines
from tidemark.engine.enriched.sql import (
    carried_sql,
    claimed_sql,
    claims_sql,
    decided_sql,
    entities_sql,
    events_sql,
    fields_sql,
    keys_sql,
    line_sql,
    number_of,
    rejects_sql,
    texts_sql,
)
from tidemark.engine.files import FILE_PREFIX, Written
from tidemark.engine.header import stamp_of
from tidemark.engine.load import Target
from tidemark.engine.pages import broken_file
from tidemark.engine.quoted import literal
from tidemark.engine.room import Room, connection
from tidemark.shred.enriched import (
    COLUMNS,
    line_hash,
    read_line,
    read_values,
    synthetic_id,
    with_duplicate,
)

_EVENTS = (*COLUMNS, "_commit_id")
_ENTITIES = (
    "schema", "data", "hierarchy", "field", "position", "_commit_id", "vendor", "name", "model"
)  # fmt: skip
_PARTITIONS = ("vendor", "name", "model")
_REJECTS = ("_reject_reason", "_raw_payload", "_commit_id")
_REASONS = "select reason, count(*) from rejected group by 1 order by 2 desc, 1 limit 6"
_CLAIMS = ("event_id", "fingerprint", "etl_tstamp", "expires_at", "_commit_id")
_BOUNDED = (
    "app_id", "etl_tstamp", "collector_tstamp", "dvce_created_tstamp", "event", "event_id",
    "derived_tstamp", "event_name",
)  # fmt: skip
"""The columns of atomic events by whose bounds readers leave out files."""


def shred(batch: Batch, shelves: Shelves, room: Room) -> Shredded:
    """Read a batch, judge its lines, and write what its tables get.

    Args:
        batch: The batch.
        shelves: The tables.
        room: What may be taken.
    """
    import duckdb

    with connection(room) as db:
        scratch = Path(db.execute("select current_setting('temp_directory')").fetchone()[0])
        try:
            declined = _read(db, batch)
            if declined:
                return Shredded(declined=declined)
            _judge(db, batch, scratch)
        except Undecided as error:
            return Shredded(declined=f"a line has {error}")
        except duckdb.Error as error:
            return Shredded(declined=f"a file is not read by it ({type(error).__name__})")
        figures = _figures(db)
        # rounded as in rejects_too_many() of the macros
        if figures["rows_rejected"] > round(batch.most_rejects * figures["rows_read"], 6):
            return Shredded(declined="it has more lines that cannot be used than it may")
        manifest = shelves.manifest
        if manifest and broken_file(db, manifest.files):
            return Shredded(declined="a page of a file of the manifest is not as it was written")
        kinds = _decide(db, batch, manifest, figures, scratch)
        return _write(db, batch, shelves, figures, kinds)


def _read(db: Any, batch: Batch) -> str | None:
    """Make the table `texts` of all lines; a text: why they are not read here."""
    import duckdb

    with ThreadPoolExecutor(1) as beside:
        counted = beside.submit(count_lines, batch.files)
        try:
            db.execute(f"create table texts as {texts_sql(batch.files)}")
        except duckdb.Error:
            if isinstance(doubt := counted.result(), str):
                return doubt
            raise
    count = counted.result()
    if isinstance(count, str):
        return count
    (read,) = db.execute("select count(*) from texts").fetchone()
    stamps = [stamp_of(file) for file in batch.files]
    if [(size, written // 1_000_000) for size, written in stamps] != list(batch.stamps):
        return "a file was written while it was read"
    return None if read == count else "a file has not so many lines to every reader"


def _judge(db: Any, batch: Batch, scratch: Path) -> None:
    """Make the tables `keys`, `carried`, `entities`, `rejected` and `usable`.

    Raises:
        Undecided: It is not proven how Spark reads a line.
    """
    db.execute(f"create table carried as {carried_sql()}")
    # Python has one core to itself, which reads the entities; DuckDB goes on meanwhile
    with ThreadPoolExecutor(1) as beside, db.cursor() as own:
        keys = beside.submit(own.execute, f"create table keys as {keys_sql(batch)}")
        odd = _read_entities(db, Reader(batch.shortest_doubles), scratch)
        keys.result()
    columns = {"number": "bigint", "why": "varchar"}
    _table_of(db, "odd", columns, odd, scratch)
    db.execute(
        "create table broken as select distinct unnest(places) as place, why "
        "from odd inner join carried using (number)"
    )
    undecided = db.execute(
        "select min(why) from broken inner join keys using (place) where not doubt and why <> '-'"
    ).fetchone()[0]
    if undecided:
        raise Undecided(undecided)
    doubtful = db.cursor().execute(
        f"select keys.place, {line_sql()} from texts inner join keys on texts.rowid = keys.place "
        "where doubt or keys.place in (select place from broken)"
    )
    reasons = ((place, _reason(line)) for place, line in _rows(doubtful))
    _table_of(db, "rejected", {"place": "bigint", "reason": "varchar"}, reasons, scratch)
    db.execute("create table usable as select * from keys anti join rejected using (place)")


def _read_entities(db: Any, reader: Reader, scratch: Path) -> list[tuple[int, str]]:
    """Make the table `entities` of what is carried.

    Returns:
        The numbers of the texts that are no envelopes, with -, or with why that is not proven.
    """
    odd: list[tuple[int, str]] = []

    def entities() -> Iterator[bytes]:
        found = db.cursor().execute("select number, field, encode(text), is_plain from carried")
        for number, field, text, is_plain in _rows(found):
            try:
                read = reader.read(field, text, is_plain)
            except Undecided as error:
                odd.append((number, str(error)))
                continue
            if read is None:
                odd.append((number, "-"))
                continue
            for position, (address, data) in enumerate(read):
                yield b"%d\t%d\t%b\t%b\n" % (number, position, address, data)

    columns = {
        "number": "bigint", "position": "integer", "vendor": "varchar", "name": "varchar",
        "format": "varchar", "version": "varchar", "model": "varchar", "data": "varchar",
    }  # fmt: skip
    _table_of_lines(db, "entities", columns, entities(), scratch)
    return odd


def _reason(line: str) -> str:
    """Return why a line cannot be used.

    Raises:
        Undecided: It can, by Spark, or that is not proven.
    """
    if line.startswith("{") and "\t" not in line:
        raise Undecided("JSON in place of fields")
    if is_too_deep(line):
        raise Undecided("JSON that is nested too deep")
    try:
        event = read_line(line)
    except ValueError as error:
        return f"unreadable: {error}"
    _, problems = read_values(event)
    if not problems:
        raise Undecided("a value of a form that is read by Spark alone")
    return ", ".join(problems)


def _figures(db: Any) -> dict[str, Any]:
    """Return what batch_figures_sql() of the macros tells of a batch."""
    read, rejected = db.execute(
        "select (select count(*) from keys), (select count(*) from rejected)"
    ).fetchone()
    greatest, least = db.execute(
        "select epoch_us(coalesce(max(etl), max(collected))), "
        "epoch_us(coalesce(min(etl), min(collected))) from usable"
    ).fetchone()
    return {
        "rows_read": read,
        "rows_rejected": rejected,
        "etl_micros": greatest,
        "first_etl_micros": least,
    }


def _decide(
    db: Any, batch: Batch, manifest: Target | None, figures: Mapping[str, Any], scratch: Path
) -> dict[str, int]:
    """Make the tables `claims` and `decided`; return how many lines each step took."""
    etl, first = figures["etl_micros"], figures["first_etl_micros"]
    nothing = (
        "select cast(null as varchar) as id, cast(null as varchar) as fingerprint, "
        "cast(null as bigint) as etl, cast(null as bigint) as until, "
        "cast(null as bigint) as commit_id where false"
    )
    found = manifest is not None and manifest.files and etl is not None
    query = claims_sql(batch, manifest, first) if found and manifest else nothing
    db.execute(f"create table claims as {query}")
    same = db.cursor().execute(
        f"select place, {line_sql()} from texts inner join (select place from usable "
        "qualify count(*) over (partition by id, fingerprint, etl, collected) > 1) "
        "on texts.rowid = place"
    )
    hashes = ((place, line_hash(line)) for place, line in _rows(same))
    _table_of(db, "ties", {"place": "bigint", "line_hash": "bigint"}, hashes, scratch)
    times = {time for each in (etl, first) if each is not None for time in _times(each)}
    db.execute(f"create table judged as {decided_sql(batch, etl or 0, sorted(times) or [0])}")
    renamed = db.cursor().execute(
        f"select place, id, fingerprint, {number_of('derived_contexts')} "
        "from judged inner join texts on place = texts.rowid where starts_with(kind, 'synthetic')"
    )
    new = (
        (place, synthetic_id(event_id, fingerprint), with_duplicate(derived, event_id))
        for place, event_id, fingerprint, derived in _rows(renamed)
    )
    columns = {"place": "bigint", "new_id": "varchar", "derived": "varchar"}
    _table_of(db, "renamed", columns, new, scratch)
    db.execute(
        "create table decided as select * from judged left join renamed using (place) "
        "union all by name select place, 'rejected' as kind from rejected"
    )
    return dict(db.execute("select kind, count(*) from decided group by kind").fetchall())


def _times(micros: int) -> tuple[int, int]:
    return micros, micros // 1_000_000 * 1_000_000


def _write(
    db: Any, batch: Batch, shelves: Shelves, figures: Mapping[str, Any], kinds: Mapping[str, int]
) -> Shredded:
    """Write the files of all tables; should one fail, none is left."""
    mark = f"{FILE_PREFIX}{uuid4()}"
    manifest, etl = shelves.manifest, figures["etl_micros"]
    try:
        events = _copy(
            db, mark, shelves.events, events_sql(batch, shelves.events), _EVENTS, _BOUNDED
        )
        entities = _copy(
            db,
            mark,
            shelves.entities,
            entities_sql(batch, shelves.entities),
            _ENTITIES,
            (),
            _PARTITIONS,
        )
        rejects = _copy(db, mark, shelves.rejects, rejects_sql(batch, shelves.rejects), _REJECTS)
        claims = []
        if manifest is not None and etl is not None:
            claims = _copy(db, mark, manifest, claimed_sql(batch, manifest, etl), _CLAIMS)
    except Exception:
        for table in (shelves.events, shelves.entities, shelves.rejects, manifest):
            for left in Path(table.folder).rglob(f"{mark}*") if table else ():
                left.unlink(missing_ok=True)
        raise
    return Shredded(
        figures=dict(figures),
        events=tuple(file for file, _ in events),
        entities=tuple(entities),
        rejects=tuple(file for file, _ in rejects),
        claims=tuple(file for file, _ in claims),
        kinds=kinds,
        reasons=tuple(db.execute(_REASONS).fetchall()) if rejects else (),
    )


def _copy(
    db: Any,
    mark: str,
    table: Target,
    query: str,
    names: Sequence[str],
    bounded: Sequence[str] = (),
    partitions: Sequence[str] = (),
) -> list[tuple[Written, Mapping[str, str]]]:
    """Write rows as files of a table, each with its partition; none if there are none."""
    numbers = fields_sql(table, [name for name in names if name not in partitions])
    options = f"format parquet, compression snappy{numbers}, return_stats"
    folder = Path(table.folder)
    if partitions:
        by = ", ".join(f'"{table.fields[name][0]}"' for name in partitions)
        options += f", partition_by ({by}), filename_pattern '{mark}-{{uuid}}', overwrite_or_ignore"
        place = str(folder)
    else:
        place = str(folder / f"{mark}.parquet")
    written = db.execute(f"copy (\n{query}\n) to {literal(place)} ({options})").fetchall()
    files: list[tuple[Written, Mapping[str, str]]] = []
    for path, rows, size, _, found, keys in written:
        if not rows:
            Path(path).unlink(missing_ok=True)
            continue
        statistics = _statistics(table, rows, found, bounded)
        file = Written(str(Path(path).relative_to(folder)), size, rows, statistics)
        files.append((file, dict(keys or {})))
    return files


def _statistics(
    table: Target, rows: int, found: Mapping[str, Mapping[str, str]], bounded: Sequence[str]
) -> dict[str, Any]:
    """Return the bounds of columns as Delta keeps them: those of long texts are left out."""
    statistics: dict[str, Any] = {
        "numRecords": rows,
        "minValues": {},
        "maxValues": {},
        "nullCount": {},
    }
    for name in (*bounded, "_commit_id"):
        written = table.fields[name][0]
        column = found.get(f'"{written}"')
        if column is None or "null_count" not in column:
            continue
        statistics["nullCount"][written] = int(column["null_count"])
        bounds = [_bound(name, column.get(side)) for side in ("min", "max")]
        if None not in bounds:
            statistics["minValues"][written], statistics["maxValues"][written] = bounds
    return statistics


def _bound(name: str, text: str | None) -> Any:
    if text is None or len(text) > 32:
        return None
    if name == "_commit_id":
        return int(text)
    if not name.endswith("_tstamp"):
        return text
    moment = datetime.fromisoformat(text).astimezone(UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def _rows(found: Any) -> Iterator[tuple[Any, ...]]:
    while rows := found.fetchmany(10_000):
        yield from rows


def _table_of(
    db: Any, name: str, columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]], scratch: Path
) -> None:
    """Make a table of rows of Python: numbers, and texts that have no tab and are not empty."""
    lines = (("\t".join(map(str, row)) + "\n").encode() for row in rows)
    _table_of_lines(db, name, columns, lines, scratch)


def _table_of_lines(
    db: Any, name: str, columns: Mapping[str, str], lines: Iterable[bytes], scratch: Path
) -> None:
    path = scratch / f"{name}.tsv"
    with path.open("wb") as file:
        file.writelines(lines)
    types = ", ".join(f"'{column}': '{kind}'" for column, kind in columns.items())
    db.execute(
        f"create table {name} as from read_csv({literal(str(path))}, columns = {{{types}}}, "
        "header = false, auto_detect = false, delim = '\t', quote = '', escape = '')"
    )
    path.unlink()
