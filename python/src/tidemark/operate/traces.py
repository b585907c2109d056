"""What there is of an erased key beside the tables: files that people and logs write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tidemark.home import tidemark_home, write_private

# rows of tables are erased; the catalogue has none, and what is temporary goes by itself
_NOT_OURS = {"warehouse", "metastore", "tmp"}
# anything has these
_SHORTEST = 4


def forget(values: Sequence[str]) -> list[str]:
    """Take a key out of what was typed into the shell; name the files that have it all the same.

    Args:
        values: Of the key, as text. A text has the key if it has each of them as a word.

    Returns:
        Files below the home, in the order of their names.
    """
    words = [_word(value) for value in values]
    home = tidemark_home()
    if words:
        _forget_lines(home.shell_history, words)
    sought = [word for word, value in zip(words, values, strict=True) if len(value) >= _SHORTEST]
    return [
        str(path.relative_to(home.root))
        for path in sorted(_files(home.root))
        if sought and _has(path, sought)
    ]


def _word(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_]){re.escape(value)}(?![^\W_])")


def _forget_lines(history: Path, words: Sequence[re.Pattern[str]]) -> None:
    """Rewrite a history of prompt_toolkit: blocks of a comment with the time and lines with +."""
    try:
        text = history.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    blocks = re.split(r"\n(?=# )", text)
    kept = [block for block in blocks if not all(word.search(block) for word in words)]
    if len(kept) < len(blocks):
        new = history.with_name(f".{history.name}.new")
        write_private(new, "\n".join(kept))
        new.replace(history)


def _files(root: Path) -> Iterator[Path]:
    for path in root.iterdir():
        if path.name in _NOT_OURS:
            continue
        yield from (one for one in [path, *path.rglob("*")] if one.is_file())


def _has(path: Path, words: Sequence[re.Pattern[str]]) -> bool:
    """Say whether a line of a file has every word, or the file as a whole if it is one of JSON."""
    left = set(words)
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                found = {word for word in words if word.search(line)}
                if len(found) == len(words):
                    return True
                left -= found
    except OSError:
        return False
    return path.suffix == ".json" and not left
