"""`tidemark replicator`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, astuple
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tidemark.capture.config import CaptureConfig
from tidemark.capture.connectors import connector_jars
from tidemark.capture.jvm import import_jpype
from tidemark.capture.project import replicator_settings
from tidemark.home import tidemark_home
from tidemark.run.cli import find_project

if TYPE_CHECKING:
    from tidemark.capture.checks.findings import Report

_VALIDATE_EPILOG = """
\b
Exit codes:
  0    it can be captured; there may be warnings
  1    there are errors
  2    nothing could be checked: the configuration is wrong, the connectors or Java are missing
"""


@click.group()
def replicator() -> None:
    """Mirror databases: sources with `config.meta.tidemark.replicator`."""


@replicator.command(epilog=_VALIDATE_EPILOG)
@click.argument("source")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option(
    "--project-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Where dbt_project.yml lies. Default: this folder or the nearest above it.",
)
@click.pass_context
def validate(ctx: click.Context, source: str, as_json: bool, project_dir: Path | None) -> None:
    """Check a source before anything runs: each problem with what mends it."""
    import_jpype()
    project = find_project(project_dir or Path.cwd())
    config = CaptureConfig.from_dict(source, replicator_settings(project, source))
    login = config.login(os.environ)
    # these import jpype, which is an extra
    from tidemark.capture.engine import start_java
    from tidemark.capture.validate import validate as check

    start_java(connector_jars(), tidemark_home().logs / f"validate-{source}.log")
    report = check(config, login)
    if as_json:
        content = {"source": source, "valid": report.is_good, **asdict(report)}
        click.echo(json.dumps(content, indent=1, ensure_ascii=False))
    else:
        _print(source, report)
    ctx.exit(0 if report.is_good else 1)


def _print(source: str, report: Report) -> None:
    out = Console()
    out = out if out.is_terminal else Console(width=160)
    if report.findings:
        table = Table("severity", "what", "impact", "suggestion", show_lines=True)
        for finding in report.findings:
            table.add_row(*(escape(text) for text in astuple(finding)))
        out.print(table)
    errors = sum(finding.severity == "error" for finding in report.findings)
    out.print(
        f"{source}: {len(report.tables)} tables, {errors} errors, "
        f"{len(report.findings) - errors} warnings",
        highlight=False,
    )
