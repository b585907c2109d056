"""The files from which dbt reads a project, and what changes whenever they do."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tidemark import distribution_version
from tidemark.errors import ConfigError
from tidemark.project import SEEDS, dbt_folders
from tidemark.run.options import RunOptions

Stamp = tuple[int, int]
"""When a file was last written, and its size."""

_YAML = {".yml", ".yaml"}
_READ_BY_DBT = {*_YAML, ".sql", ".py", ".md", ".csv"}
_ENV_VAR = re.compile(rb"\benv_var\(\s*['\"]([^'\"]+)")
_LEFT_OUT = {"target", "logs", "dbt_packages", "dbt_modules", "node_modules", "venv"}


def fingerprint(options: RunOptions, *, seeds: bool = False) -> str:
    """Return what changes whenever parsing a project could give something else.

    What changes within an installed package is not noticed.

    Args:
        options: Which project, profile, target and vars.
        seeds: Whether the rows of seeds count.
    """
    found = stamps(files_of(options, seeds=seeds))
    asked = set().union(*(_environment_asked(path, stamp) for path, stamp in found.items()))
    parts: list[Any] = [
        distribution_version(),
        str(options.project_dir),
        options.target,
        options.vars,
        str(options.profiles_dir),
        sorted(
            (name, value)
            for name, value in os.environ.items()
            if name in asked or (name.startswith(("DBT_", "TIDEMARK_")) and "SECRET" not in name)
        ),
    ]
    parts += [(str(path), *stamp) for path, stamp in found.items()]
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


@cache
def _environment_asked(path: Path, stamp: Stamp) -> frozenset[str]:
    """Return which environment variables a file asks for.

    Any file may, a model for its schema or a macro for that of all. To read the files takes about
    as long as to list them, so that nothing is kept of it from one process to the next.
    """
    if path.suffix == ".csv":
        return frozenset()
    try:
        content = path.read_bytes()
    except OSError:
        return frozenset()
    return frozenset(name.decode(errors="replace") for name in _ENV_VAR.findall(content))


def files_of(options: RunOptions, *, seeds: bool = False) -> Iterator[Path]:
    """Return the files that dbt reads: those of the project, and its profiles.yml.

    Args:
        options: Which project and profile.
        seeds: Whether those of seeds are among them.
    """
    yield from _project_files(options.project_dir, seeds)
    for folder in profile_folders(options):
        yield folder / "profiles.yml"


def profile_folders(options: RunOptions) -> list[Path]:
    """Return the folders in which dbt looks for profiles.yml."""
    if options.profiles_dir is not None:
        return [options.profiles_dir]
    named = os.environ.get("DBT_PROFILES_DIR")
    return [Path(named)] if named else [options.project_dir, Path.home() / ".dbt"]


def stamps(paths: Iterable[Path]) -> dict[Path, Stamp]:
    """Return the stamp of each file that is there, in the order given."""
    found: dict[Path, Stamp] = {}
    for path in paths:
        try:
            stat = path.stat()
        except OSError:
            continue
        found[path] = (stat.st_mtime_ns, stat.st_size)
    return found


def changed_files(before: Mapping[Path, Stamp], after: Mapping[Path, Stamp]) -> dict[Path, str]:
    """Return what became of files: `changed`, `new` or `gone`, by path.

    Example:
        >>> changed_files({Path("a"): (1, 1), Path("b"): (1, 1)}, {Path("a"): (2, 1)})
        {PosixPath('a'): 'changed', PosixPath('b'): 'gone'}
    """
    found = {}
    for path in sorted(before.keys() | after.keys()):
        if path not in after:
            found[path] = "gone"
        elif path not in before:
            found[path] = "new"
        elif before[path] != after[path]:
            found[path] = "changed"
    return found


def describe_changes(changes: Mapping[Path, str], root: Path, most: int = 3) -> str:
    """Return what became of files as a sentence's beginning.

    Example:
        >>> changes = {Path("/p/models/a.sql"): "changed", Path("/d/b.csv"): "new"}
        >>> describe_changes(changes, Path("/p"))
        'models/a.sql changed, /d/b.csv is new'

    Args:
        changes: By path.
        root: The project; files in it are named from there.
        most: How many are named.
    """
    parts = []
    for path, became in list(changes.items())[:most]:
        shown = path.relative_to(root) if path.is_relative_to(root) else path
        parts.append(f"{shown} {'changed' if became == 'changed' else f'is {became}'}")
    if len(changes) > most:
        parts.append(f"{len(changes) - most} more")
    return ", ".join(parts)


def _project_files(root: Path, seeds: bool) -> Iterator[Path]:
    folders = read_folders(root)
    if folders is None:
        yield from _files_below(root, set() if seeds else {"seeds"})
        return
    yield from sorted(path for path in root.glob("[!.]*") if path.suffix in _YAML)
    for name, paths in folders.items():
        if seeds or name != SEEDS:
            for path in paths:
                yield from _files_below(path, set())


def read_folders(root: Path) -> dict[str, list[Path]] | None:
    """Return the folders that dbt reads, by their setting; None if only dbt knows them.

    Args:
        root: The project.
    """
    try:
        return dbt_folders(root)
    except (ConfigError, OSError):  # somebody is at work on dbt_project.yml
        return None


def is_own(name: str) -> bool:
    """Say whether a folder of a project, by its name, may have files of the project itself."""
    return not name.startswith(".") and name not in _LEFT_OUT


def _files_below(root: Path, left_out: set[str]) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if is_own(name) and name not in left_out)
        for name in sorted(names):
            # dbt keeps .user.yml
            if os.path.splitext(name)[1] in _READ_BY_DBT and not name.startswith("."):
                yield Path(folder, name)
