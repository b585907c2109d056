"""What the page may have done, where it was started with --allow-actions."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidemark.errors import ConfigError
from tidemark.home import Home
from tidemark.serve import plans
from tidemark.serve.live import Live

_OUTPUT_BYTES = 32 * 1024
_STOP_SECONDS = 60
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Applying:
    """Plans that are applied, one at a time, each by a process of `tidemark apply`.

    Args:
        project: Where it runs.
        home: Where its output is kept.
    """

    def __init__(self, project: Path, home: Home) -> None:
        self._project = project
        self._home = home
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._plan = ""
        self._started_at: datetime | None = None

    @property
    def output(self) -> Path:
        """What the last one printed."""
        return self._home.logs / "serve-apply.log"

    def start(self, plan: str) -> None:
        """Apply a plan.

        Raises:
            ConfigError: Another one is being applied.
        """
        with self._turn:
            if self._process is not None and self._process.poll() is None:
                raise ConfigError(f"plan {self._plan} is being applied: wait until the load ends")
            self.output.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "wb") as output:
                # a group of its own: Ctrl-C goes to the server, which ends it in order
                self._process = subprocess.Popen(
                    self._command(plan),
                    cwd=self._project,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100"},
                    start_new_session=True,
                )
            self._plan, self._started_at = plan, datetime.now(UTC)

    def _command(self, plan: str) -> list[str]:
        return [sys.executable, "-m", "tidemark.cli", "apply", plan]

    def seen(self) -> dict[str, Any] | None:
        """Return what became of the last one, None if there was none."""
        if self._process is None:
            return None
        code = self._process.poll()
        return {
            "plan": self._plan,
            "started_at": self._started_at,
            "running": code is None,
            "exit_code": code,
            "output": _end_of(self.output),
        }

    def waiting(self, plans: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the plans that wait, each with whether it is being applied.

        Args:
            plans: Those that wait.
        """
        is_at_work = self._process is not None and self._process.poll() is None
        return [{**plan, "at_work": is_at_work and plan["id"] == self._plan} for plan in plans]

    def close(self) -> None:
        """End the one that is at work, as Ctrl-C does; the next run finishes what it had begun."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def actions_of(live: Live, applying: Applying) -> dict[str, Callable[[str], None]]:
    """Return what can be done, by name; each takes the name of a plan or of a source."""

    def apply(plan: str) -> None:
        applying.start(plans.known_plan(plan))

    return {
        "apply": apply,
        "discard": plans.discard,
        "pause": live.replicators.pause,
        "resume": live.replicators.resume,
    }


def _end_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _OUTPUT_BYTES))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    return _COLOURS.sub("", text).replace("\r", "\n")
