"""The peers by hand: the same outputs as Tidemark's, as a good engineer writes them in Spark SQL for one table.

Each gives current, an append-only history with operations and changed columns, or the tables of enriched events. What
Tidemark does beyond them they leave out: checks before a write, recovery, dates in any order, rejects of values, hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidemark.shred.enriched import COLUMNS, LEFT_OUT, TYPES


def array_of_names(names: Sequence[str]) -> str:
    """SQL of the names of columns that `old` and `new` differ in: the feed shows what changed."""
    each = ", ".join(f"if(not old.{name} <=> new.{name}, '{name}', null)" for name in names)
    return f"array_compact(array({each}))"


def extract_tables(session: Any, schema: str) -> None:
    """Make the tables of an extract."""
    session.sql(
        f"create table if not exists peers.hand_current ({schema}, operation string, since date) using delta"
    )
    session.sql(
        f"create table if not exists peers.hand_history ({schema}, operation string, changed_columns array<string>, "
        "business_date date) using delta partitioned by (business_date)"
    )


def load_extract(
    session: Any, rows: Any, keys: Sequence[str], values: Sequence[str], day: str
) -> None:
    """Compare an extract with current; append what changed, then replace current.

    Args:
        session: The session.
        rows: The extract, typed.
        keys: The columns of its key.
        values: All others.
        day: Its business date.
    """
    rows.createOrReplaceTempView("hand_rows")
    shown = ", ".join(
        [
            *(f"coalesce(new.{name}, old.{name}) as {name}" for name in keys),
            # a deleted row is told with the values it had
            *(f"if(new.{keys[0]} is null, old.{name}, new.{name}) as {name}" for name in values),
        ]
    )
    # the join is looked at twice, by the history and by current: kept, so that the file is read and joined once
    compared = session.sql(
        f"""
        select {shown}, old.since as was_since, if(old.{keys[0]} is null or new.{keys[0]} is null, null, {array_of_names(values)})
            as changed_columns, old.{keys[0]} is null as is_new, new.{keys[0]} is null as is_gone
        from hand_rows as new full outer join peers.hand_current as old
        on {" and ".join(f"new.{name} = old.{name}" for name in keys)}
        """
    ).selectExpr(
        "*", "case when is_new then 'I' when is_gone then 'D' when size(changed_columns) > 0 then 'U' else 'N' end as operation"
    ).persist()  # fmt: skip
    compared.createOrReplaceTempView("hand_compared")
    names = ", ".join([*keys, *values])
    try:
        # history first: after a crash in between, the load of this day can be made again from it
        session.sql(
            f"insert into peers.hand_history select {names}, operation, changed_columns, date'{day}' from hand_compared "
            "where operation <> 'N'"
        )
        session.sql(
            f"insert overwrite peers.hand_current select {names}, operation, if(operation = 'N', was_since, date'{day}') "
            "from hand_compared where operation <> 'D'"
        )
    finally:
        compared.unpersist()


def event_tables(session: Any, row: str) -> None:
    """Make the tables of change events; `row` is the columns of a row."""
    session.sql(f"create table if not exists peers.hand_orders ({row}, lsn bigint) using delta")
    session.sql(
        f"create table if not exists peers.hand_orders_history ({row}, operation string, changed_columns array<string>, "
        "lsn bigint) using delta"
    )


def load_events(session: Any, files: str, row: str, envelope: str) -> None:
    """Bring Debezium's events of one table to its history, each with what it changed, and its last ones to current.

    Args:
        session: The session.
        files: The folder with the lines.
        row: The columns of a row, the first one its key.
        envelope: The type of an event.
    """
    names = [column.split(" ")[0] for column in row.split(", ")]
    key = names[0]
    session.read.text(files).createOrReplaceTempView("hand_lines")
    differing = ", ".join(
        f"if(not before.{name} <=> after.{name}, '{name}', null)" for name in names
    )
    # a move to another key ends one row and begins another; an event that came before is left out by its place in the source
    changes = session.sql(
        f"""
        with parsed as (select event.* from (select from_json(value, '{envelope}') as event from hand_lines)),
        parts as (
            select distinct part.* from (select explode(array_compact(array(
                if(before.id is not null and not before.id <=> after.id, struct(before.{key} as key, source.lsn as lsn,
                    cast(null as struct<{row}>) as after), null),
                if(after.{key} is not null, struct(after.{key} as key, source.lsn as lsn, after), null)
            ))) as part from parsed)
        ),
        known as (
            select parts.*, if(old.{key} is null, null, struct({", ".join(f"old.{name}" for name in names)})) as was, old.lsn as was_lsn
            from parts left join peers.hand_orders as old on parts.key = old.{key}
        ),
        ordered as (
            select
                *, coalesce(lag(struct(after)) over (partition by key order by lsn).after, if(lag(lsn) over (partition by key order by lsn)
                    is null, was, null)) as before,
                lead(lsn) over (partition by key order by lsn) is null as is_last
            from known where was_lsn is null or lsn > was_lsn
        )
        select key, lsn, is_last, before, after, case when after is null then 'D' when before is null then 'I' else 'U' end as operation,
            if(before is null or after is null, null, array_compact(array({differing}))) as changed_columns
        from ordered
        """
    ).persist()
    changes.createOrReplaceTempView("hand_changes")
    shown = ", ".join(f"coalesce(after, before).{name}" for name in names)
    try:
        session.sql(
            f"insert into peers.hand_orders_history select {shown}, operation, changed_columns, lsn from hand_changes"
        )
        sets = ", ".join(f"{name} = source.after.{name}" for name in names)
        values = ", ".join(f"source.after.{name}" for name in names)
        session.sql(
            f"""
            merge into peers.hand_orders as target using (select * from hand_changes where is_last) as source
            on target.{key} = source.key
            when matched and source.after is null then delete
            when matched then update set {sets}, lsn = source.lsn
            when not matched and source.after is not null
                then insert ({", ".join(names)}, lsn) values ({values}, source.lsn)
            """
        )
    finally:
        changes.unpersist()


ENTITY_COLUMNS = ("contexts", "derived_contexts")


def enriched_tables(session: Any) -> None:
    """Make the tables of enriched events."""
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    session.sql(f"create table if not exists peers.hand_events ({columns}) using delta")
    session.sql(
        "create table if not exists peers.hand_entities (uri string, data string, root_id string, root_tstamp timestamp, "
        "field string, position int, vendor string, name string, model int) using delta partitioned by (vendor, name, model)"
    )
    session.sql("create table if not exists peers.hand_rejects (line string) using delta")
    session.sql(
        "create table if not exists peers.hand_manifest (event_id string, fingerprint string) using delta"
    )


def load_enriched(session: Any, files: Sequence[str]) -> None:
    """Bring lines of the canonical TSV to atomic events and entities, each event once within the batch and across batches.

    Args:
        session: The session.
        files: The files.
    """
    # texts first: a value that is no number makes the line a reject, not NULL
    texts = session.read.csv(
        list(files), schema=", ".join(f"{name} string" for name in (*COLUMNS, "corrupt")), sep="\t", quote="", escape="",
        mode="PERMISSIVE", columnNameOfCorruptRecord="corrupt",
    )  # fmt: skip
    texts.createOrReplaceTempView("hand_texts")
    typed = {name: _typed(name, kind) for name, kind in TYPES.items()}
    # what marks two lines as one event: all but what a collector adds
    hashed = ", ".join(f"coalesce({name}, '')" for name in COLUMNS if name not in LEFT_OUT)
    bad = " or ".join(
        [
            "corrupt is not null",
            *(
                f"{name} is null"
                for name in ("event_id", "collector_tstamp", "v_collector", "v_etl")
            ),
            *(
                f"({name} is not null and {typed[name]} is null)"
                for name, kind in TYPES.items()
                if kind != "string"
            ),
        ]
    )
    # looked at by five writes: kept, so that the lines are split once
    lines = session.sql(
        f"select *, coalesce(event_fingerprint, md5(concat_ws('|', {hashed}))) as fingerprint, coalesce({bad}, true) as is_bad from hand_texts"
    ).persist()
    lines.createOrReplaceTempView("hand_lines")
    values = ", ".join(f"{typed[name]} as {name}" for name in COLUMNS if name != "event_id")
    try:
        session.sql("insert into peers.hand_rejects select corrupt from hand_lines where is_bad")
        # one of each id and fingerprint, not claimed by an earlier batch; of one id with several fingerprints each gets an id of its own
        kept = session.sql(
            f"""
            with copies as (
                select *, row_number() over (partition by lower(event_id), fingerprint order by etl_tstamp, collector_tstamp) as copy,
                    min(fingerprint) over (partition by lower(event_id)) <> max(fingerprint) over (partition by lower(event_id)) as is_synthetic
                from hand_lines where not is_bad
            )
            select {values}, if(is_synthetic, uuid(), lower(copies.event_id)) as event_id, lower(copies.event_id) as given_id, copies.fingerprint
            from copies left anti join peers.hand_manifest as known
            on lower(copies.event_id) = known.event_id and copies.fingerprint = known.fingerprint
            where copy = 1
            """
        ).persist()
        kept.createOrReplaceTempView("hand_kept")
        envelopes = " union all ".join(
            [
                f"select event_id, collector_tstamp, '{name}' as field, posexplode(from_json({name}, "
                "'data array<struct<schema string, data string>>').data) as (position, entity) from hand_kept"
                for name in ENTITY_COLUMNS
            ]
            + [
                "select event_id, collector_tstamp, 'unstruct_event', 0, from_json(unstruct_event, "
                "'data struct<schema string, data string>').data from hand_kept where unstruct_event is not null"
            ]
        )
        session.sql(
            f"""
            insert into peers.hand_entities
            select entity.schema, entity.data, event_id, collector_tstamp, field, position, split_part(entity.schema, '/', 1),
                split_part(entity.schema, '/', 2), cast(split_part(split_part(entity.schema, '/', 4), '-', 1) as int)
            from ({envelopes})
            """
        )
        session.sql(f"insert into peers.hand_events select {', '.join(COLUMNS)} from hand_kept")
        # last: what is kept was compared with the manifest, and Spark forgets it once that changes
        session.sql("insert into peers.hand_manifest select given_id, fingerprint from hand_kept")
        kept.unpersist()
    finally:
        lines.unpersist()


def _typed(name: str, kind: str) -> str:
    if kind == "string":
        return name
    if kind == "boolean":
        return f"case {name} when '1' then true when '0' then false end"
    return f"try_cast({name} as {kind})"
