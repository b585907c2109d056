"""Options that several commands have."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidemark.errors import TidemarkError

if TYPE_CHECKING:
    from pydantic import BaseModel


class WordsOption(click.Option):
    """An option that takes every word up to the next option, as dbt's --select does."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Read several words by it."""
        super().add_to_parser(parser, ctx)
        for name in self.opts:
            known = parser._long_opt.get(name) or parser._short_opt.get(name)
            known.process = _taking_words(known.process, tuple(known.prefixes))


def _taking_words(process: Any, prefixes: tuple[str, ...]) -> Any:
    def take(value: str, state: Any) -> None:
        process(value, state)
        while state.rargs and not state.rargs[0].startswith(prefixes):
            process(state.rargs.pop(0), state)

    return take


project_dir_option = click.option(
    "--project-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of dbt_project.yml. Default: this folder or the nearest one above.",
)
profiles_dir_option = click.option(
    "--profiles-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of profiles.yml. Default: DBT_PROFILES_DIR, the project, its "
    "profiles/, ~/.dbt.",
)
target_option = click.option("--target", "-t", help="dbt's --target.")
vars_option = click.option("--vars", "vars_text", metavar="YAML", help="dbt's --vars.")
select_option = click.option(
    "--select",
    "-s",
    cls=WordsOption,
    multiple=True,
    help="dbt's --select: one or more, also of several words. May be repeated.",
)
exclude_option = click.option(
    "--exclude",
    cls=WordsOption,
    multiple=True,
    help="dbt's --exclude: one or more, also of several words. May be repeated.",
)
verbose_option = click.option(
    "--verbose", "-v", is_flag=True, help="Show dbt's own lines, on stderr."
)


def count_option(name: str, default: int, text: str, least: int = 1) -> Callable[[Any], Any]:
    """Return an option that says how many of something a command shows.

    Args:
        name: The option, such as `--limit`.
        default: How many, where it is not given.
        text: Its help.
        least: The smallest number that it takes.
    """
    return click.option(
        name,
        type=click.IntRange(min=least),
        default=default,
        show_default=True,
        metavar="N",
        help=text,
    )


samples_option = count_option("--samples", 3, "Show the differences of so many keys.", 0)
days_option = count_option("--days", 90, "Show loads and changed columns of so many days.")
markdown_option = click.option(
    "--markdown", is_flag=True, help="Print Markdown for a pull request."
)


def schema_option(model: type[BaseModel]) -> Callable[[Any], Any]:
    """Return the option that prints the JSON Schema of what a command's --json prints."""

    def show(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
        if is_asked:
            click.echo(json.dumps(model.model_json_schema(), indent=2))
            ctx.exit()

    return click.option(
        "--schema",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Print the JSON Schema of --json, and nothing else.",
    )


EXIT_DIFFERENT = 2
"""What a JudgingCommand exits with where something differs, or would change."""


class _Mistake(click.UsageError):
    exit_code = 1


class JudgingCommand(click.Command):
    """A command whose every mistake exits with 1, as 2 says that something differs."""

    def make_context(self, *arguments: Any, **named: Any) -> click.Context:
        """Read the command line."""
        try:
            return super().make_context(*arguments, **named)
        except click.UsageError as error:
            raise _Mistake(error.format_message(), error.ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except TidemarkError as error:
            raise click.ClickException(str(error)) from error
        except click.UsageError as error:
            raise _Mistake(error.format_message(), error.ctx) from error
