"""What `tidemark replicator` prints: data on stdout, talk on stderr."""

from __future__ import annotations

import json
import time
from dataclasses import astuple
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from tidemark.capture.checks.findings import Report
from tidemark.console import stdout_console
from tidemark.printable import counted
from tidemark.replicator.metrics import SourceStatus, TableFigures


def print_line(text: str) -> None:
    """Tell what goes on."""
    click.echo(f"{time.strftime('%H:%M:%S')}  {text}", err=True)


def print_json(content: Any) -> None:
    """Print everything."""
    click.echo(json.dumps(content, indent=1, ensure_ascii=False))


def print_status(connector: str, status: SourceStatus) -> None:
    """Print how a source stands, a row per table, and below it what went wrong."""
    out = stdout_console()
    capture = status.capture
    process = f"in operation, pid {status.pid}" if status.running else "no process"
    if status.paused:
        process += ", paused"
    captured = str(capture.get("state", "never ran")).lower()
    since = "; the lag counts from when it stopped" if captured == "stopped" else ""
    out.print(
        f"{status.source} ({connector}): {process}; capture {captured}, "
        f"{counted(capture.get('last_file', 0), 'file')}{since}",
        highlight=False,
    )
    for error in dict.fromkeys([status.last_error, capture.get("last_error")]):
        if error:
            out.print(f"last error: {error}", highlight=False, markup=False)
    for warning in capture.get("warnings") or ():
        out.print(f"Warning: {warning}", highlight=False, markup=False, soft_wrap=True)
    table = Table(
        "table",
        "model",
        "state",
        "behind",
        "waiting",
        "applied",
        "events/s",
        "latency p50/p95",
        "fresh",
        "failures",
    )
    for one in status.tables:
        table.add_row(*(escape(text) for text in _status_row(one)))
    if status.tables:
        out.print(table)
    for one in status.tables:
        if one.last_error:
            again = "`resume` tries again" if one.given_up else "the next application tries again"
            out.print(f"{one.table} ({again}): {one.last_error}", highlight=False, markup=False)
    late = [one for one in status.tables if one.fresh is not None and one.fresh < status.objective]
    if late:
        out.print(
            f"objective missed ({status.objective:g} % of the time within "
            f"{status.freshness_seconds:g} s): {', '.join(one.table for one in late)}",
            highlight=False,
        )


def _status_row(one: TableFigures) -> list[str]:
    return [
        one.table,
        one.model,
        one.state,
        "" if one.lag_seconds is None else f"{one.lag_seconds:.0f} s",
        f"{one.lag_events:,}",
        f"{sum(one.events.values()):,}",
        "" if one.throughput is None else f"{one.throughput:,.0f}",
        " / ".join(f"{value:.1f} s" for value in one.latency[:2]),
        "" if one.fresh is None else f"{one.fresh:.1f} %",
        str(one.failures),
    ]


def print_report(source: str, report: Report) -> None:
    """Print what `validate` has found."""
    out = stdout_console()
    if report.findings:
        table = Table("severity", "what", "impact", "suggestion", show_lines=True)
        for finding in report.findings:
            table.add_row(*(escape(text) for text in astuple(finding)))
        out.print(table)
    errors = sum(finding.severity == "error" for finding in report.findings)
    out.print(
        f"{source}: {counted(len(report.tables), 'table')}, {counted(errors, 'error')}, "
        f"{counted(len(report.findings) - errors, 'warning')}",
        highlight=False,
    )
