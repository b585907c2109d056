"""Where files lie, by their paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def passed_over(files: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the paths of those files that Spark does not read with the folder they lie below.

    It reads the files right in a folder, and of its folders those that are partitions.

    Example:
        >>> passed_over([{"path": "file:/in/day/late/part-2.csv", "depth": 2}])
        ['file:/in/day/late/part-2.csv']

    Args:
        files: What list_files() returns.
    """
    return [
        str(file["path"])
        for file in files
        if file["depth"] > 1
        and any("=" not in name for name in str(file["path"]).split("/")[-int(file["depth"]) : -1])
    ]
