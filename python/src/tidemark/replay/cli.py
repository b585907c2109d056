"""`tidemark replay`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console

from tidemark.console import stdout_console
from tidemark.errors import ConfigError
from tidemark.options import (
    EXIT_DIFFERENT,
    JudgingCommand,
    exclude_option,
    markdown_option,
    samples_option,
    schema_option,
    select_option,
    verbose_option,
)
from tidemark.project import NOT_PARSED
from tidemark.read.cli import reading
from tidemark.replay.chosen import (
    Asked,
    Replayed,
    chosen_models,
    clones_project,
    describe_problems,
    gone_extracts,
)
from tidemark.replay.model import Replay
from tidemark.run.dates import parse_business_dates
from tidemark.run.options import RunOptions, prepare_environment, project_options

_EPILOG = """
The command only reads the originals. The clones stay: you can look at them or promote them, and
`tidemark clone --to SCHEMA --remove` removes them. Hooks, grants and the webhook do not run.

\b
Exit codes:
  0    nothing would have changed
  1    an error, a load stopped, or extracts are gone
  2    something would have changed
  130  interrupted

\b
Examples:
  tidemark replay --select airports --in dev
  tidemark replay --select airports --from 2026-02-05 --in dev --samples 10
  tidemark replay --select airports --from 2026-02-05 --to 2026-03-04 --in dev --replace --json
"""


@click.command(epilog=_EPILOG, cls=JudgingCommand)
@select_option
@exclude_option
@click.option(
    "--from",
    "since",
    metavar="DATE",
    help="The first business date. Default: all dates, into a new log of the clone.",
)
@click.option(
    "--to", "until", metavar="DATE", help="The last business date. Default: the last loaded one."
)
@click.option("--in", "clones", metavar="SCHEMA", required=True, help="The schema of the clones.")
@click.option(
    "--replace", "replaces", is_flag=True, help="Replace clones that exist in that schema."
)
@samples_option
@markdown_option
@schema_option(Replay)
@reading
@verbose_option
def replay(
    select: Sequence[str],
    exclude: Sequence[str],
    since: str | None,
    until: str | None,
    clones: str,
    replaces: bool,
    samples: int,
    markdown: bool,
    as_json: bool,
    verbose: bool,
    **where: Any,
) -> None:
    """Load business dates again in clones, by today's models, and compare.

    The command clones the models to SCHEMA, and loads the extracts there with today's models. Then
    it compares the versions of these dates, and the rows after the last date, with the
    originals.
    """
    if markdown and as_json:
        raise click.UsageError("--markdown and --json exclude each other. Give one")
    options = project_options(**where, select=list(select), exclude=list(exclude), verbose=verbose)
    first, last = _date(since, "--from"), _date(until, "--to")
    if first and last and last < first:
        raise ConfigError(f"--to must not be before --from, found: {first} to {last}")
    prepare_environment(options.project_dir)
    found = replayed(options, (clones.strip(), first, last, replaces), samples)
    if as_json:
        click.echo(found.model_dump_json(indent=2))
    elif markdown:
        from tidemark.diff.markdown import as_markdown

        click.echo(as_markdown(found.differences()))
    else:
        from tidemark.replay.show import show_replay

        show_replay(found, stdout_console())
    click.get_current_context().exit(0 if found.equal else EXIT_DIFFERENT)


def replayed(
    options: RunOptions,
    wanted: tuple[str, dt.date | None, dt.date | None, bool],
    samples: int,
) -> Replay:
    """Replay models, and return what would have changed.

    Args:
        options: Which project and models.
        wanted: The schema of the clones, the first date, the last one, whether clones are replaced.
        samples: Of how many keys values are told.

    Raises:
        ConfigError: Something cannot be replayed; nothing was written.
        DataError: A load stopped.
    """
    from tidemark.read.project import remember_project
    from tidemark.replay.compare import compared
    from tidemark.replay.loads import check_tables, clone_models, load_dates, no_progress
    from tidemark.run.files import fingerprint
    from tidemark.run.invoke import Invoker

    talk = Console(stderr=True)
    invoker, mark = Invoker(options, talk), fingerprint(options)
    if not invoker.parse():
        raise ConfigError(NOT_PARSED)
    check_tables(invoker)
    project = remember_project(options, invoker, mark)
    clones, first, last, replaces = wanted
    asked = Asked(clones, str(invoker.config.credentials.schema), first, last, replaces)
    invoker.check_pepper()
    models = chosen_models(project, invoker.selected(), asked)
    gone = gone_extracts(models, invoker.has_extract)
    if gone:
        raise ConfigError(describe_problems(gone))
    _report_reads(models, talk)
    with talk.status("cloning …") as status:
        clone_models(invoker, models, asked)

        def report(text: str) -> None:
            status.update(f"{text} …")

        with no_progress():
            load_dates(invoker, clones_project(project, asked), models, asked, report)
        report("comparing")
        return compared(project, models, asked, samples)


def _report_reads(models: Sequence[Replayed], talk: Console) -> None:
    for one in models:
        read = {*one.node.depends_on.nodes} - {other.node.unique_id for other in models}
        others = sorted(name.rpartition(".")[2] for name in read)
        if others:
            line = f"{one.entity.name} reads {', '.join(others)} as it is now, for every date"
            talk.print(line, highlight=False, markup=False, soft_wrap=True)


def _date(text: str | None, option: str) -> dt.date | None:
    if text is None:
        return None
    dates = parse_business_dates([text])
    if len(dates) != 1:
        raise ConfigError(f"{option} takes one date, found: {text}")
    return dates[0]
