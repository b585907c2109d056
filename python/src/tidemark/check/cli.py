"""`tidemark check`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from tidemark.check.models import Checked, checked_models
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
from tidemark.printable import counted
from tidemark.run.invoke import Invoker
from tidemark.run.options import prepare_environment, project_options

_EPILOG = """
Some problems show only in files or tables: a column that an extract lacks, a configuration that
does not fit the log. The run names these before it writes anything.

\b
Exit codes:
  0    nothing is wrong
  1    a model is wrong
  2    the project cannot be parsed

\b
Examples:
  tidemark check
  tidemark check --select airports+
  tidemark check --json | jq '.[] | select(.problems != [])'
"""


@click.command(epilog=_EPILOG)
@select_option
@exclude_option
@vars_option
@click.option(
    "--json", "as_json", is_flag=True, help="Print all models with their problems as JSON."
)
@project_dir_option
@profiles_dir_option
@target_option
@click.pass_context
def check(
    ctx: click.Context,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    vars_text: str | None,
    as_json: bool,
    project_dir: Path | None,
    profiles_dir: Path | None,
    target: str | None,
) -> None:
    """Check the YAML and SQL of all models without Spark.

    A run applies the same rules. The command shows all mistakes at once.
    """
    chosen = {"select": list(select), "exclude": list(exclude)}
    options = project_options(vars_text, project_dir, profiles_dir, target, **chosen)
    prepare_environment(options.project_dir)
    invoker = Invoker(options, Console(stderr=True))
    if not invoker.parse():
        ctx.exit(2)
    only = None
    if select or exclude:
        only = {node.unique_id for node in invoker.selected()}
        why_not = None if only else invoker.why_not_matched()
        if why_not is not None:
            raise ConfigError(why_not)
    models = checked_models(
        invoker.manifest,
        invoker.variables,
        options.project_dir,
        has_session=getattr(invoker.config.credentials, "has_session", False),
        only=only,
    )
    if as_json:
        click.echo(json.dumps([asdict(model) for model in models], indent=2))
    else:
        _show(models, stdout_console())
    ctx.exit(1 if any(model.problems for model in models) else 0)


def _show(models: list[Checked], out: Console) -> None:
    wrong = [model for model in models if model.problems]
    for model in models:
        if model.problems or model.remarks:
            head = f"[bold]{model.name}[/bold]  {model.path}" if model.name else model.path
            out.print(head, highlight=False)
        for sentence in model.problems + model.remarks:
            out.print(f"  - {sentence}", highlight=False, markup=False, soft_wrap=True)
    number = sum(1 for model in models if model.materialized)
    of_files = sum(1 for model in wrong if not model.materialized)
    verdict = f"{len(wrong) - of_files} with problems" if wrong else "no problems"
    beside = f", and in {counted(of_files, 'other place')}" if of_files else ""
    out.print(f"checked {counted(number, 'model')}: {verdict}{beside}", highlight=False)
