"""Where a run writes: everything lies under one folder, the environment variable TIDEMARK_HOME."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

HOME_VARIABLE = "TIDEMARK_HOME"
DEFAULT_HOME = ".tidemark"


@dataclass(frozen=True)
class Home:
    """The folder under which a run writes, and what lies in it.

    Example:
        >>> Home(Path("/data/tidemark")).spark_log
        PosixPath('/data/tidemark/logs/spark.log')
    """

    root: Path

    @property
    def warehouse(self) -> Path:
        """Tables."""
        return self.root / "warehouse"

    @property
    def metastore(self) -> Path:
        """The embedded catalogue (Derby)."""
        return self.root / "metastore"

    @property
    def metastore_lock(self) -> Path:
        """Locked by the one process that may open the embedded catalogue."""
        return self.root / "metastore.lock"

    @property
    def places(self) -> Path:
        """Where the home was when that catalogue was opened last, and before."""
        return self.root / "metastore.json"

    @property
    def logs(self) -> Path:
        """Logs of dbt, Spark and Derby."""
        return self.root / "logs"

    @property
    def spark_log(self) -> Path:
        """What the JVM says, with the full detail of every error."""
        return self.logs / "spark.log"

    @property
    def own_log(self) -> Path:
        """What went wrong in a command in a way that nobody foresaw, with its trace."""
        return self.logs / "tidemark.log"

    @property
    def derby_log(self) -> Path:
        """What the embedded catalogue says."""
        return self.logs / "derby.log"

    @property
    def target(self) -> Path:
        """dbt's compiled SQL and artefacts."""
        return self.root / "target"

    @property
    def packages(self) -> Path:
        """Which jars Spark's packages were resolved to."""
        return self.root / "packages.json"

    @property
    def failures(self) -> Path:
        """Runs that failed, a line of JSON each."""
        return self.root / "failures.jsonl"

    @property
    def successes(self) -> Path:
        """When runs went through, a file for each entity."""
        return self.root / "successes"

    @property
    def shell_history(self) -> Path:
        """What was typed into the shell."""
        return self.root / "shell_history"

    @property
    def plans(self) -> Path:
        """Plans, a folder each."""
        return self.root / "plans"

    @property
    def progress(self) -> Path:
        """How far runs are that are at work, a file for each process."""
        return self.root / "progress"

    @property
    def temporary(self) -> Path:
        """Spark's shuffle files and other scratch space, for the eyes of its owner alone."""
        return self.root / "tmp"

    @property
    def is_used(self) -> bool:
        """Whether there is more than logs: tables, a catalogue, what was captured."""
        return any(one.exists() for one in (self.warehouse, self.metastore, self.root / "landing"))

    def create(self) -> Home:
        """Create the folders that must exist before Spark starts."""
        for folder in (self.root, self.logs):
            folder.mkdir(parents=True, exist_ok=True)
        # rows lie there while a load runs, sensitive values among them
        self.temporary.mkdir(mode=0o700, exist_ok=True)
        return self


class _Known:
    """The project that dbt works for in this process."""

    project: Path | None = None


def work_for(project: Path) -> None:
    """Have the home be that of a project: dbt goes there only after it has made its adapter."""
    _Known.project = project.absolute()


def project_above(start: Path) -> Path | None:
    """Return the nearest folder with a dbt_project.yml, at or above an absolute one, if any."""
    for folder in (start, *start.parents):
        if (folder / "dbt_project.yml").exists():
            return folder
    return None


def tidemark_home(project: Path | None = None) -> Home:
    """Return the home folder, absolute: TIDEMARK_HOME, else `.tidemark/` beside the project.

    Where this folder's is in use and the project's is not, it is this one: it once always was.

    Args:
        project: Default: that of dbt, of this folder, or the nearest above it.
    """
    value = os.environ.get(HOME_VARIABLE)
    if value:
        return Home(Path(value).expanduser().absolute())
    here = Path.cwd()
    beside = project or _Known.project or project_above(here) or here
    home, of_folder = Home(beside.absolute() / DEFAULT_HOME), Home(here / DEFAULT_HOME)
    return of_folder if of_folder.is_used and not home.is_used else home


def write_private(path: Path, text: str) -> None:
    """Write a text with values of rows in it: a new file is its owner's alone."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
