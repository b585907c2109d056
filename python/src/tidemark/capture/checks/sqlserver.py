"""Can this SQL Server be captured?"""

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
    warning,
)
from tidemark.capture.config import CaptureConfig, Login
from tidemark.errors import TidemarkError

_TABLES = """
select s.name, t.name,
       case when exists (select 1 from sys.indexes i
                         where i.object_id = t.object_id and i.is_primary_key = 1)
            then 1 else 0 end,
       c.name, type_name(c.user_type_id)
from sys.tables t
join sys.schemas s on s.schema_id = t.schema_id
left join sys.columns c on c.object_id = t.object_id
where t.is_ms_shipped = 0 and s.name <> 'cdc'
order by s.name, t.name, c.column_id
"""
_LEFT_OUT = "Debezium does not read this type"
_TYPES = dict.fromkeys(
    ("sql_variant", "hierarchyid"),
    (_LEFT_OUT, "leave them out with `columns`, or add a computed column with their text"),
)


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
    if not database.value(
        "select cast(is_cdc_enabled as int) from sys.databases where name = db_name()"
    ):
        yield error(
            f"change data capture is off in the database {login.database}",
            "capture has nothing to read changes from",
            "exec sys.sp_cdc_enable_db;",
        )
    elif not database.value("select has_perms_by_name('cdc', 'SCHEMA', 'SELECT')"):
        yield error(
            f"the user {login.user} may not read the schema cdc",
            "the user can read no changes",
            f"grant select on schema::cdc to [{login.user}];",
        )
    try:
        agent = database.value(
            "select status_desc from sys.dm_server_services "
            "where servicename like 'SQL Server Agent%'"
        )
    except TidemarkError:
        agent = None
    if agent is None:
        yield warning(
            "capture cannot see whether SQL Server Agent runs",
            "without the agent, SQL Server writes no changes to the change tables",
            f"to have it checked: grant view server state to [{login.user}];",
        )
    elif agent != "Running":
        yield error(
            f"SQL Server Agent is {agent}",
            "SQL Server writes no changes without it",
            "start the service SQL Server Agent",
        )


def _check_tables(database: Queries, tables: list[Table]) -> Iterator[Finding]:
    tracked = {
        f"{schema}.{name}"
        for schema, name in database.query(
            "select s.name, t.name from sys.tables t "
            "join sys.schemas s on s.schema_id = t.schema_id where t.is_tracked_by_cdc = 1"
        )
    }
    missing = [table.name for table in tables if table.name not in tracked]
    if missing:
        yield error(
            f"change data capture is off for {several(missing)}",
            "their changes are missing",
            " ".join(
                "exec sys.sp_cdc_enable_table @source_schema = N'{}', @source_name = N'{}', "
                "@role_name = null, @supports_net_changes = 0;".format(*name.split(".", 1))
                for name in missing
            ),
        )
