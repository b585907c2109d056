"""Files of the repository that pages link to, as pages of the site."""

from __future__ import annotations

import re
from pathlib import Path

from docsite.markdown import table

#: Larger ones are named, not shown
MOST_BYTES = 200_000
_LANGUAGES = {
    ".csv": "text", ".json": "json", ".jsonl": "json", ".md": "markdown", ".py": "python",
    ".sql": "sql+jinja", ".toml": "toml", ".txt": "text", ".yaml": "yaml", ".yml": "yaml",
}  # fmt: skip
_FRONT = "---\nsearch:\n  exclude: true\n---\n"


def page_of(path: str) -> str:
    """Where a file or folder of the repository lies in the site.

    Example:
        >>> page_of("macros/read/scd2.sql")
        'sources/macros/read/scd2.sql.md'
    """
    return f"sources/{path}.md"


def is_prose(path: str, text: str) -> bool:
    """Whether a file is read as a page, not as code: Markdown that is not dbt's docs blocks."""
    return path.endswith(".md") and "{% docs" not in text


def show_file(root: Path, path: str) -> str:
    """The page of a file or folder; links in it are of the repository.

    Example:
        >>> show_file(Path("."), "dbt_project.yml").count("# dbt_project.yml")
        1
    """
    file = root / path
    if file.is_dir():
        return _show_folder(root, path)
    heading = f"{_FRONT}# {path}\n\n"
    data = file.read_bytes()
    if len(data) > MOST_BYTES or b"\0" in data:
        return f"{heading}{len(data):,} bytes, in the repository.\n"
    text = data.decode("utf-8", errors="replace")
    if is_prose(path, text):
        return _FRONT + text
    language = _LANGUAGES.get(file.suffix, "text")
    fence = "`" * (3 + max(map(len, re.findall(r"`{3,}", text)), default=0))
    return f"{heading}{fence}{language}\n{text.rstrip()}\n{fence}\n"


def _show_folder(root: Path, path: str) -> str:
    files = sorted(
        child
        for child in (root / path).rglob("*")
        if child.is_file() and "__pycache__" not in child.parts and child.suffix != ".pyc"
    )
    rows = [
        [f"[{name}]({name})", f"{child.stat().st_size:,} bytes"]
        for child in files
        for name in [child.relative_to(root / path).as_posix()]
    ]
    return f"{_FRONT}# {path}\n\n{table(['file', 'size'], rows)}\n"
