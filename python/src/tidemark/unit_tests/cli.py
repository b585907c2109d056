"""`tidemark test`."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from filelock import FileLock, Timeout
from rich.console import Console

from tidemark.console import stdout_console
from tidemark.errors import ConfigError
from tidemark.home import Home, tidemark_home
from tidemark.options import (
    exclude_option,
    profiles_dir_option,
    project_dir_option,
    select_option,
    target_option,
    vars_option,
    verbose_option,
)
from tidemark.printable import counted
from tidemark.run.options import RunOptions, prepare_environment, project_options

if TYPE_CHECKING:
    from tidemark.unit_tests.runner import Result

_FOLDER = "unit_tests_"
_EPILOG = """
Tests do not read or write the tables of your project. Each test has its own tables, in a folder
that is removed at the end. Hooks, grants and the webhook do not run.

\b
Exit codes:
  0    all tests pass
  1    a test fails
  2    nothing could be run: the project or a test is wrong, Java is missing

\b
Examples:
  tidemark test
  tidemark test --select customers
  tidemark test --select customers --name a_late_date --verbose
  tidemark test --engine spark --junit target/unit_tests.xml
"""


@click.command(epilog=_EPILOG)
@select_option
@exclude_option
@click.option("--name", "chosen", help="Run only tests of this name.")
@click.option(
    "--engine",
    type=click.Choice(["auto", "workers", "spark"]),
    help="Load by this engine, whatever the models say. spark is the reference.",
)
@click.option(
    "--junit",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the results to this file as JUnit XML.",
)
@click.option(
    "--record",
    is_flag=True,
    help="Write what each step leaves into the YAML, as its expectation. Needs --name "
    "or --select. Read the expectation before you trust it.",
)
@click.option(
    "--keep", is_flag=True, help="Keep the folder of the tests' tables, and print its path."
)
@vars_option
@project_dir_option
@profiles_dir_option
@target_option
@verbose_option
@click.pass_context
def test(
    ctx: click.Context,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    chosen: str | None,
    engine: str | None,
    junit: Path | None,
    record: bool,
    keep: bool,
    vars_text: str | None,
    project_dir: Path | None,
    profiles_dir: Path | None,
    target: str | None,
    verbose: bool,
) -> None:
    """Run the unit tests of models.

    A test gives rows date by date, and says what the tables have then. Write tests under
    meta.tidemark.unit_tests of a model.
    """
    if record and not (chosen or select):
        raise ConfigError("--record writes into the YAML: name the tests, --name or --select")
    chosen_models = {"select": list(select), "exclude": list(exclude)}
    options = project_options(
        vars_text, project_dir, profiles_dir, target, **chosen_models, verbose=verbose
    )
    prepare_environment(options.project_dir)
    ctx.exit(run_tests(options, chosen, engine, junit, is_kept=keep, records=record))


def run_tests(
    options: RunOptions,
    chosen: str | None,
    engine: str | None,
    junit: Path | None,
    *,
    is_kept: bool,
    records: bool,
) -> int:
    """Run the unit tests of the models that are selected; return the exit code.

    Args:
        options: Which project and models.
        chosen: Only the tests of that name.
        engine: What loads go by; None: what the models say.
        junit: Where the results go as JUnit XML.
        is_kept: Whether the tables of the tests stay.
        records: Whether what is found is written into the YAML.
    """
    from tidemark.run.invoke import Invoker
    from tidemark.unit_tests.cases import cases_of
    from tidemark.unit_tests.project import home_of_tests, judge_cases
    from tidemark.unit_tests.runner import Runner
    from tidemark.unit_tests.show import show_result, show_sum, write_junit

    talk, out = Console(stderr=True), stdout_console()
    invoker = Invoker(options, talk)
    if not invoker.parse():
        return 2
    user_home = tidemark_home().create()
    home = Home(user_home.temporary / f"{_FOLDER}{os.getpid()}")
    nodes = [node for node in invoker.manifest.nodes.values() if node.resource_type == "model"]
    if options.select or options.exclude:
        nodes = invoker.selected()
    cases = cases_of(nodes, home.root / "cases", chosen)
    if not cases:
        of_name = f" called {chosen}" if chosen else ""
        text = (
            f"there are no unit tests{of_name} among {counted(len(nodes), 'model')}: they stand "
            "under config.meta.tidemark.unit_tests of a model"
        )
        if chosen or options.select:
            raise ConfigError(text)
        talk.print(text, highlight=False, soft_wrap=True)
        return 0
    judge_cases(invoker.manifest, cases, invoker.variables)
    began = time.monotonic()
    results: list[Result] = []
    with _made(home, is_kept=is_kept, talk=talk):
        if user_home.packages.exists():
            shutil.copy(user_home.packages, home.packages)
        with home_of_tests(home), talk.status("starting …") as status:

            def report(text: str) -> None:
                status.update(f"{text} …")

            runner = Runner(invoker, home, engine, report, records=records)
            for result in runner.run(cases):
                results.append(result)
                if not records or not result.passed:
                    show_result(result, out)
    if records:
        return _write(results, options.project_dir, out)
    show_sum(results, time.monotonic() - began, out)
    if junit is not None:
        write_junit(results, junit)
    return 0 if all(result.passed for result in results) else 1


@contextmanager
def _made(home: Home, *, is_kept: bool, talk: Console) -> Iterator[None]:
    """Make the home of tests, and remove it, and those of runs that were killed."""
    left = [one for one in home.root.parent.glob(f"{_FOLDER}*") if one.suffix != ".lock"]
    for folder in left:
        with suppress(Timeout), FileLock(_lock_of(folder), timeout=0):
            shutil.rmtree(folder, ignore_errors=True)
            _lock_of(folder).unlink(missing_ok=True)
    with FileLock(_lock_of(home.root)):
        home.create()
        try:
            yield
        finally:
            if is_kept:
                kept = home.root.with_name(f"kept_{home.root.name}")
                home.root.rename(kept)
                talk.print(f"kept: {kept}", highlight=False, soft_wrap=True)
            else:
                shutil.rmtree(home.root, ignore_errors=True)
            _lock_of(home.root).unlink(missing_ok=True)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def _write(results: Sequence[Result], root: Path, out: Console) -> int:
    """Write what was found into the YAML of each model; return the exit code."""
    from tidemark.unit_tests.record import write_expectations

    of_model: dict[str, list[Result]] = {}
    for result in results:
        if result.passed:
            of_model.setdefault(str(result.case.node.name), []).append(result)
    for model, own in of_model.items():
        patch = str(own[0].case.node.patch_path or "").rpartition("://")[2]
        if not (root / patch).is_file():
            raise ConfigError(
                f"nothing was written: {model} has no property file in this project. Add one"
            )
        recorded = {one.case.test.name: one.recorded for one in own}
        write_expectations(root / patch, model, recorded)
        line = f"{patch}: wrote what {counted(len(own), 'test')} of {model} left. Read it: is that"
        out.print(f"{line} what the model is to do?", highlight=False, soft_wrap=True)
    return 0 if all(result.passed for result in results) else 1
