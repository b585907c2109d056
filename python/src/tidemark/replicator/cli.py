"""`tidemark replicator`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tidemark.capture.config import CaptureConfig
from tidemark.capture.connectors import connector_jars
from tidemark.capture.jvm import import_jpype
from tidemark.capture.project import replicator_settings
from tidemark.capture.state import CaptureState
from tidemark.console import stdout_console
from tidemark.errors import ConfigError, TidemarkError
from tidemark.home import Home, tidemark_home
from tidemark.options import project_dir_option, target_option
from tidemark.replicator.apply import Applier
from tidemark.replicator.backlog import Backlog, read_backlog
from tidemark.replicator.metrics import (
    SourceCollector,
    TableFigures,
    metrics_text,
    serve_metrics,
    table_figures,
)
from tidemark.replicator.models import known_models, model_folder
from tidemark.replicator.service import CaptureProcess, Service
from tidemark.replicator.settings import Operation
from tidemark.replicator.state import ReplicatorState
from tidemark.run.cli import RunOptions, find_profiles, find_project, prepare_environment

if TYPE_CHECKING:
    from tidemark.capture.checks.findings import Report

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
_RECONCILE_EPILOG = """
\b
Exit codes:
  0    all tables are equal, perhaps after a repair
  1    something differs
  2    something could not be compared, or nothing could begin

\b
Nothing is captured or applied while it compares. What the source wrote since the last capture
differs, so catch up first, or give --settle:
  tidemark replicator stop shop; tidemark replicator run-once shop
  tidemark replicator reconcile shop --settle 30

\b
Examples:
  tidemark replicator reconcile shop --table public.orders --json
  tidemark replicator reconcile shop --repair
"""
_SOURCE_YAML = """\
# How source {source} is captured and operated. Passwords stay in the environment.
version: 2

sources:
  - name: {source}
    description: {description}
    config:
      meta:
        tidemark:
          replicator:
{settings}
"""


@dataclass(frozen=True)
class Operated:
    """A source with what belongs to it."""

    project: Path
    config: CaptureConfig
    operation: Operation
    home: Home
    landing: Path

    @property
    def state(self) -> ReplicatorState:
        """What is known of its tables."""
        return ReplicatorState(self.landing)

    @property
    def capture_log(self) -> Path:
        """Where the process that captures writes."""
        return self.home.logs / f"replicator-{self.config.source}-capture.log"

    @property
    def log(self) -> Path:
        """Where the operating process writes."""
        return self.home.logs / f"replicator-{self.config.source}.log"


def _operated(source: str, project_dir: Path | None) -> Operated:
    project = find_project(project_dir or Path.cwd())
    config = CaptureConfig.from_dict(source, replicator_settings(project, source))
    home = tidemark_home()
    landing = config.landing(project, home.root).absolute()
    return Operated(project, config, Operation.of(config), home, landing)


@click.group()
def replicator() -> None:
    """Mirror databases: sources with `config.meta.tidemark.replicator`."""


@replicator.command()
@click.argument("source")
@click.option(
    "--connector", type=click.Choice(["postgresql", "mysql", "mariadb", "sqlserver", "oracle"])
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=int, help="Default: the connector's.")
@click.option("--database")
@click.option("--user", default="tidemark", show_default=True)
@click.option(
    "--password-env", help="The environment variable with the password. Default: <SOURCE>_PASSWORD."
)
@click.option(
    "--include", multiple=True, help="Pattern of tables, such as 'public.*'. May be repeated."
)
@click.option("--exclude", multiple=True, help="Pattern of tables. May be repeated.")
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
    """Write the YAML of a source, to be edited: models/<source>/_<source>__source.yml."""
    project = find_project(project_dir or Path.cwd())
    if connector is None:
        raise ConfigError("--connector is missing: postgresql, mysql, mariadb, sqlserver or oracle")
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
    config = CaptureConfig.from_dict(source, settings)
    path = model_folder(project, config) / f"_{source}__source.yml"
    try:
        replicator_settings(project, source)
    except ConfigError:
        pass
    else:
        raise ConfigError(
            f"source {source!r} is there already: edit its YAML, or choose another name"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    text = _SOURCE_YAML.format(
        source=source,
        description=json.dumps(
            f"{connector} database {database or ''} at {host}".replace("  ", " ")
        ),
        settings="\n".join(
            f"            {name}: {json.dumps(value, ensure_ascii=False)}"
            for name, value in settings.items()
        ),
    )
    path.write_text(text, encoding="utf-8")
    click.echo(f"wrote {path.relative_to(project)}")
    click.echo(
        f"next: export {connection['password']['env']}=…; tidemark replicator validate {source}; "
        f"tidemark replicator start {source}",
        err=True,
    )


def _prepare(
    operated: Operated, target: str | None, stop: threading.Event, say: Callable[[str], None]
) -> Service:
    """Return the service of a source; its state is open."""
    import_jpype()
    operated.config.login(os.environ)
    connector_jars()
    prepare_environment()
    state = operated.state
    state.open()
    options = RunOptions(
        dates=[],
        project_dir=operated.project,
        profiles_dir=find_profiles(operated.project),
        target=target,
    )
    applier = Applier(operated.config, operated.operation, state, options, say)
    capture = CaptureProcess(operated.config.source, operated.project, operated.capture_log)
    return Service(operated.config, operated.operation, state, capture, applier, stop, say)


def _say(text: str) -> None:
    click.echo(f"{time.strftime('%H:%M:%S')}  {text}", err=True)


def _stop_on_signals() -> threading.Event:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


@replicator.command(epilog=_START_EPILOG)
@click.argument("source")
@click.option("--background", is_flag=True, help="Return at once; `stop` ends it, `logs` shows it.")
@click.option(
    "--metrics-port",
    type=click.IntRange(1, 65535),
    help="Serve Prometheus' metrics on the loopback.",
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
    """Capture and apply until stopped."""
    operated = _operated(source, project_dir)
    if background:
        _start_in_background(operated, metrics_port, target)
        return
    stop = _stop_on_signals()
    service = _prepare(operated, target, stop, _say)
    try:
        if metrics_port is not None:
            serve_metrics(service.collector(), metrics_port)
        _say(f"{source}: started" + (", paused: `resume` goes on" if operated.state.paused else ""))
        service.run()
        _say(f"{source}: stopped")
    except ConfigError:
        raise
    except TidemarkError as error:
        click.echo(f"Error: {error}", err=True)
        ctx.exit(1)
    finally:
        service.close()


def _start_in_background(operated: Operated, metrics_port: int | None, target: str | None) -> None:
    if operated.state.is_open_elsewhere:
        raise ConfigError(f"source {operated.config.source!r} is in operation already")
    command = [sys.executable, "-m", "tidemark.cli", "replicator", "start", operated.config.source]
    command += ["--project-dir", str(operated.project)]
    command += ["--metrics-port", str(metrics_port)] if metrics_port is not None else []
    command += ["--target", target] if target is not None else []
    operated.log.parent.mkdir(parents=True, exist_ok=True)
    with operated.log.open("ab") as log:
        begun = log.tell()
        process = subprocess.Popen(
            command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
        )
    until = time.monotonic() + 20
    while time.monotonic() < until and process.poll() is None:
        if operated.state.pid == process.pid:
            click.echo(f"{operated.config.source}: started, pid {process.pid}")
            return
        time.sleep(0.2)
    with operated.log.open("rb") as log:
        log.seek(begun)
        raise ConfigError(f"it did not start: {log.read().decode(errors='replace').strip()}")


@replicator.command()
@click.argument("source")
@project_dir_option
def stop(source: str, project_dir: Path | None) -> None:
    """Stop the process that operates a source, as Ctrl-C does."""
    operated = _operated(source, project_dir)
    state = operated.state
    if not state.is_open_elsewhere or state.pid is None:
        click.echo(f"{source}: not in operation")
        return
    os.kill(state.pid, signal.SIGTERM)
    until = time.monotonic() + 120
    while operated.state.is_open_elsewhere and time.monotonic() < until:
        time.sleep(0.2)
    if operated.state.is_open_elsewhere:
        raise ConfigError(f"pid {state.pid} has not ended within 2 minutes")
    click.echo(f"{source}: stopped")


@replicator.command(name="run-once")
@click.argument("source")
@target_option
@project_dir_option
@click.pass_context
def run_once(ctx: click.Context, source: str, target: str | None, project_dir: Path | None) -> None:
    """Capture what is in the source now, apply it, and end."""
    operated = _operated(source, project_dir)
    if operated.state.paused:
        raise ConfigError(f"source {source!r} is paused: tidemark replicator resume {source}")
    stop = _stop_on_signals()
    service = _prepare(operated, target, stop, _say)
    try:
        succeeded = service.run_once()
    except ConfigError:
        raise
    except TidemarkError as error:
        click.echo(f"Error: {error}", err=True)
        ctx.exit(1)
    finally:
        service.close()
    _print_status(operated, operated.state)
    ctx.exit(0 if succeeded else 1)


@replicator.command()
@click.argument("source")
@project_dir_option
def pause(source: str, project_dir: Path | None) -> None:
    """Stop capturing and applying, and keep every position; the process stays."""
    operated = _operated(source, project_dir)
    operated.state.pause()
    click.echo(f"{source}: paused")


@replicator.command()
@click.argument("source")
@project_dir_option
def resume(source: str, project_dir: Path | None) -> None:
    """Go on exactly where it stopped; failing tables are tried again."""
    operated = _operated(source, project_dir)
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


def _backlog(operated: Operated, state: ReplicatorState) -> dict[str, Backlog]:
    after = {table: known.applied_file for table, known in state.tables.items()}
    # a table that is not known yet has nothing in files that were looked at
    start = max(after.values(), default=0)
    return read_backlog(operated.landing, after, start) if operated.landing.is_dir() else {}


@replicator.command()
@click.argument("source")
@click.option("--json", "as_json", is_flag=True, help="Print everything that is known as JSON.")
@project_dir_option
def status(source: str, as_json: bool, project_dir: Path | None) -> None:
    """Show each table: its state, how far it is behind, what was applied, what failed."""
    operated = _operated(source, project_dir)
    state = operated.state
    if as_json:
        capture = CaptureState(operated.landing).read_status()
        figures = table_figures(state, _backlog(operated, state), capture)
        content = {
            "source": source,
            "running": state.is_open_elsewhere,
            "pid": state.pid,
            "paused": state.paused,
            "last_error": state.last_error,
            "freshness_seconds": operated.operation.freshness,
            "objective": operated.operation.objective,
            "capture": capture,
            "tables": [asdict(one) for one in figures],
        }
        click.echo(json.dumps(content, indent=1, ensure_ascii=False))
        return
    _print_status(operated, state)


def _print_status(operated: Operated, state: ReplicatorState) -> None:
    capture = CaptureState(operated.landing).read_status()
    figures = table_figures(state, _backlog(operated, state), capture)
    out = stdout_console()
    running = state.is_open_elsewhere
    process = f"in operation, pid {state.pid}" if running else "no process"
    if state.paused:
        process += ", paused"
    out.print(
        f"{operated.config.source} ({operated.config.connector}): {process}; capture "
        f"{str(capture.get('state', 'never ran')).lower()}, {capture.get('last_file', 0)} files",
        highlight=False,
    )
    for error in dict.fromkeys([state.last_error, capture.get("last_error")]):
        if error:
            out.print(f"last error: {error}", highlight=False, markup=False)
    table = Table(
        "table",
        "model",
        "state",
        "behind",
        "waiting",
        "applied",
        "latency p50/p95",
        "fresh",
        "failures",
    )
    for one in figures:
        table.add_row(*(escape(text) for text in _status_row(one)))
    if figures:
        out.print(table)
    for one in figures:
        if one.last_error:
            again = "not tried again until `resume`" if one.given_up else "is tried again"
            out.print(f"{one.table} ({again}): {one.last_error}", highlight=False, markup=False)
    late = [
        one for one in figures if one.fresh is not None and one.fresh < operated.operation.objective
    ]
    if late:
        out.print(
            f"objective missed ({operated.operation.objective:g} % of the time within "
            f"{operated.operation.freshness:g} s): {', '.join(one.table for one in late)}",
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
        " / ".join(f"{value:.1f} s" for value in one.latency[:2]),
        "" if one.fresh is None else f"{one.fresh:.1f} %",
        str(one.failures),
    ]


@replicator.command(epilog=_RECONCILE_EPILOG)
@click.argument("source")
@click.option(
    "--table", "tables", multiple=True, help="schema.table; may be repeated. Default: all."
)
@click.option(
    "--buckets",
    type=click.IntRange(1, 1_000_000),
    default=64,
    show_default=True,
    help="How many parts of a table are hashed; rows are read of those that differ.",
)
@click.option(
    "--examples",
    type=click.IntRange(0, 1000),
    default=5,
    show_default=True,
    help="How many keys of each table are shown.",
)
@click.option(
    "--settle",
    type=click.FloatRange(0),
    default=0,
    show_default=True,
    help="If something differs: wait so many seconds, capture and apply once more (unless a paused "
    "process operates the source), and look again. What differs both times differs.",
)
@click.option(
    "--repair",
    is_flag=True,
    help="Land events that make the copies equal, apply them, and compare again.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@target_option
@project_dir_option
@click.pass_context
def reconcile(
    ctx: click.Context,
    source: str,
    tables: tuple[str, ...],
    buckets: int,
    examples: int,
    settle: float,
    repair: bool,
    as_json: bool,
    target: str | None,
    project_dir: Path | None,
) -> None:
    """Compare each mirrored table with its copy: hashes of buckets, then rows.

    Hashes are computed in the database and in Spark, so that no table goes over the network.
    """
    operated = _operated(source, project_dir)
    elsewhere = operated.state.is_open_elsewhere
    if elsewhere and not operated.state.paused:
        raise ConfigError(
            f"a process operates source {source!r}, and both sides would move: tidemark replicator "
            f"stop {source} (or pause {source}, if two processes can use the metastore)"
        )
    if elsewhere and repair:
        raise ConfigError(f"--repair applies events itself: tidemark replicator stop {source}")
    if repair and operated.config.connector in ("sqlserver", "oracle"):
        raise ConfigError(
            f"--repair is not for {operated.config.connector}: the texts that its rows would be "
            "made of are not tested against a server"
        )
    from tidemark.replicator.reconcile.cli import Work, print_outcome
    from tidemark.replicator.reconcile.run import Options

    options = Options(tables, buckets, examples)
    service = None if elsewhere else _prepare(operated, target, threading.Event(), _say)
    try:
        work = Work(
            operated.config,
            operated.home,
            CaptureState(operated.landing),
            RunOptions(
                dates=[],
                project_dir=operated.project,
                profiles_dir=find_profiles(operated.project),
                target=target,
            ),
            options,
            service,
            _say,
        )
        outcome = work.run(settle=settle, repair=repair)
    finally:
        if service is not None:
            service.close()
    ctx.exit(print_outcome(source, outcome, as_json=as_json))


@replicator.command()
@click.argument("source")
@click.option("--lines", "-n", default=20, show_default=True, help="How many of each log.")
@project_dir_option
def logs(source: str, lines: int, project_dir: Path | None) -> None:
    """Show the last lines of each log, and where the logs are."""
    operated = _operated(source, project_dir)
    debezium = operated.home.logs / f"capture-{source}.log"
    for path in (operated.log, operated.capture_log, debezium, operated.home.logs / "dbt.log"):
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
    operated = _operated(source, project_dir)
    state = operated.state
    collector = SourceCollector(
        source,
        operated.operation,
        state,
        _backlog(operated, state),
        CaptureState(operated.landing).read_status,
    )
    click.echo(metrics_text(collector), nl=False)


@replicator.command()
@click.argument("source")
@click.option(
    "--with-tables",
    is_flag=True,
    help="Drop the copies too: current, log, history and all beside them.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@target_option
@project_dir_option
def delete(
    source: str, with_tables: bool, yes: bool, target: str | None, project_dir: Path | None
) -> None:
    """End the mirroring: the position in the database, what has landed, and the models go.

    The source's own YAML stays. Without --with-tables the copies stay, and so do the files of their
    models.
    """
    operated = _operated(source, project_dir)
    state = operated.state
    if state.is_open_elsewhere:
        raise ConfigError(f"source {source!r} is in operation: tidemark replicator stop {source}")
    known = known_models(model_folder(operated.project, operated.config))
    what = f"the landing folder {operated.landing} and the position in the database"
    if with_tables:
        names = ", ".join(model.name for model in known.values()) or "no models"
        what += f", and tables and models: {names}"
    if not yes:
        click.confirm(f"Delete {what}?", abort=True)
    state.open()
    try:
        _forget_position(operated)
        if with_tables:
            _drop_tables(operated, [model.name for model in known.values()], target)
            for model in known.values():
                model.path.unlink(missing_ok=True)
                model.body.unlink(missing_ok=True)
    finally:
        state.close()
    if operated.landing.is_dir():
        for path in operated.landing.glob("ev-*.jsonl.gz"):
            path.unlink(missing_ok=True)
        shutil.rmtree(operated.landing / "_state", ignore_errors=True)
    click.echo(f"{source}: deleted {what}")


def _forget_position(operated: Operated) -> None:
    import_jpype()
    login = operated.config.login(os.environ)
    from tidemark.capture.engine import start_java
    from tidemark.capture.sources import make_source

    start_java(connector_jars(), operated.home.logs / f"delete-{operated.config.source}.log")
    make_source(operated.config, login).forget()


def _drop_tables(operated: Operated, models: list[str], target: str | None) -> None:
    from tidemark.run.invoke import Invoker

    prepare_environment()
    options = RunOptions(
        dates=[],
        project_dir=operated.project,
        profiles_dir=find_profiles(operated.project),
        target=target,
    )
    invoker = Invoker(options, Console(stderr=True, quiet=True))
    if not invoker.parse():
        raise ConfigError(
            "the dbt project cannot be parsed, so that no table was dropped: `dbt parse` says why"
        )
    for model in models:
        invoker.ask("drop_entity", {"entity": model}, "tidemark dropped ")
        _say(f"dropped {model}")


@replicator.command(epilog=_VALIDATE_EPILOG)
@click.argument("source")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@project_dir_option
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
    out = stdout_console()
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
