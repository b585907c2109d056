"""A whole dbt project: what `tidemark init --project` writes before the first entity."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

import tidemark
from tidemark.errors import ConfigError, TidemarkError
from tidemark.project import read_properties
from tidemark.scaffold.properties import scalar

_IGNORED = """\
.tidemark/
.venv/
dbt_packages/
logs/
target/
.user.yml
"""
_PROFILE = """\
NAME:
  target: dev
  outputs:
    dev:
      type: tidemark
      schema: NAME
    # what the target branch of a pull request makes
    base:
      type: tidemark
      schema: NAME_base
"""
_CHECK = """\
# mistakes in YAML and models, told before a run; it needs neither Java nor Spark
name: check
on: push
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {{python-version: "3.11"}}
      - run: pip install {requirement}
      - run: dbt deps
      - run: tidemark check
"""
_PULL_REQUEST = """\
# what a pull request changes: mistakes, unit tests, and the rows that come out otherwise
name: pull request
on: pull_request
permissions: {contents: read, pull-requests: write}
jobs:
  compare:
    runs-on: ubuntu-latest
    env:
      # both branches load into one warehouse, each into a schema of its own
      TIDEMARK_HOME: ${{ github.workspace }}/.tidemark
      # which landed files are loaded: a variable of the repository, else those of the last 30 days
      DATES: ${{ vars.BUSINESS_DATES }}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/checkout@v4
        with: {ref: "${{ github.event.pull_request.base.sha }}", path: .base}
      - uses: actions/setup-python@v5
        with: {python-version: "3.11"}
      - uses: actions/setup-java@v4
        with: {distribution: temurin, java-version: "17"}
      - run: pip install REQUIREMENT
      - run: dbt deps && dbt deps --project-dir .base --profiles-dir .base
      - run: tidemark check
      - run: tidemark test
      - name: load what both branches make of the landed files
        run: |
          DATES="${DATES:-$(date -d '-30 days' +%F)..$(date +%F)}"
          tidemark run --project-dir .base --target base --business-date "$DATES" --available
          tidemark run --business-date "$DATES" --available
      - name: compare
        if: hashFiles('.tidemark/warehouse/*/tidemark_commits__log/**') != ''
        # 2 says that something differs; --samples 0 leaves out values of rows
        run: tidemark diff NAME_base NAME --markdown > diff.md || test $? -eq 2
      - name: comment
        # a fork may not write here
        if: hashFiles('diff.md') != '' && !github.event.pull_request.head.repo.fork
        env: {GH_TOKEN: "${{ github.token }}", NUMBER: "${{ github.event.number }}"}
        run: gh pr comment "$NUMBER" --edit-last --create-if-none --body-file diff.md
"""


@dataclass(frozen=True)
class Package:
    """Where dbt finds the macros.

    Attributes:
        place: A folder, or the URL of a git repository.
        revision: Of a repository; None for a folder.
    """

    place: str
    revision: str | None = None

    @property
    def entry(self) -> str:
        """What stands in packages.yml."""
        if self.revision is None:
            return f"  - local: {scalar(self.place)}\n"
        return f"  - git: {scalar(self.place)}\n    revision: {scalar(self.revision)}\n"


def package(text: str | None) -> Package:
    """Return where dbt finds the macros.

    Example:
        >>> package("https://git.example.com/data/tidemark.git@v1")
        Package(place='https://git.example.com/data/tidemark.git', revision='v1')

    Args:
        text: A folder, or a repository with `@` and a revision. By default the checkout that this
            command was installed from.

    Raises:
        ConfigError: The package is not there, or a repository has no revision.
    """
    if text is not None and re.match(r"[\w+.-]+://|git@", text):
        place, at, revision = text.rpartition("@")
        if not at or "/" in revision or not revision or place == "git":
            raise ConfigError(
                f"--package {text}: name the revision, such as {text}@main, because packages change"
            )
        return Package(place, revision)
    folder = Path(text) if text is not None else _checkout()
    file = folder / "dbt_project.yml"
    known = read_properties(file) if file.is_file() else {}
    if known.get("name") != "tidemark":
        where = (
            f"--package {text}" if text is not None else "This command has no checkout beside it"
        )
        raise ConfigError(
            f"{where}: the dbt package is not there. Give --package with its folder, or "
            "with a repository and a revision, such as "
            "https://git.example.com/data/tidemark.git@main"
        )
    return Package(str(folder.resolve()))


def _checkout() -> Path:
    """Return the folder that this command was installed from, as pip noted it if it copied it."""
    here = Path(tidemark.__file__).parents[3]
    with suppress(PackageNotFoundError, ValueError, TypeError):
        origin = json.loads(distribution("dbt-tidemark").read_text("direct_url.json") or "{}")
        url = urlsplit(str(origin.get("url")))
        if url.scheme == "file" and not (here / "dbt_project.yml").is_file():
            return Path(unquote(url.path))
    return here


def project_files(name: str, macros: Package) -> dict[str, str]:
    """Return the files of a new project: path to text.

    Args:
        name: Of the project, its profile and its schema.
        macros: Where dbt finds the package.

    Raises:
        ConfigError: It cannot be called so.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ConfigError(f"--project {name!r}: use letters, digits and underscores only")
    if name == "tidemark":
        raise ConfigError(
            "--project tidemark: the package takes this name for its own examples. Choose "
            "another name"
        )
    files = {
        "dbt_project.yml": f"name: {name}\nversion: 1.0.0\nprofile: {name}\n",
        "profiles.yml": _PROFILE.replace("NAME", name),
        "packages.yml": f"packages:\n{macros.entry}",
        ".gitignore": _IGNORED,
        "models/.gitkeep": "",
    }
    if macros.revision is not None:
        requirement = shlex.quote(f"dbt-tidemark @ git+{macros.place}@{macros.revision}")
        files[".github/workflows/check.yml"] = _CHECK.format(requirement=requirement)
        compare = _PULL_REQUEST.replace("NAME", name).replace("REQUIREMENT", requirement)
        files[".github/workflows/pull_request.yml"] = compare
    return files


def write_project(folder: Path, files: dict[str, str]) -> None:
    """Write a new project.

    Raises:
        ConfigError: The folder is there and is not empty.
        TidemarkError: It cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is there already and is not empty: choose another name")
    try:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise TidemarkError(f"{folder} cannot be written. Check its rights: {error}") from error
