"""Help texts of all commands and options: there, plain, and of one form."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from docsite.reference import commands_of
from tests.unit.test_plain_words import LONGEST, MEAN, is_inverted, sentences, words
from tidemark.cli import cli

_LONGEST_LINE = 80
COMMANDS = {" ".join(path): command for path, command in commands_of(cli)}
# code and examples are no prose
_EXAMPLE = re.compile(r"\x08.*?(\n\n|\Z)|^Example:.*?(\n\n|\Z)", re.DOTALL | re.MULTILINE)


def helps(command: click.Command) -> list[str]:
    """The texts of a command: its own, what follows its options, and those of its options."""
    own = [_EXAMPLE.sub("", text or "") for text in (command.help, command.epilog)]
    return [*own, *(option.help or "" for option in command.params if hasattr(option, "help"))]


def groups(group: click.Group, name: str) -> Iterator[tuple[str, click.Group]]:
    """A group of commands and those in it, by the words that call them."""
    yield name, group
    context = click.Context(group)
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        if isinstance(command, click.Group):
            yield from groups(command, f"{name} {word}")


@pytest.mark.parametrize("name", COMMANDS)
def test_command(name: str) -> None:
    command = COMMANDS[name]
    first = (command.help or "").split("\n\n")[0].replace("\n", " ")
    assert re.match(r"[A-Z][a-z]+ ", first), f"begins with a verb: {first!r}"
    assert re.search(r"[.:]$|`\.$", first), f"ends a sentence: {first!r}"
    assert len(first) <= _LONGEST_LINE, f"{len(first)} characters: {first!r}"
    assert "  " not in first


@pytest.mark.parametrize("name", COMMANDS)
def test_options__have_help(name: str) -> None:
    for option in COMMANDS[name].params:
        if isinstance(option, click.Option) and not option.hidden:
            assert option.help, f"{name} {option.opts[0]} says nothing"
            assert option.help.endswith("."), f"{name} {option.opts[0]}: {option.help!r}"


ALL = {**COMMANDS, **dict(groups(cli, "tidemark"))}


@pytest.mark.parametrize("name", ALL)
def test_sentences(name: str) -> None:
    for text in helps(ALL[name]):
        for one in sentences(text):
            assert len(words(one)) <= LONGEST, one
            assert not is_inverted(one), one


def test_sentences__are_short() -> None:
    counts = [
        len(words(one))
        for command in ALL.values()
        for text in helps(command)
        for one in sentences(text)
    ]
    assert sum(counts) / len(counts) < MEAN
