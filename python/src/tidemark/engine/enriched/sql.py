"""The queries of a batch, in DuckDB's SQL: the same arguments give the same text.

    files » texts_sql » texts » keys_sql » keys ─► decided_sql » decided
                          ├─► carried_sql » carried » entities
                          └─► events_sql » files of atomic events
                entities, decided » entities_sql » files of the entities

Columns go by numbers, c0, c1, … in the order of the canonical TSV.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidemark.engine.enriched.batch import Batch
from tidemark.engine.enriched.entities import ODD
from tidemark.engine.enriched.lines import SEPARATOR
from tidemark.engine.load import Target
from tidemark.engine.quoted import identifier, literal
from tidemark.engine.sql import hashed_sql, parquet_sql
from tidemark.engine.types import negative_zero_sql
from tidemark.shred.enriched import COLUMNS, DUPLICATE_SCHEMA, ENTITIES, REQUIRED, TYPES
from tidemark.shred.enriched.columns import MONEY

_DATE = "(1[6-9]|[2-9][0-9])[0-9]{2}-[0-9]{2}-[0-9]{2}"  # before 1600 calendars differ
_FORMS = {
    "boolean": "[01]",
    "int": "-?[0-9]{1,10}",
    "double": r"-?[0-9]{1,18}(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,2})?",
    MONEY: r"-?[0-9]{1,16}(\.[0-9]{1,6})?",
    "timestamp": rf"{_DATE}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{{1,9}})?Z?",
}
"""Forms of texts that DuckDB and Spark read alike."""
_DUCK = {"int": "integer", "double": "double", MONEY: MONEY, "string": "varchar"}
_UUID = "(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def number_of(column: str) -> str:
    """Return how a canonical column is called.

    Example:
        >>> number_of("event_id")
        'c6'
    """
    return f"c{COLUMNS.index(column)}"


def texts_sql(files: Iterable[str]) -> str:
    """Return a query of all lines: c0, c1, … (an empty field is NULL), and `odd`.

    `odd` is the line where it has not so many fields.
    """
    paths = ", ".join(literal(file) for file in files)
    fields = ", ".join(f"nullif(f[{place + 1}], '') as c{place}" for place in range(len(COLUMNS)))
    return (
        f"select {fields}, if(len(f) = {len(COLUMNS)}, null, line) as odd\n"
        "from (select line, string_split(line, chr(9)) as f from (\n"
        "select coalesce(line, '') as line "
        f"from read_csv([{paths}], columns = {{'line': 'VARCHAR'}}, header = false, "
        f"auto_detect = false, delim = {literal(SEPARATOR)}, quote = '', escape = '')))"
    )


def line_sql() -> str:
    """Return the line that a row of `texts` was."""
    fields = ", ".join(f"coalesce(c{place}, '')" for place in range(len(COLUMNS)))
    return f"coalesce(odd, concat_ws(chr(9), {fields}))"


def value_sql(column: str) -> str:
    """Return the value of a canonical column, NULL where DuckDB cannot read it."""
    text, kind = number_of(column), TYPES[column]
    if kind == "string":
        return text
    if kind == "boolean":
        return f"case {text} when '1' then true when '0' then false end"
    if kind == "timestamp":
        # six digits of the second, no more are kept
        return f"try_cast(left(rtrim({text}, 'Z'), 26) as timestamp with time zone)"
    return f"try_cast({text} as {_DUCK[kind]})"


def doubt_sql() -> str:
    """Return a condition: a line is no event, or one that DuckDB may read otherwise than Spark."""
    doubts = ["odd is not null"]
    for column in COLUMNS:
        text, kind = number_of(column), TYPES[column]
        if column in REQUIRED:
            doubts.append(f"{text} is null")
        if column == "event_id":
            doubts.append(f"not regexp_full_match({text}, '{_UUID}')")
        if kind == "string":
            continue
        known = f"regexp_full_match({text}, '{_FORMS[kind]}')"
        if kind != "boolean":
            value = value_sql(column)
            known += f" and {value} is not null"
            if kind == "double":
                known += f" and isfinite({value}) and not {negative_zero_sql(value)}"
        doubts.append(f"({text} is not null and not ({known}))")
    # a sum of a hundred is nested too deep for speed
    return " or ".join(f"({' or '.join(doubts[at : at + 20])})" for at in range(0, len(doubts), 20))


def fingerprint_sql(batch: Batch) -> str:
    """Return the fingerprint of an event, its own or computed (docs block `hash_recipe`)."""
    texts = {
        column: number_of(column) for column in COLUMNS if column not in batch.fingerprint_ignore
    }
    own = number_of("event_fingerprint")
    return f"case when {own} is null then md5({hashed_sql(texts)}) else {own} end"


def keys_sql(batch: Batch) -> str:
    """Return a query of what de-duplication needs of each line, and whether it is in doubt."""
    return (
        f"select rowid as place, lower({number_of('event_id')}) as id, "
        f"{fingerprint_sql(batch)} as fingerprint, {value_sql('etl_tstamp')} as etl, "
        f"{value_sql('collector_tstamp')} as collected, coalesce({doubt_sql()}, true) as doubt\n"
        "from texts"
    )


def carried_sql() -> str:
    """Return a query of what `texts` has of entities, each text once.

    Its number, the field that has it, the places of its lines, and whether a parser can print it in
    one way only.
    """
    fields = "\nunion all ".join(
        f"select {literal(column)} as field, {number_of(column)} as text, rowid as place "
        f"from texts where {number_of(column)} is not null"
        for column in ENTITIES
    )
    return (
        "select row_number() over () as number, field, text, list(place) as places, "
        f"not regexp_matches(text, {literal(ODD)}) as is_plain\n"
        f"from ({fields}) group by field, text"
    )


def claims_sql(batch: Batch, manifest: Target, first_etl: int) -> str:
    """Return a query of the claims on the batch's ids that hold at its first etl time."""
    names = {
        name: identifier(manifest.fields[name][0])
        for name in ("event_id", "fingerprint", "etl_tstamp", "expires_at", "_commit_id")
    }
    gone = ", ".join(map(str, sorted(batch.undone)))
    counts = f"and coalesce({names['_commit_id']} not in ({gone}), true) " if gone else ""
    return (
        f"select {names['event_id']} as id, {names['fingerprint']} as fingerprint, "
        f"epoch_us(cast({names['etl_tstamp']} as timestamp with time zone)) as etl, "
        f"epoch_us(cast({names['expires_at']} as timestamp with time zone)) as until, "
        f"{names['_commit_id']} as commit_id\n"
        f"from {parquet_sql(manifest.files)}\n"
        f"where until >= {first_etl} {counts}"
        f"and {names['event_id']} in (select id from usable)"
    )


def looked_up_at_sql(etl: int) -> str:
    """Return when a claim must hold to be found by an event of a batch with that etl time."""
    return f"coalesce(epoch_us(usable.etl), {etl})"


def decided_sql(batch: Batch, etl: int, own_times: Iterable[int]) -> str:
    """Return a query of what becomes of lines that are not stored as they came.

    As decided_events_sql() of the macros says it: `place`, `kind`, `id`, `fingerprint`.

    Args:
        batch: The batch.
        etl: Its etl time.
        own_times: The etl times by which another tool marks the claims of this batch.
    """
    times = ", ".join(map(str, own_times))
    steps = batch.deduplicate
    dropped = ["when copy > 1 then 'natural_in_batch'"] if "natural_in_batch" in steps else []
    if "natural_cross_batch" in steps:
        dropped.append("when is_claimed then 'natural_cross_batch'")
    renamed = ["when dropped is not null then dropped"]
    if "synthetic_in_batch" in steps:
        renamed.append("when least <> greatest then 'synthetic_in_batch'")
    if "synthetic_cross_batch" in steps:
        renamed.append("when has_claimed_sibling then 'synthetic_cross_batch'")
    return f"""with claimed as (
    select id, fingerprint, max(until) as until from claims
    where commit_id is distinct from {batch.commit_id}
        and not (commit_id is null and etl in ({times}))
    group by id, fingerprint
),
claimed_ids as (
    select
        id,
        max(if(nth = 1, fingerprint, null)) as fingerprint,
        max(if(nth = 1, until, null)) as until,
        max(if(nth = 2, until, null)) as others_until
    from (
        select *, row_number() over (partition by id order by until desc, fingerprint) as nth
        from claimed
    )
    where nth <= 2
    group by id
),
copies as (
    select
        usable.place, usable.id, usable.fingerprint,
        claimed.until >= {looked_up_at_sql(etl)} as is_claimed,
        if(
            claimed_ids.fingerprint <> usable.fingerprint,
            claimed_ids.until,
            claimed_ids.others_until
        ) >= {looked_up_at_sql(etl)} as has_claimed_sibling,
        row_number() over (
            partition by usable.id, usable.fingerprint
            order by
                etl asc nulls last, collected asc nulls last, line_hash asc nulls last, usable.place
        ) as copy
    from usable
    left join ties on usable.place = ties.place
    left join claimed_ids on usable.id = claimed_ids.id
    left join claimed on usable.id = claimed.id and usable.fingerprint = claimed.fingerprint
),
without_copies as (
    select *, {f"case {' '.join(dropped)} end" if dropped else "cast(null as varchar)"} as dropped
    from copies
),
siblings as (
    select
        *,
        min(if(dropped is null, fingerprint, null)) over (partition by id) as least,
        max(if(dropped is null, fingerprint, null)) over (partition by id) as greatest
    from without_copies
)
select place, case {" ".join(renamed)} end as kind, id, fingerprint
from siblings
where kind is not null"""


def events_sql(batch: Batch, events: Target) -> str:
    """Return a query of the events that are stored, as the files of their table have them."""
    values = {column: value_sql(column) for column in COLUMNS}
    values["event_id"] = f"coalesce(new_id, lower({number_of('event_id')}))"
    values["event_fingerprint"] = fingerprint_sql(batch)
    values["derived_contexts"] = f"coalesce(derived, {number_of('derived_contexts')})"
    values["_commit_id"] = f"cast({batch.commit_id} as bigint)"
    return (
        f"select {_named(values, events)}\n"
        "from texts left join decided on texts.rowid = decided.place\n"
        "where decided.place is null or starts_with(kind, 'synthetic')"
    )


def entities_sql(batch: Batch, entities: Target) -> str:
    """Return a query of the entities of stored events, as the files of their table have them."""
    vendor, name, form, version = DUPLICATE_SCHEMA.removeprefix("iglu:").split("/")
    address = ("vendor", "name", "format", "version")
    values = {
        "schema": _struct("schema", {part: part for part in address}, entities),
        "data": "data",
        "hierarchy": _struct(
            "hierarchy",
            {
                "root_id": "root_id",
                "root_tstamp": "root_tstamp",
                "ref_root": "'events'",
                "ref_tree": "['events', name]",
                "ref_parent": "'events'",
            },
            entities,
        ),
        "field": "field",
        "position": "cast(position as integer)",
        "_commit_id": f"cast({batch.commit_id} as bigint)",
        "vendor": "vendor",
        "name": "name",
        "model": "model",
    }
    return f"""select {_named(values, entities)}
from (
    select
        {", ".join(address)}, cast(model as integer) as model, data, field,
        position + if(field = 'derived_contexts' and new_id is not null, 1, 0) as position,
        coalesce(new_id, usable.id) as root_id, collected as root_tstamp
    from entities
    inner join (select number, field, unnest(places) as place from carried) as carried
        using (number)
    inner join usable on carried.place = usable.place
    left join decided on carried.place = decided.place
    where decided.place is null or starts_with(kind, 'synthetic')
    union all
    select
        {literal(vendor)}, {literal(name)}, {literal(form)}, {literal(version)}, 1,
        '{{"originalEventId":"' || decided.id || '"}}', 'derived_contexts', 0, new_id, collected
    from decided
    inner join usable on decided.place = usable.place
    where new_id is not null
)"""


def rejects_sql(batch: Batch, rejects: Target) -> str:
    """Return a query of the lines that cannot be used, as the files of their table have them."""
    values = {
        "_reject_reason": "reason",
        "_raw_payload": line_sql(),
        "_commit_id": f"cast({batch.commit_id} as bigint)",
    }
    return (
        f"select {_named(values, rejects)}\n"
        "from texts inner join rejected on texts.rowid = rejected.place"
    )


def claimed_sql(batch: Batch, manifest: Target, etl: int) -> str:
    """Return a query of the claims that the batch makes, as the files of their table have them."""
    values = {
        "event_id": "id",
        "fingerprint": "fingerprint",
        "etl_tstamp": f"make_timestamptz({etl})",
        "expires_at": f"make_timestamptz({etl + batch.ttl_micros})",
        "_commit_id": f"cast({batch.commit_id} as bigint)",
    }
    # the earliest of copies stays
    stays = "min" if "natural_in_batch" in batch.deduplicate else "max"
    return (
        f"select {_named(values, manifest)}\n"
        f"from (select id, fingerprint, {stays}({looked_up_at_sql(etl)}) as looked_up_at\n"
        "from usable group by id, fingerprint) as usable\n"
        "anti join claims on usable.id = claims.id and usable.fingerprint = claims.fingerprint\n"
        "and until >= looked_up_at"
    )


def fields_sql(table: Target, names: Iterable[str]) -> str:
    """Return the numbers that a table's columns have in files, an option of COPY; none: "".

    Those of parts of structs too.
    """
    ids = []
    for name in names:
        parts = [part for part in table.fields if part.startswith(f"{name}.")]
        written, number = table.fields[name]
        if number is None:
            continue
        if parts:
            inner = "".join(
                f", {identifier(table.fields[part][0])}: {table.fields[part][1]}" for part in parts
            )
            ids.append(f"{identifier(written)}: {{__duckdb_field_id: {number}{inner}}}")
        else:
            ids.append(f"{identifier(written)}: {number}")
    return f", field_ids {{{', '.join(ids)}}}" if ids else ""


def _struct(column: str, parts: Mapping[str, str], table: Target) -> str:
    written = [
        f"{identifier(table.fields[f'{column}.{part}'][0])}: {value}"
        for part, value in parts.items()
    ]
    return f"{{{', '.join(written)}}}"


def _named(values: Mapping[str, str], table: Target) -> str:
    return ", ".join(
        f"{value} as {identifier(table.fields[name][0])}" for name, value in values.items()
    )
