"""What the contract says of Spark is what Spark says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ..contract import QUERIES, shown

ANSWERS = Path(__file__).parents[1] / "vectors" / "contract.json"


def test_answers_of_spark(module_project: Any, request: pytest.FixtureRequest) -> None:
    """Those that the quick ring compares DuckDB's with; `--update-golden` writes them anew."""
    session = module_project.session
    found = {name: shown([tuple(row) for row in session.sql(sql).collect()]) for name, sql in QUERIES.items()}  # fmt: skip
    if request.config.getoption("--update-golden", default=False):
        ANSWERS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    assert found == json.loads(ANSWERS.read_text())
