"""The sources that are mirrored, as `tidemark replicator status` tells them."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tidemark.capture.project import replicator_sources
from tidemark.errors import ConfigError, TidemarkError
from tidemark.serve.log import error_line

# what has landed is counted each time
_LOOK_EVERY = 5.0


class Replicators:
    """The replicators of a project. Threads may call it.

    Args:
        root: The project.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._turn = threading.Lock()
        self._seen: list[dict[str, Any]] = []
        self._seen_at: float | None = None

    def seen(self) -> list[dict[str, Any]]:
        """Return how each of them stands."""
        with self._turn:
            now = time.monotonic()
            if self._seen_at is None or now - self._seen_at > _LOOK_EVERY:
                self._seen, self._seen_at = self._look(), now
            return self._seen

    def pause(self, source: str) -> None:
        """Pause one of them.

        Raises:
            ConfigError: There is no such source.
        """
        self._state(source).pause()
        self._seen_at = None

    def resume(self, source: str) -> None:
        """Have one of them go on; failing tables are tried again.

        Raises:
            ConfigError: There is no such source.
        """
        state = self._state(source)
        state.resume()
        if state.folder.is_dir():
            state.ask_retry()
        self._seen_at = None

    def _state(self, source: str) -> Any:
        from tidemark.replicator.operated import Operated

        if source not in replicator_sources(self._root):
            raise ConfigError(f"there is no replicator named {source!r}. Choose one of the list")
        return Operated.find(source, self._root).state

    def _look(self) -> list[dict[str, Any]]:
        try:
            sources = replicator_sources(self._root)
        except ConfigError:
            # while a file is edited; the report tells what is wrong with it
            return self._seen
        if not sources:
            return []
        from tidemark.replicator.operated import Operated

        found: list[dict[str, Any]] = []
        for source in sources:
            try:
                found.append(_shown(Operated.find(source, self._root).status()))
            except TidemarkError as error:
                found.append({"source": source, "problem": str(error), "tables": []})
        return found


def _shown(status: Any) -> dict[str, Any]:
    """Return what is shown of a source: of errors the kind, for their text may have values."""
    capture: Mapping[str, Any] = status.capture
    errors = dict.fromkeys([status.last_error, capture.get("last_error")])
    return {
        "source": status.source,
        "running": status.running,
        "paused": status.paused,
        "capture": str(capture.get("state", "never ran")).lower(),
        "problem": "; ".join(_kind(error) for error in errors if error) or None,
        "tables": [
            {
                "table": one.table,
                "model": one.model,
                "state": one.state.lower(),
                "behind": one.lag_seconds,
                "waiting": one.lag_events,
                "applied": sum(one.events.values()),
                "failures": one.failures,
                "problem": _kind(one.last_error) if one.last_error else None,
            }
            for one in status.tables
        ],
    }


def _kind(error: str) -> str:
    return error_line(error) or "an error (see the log)"
