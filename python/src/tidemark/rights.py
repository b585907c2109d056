"""What this user may not look into, so that it is not taken for what is not there."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tidemark.errors import DataError


def closed_folder(path: str) -> str | None:
    """Return the first folder on the way to a path that this user may not look into.

    Example:
        >>> closed_folder("landing/orders_2026-03-04.csv")
        '/shop/landing'

    Args:
        path: A path of this machine, also with `file:` before it; a pattern counts up to its first
            folder with a mark. Nothing is known of other addresses.
    """
    if re.match(r"[a-zA-Z][\w+.-]+:", path) and not path.startswith("file:"):
        return None
    plain = Path(os.path.abspath(re.sub(r"^file:/*", "/", path)))
    for folder in [*reversed(plain.parents), plain]:
        if set(folder.name) & set("*?[{"):
            break
        if folder.is_dir() and not os.access(folder, os.X_OK | os.R_OK):
            # what is only passed through needs no list of its files
            is_end = folder in (plain, plain.parent)
            if is_end or not os.access(folder, os.X_OK):
                return str(folder)
    return None


def check_open(path: str) -> None:
    """Refuse a path that nothing is found at, as this user may not look there.

    Raises:
        DataError: A folder on the way is closed to this user.
    """
    folder = closed_folder(path)
    if folder is not None:
        raise DataError(
            f"the folder {folder} cannot be read: permission denied. Give this user the right to "
            "read it"
        )
