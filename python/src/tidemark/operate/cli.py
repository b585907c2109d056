"""`tidemark rollback`, `restate`, `rehash`, `rebuild`, `savepoint`, `clean`, `compact`, `erase`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click
import yaml
from rich.console import Console

from tidemark.errors import ConfigError
from tidemark.operate.call import Asked, Operation, operate, with_key
from tidemark.options import profiles_dir_option, project_dir_option, target_option, vars_option
from tidemark.read.project import Entity
from tidemark.run.invoke import Invoker
from tidemark.run.options import prepare_environment, project_options

END = """
The command says what it would do, and asks before it does it. With --yes it does not ask.

\b
Exit codes:
  0    done, or nothing to do, or --dry-run
  1    you said no
  2    refused, or the project is wrong; nothing was done
  3    it stopped on the way: what was done before stays done, and calling it again goes on
  130  interrupted
"""


def operating(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command what all of them have."""
    for option in (
        target_option,
        profiles_dir_option,
        project_dir_option,
        vars_option,
        click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation."),
        click.option(
            "--dry-run", is_flag=True, help="Show what the command would do, and do nothing."
        ),
    ):
        command = option(command)
    return command


def _of_one(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an entity, too."""
    return operating(click.argument("entity")(command))


@click.command(
    epilog=END
    + """
\b
Examples:
  tidemark rollback airports --to 2026-02-05
  tidemark rollback airports --to 260304093000123 --together --yes
"""
)
@click.option(
    "--to", metavar="MOMENT", required=True, help="A commit id, a business date or a time."
)
@click.option(
    "--together", is_flag=True, help="Also roll back what the same runs wrote to other entities."
)
@_of_one
def rollback(entity: str, to: str, together: bool, **how: Any) -> None:
    """Roll an entity back to a commit, to a date's first load, or to a time."""
    arguments = {"to": _moment(to), "together": together or None}
    _operate(entity, lambda one: Operation("rollback", one.name, arguments), how)


@click.command(
    epilog=END
    + """
\b
Example:
  tidemark restate airports --from 2026-02-05
"""
)
@click.option(
    "--from", "since", metavar="DATE", required=True, help="The first business date to load."
)
@_of_one
def restate(entity: str, since: str, **how: Any) -> None:
    """Load all dates from one date on again, from the extracts that still exist."""
    _operate(entity, lambda one: Operation("restate", one.name, {"from": since}), how)


@click.command(
    epilog=END
    + """
\b
Example:
  tidemark rehash airports --drop fax
"""
)
@click.option(
    "--drop",
    metavar="COLUMN",
    multiple=True,
    help="Drop this column, which extracts no longer have.",
)
@_of_one
def rehash(entity: str, drop: tuple[str, ...], **how: Any) -> None:
    """Rewrite a log with the hashes of today's configuration, without new versions."""
    arguments = {"drop": list(drop) or None}
    _operate(entity, lambda one: Operation("rehash", one.name, arguments), how)


@click.command(
    epilog=END
    + """
\b
Example:
  tidemark rebuild airports
"""
)
@_of_one
def rebuild(entity: str, **how: Any) -> None:
    """Rebuild an entity's current table from its log, such as after a damaged file."""
    _operate(entity, lambda one: Operation("rebuild", one.name), how)


@click.command(
    epilog=END
    + """
\b
Examples:
  tidemark savepoint airports --name "year end"
  tidemark savepoint airports --name "year end" --remove
"""
)
@click.option("--commit", type=int, metavar="ID", help="The commit to keep. Default: the last one.")
@click.option("--name", metavar="TEXT", help="The name of the savepoint.")
@click.option("--remove", is_flag=True, help="Remove the savepoint.")
@_of_one
def savepoint(entity: str, commit: int | None, name: str | None, remove: bool, **how: Any) -> None:
    """Keep a commit, so that `clean` leaves what it shows."""
    arguments = {"commit": commit, "name": name, "remove": remove or None}
    _operate(entity, lambda one: Operation("savepoint", one.name, arguments), how)


@click.command(
    epilog=END
    + """
\b
Examples:
  tidemark clean airports
  tidemark clean airports --retention 'superseded: 30 days' --vacuum
"""
)
@click.option(
    "--retention",
    metavar="YAML",
    help="Use this retention in place of the settings, such as 'superseded: 30 days'.",
)
@click.option("--vacuum", is_flag=True, help="Also remove files of older table versions.")
@_of_one
def clean(entity: str, retention: str | None, vacuum: bool, **how: Any) -> None:
    """Remove what the retention settings no longer keep."""
    kept = None
    if retention is not None:
        try:
            kept = yaml.safe_load(retention)
        except (yaml.YAMLError, ValueError):
            kept = None
        if not isinstance(kept, dict):
            raise ConfigError(
                "--retention must be a YAML mapping such as 'superseded: 30 days', "
                f"found: {retention!r}"
            )
    arguments = {"retention": kept, "vacuum": vacuum or None}
    _operate(entity, lambda one: Operation("clean", one.name, arguments), how)


@click.command(
    epilog=END
    + """
\b
Example:
  tidemark compact airports --target-file-size '256 MB' --max-partitions 10
"""
)
@click.option(
    "--target-file-size", metavar="SIZE", help="The size of a file, such as '128 MB', the default."
)
@click.option(
    "--max-partitions",
    type=click.IntRange(min=1),
    metavar="N",
    help="Compact at most so many partitions of the log.",
)
@_of_one
def compact(
    entity: str, target_file_size: str | None, max_partitions: int | None, **how: Any
) -> None:
    """Compact small files of an entity's tables."""
    arguments = {"target_file_size": target_file_size, "max_partitions": max_partitions}
    _operate(entity, lambda one: Operation("compact", one.name, arguments), how)


@click.command(
    epilog=END
    + """
\b
Examples:
  tidemark erase airports WIPO
  tidemark erase order_lines 4711 2 --vacuum     # a key of two columns
  tidemark erase order_lines 4711 NULL           # one without a value; "'NULL'" is that text
"""
)
@_of_one
@click.argument("key", nargs=-1, required=True)
@click.option(
    "--vacuum",
    is_flag=True,
    help="Also remove files of older table versions. This ends time travel.",
)
def erase(entity: str, key: tuple[str, ...], vacuum: bool, **how: Any) -> None:
    """Erase the rows of one key from all tables of an entity and from derived tables."""
    arguments, confirmed = {"vacuum": vacuum or None}, {"confirm": True}
    # dbt logs how its process was called
    sys.argv[:] = ["***" if word in key else word for word in sys.argv]

    def call(one: Entity) -> Operation:
        operation = Operation("erase_key", one.name, arguments, confirmed)
        return with_key(operation, one, key)

    _operate(entity, call, how)


def _operate(entity: str, call: Callable[[Entity], Operation], how: dict[str, Any]) -> None:
    with_project(how, lambda invoker, asked: operate(invoker, asked, call, entity))


def with_project(how: dict[str, Any], act: Callable[[Invoker, Asked], int], **others: Any) -> None:
    """Parse the project while Spark starts, do something with it, and exit by what that returns.

    Args:
        how: What the options of operating() were given.
        act: What is done, by how far to go.
        **others: What else is asked for, by its name in RunOptions.
    """
    from tidemark.spark.session import session_expected

    names = ("vars_text", "project_dir", "profiles_dir", "target")
    options = project_options(*(how[name] for name in names), **others)
    prepare_environment(options.project_dir)
    asked = Asked(how["dry_run"], how["yes"], can_ask=_can_ask())
    talk = Console(stderr=True)
    invoker = Invoker(options, talk)
    # Spark starts while dbt parses the project
    with session_expected():
        with talk.status("reading the project …"):
            is_parsed = invoker.parse()
        code = act(invoker, asked) if is_parsed else 2
    click.get_current_context().exit(code)


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _moment(text: str) -> Any:
    """Return a moment as YAML would: a commit id is a number."""
    return int(text) if text.isdigit() else text
