"""`tidemark serve`."""

from __future__ import annotations

import os
import signal
import socket
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidemark.errors import ConfigError, TidemarkError
from tidemark.home import tidemark_home
from tidemark.options import (
    days_option,
    profiles_dir_option,
    project_dir_option,
    target_option,
    vars_option,
)
from tidemark.read.cli import open_project, options_of

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

    from tidemark.serve.live import Live

_INSTALL = "install it with: pip install 'dbt-tidemark[serve]'"
_HOSTS = ("127.0.0.1", "::1")
_PORT = 8247

_EPILOG = """
Whoever opens the printed address on this machine sees the page. From another machine, use ssh -L.
The page only shows things, unless you give --allow-actions. Ctrl-C ends it.

\b
Examples:
  tidemark serve --open
  tidemark serve --allow-actions --port 0
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--host",
    default=_HOSTS[0],
    show_default=True,
    help="The address: 127.0.0.1 or ::1. Other machines cannot reach the page.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"The port; 0 means any free one. Default: {_PORT}, or any free port.",
)
@click.option("--open", "is_opened", is_flag=True, help="Open the page in the browser.")
@click.option(
    "--allow-actions",
    is_flag=True,
    help="Allow the page to apply and discard plans, and to pause and resume replicators.",
)
@days_option
@vars_option
@project_dir_option
@profiles_dir_option
@target_option
def serve(
    host: str,
    port: int | None,
    is_opened: bool,
    allow_actions: bool,
    days: int,
    **where: Any,
) -> None:
    """Serve a live version of the report to this machine.

    The page adds to the report: current runs, every version of a row by its key, and rows as of a
    date or a commit. It also shows rejects, plans, replicators and the end of the log. It reads
    tables without Spark.
    """
    if host not in _HOSTS:
        raise ConfigError(
            f"--host must be 127.0.0.1 or ::1, found: {host}. The page is for this machine; "
            f"from another one use ssh -L {port or _PORT}:127.0.0.1:{port or _PORT} HOST"
        )
    _check_installed()
    listening = bound(host, port)
    try:
        project, _ = open_project(where)
        from tidemark.serve.actions import Applying
        from tidemark.serve.app import application
        from tidemark.serve.gate import Keys
        from tidemark.serve.live import Live

        keys = Keys.made(host, listening.getsockname()[1], allow_actions)
        log = Path(os.environ["DBT_LOG_PATH"]).absolute() / "dbt.log"
        live = Live(project, options_of(where), days, log)
        applying = Applying(project.root, tidemark_home())
        click.echo(keys.address)
        # for many entities it takes a while: it is begun before somebody asks
        threading.Thread(target=_read_ahead, args=(live,), daemon=True).start()
        if is_opened:
            # a browser of the terminal stays until it is left
            threading.Thread(target=_open_browser, args=(keys.opened,), daemon=True).start()
        try:
            run_server(application(live, applying, keys), listening)
        finally:
            applying.close()
    finally:
        listening.close()


def _read_ahead(live: Live) -> None:
    # who asks is told what is wrong
    with suppress(TidemarkError):
        live.report()


def _open_browser(address: str) -> None:
    if not webbrowser.open(address):
        click.echo("no browser was found: open the address above", err=True)


def bound(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens at a port: that one, or if none is named the usual one or any.

    Raises:
        ConfigError: The port that is named is taken, or the machine has no such address.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in (_PORT, 0) if port is None else (port,):
        try:
            found = socket.socket(family, socket.SOCK_STREAM)
            # a port that was used a moment ago may be used again
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind((host, number))
            # two may be bound to a port, of which only one can listen
            found.listen(128)
        except OSError as error:
            found.close()
            if port is not None:
                raise ConfigError(f"{host} port {number}: {error.strerror}") from error
            if number == 0:
                raise ConfigError(
                    f"no port can be opened at {host}. Choose another with --port: {error.strerror}"
                ) from error
            click.echo(f"port {number} is taken: any free one is used", err=True)
            continue
        return found
    raise AssertionError("the last try returns or raises")


def run_server(app: ASGIApp, listening: socket.socket) -> None:
    """Answer requests until Ctrl-C or SIGTERM.

    Args:
        app: What answers.
        listening: Where.
    """
    server = server_of(app)
    # the server raises the signal again that ended it
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: None)
    try:
        server.run(sockets=[listening])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def server_of(app: ASGIApp) -> uvicorn.Server:
    """Return the server, as it serves a page on the loopback."""
    import uvicorn

    config = uvicorn.Config(
        app,
        # requests are not logged: the first has the token
        access_log=False,
        log_config=None,
        lifespan="off",
        ws="none",
        # the loopback has no proxies to believe
        proxy_headers=False,
        server_header=False,
        limit_concurrency=100,
        timeout_graceful_shutdown=3,
    )
    return uvicorn.Server(config)


def _check_installed() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"serve needs the Python package {error.name}: {_INSTALL}") from error
