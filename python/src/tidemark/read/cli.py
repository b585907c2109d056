"""`tidemark status`, `runs`, `rejects`, `history` and `changes`."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import click
from rich.console import Console

from tidemark.console import nearest, stdout_console
from tidemark.errors import ConfigError
from tidemark.failures import Failure, read_failures, succeeded_at
from tidemark.home import tidemark_home
from tidemark.options import (
    count_option,
    exclude_option,
    profiles_dir_option,
    project_dir_option,
    select_option,
    target_option,
    vars_option,
)
from tidemark.printable import counted
from tidemark.project import NOT_PARSED
from tidemark.read import show
from tidemark.read.commits import Commit, by_relation, of_models, read_commits
from tidemark.read.mirrors import mirrors_of
from tidemark.read.near_misses import describe_misses, near_misses
from tidemark.read.orphans import orphans_note, orphans_of
from tidemark.read.project import Entity, KnownProject, known_project
from tidemark.read.rejects import described_rejects, reject_rows
from tidemark.read.status import Seen, Status, landed_dates, loaded_of, status_of
from tidemark.read.tables import TableNotReadable, Tables
from tidemark.read.values import json_value
from tidemark.read.versions import changes_of, versions_of
from tidemark.rights import closed_folder
from tidemark.run.dates import parse_business_dates
from tidemark.run.options import RunOptions, prepare_environment, project_options

READ = """
The command reads the tables without Spark, also while a run is at work. It names tables that only
Spark can read (a widened column).
"""


def reading(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of all of them."""
    for option in (
        target_option,
        profiles_dir_option,
        project_dir_option,
        vars_option,
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    ):
        command = option(command)
    return command


def choosing(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command names of entities, and dbt's selection, which are all by default."""
    names = click.argument("names", metavar="[ENTITY]...", nargs=-1)
    return names(select_option(exclude_option(command)))


@click.command(
    epilog=READ
    + """
\b
Examples:
  tidemark status
  tidemark status airports fuel_prices --json
  tidemark status --select tag:daily
"""
)
@choosing
@reading
def status(names: Sequence[str], as_json: bool, **where: Any) -> None:
    """Show the state of each entity.

    A line per entity has the last date, the time of its load, the rows, and what the last load
    changed. The lines below say what is to do: dates that landed and are not loaded, missing
    dates, open rejects, commits in flight, and unread changes. The last line names tables that no
    model has any more.
    """
    project, tables = open_project(where)
    chosen = selected_entities(project, names, where)
    commits = read_commits(tables)
    found = statuses_of(project, tables, chosen, commits)
    if as_json:
        _print_json(asdict(one) for one in found)
    elif not found:
        click.echo("the project has no entities yet: tidemark init --help")
    else:
        show.show_statuses(found, dt.datetime.now(dt.UTC), stdout_console())
    if (
        is_of_all(names, where)
        and not as_json
        and (orphans := orphans_of(project, tables, commits))
    ):
        click.echo(orphans_note(orphans))


@click.command(
    epilog=READ
    + """
\b
Examples:
  tidemark runs
  tidemark runs airports --limit 50
"""
)
@choosing
@count_option("--limit", 20, "Show at most so many commits and failed runs.")
@reading
def runs(names: Sequence[str], limit: int, as_json: bool, **where: Any) -> None:
    """Show the last commits and failed runs, the newest first.

    The seconds of a commit are a part of the seconds that `tidemark run` shows for the model.
    """
    project, tables = open_project(where)
    chosen = selected_entities(project, names, where)
    is_all = is_of_all(names, where)
    relations = None if is_all else [entity.relation for entity in chosen]
    failures = [
        failure
        for failure in read_failures(tidemark_home())
        if relations is None or failure.relation in relations
    ]
    commits = of_models(read_commits(tables, relations, limit), project.entities.values())
    found: list[Commit | Failure] = [*commits, *failures]
    found.sort(key=lambda one: _moment_of(one), reverse=True)
    del found[limit:]
    if as_json:
        _print_json(
            {**asdict(one), "state": "failed"} if isinstance(one, Failure) else asdict(one)
            for one in found
        )
    elif not found:
        click.echo("there are no commits yet")
    else:
        show.show_runs(found, stdout_console())


@click.command(
    epilog=READ
    + """
\b
Examples:
  tidemark rejects airports
  tidemark rejects airports --all --limit 100 --json
"""
)
@click.argument("entity")
@click.option("--all", "is_all", is_flag=True, help="Also show rows that a later load repaired.")
@count_option("--limit", 20, "Show at most so many rows.")
@reading
def rejects(entity: str, is_all: bool, limit: int, as_json: bool, **where: Any) -> None:
    """Show quarantined rows of an entity, the newest first.

    The command shows the row, and the column and value that failed. It names the file and line
    while the file exists, and the load that repaired the row. It masks sensitive values, as the
    table does.
    """
    project, tables = open_project(where)
    (one,) = chosen_entities(project, [entity])
    own = read_commits(tables, [one.relation])
    rows, number = reject_rows(tables, one, own, is_all, limit)
    found = described_rejects(tables, project.root, one, own, rows)
    if as_json:
        _print_json({**row, **asdict(place)} for row, place in zip(rows, found, strict=True))
        return
    show.show_rejects(found, stdout_console())
    which = "reject" if is_all else "open reject"
    click.echo(f"{counted(number, which)} of {one.name}")


@click.command(
    epilog=READ
    + """
\b
Examples:
  tidemark history airports WIPO
  tidemark history order_lines 4711 2      # a key of two columns, in the order of unique_key
"""
)
@click.argument("entity")
@click.argument("key", nargs=-1, required=True)
@reading
def history(entity: str, key: Sequence[str], as_json: bool, **where: Any) -> None:
    """Show every version of a row: when it changed, what changed, and why.

    The command names the commit or event of each version. It leaves out sensitive columns.
    """
    project, tables = open_project(where)
    (one,) = chosen_entities(project, [entity])
    versions = versions_of(tables, one, key)
    if as_json:
        _print_json(asdict(version) for version in versions)
    elif not versions:
        raise ConfigError(
            f"{one.name} never had a row with the key {', '.join(key)}. Check the spelling"
        )
    else:
        show.show_versions(versions, stdout_console())


@click.command(
    epilog=READ
    + """
\b
Examples:
  tidemark changes --date 2026-03-04
  tidemark changes airports --date 2026-03-04 --samples 10
"""
)
@choosing
@click.option(
    "--date",
    "--business-date",
    "date_text",
    metavar="DATE",
    help="The business date. Default: the last date of each entity.",
)
@count_option("--samples", 3, "Show old and new values of so many changed keys.", 0)
@reading
def changes(
    names: Sequence[str], date_text: str | None, samples: int, as_json: bool, **where: Any
) -> None:
    """Show what a business date changed: counts, columns that changed most, some rows."""
    dates = parse_business_dates([date_text]) if date_text is not None else []
    if len(dates) > 1:
        raise ConfigError(f"--date must be one date, found: {date_text}")
    for name in names:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", name):
            raise ConfigError(f"{name} is no entity but a date: write --date {name}")
    project, tables = open_project(where)
    selected = selected_entities(project, names, where)
    chosen = [one for one in selected if names or one.kind == "cdc"]
    commits, now = read_commits(tables), dt.datetime.now(dt.UTC)
    known, found, unread = by_relation(commits), [], []
    for one in chosen:
        date = dates[0] if dates else status_of(one, commits, Seen(), now).last_date
        if date is not None:
            try:
                own = known.get(one.relation, [])
                day = changes_of(tables, one, own, date, samples)
                has_rows = day.inserted + day.updated + day.deleted > 0
                is_loaded = has_rows or date in loaded_of(own).dates
                found.append(replace(day, is_loaded=is_loaded))
            except TableNotReadable as error:
                # those entities are shown that can be read
                if names:
                    raise
                unread.append(str(error))
    if as_json:
        _print_json(asdict(one) for one in found)
    elif not found and not unread:
        click.echo("nothing was loaded yet")
    else:
        out = stdout_console()
        for date in sorted({one.business_date for one in found}):
            out.print(str(date), style="bold", highlight=False)
            show.show_changes([one for one in found if one.business_date == date], out)
    for line in unread:
        click.echo(line, err=True)


def statuses_of(
    project: KnownProject, tables: Tables, chosen: Iterable[Entity], commits: Sequence[Commit]
) -> list[Status]:
    """Return how entities stand.

    Args:
        project: The project.
        tables: Where its tables are read.
        chosen: The entities.
        commits: All commits, the newest first.
    """
    now = dt.datetime.now(dt.UTC)
    mirrors = mirrors_of(project.root)
    failures: dict[str, Failure] = {}
    for failure in read_failures(tidemark_home()):
        failures.setdefault(failure.relation, failure)
    known = by_relation(commits)
    return [
        status_of(
            entity,
            _concerning(entity, known),
            replace(
                _seen(project, tables, entity, known.get(entity.relation, [])),
                failure=failures.get(entity.relation),
                succeeded_at=succeeded_at(tidemark_home(), entity.relation),
                mirror=mirrors.get(entity.name),
            ),
            now,
        )
        for entity in chosen
    ]


def _concerning(entity: Entity, known: Mapping[str, Sequence[Commit]]) -> list[Commit]:
    """Return the commits of an entity, and those of what it was derived from."""
    own = known.get(entity.relation, [])
    sources = {commit.source_relation for commit in own} - {None, entity.relation}
    return [*own, *(commit for source in sources for commit in known.get(str(source), []))]


def open_project(
    where: dict[str, Any], *, needs_commits: bool = True
) -> tuple[KnownProject, Tables]:
    """Return the project that a command with the options of `reading` is about.

    Args:
        where: The options.
        needs_commits: Whether what the command shows comes from commits, so that it is told where
            there are none.

    Raises:
        ConfigError: There is none, or it cannot be parsed.
    """
    options = options_of(where)
    prepare_environment(options.project_dir)
    project = known_project(options, Console(stderr=True))
    tables = Tables(project)
    if needs_commits and not tables.exists(tables.commits()):
        click.echo(
            f"there is nothing at {tables.commits()}: no entity was loaded yet, or the warehouse "
            "lies elsewhere (spark.sql.warehouse.dir of the profile, TIDEMARK_HOME)",
            err=True,
        )
    return project, tables


def options_of(where: dict[str, Any]) -> RunOptions:
    """Return how the project is parsed that a command with the options of `reading` is about.

    Raises:
        ConfigError: There is none.
    """
    names = ("vars_text", "project_dir", "profiles_dir", "target")
    return project_options(*(where[name] for name in names))


def chosen_entities(project: KnownProject, names: Iterable[str]) -> list[Entity]:
    """Return the entities of these names; all if there is none."""
    wanted = list(names)
    for name in wanted:
        if name not in project.entities:
            hint = nearest(name, project.entities)
            raise ConfigError(
                f"there is no entity named {name!r}. Take a name that `tidemark status` "
                f"lists.{hint}"
            )
    return [project.entities[name] for name in wanted or project.entities]


def is_of_all(names: Sequence[str], where: Mapping[str, Any]) -> bool:
    """Say whether neither names nor dbt's selection choose among the entities."""
    return not (names or where["select"] or where["exclude"])


def selected_entities(
    project: KnownProject, names: Iterable[str], where: Mapping[str, Any]
) -> list[Entity]:
    """Return the entities of these names and of dbt's selection; all if there is neither.

    Args:
        project: The project.
        names: What was named.
        where: The options of `choosing` and `reading`.

    Raises:
        ConfigError: There is no such entity, dbt does not understand the selection, or it has none.
    """
    if not where["select"] and not where["exclude"]:
        return chosen_entities(project, names)
    from tidemark.run.invoke import Invoker

    select, exclude = [*names, *where["select"]], list(where["exclude"])
    options = replace(options_of(dict(where)), select=select, exclude=exclude)
    invoker = Invoker(options, Console(stderr=True))
    if not invoker.parse():
        raise ConfigError(NOT_PARSED)
    relations = {f"{node.schema}.{node.alias}" for node in invoker.selected()}
    found = [one for one in project.entities.values() if one.relation in relations]
    if not found:
        raise ConfigError(
            invoker.why_not_matched()
            or "the selection has no entity. Correct --select or --exclude"
        )
    return found


def _seen(project: KnownProject, tables: Tables, entity: Entity, own: Sequence[Commit]) -> Seen:
    landed = landed_dates(project.root, entity.location)
    unmatched = _unmatched(project, entity)
    rows, number, problem = None, None, None
    try:
        path = tables.of(entity)
        if tables.exists(path):
            rows = tables.count(path)
        elif any(one.state == "completed" for one in own):
            problem = f"there is no table at {path}: has its schema a place of its own?"
        if problem is None:
            _, number = reject_rows(tables, entity, own, False, 0)
    except TableNotReadable as error:
        problem = str(error)
    return Seen(rows=rows, open_rejects=number, landed=landed, problem=problem, unmatched=unmatched)


def _unmatched(project: KnownProject, entity: Entity) -> str | None:
    folder = closed_folder(os.path.join(project.root, entity.location)) if entity.location else None
    if folder is not None:
        return f"the folder {folder} cannot be read: permission denied"
    others = [one.location for one in project.entities.values() if one is not entity]
    misses = near_misses(project.root, entity.location, others)
    return describe_misses(misses, entity.location) if misses and entity.location else None


def _moment_of(run: Commit | Failure) -> dt.datetime:
    return run.failed_at if isinstance(run, Failure) else run.started_at


def _print_json(rows: Iterable[Any]) -> None:
    click.echo(json.dumps(json_value(list(rows)), indent=2))
