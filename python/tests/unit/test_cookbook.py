"""The cookbook without Spark: each of its commands parses, and each of its settings is one."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import click
import pytest
from click.testing import CliRunner

from docsite.reference import macros_of
from docsite.tree import read_pages
from tests.macros import ROOT
from tidemark.cli import cli

SPANS = re.findall(r"`([^`]+)`", read_pages()["how-to/cookbook.md"])
COMMANDS = sorted({span for span in SPANS if span.startswith("tidemark ")})
OPERATIONS = sorted({span for span in SPANS if span.startswith("dbt run-operation ")})
SETTINGS = sorted({span for span in SPANS if re.match(r"[a-z_]+: ", span)})


def names_of(schema: Any) -> Iterator[str]:
    """The names that a JSON Schema gives to properties, at any depth."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        schema = [*schema.values()]
    if isinstance(schema, list):
        for one in schema:
            yield from names_of(one)


NAMES = {*names_of(json.loads(CliRunner().invoke(cli, ["schema"]).stdout))}


@pytest.mark.parametrize("text", COMMANDS)
def test_commands_parse(text: str) -> None:
    words = shlex.split(text)[1:]
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group):
        name = words.pop(0)
        found = command.get_command(context, name)
        assert found is not None, f"{text}: there is no command {name}"
        command, context = found, click.Context(found, parent=context)
    command.make_parser(context).parse_args(words)


@pytest.mark.parametrize("text", OPERATIONS)
def test_operations_are_there(text: str) -> None:
    assert text.split()[2] in macros_of(ROOT)


@pytest.mark.parametrize("text", SETTINGS)
def test_settings_are_there(text: str) -> None:
    assert text.partition(":")[0] in NAMES
