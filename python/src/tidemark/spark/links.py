"""Symbolic links among files that have landed."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidemark.engine.header import local_path
from tidemark.errors import TidemarkError

_GLOB = re.compile(r"[*?\[{]")


def check_links(location: str, files: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a link that somebody else made out of the folder of a location, to a file not his own.

    Who may write there could have rejects and samples show the lines of any file that this process
    may read. As the kernel does in folders that all may write to, a link is followed where it is of
    the user of this process or of the owner of what it leads to.

    Args:
        location: A file, folder or glob.
        files: What was found there, as list_files() gives it.

    Raises:
        TidemarkError: There is such a link.
    """
    paths = [local_path(str(file["path"])) for file in files]
    folders = {os.path.dirname(path) for path in paths if path is not None}
    if not folders:
        return
    above = os.path.abspath(_folder_of(local_path(location) or location))
    root = Path(above).resolve()
    for path in sorted({path for path in paths if path is not None} | _between(above, folders)):
        if _is_strange(path) and not Path(path).resolve().is_relative_to(root):
            raise TidemarkError(
                f"{path} is a symbolic link of another user that leaves the folder {root}. Put "
                "the file itself there, or name in location the folder that the link leads to"
            )


def _between(above: str, folders: Collection[str]) -> set[str]:
    """The folders from some up to one that they lie in, without that one."""
    found = set()
    for folder in folders:
        while len(folder) > len(above) and folder.startswith(above):
            found.add(folder)
            folder = os.path.dirname(folder)
    return found


def _is_strange(path: str) -> bool:
    """Say whether a path is a link of neither this user nor the owner of what it leads to."""
    if not os.path.islink(path):
        return False
    return os.lstat(path).st_uid not in (os.geteuid(), os.stat(path).st_uid)


def _folder_of(location: str) -> str:
    """The part of a location that is no pattern, without the name of a file."""
    found = _GLOB.search(location)
    if found is not None:
        return os.path.dirname(location[: found.start()])
    return location if os.path.isdir(location) else os.path.dirname(location)
