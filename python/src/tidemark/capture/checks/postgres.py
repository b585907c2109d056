"""Can this PostgreSQL be captured?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tidemark.capture.checks.findings import (
    Finding,
    Queries,
    Table,
    check_keys,
    check_selection,
    check_types,
    error,
    selected,
    several,
    tables_of,
    warning,
)
from tidemark.capture.config import CaptureConfig, Login
from tidemark.capture.joining import IS_IDENTIFIED

_TABLES = """
select n.nspname, c.relname,
       exists (select 1 from pg_index i where i.indrelid = c.oid and i.indisprimary),
       a.attname, format_type(a.atttypid, null)
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relkind in ('r', 'p') and not c.relispartition
  and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\\_%'
order by 1, 2, a.attnum
"""
_DETAILS = f"""
select n.nspname || '.' || c.relname, c.relreplident::text, c.relpersistence::text,
       has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select'),
       pg_has_role(c.relowner, 'usage'),
       ({IS_IDENTIFIED.strip()}),
       format('%I', n.nspname), format('%I.%I', n.nspname, c.relname)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p')
"""
_LEFT_OUT = "Debezium leaves such columns out"
_CAST = "leave them out with `columns`, or add a column with their text"
_TYPES = dict.fromkeys(
    ("line", "lseg", "box", "path", "polygon", "circle", "tsquery", "pg_lsn", "pg_snapshot"),
    (_LEFT_OUT, _CAST),
)


def check(
    config: CaptureConfig, login: Login, database: Queries
) -> tuple[list[Finding], list[Table]]:
    """Return what was found, and the tables that would be captured."""
    everything = tables_of(database.query(_TABLES))
    tables = selected(config, everything)
    findings = [
        *_check_server(config, login, database),
        *check_selection(config, everything),
        *_check_tables(config, login, database, tables),
        *check_types(tables, _TYPES),
    ]
    return findings, tables


def _check_server(config: CaptureConfig, login: Login, database: Queries) -> Iterator[Finding]:
    settings = dict(database.query("select name, setting from pg_settings"))
    version = int(settings.get("server_version_num", 0))
    if version < 120000:
        yield error(
            f"PostgreSQL {settings.get('server_version')}",
            "Debezium supports version 12 and newer",
            "upgrade the server",
        )
    if settings.get("wal_level") != "logical":
        yield error(
            f"wal_level is {settings.get('wal_level')}",
            "the log does not have the changes of rows",
            "alter system set wal_level = logical; then restart the server",
        )
    slot = database.query(
        "select active, wal_status from pg_replication_slots where slot_name = ?", config.slot
    )
    if slot:
        yield from _check_slot(config, *slot[0])
    else:
        yield from _check_room(database, settings)
    if not database.value(
        "select rolsuper or rolreplication or exists (select 1 from pg_roles g "
        "where g.rolname = 'rds_replication' and pg_has_role(current_user, g.oid, 'member')) "
        "from pg_roles where rolname = current_user"
    ):
        yield error(
            f"the user {login.user} may not replicate",
            "the user can read no log",
            f'alter role "{login.user}" replication;',
        )
    if settings.get("max_slot_wal_keep_size") == "-1":
        yield warning(
            "max_slot_wal_keep_size is not set",
            "the server keeps its log while capture is stopped, until its disk is full",
            "alter system set max_slot_wal_keep_size = '50GB'; select pg_reload_conf();",
        )


def _check_slot(config: CaptureConfig, active: Any, wal_status: Any) -> Iterator[Finding]:
    if wal_status == "lost":
        yield error(
            f"the replication slot {config.slot} has lost its log",
            "changes are missing",
            f"tidemark capture {config.source} --resnapshot",
        )
    elif wal_status == "unreserved":
        yield warning(
            f"the replication slot {config.slot} is about to lose its log",
            "changes are missing from then on",
            f"start the capture now: tidemark capture {config.source}",
        )
    if active:
        yield warning(
            f"the replication slot {config.slot} is in use",
            "only one capture can read the slot at a time",
            "stop the other capture, or name another `slot`",
        )


def _check_room(database: Queries, settings: dict[str, Any]) -> Iterator[Finding]:
    for setting, table, what in (
        ("max_replication_slots", "pg_replication_slots", "replication slots"),
        ("max_wal_senders", "pg_stat_replication", "WAL senders"),
    ):
        used = int(database.value(f"select count(*) from {table}") or 0)
        limit = int(settings.get(setting, 0))
        if used >= limit:
            yield error(
                f"all {limit} {what} are in use",
                "capture needs one for itself",
                f"alter system set {setting} = {limit + 5}; then restart the server",
            )


@dataclass(frozen=True)
class _Details:
    """What `_DETAILS` says of a table; the last two are names as SQL wants them."""

    identity: str
    persistence: str
    is_readable: bool
    is_owned: bool
    is_identified: bool
    schema: str
    quoted: str


def _check_tables(
    config: CaptureConfig, login: Login, database: Queries, tables: Sequence[Table]
) -> Iterator[Finding]:
    details = {row[0]: _Details(*row[1:]) for row in database.query(_DETAILS)}
    known = [(table, details[table.name]) for table in tables if table.name in details]
    unreadable = {table.name: one for table, one in known if not one.is_readable}
    if unreadable:
        schemas = sorted({one.schema for one in unreadable.values()})
        yield error(
            f"the user {login.user} may not read {several([*unreadable])}",
            "the snapshot fails",
            " ".join(
                f'grant usage on schema {schema} to "{login.user}"; '
                f'grant select on all tables in schema {schema} to "{login.user}";'
                for schema in schemas
            ),
        )
    unlogged = {table.name: one for table, one in known if one.persistence == "u"}
    if unlogged:
        yield error(
            f"unlogged tables: {several([*unlogged])}",
            "the log does not have the changes of unlogged tables",
            " ".join(f"alter table {one.quoted} set logged;" for one in unlogged.values()),
        )
    yield from _check_identities(known)
    yield from _check_publication(config, login, database, known)


def _check_identities(known: Sequence[tuple[Table, _Details]]) -> Iterator[Finding]:
    without = [(table, one) for table, one in known if not one.is_identified]
    for what, identity, named in (
        (
            "tables without primary key and replica identity",
            "full",
            {table.name: one for table, one in without if not table.has_key},
        ),
        (
            "tables with replica identity nothing",
            "default",
            {table.name: one for table, one in without if table.has_key and one.identity == "n"},
        ),
        (
            "tables whose key is deferrable, which is no replica identity",
            "full",
            {table.name: one for table, one in without if table.has_key and one.identity != "n"},
        ),
    ):
        if named:
            yield error(
                f"{what}: {several([*named])}",
                "once they are captured, the database itself refuses their updates and deletes",
                " ".join(
                    f"alter table {one.quoted} replica identity {identity};"
                    for one in named.values()
                ),
            )
    yield from check_keys([table for table, one in known if one.identity == "f"])


def _check_publication(
    config: CaptureConfig, login: Login, database: Queries, known: Sequence[tuple[Table, _Details]]
) -> Iterator[Finding]:
    name = config.publication
    rows = database.query(
        "select pubinsert and pubupdate and pubdelete and pubtruncate, pubowner = (select oid "
        "from pg_roles where rolname = current_user) from pg_publication where pubname = ?",
        name,
    )
    strangers = [table.name for table, one in known if not one.is_owned]
    quoted = ", ".join(one.quoted for _, one in known)
    if not rows:
        may_create = database.value("select has_database_privilege(current_database(), 'create')")
        if known and (strangers or not may_create):
            yield error(
                f"the user {login.user} may not make the publication {name}: it does not own "
                f"{several(strangers) if strangers else 'the right to create in the database'}",
                "capture has nothing to read changes from",
                f"as their owner: create publication {name} for table {quoted};",
            )
        return
    complete, ours = rows[0]
    if not complete:
        yield error(
            f"the publication {name} leaves out some operations",
            "changes are missing",
            f"alter publication {name} set (publish = 'insert, update, delete, truncate');",
        )
    published = {
        row[0]
        for row in database.query(
            "select schemaname || '.' || tablename from pg_publication_tables where pubname = ?",
            name,
        )
    }
    missing = {table.name: one for table, one in known if table.name not in published}
    if missing and not (ours and not strangers):
        quoted = ", ".join(one.quoted for one in missing.values())
        yield error(
            f"the publication {name} does not have {several([*missing])}",
            "their changes are missing",
            f"as their owner: alter publication {name} add table {quoted};",
        )
