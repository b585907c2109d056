"""Marks and figures that capture keeps beside its landing files, in `_state`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from tidemark.capture.events import end_position, read_line
from tidemark.capture.files import (
    LandingError,
    event_files,
    identity_of,
    read_lines,
    remove_temporary,
    write_synced,
)
from tidemark.capture.positions import RESNAPSHOT, Positions

STATE = "_state"
# how the identities of rows begin that the snapshot of a later table has read
LATER_READ = "s"


@dataclass(frozen=True)
class Landed:
    """What is in a landing folder.

    Attributes:
        number: The number of the last file.
        identities: Those of the events that the source may send again.
        has_snapshot: Whether the end of the initial snapshot is among them.
    """

    number: int
    identities: set[str]
    has_snapshot: bool


class CaptureState:
    """The state of one landing folder.

    Example:
        >>> CaptureState(Path("landing/shop")).status
        PosixPath('landing/shop/_state/status.json')
    """

    def __init__(self, landing: Path) -> None:
        self.landing = landing
        # Spark leaves out folders whose name begins with an underscore
        self.folder = landing / STATE
        self.positions = Positions(self.folder)
        self._lock = FileLock(self.folder / "lock")

    @property
    def status(self) -> Path:
        """What the capture says of itself."""
        return self.folder / "status.json"

    @property
    def _snapshot_mark(self) -> Path:
        return self.folder / "snapshot.done"

    def open(self) -> None:
        """Make the folders and take the lock.

        Raises:
            LandingError: Another process captures into this folder, or it cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise LandingError(
                f"another capture writes to {self.landing}: stop that capture, or give this "
                "source another `location`"
            ) from None
        except OSError as error:
            raise LandingError(
                f"{self.folder} cannot be made ({error.strerror}): name another `location`, "
                "or mend the folder"
            ) from error
        for folder in (self.landing, self.folder):
            remove_temporary(folder)

    def close(self) -> None:
        """Give the lock back."""
        self._lock.release()

    # --- the initial snapshot

    @property
    def snapshot_done(self) -> bool:
        """Whether the initial snapshot has landed."""
        return self._snapshot_mark.exists()

    def mark_snapshot(self) -> None:
        """Note that the initial snapshot has landed."""
        if not self.snapshot_done:
            write_synced(self._snapshot_mark, b"")

    def unmark_snapshot(self) -> None:
        """Note that the initial snapshot is to be taken, or taken anew."""
        self._snapshot_mark.unlink(missing_ok=True)

    @property
    def owns_slot(self) -> bool:
        """Whether the replication slot was made by this capture."""
        return (self.folder / "slot.made").exists()

    def own_slot(self) -> None:
        """Note that the replication slot, made from now on, is this capture's."""
        if not self.owns_slot:
            write_synced(self.folder / "slot.made", b"")

    def forget(self) -> None:
        """Start anew: the next capture begins with a snapshot; landed files stay."""
        files = event_files(self.landing)
        last = max(self._known_number(), files[-1][0] if files else 0)
        write_synced(self._anew, str(last).encode())
        self.positions.forget()
        self.unmark_snapshot()
        self._later_tables.unlink(missing_ok=True)

    # --- tables that came after the initial snapshot

    @property
    def _later_tables(self) -> Path:
        return self.folder / "later_tables.json"

    @property
    def later_tables(self) -> dict[str, int | None]:
        """Tables that came after the initial snapshot: from where in the log changes count.

        Those from before are in the rows that were read; None while these have not all landed.

        Raises:
            LandingError: The file is damaged.
        """
        try:
            content = json.loads(self._later_tables.read_bytes())
            return {
                str(name): None if position is None else int(position)
                for name, position in content.items()
            }
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise LandingError(
                f"{self._later_tables} cannot be read. Put the file back, or {RESNAPSHOT}"
            ) from error

    def note_later_tables(self, tables: Mapping[str, int | None]) -> None:
        """Note from where in the log the changes of tables count."""
        content = json.dumps({**self.later_tables, **tables}, indent=1)
        write_synced(self._later_tables, content.encode() + b"\n")

    # --- what has landed

    @property
    def _anew(self) -> Path:
        return self.folder / "anew"

    @property
    def _floor(self) -> int:
        """The last file before a snapshot that was asked for: what is before it is over."""
        try:
            return int(self._anew.read_text())
        except (OSError, ValueError):
            return 0

    def _known_number(self) -> int:
        newest = self.positions.newest()
        return max(
            self._floor,
            int(self.read_status().get("last_file") or 0),
            newest.file if newest is not None else 0,
        )

    def _files(self) -> list[tuple[int, Path]]:
        floor = self._floor
        return [(number, path) for number, path in event_files(self.landing) if number > floor]

    def last_number(self) -> int:
        """Return the number of the last file.

        Raises:
            LandingError: It is gone: its events would be taken for ones that never landed.
        """
        files = event_files(self.landing)
        present = max(files[-1][0] if files else 0, self._floor)
        known = self._known_number()
        if known > present:
            raise LandingError(
                f"{self.landing} has no file after number {present}, but {known} have "
                f"landed, and the last file must stay. Put the files back, or {RESNAPSHOT}"
            )
        return present

    def read_landed(self, is_settled: Callable[[int, int, str], bool]) -> Landed:
        """Read the last files, back to one with events that the source has forgotten.

        Args:
            is_settled: Whether the source has forgotten the event of this file, line and identity.
        """
        number = self.last_number()
        identities: set[str] = set()
        has_snapshot = False
        for file, path in reversed(self._files()):
            settled = False
            for line, data in enumerate(read_lines(path), start=1):
                identity = identity_of(data)
                if identity.startswith("r:"):
                    has_snapshot |= b'"snapshot":"last"' in data
                    # what was before a snapshot is not sent again
                    settled = True
                    continue
                has_snapshot = True
                if identity.startswith(f"{LATER_READ}:"):
                    # it stands between changes that may come again
                    continue
                settled |= is_settled(file, line, identity)
                # settled ones too: a schema change that was acknowledged may come again
                identities.add(identity)
            if settled:
                break
        return Landed(number, identities, has_snapshot)

    @property
    def has_events(self) -> bool:
        """Whether changes have landed: after them, a lost position is a lost change."""
        for _, path in reversed(self._files()):
            return any(not identity_of(line).startswith("r:") for line in read_lines(path))
        return False

    # --- status

    def read_status(self) -> dict[str, Any]:
        """Return what the last capture said of itself, {} if there is nothing readable."""
        try:
            status = json.loads(self.status.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return status if isinstance(status, dict) else {}

    def write_status(self, status: dict[str, Any]) -> None:
        """Write the status file."""
        write_synced(self.status, json.dumps(status, indent=1).encode() + b"\n")

    def count_landed(self, after: int) -> tuple[Counter[tuple[str, str]], int]:
        """Count the events and bytes of files that the status does not know of yet."""
        events: Counter[tuple[str, str]] = Counter()
        size = 0
        for number, path in event_files(self.landing):
            if number > after:
                size += path.stat().st_size
                for line in read_lines(path):
                    _, event = read_line(line)
                    if event.kind not in ("end", "snapshot"):
                        events[event.table, event.op or event.kind] += 1
        return events, size


def settled_before(position: int) -> Callable[[int, int, str], bool]:
    """Settled is, in PostgreSQL, what committed before the position that the slot confirms."""

    def is_settled(number: int, line: int, identity: str) -> bool:
        end = end_position(identity)
        return end is not None and end < position

    return is_settled


def settled_at(file: int, last: int) -> Callable[[int, int, str], bool]:
    """Settled is what stands up to this line of this file."""

    def is_settled(number: int, line: int, identity: str) -> bool:
        return (number, line) <= (file, last)

    return is_settled
