"""`tidemark lineage` and `tidemark docs`: what is typed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tidemark.cli import cli
from tidemark.errors import ConfigError


def test_a_missing_extra_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: shop")
    find = importlib.util.find_spec

    def without(name: str, *arguments: Any) -> Any:
        return None if name in ("sqlglot", "openlineage") else find(name, *arguments)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    for name in ("DBT_TARGET_PATH", "DBT_LOG_PATH", "TIDEMARK_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    result = CliRunner().invoke(cli, ["lineage", "--project-dir", str(tmp_path)])
    assert isinstance(result.exception, ConfigError)
    assert str(result.exception) == (
        "lineage needs openlineage: install Tidemark with the extra `lineage`, "
        "as in pip install 'dbt-tidemark[lineage]'"
    )


@pytest.mark.parametrize("command", ["lineage", "docs"])
def test_outside_of_a_project(command: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, [command, "--project-dir", str(tmp_path)])
    assert isinstance(result.exception, ConfigError)
    assert "no dbt_project.yml" in str(result.exception)


def test_help_has_examples_and_exit_codes() -> None:
    shown = CliRunner().invoke(cli, ["lineage", "--help"]).output
    assert "Exit codes:" in shown
    assert "tidemark lineage --openlineage lineage.ndjson" in shown
