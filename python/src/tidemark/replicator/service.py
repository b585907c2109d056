"""A source in operation: a process that captures, and this one, which applies what has landed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tidemark.capture.config import CaptureConfig
from tidemark.capture.files import event_files
from tidemark.capture.state import CaptureState
from tidemark.errors import ConfigError, TidemarkError
from tidemark.replicator.apply import Applier
from tidemark.replicator.backlog import Backlog
from tidemark.replicator.lag import LagHistory
from tidemark.replicator.metrics import SourceCollector, lag_seconds, write_metrics
from tidemark.replicator.settings import Operation
from tidemark.replicator.state import ReplicatorState

_TICK = 0.5
_GRACE = 60.0
_RESTART = (1.0, 60.0)
_EXIT_WRONG = 2


def remove_applied(state: ReplicatorState, keep: float) -> list[int]:
    """Delete landing files that every table has applied; return their numbers.

    The last file stays: it says where landing goes on.

    Args:
        state: What is known of the tables.
        keep: For how many seconds after it landed a file stays at least.
    """
    applied = min((table.applied_file for table in state.tables.values()), default=0)
    removed = []
    for number, path in event_files(state.landing)[:-1]:
        if number > applied or path.stat().st_mtime > state.clock() - keep:
            break
        path.unlink()
        removed.append(number)
    return removed


class CaptureFailed(TidemarkError):
    """The process that captures has ended with an error."""


class CaptureProcess:
    """`tidemark capture` as a process of its own.

    Args:
        source: The source.
        project: The dbt project.
        log: Where its output goes.
    """

    def __init__(self, source: str, project: Path, log: Path) -> None:
        self._command = [sys.executable, "-m", "tidemark.cli", "capture", source]
        self._command += ["--project-dir", str(project), "--parent", str(os.getpid())]
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._start = 0

    def start(self, *arguments: str) -> None:
        """Start it."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            self._start = log.tell()
            self._process = subprocess.Popen(
                [*self._command, *arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    @property
    def is_running(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """With what it ended, None if it runs or was not started."""
        return self._process.poll() if self._process is not None else None

    def stop(self) -> None:
        """Have it land what it has, and end."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                # safe: what has not landed was not acknowledged
                self._process.kill()
                self._process.wait()
        self._process = None

    def said(self) -> str:
        """What it said last, of an error if there is one."""
        with self._log.open("rb") as log:
            log.seek(self._start)
            lines = log.read().decode(errors="replace").strip().splitlines()
        for number, line in enumerate(lines):
            if line.startswith("Error: "):
                return "\n".join([line.removeprefix("Error: "), *lines[number + 1 :]])
        return lines[-1] if lines else f"the process ended with exit code {self.exit_code}"


class Service:
    """Captures and applies until it is stopped.

    Args:
        config: The source.
        operation: How it is operated.
        state: Its state, open.
        capture: The process that captures.
        applier: Applies what has landed.
        stop: Set from outside to stop.
        say: Is told what goes on.
    """

    def __init__(
        self,
        config: CaptureConfig,
        operation: Operation,
        state: ReplicatorState,
        capture: CaptureProcess,
        applier: Applier,
        stop: threading.Event,
        say: Callable[[str], None],
    ) -> None:
        self._config = config
        self._operation = operation
        self._state = state
        self._landing = CaptureState(state.landing)
        self._lags = LagHistory(state.lags)
        self._capture = capture
        self._applier = applier
        self._stop = stop
        self._say = say
        self._ticked = time.monotonic()
        self._paused = False
        self._failing_since: float | None = None
        self._restart_at: float | None = None
        self._started = 0.0
        self._pause = _RESTART[0]
        self._has_applied = False
        self._unread_since: float | None = None

    def run(self) -> None:
        """Work until stopped.

        Raises:
            TidemarkError: It cannot go on.
        """
        next_apply = 0.0
        with self._at_work():
            while not self._stop.wait(_TICK):
                if self._is_paused():
                    if time.monotonic() >= next_apply:
                        self.tick()
                        next_apply = time.monotonic() + self._operation.every
                    continue
                self._watch_capture()
                self._state.take_retry()
                if time.monotonic() >= next_apply:
                    self.tick()
                    waiting = dict(self._applier.backlog)
                    self._apply()
                    next_apply = time.monotonic() + self._operation.every
                    self.tick(waiting)

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Let others know this process, so that they can stop it, and how it ended."""
        self._state.pid = os.getpid()
        self._state.last_error = None
        self._state.save()
        try:
            yield
        except TidemarkError as error:
            self._state.last_error = str(error)
            raise
        finally:
            self._capture.stop()
            self._state.pid = None
            self._state.save()

    def close(self) -> None:
        """Let another process operate the source."""
        self._lags.close()
        self._state.close()

    def run_once(self) -> bool:
        """Capture what is in the source now, apply it; return whether every table succeeded.

        Raises:
            CaptureFailed: The source could not be captured.
        """
        with self._at_work():
            self._capture.start("--once")
            while self._capture.is_running and not self._stop.wait(_TICK / 5):
                pass
            if self._capture.exit_code not in (0, None):
                raise CaptureFailed(self._capture.said())
            return True if self._stop.is_set() else self.apply_landed()

    def _apply(self) -> None:
        """Apply what has landed; for `retry_for` somebody may be at work on the project."""
        try:
            self._applier.apply()
        except ConfigError as error:
            now = time.monotonic()
            if not self._has_applied:
                raise
            self._unread_since = self._unread_since or now
            if now - self._unread_since >= self._operation.retry_for:
                raise
            if self._state.last_error != str(error):
                self._say(f"nothing is applied until you mend this: {error}")
                self._state.last_error = str(error)
            return
        if self._unread_since is not None:
            self._unread_since = self._state.last_error = None
        self._has_applied = True
        remove_applied(self._state, self._operation.keep_landed)

    def apply_landed(self) -> bool:
        """Apply what has landed, also of tables that failed; return whether every one succeeded."""
        self._state.take_retry()
        for table in self._state.tables.values():
            table.retry()
        self._note_lag()
        waiting = dict(self._applier.backlog)
        succeeded = self._applier.apply()
        remove_applied(self._state, self._operation.keep_landed)
        self.tick(waiting)
        return succeeded

    def _is_paused(self) -> bool:
        if self._state.paused != self._paused:
            self._paused = not self._paused
            self._say("paused" if self._paused else "resumed")
            if self._paused:
                self._capture.stop()
                self.tick()
        return self._paused

    def _watch_capture(self) -> None:
        """Start the capture, also again after it failed, for `retry_for`."""
        now = time.monotonic()
        if self._capture.is_running:
            if now > self._started + _RESTART[1]:
                self._failing_since, self._pause = None, _RESTART[0]
            return
        if self._capture.exit_code not in (None, 0):
            reason = self._capture.said()
            if self._capture.exit_code == _EXIT_WRONG:
                raise ConfigError(reason)
            if self._restart_at is None:
                self._failing_since = self._failing_since or now - self._tried_for()
                if now - self._failing_since >= self._operation.retry_for:
                    raise CaptureFailed(reason)
                self._say(f"capture failed, and starts again in {self._pause:g} s: {reason}")
                self._state.last_error = reason
                self._restart_at, self._pause = now + self._pause, min(2 * self._pause, _RESTART[1])
            if now < self._restart_at:
                return
        self._capture.start()
        self._started, self._restart_at = now, None

    def _tried_for(self) -> float:
        """For how many seconds the capture that has ended had tried again by itself."""
        return float(self._landing.read_status().get("failing_seconds") or 0)

    def tick(self, waiting: Mapping[str, Backlog] | None = None) -> None:
        """Count the time that each copy was fresh, and write state and metrics.

        Args:
            waiting: What has been applied since the last time: the copies were without it till now.
        """
        self._applier.look()
        backlogs = {**self._applier.backlog, **(waiting or {})}
        now, since = time.monotonic(), self._ticked
        self._ticked = now
        status = self._landing.read_status()
        for table, state in self._state.tables.items():
            state.seconds_total += now - since
            behind = lag_seconds(backlogs.get(table), status, self._state.clock())
            if behind is not None and behind <= self._operation.freshness:
                state.seconds_within += now - since
        self._note_lag()
        self._state.save()
        write_metrics(self.collector(), self._state.metrics)

    def _note_lag(self) -> None:
        """Note how far the copies are behind: what has landed is seen before it is applied."""
        self._applier.look()
        now, status, backlog = (
            self._state.clock(),
            self._landing.read_status(),
            self._applier.backlog,
        )
        self._lags.note(
            now,
            {table: lag_seconds(backlog.get(table), status, now) for table in self._state.tables},
            waiting=sum(one.count for one in backlog.values()),
            applied=sum(sum(table.events.values()) for table in self._state.tables.values()),
        )

    def collector(self) -> SourceCollector:
        """Return the figures, as they are whenever they are asked for."""
        return SourceCollector(
            self._config.source,
            self._operation,
            self._state,
            self._applier.backlog,
            self._landing.read_status,
        )
