"""`tidemark clone` and `tidemark promote`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from tidemark.errors import ConfigError
from tidemark.operate.call import Operation, operate_all
from tidemark.operate.cli import END, operating, with_project
from tidemark.options import exclude_option, select_option
from tidemark.run.invoke import Invoker

_CLONED = ("cdc", "atomic", "scd2", "feed", "shred")


@click.command(
    epilog=END
    + """
\b
Examples:
  tidemark clone --to dev
  tidemark clone --select airports --to dev --replace
  tidemark clone --select airports --to dev --remove
"""
)
@click.option("--to", metavar="SCHEMA", required=True, help="The schema of the clones.")
@click.option("--replace", is_flag=True, help="Replace clones that exist in that schema.")
@click.option("--remove", is_flag=True, help="Remove clones.")
@select_option
@exclude_option
@operating
def clone(to: str, replace: bool, remove: bool, **how: Any) -> None:
    """Clone the tables of models into another schema without copying rows.

    Use a target with that schema to load, plan and roll back there. The originals stay unchanged.
    """
    if replace and remove:
        raise click.UsageError("--replace and --remove contradict each other. Give one of them")
    arguments = {"to": to, "replace": replace or None, "remove": remove or None}
    _operate_selected("clone", arguments, _CLONED, how)


@click.command(
    epilog=END
    + """
\b
Examples:
  tidemark promote dev
  tidemark promote dev --select airports --yes
"""
)
@click.argument("schema")
@select_option
@exclude_option
@operating
def promote(schema: str, **how: Any) -> None:
    """Replace the originals with their clones, each entity in one step.

    The command refuses a clone if its original changed after it was cloned.
    """
    _operate_selected("promote", {"schema": schema}, ("cdc",), how)


def _operate_selected(
    name: str, arguments: dict[str, Any], kinds: Sequence[str], how: dict[str, Any]
) -> None:
    chosen = {one: list(how.pop(one)) for one in ("select", "exclude")}

    def calls(invoker: Invoker) -> list[Operation]:
        nodes = [node for node in invoker.selected() if node.config.materialized in kinds]
        if not nodes:
            raise ConfigError(
                f"no selected model can be used with {name}. Select a model of these kinds: "
                f"{', '.join(kinds)}"
            )
        return [Operation(name, node.name, arguments) for node in nodes]

    with_project(how, lambda invoker, asked: operate_all(invoker, asked, calls(invoker)), **chosen)
