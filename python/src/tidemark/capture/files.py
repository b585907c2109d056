"""Landing files: written whole or not at all, read back from the end."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

from tidemark.errors import TidemarkError

_NAME = re.compile(r"ev-(\d{10})\.jsonl\.gz")
FAILPOINT_VARIABLE = "TIDEMARK_FAILPOINT"


class LandingError(TidemarkError):
    """The landing folder or capture's state in it is not as it must be."""


def failpoint(name: str) -> None:
    """Kill this process if the environment says so: tests show that nothing gets lost here.

    `name:2` kills at the second time.
    """
    wanted, _, times = os.environ.get(FAILPOINT_VARIABLE, "").partition(":")
    if wanted != name:
        return
    left = int(times or "1") - 1
    if left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
    os.environ[FAILPOINT_VARIABLE] = f"{name}:{left}"


def event_file(folder: Path, number: int) -> Path:
    """Return the path of a landing file."""
    return folder / f"ev-{number:010d}.jsonl.gz"


def event_files(folder: Path) -> list[tuple[int, Path]]:
    """Return the landing files and their numbers, in order."""
    found = []
    for path in folder.iterdir():
        match = _NAME.fullmatch(path.name)
        if match is not None:
            found.append((int(match[1]), path))
    return sorted(found)


def remove_temporary(folder: Path) -> None:
    """Delete what a process that was killed had not finished."""
    for path in folder.glob("*.tmp"):
        path.unlink(missing_ok=True)


def write_atomically(path: Path, data: bytes, *, failpoints: bool = False) -> None:
    """Write a file so that it is there whole or not at all, also after a power cut."""
    temporary = path.with_name(path.name + ".tmp")
    if failpoints:
        failpoint("before_tmp_write")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            if failpoints:
                failpoint("after_tmp_write")
            file.flush()
            os.fsync(file.fileno())
        if failpoints:
            failpoint("after_fsync")
        temporary.rename(path)
        sync_folder(path.parent)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    if failpoints:
        failpoint("after_rename")


def write_synced(path: Path, data: bytes) -> None:
    """Write a file of `_state`.

    Raises:
        LandingError: It cannot be written.
    """
    try:
        write_atomically(path, data)
    except OSError as error:
        raise LandingError(
            f"{path} cannot be written ({error.strerror}). Nothing is lost: make room or "
            "mend the folder, and start again"
        ) from error


def sync_folder(folder: Path) -> None:
    """Have the folder itself written: a rename is not durable before."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_lines(path: Path) -> Iterator[bytes]:
    """Read the lines of a landing file.

    Raises:
        LandingError: It is damaged.
    """
    try:
        with gzip.open(path, "rb") as file:
            yield from file
    except (OSError, EOFError, ValueError) as error:
        raise LandingError(
            f"{path} is damaged ({error}). Put it back from a copy, or delete it and start "
            "anew with --resnapshot"
        ) from error


def identity_of(line: bytes) -> str:
    """Return the `_id` that ends a landed line."""
    start = line.rfind(b'"_id":"')
    return line[start + 7 : line.rfind(b'"')].decode() if start >= 0 else ""
