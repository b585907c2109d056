"""Symbolic links among files that have landed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tidemark.engine.header import local_path
from tidemark.errors import TidemarkError

_GLOB = re.compile(r"[*?\[{]")


def check_links(location: str, files: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a link that leaves the folder of a location, for whoever may write there.

    Rejects and samples would show the lines of any file that this process may read. The folder may
    be a link itself, and so may files whose targets are in it.

    Args:
        location: A file, folder or glob.
        files: What was found there, as list_files() gives it.

    Raises:
        TidemarkError: There is such a link.
    """
    paths = [local_path(str(file["path"])) for file in files]
    links = [path for path in paths if path is not None and os.path.islink(path)]
    folders = {os.path.dirname(path) for path in paths if path is not None}
    if not folders:
        return
    root = Path(_folder_of(local_path(location) or location)).resolve()
    for path in sorted([*links, *folders]):
        if not Path(path).resolve().is_relative_to(root):
            raise TidemarkError(
                f"{path} is a symbolic link that leaves {root}, the folder of its location: put "
                "the file itself there, or let location name the folder that the link leads to"
            )


def _folder_of(location: str) -> str:
    """The part of a location that is no pattern, without the name of a file."""
    found = _GLOB.search(location)
    if found is not None:
        return os.path.dirname(location[: found.start()])
    return location if os.path.isdir(location) else os.path.dirname(location)
