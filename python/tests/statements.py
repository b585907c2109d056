"""What each statement costs: `pytest --statements FILE` writes its seconds of clock and CPU, below the test that sent it.

    ### python/tests/functional/test_cdc.py::test_three_days__full
      0.02    0.03  describe query select * from …
        0.88    1.02  make_view(`…__classified`, with numbered_rows as …
      4.48    3.88  dbt run --select people

CPU is that of Spark's JVM and the processes it starts. What a line did is indented above it. A query counts twice:
when it is planned, and, as `(rows)`, when its rows are fetched. Meant for one process: `-n 0`.
"""

from __future__ import annotations

import functools
import os
import re
import time
from pathlib import Path
from typing import Any, TextIO

import pytest

OPTION = "--statements"
ADAPTER = (
    "append_known append_rows column_names commit_rows execute_alone forget_views known_rows list_files make_view "
    "query_columns replace_rows stage_rows table_layout table_names table_version view_small_table"
).split()
"""Methods of the adapter that do work in the JVM beside statements."""
WIDTH = 160
COMMENT = re.compile(r"/\* \{.*?\} \*/", re.DOTALL)
"""What dbt puts before a statement."""
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Statements:
    """Writes what is done while tests run."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.depth = 0
        self._is_watching = False

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Name the test, and begin to watch with the first one."""
        self.file.write(f"### {item.nodeid}\n")
        if self._is_watching:
            return
        self._is_watching = True
        from dbt.adapters.tidemark.cursor import SessionConnection
        from dbt.adapters.tidemark.impl import TidemarkAdapter
        from tests.conftest import Project

        self._watch(SessionConnection, "execute", "{0}")
        self._watch(SessionConnection, "_fetched", "(rows)")
        for name in ADAPTER:
            self._watch(TidemarkAdapter, name, f"{name}({{0}}, …")
        self._watch(Project, "_invoke", "dbt {0}")
        self._watch(Project, "sql", "test: {0}")

    def _watch(self, owner: type, name: str, label: str) -> None:
        method = getattr(owner, name)

        @functools.wraps(method)
        def watched(*arguments: Any, **named: Any) -> Any:
            self.depth += 1
            cpu, begun = _cpu(), time.monotonic()
            try:
                return method(*arguments, **named)
            finally:
                self.depth -= 1
                first = arguments[1] if len(arguments) > 1 else ""
                text = " ".join(first) if isinstance(first, list) else str(first)
                what = " ".join(label.format(COMMENT.sub("", text)).split())[:WIDTH]
                seconds = f"{time.monotonic() - begun:6.2f}  {_cpu() - cpu:6.2f}"
                self.file.write(f"{'  ' * self.depth}{seconds}  {what}\n")
                self.file.flush()

        setattr(owner, name, watched)


def _cpu() -> float:
    """CPU seconds of Spark's JVM so far; 0 before it runs, or where there is no /proc."""
    from tidemark.spark.session import current_session

    session = current_session()
    if session is None:
        return 0.0
    try:
        fields = (
            Path(f"/proc/{_pid(session)}/stat")
            .read_text(encoding="utf-8")
            .rpartition(")")[2]
            .split()
        )
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS


@functools.cache
def _pid(session: Any) -> int:
    from tidemark.spark.files import java_class

    return int(java_class(session._jvm, "java.lang.ProcessHandle").current().pid())


def options(parser: pytest.Parser) -> None:
    """Add `--statements`."""
    parser.addoption(OPTION, metavar="FILE", help="write what each statement costs")


def configure(config: pytest.Config) -> None:
    """Watch, if it is asked for."""
    path = config.getoption(OPTION)
    if path:
        config.pluginmanager.register(Statements(Path(path).open("w", encoding="utf-8")))
