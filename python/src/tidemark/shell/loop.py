"""Reading lines and doing what they say: at a terminal, or from a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import Completer
from prompt_toolkit.history import FileHistory
from prompt_toolkit.patch_stdout import patch_stdout

from tidemark.defects import report_defect
from tidemark.errors import TidemarkError
from tidemark.shell.lines import Leave

Execute = Callable[[list[str]], int]
"""Does a command and returns its exit code; Leave ends the shell."""

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def execute_line(line: str, execute: Execute, words_of: Callable[[str], list[str]]) -> int:
    """Do what one line says, whatever goes wrong with it; return its exit code.

    Args:
        line: As it was typed.
        execute: Does a command.
        words_of: Takes a line apart.

    Raises:
        Leave: It ends the shell.
    """
    try:
        words = words_of(line)
        return execute(words) if words else 0
    except TidemarkError as error:
        click.echo(f"Error: {error}", err=True)
        return EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:  # what is warm stays
        click.echo(f"Error: {report_defect(error, 'tidemark shell')}", err=True)
        return EXIT_FAILED


def run_lines(lines: Iterable[str], do: Callable[[str], int]) -> int:
    """Do lines until one fails; return the exit code of that one.

    Args:
        lines: What a pipe gives.
        do: Does a line.
    """
    try:
        for number, line in enumerate(lines, start=1):
            code = do(line)
            if code:
                click.echo(
                    f"the shell ended at line {number} with exit code {code}: {line.strip()}",
                    err=True,
                )
                return code
    except Leave:
        pass
    return 0


def interact(session: PromptSession[str], title: str, do: Callable[[str], int]) -> None:
    """Ask for lines and do them, until Ctrl-D.

    Args:
        session: The line editor.
        title: What stands before the cursor.
        do: Does a line.
    """
    while True:
        try:
            # only while a line is edited: what others print stands above it
            with patch_stdout(raw=True):
                line = session.prompt(f"{title}> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        try:
            code = do(line)
        except Leave:
            return
        if code == EXIT_INTERRUPTED:
            click.echo("interrupted", err=True)


class _History(FileHistory):
    """Keeps what was typed, but for the keys that are erased."""

    def store_string(self, string: str) -> None:
        """See FileHistory."""
        if string.split(maxsplit=1)[:1] != ["erase"]:
            super().store_string(string)


def line_editor(history: Path, completer: Completer) -> PromptSession[str]:
    """Return a line editor.

    Args:
        history: The file that keeps what was typed.
        completer: What Tab asks.
    """
    history.parent.mkdir(parents=True, exist_ok=True)
    # a condition has values of rows in it
    history.touch(mode=0o600)
    history.chmod(0o600)
    return PromptSession(
        history=_History(str(history)),
        auto_suggest=AutoSuggestFromHistory(),
        completer=completer,
        complete_in_thread=True,
        complete_while_typing=False,
    )
