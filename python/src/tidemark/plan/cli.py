"""`tidemark plan` and `tidemark apply`."""

from __future__ import annotations

import datetime as dt
import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console

from tidemark.console import stdout_console
from tidemark.errors import ConfigError
from tidemark.home import project_above
from tidemark.options import (
    EXIT_DIFFERENT,
    JudgingCommand,
    count_option,
    exclude_option,
    profiles_dir_option,
    project_dir_option,
    select_option,
    target_option,
    vars_option,
    verbose_option,
)
from tidemark.plan.model import Plan
from tidemark.plan.show import show_plan, show_plans
from tidemark.plan.store import discard_plan, list_plans, read_plan, write_plan
from tidemark.project import NOT_PARSED
from tidemark.run.dates import parse_business_dates
from tidemark.run.options import (
    RunOptions,
    find_profiles,
    find_project,
    parse_vars,
    prepare_environment,
)

EXIT_CODES = {"nothing": 0, "stops": 1, "changes": EXIT_DIFFERENT}
_FAILED = 1

_PLAN_END = """
The plan is kept below TIDEMARK_HOME/plans until it is applied or discarded. It has values of rows,
sensitive ones masked; only you can read it. The load itself is `tidemark apply ID`.

\b
Exit codes:
  0    planned, and no row would change (also of --list, --show, --discard)
  1    an error, or a load would stop: rejects, a guard
  2    planned, and rows would change
  130  interrupted

\b
Examples:
  tidemark plan --business-date 2026-03-04 --select airports
  tidemark plan --business-date 2026-03-04 --json | jq .outcome
  tidemark plan --list
  tidemark plan --show p7k3m2
  tidemark plan --discard p7k3m2
"""

_APPLY_END = """
\b
Exit codes:
  0    loaded as planned; the plan is closed
  1    a load failed, or did other than planned (another run came between)
  2    refused: the plan is closed, its loads would stop, or a model, a table or an input is not as
       it was; nothing was loaded
  130  interrupted

\b
Examples:
  tidemark apply p7k3m2
  tidemark apply p7k3m2 --allow-deletes
"""


@click.command(epilog=_PLAN_END, cls=JudgingCommand)
@click.option("--business-date", "dates", multiple=True, metavar="DATE", help="The date to plan.")
@select_option
@exclude_option
@click.option("--full-refresh", is_flag=True, help="Plan a full refresh.")
@vars_option
@project_dir_option
@profiles_dir_option
@target_option
@click.option("--threads", type=click.IntRange(min=1), help="dbt's --threads.")
@count_option("--samples", 5, "Show so many rows of each operation and of the rejects.", 0)
@click.option("--list", "listed", is_flag=True, help="List all plans.")
@click.option("--show", "shown", metavar="ID", help="Show this plan again.")
@click.option("--discard", "discarded", metavar="ID", help="Discard this plan and its rows.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of --json, and nothing else.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@verbose_option
@click.pass_context
def plan(
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
    samples: int,
    listed: bool,
    shown: str | None,
    discarded: str | None,
    schema: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Show what a load would do, and change nothing.

    The command plans models with `materialized: cdc`. It does not plan models that read them, such
    as scd2 and feed.
    """
    asked = [
        name
        for name, given in (
            ("--list", listed),
            ("--show", shown),
            ("--discard", discarded),
            ("--schema", schema),
        )
        if given
    ]
    # the vars of a shell are every command's
    typed = ctx.get_parameter_source("vars_text") == ParameterSource.COMMANDLINE
    if len(asked) > 1 or (asked and (dates or select or exclude or full_refresh or typed)):
        raise click.UsageError(
            f"{' and '.join(asked)} exclude each other. Give one of them, and nothing else"
        )
    out = stdout_console()
    if asked and project_dir is not None:
        prepare_environment(find_project(project_dir))
    if schema:
        click.echo(json.dumps(Plan.model_json_schema(mode="serialization"), indent=2))
    elif listed:
        plans = list_plans()
        if as_json:
            click.echo(json.dumps([one.model_dump(mode="json") for one in plans], indent=2))
        elif plans:
            show_plans(plans, dt.datetime.now(dt.UTC), out)
        else:
            click.echo("there is no plan", err=True)
    elif shown is not None or discarded is not None:
        if discarded is not None:
            discard_plan(discarded)
        _say(read_plan(shown or discarded or ""), as_json, out)
    else:
        root = find_project(project_dir or Path.cwd())
        given = _vars(vars_text)
        if "business_date" in given:
            if dates:
                raise ConfigError(
                    "business_date is given twice: by --business-date and in --vars. Remove one of "
                    "them"
                )
            dates = (str(given.pop("business_date")),)
        options = RunOptions(
            dates=parse_business_dates(dates),
            select=list(select),
            exclude=list(exclude),
            vars=given,
            project_dir=root,
            profiles_dir=profiles_dir or find_profiles(root),
            target=target,
            threads=threads,
            full_refresh=full_refresh,
            verbose=verbose,
        )
        if len(options.dates) > 1:
            raise ConfigError(
                "a plan is of one date, as a later date depends on an earlier one. Give one "
                "business date"
            )
        ctx.exit(_plan(options, samples, as_json, out))


@click.command(epilog=_APPLY_END)
@click.argument("id")
@click.option(
    "--allow-deletes", is_flag=True, help="Allow deletes that the delete guard would stop."
)
@click.option(
    "--allow-rejects", is_flag=True, help="Allow rejects that the reject guard would stop."
)
@click.option("--json", "as_json", is_flag=True, help="Print plan, counts and errors as JSON.")
@project_dir_option
@verbose_option
@click.pass_context
def apply(
    ctx: click.Context,
    id: str,
    allow_deletes: bool,
    allow_rejects: bool,
    as_json: bool,
    project_dir: Path | None,
    verbose: bool,
) -> None:
    """Load what was planned, if nothing changed since.

    The command refuses a plan whose model, tables or files have changed.
    """
    from tidemark.plan.apply import apply_plan
    from tidemark.plan.model import GUARDS
    from tidemark.spark.session import session_expected

    talk, out = Console(stderr=True), stdout_console()
    here = Path.cwd()
    root = find_project(project_dir) if project_dir else project_above(here)
    prepare_environment(root or here)
    with session_expected(), talk.status(f"applying {id} …") as status:
        applied = apply_plan(
            id,
            lambda options: _parsed(replace(options, verbose=verbose), talk),
            allowed=[
                option
                for option, is_given in zip(GUARDS, (allow_deletes, allow_rejects), strict=True)
                if is_given
            ],
            progress=lambda name: status.update(f"applying {id}: {name} …"),
        )
    outcome = applied.outcome
    if as_json:
        results = [
            {"model": one.name, "status": one.status, "seconds": one.seconds, "counts": one.counts}
            for one in outcome.results
        ]
        answer = {
            "plan": applied.plan.model_dump(mode="json"),
            "results": results,
            "errors": outcome.errors,
            "differences": applied.differences,
        }
        click.echo(json.dumps(answer, indent=2))
    elif outcome.results:
        from tidemark.run.report import print_whole, render_table

        print_whole(out, render_table(f"plan {id}", outcome.results))
    for message in (*outcome.errors, *applied.differences):
        click.echo(message, err=True)
    if outcome.interrupted:
        ctx.exit(130)
    if not outcome.success:
        click.echo(
            f"plan {id} is still open. Remove the cause, then apply the plan or plan again",
            err=True,
        )
    elif applied.differences:
        click.echo("the load did other than planned, as another run came between", err=True)
    else:
        click.echo(f"plan {id} is applied", err=True)
    ctx.exit(0 if outcome.success and not applied.differences else _FAILED)


def _plan(options: RunOptions, samples: int, as_json: bool, out: Console) -> int:
    from tidemark.plan.make import make_plan
    from tidemark.spark.session import session_expected

    talk = Console(stderr=True)
    prepare_environment(options.project_dir)
    with session_expected(), talk.status("planning …") as status:
        invoker = _parsed(options, talk)
        invoker.check_pepper()
        made, errors = make_plan(
            invoker,
            _command(),
            samples,
            lambda name: status.update(f"planning {name} …"),
        )
    write_plan(made)
    for message in errors:
        click.echo(message, err=True)
    _say(made, as_json, out)
    failed = any(one.failed for one in made.not_planned)
    return _FAILED if failed else EXIT_CODES[made.outcome]


def _parsed(options: RunOptions, talk: Console) -> Any:
    from tidemark.run.invoke import Invoker

    invoker = Invoker(options, talk)
    if not invoker.parse():
        raise ConfigError(NOT_PARSED)
    return invoker


def _vars(text: str | None) -> dict[str, Any]:
    given = parse_vars(text)
    if "plan" in given:
        raise ConfigError(
            "--vars has `plan`, which this command sets itself. Remove `plan` from --vars"
        )
    return given


def _say(plan: Plan, as_json: bool, out: Console) -> None:
    if as_json:
        click.echo(plan.model_dump_json(indent=2))
    else:
        show_plan(plan, out)


def _command() -> str:
    """Return what was typed, as a person would type it."""
    ctx = click.get_current_context()
    words = ["tidemark", ctx.info_name or "plan"]
    for parameter in ctx.command.params:
        value = ctx.params.get(parameter.name or "")
        name = parameter.opts[0]
        if name in ("--json", "--verbose") or not value or value == parameter.get_default(ctx):
            continue
        if getattr(parameter, "is_flag", False):
            words.append(name)
        elif isinstance(value, tuple):
            words += [part for one in value for part in (name, shlex.quote(str(one)))]
        else:
            words += [name, shlex.quote(str(value))]
    return " ".join(words)


__all__ = ["apply", "plan"]
