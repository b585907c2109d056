"""`tidemark demo`: what three days leave in the tables, and a project to go on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tidemark import cli
from tidemark.datagen.customers import customers

pytestmark = pytest.mark.turn(0)


def test_demo__loads_what_its_data_promise(
    project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "demo shop"
    monkeypatch.setenv("TIDEMARK_HOME", str(project.home))
    for name in ("DBT_LOG_PATH", "DBT_TARGET_PATH"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    result = CliRunner().invoke(cli.cli, ["demo", "--folder", str(folder)])
    assert result.exit_code == 0, (result.output, result.exception)

    days = [day.expected for day in customers().days if "error" not in day.expected]
    counted = project.sql(
        "select cast(_business_date as string), _operation, count(*) from demo_shop.customers__history group by all"
    )
    assert {tuple(row) for row in counted} == {
        (f"2026-03-0{number}", operation, rows)
        for number, expected in enumerate(days, start=1)
        for operation, rows in expected.items()
        if operation in "IUD"
    }
    ((rejects,),) = project.sql("select count(*) from demo_shop.customers__rejects")
    assert rejects == days[1]["rejected"] == 1
    # what is told: the failure that is meant, the commands as they are typed, the page, what is next
    assert (
        "would delete" in result.output
        and "$ tidemark plan --business-date 2026-03-03" in result.stderr
    )
    assert (
        Path(result.stdout.split()[-1]).name == "report.html"
        and "What to try next" in result.stderr
    )
    status = CliRunner().invoke(cli.cli, ["status", "--project-dir", str(folder)])
    assert status.exit_code == 0 and "customers" in status.stdout
