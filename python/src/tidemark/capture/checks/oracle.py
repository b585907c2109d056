"""Can this Oracle database be captured?"""

from __future__ import annotations

from collections.abc import Iterator

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
)
from tidemark.capture.config import CaptureConfig, Login

_TABLES = """
select t.owner, t.table_name,
       case when exists (select 1 from all_constraints k
                         where k.owner = t.owner and k.table_name = t.table_name
                           and k.constraint_type = 'P') then 1 else 0 end,
       c.column_name, c.data_type
from all_tables t
join all_users u on u.username = t.owner and u.oracle_maintained = 'N'
left join all_tab_columns c on c.owner = t.owner and c.table_name = t.table_name
order by t.owner, t.table_name, c.column_id
"""
_PRIVILEGES = (
    "CREATE SESSION",
    "SELECT ANY TRANSACTION",
    "FLASHBACK ANY TABLE",
    "SELECT ANY TABLE",
    "LOCK ANY TABLE",
    "LOGMINING",
)
_LARGE = (
    "Debezium sends a placeholder for large objects, unless told to read them",
    "set options: {lob.enabled: true}, or leave them out with `columns`",
)
_LEFT_OUT = ("Debezium leaves such columns out", "leave them out with `columns`")
_TYPES = {
    "clob": _LARGE,
    "nclob": _LARGE,
    "blob": _LARGE,
    "xmltype": _LARGE,
    "long": _LEFT_OUT,
    "bfile": _LEFT_OUT,
    "sdo_geometry": _LEFT_OUT,
}


def check(
    config: CaptureConfig, login: Login, database: Queries
) -> tuple[list[Finding], list[Table]]:
    """Return what was found, and the tables that would be captured."""
    everything = tables_of(database.query(_TABLES))
    tables = selected(config, everything)
    findings = [
        *_check_server(login, database),
        *check_selection(config, everything),
        *_check_tables(database, tables),
        *check_keys(tables),
        *check_types(tables, _TYPES),
    ]
    return findings, tables


def _check_server(login: Login, database: Queries) -> Iterator[Finding]:
    rows = database.query("select log_mode, supplemental_log_data_min from v$database")
    log_mode, supplemental = rows[0] if rows else (None, None)
    if log_mode != "ARCHIVELOG":
        yield error(
            f"log_mode is {log_mode}",
            "the database overwrites the log before capture reads it",
            "shutdown immediate; startup mount; alter database archivelog; alter database open;",
        )
    if supplemental not in ("YES", "IMPLICIT"):
        yield error(
            "minimal supplemental logging is off",
            "the log does not name the rows that changed",
            "alter database add supplemental log data;",
        )
    held = {str(row[0]) for row in database.query("select privilege from session_privs")}
    missing = [privilege for privilege in _PRIVILEGES if privilege not in held]
    if missing:
        yield error(
            f"the user {login.user} lacks {', '.join(missing)}",
            "the snapshot or the reading of the log fails",
            f"grant {', '.join(missing).lower()} to {login.user};",
        )


def _check_tables(database: Queries, tables: list[Table]) -> Iterator[Finding]:
    whole = {
        f"{owner}.{name}"
        for owner, name in database.query(
            "select owner, table_name from all_log_groups "
            "where log_group_type = 'ALL COLUMN LOGGING'"
        )
    }
    missing = [table.name for table in tables if table.name not in whole]
    if missing:
        yield error(
            f"supplemental logging of all columns is off for {several(missing)}",
            "updates lack the columns that they do not change",
            " ".join(
                f"alter table {name} add supplemental log data (all) columns;" for name in missing
            ),
        )
