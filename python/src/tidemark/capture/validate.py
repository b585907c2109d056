"""Can a source be captured? Every problem at once, each with its remedy."""

from __future__ import annotations

from tidemark.capture.checks import binlog, oracle, postgres, sqlserver
from tidemark.capture.checks.findings import Report, error
from tidemark.capture.config import CaptureConfig, Login
from tidemark.capture.database import DatabaseError, connect

_CHECKS = {
    "postgresql": postgres.check,
    "mysql": binlog.check,
    "mariadb": binlog.check,
    "sqlserver": sqlserver.check,
    "oracle": oracle.check,
}


def validate(config: CaptureConfig, login: Login) -> Report:
    """Return what stands in the way of capturing a source. Java must have been started."""
    try:
        with connect(config, login) as database:
            try:
                findings, tables = _CHECKS[config.connector](config, login, database)
            except DatabaseError as refused:
                return Report(
                    [
                        error(
                            str(refused),
                            "the checks could not see everything",
                            "grant the user what is missing",
                        )
                    ],
                    [],
                )
    except DatabaseError as unreachable:
        return Report(
            [
                error(
                    str(unreachable),
                    "capture can read nothing",
                    "check `connection`, the password's environment variable and the firewall",
                )
            ],
            [],
        )
    order = sorted(findings, key=lambda finding: finding.severity)
    return Report(order, tables)
