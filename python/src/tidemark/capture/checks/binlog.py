"""Can this MySQL or MariaDB be captured?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidemark.capture.checks.findings import (
    Finding,
    Queries,
    Table,
    check_keys,
    check_selection,
    error,
    selected,
    tables_of,
    warning,
)
from tidemark.capture.config import CaptureConfig, Login

_TABLES = """
select t.table_schema, t.table_name,
       exists (select 1 from information_schema.table_constraints k
               where k.table_schema = t.table_schema and k.table_name = t.table_name
                 and k.constraint_type = 'PRIMARY KEY'),
       c.column_name, c.column_type
from information_schema.tables t
left join information_schema.columns c
  on c.table_schema = t.table_schema and c.table_name = t.table_name
where t.table_type = 'BASE TABLE'
  and t.table_schema not in ('mysql', 'sys', 'information_schema', 'performance_schema')
order by 1, 2, c.ordinal_position
"""
_DAY = 86400
# each with the names that it goes by
_GRANTS = {
    "SELECT": {"SELECT"},
    "RELOAD": {"RELOAD"},
    "LOCK TABLES": {"LOCK TABLES"},
    "REPLICATION SLAVE": {"REPLICATION SLAVE"},
    "REPLICATION CLIENT": {"REPLICATION CLIENT", "BINLOG MONITOR"},
}
_AT_ONE_DATABASE = {"SELECT", "LOCK TABLES"}


def check(
    config: CaptureConfig, login: Login, database: Queries
) -> tuple[list[Finding], list[Table]]:
    """Return what was found, and the tables that would be captured."""
    everything = tables_of(database.query(_TABLES))
    tables = selected(config, everything)
    findings = [
        *_check_server(config, database),
        *_check_grants(login, database),
        *check_selection(config, everything),
        *check_keys(tables),
    ]
    return findings, tables


def _check_server(config: CaptureConfig, database: Queries) -> Iterator[Finding]:
    settings = {str(name).lower(): str(value) for name, value in database.query("show variables")}
    version = settings.get("version", "")
    found = "mariadb" if "mariadb" in version.lower() else "mysql"
    if found != config.connector:
        yield error(
            f"the server is {found} {version}, the connector is {config.connector}",
            "Debezium refuses it",
            f"connector: {found}",
        )
    if settings.get("log_bin") != "ON":
        yield error(
            "the server writes no binary log",
            "capture has nothing to read changes from",
            "log_bin = bin and server_id = 1 in the server's configuration; then restart it",
        )
    for name, wanted in (("binlog_format", "ROW"), ("binlog_row_image", "FULL")):
        value = settings.get(name)
        if value is not None and value != wanted:
            yield error(
                f"{name} is {value}",
                "the log does not have whole rows: changes are missing",
                f"set global {name} = '{wanted}'; set it in the server's configuration too",
            )
    if "PARTIAL_JSON" in settings.get("binlog_row_value_options", ""):
        yield error(
            "binlog_row_value_options is PARTIAL_JSON",
            "the log has parts of JSON values only",
            "set global binlog_row_value_options = '';",
        )
    server_id = settings.get("server_id", "0")
    if server_id == "0":
        yield error(
            "server_id is 0", "the server does not serve its log", "set global server_id = 1;"
        )
    elif server_id == str(config.server_id):
        yield error(
            f"server_id {server_id} belongs to the server itself",
            "the server refuses the connection",
            "choose another `server_id`, one that no replica has",
        )
    yield from _check_expiry(settings)


def _check_expiry(settings: dict[str, str]) -> Iterator[Finding]:
    seconds = float(settings.get("binlog_expire_logs_seconds") or 0)
    seconds = seconds or float(settings.get("expire_logs_days") or 0) * _DAY
    if 0 < seconds < _DAY:
        yield warning(
            f"the binary log is kept for {seconds / 3600:.1f} hours",
            "a capture that stops for longer must start anew",
            "set global binlog_expire_logs_seconds = 604800;",
        )


def _check_grants(login: Login, database: Queries) -> Iterator[Finding]:
    everywhere: set[str] = set()
    somewhere: set[str] = set()
    for (text,) in database.query("show grants"):
        match = re.match(r"GRANT (.*?) ON (\S+) TO ", str(text))
        if match is None:
            continue
        names = {name.strip().upper() for name in match[1].split(",")}
        somewhere |= names
        if match[2] == "*.*":
            everywhere |= names
    if "ALL PRIVILEGES" in everywhere:
        return
    missing = []
    for grant, names in _GRANTS.items():
        held = somewhere if grant in _AT_ONE_DATABASE else everywhere
        if not names & held and "ALL PRIVILEGES" not in held:
            missing.append(grant)
    if missing:
        yield error(
            f"the user {login.user} lacks {', '.join(missing)}",
            "the snapshot or the reading of the log fails",
            f"grant {', '.join(missing).lower()} on *.* to '{login.user}'@'%';",
        )
