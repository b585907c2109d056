"""`tidemark report`."""

from __future__ import annotations

import csv
import datetime as dt
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tidemark.diff.cli import compared
from tidemark.diff.columns import Asked
from tidemark.errors import ConfigError
from tidemark.home import tidemark_home, write_private
from tidemark.options import days_option
from tidemark.read.cli import (
    choosing,
    chosen_entities,
    open_project,
    reading,
    selected_entities,
    statuses_of,
)
from tidemark.read.commits import read_commits
from tidemark.read.project import KnownProject
from tidemark.report.collect import collected
from tidemark.report.data import Report

_EPILOG = """
The command reads the tables without Spark, and leaves out what only Spark knows. The page needs no
network and no server: open it, print it, send it.

\b
Examples:
  tidemark report
  tidemark report --key airports:WIPO --output airports.html airports
  tidemark report --diff shop_base shop
  tidemark report --json | jq '.entities[] | select(.state == "failed")'
"""


@click.command(epilog=_EPILOG)
@choosing
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file of the page. Default: report.html in TIDEMARK_HOME.",
)
@days_option
@click.option(
    "--key",
    "key_texts",
    metavar="ENTITY:KEY",
    multiple=True,
    help="Show every version of the row with this key. Separate the columns of a key "
    "by commas, and quote a value that has a comma. May be repeated.",
)
@click.option(
    "--diff",
    "sides",
    nargs=2,
    metavar="A B",
    multiple=True,
    help="Show what differs between two tables, moments or schemas, named as in "
    "`tidemark diff`. May be repeated.",
)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of --json, and nothing else.")
@reading
def report(
    names: Sequence[str],
    output: Path | None,
    days: int,
    key_texts: Sequence[str],
    sides: Sequence[tuple[str, str]],
    schema: bool,
    as_json: bool,
    **where: Any,
) -> None:
    """Write an HTML page: the state of all entities, what changed, what is open."""
    if schema:
        click.echo(json.dumps(Report.model_json_schema(), indent=2))
        return
    project, tables = open_project(where)
    chosen = selected_entities(project, names, where)
    keys = [_key(project, text) for text in key_texts]
    commits = read_commits(tables)
    now = dt.datetime.now(dt.UTC)
    statuses = statuses_of(project, tables, chosen, commits)
    found = collected(project, tables, statuses, commits, now, days, keys)
    found.differences = [compared(project, tables, a, b, Asked()) for a, b in sides]
    if as_json:
        click.echo(found.model_dump_json(indent=2))
        return
    for (name, key), history in zip(keys, found.keys, strict=True):
        if not history.versions:
            raise ConfigError(
                f"{name} never had a row with the key {', '.join(key)}. Check the spelling"
            )
    from tidemark.report.page import page

    path = output or tidemark_home().root / "report.html"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, page(found))
    except PermissionError as error:
        raise ConfigError(
            f"{error.filename} cannot be written ({error.strerror}): say with --output where the "
            "page is to lie"
        ) from error
    click.echo(path)


def _key(project: KnownProject, text: str) -> tuple[str, list[str]]:
    name, colon, key = text.partition(":")
    if not colon or not name or not key:
        raise ConfigError(
            f"--key must be an entity and a key, such as airports:WIPO, found: {text!r}"
        )
    (entity,) = chosen_entities(project, [name])
    return name, [key] if len(entity.key) == 1 else next(csv.reader([key]))
