"""How far Debezium has read: its own files, and copies of them that survive a crash."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

import orjson

from tidemark.capture.files import LandingError, failpoint, write_synced

# what to do if a position is lost
RESNAPSHOT = "start anew with --resnapshot"
_COPY = re.compile(r"offsets\.(\d{10})")
_KEPT_COPIES = 3


@dataclass(frozen=True)
class Position:
    """A copy of the engine's positions: all up to a line of a file was acknowledged."""

    file: int
    line: int
    offsets: bytes
    history_bytes: int


class Positions:
    """The positions in a state folder.

    Example:
        >>> Positions(Path("landing/shop/_state")).offsets
        PosixPath('landing/shop/_state/offsets.dat')
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._history_copied = -1

    @property
    def offsets(self) -> Path:
        """The engine's own file of positions; not safe against a crash, so copies are kept."""
        return self._folder / "offsets.dat"

    @property
    def history(self) -> Path:
        """The engine's own file of table structures."""
        return self._folder / "schema_history.dat"

    @property
    def _history_copy(self) -> Path:
        return self._folder / "schema_history.copy"

    def _copies(self) -> list[tuple[int, Path]]:
        found = []
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            match = _COPY.fullmatch(path.name)
            if match is not None:
                found.append((int(match[1]), path))
        return sorted(found)

    def newest(self) -> Position | None:
        """Return the newest whole copy, None if there is none."""
        copies = (_read_copy(path) for _, path in reversed(self._copies()))
        return next((position for position in copies if position is not None), None)

    def copy(self, number: int, line: int) -> None:
        """Keep the engine's positions, which say that all up to this line is acknowledged."""
        if not self.offsets.exists():
            return
        failpoint("before_offsets")
        history = self.history.stat().st_size if self.history.exists() else 0
        if history > 0 and history != self._history_copied:
            write_synced(self._history_copy, self.history.read_bytes())
            self._history_copied = history
        data = self.offsets.read_bytes()
        content = {
            "file": number,
            "line": line,
            "offsets": base64.b64encode(data).decode(),
            "sha256": hashlib.sha256(data).hexdigest(),
            "history_bytes": history,
        }
        copies = self._copies()
        following = copies[-1][0] + 1 if copies else 1
        write_synced(
            self._folder / f"offsets.{following:010d}", json.dumps(content).encode() + b"\n"
        )
        for _, path in copies[: -_KEPT_COPIES + 1]:
            path.unlink(missing_ok=True)
        failpoint("after_offsets")

    def restore(self) -> Position | None:
        """Put the newest whole copy of the positions in place; return what it says.

        Raises:
            LandingError: There are copies and none is whole, or the structures of tables that
                belong to it are lost.
        """
        position = self.newest()
        if position is not None:
            write_synced(self.offsets, position.offsets)
            self._mend_history(position.history_bytes)
            return position
        if self._copies():
            raise LandingError(
                f"no copy of the log position in {self._folder} can be read. Put a copy "
                f"back, or {RESNAPSHOT}"
            )
        # a file without a copy is of an engine that was killed: it may be torn
        self.offsets.unlink(missing_ok=True)
        self.history.unlink(missing_ok=True)
        return None

    def _mend_history(self, expected: int) -> None:
        """Take off a torn last line, which is of nothing acknowledged; else use the copy."""
        if expected == 0:
            self.history.unlink(missing_ok=True)
            return
        for path in (self.history, self._history_copy):
            data = path.read_bytes() if path.exists() else b""
            whole = data[: data.rfind(b"\n") + 1]
            if len(whole) >= expected and all(_is_json(line) for line in whole.splitlines()):
                if path != self.history or len(whole) != len(data):
                    write_synced(self.history, whole)
                return
        raise LandingError(
            f"{self.history} has the structures of tables by log position; the file and its "
            f"copy are damaged. Put a copy back, or {RESNAPSHOT}"
        )

    def forget(self) -> None:
        """Delete the positions and all that belongs to them."""
        for _, path in self._copies():
            path.unlink(missing_ok=True)
        for path in (self.offsets, self.history, self._history_copy):
            path.unlink(missing_ok=True)


def _read_copy(path: Path) -> Position | None:
    try:
        content = json.loads(path.read_bytes())
        data = base64.b64decode(content["offsets"], validate=True)
        if hashlib.sha256(data).hexdigest() != content["sha256"] or not data:
            return None
        return Position(content["file"], content["line"], data, content["history_bytes"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True
