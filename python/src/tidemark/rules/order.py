"""The order in which what has landed is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def numbered_files(files: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return files to read with the numbers that their lines are known and ordered by.

    If a file was read before, the latter is higher, as what it has got since is later than all that
    was read. What a rollback has left to be read again comes first, in the order in which
    it was read first.

    Example:
        >>> file = {"_file": "a", "_file_number": 2, "_owed_number": None, "_last_number": 7}
        >>> [(one["_file_number"], one["_arrival_number"]) for one in numbered_files([file])]
        [(2, 8)]

    Args:
        files: By name, each with the number that it was read by (`_file_number`), the one that it
            is owed since a rollback (`_owed_number`), and the last of all (`_last_number`).

    Returns:
        The same with `_file_number` and `_arrival_number`.
    """
    last = int(files[0]["_last_number"]) if files else -1
    owed = [file for file in files if file["_owed_number"] is not None]
    owed.sort(key=lambda file: int(file["_owed_number"]))
    others = [file for file in files if file["_owed_number"] is None]
    arrivals = {file["_file"]: last + place for place, file in enumerate([*owed, *others], 1)}
    return [
        {
            **file,
            "_file_number": arrivals[file["_file"]]
            if file["_file_number"] is None
            else file["_file_number"],
            "_arrival_number": arrivals[file["_file"]],
        }
        for file in files
    ]
