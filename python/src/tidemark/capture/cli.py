"""`tidemark capture`."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.markup import escape

from tidemark.capture.config import CaptureConfig
from tidemark.capture.connectors import connector_jars
from tidemark.capture.engine import start_java
from tidemark.capture.jvm import import_jpype
from tidemark.capture.project import replicator_settings
from tidemark.capture.state import CaptureState
from tidemark.defects import report_defect
from tidemark.errors import ConfigError, JavaError, TidemarkError
from tidemark.home import tidemark_home
from tidemark.options import project_dir_option
from tidemark.run.options import find_project

_LOOK_EVERY = 0.5
_EPILOG = """
The source is one of the dbt project, with `config.meta.tidemark.replicator` in its YAML.

\b
Exit codes:
  0    stopped (SIGTERM, Ctrl-C), or caught up with --once
  1    it could not go on: the source, Debezium or the landing folder failed
  2    nothing could be captured: the configuration is wrong, the connectors or Java are missing

\b
Examples:
  tidemark capture shop
  tidemark capture shop --once
  tidemark capture shop --resnapshot
"""


@click.command(epilog=_EPILOG)
@click.argument("source")
@click.option("--once", is_flag=True, help="Land what the source has now, then stop.")
@click.option(
    "--resnapshot",
    is_flag=True,
    help="Forget the position in the log and start with a snapshot. Landed files stay.",
)
@click.option(
    "--landing",
    type=click.Path(file_okay=False, path_type=Path),
    help="The landing folder. Default: the source's `location`.",
)
@click.option(
    "--parent", type=int, hidden=True, help="Stop when this process is no longer the parent."
)
@project_dir_option
def capture(
    source: str,
    once: bool,
    resnapshot: bool,
    landing: Path | None,
    parent: int | None,
    project_dir: Path | None,
) -> None:
    """Land the changes of a database with Debezium until you stop the command."""
    import_jpype()
    project = find_project(project_dir or Path.cwd())
    config = CaptureConfig.from_dict(source, replicator_settings(project, source))
    login = config.login(os.environ)
    home = tidemark_home(project)
    state = CaptureState((landing or config.landing(project, home.root)).absolute())
    jars = connector_jars()
    talk = Console(stderr=True)
    state.open()
    try:
        log = home.logs / f"capture-{source}.log"
        start_java(jars, log)
        # both import jpype, which is an extra
        from tidemark.capture.session import CaptureOptions, Session

        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        if parent is not None:
            threading.Thread(target=_stop_without, args=(parent, stop), daemon=True).start()
        options = CaptureOptions(once=once, resnapshot=resnapshot)
        with Progress(talk) as progress:
            Session(config, login, state, options, stop, progress.show).run()
        talk.print(f"{source}: stopped, what came before has landed", highlight=False)
        code = 0
    except (ConfigError, JavaError):
        raise
    except TidemarkError as error:
        click.echo(f"Error: {error} (details in {log})", err=True)
        code = 1
    except Exception as error:
        click.echo(f"Error: {report_defect(error, f'tidemark capture {source}')}", err=True)
        code = 1
    finally:
        state.close()
    leave(code)


def _stop_without(parent: int, stop: threading.Event) -> None:
    """Stop when the process that started this one has died: nobody else would."""
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY)
    stop.set()


def leave(code: int) -> NoReturn:
    """End the process: threads of Java that have not stopped would keep it for ever."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


class Progress:
    """One line that says how far the capture is: kept up to date, or told now and then."""

    def __init__(self, talk: Console) -> None:
        self._talk = talk
        self._status = talk.status("starting …") if talk.is_terminal else None
        self._shown_state = ""
        self._warned: set[str] = set()

    def __enter__(self) -> Progress:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, status: dict[str, Any]) -> None:
        """Show a status."""
        events = sum(sum(counts.values()) for counts in status["events"].values())
        lag = "" if status["lag_ms"] is None else f", {status['lag_ms'] / 1000:.1f} s behind"
        for warning in status["warnings"]:
            if warning not in self._warned:
                self._warned.add(warning)
                self._talk.print(
                    f"Warning: {warning}", highlight=False, markup=False, soft_wrap=True
                )
        line = (
            f"{status['source']}  {status['state'].lower()}  {events:,} events of "
            f"{len(status['tables'])} tables in {status['last_file']} files{lag}"
        )
        if status["state"] == "FAILING":
            line += f": {status['last_error']}"
        if self._status is not None:
            self._status.update(escape(line))
        elif status["state"] != self._shown_state:
            # a log file: once per state
            self._shown_state = status["state"]
            self._talk.print(line, highlight=False, markup=False, soft_wrap=True)
