"""The work of `tidemark replicator reconcile`: connections, dbt, and what is printed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click

from tidemark.capture.database import connect
from tidemark.capture.state import CaptureState
from tidemark.console import stdout_console
from tidemark.replicator.models import known_models, model_folder
from tidemark.replicator.operated import Operated
from tidemark.replicator.reconcile.report import exit_code, print_results, render_json
from tidemark.replicator.reconcile.run import Options, Reconciler, TableResult
from tidemark.replicator.service import Service
from tidemark.run.invoke import Invoker
from tidemark.run.options import prepare_environment


@dataclass(frozen=True)
class Outcome:
    """What was found, and after a repair what is left of it."""

    results: Sequence[TableResult]
    before: Sequence[TableResult] | None = None


@dataclass(frozen=True)
class Work:
    """A comparison of one source.

    Attributes:
        operated: The source.
        target: dbt's target.
        options: What was asked for.
        service: Captures and applies; None if a paused process operates the source.
        say: Is told what goes on.
    """

    operated: Operated
    target: str | None
    options: Options
    service: Service | None
    say: Callable[[str], None]

    def run(self, *, settle: float, repair: bool) -> Outcome:
        """Compare, look again after a while, and repair, as it was asked for."""
        config = self.operated.config
        prepare_environment(self.operated.project)
        login = self.operated.start_java("reconcile")
        invoker = Invoker.quiet(self.operated.run_options(self.target))
        found = known_models(model_folder(self.operated.project, config))
        # what concerns a whole database is no table
        models = {table: model for table, model in found.items() if "." in table}
        with connect(config, login) as database:
            reconciler = Reconciler(
                config,
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
            if not settle and any(map(reconciler.is_keyless, results)):
                # what is still to be captured would come beside the events of the repair, and
                # without a key nothing tells that they are of the same rows
                self._settle(0)
                results = reconciler.look_again(results)
            landing = CaptureState(self.operated.landing)
            repaired = reconciler.repair(landing, results, self.service.apply_landed)
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
