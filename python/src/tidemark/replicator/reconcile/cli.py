"""`tidemark replicator reconcile`."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from pathlib import Path

import click

from tidemark.errors import ConfigError
from tidemark.options import project_dir_option, target_option
from tidemark.replicator.operated import Operated
from tidemark.replicator.show import print_line

_EPILOG = """
\b
Exit codes:
  0    all tables are equal, perhaps after a repair
  1    something differs
  2    something could not be compared, or nothing could begin

\b
The command captures and applies nothing while it compares. Changes of the source since the last
capture would be differences, so catch up first, or give --settle:
  tidemark replicator stop shop; tidemark replicator run-once shop
  tidemark replicator reconcile shop --settle 30

\b
Examples:
  tidemark replicator reconcile shop --table public.orders --json
  tidemark replicator reconcile shop --repair
"""


@click.command(epilog=_EPILOG)
@click.argument("source")
@click.option(
    "--table",
    "tables",
    multiple=True,
    help="Compare this table, schema.table. May be repeated. Default: all tables.",
)
@click.option(
    "--buckets",
    type=click.IntRange(1, 1_000_000),
    default=64,
    show_default=True,
    help="Hash a table in so many buckets. The command reads the rows of buckets that differ.",
)
@click.option(
    "--examples",
    type=click.IntRange(0, 1000),
    default=5,
    show_default=True,
    help="Show so many keys of each table.",
)
@click.option(
    "--settle",
    type=click.FloatRange(0),
    default=0,
    show_default=True,
    help="If a table differs, wait so many seconds, capture and apply again, and "
    "compare again. A paused process does not capture. Only rows that differ "
    "both times count.",
)
@click.option(
    "--repair",
    is_flag=True,
    help="Land events that repair the copies, apply them, and compare again.",
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
    """Compare each mirrored table with its copy.

    The database and Spark hash the rows in buckets, so no table goes over the network. The command
    then compares the rows of buckets that differ.
    """
    operated = Operated.find(source, project_dir)
    elsewhere = operated.state.is_open_elsewhere
    if elsewhere and not operated.state.paused:
        raise ConfigError(
            f"a process operates source {source!r}, and both sides would move. First run tidemark "
            f"replicator stop {source} (or pause {source}, if two processes can use the metastore)"
        )
    if elsewhere and repair:
        raise ConfigError(
            f"--repair applies events itself. First run tidemark replicator stop {source}"
        )
    if repair and operated.config.connector in ("sqlserver", "oracle"):
        raise ConfigError(
            f"--repair is not for {operated.config.connector}: the texts that its rows would have "
            "are not tested against a server. Use --resnapshot of the table"
        )
    # these import jpype, which is an extra
    from tidemark.replicator.reconcile.run import Options
    from tidemark.replicator.reconcile.work import Work, print_outcome

    never = threading.Event()
    serving = nullcontext(None) if elsewhere else operated.serving(target, never, print_line)
    with serving as service:
        work = Work(operated, target, Options(tables, buckets, examples), service, print_line)
        outcome = work.run(settle=settle, repair=repair)
    ctx.exit(print_outcome(source, outcome, as_json=as_json))
