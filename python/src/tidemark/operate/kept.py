"""Values of a key that go to an operation of this process, and not through dbt, which logs them."""

from __future__ import annotations

import secrets
from typing import Any

_kept: dict[str, dict[str, Any]] = {}


def keep(key: dict[str, Any]) -> str:
    """Return the name under which a key is given().

    Args:
        key: Values by column.
    """
    name = f"key-{secrets.token_hex(4)}"
    _kept[name] = key
    return name


def given(name: str) -> Any:
    """Return a key that was kept; a text that is no name of one stays what it is.

    Example:
        >>> given(keep({"icao": "WIPO"})), given("WIPO")
        ({'icao': 'WIPO'}, 'WIPO')
    """
    return _kept.get(name, name)
