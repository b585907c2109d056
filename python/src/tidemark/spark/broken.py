"""Cures for a file of a table that is cut, damaged or gone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

_UNREAD = re.compile(r"(?:file:/*)?(?P<path>/.+?) cannot be read: ")
_NAME = re.compile(r"`?(\w+)`?\.`?(\w+)`?")
_LOG = "__log"
# what Delta says of a line of its log that is no JSON, without the file
_NO_JSON = "[MALFORMED_RECORD_IN_PARSING"
# files of a source; those of tables are no such
_COMPRESSED = (".gz", ".bz2")
_DELIVER_AGAIN = "The file is cut or not compressed: replace it with a whole one, and run again"
_OF_LOG = (
    "The file is part of the log, and the other tables come from the log. Restore the file from a "
    "backup, or"
)


def with_cure(message: str, statement: str = "") -> str:
    """Return a message that tells of a broken file of a table with what mends it.

    Example:
        >>> with_cure("file:/w/shop.db/orders/part-0.parquet cannot be read: it is gone")
        'file:/w/… cannot be read: it is gone. `tidemark rebuild orders` makes the table anew …'

    Args:
        message: What Spark says.
        statement: The statement, or what else names the tables at work.
    """
    file = None
    if found := _UNREAD.match(message):
        file = Path(unquote(found["path"]))
    elif message.startswith(_NO_JSON):
        file = next(_broken_commits(statement), None)
        message = message if file is None else f"{file} cannot be read: it is no JSON"
    for folder in () if file is None else file.parents:
        if file is not None and (folder / "_delta_log").is_dir():
            cure = _cure(folder, file)
            return f"{message.rstrip('. ')}. {cure}" if cure else message
    if file is not None and file.suffix in _COMPRESSED:
        return f"{message.rstrip('. ')}. {_DELIVER_AGAIN}"
    return message


def _broken_commits(statement: str) -> Iterator[Path]:
    """Yield the files of Delta's logs that are not JSON, of the tables that a statement names."""
    from tidemark.home import tidemark_home

    for schema, name in dict.fromkeys(_NAME.findall(statement)):
        log = tidemark_home().warehouse / f"{schema}.db" / name / "_delta_log"
        for file in sorted(log.glob("[0-9]*.json")):
            try:
                for line in file.read_bytes().splitlines():
                    json.loads(line)
            except (OSError, ValueError):
                yield file


def _cure(table: Path, file: Path) -> str:
    name, entity = table.name, table.name.removesuffix(_LOG)
    if (table.parent / f"{name}{_LOG}").is_dir():
        return f"`tidemark rebuild {name}` makes the table again from its log"
    if not name.endswith(_LOG):
        return ""
    if (table.parent / f"{entity}__landed").is_dir():
        run = f"tidemark run --select {entity} --full-refresh"
        return f"{_OF_LOG} load the remaining events again: `{run}`"
    dates, commits = _lost(table, file)
    if not dates:
        run = f"tidemark run --select {entity} --business-date DATE"
        return f"{_OF_LOG} load its dates again in order: `{run}`, the first with --full-refresh"
    schema = table.parent.name.removesuffix(".db")
    on = " or ".join(f"_business_date = date'{date}'" for date in dates)
    return (
        f"The file has the rows of {', '.join(dates)}{commits}. Restore the file from a backup, "
        "or remove the date from the log and load the date again, by `sql delete from "
        f"{schema}.{name} where "
        f"{on}` in `tidemark shell` and `tidemark run --select {entity} --business-date "
        f"{','.join(dates)}`"
    )


def _lost(table: Path, file: Path) -> tuple[list[str], str]:
    """Return the dates that a data file has rows of, and which commits, as Delta's log tells."""
    names: dict[str, str] = {}
    found: Mapping[str, Any] = {}
    for commit in sorted((table / "_delta_log").glob("[0-9]*.json")):
        with suppress(OSError, ValueError):
            for line in commit.read_text(encoding="utf-8").splitlines():
                action = json.loads(line)
                if "metaData" in action:
                    for field in json.loads(action["metaData"]["schemaString"])["fields"]:
                        stored = field["metadata"].get("delta.columnMapping.physicalName")
                        names[stored or field["name"]] = field["name"]
                added = action.get("add")
                if added and table / unquote(added["path"]) == file:
                    found = added
    values = found.get("partitionValues") or {}
    dates = [value for name, value in values.items() if names.get(name, name) == "_business_date"]
    with suppress(ValueError, KeyError):
        stats = json.loads(found["stats"])
        stored = next(one for one, name in names.items() if name == "_commit_id")
        first, last = stats["minValues"][stored], stats["maxValues"][stored]
        return dates, f" (commit {first})" if first == last else f" (commits {first} to {last})"
    return dates, ""
