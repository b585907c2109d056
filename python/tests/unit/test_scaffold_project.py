"""`tidemark init --project`: a whole dbt project, with a first entity if there is a file."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
import yaml
from click.testing import CliRunner, Result

from tidemark import cli
from tidemark.errors import ConfigError
from tidemark.scaffold import new_project
from tidemark.scaffold.new_project import Package, package

from ..macros import ROOT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path / "home"))
    for name in ("DBT_LOG_PATH", "DBT_TARGET_PATH"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "sales_2026-01-01.csv").write_text("id,amount\n1,2.50\n2,3.00\n")
    return tmp_path


def init(*arguments: str) -> Result:
    return CliRunner().invoke(cli.cli, ["init", *arguments])


def test_project__with_an_entity_is_right(folder: Path) -> None:
    """dbt parses it, and `tidemark check` finds no problems."""
    result = init("--project", "shop", "sales_2026-01-01.csv", "--name", "sales")
    assert result.exit_code == 0, result.exception
    shop = folder / "shop"
    profile = yaml.safe_load((shop / "profiles.yml").read_text())["shop"]
    assert profile["outputs"][profile["target"]] == {"type": "tidemark", "schema": "shop"}
    assert yaml.safe_load((shop / "packages.yml").read_text()) == {
        "packages": [{"local": str(ROOT)}]
    }
    assert ".tidemark/" in (shop / ".gitignore").read_text().splitlines()
    # no CI file: elsewhere there is no such folder
    assert not (shop / ".github").exists()
    assert "Next: cd shop && dbt deps" in result.stderr
    # what `dbt deps` does
    (shop / "dbt_packages").mkdir()
    (shop / "dbt_packages" / "tidemark").symlink_to(ROOT, target_is_directory=True)
    checked = CliRunner().invoke(cli.cli, ["check", "--project-dir", str(shop)])
    assert checked.exit_code == 0, checked.output
    assert "checked 1 model: no problems" in checked.output


def test_project__alone_with_a_package_of_git(folder: Path) -> None:
    place = "https://git.example.com/data/tidemark.git"
    result = init("--project", "shop", "--package", f"{place}@v1.2")
    assert result.exit_code == 0, result.exception
    packages = yaml.safe_load((folder / "shop/packages.yml").read_text())
    assert packages == {"packages": [{"git": place, "revision": "v1.2"}]}
    text = (folder / "shop/.github/workflows/check.yml").read_text()
    steps = [step.get("run") for step in yaml.safe_load(text)["jobs"]["check"]["steps"]]
    install = f"pip install 'dbt-tidemark @ git+{place}@v1.2'"
    assert steps[2:] == [install, "dbt deps", "tidemark check"]


def test_project__compares_what_a_pull_request_makes(folder: Path) -> None:
    """Both branches load into schemas that the profile has, and the comment is what differs."""
    place = "https://git.example.com/data/tidemark.git"
    assert init("--project", "shop", "--package", f"{place}@v1.2").exit_code == 0
    read = yaml.safe_load((folder / "shop/.github/workflows/pull_request.yml").read_text())
    assert read["permissions"]["pull-requests"] == "write"
    steps = [step["run"] for step in read["jobs"]["compare"]["steps"] if "run" in step]
    assert steps[0] == f"pip install 'dbt-tidemark @ git+{place}@v1.2'"
    assert steps[2:4] == ["tidemark check", "tidemark test"]
    outputs = yaml.safe_load((folder / "shop/profiles.yml").read_text())["shop"]["outputs"]
    schemas = (outputs["base"]["schema"], outputs["dev"]["schema"])
    assert (
        "--target base" in steps[4] and f"tidemark diff {' '.join(schemas)} --markdown" in steps[5]
    )
    # what somebody else has written is no command
    assert not any("${{" in step for step in steps)
    (folder / ".base").mkdir()
    for line in (line for step in steps for line in step.splitlines() if "tidemark" in line):
        words = shlex.split(line.partition(" > ")[0])
        if words[0] == "tidemark":
            command = cli.cli.get_command(click.Context(cli.cli), words[1])
            assert command is not None
            command.make_context(words[1], words[2:])


def test_project__dry_run_writes_nothing(folder: Path) -> None:
    result = init("--project", "shop", "--dry-run")
    assert "type: tidemark" in result.stdout and not (folder / "shop").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--project", "my-shop"], "use letters, digits and underscores"),
        (["--project", "tidemark"], "Choose another name"),
        (["--project", "shop", "--package", "elsewhere"], "the dbt package is not there"),
        (["--project", "shop", "--package", "https://x/y.git"], "name the revision"),
        (["--package", "x", "--name", "a", "f.csv"], "give --project NAME too"),
        (["--project", "shop", "sales_2026-01-01.csv"], "Give --name"),
        (["sales_2026-01-01.csv"], "Give --name"),
        (["--name", "sales"], "a sample must come from a file"),
        ([], "a sample is missing"),
    ],
)
def test_project__errors(folder: Path, arguments: list[str], message: str) -> None:
    assert message in str(init(*arguments).exception)
    assert not (folder / "shop").exists()


def test_project__is_not_written_over_another(folder: Path) -> None:
    (folder / "shop").mkdir()
    (folder / "shop/mine.txt").write_text("mine")
    assert "is not empty" in str(init("--project", "shop").exception)
    assert [path.name for path in (folder / "shop").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("text", "place", "revision"),
    [
        ("git@github.com:data/tidemark.git@main", "git@github.com:data/tidemark.git", "main"),
        ("ssh://git@host/t.git@v1", "ssh://git@host/t.git", "v1"),
        (str(ROOT), str(ROOT), None),
    ],
)
def test_package(text: str, place: str, revision: str | None) -> None:
    assert package(text) == Package(place, revision)


@pytest.mark.parametrize("text", ["git@github.com:data/tidemark.git", "ssh://git@host/t.git"])
def test_package__without_revision(text: str) -> None:
    with pytest.raises(Exception, match="name the revision"):
        package(text)


def test_package__of_a_copy_that_pip_made_of_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "my tidemark"
    checkout.mkdir()
    (checkout / "dbt_project.yml").write_text("name: tidemark\n")
    monkeypatch.setattr("tidemark.__file__", str(tmp_path / "a/b/c/tidemark/__init__.py"))
    noted = json.dumps({"url": checkout.as_uri(), "dir_info": {}})
    monkeypatch.setattr(
        new_project, "distribution", lambda _: SimpleNamespace(read_text=lambda _: noted)
    )
    assert new_project.package(None).place == str(checkout)
    # of an index nothing is noted
    monkeypatch.setattr(
        new_project, "distribution", lambda _: SimpleNamespace(read_text=lambda _: None)
    )
    with pytest.raises(ConfigError, match="no checkout beside it"):
        new_project.package(None)
