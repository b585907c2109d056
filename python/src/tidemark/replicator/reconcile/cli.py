"""The work of `tidemark replicator reconcile`: connections, Spark, and what is printed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click
from rich.console import Console

from tidemark.capture.config import CaptureConfig
from tidemark.capture.connectors import connector_jars
from tidemark.capture.database import connect
from tidemark.capture.engine import start_java
from tidemark.capture.state import CaptureState
from tidemark.console import stdout_console
from tidemark.errors import ConfigError
from tidemark.home import Home
from tidemark.replicator.models import known_models, model_folder
from tidemark.replicator.reconcile.report import exit_code, print_results, render_json
from tidemark.replicator.reconcile.run import Options, Reconciler, TableResult
from tidemark.replicator.service import Service
from tidemark.run.cli import RunOptions, prepare_environment
from tidemark.run.invoke import Invoker

# drivers and their results, of which a read has ten thousand rows at most
_MEMORY = "512m"


@dataclass(frozen=True)
class Outcome:
    """What was found, and after a repair what is left of it."""

    results: Sequence[TableResult]
    before: Sequence[TableResult] | None = None


@dataclass(frozen=True)
class Work:
    """A comparison of one source.

    Attributes:
        config: The source.
        home: Where logs are.
        landing: Its landing folder.
        run_options: How dbt is called.
        options: What was asked for.
        service: Captures and applies; None if a paused process operates the source.
        say: Is told what goes on.
    """

    config: CaptureConfig
    home: Home
    landing: CaptureState
    run_options: RunOptions
    options: Options
    service: Service | None
    say: Callable[[str], None]

    def run(self, *, settle: float, repair: bool) -> Outcome:
        """Compare, look again after a while, and repair, as it was asked for."""
        login = self.config.login(os.environ)
        prepare_environment()
        start_java(
            connector_jars(), self.home.logs / f"reconcile-{self.config.source}.log", _MEMORY
        )
        invoker = Invoker(self.run_options, Console(stderr=True, quiet=True))
        if not invoker.parse():
            raise ConfigError("the dbt project cannot be parsed: `dbt parse` says why")
        found = known_models(model_folder(self.run_options.project_dir, self.config))
        # what concerns a whole database is no table
        models = {table: model for table, model in found.items() if "." in table}
        with connect(self.config, login) as database:
            reconciler = Reconciler(
                self.config,
                database,
                login.database,
                models,
                invoker.ask,
                self.options,
                self.say,
            )
            results = reconciler.compare()
            if settle and any(result.differs for result in results):
                self._settle(settle)
                results = reconciler.look_again(results)
            if not repair or self.service is None or not any(one.differs for one in results):
                return Outcome(results)
            repaired = reconciler.repair(self.landing, results, self.service.apply_landed)
            return Outcome(repaired, results)

    def _settle(self, seconds: float) -> None:
        self.say(f"something differs: looking again in {seconds:g} s …")
        time.sleep(seconds)
        if self.service is not None:
            self.service.run_once()


def print_outcome(source: str, outcome: Outcome, *, as_json: bool) -> int:
    """Print what was found and what is left of it; return the exit code."""
    if as_json:
        click.echo(render_json(source, outcome.results, outcome.before))
    else:
        out = stdout_console()
        if outcome.before is not None:
            print_results(out, source, outcome.before)
            out.print("after the repair:", highlight=False)
        print_results(out, source, outcome.results)
    return exit_code(outcome.results)
