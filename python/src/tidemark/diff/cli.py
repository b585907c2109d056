"""`tidemark diff`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from tidemark.console import stdout_console
from tidemark.diff.columns import Asked
from tidemark.diff.model import Differences
from tidemark.diff.rows import compare_rows
from tidemark.diff.sides import DatabaseTable, Schema, side_of
from tidemark.errors import ConfigError
from tidemark.options import (
    EXIT_DIFFERENT,
    JudgingCommand,
    markdown_option,
    samples_option,
    schema_option,
)
from tidemark.read.cli import READ, chosen_entities, open_project, reading
from tidemark.read.project import KnownProject
from tidemark.read.show import show_difference
from tidemark.read.tables import Tables
from tidemark.read.values import json_value
from tidemark.read.versions import difference_of
from tidemark.run.dates import parse_business_dates

_EQUAL, _FAILED = 0, 1

_EPILOG = (
    READ
    + """
\b
A and B are:
  airports                 an entity as it is now
  airports@2026-03-04      an entity at the end of a business date
  airports@commit:123      an entity as it was known at a commit
  airports__log            a table beside an entity
  shop.airports            a table of the warehouse
  shop                     a schema: each entity that both have is compared
  crm:public.customers     a table of the database that source crm mirrors

\b
With DATE the command compares two business dates, by the hashes of the log:
  tidemark diff airports 2025-09-09 2026-03-04

\b
Exit codes:
  0    equal; with DATE also where something differs
  1    an error, or something could not be compared
  2    something differs
  130  interrupted

\b
Examples:
  tidemark diff airports@2026-02-05 airports --samples 10
  tidemark diff shop shop_dev --markdown
  tidemark diff staging.orders shop.orders --key order_id --ignore loaded_at
  tidemark diff crm:public.customers customers --json
"""
)


@click.command(epilog=_EPILOG, cls=JudgingCommand)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.argument("last", metavar="[DATE]", required=False)
@samples_option
@click.option(
    "--key",
    metavar="COLUMN,…",
    help="The key columns, by which rows are compared. Default: the model's unique_key.",
)
@click.option("--ignore", metavar="COLUMN,…", help="Do not compare these columns.")
@click.option(
    "--all-columns",
    is_flag=True,
    help="Also compare columns that Tidemark adds, such as _commit_id.",
)
@markdown_option
@schema_option(Differences)
@reading
def diff(
    a: str,
    b: str,
    last: str | None,
    samples: int,
    key: str | None,
    ignore: str | None,
    all_columns: bool,
    markdown: bool,
    as_json: bool,
    **where: Any,
) -> None:
    """Show what differs between two tables, moments of an entity, or schemas.

    The command shows three parts. First it counts rows that only one side has and rows that differ.
    Then it counts the cells that differ by column. Then it shows some keys with their values. It
    masks sensitive values.
    """
    asked = Asked(_names(key), _names(ignore), all_columns, samples)
    if last is not None:
        _compare_dates(a, b, last, asked, markdown, as_json, where)
        return
    if markdown and as_json:
        raise click.UsageError("--markdown and --json exclude each other. Give one")
    project, tables = open_project(where, needs_commits=False)
    found = compared(project, tables, a, b, asked)
    if as_json:
        click.echo(found.model_dump_json(indent=2))
    elif markdown:
        from tidemark.diff.markdown import as_markdown

        click.echo(as_markdown(found))
    else:
        from tidemark.diff.show import show_differences

        show_differences(found, stdout_console())
    click.get_current_context().exit(
        _FAILED if found.failed else _EQUAL if found.equal else EXIT_DIFFERENT
    )


def compared(project: KnownProject, tables: Tables, a: str, b: str, asked: Asked) -> Differences:
    """Return what differs between two sides, as they are named on the command line.

    Raises:
        ConfigError: Nothing is called so, or the two are not of one kind.
        TableNotReadable: Only Spark reads one of them.
    """
    left, right = (side_of(project, tables, text) for text in (a, b))
    if isinstance(left, Schema) and isinstance(right, Schema):
        from tidemark.diff.schemas import compare_schemas

        return compare_schemas(project, tables, left, right, asked)
    if isinstance(left, Schema) or isinstance(right, Schema):
        for side in (left, right):
            if isinstance(side, Schema) and side.problem:
                raise ConfigError(side.problem)
        schema, other = (a, b) if isinstance(left, Schema) else (b, a)
        raise ConfigError(
            f"{schema} is a schema and {other} is not. Give two schemas, or two tables"
        )
    if isinstance(left, DatabaseTable) or isinstance(right, DatabaseTable):
        from tidemark.diff.database import compare_with_database

        return Differences.of_table(compare_with_database(project, left, right, asked))
    return Differences.of_table(compare_rows(left, right, asked))


def _compare_dates(
    entity: str,
    first: str,
    last: str,
    asked: Asked,
    markdown: bool,
    as_json: bool,
    where: dict[str, Any],
) -> None:
    """Show what differs between two business dates of an entity, by the hashes of its log."""
    if markdown or asked.key or asked.ignore or asked.all_columns:
        raise click.UsageError(
            "--markdown, --key, --ignore and --all-columns need two sides. Write "
            f"{entity}@{first} {entity}@{last}"
        )
    dates = parse_business_dates([first]) + parse_business_dates([last])
    if len(dates) != 2:
        raise ConfigError(f"there must be two dates, found: {first} {last}")
    project, tables = open_project(where)
    (one,) = chosen_entities(project, [entity])
    found = difference_of(tables, one, dates[0], dates[1], asked.samples)
    if as_json:
        click.echo(json.dumps(json_value(asdict(found)), indent=2))
    else:
        show_difference(found, stdout_console())


def _names(text: str | None) -> tuple[str, ...]:
    names = (name.strip() for name in (text or "").split(","))
    return tuple(name for name in names if name)
