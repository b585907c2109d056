"""Calling dbt without Spark: what it selects, and the SQL that it compiles."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tidemark.errors import ConfigError
from tidemark.home import tidemark_home
from tidemark.lineage.datasets import Warehouse, warehouse_of
from tidemark.run.options import RunOptions, selection

_NO_SPARK = "lineage runs without Spark"


def invoke(command: list[str], manifest: Any = None) -> Any:
    """Call dbt, which says nothing; its working directory is not ours.

    Raises:
        ConfigError: It may not write its own files.
    """
    from dbt.cli.main import dbtRunner

    from tidemark.run.refused import check_may_write

    before = os.getcwd()
    try:
        # dbt prints what it lists and compiles
        with contextlib.redirect_stdout(io.StringIO()):
            raw = dbtRunner(manifest=manifest).invoke(command)
    finally:
        os.chdir(before)
    check_may_write(raw.exception)
    return raw


def warehouse_here(root: Path) -> Warehouse:
    """Return where tables are, by the profile that dbt has just read."""
    from dbt.adapters.factory import FACTORY

    adapters: list[Any] = list(FACTORY.adapters.values())
    credentials = adapters[0].config.credentials if adapters else None
    return warehouse_of(credentials, root, tidemark_home().warehouse)


def selected_models(options: RunOptions, common: list[str]) -> list[str]:
    """Return the models that the options select, by unique_id.

    Raises:
        ConfigError: dbt does not understand the selection.
    """
    command = ["ls", *selection(options), "--resource-type", "model", "--output", "json"]
    listed = invoke([*command, "--output-keys", "unique_id", *common])
    if not listed.success:
        raise ConfigError(str(listed.exception or "dbt could not list the selected models"))
    return [
        str(json.loads(line)["unique_id"])
        for line in listed.result or []
        if line.startswith("{") and "unique_id" in line
    ]


def compiled_models(manifest: Any, common: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Compile every SQL model without a connection; return the SQL, and why there is none."""
    from dbt.cli.exceptions import DbtUsageException

    from tidemark.run.dbt_messages import without_stacks
    from tidemark.run.nodes import fresh_copy

    left = {
        node.unique_id: f"{node.package_name}.{'.'.join(node.fqn[1:])}"
        for node in manifest.nodes.values()
        if str(node.resource_type) in ("model", "snapshot") and str(node.language) == "sql"
    }
    compiled: dict[str, str] = {}
    problems: dict[str, str] = {}
    # a model above one that failed is skipped: it gets its turn in the next round
    while left:
        command = ["compile", "--no-populate-cache", "--select", *left.values(), *common]
        command += ["--indirect-selection", "empty"]
        with without_connections():
            raw = invoke(command, fresh_copy(manifest))
        if isinstance(raw.exception, DbtUsageException):
            raise ConfigError(f"dbt does not compile. Correct the project: {raw.exception}")
        results = getattr(raw.result, "results", None) or []
        for result in results:
            key, status = result.node.unique_id, str(result.status)
            if status == "success" and result.node.compiled_code:
                compiled[key] = result.node.compiled_code
            elif status == "error" and _NO_SPARK not in str(result.message):
                lines = without_stacks(str(result.message)).splitlines()
                problems[key] = f"its SQL does not compile: {(lines[1:] or lines)[0].strip()}"
            if status in ("success", "error"):
                left.pop(key, None)
        if not any(str(result.status) in ("success", "error") for result in results):
            break
    return compiled, problems


@contextmanager
def without_connections() -> Iterator[None]:
    """Keep dbt from opening a connection, and from stopping at the first model that wants one."""
    from dbt.adapters.spark.connections import SparkConnectionManager
    from dbt.task.compile import CompileTask
    from dbt_common.exceptions import DbtRuntimeError

    from dbt.adapters.tidemark.connections import TidemarkConnectionManager

    def refuse(cls: type, connection: object) -> object:
        raise DbtRuntimeError(_NO_SPARK)

    changed: list[tuple[type, str, object]] = [
        (SparkConnectionManager, "open", classmethod(refuse)),
        (TidemarkConnectionManager, "open", classmethod(refuse)),
        (CompileTask, "raise_on_first_error", lambda task: False),
    ]
    kept = [(owner, name, owner.__dict__[name]) for owner, name, _ in changed]
    try:
        for owner, name, value in changed:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in kept:
            setattr(owner, name, value)
