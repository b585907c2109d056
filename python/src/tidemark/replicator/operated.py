"""A source of the project with all that belongs to it: settings, folders, logs, how it stands."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tidemark.capture.config import CaptureConfig, Login
from tidemark.capture.connectors import connector_jars
from tidemark.capture.engine import start_java
from tidemark.capture.jvm import import_jpype
from tidemark.capture.project import replicator_settings
from tidemark.capture.state import CaptureState
from tidemark.home import Home, tidemark_home
from tidemark.replicator.apply import Applier
from tidemark.replicator.backlog import Backlog, read_backlog
from tidemark.replicator.metrics import SourceCollector, SourceStatus, table_figures
from tidemark.replicator.service import CaptureProcess, Service
from tidemark.replicator.settings import Operation
from tidemark.replicator.state import ReplicatorState
from tidemark.run.options import RunOptions, find_profiles, find_project, prepare_environment


@dataclass(frozen=True)
class Operated:
    """A source that is operated.

    Attributes:
        project: The dbt project.
        config: How it is captured.
        operation: How it is operated.
        home: Where logs are.
        landing: Its landing folder.
    """

    project: Path
    config: CaptureConfig
    operation: Operation
    home: Home
    landing: Path

    @classmethod
    def find(cls, source: str, project_dir: Path | None) -> Operated:
        """Return a source of the project in this folder, or the nearest above it.

        Raises:
            ConfigError: There is no such source, or its settings have errors.
        """
        project = find_project(project_dir or Path.cwd())
        config = CaptureConfig.from_dict(source, replicator_settings(project, source))
        home = tidemark_home(project)
        landing = config.landing(project, home.root).absolute()
        return cls(project, config, Operation.of(config), home, landing)

    @property
    def source(self) -> str:
        """Its name."""
        return self.config.source

    @property
    def state(self) -> ReplicatorState:
        """What is known of its tables now."""
        return ReplicatorState(self.landing)

    @property
    def log(self) -> Path:
        """Where the operating process writes."""
        return self.home.logs / f"replicator-{self.source}.log"

    @property
    def logs(self) -> list[Path]:
        """All logs: of the operating process, of capture, of Debezium and of dbt."""
        debezium = self.home.logs / f"capture-{self.source}.log"
        return [self.log, self._capture_log, debezium, self.home.logs / "dbt.log"]

    @property
    def _capture_log(self) -> Path:
        return self.home.logs / f"replicator-{self.source}-capture.log"

    # --- how it stands

    def status(self) -> SourceStatus:
        """Return what `status` shows."""
        state, capture = self.state, CaptureState(self.landing).read_status()
        return SourceStatus(
            source=self.source,
            running=state.is_open_elsewhere,
            pid=state.pid,
            paused=state.paused,
            last_error=state.last_error,
            freshness_seconds=self.operation.freshness,
            objective=self.operation.objective,
            capture=capture,
            tables=table_figures(state, self._backlog(state), capture),
        )

    def collector(self) -> SourceCollector:
        """Return the figures for Prometheus."""
        state = self.state
        return SourceCollector(
            self.source,
            self.operation,
            state,
            self._backlog(state),
            CaptureState(self.landing).read_status,
        )

    def _backlog(self, state: ReplicatorState) -> dict[str, Backlog]:
        after = {table: known.applied_file for table, known in state.tables.items()}
        # a table that is not known yet has nothing in files that were looked at
        start = max(after.values(), default=0)
        if not self.landing.is_dir():
            return {}
        return read_backlog(self.config, self.landing, after, start)

    # --- at work

    def run_options(self, target: str | None) -> RunOptions:
        """Return how dbt is called."""
        return RunOptions(
            dates=[],
            project_dir=self.project,
            profiles_dir=find_profiles(self.project),
            target=target,
        )

    def start_java(self, purpose: str) -> Login:
        """Start Java, which logs to a file of that purpose; return how the database is reached.

        Raises:
            ConfigError: A part is not installed, or an environment variable is not set.
            JavaError: Java cannot be started.
        """
        import_jpype()
        login = self.config.login(os.environ)
        start_java(connector_jars(), self.home.logs / f"{purpose}-{self.source}.log")
        return login

    @contextmanager
    def serving(
        self, target: str | None, stop: threading.Event, say: Callable[[str], None]
    ) -> Iterator[Service]:
        """Operate the source in this process: no other one can, as long as this lasts.

        Raises:
            ConfigError: A part is not installed, or an environment variable is not set.
            LandingError: Another process operates it.
        """
        # what `tidemark capture` will need; it is missed here, and not in a log
        import_jpype()
        self.config.login(os.environ)
        connector_jars()
        prepare_environment(self.project)
        state = self.state
        state.open()
        applier = Applier(self.config, self.operation, state, self.run_options(target), say)
        capture = CaptureProcess(self.source, self.project, self._capture_log)
        service = Service(self.config, self.operation, state, capture, applier, stop, say)
        try:
            yield service
        finally:
            service.close()
