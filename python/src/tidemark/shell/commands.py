"""The commands of the shell: those of `tidemark` that fit, and its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click
from rich.console import Console

from tidemark.cli import COMMANDS, LazyGroup
from tidemark.console import stdout_console
from tidemark.errors import ConfigError
from tidemark.options import (
    count_option,
    exclude_option,
    select_option,
    target_option,
    vars_option,
    verbose_option,
)
from tidemark.run.dates import parse_business_dates
from tidemark.run.options import parse_vars
from tidemark.shell.lines import Leave
from tidemark.shell.query import json_rows, query_rows, render_rows
from tidemark.shell.warm import Warm

# they are processes of their own, make a project, or are this one
NOT_OFFERED = {"capture", "connectors", "demo", "replicator", "shell"}
DEFAULT_ROWS = 20


class ShellGroup(LazyGroup):
    """The commands of the shell."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return what can be called."""
        ours = [name for name in super().list_commands(ctx) if name not in NOT_OFFERED]
        return sorted({*ours, *OWN})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name in OWN:
            return OWN[cmd_name]
        return None if cmd_name in NOT_OFFERED else super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; of one that is not for the shell, say so."""
        if args[0] in NOT_OFFERED & COMMANDS.keys():
            raise click.UsageError(
                f"the shell has no `{args[0]}`: call `tidemark {args[0]}` in another terminal",
                ctx,
            )
        return super().resolve_command(ctx, args)


@click.command()
@click.argument("query", nargs=-1, type=click.UNPROCESSED)
@count_option("--limit", DEFAULT_ROWS, "Show so many rows.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def sql(warm: Warm, query: tuple[str, ...], limit: int, as_json: bool) -> None:
    """Run a query through Spark and show its first rows.

    All after the options is the query, as it is written. Tables without a schema are those of the
    profile's schema. What is sensitive is shown to who asks for it: <entity>__sensitive.

    \b
    Examples:
      sql select * from airports limit 5
      sql --limit 100 select _operation, count(*) from airports__history group by all
    """
    if not query:
        raise ConfigError("sql needs a query, such as: sql select * from airports")
    invoker = warm.parsed()
    schema = str(invoker.config.credentials.schema)
    with Console(stderr=True).status("asking Spark …"):
        rows = query_rows(invoker.session(), schema, " ".join(query), limit)
    if as_json:
        click.echo(json_rows(rows))
    elif rows.columns:
        stdout_console().print(render_rows(rows))
    if rows.has_more:
        click.echo(f"the first {limit} rows; more with --limit", err=True)


@click.command()
@click.argument("names", metavar="[ENTITY]...", nargs=-1)
@select_option
@exclude_option
@click.option("--business-date", "date_text", metavar="DATE", help="For tests that need one.")
@vars_option
@target_option
@verbose_option
@click.pass_context
def test(
    ctx: click.Context,
    names: tuple[str, ...],
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    date_text: str | None,
    vars_text: str | None,
    target: str | None,
    verbose: bool,
) -> None:
    """Run dbt's tests: of some entities, of a selection, or all.

    Unit tests run by `tidemark test` outside of the shell.

    \b
    Examples:
      test airports
      test --select airports+
    """
    from tidemark.run.cli import run_dates

    warm: Warm = ctx.obj
    options = replace(
        warm.options,
        dates=parse_business_dates([date_text] if date_text is not None else []),
        select=[*names, *select],
        exclude=list(exclude),
        vars=parse_vars(vars_text) if vars_text is not None else warm.options.vars,
        target=target if target is not None else warm.options.target,
        test=True,
        verbose=verbose,
    )
    ctx.exit(run_dates(options, Console(stderr=True), stdout_console()))


@click.command("reload")
@click.pass_context
def reload_(ctx: click.Context) -> None:
    """Have dbt read every file of the project and its packages again.

    What is saved in the project itself is noticed anyway.
    """
    warm: Warm = ctx.obj
    ctx.exit(0 if warm.reload() else 2)


@click.command("help")
@click.argument("name", metavar="[COMMAND]", required=False)
@click.pass_context
def help_(ctx: click.Context, name: str | None) -> None:
    """Tell what commands there are, or what one of them takes."""
    group: Any = ctx.parent.command if ctx.parent is not None else None
    below = click.Context(group, info_name="tidemark")
    if name is not None:
        command = group.resolve_command(below, [name])[1]
        click.echo(command.get_help(click.Context(command, parent=below, info_name=name)))
        return
    formatter = below.make_formatter()
    formatter.write_dl(list(described_commands(group).items()))
    click.echo(formatter.getvalue(), nl=False)
    click.echo("\nTab completes; Ctrl-C ends a command, Ctrl-D the shell; `help run` tells more.")


@click.command("exit")
def exit_() -> None:
    """End the shell, as Ctrl-D does."""
    raise Leave


OWN: dict[str, click.Command] = {
    "exit": exit_,
    "help": help_,
    "reload": reload_,
    "sql": sql,
    "test": test,
}


def described_commands(group: click.Group) -> dict[str, str]:
    """Return what each command does, by its name.

    Args:
        group: Whose.
    """
    ctx = click.Context(group)
    found = {}
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        found[name] = command.get_short_help_str(limit=80) if command is not None else ""
    return found
