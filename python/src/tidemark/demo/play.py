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
# exit codes of `tidemark plan` and `tidemark apply`
CHANGES, STOPS = 2, 1
LOADED, REFUSED = 0, 2


Newest = Callable[[], str]
"""Returns the id of the plan that was made last."""


def play(
    root: Path, landings: Sequence[Landing], call: Call, newest: Newest, talk: Console
) -> None:
    """Play the days of a project.

    Args:
        root: The project, which is the working folder.
        landings: The extracts that come.
        call: Runs a command of ours.
        newest: Says what was planned last.
        talk: Where it is told what happens.

    Raises:
        TidemarkError: A command gave another exit code than it should.
    """
    steps = Steps(call, talk)
    for landing in landings:
        land(root, landing)
        stops = "error" in landing.day.expected
        steps.say(landing.said, f"{landing.path} has landed: {len(landing.day.rows):,} rows.")
        plan = ["plan", "--business-date", landing.date, "--samples", "2"]
        steps.run(plan, STOPS if stops else CHANGES)
        steps.run(["apply", newest()], REFUSED if stops else LOADED)
        if "U" in landing.day.expected:
            steps.say("What did that change?")
            steps.run(["changes", ENTITY, "--samples", "2"])
        if "rejected" in landing.day.expected:
            steps.say("And what was not loaded?")
            steps.run(["rejects", ENTITY])
    key = landings[-1].day.rows[0][0]
    steps.say(
        "Tidemark keeps every version of a row. Here are those of the customer whose limit "
        "was mended."
    )
    steps.run(["history", ENTITY, str(key)])
    steps.say(
        "This is how everything stands, at the console and as a page for the browser. The "
        "reject of day 2 stays open until you load that date again from a mended file."
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

    def run(self, words: Sequence[str], right: int = 0) -> None:
        """Show a command and run it.

        Args:
            words: The command and its arguments.
            right: The exit code that it should give.

        Raises:
            TidemarkError: It gave another one.
        """
        shown = shlex.join(["tidemark", *words])
        style = "bold" if self._talk.is_terminal else None
        self._talk.print(f"$ {shown}", style=style, highlight=False, markup=False, soft_wrap=True)
        code = self._call(words)
        if code == INTERRUPTED:
            raise click.Abort
        if code != right:
            raise TidemarkError(
                f"the demo stops: `{shown}` ended with exit code {code}. Run the command by itself"
            )


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
