"""What the tests cost, and that none is left out: seconds of clock and CPU, and calls of dbt, by ring, file and test.

`pytest --costs` prints it, and takes a skipped test for a failed one, but for those of `SKIPS`. CPU is that of the
process and of all below it: Spark's JVM, servers, Python workers. Where there is no /proc, it is that of the process.
"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SKIPS = {
    r"\w+ is not installed": "a server that only root can install, on Debian",
    r"\w+ cannot be installed": "a server that the package archive did not give",
    r"no tmpfs": "a full disk needs the right to mount one",
}
"""What a skip of `.ci/run` may say → why it is none of our business there."""

LONG_FILES = (
    "test_cdc",
    "test_event_sources",
    "test_moved",
    "test_operations_random",
    "test_feed_cases",
    "test_scd2",
    "test_other_readers",
    "test_house",
    "test_events",
    "test_adapter",
    "test_debezium_messages",
    "test_feed",
    "test_chosen_columns",
    "test_golden_sql",
    "test_any_order",
    "test_debezium",
    "test_engine",
    "test_crash",
    "test_rollback",
    "test_three_ways",
    "test_golden_three_ways",
    "test_event_streams",
    "test_replicator",
    "test_engine_events",
    "test_formats",
    "test_pages_blocks",
    "test_capture_postgres",
    "test_timeline_reading",
    "test_unsigned",
    "test_readme_commands",
    "test_shred",
    "test_pitfalls_shred",
    "test_plan",
)
"""Files of the functional ring that cost most in their dearest turn, the longest first."""

SLOWEST = 40
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_calls_of_dbt = 0


def count_call_of_dbt() -> None:
    """Note that a test calls dbt."""
    global _calls_of_dbt
    _calls_of_dbt += 1


@dataclass(frozen=True)
class Cost:
    """Of a test or of several."""

    wall: float = 0.0
    cpu: float = 0.0
    calls: int = 0
    tests: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.wall + other.wall,
            self.cpu + other.cpu,
            self.calls + other.calls,
            self.tests + other.tests,
        )


def spent_so_far() -> Cost:
    """What this process has spent since it was started."""
    return Cost(time.monotonic(), time.process_time() + _cpu_below(os.getpid()), _calls_of_dbt)


def _cpu_below(root: int) -> float:
    """Seconds of CPU of all processes below one, and of those below it that have ended."""
    parents: dict[int, list[int]] = defaultdict(list)
    seconds: dict[int, tuple[float, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # the name, in brackets, may have anything in it
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        own, ended = (
            (int(fields[at]) + int(fields[at + 1])) / _TICKS for at in (11, 13)
        )  # utime, stime; those of ended children
        pid = int(path.parent.name)
        parents[int(fields[1])].append(pid)
        seconds[pid] = (own, ended)
    total = seconds.get(root, (0.0, 0.0))[1]
    below = list(parents[root])
    while below:
        pid = below.pop()
        total += sum(seconds[pid])
        below += parents[pid]
    return total


class Costs:
    """The plugin: notes the cost of each test where it runs, tells all where they are reported."""

    def __init__(self) -> None:
        self._begun = Cost()
        self._found: dict[str, Cost] = {}
        self._skipped: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self._begun = spent_so_far()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, call: Any) -> Any:
        outcome = yield
        if call.when == "teardown":
            now = spent_so_far()
            spent = (
                now.wall - self._begun.wall,
                max(0.0, now.cpu - self._begun.cpu),
                now.calls - self._begun.calls,
            )
            # a worker's reports travel, its objects do not
            outcome.get_result().user_properties.append(("cost", spent))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == "cost" and report.when == "teardown":
                self._found[report.nodeid] = Cost(*value, tests=1)
        self._note_skip(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note_skip(report)

    def _note_skip(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
            if not any(re.search(allowed, why) for allowed in SKIPS):
                self._skipped.append(f"{report.nodeid}: {why}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        is_worker = hasattr(session.config, "workerinput")
        if self._skipped and not is_worker and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write = terminalreporter.write_line
        terminalreporter.section("what the tests cost")
        write(f"{'wall s':>8} {'CPU s':>8} {'dbt':>5} {'tests':>6}")
        for place in (1, 2):
            for name, cost in _most_costly(self._by_part(place)):
                write(_line(name, cost))
            write("")
        write(f"the {SLOWEST} slowest tests, each with the fixtures that it was the first to need:")
        for name, cost in _most_costly(self._found)[:SLOWEST]:
            write(_line(name.removeprefix("python/tests/"), cost))
        if self._skipped:
            terminalreporter.section("skipped, which tests/costs.py does not allow", red=True)
            for line in self._skipped:
                write(line)

    def _by_part(self, parts: int) -> dict[str, Cost]:
        """Costs by ring (1), or by file (2)."""
        sums: dict[str, Cost] = defaultdict(Cost)
        for nodeid, cost in self._found.items():
            path = nodeid.partition("::")[0].removeprefix("python/tests/")
            sums["/".join(path.split("/")[:parts])] += cost
        return sums


def _most_costly(costs: dict[str, Cost]) -> list[tuple[str, Cost]]:
    return sorted(costs.items(), key=lambda item: -item[1].cpu)


def _line(name: str, cost: Cost) -> str:
    return f"{cost.wall:8.1f} {cost.cpu:8.1f} {cost.calls:5} {cost.tests:6}  {name}"


def options(parser: pytest.Parser) -> None:
    """Add `--costs`."""
    parser.addoption(
        "--costs", action="store_true", help="print what tests cost; a skipped test is an error"
    )


def configure(config: pytest.Config) -> None:
    """Take the plugin in, if it is asked for."""
    if config.getoption("--costs"):
        config.pluginmanager.register(Costs(), "tidemark-costs")


def long_files_first(items: list[pytest.Item]) -> None:
    """Put the tests of long files first, so that workers end together."""
    order = {name: place for place, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))
