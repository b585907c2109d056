"""What the package's macros raise: a message for a person, without the macros at work below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from dbt_common.exceptions import DbtRuntimeError


class MacroError(DbtRuntimeError):
    """What a macro has to say; `Data Error in model orders (models/orders.sql)` heads the message.

    Only to a CompilationError does dbt add the macros that called each other.
    """

    def __init__(self, kind: str, message: str, model: Mapping[str, Any] | None = None) -> None:
        fields = ("resource_type", "name", "original_file_path", "raw_code")
        node = SimpleNamespace(**{key: model.get(key) for key in fields}) if model else None
        super().__init__(message, node)
        self.kind = kind

    @property
    def type(self) -> str:
        """What dbt heads the message with, before ` Error`."""
        return self.kind.capitalize()


def macro_stack(macros: Sequence[str]) -> str:
    """Return the macros that were at work, the innermost first, for the log.

    Example:
        >>> macro_stack(["macro.tidemark.cdc", "macro.tidemark.stage"])
        '> in macro.tidemark.stage\\n> called by macro.tidemark.cdc'
    """
    return "\n".join(
        f"> {'called by' if number else 'in'} {name}" for number, name in enumerate(macros[::-1])
    )
