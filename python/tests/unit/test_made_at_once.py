"""Tables that two processes make in one moment, on a metastore that they share."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.tidemark import tables
from dbt.adapters.tidemark.impl import TidemarkAdapter
from tidemark.spark import files
from tidemark.spark.messages import made_at_once, readable_error

RACE = "[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION] Cannot create table"


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        (RACE, True),
        ("Database Error\n  Table tidemark_commits already exists", True),
        ("[DELTA_STATE_RECOVER_ERROR] The metadata of your Delta table could not be", True),
        ("[TABLE_OR_VIEW_NOT_FOUND] The table already exists elsewhere", False),
    ],
)
def test_made_at_once(message: str, wanted: bool) -> None:
    assert made_at_once(message) is wanted


def test_table_that_the_metastore_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody else can have made it, nothing is said of another run."""
    said = f"{RACE} ('`spark_catalog`.`shop`.`orders`'). The associated location ('file:{tmp_path}') is not empty and also not a Delta table."
    error = SimpleNamespace(getMessage=lambda: said, getCause=lambda: None)
    failed = RuntimeError()
    failed.java_exception = error  # type: ignore[attr-defined]
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path))
    assert "Another run may have made the table" in readable_error(failed)
    (tmp_path / "metastore.pid").write_text(f"{os.getpid()}\n")
    assert "Another run may have made the table" in readable_error(failed)
    (tmp_path / "_delta_log").mkdir()
    told = readable_error(failed)
    assert f"`sql create table shop.orders using delta location '{tmp_path}'`" in told
    assert "Another run" not in told and made_at_once(told)


@pytest.mark.parametrize(("failures", "tries"), [([RACE], 2), ([RACE] * 99, 10), (["other"], 1)])
def test_execute_alone__goes_on_once_the_other_is_done(
    failures: list[str], tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables.time, "sleep", lambda seconds: None)
    done: list[str] = []
    left = list(failures)

    def execute(statement: str) -> None:
        done.append(statement)
        if left:
            raise DbtDatabaseError(left.pop(0))

    adapter: Any = SimpleNamespace(clear_leftovers=done.append, execute=execute)
    if len(failures) == 1 and failures[0] == RACE:
        TidemarkAdapter.execute_alone(adapter, ["create"], ["table"])
    else:
        with pytest.raises(DbtDatabaseError, match=r"Cannot create table|other"):
            TidemarkAdapter.execute_alone(adapter, ["create"], ["table"])
    assert done == ["table", "create"] * tries


@pytest.mark.parametrize(
    ("settings", "shared"),
    [
        ({}, False),
        ({"javax.jdo.option.ConnectionURL": "jdbc:derby:;databaseName=x"}, False),
        ({"javax.jdo.option.ConnectionURL": "jdbc:derby://host:1527/x"}, True),
        ({"javax.jdo.option.ConnectionURL": "jdbc:postgresql://host/x"}, True),
        ({"hive.metastore.uris": "thrift://host:9083"}, True),
    ],
)
def test_shared_metastores(settings: dict[str, str], shared: bool) -> None:
    assert files._is_shared(settings) is shared
