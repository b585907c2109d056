"""`tidemark demo`: its data, its project, its commands."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner
from rich.console import Console

from tests.macros import ROOT
from tidemark.cli import cli
from tidemark.datagen.customers import customers
from tidemark.demo.play import next_steps, play
from tidemark.demo.project import land, landings, make_project, project_name
from tidemark.errors import ConfigError, TidemarkError
from tidemark.scaffold.new_project import package

TALK = Console(file=io.StringIO())


def test_customers__give_the_counts_that_they_promise() -> None:
    scenario = customers(200, seed=3)
    first, second, cut, third = ({row[0]: row for row in day.rows} for day in scenario.days)
    broken = {key for key, row in second.items() if row[4] == "n/a"}
    assert len(broken) == 1 and broken <= first.keys() and broken <= third.keys()

    def counts(before: dict[Any, Any], after: dict[Any, Any]) -> dict[str, int]:
        both = before.keys() & after.keys()
        changed = sum(before[key] != after[key] for key in both)
        return {
            "I": len(after.keys() - before.keys()), "U": changed,
            "D": len(before.keys() - after.keys()), "N": len(both) - changed,
        }  # fmt: skip

    wanted = counts(first, second)
    assert scenario.days[1].expected == {**wanted, "U": wanted["U"] - 1, "rejected": 1}
    loaded = {**second, **{key: first[key] for key in broken}}
    assert scenario.days[3].expected == counts(loaded, third)
    assert counts(loaded, cut)["D"] > len(loaded) / 2
    assert customers(200, seed=3) == scenario != customers(200, seed=4)
    with pytest.raises(ConfigError, match="must be 50 or more"):
        customers(10)


def test_project__is_that_of_init_with_an_entity(tmp_path: Path) -> None:
    folder = tmp_path / "shop demo"
    written = make_project(folder, package(str(ROOT)))
    assert {"dbt_project.yml", "profiles.yml", "packages.yml", "models/customers.sql"} <= set(
        written
    )
    (model,) = yaml.safe_load((folder / "models" / "_models.yml").read_text())["models"]
    assert model["config"]["meta"]["tidemark"]["on_reject"] == "quarantine"
    assert yaml.safe_load((folder / "dbt_project.yml").read_text())["name"] == "shop_demo"
    landing = landings()[1]
    land(folder, landing)
    lines = (folder / landing.path).read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(landing.day.rows) + 1
    with pytest.raises(ConfigError, match="is there already and is not empty"):
        make_project(folder, package(str(ROOT)))


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("tidemark-demo", "tidemark_demo"),
        ("2 try", "demo_2_try"),
        ("tidemark", "demo_tidemark"),
        ("東", "demo"),
    ],
)
def test_project_name(folder: str, name: str) -> None:
    assert project_name(Path("/tmp") / folder) == name


def test_demo__refuses_a_folder_that_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    result = CliRunner().invoke(cli, ["demo", "--folder", str(tmp_path)])
    assert "is not empty" in str(result.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


# exit codes of plan and apply, day by day: the third delivery is cut off
RIGHT = [2, 0, 2, 0, 1, 2, 2, 0]


def played(tmp_path: Path, codes: list[int]) -> list[str]:
    called: list[str] = []
    left = list(codes)

    def call(words: Any) -> int:
        called.append(shlex.join(words))
        return left.pop(0) if words[0] in ("plan", "apply") else 0

    play(tmp_path, landings(), call, lambda: f"p{len(called)}", TALK)
    return called


def test_play__days_in_order_and_what_is_shown_of_them(tmp_path: Path) -> None:
    assert played(tmp_path, RIGHT) == [
        "plan --business-date 2026-03-01 --samples 2",
        "apply p1",
        "plan --business-date 2026-03-02 --samples 2",
        "apply p3",
        "changes customers --samples 2",
        "rejects customers",
        "plan --business-date 2026-03-03 --samples 2",
        "apply p7",
        "plan --business-date 2026-03-03 --samples 2",
        "apply p9",
        "changes customers --samples 2",
        "history customers C00001",
        "status",
        "report",
    ]
    assert len(list((tmp_path / "landing").iterdir())) == 3


@pytest.mark.parametrize("codes", [[0], [2, 1], [*RIGHT[:4], 2], [*RIGHT[:5], 0], [*RIGHT[:7], 1]])
def test_play__stops_where_a_step_does_not_do_what_it_should(
    tmp_path: Path, codes: list[int]
) -> None:
    with pytest.raises(TidemarkError, match=f"the demo stops: .* exit code {codes[-1]}"):
        played(tmp_path, codes)
    with pytest.raises(click.Abort):
        played(tmp_path, [130])


def test_commands_that_it_names__are_there() -> None:
    told = next_steps("my demo", "/x/report.html")
    lines = re.findall(r"^  tidemark (.*?) *(?:#.*)?$", told, flags=re.MULTILINE)
    assert "cd 'my demo'" in told and len(lines) >= 5
    for line in lines:
        name, *words = shlex.split(line)
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, name
        known = {opt for parameter in command.params for opt in parameter.opts} | {"--help"}
        assert {word for word in words if word.startswith("--")} <= known, line
