"""What a line of the shell says."""

from __future__ import annotations

import re
import shlex

from tidemark.errors import ConfigError

# the options of `sql`, which come before the query; the query is taken as it is written
_SQL = re.compile(
    r"sql\b(?P<options>(?:\s+--?[\w][\w-]*(?:=\S+)?(?:\s+\d+)?)*)(?:\s+(?P<query>.*))?"
)


class Leave(BaseException):
    """The shell is to end."""


def words_of(line: str) -> list[str]:
    """Return the command and its arguments, as for a command line; none of a blank or a comment.

    Example:
        >>> words_of("tidemark history 'order lines' 7  # why?")
        ['history', 'order lines', '7']
        >>> words_of("sql --limit 5 select 'a' as b")
        ['sql', '--limit', '5', '--', "select 'a' as b"]

    Raises:
        ConfigError: A quote has no end.
    """
    text = re.sub(r"^tidemark(\s+|$)", "", line.strip())
    if not text or text.startswith("#"):
        return []
    query = _SQL.fullmatch(text)
    if query is not None:
        asked = (query["query"] or "").rstrip("; \t")
        return ["sql", *query["options"].split(), *(["--", asked] if asked else [])]
    try:
        return shlex.split(text, comments=True)
    except ValueError as error:
        raise ConfigError(
            f"the line cannot be read ({str(error).lower()}): check its quotation marks"
        ) from error


def begun_words(text: str) -> tuple[list[str], str]:
    """Return the words before the cursor, and the one that it is in.

    Example:
        >>> begun_words("changes airp"), begun_words("changes ")
        ((['changes'], 'airp'), (['changes'], ''))
    """
    text = re.sub(r"^\s*(tidemark\s+)?", "", text)
    words = re.findall(r"(?:\"[^\"]*\"|'[^']*'|\S)+", text)
    whole = [re.sub(r"[\"']", "", word) for word in words]
    if not words or text[-1:].isspace():
        return whole, ""
    return whole[:-1], words[-1]
