"""The text of a DDL statement: the columns that it renames and adds, and its tables."""

from __future__ import annotations

import re

_PART = r"""(?:`[^`]+`|"[^"]+"|[^\s,;.`"()]+)"""


def without_texts(ddl: str) -> str:
    """Return a statement without comments and texts.

    What stands in a comment that a server executes is none, nor is a quoted name.

    Example:
        >>> without_texts("alter table a /* rename b to c */ add d text default 'x'")
        'alter table a   add d text default  '
    """
    left_out = (
        r"/\*(?!M?!).*?\*/|'(?:[^'\\]|\\.|'')*'"
        r'|\b(?:comment|default)\s*=?\s*"(?:[^"\\]|\\.)*"'
    )
    pattern = rf'(?is)(`[^`]*`|"(?:[^"\\]|\\.)*")|{left_out}'
    return re.sub(pattern, lambda found: found.group(1) or " ", ddl)


def renames_column(ddl: str, old: str, new: str) -> bool:
    """Return whether a statement renames a column: CHANGE [COLUMN] a b, RENAME COLUMN a TO b.

    Example:
        >>> renames_column("ALTER TABLE t RENAME COLUMN a TO b", "a", "b")
        True
    """
    was, now = (rf'[`"\[]?{re.escape(name)}[`"\]]?' for name in (old, new))
    words = r"(change|rename)\s+(column\s+)?(if\s+exists\s+)?"
    pattern = rf"(?is){words}{was}\s+(to\s+)?{now}(?!\w)"
    return re.search(pattern, without_texts(ddl)) is not None


def renamed_pairs(ddl: str) -> list[tuple[str, str]]:
    """Return the old and the new name, lower case, of what a statement may rename columns by."""
    pattern = (
        r"(?i)\b(?:change|rename)\s+(?!(?:tables?|to|as|index|key|constraint)\b)"
        rf"(?:column\s+)?(?:if\s+exists\s+)?({_PART})\s+(?:to\s+)?({_PART})"
    )
    return [
        (old.strip('`"').lower(), new.strip('`"').lower())
        for old, new in re.findall(pattern, without_texts(ddl))
    ]


def renamed_tables(ddl: str) -> list[tuple[str, str]]:
    """Return the old and the new name of the tables that a statement renames.

    Several statements of MySQL do so: RENAME TABLE a TO b, c TO d; ALTER TABLE a ADD COLUMN …,
    RENAME [TO] b.

    Example:
        >>> renamed_tables("rename table a to b, c to d")
        [('a', 'b'), ('c', 'd')]
    """
    table, text = rf"({_PART}(?:\.{_PART})*)", without_texts(ddl)
    pattern = (
        r"(?is)^\s*alter\s+(?:online\s+|ignore\s+)*table\s+(?:if\s+exists\s+)?"
        rf"{table}\s(?:.*[\s,])?rename\s+(?!column\b|index\b|key\b|constraint\b)"
        rf"(?:to\s+|as\s+|=\s*)?{table}"
    )
    if re.match(r"(?i)\s*rename\s", text):
        pattern = rf"(?i){table}\s+(?:wait\s+\d+\s+|nowait\s+)?to\s+{table}"
    return [
        (re.sub('[`"]', "", old), re.sub('[`"]', "", new)) for old, new in re.findall(pattern, text)
    ]


def definition_of(name: str, ddl: str) -> str:
    """Return what a statement says of a column that it adds, without texts and comments.

    That is behind ADD, or else behind a comma, where a list of columns within something else may
    name it too. The whole statement where it cannot be told.
    """
    within = "[^,()]*(?:[(][^()]*(?:[(][^()]*[)][^()]*)*[)][^,()]*)*"
    column = rf'\s*[`"]?{re.escape(name)}[`"]?(?![\w$])({within})'
    text = without_texts(ddl)
    for before in (r"\badd\s+(?:column\s+)?(?:if\s+not\s+exists\s+)?[(]?", ","):
        for definition in re.findall(f"(?is){before}{column}", text):
            if definition.strip():
                return str(definition)
    return ddl
