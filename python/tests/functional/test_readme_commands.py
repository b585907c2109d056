"""README.md, typed by a newcomer: the blocks of two sections in order and as they are written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

from tests.macros import ROOT
from tests.packages import build, copy_checkout, copy_sources
from tests.pages import blocks_of, script_of

pytestmark = pytest.mark.turn(3)

FIRST = "A first entity in five minutes"
OWN = "In your own dbt project"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, alone in a folder, with the environment that runs these tests."""
    copy = tmp_path_factory.mktemp("readme") / "tidemark"
    copy_checkout(copy)
    (copy / ".venv").symlink_to(sys.prefix)
    return copy


def run_script(script: str, folder: Path, **variables: str) -> tuple[str, str]:
    """Type a script; return what it printed on stdout and on stderr."""
    foreign = re.compile(r"TIDEMARK_|DBT_|SPARK_|PYTHON|VIRTUAL_ENV|PIP_")
    env = {name: value for name, value in os.environ.items() if not foreign.match(name)}
    env |= {
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "TIDEMARK_CLASS_ARCHIVE": f"{sys.prefix}/share/tidemark",
        **variables,
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    said = f"{done.stdout}\n{done.stderr}"
    assert done.returncode == 0, said
    # pip names a distribution that is called Deprecated
    told = re.sub(r"(?m)^Requirement already satisfied: .*$", "", said)
    assert not re.search(r"WARNING|(?i:deprecat|traceback)", told), said
    return done.stdout, done.stderr


def test_first_entity(checkout: Path) -> None:
    out, err = run_script(script_of(FIRST), checkout, TIDEMARK_TARGET="ci")
    # what the README shows is what was written
    (sql,) = (text for language, text in blocks_of(FIRST) if language == "sql")
    (shown,) = (text for language, text in blocks_of(FIRST) if language == "yaml")
    assert (checkout / "models/sales.sql").read_text() == sql
    assert yaml.safe_load((checkout / "models/_models.yml").read_text()) == yaml.safe_load(shown)
    # the next command that init names is one of those that follow, but for the verb
    assert """Next: dbt run --select sales --vars '{business_date: "2026-01-01"}'""" in err
    assert "PASS=4 WARN=0 ERROR=0" in out
    assert "left out, no file (29 of 30 dates): 2026-01-03..2026-01-31" in err
    assert re.search(r"sales +success", out) and "sales, changed values of 2026-01-02" in out


def test_own_project(checkout: Path, tmp_path: Path) -> None:
    own_project(script_of(OWN), checkout.parent, tmp_path)


@pytest.mark.slow
def test_own_project__of_the_wheel_and_a_git_repository(tmp_path: Path) -> None:
    """What `make package` builds and a repository are enough: there is no checkout anywhere near."""
    copy_sources(tmp_path / "sources")
    wheel, _ = build(tmp_path / "sources", tmp_path / "dist")
    copy_checkout(tmp_path / "tree")
    git = "git -c user.name=t -c user.email=t@example.com"
    run_script(
        f"git init -q -b main tree && cd tree && {git} add -A && {git} commit -qm x && git tag v1 && cd .. &&"
        " git clone -q --bare tree tidemark.git && rm -r tree sources",
        tmp_path,
    )
    folder = tmp_path / "empty"
    folder.mkdir()
    script = script_of(OWN)
    for written, instead in {
        "pip install ../tidemark": f"pip install {wheel}",
        "  - local: ../tidemark": f'  - git: "file://{tmp_path}/tidemark.git"\n    revision: v1',
    }.items():
        assert script.count(written) == 1
        script = script.replace(written, instead)
    own_project(script, folder, tmp_path)
    assert (folder / "shop/dbt_packages/tidemark/macros").is_dir()


def own_project(script: str, folder: Path, tmp_path: Path) -> None:
    """A new environment, offline: what pip is to install is found where this environment has it."""
    # a whole profile, but with what makes tests cheap
    profiles = yaml.safe_load((ROOT / "profiles" / "profiles.yml").read_text(encoding="utf-8"))
    settings = profiles["tidemark"]["outputs"]["ci"]["server_side_parameters"]
    lines = [f"{key} {value}" for key, value in settings.items() if "{{" not in value]
    (tmp_path / "spark-defaults.conf").write_text("\n".join(lines))
    commands = tmp_path / "commands"
    commands.mkdir()
    for name, line in {
        # the Python that this environment was made with, whose packages it is to find
        "python3": f'exec {sys._base_executable} "$@"',  # type: ignore[attr-defined]
        # what pip would write beside the new environment's python
        "dbt": 'exec python -c "from dbt.cli.main import cli; cli()" "$@"',
    }.items():
        (commands / name).write_text(f"#!/bin/sh\n{line}\n")
        (commands / name).chmod(0o755)
    out, _ = run_script(
        script,
        folder,
        SPARK_CONF_DIR=str(tmp_path),
        PATH=f"{commands}:{os.environ['PATH']}",
        # packages, but not what .pth files name: Tidemark is the one that the script installs
        PYTHONPATH=sysconfig.get_path("purelib"),
        PIP_NO_INDEX="1",
        PIP_NO_BUILD_ISOLATION="0",  # pip reads it as --no-build-isolation
        PIP_DISABLE_PIP_VERSION_CHECK="1",
    )
    shop = folder / "shop"
    assert list(shop.glob(".venv/lib/python*/site-packages/tidemark/cli.py"))
    assert "PASS=1 WARN=0 ERROR=0" in out
    assert (shop / ".tidemark/warehouse").is_dir()
