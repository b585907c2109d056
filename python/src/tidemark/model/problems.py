"""Problems of a configuration, told at once."""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.errors import ConfigError


def raise_problems(
    entity: str, errors: Sequence[str], holder: str = "the configuration has"
) -> None:
    """Raise every problem that was found, at once.

    Args:
        entity: Whose they are.
        errors: The problems, each a sentence.
        holder: What has them, and the verb.

    Raises:
        ConfigError: There are some.
    """
    if errors:
        noun = "problem" if len(errors) == 1 else "problems"
        raise ConfigError("\n  - ".join([f"{entity}: {holder} {len(errors)} {noun}", *errors]))
