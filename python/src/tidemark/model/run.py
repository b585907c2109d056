"""What was asked of a run: permissions and how it loads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.errors import UsageError
from tidemark.model.given import allowed_of, one_of
from tidemark.model.settings import ExtractSettings

_PERMISSIONS = ("allow_deletes", "allow_rejects")
_NUMBERS = ("sample_rows", "merge_keys", "max_line_bytes")
_PLANS = {"true": "tables", "kept": "kept", "false": None}
_ENGINES = allowed_of(ExtractSettings.model_fields["engine"].annotation)


def run_settings(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the variables of a run say, by the names that a load reads.

    Example:
        >>> run_settings(variables | {"allow_deletes": "true"})["allow_deletes"]
        True

    Args:
        variables: The project's, without the prefix `tidemark__`.

    Raises:
        UsageError: One has a value that is none of its.
    """
    plan, engine = variables["plan"], variables["engine"]
    if str(plan).lower() not in _PLANS:
        raise UsageError(f"plan must be true or false, found: {plan}")
    for problem in one_of("tidemark__engine", engine, _ENGINES):
        raise UsageError(problem)
    allowed = {name: str(variables[name]).lower() == "true" for name in _PERMISSIONS}
    return {
        **allowed,
        **{name: _number(variables[name]) for name in _NUMBERS},
        "plan": _PLANS[str(plan).lower()],
        "planned": variables["planned"],
        "engine": engine,
    }


def _number(value: Any) -> int:
    """A whole number; 0 of what is none, which is the least of each."""
    try:
        return int(float(value))
    except (TypeError, ValueError):
        return 0
