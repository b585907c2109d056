"""What `make test` says of itself: times, and skips that nobody allowed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests import stages
from tests.costs import Costs, spent_so_far


def session() -> Any:
    return SimpleNamespace(config=SimpleNamespace(), exitstatus=pytest.ExitCode.OK)


@pytest.mark.parametrize(
    ("why", "code"),
    [
        ("Skipped: no tmpfs", pytest.ExitCode.OK),
        ("could not import 'pyarrow'", pytest.ExitCode.TESTS_FAILED),
    ],
)
def test_skips(why: str, code: pytest.ExitCode) -> None:
    costs, ended = Costs(), session()
    costs.pytest_collectreport(
        pytest.CollectReport("test_x.py", "skipped", ("test_x.py", 1, why), result=None)
    )
    costs.pytest_sessionfinish(ended)
    assert ended.exitstatus == code


def test_cpu_is_counted() -> None:
    before = spent_so_far()
    sum(range(3_000_000))
    assert spent_so_far().cpu > before.cpu


def test_stages__say_what_is_known() -> None:
    before = {"style": 20.0, "test-fast": 90.0}
    assert stages.expected(["style", "test-fast"], before) == "about 1 min 50 s, as the last time"
    assert stages.expected(["style", "other"], before).endswith("it was never measured here")
