"""What `tidemark run` was asked for, and dbt's command lines for it."""

from __future__ import annotations

import datetime as dt
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tidemark.errors import ConfigError
from tidemark.home import HOME_VARIABLE, project_above, tidemark_home


@dataclass(frozen=True)
class RunOptions:
    """What was asked for, validated."""

    dates: list[dt.date]
    select: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    vars: dict[str, Any] = field(default_factory=dict)
    project_dir: Path = field(default_factory=Path.cwd)
    profiles_dir: Path | None = None
    target: str | None = None
    threads: int | None = None
    full_refresh: bool = False
    build: bool = False
    test: bool = False
    available: bool = False
    keep_going: bool = False
    changes: int = 0
    verbose: bool = False


def parse_vars(text: str | None) -> dict[str, Any]:
    """Return `--vars` as a dict.

    Raises:
        ConfigError: It is not a YAML mapping.
    """
    if not text or not text.strip():
        return {}
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"--vars must be valid YAML: {error}") from error
    except ValueError as error:
        raise ConfigError(
            f"--vars has a date that does not exist. Correct it ({error}): {text}"
        ) from error
    if not isinstance(value, dict):
        raise ConfigError(
            f"--vars must be a YAML mapping such as '{{allow_deletes: true}}', found: {text!r}"
        )
    return {str(key): item for key, item in value.items()}


def project_options(
    vars_text: str | None,
    project_dir: Path | None,
    profiles_dir: Path | None,
    target: str | None,
    **others: Any,
) -> RunOptions:
    """Return what the options that commands share ask for, without a business date.

    Args:
        vars_text: `--vars`.
        project_dir: `--project-dir`; None: this folder's project.
        profiles_dir: `--profiles-dir`; None: as find_profiles() has it.
        target: `--target`.
        **others: What else is asked for, by its name in RunOptions.

    Raises:
        ConfigError: There is no project, or the vars are none.
    """
    root = find_project(project_dir or Path.cwd())
    return RunOptions(
        dates=[],
        vars=parse_vars(vars_text),
        project_dir=root,
        profiles_dir=profiles_dir or find_profiles(root),
        target=target,
        **others,
    )


def find_project(start: Path) -> Path:
    """Return the nearest folder with a dbt_project.yml, at or above `start`."""
    start = start.absolute()
    found = project_above(start)
    if found is not None:
        return found
    raise ConfigError(
        f"no dbt_project.yml in {start} or above it: use --project-dir, or `tidemark init`"
    )


def find_profiles(root: Path) -> Path | None:
    """Return where profiles.yml lies unless the environment says so: the project, its profiles/."""
    if os.environ.get("DBT_PROFILES_DIR"):
        return None
    for folder in (root, root / "profiles"):
        if (folder / "profiles.yml").exists():
            return folder
    return None


def prepare_environment(project: Path) -> None:
    """Fix TIDEMARK_HOME, that of a project, and put dbt's own files there too."""
    home = tidemark_home(project)
    os.environ[HOME_VARIABLE] = str(home.root)
    os.environ.setdefault("DBT_LOG_PATH", str(home.logs))
    os.environ.setdefault("DBT_TARGET_PATH", str(home.target))


def command_line(options: RunOptions, date: dt.date | None, *, full_refresh: bool) -> list[str]:
    """Return dbt's command line for one date.

    Example:
        >>> command_line(RunOptions(dates=[], select=["airports"]), None, full_refresh=False)[:3]
        ['run', '--select', 'airports']
    """
    command = ["test" if options.test else "build" if options.build else "run"]
    command += selection(options)
    if full_refresh:
        command.append("--full-refresh")
    if options.threads is not None:
        command += ["--threads", str(options.threads)]
    return command + common_options(options, date)


def selection(options: RunOptions) -> list[str]:
    """Return dbt's options of selection."""
    command: list[str] = []
    if options.select:
        command += ["--select", *options.select]
    if options.exclude:
        command += ["--exclude", *options.exclude]
    return command


def common_options(options: RunOptions, date: dt.date | None) -> list[str]:
    """Return the options that every dbt command takes."""
    command = ["--project-dir", str(options.project_dir), "--log-level", "none"]
    command += ["--log-level-file", "debug"]
    if options.profiles_dir is not None:
        command += ["--profiles-dir", str(options.profiles_dir.absolute())]
    if options.target is not None:
        command += ["--target", options.target]
    values = dict(options.vars)
    if date is not None:
        values["business_date"] = date.isoformat()
    if values:
        command += ["--vars", json.dumps(values, default=str)]
    return command
