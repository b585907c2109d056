"""`tidemark replicator`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from tidemark.capture.jvm import import_jpype
from tidemark.capture.state import CaptureState
from tidemark.errors import ConfigError, TidemarkError
from tidemark.options import project_dir_option, target_option
from tidemark.replicator.background import start_in_background, stop_process
from tidemark.replicator.metrics import metrics_text, serve_metrics
from tidemark.replicator.models import known_models, model_folder
from tidemark.replicator.new_source import write_source
from tidemark.replicator.operated import Operated
from tidemark.replicator.reconcile.cli import reconcile
from tidemark.replicator.removal import drop_copies, forget_position, remove_landed
from tidemark.replicator.show import print_json, print_line, print_report, print_status
from tidemark.run.options import find_project

_VALIDATE_EPILOG = """
\b
Exit codes:
  0    it can be captured; there may be warnings
  1    there are errors
  2    nothing could be checked: the configuration is wrong, the connectors or Java are missing
"""
_START_EPILOG = """
\b
Exit codes:
  0    stopped (SIGTERM, Ctrl-C)
  1    it could not go on: the source failed for longer than `retry_for`, or a table failed and
       `on_failure` is stop
  2    it could not begin: the configuration or the dbt project is wrong, or another process
       operates the source

\b
Examples:
  tidemark replicator start shop
  tidemark replicator start shop --metrics-port 9464
  tidemark replicator start shop --background && tidemark replicator status shop
"""


@click.group()
def replicator() -> None:
    """Mirror databases: sources with `config.meta.tidemark.replicator`."""


replicator.add_command(reconcile)


@replicator.command()
@click.argument("source")
@click.option(
    "--connector",
    type=click.Choice(["postgresql", "mysql", "mariadb", "sqlserver", "oracle"]),
    help="The kind of database.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The host of the database.")
@click.option(
    "--port", type=int, help="The port of the database. Default: the connector's usual port."
)
@click.option("--database", help="The database to mirror.")
@click.option("--user", default="tidemark", show_default=True, help="The user of the database.")
@click.option(
    "--password-env", help="The environment variable with the password. Default: <SOURCE>_PASSWORD."
)
@click.option(
    "--include",
    multiple=True,
    help="A pattern of tables to mirror, such as 'public.*'. May be repeated.",
)
@click.option("--exclude", multiple=True, help="A pattern of tables to leave out. May be repeated.")
@project_dir_option
def create(
    source: str,
    connector: str | None,
    host: str,
    port: int | None,
    database: str | None,
    user: str,
    password_env: str | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    project_dir: Path | None,
) -> None:
    """Write the YAML of a source for you to edit.

    The file is models/<source>/_<source>__source.yml."""
    project = find_project(project_dir or Path.cwd())
    if connector is None:
        raise ConfigError(
            "--connector is missing. Use postgresql, mysql, mariadb, sqlserver or oracle"
        )
    connection: dict[str, Any] = {"host": host}
    if port is not None:
        connection["port"] = port
    if database is not None:
        connection["database"] = database
    connection["user"] = user
    connection["password"] = {"env": password_env or f"{source.upper()}_PASSWORD"}
    settings: dict[str, Any] = {"connector": connector, "connection": connection}
    settings |= {
        name: list(value) for name, value in (("include", include), ("exclude", exclude)) if value
    }
    settings |= {"freshness": "5 minutes", "objective": 99, "retry_for": "10 minutes"}
    description = f"{connector} database {database or ''} at {host}".replace("  ", " ")
    path = write_source(project, source, settings, description)
    click.echo(f"wrote {path.relative_to(project)}")
    click.echo(
        f"next: export {connection['password']['env']}=…; tidemark replicator validate {source}; "
        f"tidemark replicator start {source}",
        err=True,
    )


def _stop_on_signals() -> threading.Event:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


@contextmanager
def _failing_with_1(ctx: click.Context) -> Iterator[None]:
    """End with 1 if work that has begun fails; a wrong configuration is 2, as everywhere."""
    try:
        yield
    except ConfigError:
        raise
    except TidemarkError as error:
        click.echo(f"Error: {error}", err=True)
        ctx.exit(1)


@replicator.command(epilog=_START_EPILOG)
@click.argument("source")
@click.option(
    "--background",
    is_flag=True,
    help="Run in the background. `stop` stops the process, `logs` shows its output.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(1, 65535),
    help="Serve Prometheus metrics on this port of the loopback.",
)
@target_option
@project_dir_option
@click.pass_context
def start(
    ctx: click.Context,
    source: str,
    background: bool,
    metrics_port: int | None,
    target: str | None,
    project_dir: Path | None,
) -> None:
    """Capture and apply until you stop the command."""
    operated = Operated.find(source, project_dir)
    if background:
        options = ["--metrics-port", str(metrics_port)] if metrics_port is not None else []
        options += ["--target", target] if target is not None else []
        click.echo(f"{source}: started, pid {start_in_background(operated, options)}")
        return
    stop = _stop_on_signals()
    with operated.serving(target, stop, print_line) as service, _failing_with_1(ctx):
        if metrics_port is not None:
            serve_metrics(service.collector(), metrics_port)
        print_line(
            f"{source}: started" + (", paused: `resume` goes on" if operated.state.paused else "")
        )
        service.run()
        print_line(f"{source}: stopped")


@replicator.command()
@click.argument("source")
@project_dir_option
def stop(source: str, project_dir: Path | None) -> None:
    """Stop the process that operates a source, as Ctrl-C does."""
    stopped = stop_process(Operated.find(source, project_dir))
    click.echo(f"{source}: stopped" if stopped else f"{source}: not in operation")


@replicator.command(name="run-once")
@click.argument("source")
@target_option
@project_dir_option
@click.pass_context
def run_once(ctx: click.Context, source: str, target: str | None, project_dir: Path | None) -> None:
    """Capture what the source has now, apply it, and stop."""
    operated = Operated.find(source, project_dir)
    if operated.state.paused:
        raise ConfigError(
            f"source {source!r} is paused. First run tidemark replicator resume {source}"
        )
    stop = _stop_on_signals()
    with operated.serving(target, stop, print_line) as service, _failing_with_1(ctx):
        succeeded = service.run_once()
    print_status(operated.config.connector, operated.status())
    ctx.exit(0 if succeeded else 1)


@replicator.command()
@click.argument("source")
@project_dir_option
def pause(source: str, project_dir: Path | None) -> None:
    """Pause capture and apply. The process and all positions stay."""
    operated = Operated.find(source, project_dir)
    operated.state.pause()
    click.echo(f"{source}: paused")


@replicator.command()
@click.argument("source")
@project_dir_option
def resume(source: str, project_dir: Path | None) -> None:
    """Resume where the source was paused, and try failed tables again."""
    operated = Operated.find(source, project_dir)
    state = operated.state
    was_paused = state.paused
    state.resume()
    if state.folder.is_dir():
        state.ask_retry()
    running = state.is_open_elsewhere
    click.echo(
        f"{source}: "
        + ("resumed" if was_paused else "was not paused; failing tables are tried again")
    )
    if not running:
        click.echo(f"no process operates it: tidemark replicator start {source}", err=True)


@replicator.command()
@click.argument("source")
@click.option("--json", "as_json", is_flag=True, help="Print all details as JSON.")
@project_dir_option
def status(source: str, as_json: bool, project_dir: Path | None) -> None:
    """Show state, lag, applied events and failures of each table."""
    operated = Operated.find(source, project_dir)
    if as_json:
        print_json(asdict(operated.status()))
    else:
        print_status(operated.config.connector, operated.status())


@replicator.command()
@click.argument("source")
@click.option(
    "--lines", "-n", default=20, show_default=True, help="Show so many lines of each log."
)
@project_dir_option
def logs(source: str, lines: int, project_dir: Path | None) -> None:
    """Show the last lines of each log, and the paths of the logs."""
    for path in Operated.find(source, project_dir).logs:
        if path.exists():
            click.echo(f"==> {path}")
            with path.open(encoding="utf-8", errors="replace") as file:
                for line in file.readlines()[-lines:]:
                    click.echo(line.rstrip("\n"))


@replicator.command()
@click.argument("source")
@project_dir_option
def metrics(source: str, project_dir: Path | None) -> None:
    """Print the metrics in Prometheus' text format."""
    click.echo(metrics_text(Operated.find(source, project_dir).collector()), nl=False)


@replicator.command()
@click.argument("source")
@click.option(
    "--with-tables",
    is_flag=True,
    help="Also drop the copies: current, log, history and all tables beside them.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@target_option
@project_dir_option
def delete(
    source: str, with_tables: bool, yes: bool, target: str | None, project_dir: Path | None
) -> None:
    """Delete a mirror: its position in the database, landed files and models.

    The source's own YAML stays. Without --with-tables the copies stay, and so do the files of their
    models.
    """
    operated = Operated.find(source, project_dir)
    state = operated.state
    if state.is_open_elsewhere:
        raise ConfigError(
            f"source {source!r} is in operation. First run tidemark replicator stop {source}"
        )
    known = known_models(model_folder(operated.project, operated.config))
    models = [model for first in known.values() for model in first.all]
    what = f"the landing folder {operated.landing} and the position in the database"
    if with_tables:
        names = ", ".join(model.name for model in models) or "no models"
        what += f", and tables and models: {names}"
    if not yes:
        click.confirm(f"Delete {what}?", abort=True)
    state.open()
    capture = CaptureState(operated.landing)
    try:
        # nor by `tidemark capture` alone
        capture.open()
        forget_position(operated)
        if with_tables:
            drop_copies(operated, models, target, print_line)
    finally:
        capture.close()
        state.close()
    remove_landed(operated)
    click.echo(f"{source}: deleted {what}")


@replicator.command(epilog=_VALIDATE_EPILOG)
@click.argument("source")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@project_dir_option
@click.pass_context
def validate(ctx: click.Context, source: str, as_json: bool, project_dir: Path | None) -> None:
    """Check a source before the first run, and suggest a fix for each problem."""
    import_jpype()
    operated = Operated.find(source, project_dir)
    login = operated.start_java("validate")
    # it imports jpype, which is an extra
    from tidemark.capture.validate import validate as check

    report = check(operated.config, login)
    if as_json:
        print_json({"source": source, "valid": report.is_good, **asdict(report)})
    else:
        print_report(source, report)
    ctx.exit(0 if report.is_good else 1)
