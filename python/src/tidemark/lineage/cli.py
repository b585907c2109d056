"""`tidemark lineage` and `tidemark docs`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from tidemark.console import stdout_console
from tidemark.errors import ConfigError
from tidemark.options import (
    exclude_option,
    profiles_dir_option,
    project_dir_option,
    select_option,
    target_option,
    vars_option,
)
from tidemark.run.options import RunOptions, prepare_environment, project_options

_EPILOG = """
Lineage comes from the compiled SQL, the YAML and dbt's catalog.json if there is one
(`tidemark docs` makes one). Spark is not started. The SQL of some models depends on what is stored,
such as a feed: for them, the SQL of the last run counts.

\b
Exit codes:
  0    all was printed
  2    an option or the project is wrong, or the extra `lineage` is missing

\b
Examples:
  tidemark lineage
  tidemark lineage airports
  tidemark lineage --select airports+ --direct
  tidemark lineage --output-format json | jq 'select(.column == "lat")'
  tidemark lineage --openlineage lineage.ndjson
  OPENLINEAGE_URL=http://localhost:5000 tidemark lineage --emit
"""

_DOCS_EPILOG = """
The page is dbt's own. Descriptions of columns are extended in the page, not in your YAML.

\b
Exit codes:
  0    the page was written
  2    an option or the project is wrong, or dbt could not make the catalogue

Without the extra `lineage` the page is made, too, but does not say where columns come from.

\b
Examples:
  tidemark docs
  tidemark docs --offline
"""


def _project_options(command: Callable[..., Any]) -> Callable[..., Any]:
    options = [
        vars_option,
        project_dir_option,
        profiles_dir_option,
        target_option,
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _options(
    vars_text: str | None,
    project_dir: Path | None,
    profiles_dir: Path | None,
    target: str | None,
    select: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
    *,
    needs_extra: bool = True,
) -> RunOptions:
    chosen = {"select": list(select), "exclude": list(exclude)}
    options = project_options(vars_text, project_dir, profiles_dir, target, **chosen)
    prepare_environment(options.project_dir)
    missing = _missing_extra()
    if needs_extra and missing is not None:
        raise ConfigError(f"lineage {missing}")
    return options


def _missing_extra() -> str | None:
    """Say what is missing before a module that needs it is imported; None if nothing is."""
    from importlib.util import find_spec

    if find_spec("openlineage") is not None:
        return None
    return (
        "needs openlineage: install Tidemark with the extra `lineage`, "
        "as in pip install 'dbt-tidemark[lineage]'"
    )


@click.command(epilog=_EPILOG)
@click.argument("names", metavar="[MODEL]...", nargs=-1)
@select_option
@exclude_option
@click.option(
    "--output-format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Print a table, or one JSON object per column.",
)
@click.option(
    "--direct",
    is_flag=True,
    help="In the table, show only columns whose values are used, not those of "
    "conditions and joins.",
)
@click.option(
    "--openlineage",
    "events_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write OpenLineage events to a file, one JSON object per line.",
)
@click.option(
    "--emit",
    is_flag=True,
    help="Send OpenLineage events to the place that OPENLINEAGE_URL or its "
    "configuration file names.",
)
@_project_options
def lineage(
    names: tuple[str, ...],
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    output_format: str,
    direct: bool,
    events_file: Path | None,
    emit: bool,
    vars_text: str | None,
    project_dir: Path | None,
    profiles_dir: Path | None,
    target: str | None,
) -> None:
    """Print which source columns each column of the models comes from.

    Name the models, select them as dbt does, or leave both out for all.
    With --openlineage or --emit the command writes or sends events. It then prints the table only
    if you give --output-format.
    """
    events_file = events_file.absolute() if events_file is not None else None
    options = _options(vars_text, project_dir, profiles_dir, target, (*names, *select), exclude)
    from tidemark.lineage.graph import Lineage
    from tidemark.lineage.project import read_project
    from tidemark.lineage.report import json_lines, lines_of, render_table

    talk = Console(stderr=True)
    with talk.status("reading the project …"):
        graph = Lineage(read_project(options))
    models = [graph.models[key] for key in graph.project.selected if key in graph.models]
    if not models:
        raise ConfigError("no model is left. Check the names, --select and --exclude")
    for made in models:
        for remark in made.remarks:
            talk.print(f"{made.node.name}: {remark}", highlight=False, markup=False, soft_wrap=True)
    if events_file is not None or emit:
        from tidemark.lineage.events import events_of, send_events, write_events

        if events_file is not None:
            count = write_events(events_of(graph, models), events_file)
            talk.print(f"{count} events in {events_file}", highlight=False, soft_wrap=True)
        if emit:
            count = send_events(events_of(graph, models))
            talk.print(f"{count} events sent", highlight=False)
        source = click.get_current_context().get_parameter_source("output_format")
        if source == click.core.ParameterSource.DEFAULT:
            return
    if output_format == "json":
        for made in models:
            for line in json_lines(graph, made):
                click.echo(line)
        return
    stdout_console().print(
        render_table(line for made in models for line in lines_of(graph, made, indirect=not direct))
    )


@click.command(epilog=_DOCS_EPILOG)
@click.option(
    "--offline",
    is_flag=True,
    help="Do not start Spark. Take columns and types from the last catalogue, the "
    "YAML and the SQL.",
)
@_project_options
def docs(
    offline: bool,
    vars_text: str | None,
    project_dir: Path | None,
    profiles_dir: Path | None,
    target: str | None,
) -> None:
    """Make dbt's docs as one HTML page with column lineage, and print its path.

    The page also describes the tables beside an entity: log, history, rejects and others.
    """
    options = _options(vars_text, project_dir, profiles_dir, target, needs_extra=False)
    from tidemark.lineage.docs import make_docs

    talk = Console(stderr=True)
    missing = _missing_extra()
    if missing is not None:
        talk.print(f"the page does not say where columns come from, which {missing}", markup=False)
    with talk.status("making the docs …"):
        page = make_docs(options, offline=offline, has_lineage=missing is None)
    click.echo(str(page))
