"""`tidemark shell`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from tidemark import distribution_version
from tidemark.cli import COMMANDS, call
from tidemark.home import tidemark_home
from tidemark.options import (
    EXIT_DIFFERENT,
    profiles_dir_option,
    project_dir_option,
    target_option,
)
from tidemark.run.options import RunOptions, prepare_environment, project_options

_EPILOG = """
Type commands without `tidemark`: run, test, changes, history, status, rejects, diff, check, …, and
also sql, reload, help, exit. The shell keeps what you type in shell_history in TIDEMARK_HOME,
except for `erase`. While the shell is open, it holds the embedded metastore. Other runs of that
TIDEMARK_HOME wait.

From a pipe, each line is a command. The first command that fails ends the shell, which names its
exit code. A `plan` with changes does not fail, and neither does a `diff`.

\b
Exit codes:
  0    ended by Ctrl-D, `exit` or the end of the pipe
  2    the project is not there, or an option is wrong
  …    from a pipe: that of the command that failed

\b
Examples:
  tidemark shell
  echo 'run --select airports --business-date 2026-03-04' | tidemark shell
  tidemark shell < commands.txt
"""


@click.command(epilog=_EPILOG)
@click.option("--vars", "vars_text", metavar="YAML", help="dbt's --vars, for every command.")
@project_dir_option
@profiles_dir_option
@target_option
@click.pass_context
def shell(
    ctx: click.Context,
    vars_text: str | None,
    project_dir: Path | None,
    profiles_dir: Path | None,
    target: str | None,
) -> None:
    """Run commands one after the other while Spark stays up.

    The shell notices changed files of the project, and parses only these again.
    """
    options = project_options(vars_text, project_dir, profiles_dir, target)
    prepare_environment(options.project_dir)
    from tidemark.run.kept import projects_kept
    from tidemark.spark.session import session_expected

    given = {"vars_text": vars_text, "profiles_dir": options.profiles_dir, "target": target}
    # Spark starts while dbt parses the project
    with session_expected(), projects_kept():
        lines = None if sys.stdin.isatty() else sys.stdin
        ctx.exit(
            serve(
                options, {**given, "project_dir": options.project_dir}, Console(stderr=True), lines
            )
        )


def serve(
    options: RunOptions, given: dict[str, Any], talk: Console, lines: Iterable[str] | None
) -> int:
    """Do what lines say, with one warm project; return the exit code.

    Args:
        options: Which project, profile, target and vars.
        given: The same as parameters of commands, for those that are not told otherwise.
        talk: Where it says what it does.
        lines: What a pipe gives; none: a terminal is asked.
    """
    from tidemark.run.watch import Watch, project_places
    from tidemark.shell.commands import ShellGroup
    from tidemark.shell.lines import words_of
    from tidemark.shell.loop import execute_line, interact, line_editor, run_lines
    from tidemark.shell.warm import Warm

    group, warm = ShellGroup(name="tidemark"), Warm(options, talk)
    default = {name: value for name, value in given.items() if value is not None}
    # the shell's own commands have the project from `warm`
    defaults = dict.fromkeys(COMMANDS, default)

    def execute(words: list[str]) -> int:
        with warm.lock:
            code = call(group, words, obj=warm, defaults=defaults)
            warm.names.forget()
            # that something differs is no failure
            return 0 if words[0] in ("plan", "diff", "replay") and code == EXIT_DIFFERENT else code

    do = partial(execute_line, execute=execute, words_of=words_of)
    if lines is not None:
        return run_lines(lines, do)
    from tidemark.shell.commands import described_commands
    from tidemark.shell.complete import ShellCompleter

    with talk.status("reading the project …"):
        warm.parse()
    hint = "help lists the commands, Tab completes, Ctrl-D ends"
    talk.print(f"tidemark {distribution_version()}: {hint}", highlight=False)
    completer = ShellCompleter(
        cache(partial(described_commands, group)),
        lambda name: group.get_command(click.Context(group), name),
        lambda: warm.names,
    )
    with Watch(lambda: project_places(options)) as changes:
        threading.Thread(
            target=warm.follow, args=(changes,), name="tidemark-follow", daemon=True
        ).start()
        interact(line_editor(tidemark_home().shell_history, completer), warm.title, do)
    return 0
