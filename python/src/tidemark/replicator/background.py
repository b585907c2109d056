"""Starting a process that operates a source, and stopping it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from tidemark.errors import ConfigError
from tidemark.replicator.operated import Operated

_START_SECONDS = 20
_STOP_SECONDS = 120
_LOOK_EVERY = 0.2


def start_in_background(operated: Operated, options: Sequence[str]) -> int:
    """Start a process that operates the source; return its number when it has begun.

    Args:
        operated: The source.
        options: Further ones of `tidemark replicator start`.

    Raises:
        ConfigError: It did not begin, or another one operates the source.
    """
    if operated.state.is_open_elsewhere:
        raise ConfigError(
            f"source {operated.source!r} is in operation already. Stop it first: tidemark "
            f"replicator stop {operated.source}"
        )
    command = [sys.executable, "-m", "tidemark.cli", "replicator", "start", operated.source]
    command += ["--project-dir", str(operated.project), *options]
    operated.log.parent.mkdir(parents=True, exist_ok=True)
    with operated.log.open("ab") as log:
        begun = log.tell()
        process = subprocess.Popen(
            command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
        )
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        if operated.state.pid == process.pid:
            return process.pid
        time.sleep(_LOOK_EVERY)
    with operated.log.open("rb") as log:
        log.seek(begun)
        raise ConfigError(
            "the process did not start. Mend the cause that its log names: "
            + log.read().decode(errors="replace").strip()
        )


def stop_process(operated: Operated) -> bool:
    """Stop the process that operates the source; return whether there was one.

    Raises:
        ConfigError: It does not end, or is none that can be stopped.
    """
    state = operated.state
    if not state.is_open_elsewhere:
        return False
    if state.pid is None:
        raise ConfigError(
            "another process reconciles, deletes, starts or stops source "
            f"{operated.source!r}. Try again later"
        )
    # it may have ended by itself
    with suppress(ProcessLookupError):
        os.kill(state.pid, signal.SIGTERM)
    until = time.monotonic() + _STOP_SECONDS
    while operated.state.is_open_elsewhere and time.monotonic() < until:
        time.sleep(_LOOK_EVERY)
    if operated.state.is_open_elsewhere:
        raise ConfigError(
            f"pid {state.pid} has not ended within {_STOP_SECONDS // 60} minutes: look at "
            "tidemark replicator logs"
        )
    return True
