"""What may come next on a line: commands, their options, entities, dates, columns, files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import click
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from tidemark.shell.lines import begun_words
from tidemark.shell.names import Names

# how parameters are called or shown, by what they take
_DATES = {"DATE", "DATES", "MOMENT", "FIRST", "LAST", "DATE_TEXT", "BUSINESS_DATE"}
_ENTITIES = {"ENTITY", "ENTITIES", "NAMES", "[ENTITY]...", "A"}
_MODELS = {"SELECT", "EXCLUDE"}
_COLUMNS = {"COLUMN", "COLUMNS", "WHERE"}


@dataclass(frozen=True)
class Suggestion:
    """What may stand at the cursor.

    Attributes:
        text: In place of the last `replaces` characters.
        replaces: How many.
        about: A word on it.
    """

    text: str
    replaces: int
    about: str = ""


class ShellCompleter(Completer):
    """Completes a line of the shell."""

    def __init__(
        self,
        commands: Callable[[], Mapping[str, str]],
        command: Callable[[str], click.Command | None],
        names: Callable[[], Names],
    ) -> None:
        """Make one.

        Args:
            commands: Gives what each command does, by its name.
            command: Gives a command.
            names: Gives the project's names as they are now.
        """
        self._commands = commands
        self._command = command
        self._names = names

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """Return what may stand at the cursor."""
        for one in self.suggestions(document.text_before_cursor):
            yield Completion(one.text, start_position=-one.replaces, display_meta=one.about)

    def suggestions(self, text: str) -> list[Suggestion]:
        """Return what may follow a text.

        Args:
            text: The line up to the cursor.
        """
        words, begun = begun_words(text)
        if not words:
            return _beginning(begun, self._commands())
        names = self._names()
        if words[0] == "sql" and not begun.startswith("-"):
            return _in_sql(text, names)
        if words[0] == "help":
            return _beginning(begun, self._commands()) if len(words) == 1 else []
        command = self._command(words[0])
        rest = words[1:]
        while isinstance(command, click.Group):
            below = click.Context(command)
            if not rest:
                found = {name: "" for name in command.list_commands(below)}
                return _beginning(begun, found)
            command, rest = command.get_command(below, rest[0]), rest[1:]
        return _of_command(command, rest, begun, names) if command is not None else []


def _of_command(
    command: click.Command, words: Sequence[str], begun: str, names: Names
) -> list[Suggestion]:
    options = {
        name: option
        for option in command.params
        if isinstance(option, click.Option)
        for name in (*option.opts, *option.secondary_opts)
    }
    last = options.get(words[-1]) if words else None
    if last is not None and _takes_value(last):
        return _values(last, words, begun, names)
    if begun.startswith("-"):
        name, is_given, value = begun.partition("=")
        if is_given and name in options:
            return _values(options[name], words, value, names)
        helps = {name: option.help or "" for name, option in options.items() if len(name) > 2}
        return _beginning(begun, helps)
    given, is_value = 0, False
    for word in words:
        option = options.get(word)
        if not is_value and not word.startswith("-"):
            given += 1
        is_value = option is not None and _takes_value(option)
    for argument in command.params:
        if isinstance(argument, click.Argument):
            if argument.nargs == -1 or given < argument.nargs:
                return _values(argument, words, begun, names)
            given -= argument.nargs
    return []


def _takes_value(option: click.Option) -> bool:
    return not option.is_flag and not option.count


def _values(
    parameter: click.Parameter, words: Sequence[str], begun: str, names: Names
) -> list[Suggestion]:
    if isinstance(parameter.type, click.Choice):
        return _beginning(begun, dict.fromkeys(map(str, parameter.type.choices), ""))
    called = {(parameter.metavar or "").upper(), (parameter.name or "").upper()}
    if called & _DATES:
        # after a comma or the dots of a range comes another date
        begun = re.split(r",|\.\.", begun)[-1]
        entities = [re.sub(r"^[@+\d]*|[+\d]*$", "", word) for word in words]
        dates = names.dates(entities)
        return _beginning(begun, {date.isoformat(): about for date, about in dates.items()})
    if called & _MODELS:
        begun = re.sub(r"^[@+\d]*", "", re.split(r",", begun)[-1])
        return _beginning(begun, dict.fromkeys(names.models, ""))
    if "B" in called:
        # of `diff`: another table, or the date of its form with two dates
        known = [*names.entities, *(date.isoformat() for date in names.dates(words))]
        return _beginning(begun, dict.fromkeys(known, ""))
    if called & _ENTITIES:
        return _beginning(begun, dict.fromkeys(names.entities, ""))
    if called & _COLUMNS:
        found = [name for word in words for name in names.columns(word)]
        return _beginning(re.findall(r"\w*$", begun)[0], dict.fromkeys(found, ""))
    if isinstance(parameter.type, click.Path) or "FILE" in "".join(called):
        return _files(begun)
    return []


def _in_sql(text: str, names: Names) -> list[Suggestion]:
    begun = re.findall(r"\w*$", text)[0]
    # those of the tables that the query names, else none: all columns of all would help nobody
    mentioned = {re.sub(r"__(log|history)$", "", word) for word in re.findall(r"\w+", text)}
    columns = {column: name for name in sorted(mentioned) for column in names.columns(name)}
    return _beginning(begun, {**dict.fromkeys(names.tables, "table"), **columns})


def _files(begun: str) -> list[Suggestion]:
    folder, name = os.path.split(begun)
    try:
        entries = sorted(os.scandir(os.path.expanduser(folder) or "."), key=lambda one: one.name)
    except OSError:
        return []
    return [
        Suggestion(entry.name + ("/" if entry.is_dir() else ""), len(name))
        for entry in entries
        if entry.name.startswith(name) and (name or not entry.name.startswith("."))
    ]


def _beginning(begun: str, known: Mapping[str, str]) -> list[Suggestion]:
    return [
        Suggestion(name, len(begun), about)
        for name, about in known.items()
        if name.lower().startswith(begun.lower())
    ]
