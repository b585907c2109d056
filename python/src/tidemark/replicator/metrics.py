"""Figures of a source, for people (`status`) and for Prometheus."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemark.errors import ConfigError
from tidemark.replicator.backlog import Backlog
from tidemark.replicator.settings import Operation
from tidemark.replicator.state import ReplicatorState, TableState

# a capture that runs says so every second
_SILENT = 30.0


def lag_seconds(backlog: Backlog | None, status: Mapping[str, Any], now: float) -> float | None:
    """Return by how much a copy is behind its table, in seconds; None while that is not known.

    That is the age of the oldest change that is not applied. Without one it is how long nothing
    is known of the source: 0 while the capture runs.

    Args:
        backlog: What has landed of the table and is not applied.
        status: What the capture says of itself.
        now: Seconds since 1970.
    """
    if backlog is not None and backlog.times.first is not None:
        return max(0.0, now - backlog.times.first / 1000)
    if status.get("state") == "SNAPSHOTTING" or not status.get("updated_at"):
        return None
    silent = now - dt.datetime.fromisoformat(status["updated_at"]).timestamp()
    running = status.get("state") == "REPLICATING" and silent < _SILENT
    return 0.0 if running else max(0.0, silent)


def table_status(table: str, state: TableState, status: Mapping[str, Any], *, paused: bool) -> str:
    """Return SNAPSHOTTING, REPLICATING, PAUSED or FAILING."""
    if state.given_up or state.failing_since is not None or status.get("state") == "FAILING":
        return "FAILING"
    if paused:
        return "PAUSED"
    if (status.get("tables") or {}).get(table) == "reading":
        return "SNAPSHOTTING"
    return "REPLICATING"


@dataclass(frozen=True)
class TableFigures:
    """What `status` shows of a table.

    Attributes:
        table: `schema.table`.
        model: Its model, "" before it has one.
        state: SNAPSHOTTING, REPLICATING, PAUSED or FAILING.
        lag_seconds: How far it is behind in time, None if not known.
        lag_events: How many events have landed and are not applied.
        events: Events that were applied, by operation.
        bytes: Their size.
        latency: p50, p95, p99 in seconds of the last applied events.
        throughput: Events a second of the last application, None if nothing was applied yet.
        fresh: Share of the time within the freshness objective, in percent; None if not watched.
        failures: How many applications failed.
        last_error: What the last failure said, None if it is over.
        next_try: When it is tried again, in seconds since 1970.
        given_up: Whether it is not tried again until `resume`.
    """

    table: str
    model: str
    state: str
    lag_seconds: float | None
    lag_events: int
    events: dict[str, int]
    bytes: int
    latency: list[float]
    throughput: float | None
    fresh: float | None
    failures: int
    last_error: str | None
    next_try: float | None
    given_up: bool


@dataclass(frozen=True)
class SourceStatus:
    """What `status` shows of a source.

    Attributes:
        source: Its name.
        running: Whether a process operates it.
        pid: The number of that process.
        paused: Whether somebody has paused it.
        last_error: Why capture did not go on, None if it did.
        freshness_seconds: How far a copy may be behind …
        objective: … and for what share of the time it is not to be more, in percent.
        capture: What the capture says of itself; {} if it never ran.
        tables: The figures of each table.
    """

    source: str
    running: bool
    pid: int | None
    paused: bool
    last_error: str | None
    freshness_seconds: float
    objective: float
    capture: Mapping[str, Any]
    tables: list[TableFigures]


def table_figures(
    state: ReplicatorState,
    backlog: Mapping[str, Backlog],
    status: Mapping[str, Any],
    now: float | None = None,
) -> list[TableFigures]:
    """Return what is known of each table, in order of their names."""
    now = time.time() if now is None else now
    tables = sorted({*state.tables, *(status.get("tables") or {})})
    figures = []
    for table in tables:
        known = state.tables.get(table, TableState())
        waiting = backlog.get(table)
        total = known.seconds_total
        figures.append(
            TableFigures(
                table=table,
                model=known.model,
                state=table_status(table, known, status, paused=state.paused),
                lag_seconds=lag_seconds(waiting, status, now),
                lag_events=waiting.count if waiting is not None else 0,
                events=known.events,
                bytes=known.bytes,
                latency=known.latency,
                throughput=known.throughput,
                fresh=100 * known.seconds_within / total if total > 0 else None,
                failures=known.failures,
                last_error=known.last_error,
                next_try=known.next_try,
                given_up=known.given_up,
            )
        )
    return figures


class SourceCollector:
    """The figures of a source as Prometheus' client collects them."""

    def __init__(
        self,
        source: str,
        operation: Operation,
        state: ReplicatorState,
        backlog: Mapping[str, Backlog],
        status: Callable[[], Mapping[str, Any]],
    ) -> None:
        self._source = source
        self._operation = operation
        self._state = state
        self._backlog = backlog
        self._status = status

    def collect(self) -> Iterator[Any]:
        """Return the metrics."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        labels = ["source", "table"]
        status = self._status()
        figures = table_figures(self._state, self._backlog, status)

        def family(kind: Any, name: str, text: str, values: Mapping[str, float | None]) -> Any:
            metric = kind(f"tidemark_replication_{name}", text, labels=labels)
            for table, value in values.items():
                if value is not None:
                    metric.add_metric([self._source, table], value)
            return metric

        events = CounterMetricFamily(
            "tidemark_replication_events",
            "Applied events by operation (c u d r t ddl).",
            labels=[*labels, "operation"],
        )
        latency = GaugeMetricFamily(
            "tidemark_replication_latency_seconds",
            "Time from the commit in the source to the commit here, of the last applied events.",
            labels=[*labels, "quantile"],
        )
        state = GaugeMetricFamily(
            "tidemark_replication_state",
            "State of the table: 1 for the state that it has.",
            labels=[*labels, "state"],
        )
        for one in figures:
            for operation, count in one.events.items():
                events.add_metric([self._source, one.table, operation], count)
            for quantile, value in zip(("0.5", "0.95", "0.99"), one.latency, strict=False):
                latency.add_metric([self._source, one.table, quantile], value)
            state.add_metric([self._source, one.table, one.state], 1)
        yield from (events, latency, state)
        yield family(
            CounterMetricFamily,
            "bytes",
            "Size of the applied events.",
            {one.table: one.bytes for one in figures},
        )
        yield family(
            CounterMetricFamily,
            "failures",
            "Applications that failed.",
            {one.table: one.failures for one in figures},
        )
        yield family(
            GaugeMetricFamily,
            "lag_seconds",
            "Age of the oldest change that is not applied yet.",
            {one.table: one.lag_seconds for one in figures},
        )
        yield family(
            GaugeMetricFamily,
            "lag_events",
            "Landed events that are not applied yet.",
            {one.table: one.lag_events for one in figures},
        )
        yield family(
            GaugeMetricFamily,
            "events_per_second",
            "Throughput of the last application.",
            {one.table: one.throughput for one in figures},
        )
        yield family(
            GaugeMetricFamily,
            "fresh_ratio",
            "Share of the time that the copy was within the freshness objective.",
            {one.table: None if one.fresh is None else one.fresh / 100 for one in figures},
        )
        for name, text, number in (
            (
                "objective_ratio",
                "Share of the time that the objective asks for.",
                self._operation.objective / 100,
            ),
            ("freshness_seconds", "The freshness objective.", self._operation.freshness),
            (
                "capture_lag_seconds",
                "Time by which the capture is behind the source, as Debezium measures it.",
                (status.get("lag_ms") or 0) / 1000,
            ),
        ):
            metric = GaugeMetricFamily(f"tidemark_replication_{name}", text, labels=["source"])
            metric.add_metric([self._source], number)
            yield metric


def _registry(collector: SourceCollector) -> Any:
    try:
        from prometheus_client import CollectorRegistry
    except ImportError:
        raise ConfigError(
            "metrics need the package prometheus-client. Install it: pip install "
            "'dbt-tidemark[capture]'"
        ) from None
    registry = CollectorRegistry()
    registry.register(collector)
    return registry


def metrics_text(collector: SourceCollector) -> str:
    """Return the figures in Prometheus' text format."""
    registry = _registry(collector)
    from prometheus_client import generate_latest

    return generate_latest(registry).decode()


def write_metrics(collector: SourceCollector, path: Path) -> None:
    """Write the figures where a node exporter's textfile collector can read them."""
    registry = _registry(collector)
    from prometheus_client import write_to_textfile

    write_to_textfile(str(path), registry)


def serve_metrics(collector: SourceCollector, port: int) -> None:
    """Serve the figures on the loopback until the process ends.

    Raises:
        ConfigError: The port cannot be had.
    """
    registry = _registry(collector)
    from prometheus_client import start_http_server

    try:
        start_http_server(port, addr="127.0.0.1", registry=registry)
    except OSError as error:
        raise ConfigError(
            f"the metrics cannot be served at --metrics-port {port} ({error.strerror}): "
            "choose another port"
        ) from None
