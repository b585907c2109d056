"""The steps of the demo: what happens is said, the command is shown, then it is run."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from tidemark.demo.project import ENTITY, Landing, land
from tidemark.errors import TidemarkError

Call = Callable[[Sequence[str]], int]
"""Runs a command and returns its exit code."""

INTERRUPTED = 130


def play(
    root: Path, landings: Sequence[Landing], call: Call, group: click.Group, talk: Console
) -> None:
    """Play the days of a project.

    Args:
        root: The project, which is the working folder.
        landings: The extracts that come.
        call: Runs a command of ours.
        group: Has the commands.
        talk: Where it is told what happens.

    Raises:
        TidemarkError: A command gave another exit code than it should.
    """
    steps = Steps(call, talk)
    loads = load_commands(group)
    for landing in landings:
        land(root, landing)
        fails = "error" in landing.day.expected
        steps.say(landing.said, f"{landing.path} has landed: {len(landing.day.rows):,} rows.")
        for command in loads:
            # a plan of what must not be loaded may say so by its exit code; a load must
            is_load = command is loads[-1]
            words = [command[0], *with_date(command[1:], landing.date)]
            steps.run(words, {1} if fails and is_load else {0} if is_load else {0, 1, 2})
        if "U" in landing.day.expected:
            steps.say("What did that change?")
            steps.run(["changes", ENTITY, "--samples", "2"])
        if "rejected" in landing.day.expected:
            steps.say("And what was not loaded?")
            steps.run(["rejects", ENTITY])
    key = landings[-1].day.rows[0][0]
    steps.say("Every version of a row is kept, here of the customer whose limit was mended.")
    steps.run(["history", ENTITY, str(key)])
    steps.say(
        "How it all stands, at the console and as a page for the browser. The reject of day 2 is "
        "open until that date is loaded again from a file that is mended."
    )
    steps.run(["status"])
    steps.run(["report"])


class Steps:
    """Says what comes and runs it."""

    def __init__(self, call: Call, talk: Console) -> None:
        """Make them.

        Args:
            call: Runs a command of ours.
            talk: Where it is told what happens.
        """
        self._call = call
        self._talk = talk

    def say(self, *sentences: str) -> None:
        """Tell what comes next."""
        self._talk.print()
        for sentence in sentences:
            self._talk.print(sentence, highlight=False, markup=False)

    def run(self, words: Sequence[str], codes: set[int] | None = None) -> None:
        """Show a command and run it.

        Args:
            words: The command and its arguments.
            codes: The exit codes that are right; by default 0.

        Raises:
            TidemarkError: It gave another one.
        """
        shown = shlex.join(["tidemark", *words])
        style = "bold" if self._talk.is_terminal else None
        self._talk.print(f"$ {shown}", style=style, highlight=False, markup=False, soft_wrap=True)
        code = self._call(words)
        if code == INTERRUPTED:
            raise click.Abort
        if code not in (codes or {0}):
            raise TidemarkError(f"the demo stops: `{shown}` ended with exit code {code}")


def load_commands(group: click.Group) -> list[list[str]]:
    """Return the commands that load a date, with `{date}` where it goes: plan and apply, or run.

    Args:
        group: Has the commands.
    """
    ctx = click.Context(group)
    plan, apply = (group.get_command(ctx, name) for name in ("plan", "apply"))
    if plan is None or apply is None:
        return [["run", "--business-date", "{date}"]]
    return [["plan", *_options(plan)], ["apply", *_options(apply)]]


def with_date(words: Sequence[str], date: str) -> list[str]:
    """Return words with a date in the place of `{date}`."""
    return [word.replace("{date}", date) for word in words]


def _options(command: click.Command) -> list[str]:
    known = {name for one in command.params for name in one.opts}
    found = ["--business-date", "{date}"] if "--business-date" in known else []
    return [*found, *(["--yes"] if "--yes" in known else [])]


def next_steps(shown: str, report: str) -> str:
    """Return what to try next.

    Args:
        shown: The project's folder, as it is typed.
        report: Where the report lies.
    """
    lines: list[Any] = [
        ("", f"The project is yours now, and the report is {report}. What to try next:"),
        (f"cd {shlex.quote(shown)}", ""),
        ("tidemark shell", "all of these in one warm process"),
        (f"tidemark diff {ENTITY} 2026-03-01 2026-03-03", "two dates compared"),
        (f"tidemark feed {ENTITY} --limit 3", "changes for a consumer, as JSON"),
        (f"tidemark rollback {ENTITY} --to 2026-03-02 --dry-run", "what undoing a day would do"),
        ("tidemark run --business-date 2026-03-03 --watch", "then edit the YAML or the extract"),
        ("tidemark init --help", "an entity of your own files"),
    ]
    width = max(len(command) for command, about in lines if about)
    told = [
        about if not command else f"  {command:<{width}}" + (f"  # {about}" if about else "")
        for command, about in lines
    ]
    return "\n".join(line.rstrip() for line in told)
