"""The properties that Debezium gets for one source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tidemark.capture.config import BINLOG, CaptureConfig, Login

_CLASSES = {
    "postgresql": "io.debezium.connector.postgresql.PostgresConnector",
    "mysql": "io.debezium.connector.mysql.MySqlConnector",
    "mariadb": "io.debezium.connector.mariadb.MariaDbConnector",
    "sqlserver": "io.debezium.connector.sqlserver.SqlServerConnector",
    "oracle": "io.debezium.connector.oracle.OracleConnector",
}

_BASE = {
    "tasks.max": "1",
    "key.converter.schemas.enable": "false",
    # the schema tells the types of columns, which nothing else does in PostgreSQL
    "value.converter.schemas.enable": "true",
    # the default turns a NULL into its column's default
    "key.converter.replace.null.with.default": "false",
    "value.converter.replace.null.with.default": "false",
    "column.propagate.source.type": ".*",
    # the default is base64 of unscaled bytes, whose scale an ALTER changes without a trace
    "decimal.handling.mode": "string",
    "binary.handling.mode": "hex",
    "time.precision.mode": "adaptive",
    # the default hides truncates
    "skipped.operations": "none",
    # tells where whole transactions end
    "provide.transaction.metadata": "true",
    "tombstones.on.delete": "false",
    # keeps the log position moving while the captured tables are quiet
    "heartbeat.interval.ms": "10000",
    # capture starts a new engine itself: within a running one Debezium resumes at a position
    # that may lie inside a transaction
    "errors.max.retries": "0",
    "poll.interval.ms": "200",
    "max.batch.size": "4096",
    "max.queue.size": "16384",
    "max.queue.size.in.bytes": "134217728",
}

# the default makes 30.4375 days of a month
_INTERVALS = {"interval.handling.mode": "string"}

_BINLOG = {
    "include.schema.changes": "true",
    "time.precision.mode": "adaptive_time_microseconds",
    # see errors.max.retries
    "connect.keep.alive": "false",
    # the default turns numbers above 2^63 into negative ones
    "bigint.unsigned.handling.mode": "precise",
    # the default turns year 1 into 2001
    "enable.time.adjuster": "false",
    # the driver's dates for YEAR columns stop a snapshot
    "driver.yearIsDateType": "false",
}


def debezium_properties(
    config: CaptureConfig, login: Login, state: Path, *, snapshot_mode: str
) -> dict[str, str]:
    """Return Debezium's properties.

    Args:
        config: The source.
        login: How to reach it.
        state: Where the engine keeps its files.
        snapshot_mode: `initial` or `no_data`.
    """
    properties = {
        "name": config.topic_prefix,
        "topic.prefix": config.topic_prefix,
        "connector.class": _CLASSES[config.connector],
        **_BASE,
        "snapshot.mode": snapshot_mode,
        "database.hostname": login.host,
        "database.port": str(login.port),
        "database.user": login.user,
        "database.password": login.password,
        **_tables(config),
    }
    if config.connector == "postgresql":
        properties |= {
            # the replication slot is the only position that is kept
            "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
            "offset.flush.interval.ms": "1000",
            "database.dbname": login.database or "",
            "plugin.name": "pgoutput",
            "slot.name": config.slot,
            "publication.name": config.publication,
            "publication.autocreate.mode": "filtered",
        }
    else:
        properties |= {
            "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
            "offset.storage.file.filename": str(state / "offsets.dat"),
            # written when a landed file is acknowledged, and copied then
            "offset.flush.interval.ms": "0",
            "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
            "schema.history.internal.file.filename": str(state / "schema_history.dat"),
            "schema.history.internal.store.only.captured.tables.ddl": "false",
            "include.schema.changes": "true",
        }
    if config.connector in ("postgresql", "oracle"):
        properties |= _INTERVALS
    if config.connector in BINLOG:
        properties |= {**_BINLOG, "database.server.id": str(config.server_id)}
    if config.connector == "mysql":
        properties["include.query"] = "false"
    if config.connector == "sqlserver":
        properties["database.names"] = login.database or ""
    if config.connector == "oracle":
        properties["database.dbname"] = login.database or ""
        if login.pdb is not None:
            properties["database.pdb.name"] = login.pdb
    return properties | dict(config.options)


def table_snapshot_properties(tables: Sequence[str]) -> dict[str, str]:
    """Return the properties that differ where only the rows of these tables are read."""
    return {
        "snapshot.mode": "initial_only",
        "publication.autocreate.mode": "disabled",
        "table.include.list": _list([re.escape(table) for table in tables]),
        # all rows as they were when the first one was read
        "snapshot.isolation.mode": "repeatable_read",
        "snapshot.max.threads": "1",
    }


def without_tables(config: CaptureConfig, tables: Sequence[str]) -> dict[str, str]:
    """Return the properties that differ where these tables are not captured."""
    unwanted = "|".join(re.escape(table) for table in tables)
    wanted = table_expressions(config.include, config.exclude) or [".*"]
    return {
        "table.include.list": _list([f"(?!(?:{unwanted})$){expression}" for expression in wanted])
    }


def _tables(config: CaptureConfig) -> dict[str, str]:
    properties: dict[str, str] = {}
    tables = table_expressions(config.include, config.exclude)
    if tables:
        properties["table.include.list"] = _list(tables)
    databases = sorted({pattern.split(".")[0] for pattern in config.include})
    if databases and config.connector in BINLOG:
        properties["database.include.list"] = _list([_expression(name) for name in databases])
    for kind, patterns in (
        ("include", config.columns.include),
        ("exclude", config.columns.exclude),
    ):
        if patterns:
            properties[f"column.{kind}.list"] = _list([_expression(text) for text in patterns])
    return properties


def table_expressions(include: Sequence[str], exclude: Sequence[str]) -> list[str]:
    r"""Return the regular expressions of the tables that are captured; none means all.

    Debezium takes a list to include or one to exclude, not both, so that the one is written into
    the other.

    Example:
        >>> table_expressions(["public.*"], ["public.audit_*"])
        ['(?!(?:public\\.audit_[^.]*)$)public\\.[^.]*']
    """
    if not include and not exclude:
        return []
    wanted = [_expression(pattern) for pattern in include or ["*.*"]]
    if not exclude:
        return wanted
    unwanted = "|".join(_expression(pattern) for pattern in exclude)
    return [f"(?!(?:{unwanted})$){expression}" for expression in wanted]


def selects(config: CaptureConfig, table: str) -> bool:
    """Whether a table, `schema.table`, is captured."""
    expressions = table_expressions(config.include, config.exclude)
    return not expressions or any(
        re.fullmatch(expression, table, re.IGNORECASE) for expression in expressions
    )


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern stands for a name, `schema.table` or `schema.table.column`.

    Example:
        >>> matches("public.ord*.note", "public.orders.Note"), matches("public.*", "public.a.b")
        (True, False)
    """
    return re.fullmatch(_expression(pattern), name, re.IGNORECASE) is not None


def _expression(pattern: str) -> str:
    special = {"*": "[^.]*", "?": "[^.]"}
    return "".join(special.get(character, re.escape(character)) for character in pattern)


def _list(expressions: Sequence[str]) -> str:
    # Debezium splits the list at commas
    return ",".join(expression.replace(",", r"\,") for expression in expressions)
