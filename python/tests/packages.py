"""Copies of the checkout without what tools wrote into it, and the package that is built of one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.macros import ROOT

_IGNORED = shutil.ignore_patterns("__pycache__", "*.egg-info", "dbt_packages")
#: What pip and dbt need of a checkout; git knows all of it
CHECKOUT = (
    "README.md LICENSE pyproject.toml dbt_project.yml profiles.yml profiles macros models seeds tests python/src"
).split()
#: What pip needs
SOURCES = ("README.md", "LICENSE", "pyproject.toml", "python/src")


def copy_checkout(target: Path, names: list[str] | tuple[str, ...] = tuple(CHECKOUT)) -> None:
    """Copy these files and folders of the checkout into a new folder."""
    target.mkdir(parents=True)
    for name in names:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=_IGNORED)
        else:
            shutil.copy(ROOT / name, target / name, follow_symlinks=False)


def copy_sources(target: Path) -> None:
    """Copy what pip needs into a new folder."""
    copy_checkout(target, SOURCES)


def build(sources: Path, target: Path) -> tuple[Path, Path]:
    """Build wheel and sdist as `make package` does, without the network; return them."""
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), "."],
        cwd=sources, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return wheel, sdist
