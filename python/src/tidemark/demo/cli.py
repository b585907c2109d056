"""`tidemark demo`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from tidemark.cli import call, cli
from tidemark.demo.project import landings, make_project
from tidemark.errors import ConfigError
from tidemark.home import tidemark_home
from tidemark.run.options import prepare_environment
from tidemark.scaffold.new_project import package

_EPILOG = """
The demo needs Java, and the first time also the network, for Spark's packages. It writes into the
folder, or below TIDEMARK_HOME if that is set.

\b
Exit codes:
  0    all steps were played
  2    the folder is not empty, Java is missing, or a step failed
  130  interrupted

\b
Examples:
  tidemark demo
  tidemark demo --folder /tmp/shop
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("tidemark-demo"),
    show_default=True,
    help="The folder of the new project. It must be empty or missing.",
)
@click.option(
    "--package",
    "package_text",
    metavar="PLACE",
    help="The dbt package with the macros: a folder, or a git URL with @revision. "
    "Default: the checkout of this command.",
)
def demo(folder: Path, package_text: str | None) -> None:
    """Make a project, load three days of generated data, and explain each step.

    The command takes a minute or two. You can go on with the project afterwards.
    """
    from tidemark.demo.play import next_steps, play
    from tidemark.java import check_java
    from tidemark.run.kept import projects_kept
    from tidemark.spark.session import session_expected

    talk = Console(stderr=True)
    check_java()
    root = folder.absolute()
    written = make_project(root, package(package_text))
    talk.print(f"A new project, {folder}:", highlight=False, markup=False)
    for path in written:
        talk.print(f"  {path}", highlight=False, markup=False)
    with chdir(root):
        prepare_environment(root)
        _install(root, talk)
        with session_expected(), projects_kept():
            play(root, landings(), _call, _newest_plan, talk)
    report = tidemark_home().root / "report.html"
    talk.print(
        f"\n{next_steps(str(folder), str(report))}", highlight=False, markup=False, soft_wrap=True
    )


def _call(words: Sequence[str]) -> int:
    return call(cli, words)


def _newest_plan() -> str:
    from tidemark.plan.store import list_plans

    return list_plans()[0].id


def _install(root: Path, talk: Console) -> None:
    """Do what `dbt deps` does."""
    from dbt.cli.main import dbtRunner

    talk.print("\n$ dbt deps", highlight=False, markup=False)
    arguments = ["deps", "--project-dir", str(root), "--profiles-dir", str(root)]
    result: Any = dbtRunner().invoke([*arguments, "--log-level", "none"])
    if not result.success:
        raise ConfigError(str(result.exception or "dbt could not install the package"))
