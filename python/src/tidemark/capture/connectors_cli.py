"""`tidemark connectors`."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table

from tidemark.capture.connectors import (
    CONNECTORS,
    DEBEZIUM_VERSION,
    connector_jars,
    connectors_folder,
    install,
)
from tidemark.console import stdout_console


@click.group()
def connectors() -> None:
    """Manage the jars of Debezium's connectors for `tidemark capture`."""


@connectors.command("install")
@click.option("--force", is_flag=True, help="Fetch the jars again.")
def install_command(force: bool) -> None:
    """Fetch connectors and database drivers (62 MB) from Maven Central once.

    The command puts them into TIDEMARK_CONNECTORS, by default ~/.cache/tidemark/connectors. Spark's
    Ivy fetches them, so you do not need Maven. TIDEMARK_IVYSETTINGS names an Ivy settings file.
    """
    talk = Console(stderr=True)
    with talk.status("resolving …") as status:
        jars = install(lambda text: status.update(f"fetching connectors: {text}"), force=force)
    talk.print(
        f"Debezium {DEBEZIUM_VERSION}: {len(jars)} jars in {connectors_folder()}",
        highlight=False,
        soft_wrap=True,
    )


@connectors.command("list")
def list_command() -> None:
    """Print the installed connectors, and check their jars."""
    jars = connector_jars()
    table = Table("connector", "jar")
    for name, artifact in CONNECTORS.items():
        found = [jar.name for jar in jars if f"{artifact}-" in jar.name]
        table.add_row(name, found[0] if found else "missing")
    stdout_console().print(table)
