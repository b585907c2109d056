"""Ctrl-C ends what runs: nothing else is tried in its place."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.spark.connections import SparkConnectionManager
from rich.console import Console

from dbt.adapters.tidemark.connections import TidemarkConnectionManager
from dbt.adapters.tidemark.warehouse import DbtWarehouse
from tidemark.errors import InterruptedLoadError
from tidemark.run.invoke import Invoker
from tidemark.run.options import RunOptions
from tidemark.spark.delta import task

CANCELLED = (
    "[SPARK_JOB_CANCELLED] Job 3 cancelled as part of cancellation of all jobs SQLSTATE: XXKDA"
)


@pytest.mark.parametrize("call", [Invoker.parse, Invoker.selected])
def test_project__is_not_read_a_second_time(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """dbt hands on Ctrl-C as a result, as it does a project that needs the date to be parsed."""
    asked = []

    def invoke(self: Invoker, command: list[str], **_: Any) -> Any:
        asked.append(command[0])
        exception = KeyboardInterrupt() if len(asked) == 1 else None
        return SimpleNamespace(success=exception is None, exception=exception, result=None)

    monkeypatch.setattr(Invoker, "_invoke", invoke)
    monkeypatch.setattr("tidemark.run.invoke.fresh_copy", lambda manifest: manifest)
    invoker = Invoker(RunOptions(dates=["2026-03-04"]), Console())  # type: ignore[list-item]
    invoker._manifest = SimpleNamespace(nodes={})
    with pytest.raises(KeyboardInterrupt):
        call(invoker)
    assert len(asked) == 1


@pytest.mark.parametrize(("said", "is_cancelled"), [(CANCELLED, True), ("disk is full", False)])
def test_task__that_was_cancelled_is_not_left_to_spark_sql(said: str, is_cancelled: bool) -> None:
    class Context:
        defaultParallelism = 1
        master = "local[2]"

        def parallelize(self, *_: Any) -> Any:
            raise RuntimeError(said)

    session: Any = SimpleNamespace(sparkContext=Context())
    if is_cancelled:
        with pytest.raises(InterruptedLoadError):
            task.run_task(session, lambda room: room)  # type: ignore[arg-type, return-value]
    else:
        assert task.run_task(session, lambda room: room, str) == "it failed (RuntimeError)"  # type: ignore


def test_load__between_two_jobs_stops_at_its_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    monkeypatch.setattr(SparkConnectionManager, "cancel_open", lambda self: ["model.shop.orders"])
    monkeypatch.setattr(
        "dbt.adapters.tidemark.warehouse.take_step", lambda *given: taken.append(given[2])
    )
    manager = TidemarkConnectionManager.__new__(TidemarkConnectionManager)
    manager._is_interrupted = False
    warehouse = DbtWarehouse(SimpleNamespace(connections=manager), {})  # type: ignore[arg-type]
    warehouse.of_family({}, "stage")
    assert manager.cancel_open() == ["model.shop.orders"]
    with pytest.raises(InterruptedLoadError, match="Run the model again"):
        warehouse.of_family({}, "derive")
    # what a run leaves is removed all the same, and a commit is finished
    warehouse.of_family({}, "discard")
    warehouse.of_family({}, "finish")
    assert taken == ["stage", "discard", "finish"]
