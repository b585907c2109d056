"""The project of a shell: parsed, and parsed again when one of its files changes."""

from __future__ import annotations

import threading
import time
from typing import Any

from rich.console import Console

from tidemark.errors import ConfigError, TidemarkError
from tidemark.project import NOT_PARSED, tolerated_properties
from tidemark.read.project import remember_project
from tidemark.run.files import changed_files, describe_changes, files_of, fingerprint, stamps
from tidemark.run.invoke import Invoker
from tidemark.run.kept import forget_projects
from tidemark.run.options import RunOptions
from tidemark.run.watch import Watch
from tidemark.shell.names import Names, ProjectNames


class Warm:
    """A project that is kept parsed; dbt does one thing at a time, so who uses it holds the lock.

    Attributes:
        options: Which project, profile, target and vars.
        lock: Of dbt.
        names: What it calls things; as they were while it cannot be parsed.
    """

    def __init__(self, options: RunOptions, talk: Console) -> None:
        """Make one; nothing is parsed yet.

        Args:
            options: Which project, profile, target and vars.
            talk: Where it says what it does.
        """
        self.options = options
        self.lock = threading.RLock()
        self.names = Names()
        self._talk = talk
        self._invoker: Invoker | None = None
        self._files = stamps(files_of(options, seeds=True))

    @property
    def title(self) -> str:
        """What the project is called."""
        root = self.options.project_dir
        return str(tolerated_properties(root / "dbt_project.yml").get("name") or root.name)

    def parse(self) -> bool:
        """Parse what changed since it was parsed; say what is wrong with it."""
        with self.lock:
            self._files = stamps(files_of(self.options, seeds=True))
            mark = fingerprint(self.options)
            invoker = Invoker(self.options, self._talk)
            if not invoker.parse():
                return False
            if self._invoker is None or invoker.manifest is not self._invoker.manifest:
                self._invoker = invoker
                project = remember_project(self.options, invoker, mark)
                self.names = ProjectNames(invoker.manifest, project)
            return True

    def parsed(self) -> Invoker:
        """Return the parsed project as its files are now.

        Raises:
            ConfigError: It cannot be parsed.
        """
        if not self.parse() or self._invoker is None:
            raise ConfigError(NOT_PARSED)
        return self._invoker

    def reload(self) -> bool:
        """Have dbt look at every file anew, also at those of packages."""
        with self.lock:
            forget_projects()
            self._invoker = None
            return self.parse()

    def notice(self) -> bool:
        """Look whether files have changed; if so say it and parse them. Return whether they had."""
        with self.lock:
            news = changed_files(self._files, stamps(files_of(self.options, seeds=True)))
            if not news:
                return False
            started = time.monotonic()
            is_parsed = self.parse()
            verdict = f"read in {time.monotonic() - started:.1f} s" if is_parsed else "not usable"
            changes = describe_changes(news, self.options.project_dir)
            self._talk.print(f"{changes}: {verdict}", **_PLAIN)
            return True

    def follow(self, changes: Watch) -> None:
        """Notice what changes, until nobody listens any more.

        Args:
            changes: Where the project's files lie.
        """
        try:
            while changes.wait():
                self.notice()
        except TidemarkError as error:  # each command looks for itself: only the word is missing
            self._talk.print(str(error), **_PLAIN)


_PLAIN: dict[str, Any] = {"highlight": False, "markup": False, "soft_wrap": True}
