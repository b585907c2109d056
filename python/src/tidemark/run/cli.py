"""`tidemark run`."""

from __future__ import annotations

import datetime as dt
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.status import Status

from tidemark.console import stdout_console
from tidemark.errors import ConfigError
from tidemark.options import (
    exclude_option,
    profiles_dir_option,
    project_dir_option,
    select_option,
    target_option,
    verbose_option,
)
from tidemark.run.dates import date_ranges, parse_business_dates
from tidemark.run.options import (
    RunOptions,
    find_profiles,
    find_project,
    parse_vars,
    prepare_environment,
)
from tidemark.run.report import print_whole, render_changes, render_summary, render_table

if TYPE_CHECKING:
    from tidemark.run.invoke import Invoker

_EPILOG = """
\b
Exit codes:
  0    every date went through
  1    a date failed; the dates after it were not run (unless --keep-going)
  2    nothing could be run: an option, the project or its configuration is wrong, Java is missing,
       another run holds the metastore
  130  interrupted; with --watch: in a run (0 while it waited)

\b
Examples:
  tidemark run --business-date 2026-03-04
  tidemark run --business-date 2026-01-01..2026-01-31 --select airports+
  tidemark run --business-date 2026-03-04 --changes 5
  tidemark run --business-date 2026-01-01..2026-12-31 --available --build
  tidemark run --business-date 2026-03-04 --select airports --watch
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--business-date",
    "dates",
    multiple=True,
    metavar="DATES",
    help="A date, dates separated by commas, or a range 2026-01-01..2026-01-31. May "
    "be repeated. Dates run in the given order. Default: one run without a "
    "business date.",
)
@select_option
@exclude_option
@click.option(
    "--full-refresh",
    is_flag=True,
    help="Start with a full refresh for the first date only. If the first date fails, "
    "no later date runs.",
)
@click.option("--vars", "vars_text", metavar="YAML", help="dbt's --vars, for every date.")
@project_dir_option
@profiles_dir_option
@target_option
@click.option("--threads", type=click.IntRange(min=1), help="dbt's --threads.")
@click.option("--build", is_flag=True, help="Run dbt build: also tests, seeds and snapshots.")
@click.option(
    "--available",
    is_flag=True,
    help="Skip dates for which no selected model has a file, and name them. Without "
    "this option such a date fails.",
)
@click.option("--keep-going", is_flag=True, help="Go on with the next date after a failed one.")
@click.option(
    "--changes",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="After each date, show old and new values of the first N updated keys of each entity.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Keep running, and run again when a model, its YAML or a loaded file changes.",
)
@verbose_option
@click.pass_context
def run(
    ctx: click.Context,
    dates: tuple[str, ...],
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    full_refresh: bool,
    vars_text: str | None,
    project_dir: Path | None,
    profiles_dir: Path | None,
    target: str | None,
    threads: int | None,
    build: bool,
    available: bool,
    keep_going: bool,
    changes: int,
    watch: bool,
    verbose: bool,
) -> None:
    """Run the models for one or many business dates in one Spark session.

    The command prints a table per date on stdout. Progress, warnings and errors go to stderr.
    """
    chosen_vars = parse_vars(vars_text)
    if dates and "business_date" in chosen_vars:
        raise ConfigError("business_date is given twice. Use --business-date or --vars")
    root = find_project(project_dir or Path.cwd())
    options = RunOptions(
        dates=parse_business_dates(dates),
        select=list(select),
        exclude=list(exclude),
        vars=chosen_vars,
        project_dir=root,
        profiles_dir=profiles_dir or find_profiles(root),
        target=target,
        threads=threads,
        full_refresh=full_refresh,
        build=build,
        available=available,
        keep_going=keep_going,
        changes=changes,
        verbose=verbose,
    )
    for name, asked in (("--available", available), ("--changes", changes)):
        if asked and not options.dates:
            raise ConfigError(f"{name} needs --business-date")
    prepare_environment(root)
    from tidemark.spark.session import session_expected

    talk, out = Console(stderr=True), stdout_console()
    # Spark starts while dbt parses the project
    with session_expected():
        code = _watch(options, talk, out) if watch else run_dates(options, talk, out)
    ctx.exit(code)


def run_dates(options: RunOptions, talk: Console, out: Console) -> int:
    """Run every date and return the exit code."""
    from tidemark.read.project import remember_project
    from tidemark.run.files import fingerprint
    from tidemark.run.invoke import Invoker

    invoker = Invoker(options, talk)
    dates: list[dt.date | None] = list(options.dates) or [None]
    # spares `tidemark status` to parse what is parsed here
    asked = RunOptions(
        dates=[],
        vars=options.vars,
        project_dir=options.project_dir,
        profiles_dir=options.profiles_dir,
        target=options.target,
    )
    mark = fingerprint(asked)
    if not invoker.parse():
        return 2
    if invoker.manifest is not None:
        remember_project(asked, invoker, mark)
    invoker.check_python_models()
    invoker.check_pepper()
    if options.available:
        dates, missing = invoker.split_available(options.dates)
        if missing:
            talk.print(
                f"left out, no file ({len(missing)} of {len(options.dates)} dates): "
                f"{date_ranges(missing)}",
                highlight=False,
                soft_wrap=True,
            )
            for line in invoker.near_misses(missing):
                talk.print(line, highlight=False, markup=False, soft_wrap=True)
        if not dates:
            talk.print("no date has a file: nothing was run", highlight=False)
            return 0
    summary: list[tuple[dt.date | None, bool, float]] = []
    for number, business_date in enumerate(dates, start=1):
        label = str(business_date) if business_date is not None else "run"
        place = f"[{number}/{len(dates)}] {label}"
        started = time.monotonic()
        with talk.status(f"{place} …") as status:
            outcome = invoker.run_date(
                business_date,
                full_refresh=options.full_refresh and number == 1,
                progress=partial(_show_progress, status, place),
            )
        seconds = time.monotonic() - started
        verdict = "done" if outcome.success else "FAILED"
        if outcome.success and not outcome.results and number == 1:
            why_not = invoker.why_not_matched()
            if why_not is not None:
                talk.print(
                    f"nothing was run: {why_not}", highlight=False, markup=False, soft_wrap=True
                )
                return 2
        if outcome.interrupted:
            verdict = "interrupted: what was committed stays. Run the command again to go on"
        elif outcome.success and not outcome.results:
            verdict = "nothing was run: the selection matches nothing"
        # the table has how long each model took
        talk.print(f"{place}  {verdict}", highlight=False, markup=False, soft_wrap=True)
        if outcome.results:
            print_whole(out, render_table(label, outcome.results))
        if options.changes and business_date is not None:
            for entity in outcome.updated:
                _show_changes(invoker, entity, business_date, options.changes, talk, out)
        for message in outcome.errors:
            talk.print(
                message,
                style="red" if talk.is_terminal else None,
                highlight=False,
                markup=False,
                soft_wrap=True,
            )
        summary.append((business_date, outcome.success, seconds))
        if outcome.interrupted:
            return 130
        if not outcome.success:
            if number == 1 and not outcome.started:
                return 2
            # the dates after it are of a log that is not there
            is_without_log = options.full_refresh and number == 1
            if not options.keep_going or is_without_log:
                left = len(dates) - number
                if left:
                    why = "no log was begun anew, so " if is_without_log else ""
                    talk.print(f"stopped: {why}{left} dates were not run", highlight=False)
                return 1
    if len(summary) > 1:
        talk.print(render_summary(summary), highlight=False)
    return 0 if all(success for _, success, _ in summary) else 1


def _watch(options: RunOptions, talk: Console, out: Console) -> int:
    from tidemark.run.again import run_again, selection_of
    from tidemark.run.kept import projects_kept

    with projects_kept():
        return run_again(
            options,
            talk,
            run=lambda asked: run_dates(asked, talk, out),
            select=lambda asked: selection_of(asked, talk),
        )


def _show_changes(
    invoker: Invoker, entity: str, date: dt.date, keys: int, talk: Console, out: Console
) -> None:
    with talk.status(f"{date}  changes of {entity} …"):
        rows = invoker.changed_values(entity, date, keys)
    if rows is None:
        talk.print(
            f"{entity}: the changed values of {date} could not be read (see the log)",
            highlight=False,
        )
    elif rows:
        out.print(render_changes(f"{entity}, changed values of {date}", rows))


def _show_progress(status: Status, place: str, name: str) -> None:
    status.update(f"{place}  {name} …")


__all__ = ["run", "run_dates"]
