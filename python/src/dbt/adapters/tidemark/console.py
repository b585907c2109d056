"""Colours are for a terminal: dbt by default writes them into pipes and into its log, too."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource
from dbt_common import ui
from dbt_common.events.event_manager_client import get_event_manager

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def without_colours(text: str) -> str:
    """Take the colours off a text.

    Example:
        >>> without_colours("[\\x1b[32mOK\\x1b[0m]")
        '[OK]'
    """
    return _COLOUR.sub("", text)


def colours_on_terminals_only() -> None:
    """Have dbt leave out colours where no terminal shows them, unless they were asked for."""
    context = click.get_current_context(silent=True)
    if context is not None and _asked_for(context):
        return
    is_terminal = sys.stdout.isatty()
    if not is_terminal:
        ui.USE_COLOR = False  # dbt sets it anew for each command
    for logger in get_event_manager().loggers:
        if logger.name != "stdout_log" or not is_terminal:
            plain: Any = logger
            plain.use_colors = False
            plain.scrubber = _plain(logger.scrubber)


def hide_changed_vars() -> None:
    """Keep from the console that dbt parses anew: each business date changes the vars.

    dbt's log has it.
    """
    for logger in get_event_manager().loggers:
        if logger.name == "stdout_log":
            telling: Any = logger
            telling.filter = _without_changed_vars(logger.filter)


def _without_changed_vars(filter_: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda event: filter_(event) and not is_changed_vars_message(event)


def is_changed_vars_message(event: Any) -> bool:
    """Say whether an event of dbt's tells that the vars are not those that it parsed by."""
    return event.info.name == "UnableToPartialParse" and "config vars" in event.info.msg


def _plain(scrubber: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: without_colours(scrubber(text))


def _asked_for(context: click.Context | None) -> bool:
    """Whether `--use-colors` or DBT_USE_COLORS was given, with the command or before it."""
    while context is not None:
        for name in ("use_colors", "use_colors_file"):
            source = context.get_parameter_source(name)
            if source in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT):
                return True
        context = context.parent
    return False
