"""What is asked of a database before it is captured, and what the answers mean."""

from __future__ import annotations

from typing import Any

import pytest

from tidemark.capture.checks import binlog, oracle, postgres, sqlserver
from tidemark.capture.config import CaptureConfig, Login

CHECKS = {
    "postgresql": postgres,
    "mysql": binlog,
    "mariadb": binlog,
    "sqlserver": sqlserver,
    "oracle": oracle,
}
# the rows that answer a question, by a part of it
Rows = dict[str, list[tuple[Any, ...]]]
LOGIN = Login("h", 1, "tidemark", "p", "shop")


def details(name: str = "shop.t", **changes: Any) -> tuple[Any, ...]:
    """What a good table of PostgreSQL is, but for some properties."""
    good = {
        "identity": "d",
        "persistence": "p",
        "is_readable": True,
        "is_owned": True,
        "is_identified": True,
        "schema": "shop",
        "quoted": name,
    }
    return (name, *{**good, **changes}.values())


# databases that can be captured
GOOD: dict[str, Rows] = {
    "postgresql": {
        "from pg_settings": [
            ("server_version_num", "150018"),
            ("wal_level", "logical"),
            ("max_replication_slots", "10"),
            ("max_wal_senders", "10"),
            ("max_slot_wal_keep_size", "51200"),
        ],
        "select active, wal_status": [],
        "count(*)": [(1,)],
        "rolsuper": [(True,)],
        "format_type": [("shop", "t", True, "id", "integer")],
        "relreplident": [details()],
        "pubinsert": [],
        "has_database_privilege": [(True,)],
    },
    "mysql": {
        "show variables": [
            ("version", "8.4.2"),
            ("log_bin", "ON"),
            ("binlog_format", "ROW"),
            ("binlog_row_image", "FULL"),
            ("server_id", "7"),
            ("binlog_expire_logs_seconds", "2592000"),
        ],
        "show grants": [
            (
                "GRANT SELECT, RELOAD, LOCK TABLES, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO `tidemark`@`%`",
            )
        ],
        "information_schema.tables": [("shop", "t", True, "id", "int(11)")],
    },
    "sqlserver": {
        "is_cdc_enabled": [(1,)],
        "has_perms_by_name": [(1,)],
        "dm_server_services": [("Running",)],
        "is_tracked_by_cdc = 1": [("shop", "t")],
        "is_ms_shipped": [("shop", "t", 1, "id", "int")],
    },
    "oracle": {
        "v$database": [("ARCHIVELOG", "YES")],
        "session_privs": [(name,) for name in oracle._PRIVILEGES],
        "all_log_groups": [("SHOP", "T")],
        "all_tables": [("SHOP", "T", 1, "ID", "NUMBER")],
    },
}
GOOD["mariadb"] = {
    **GOOD["mysql"],
    "show variables": [
        ("version", "10.11.19-MariaDB"),
        *GOOD["mysql"]["show variables"][1:],
        ("expire_logs_days", "0.000000"),
    ],
}


class Answers:
    """A database that gives written answers."""

    def __init__(self, answers: Rows) -> None:
        self._answers = answers

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        for part, rows in self._answers.items():
            if part in sql:
                return rows
        raise AssertionError(f"no answer to {sql}")

    def value(self, sql: str, *values: Any) -> Any:
        rows = self.query(sql)
        return rows[0][0] if rows else None


def found(connector: str, changes: Rows, **settings: Any) -> list[str]:
    connection = {"host": "h", "database": "shop", "user": "tidemark", "password": {"env": "P"}}
    config = CaptureConfig.from_dict(
        "shop",
        {"connector": connector, "connection": connection, "include": ["shop.*"], **settings},
    )
    findings, _ = CHECKS[connector].check(config, LOGIN, Answers({**GOOD[connector], **changes}))
    assert all(finding.impact and finding.suggestion for finding in findings)
    return [f"{finding.severity}: {finding.what} → {finding.suggestion}" for finding in findings]


@pytest.mark.parametrize("connector", CHECKS)
def test_good(connector: str) -> None:
    assert found(connector, {}) == []


def _changed(connector: str, question: str, changes: dict[str, str]) -> Rows:
    return {
        question: [(name, changes.get(name, value)) for name, value in GOOD[connector][question]]
    }


def pg_settings(**changes: str) -> Rows:
    """The answers of a good PostgreSQL, but for some settings."""
    return _changed("postgresql", "from pg_settings", changes)


def variables(**changes: str) -> Rows:
    """The answers of a good MySQL, but for some variables."""
    return _changed("mysql", "show variables", changes)


# by connector: answers that differ from good ones, and how what is found begins
FINDINGS: dict[str, list[tuple[Rows, str]]] = {
    "postgresql": [
        (
            pg_settings(wal_level="replica"),
            "error: wal_level is replica → alter system set wal_level = logical",
        ),
        (
            pg_settings(max_replication_slots="1"),
            "error: all 1 replication slots are in use",
        ),
        (
            pg_settings(max_wal_senders="1"),
            "error: all 1 WAL senders are in use",
        ),
        (
            pg_settings(max_slot_wal_keep_size="-1"),
            "warning: max_slot_wal_keep_size is not set",
        ),
        (
            pg_settings(server_version_num="110000"),
            "error: PostgreSQL",
        ),
        (
            {"select active, wal_status": [(False, "lost")]},
            "error: the replication slot tidemark_shop has lost its log → tidemark capture shop --resnapshot",
        ),
        (
            {"select active, wal_status": [(True, "reserved")]},
            "warning: the replication slot tidemark_shop is in use",
        ),
        (
            {"rolsuper": [(False,)]},
            'error: the user tidemark may not replicate → alter role "tidemark" replication',
        ),
        (
            {"relreplident": [details(is_readable=False)]},
            "error: the user tidemark may not read shop.t → grant usage on schema shop",
        ),
        (
            {"relreplident": [details(persistence="u")]},
            "error: unlogged tables: shop.t",
        ),
        (
            {"relreplident": [details(identity="n", is_identified=False)]},
            "error: tables with replica identity nothing: shop.t",
        ),
        (
            {
                "format_type": [("shop", "t", False, "id", "integer")],
                "relreplident": [details(is_identified=False)],
            },
            "error: tables without primary key and replica identity: shop.t → alter table shop.t replica identity full;",
        ),
        (
            {"relreplident": [details(is_identified=False)]},
            "error: tables whose key is deferrable, which is no replica identity: shop.t → alter table shop.t replica identity full;",
        ),
        (
            {
                "format_type": [("shop", "A Log", False, "id", "integer")],
                "relreplident": [details("shop.A Log", is_identified=False, quoted='shop."A Log"')],
            },
            'error: tables without primary key and replica identity: shop.A Log → alter table shop."A Log" replica identity full;',
        ),
        (
            {"relreplident": [details(is_owned=False)]},
            "error: the user tidemark may not make the publication tidemark_shop: it does not own shop.t → as their owner: create publication tidemark_shop for table shop.t;",
        ),
        (
            {"pubinsert": [(True, False)], "pg_publication_tables": [("shop.u",)]},
            "error: the publication tidemark_shop does not have shop.t",
        ),
        (
            {"pubinsert": [(False, True)], "pg_publication_tables": [("shop.t",)]},
            "error: the publication tidemark_shop leaves out some operations",
        ),
        (
            {"format_type": [("shop", "t", True, "d", "box")]},
            "warning: columns of type box: shop.t.d",
        ),
        (
            {"format_type": [("shpo", "t", True, "d", "int")]},
            "error: no table is selected (include: shop.*) → there are: shpo.t",
        ),
    ],
    "mysql": [
        (
            variables(log_bin="OFF"),
            "error: the server writes no binary log",
        ),
        (
            variables(binlog_format="MIXED"),
            "error: binlog_format is MIXED → set global binlog_format = 'ROW'",
        ),
        (
            variables(binlog_row_image="MINIMAL"),
            "error: binlog_row_image is MINIMAL",
        ),
        (
            variables(server_id="0"),
            "error: server_id is 0",
        ),
        (
            variables(binlog_expire_logs_seconds="3600"),
            "warning: the binary log is kept for 1.0 hours",
        ),
        (
            variables(version="10.11.1-MariaDB"),
            "error: the server is mariadb 10.11.1-MariaDB, the connector is mysql → connector: mariadb",
        ),
        (
            {"show grants": [("GRANT SELECT ON `shop`.* TO `tidemark`@`%`",)]},
            "error: the user tidemark lacks RELOAD, LOCK TABLES, REPLICATION SLAVE, REPLICATION CLIENT → grant reload, lock tables, replication slave, replication client on *.*",
        ),
        (
            {"information_schema.tables": [("shop", "t", False, "id", "int")]},
            "warning: tables without primary key: shop.t",
        ),
    ],
    "sqlserver": [
        (
            {"is_cdc_enabled": [(0,)]},
            "error: change data capture is off in the database shop → exec sys.sp_cdc_enable_db;",
        ),
        (
            {"has_perms_by_name": [(0,)]},
            "error: the user tidemark may not read the schema cdc",
        ),
        (
            {"dm_server_services": [("Stopped",)]},
            "error: SQL Server Agent is Stopped",
        ),
        (
            {"dm_server_services": []},
            "warning: capture cannot see whether SQL Server Agent runs",
        ),
        (
            {"is_tracked_by_cdc = 1": []},
            "error: change data capture is off for shop.t → exec sys.sp_cdc_enable_table @source_schema = N'shop', @source_name = N't'",
        ),
        (
            {"is_ms_shipped": [("shop", "t", 1, "v", "sql_variant")]},
            "warning: columns of type sql_variant: shop.t.v",
        ),
    ],
    "oracle": [
        (
            {"v$database": [("NOARCHIVELOG", "YES")]},
            "error: log_mode is NOARCHIVELOG",
        ),
        (
            {"v$database": [("ARCHIVELOG", "NO")]},
            "error: minimal supplemental logging is off",
        ),
        (
            {"session_privs": [("CREATE SESSION",)]},
            "error: the user tidemark lacks SELECT ANY TRANSACTION",
        ),
        (
            {"all_log_groups": []},
            "error: supplemental logging of all columns is off for SHOP.T → alter table SHOP.T add supplemental log data (all) columns;",
        ),
        (
            {"all_tables": [("SHOP", "T", 0, "C", "CLOB")]},
            "warning: columns of type clob: SHOP.T.C",
        ),
    ],
}


@pytest.mark.parametrize(
    ("connector", "changes", "expected"),
    [(connector, *case) for connector, cases in FINDINGS.items() for case in cases],
)
def test_finding(connector: str, changes: Rows, expected: str) -> None:
    findings = found(connector, changes)
    assert any(text.startswith(expected) for text in findings), findings


def test_a_pattern_without_tables() -> None:
    assert found("mysql", {}, include=["shop.*", "crm.*"])[0].startswith(
        "warning: the pattern crm.* selects no table"
    )


def test_a_pattern_without_columns() -> None:
    columns = {"exclude": ["shop.t.ID", "shop.*.nope"]}
    assert found("mysql", {}, columns=columns) == [
        "warning: the pattern shop.*.nope of `columns` matches no column → there are: shop.t.id"
    ]


def test_all_privileges() -> None:
    assert (
        found(
            "mariadb",
            {"show grants": [("GRANT ALL PRIVILEGES ON *.* TO `tidemark`@`%` WITH GRANT OPTION",)]},
        )
        == []
    )
