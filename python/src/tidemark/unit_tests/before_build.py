"""`dbt build` runs the unit tests of its models before it loads any of them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from textwrap import indent
from typing import Any
from xml.etree import ElementTree

from tidemark.errors import DataError
from tidemark.printable import counted

_lock = threading.Lock()
# by the command of dbt: a model's tests with what each failed with, if it did
_known: dict[str, dict[str, dict[str, str | None]]] = {}


def check_before_build(
    invocation_id: str, model: str, entity: str, selected: Iterable[str]
) -> None:
    """Stop the load of a model whose unit tests fail.

    The first model that asks has those of all that are selected run, in a process of its own: the
    tables of tests and of the project are known to two catalogues.

    Args:
        invocation_id: The command of dbt.
        model: The model, as dbt's manifest names it.
        entity: What messages call it.
        selected: The nodes of the command.

    Raises:
        DataError: Tests fail, or cannot be run.
    """
    with _lock:
        if invocation_id not in _known:
            _known.clear()
            names = [one.split(".", 2)[2] for one in selected if one.startswith("model.")]
            _known[invocation_id] = _run(entity, names)
    name = model.split(".", 2)[2].partition(".")[0]
    tests = _known[invocation_id].get(name, {})
    failed = {test: problem for test, problem in tests.items() if problem is not None}
    if failed:
        failures = "".join(f"\n{test}\n{indent(problem, '  ')}" for test, problem in failed.items())
        raise DataError(
            f"{entity}: {len(failed)} of {counted(len(tests), 'unit test')} "
            f"{'fails' if len(failed) == 1 else 'fail'}, so nothing was loaded. Run them alone: "
            f"tidemark test --select {name}{failures}"
        )


def _run(entity: str, names: list[str]) -> dict[str, dict[str, str | None]]:
    from dbt.events.types import JinjaLogInfo
    from dbt.flags import get_flags
    from dbt_common.events.contextvars import get_node_info
    from dbt_common.events.functions import fire_event

    flags: Any = get_flags()  # type: ignore[no-untyped-call]
    fire_event(JinjaLogInfo(msg="unit tests of models …", node_info=get_node_info()))
    with tempfile.TemporaryDirectory() as folder:
        junit = Path(folder) / "junit.xml"
        command = [sys.executable, "-m", "tidemark.cli", "test", "--junit", str(junit)]
        command += ["--select", *names, "--project-dir", str(flags.PROJECT_DIR)]
        command += ["--profiles-dir", str(flags.PROFILES_DIR)]
        if flags.TARGET:
            command += ["--target", str(flags.TARGET)]
        if flags.VARS:
            command += ["--vars", json.dumps(flags.VARS, default=str)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not junit.exists():
            output = (done.stderr or done.stdout).strip()
            raise DataError(f"{entity}: the unit tests cannot run. Mend the cause: {output}")
        root = ElementTree.parse(junit).getroot()
    results: dict[str, dict[str, str | None]] = {}
    for case in root.iter("testcase"):
        failure = case.find("failure")
        found = None if failure is None else (failure.text or "").strip()
        results.setdefault(str(case.get("classname")), {})[str(case.get("name"))] = found
    number = sum(map(len, results.values()))
    failed = sum(one is not None for tests in results.values() for one in tests.values())
    verdict = f"{failed} failed" if failed else "all passed"
    line = f"{counted(number, 'unit test')} of models: {verdict}"
    fire_event(JinjaLogInfo(msg=line, node_info=get_node_info()))
    return results
