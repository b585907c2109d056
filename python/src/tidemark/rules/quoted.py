"""Names and texts as Spark's SQL has them."""

from __future__ import annotations


def back_ticked(name: str) -> str:
    """Return a name as Spark's SQL has it in every case.

    Example:
        >>> back_ticked("a`b")
        '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Return a text as a literal.

    Example:
        >>> literal("it's")
        "'it\\\\'s'"
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
