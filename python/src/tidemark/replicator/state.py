"""What the operating half keeps beside the landing files: `_state/replicator.json` and a mark."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from tidemark.capture.files import LandingError, write_synced

_BACK_OFF = (5.0, 300.0)


@dataclass
class TableState:
    """What is known of one mirrored table.

    Attributes:
        model: Its model.
        applied_file: The number of the last landing file that is applied, or has nothing of it.
        events: Events that were applied, by operation.
        bytes: Their size.
        applied_at: When it was last applied, in seconds since 1970.
        failures: How many applications failed, in all.
        failing_since: Since when it fails, None if the last application succeeded.
        next_try: When it is tried again, if it fails.
        given_up: Whether it failed for longer than `retry_for`.
        last_error: What the last failure said.
        latency: p50, p95, p99 of the last applied events, from their commit to here, in seconds.
        throughput: Events a second of the last application, None if nothing was applied yet.
        seconds_within: How long the copy was within the freshness objective …
        seconds_total: … of how long it was watched.
    """

    model: str = ""
    applied_file: int = 0
    events: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    applied_at: float | None = None
    failures: int = 0
    failing_since: float | None = None
    next_try: float | None = None
    given_up: bool = False
    last_error: str | None = None
    latency: list[float] = field(default_factory=list)
    throughput: float | None = None
    seconds_within: float = 0.0
    seconds_total: float = 0.0

    def succeeded(self, file: int, now: float) -> None:
        """Note that all up to a file is applied."""
        self.applied_file = max(self.applied_file, file)
        self.applied_at = now
        self.failing_since = self.next_try = self.last_error = None
        self.given_up = False

    def failed(self, message: str, now: float, retry_for: float) -> None:
        """Note a failure: the next try comes later each time, and after `retry_for` none does."""
        self.failures += 1
        self.last_error = message
        self.failing_since = self.failing_since or now
        failing = now - self.failing_since
        # waits double with the time that it has failed
        pause = min(max(_BACK_OFF[0], failing), _BACK_OFF[1])
        self.next_try = now + pause
        self.given_up = failing >= retry_for

    def retry(self) -> None:
        """Try it again at once, with all of `retry_for` before it."""
        self.failing_since = self.next_try = None
        self.given_up = False

    def is_due(self, now: float) -> bool:
        """Whether it may be applied now."""
        if self.next_try is None or self.given_up:
            return not self.given_up
        # a try that is farther off than any was set by a clock that has gone back since
        return now >= self.next_try or self.next_try - now > _BACK_OFF[1]


class ReplicatorState:
    """The state of one source.

    Args:
        landing: Its landing folder.
        clock: Tests have their own.
    """

    def __init__(self, landing: Path, clock: Callable[[], float] = time.time) -> None:
        self.landing = landing
        self.folder = landing / "_state"
        self.clock = clock
        self.tables: dict[str, TableState] = {}
        self.pid: int | None = None
        self.updated_at: float | None = None
        self.last_error: str | None = None
        self._lock = FileLock(self.folder / "replicator.lock")
        self.load()

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / "replicator.json"

    @property
    def metrics(self) -> Path:
        """The text file that Prometheus' node exporter reads."""
        return self.folder / "metrics.prom"

    @property
    def lags(self) -> Path:
        """How far it was behind, over time."""
        return self.folder / "lag.jsonl"

    def load(self) -> None:
        """Read the file; nothing is known if there is none, or none that can be read."""
        try:
            content: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
            self.tables = {
                table: TableState(**values) for table, values in content["tables"].items()
            }
            self.pid = content["pid"]
            self.updated_at = content["updated_at"]
            self.last_error = content["last_error"]
        except (OSError, ValueError, KeyError, TypeError):
            # what is applied is known to the tables themselves: at worst figures begin anew
            self.tables = {}

    def save(self) -> None:
        """Write the file."""
        self.updated_at = self.clock()
        content = {
            "pid": self.pid,
            "updated_at": self.updated_at,
            "last_error": self.last_error,
            "tables": {table: asdict(state) for table, state in sorted(self.tables.items())},
        }
        write_synced(self.path, json.dumps(content, indent=1).encode() + b"\n")

    def open(self) -> None:
        """Take the lock.

        Raises:
            LandingError: Another process operates this source.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise LandingError(
                f"another process (pid {self.pid}) operates {self.landing}. Pause it or stop it"
            ) from None
        self.load()
        if self.pid is not None:
            # left by a process that was killed: the number is another one's now, or nobody's
            self.pid = None
            self.save()

    def close(self) -> None:
        """Give the lock back."""
        self._lock.release()

    @property
    def is_open_elsewhere(self) -> bool:
        """Whether a process operates this source now."""
        if not self.folder.is_dir():
            return False
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            return True
        self._lock.release()
        return False

    # --- pause

    @property
    def _pause_mark(self) -> Path:
        return self.folder / "paused"

    @property
    def paused(self) -> bool:
        """Whether somebody has paused it."""
        return self._pause_mark.exists()

    def pause(self) -> None:
        """Pause: a process that operates the source stops capturing and applying."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_synced(self._pause_mark, b"")

    def resume(self) -> None:
        """Go on."""
        self._pause_mark.unlink(missing_ok=True)

    # --- asking a process for something

    @property
    def _retry_mark(self) -> Path:
        return self.folder / "retry"

    def ask_retry(self) -> None:
        """Have failing tables tried again, also those that were given up."""
        write_synced(self._retry_mark, b"")

    def take_retry(self) -> None:
        """Do what was asked."""
        if self._retry_mark.exists():
            self._retry_mark.unlink(missing_ok=True)
            for table in self.tables.values():
                table.retry()
