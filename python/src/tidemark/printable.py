"""Texts that people read: values from outside (names, cells of rows), and counts with their "
"nouns."""

from __future__ import annotations

import re

_ORDERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def one_line(text: str) -> str:
    r"""Return a text that does not leave its line, such as a comment of YAML.

    Example:
        >>> one_line("a.csv\nconfig: {}")
        'a.csv?config: {}'
    """
    return "".join(character if character.isprintable() else "?" for character in text)


def without_orders(text: str) -> str:
    r"""Return a text in which a terminal finds nothing to obey; lines and tabs stay.

    Example:
        >>> without_orders("\x1b]0;title\x07a\tb")
        '?]0;title?a\tb'
    """
    return _ORDERS.sub("?", text)


def shortened(text: str, widest: int) -> str:
    """Return a text that has at most so many characters; of a longer one the end is left out.

    Example:
        >>> shortened("Zurich", 6), shortened("Zurich", 4)
        ('Zurich', 'Zur…')
    """
    return text if len(text) <= widest else text[: widest - 1] + "…"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    Example:
        >>> counted(1, "table"), counted(2_000, "event")
        ('1 table', '2,000 events')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
