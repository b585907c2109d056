"""Calling an operation: what it would do is shown before it is done."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import click
from rich.console import Console

from tidemark.console import nearest, stdout_console
from tidemark.errors import ConfigError
from tidemark.operate.kept import keep
from tidemark.read.project import Entity, entities_of
from tidemark.run.invoke import Invoker

EXIT_STOPPED = 3
_STOPPED = "it stopped on the way: finished parts stay, and the same call continues"
_NULLS = {"NULL": None, "'NULL'": "NULL"}


@dataclass(frozen=True)
class Operation:
    """A run-operation and what it is called with.

    Attributes:
        name: Its macro.
        entity: The model.
        arguments: Of the macro, but for `entity` and `dry_run`; those that are None are left out.
        confirmed: Arguments that it has only when it is done.
    """

    name: str
    entity: str
    arguments: dict[str, Any] = field(default_factory=dict)
    confirmed: dict[str, Any] = field(default_factory=dict)

    def called(self, *, dry_run: bool) -> dict[str, Any]:
        """Return the macro's arguments.

        Example:
            >>> Operation("rollback", "airports", {"to": "2026-02-05"}).called(dry_run=True)
            {'entity': 'airports', 'to': '2026-02-05', 'dry_run': True}
        """
        given = {"entity": self.entity, **self.arguments, "dry_run": dry_run}
        given |= {} if dry_run else self.confirmed
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class Asked:
    """How far to go.

    Attributes:
        dry_run: Only say what would be done.
        yes: Do it without asking.
        can_ask: Whether there is somebody to ask.
    """

    dry_run: bool = False
    yes: bool = False
    can_ask: bool = False


def operate(
    invoker: Invoker,
    asked: Asked,
    operation: Callable[[Entity], Operation],
    name: str,
) -> int:
    """Say what an operation would do, ask, and do it; return the exit code.

    Args:
        invoker: With the project parsed.
        asked: How far to go.
        operation: Makes the call for the entity.
        name: The entity.

    Raises:
        ConfigError: There is no such entity, the operation refused, or nobody could be asked:
            nothing was done.
    """
    entities = entities_of(invoker.manifest)
    if name not in entities:
        raise ConfigError(
            f"there is no entity named {name!r}. Name a model with materialized: "
            f"cdc.{nearest(name, entities)}"
        )
    return operate_all(invoker, asked, [operation(entities[name])])


def operate_all(invoker: Invoker, asked: Asked, calls: Sequence[Operation]) -> int:
    """Say what operations would do, ask once, and do them; return the exit code.

    Raises:
        ConfigError: One of them refused, or nobody could be asked: nothing was done.
    """
    out = stdout_console()
    # nobody needs to hear what is done at once all the same
    is_done_at_once = asked.yes and not asked.dry_run
    heard = io.StringIO()
    first = Console(file=heard, width=out.width) if is_done_at_once else out
    lines = [
        line
        for call in calls
        for line in invoker.operate(call.name, call.called(dry_run=True), first)
    ]
    # whatever has something to do says what it would
    if asked.dry_run or not any(": would " in line for line in lines):
        out.print(heard.getvalue(), end="", highlight=False, markup=False, soft_wrap=True)
        return 0
    if not asked.yes:
        if not asked.can_ask:
            raise ConfigError(
                "nothing was done, as there is no terminal to ask for consent. Add --yes"
            )
        if not click.confirm("Go ahead?", err=True):
            click.echo("nothing was done", err=True)
            return 1
    try:
        for call in calls:
            invoker.operate(call.name, call.called(dry_run=False), out)
    except ConfigError as error:
        click.echo(f"Error: {error}\n{_STOPPED}", err=True)
        return EXIT_STOPPED
    return 0


def with_key(operation: Operation, entity: Entity, values: tuple[str, ...]) -> Operation:
    """Return an operation on one row, whose key dbt does not see: it would log it.

    Args:
        operation: The call.
        entity: Whose row.
        values: Of its key columns, in the order of `unique_key`, as `history` shows them: NULL for
            none, 'NULL' in quotes for that text.

    Raises:
        ConfigError: It has no key, or another number of key columns.
    """
    if len(values) != len(entity.key):
        keys = ", ".join(entity.key) or "none"
        raise ConfigError(
            f"the key of {entity.name} is {keys}: "
            f"give {len(entity.key)} values, found {len(values)}"
        )
    key = {name: _NULLS.get(value, value) for name, value in zip(entity.key, values, strict=True)}
    if nulls := [name for name, value in key.items() if value is None]:
        note = "taken for no value; the text NULL is \"'NULL'\""
        click.echo(f"{entity.name}: NULL of {', '.join(nulls)} is {note}", err=True)
    return replace(operation, arguments={**operation.arguments, "key": keep(key)})
