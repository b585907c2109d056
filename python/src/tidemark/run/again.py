"""`tidemark run --watch`: one selection again whenever something that it depends on changes."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from tidemark.printable import counted
from tidemark.run.dates import date_ranges, extract_path
from tidemark.run.files import (
    Stamp,
    changed_files,
    describe_changes,
    files_of,
    read_folders,
    stamps,
)
from tidemark.run.invoke import Invoker
from tidemark.run.options import RunOptions
from tidemark.run.watch import (
    Places,
    Watch,
    is_local,
    landed_files,
    location_places,
    project_places,
)

INTERRUPTED = 130
NOTHING_RUN = 2
LOOK_AGAIN_SECONDS = 5.0
_PLAIN: dict[str, Any] = {"highlight": False, "markup": False, "soft_wrap": True}
# what can change any model
_FOR_ALL = {"dbt_project.yml", "profiles.yml", "packages.yml", "package-lock.yml"}


@dataclass(frozen=True)
class Selection:
    """What the models of a selection say.

    Attributes:
        nodes: A hash of each one's definition, by name.
        locations: Where their files land, as their YAML says.
    """

    nodes: dict[str, str]
    locations: tuple[str, ...]


@dataclass(frozen=True)
class Seen:
    """The files at one moment.

    Attributes:
        project: Those that dbt reads.
        landed: Those that the selection loads, for each date or without one.
    """

    project: dict[Path, Stamp]
    landed: dict[dt.date | None, dict[Path, Stamp]]


@dataclass(frozen=True)
class News:
    """What became of files between two moments.

    Attributes:
        project: Of files that dbt reads.
        landed: Of files that the selection loads.
        dates: The dates that have any of these.
    """

    project: dict[Path, str]
    landed: dict[Path, str]
    dates: tuple[dt.date | None, ...]

    def __bool__(self) -> bool:
        return bool(self.project or self.landed)


def run_again(
    options: RunOptions,
    talk: Console,
    run: Callable[[RunOptions], int],
    select: Callable[[RunOptions], Selection | None],
    watch: Callable[[Callable[[], Places]], Watch] = Watch,
) -> int:
    """Run, wait for a change, run what it is about, until Ctrl-C.

    Args:
        options: What to run.
        talk: Where it is said what changed.
        run: Runs and returns an exit code.
        select: Parses the project and says what is selected; None if it cannot be parsed.
        watch: Listens at folders.

    Returns:
        The exit code: 0 after Ctrl-C, or 130 if that interrupted a run.
    """
    try:
        # what changes while it is read and run is news afterwards
        seen = look(options, None)
        selection = select(options)
        _report_unwatched(selection, talk)
        seen = replace(seen, landed=look(options, selection).landed)
        code = NOTHING_RUN if selection is None else run(options)
        if code == INTERRUPTED:
            return INTERRUPTED
        # to begin anew is for the first run that comes about, which is then one of all dates
        is_owed = selection is None or (options.full_refresh and code == NOTHING_RUN)
        options = replace(options, full_refresh=options.full_refresh and is_owed)
        with watch(lambda: _places(options, selection)) as changes:
            while True:
                _report_waiting(seen, talk)
                news = News({}, {}, ())
                while not news:
                    now = look(options, selection)
                    news = news_between(seen, now)
                    if not news and changes.closed:
                        return 0
                    # looking now and then finds what a file system does not tell
                    _ = news or changes.wait(LOOK_AGAIN_SECONDS)
                seen = now
                talk.print(_described(news, options), **_PLAIN)
                asked = options
                if news.project or is_owed:
                    chosen = select(options)
                    if chosen is None:
                        is_owed = is_owed or bool(news.landed)
                        continue
                    is_same = chosen == selection and not _is_for_all(news, options)
                    if chosen != selection:
                        _report_unwatched(chosen, talk)
                        # files may land elsewhere now
                        seen = replace(seen, landed=look(options, chosen).landed)
                    selection = chosen
                    if is_same and not news.landed and not is_owed:
                        talk.print("nothing of the selection changed", **_PLAIN)
                        continue
                elif None not in news.dates:
                    asked = replace(options, dates=[one for one in news.dates if one is not None])
                code = run(asked)
                if code == INTERRUPTED:
                    return INTERRUPTED
                is_owed = options.full_refresh and code == NOTHING_RUN
                options = replace(options, full_refresh=is_owed)
    except KeyboardInterrupt:
        return 0


def selection_of(options: RunOptions, talk: Console) -> Selection | None:
    """Parse a project and return what is selected; None, and dbt's message was told, if it fails.

    Args:
        options: Which project, and what of it.
        talk: Where messages go.
    """
    invoker = Invoker(options, talk)
    if not invoker.parse():
        return None
    kinds = ("model", "test", "seed", "snapshot") if options.build else ("model",)
    nodes = invoker.selected(*kinds)
    return Selection(
        nodes={node.unique_id: definition(node) for node in nodes},
        locations=tuple(sorted({one for node in nodes if (one := _location(node)) is not None})),
    )


def definition(node: Any) -> str:
    """Return a hash of all that a node's own files say of it.

    Args:
        node: dbt's.
    """
    fields = node.to_dict()
    kept = {name: fields.get(name) for name in ("raw_code", "config", "columns", "description")}
    kept |= {name: fields.get(name) for name in ("schema", "alias", "checksum", "test_metadata")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, default=str).encode()).hexdigest()


def look(options: RunOptions, selection: Selection | None) -> Seen:
    """Return the files as they are now.

    Args:
        options: Which project and dates.
        selection: What is loaded.
    """
    landed: dict[dt.date | None, dict[Path, Stamp]] = {}
    for location in selection.locations if selection is not None else ():
        for date, path in _paths(location, options):
            files = landed_files(options.project_dir, path)
            landed.setdefault(date, {}).update(stamps(files))
    return Seen(stamps(files_of(options, seeds=True)), landed)


def news_between(before: Seen, after: Seen) -> News:
    """Return what became of files between two moments.

    Args:
        before: The one moment.
        after: The other one.
    """
    landed: dict[Path, str] = {}
    dates = []
    for date in sorted(before.landed.keys() | after.landed.keys(), key=str):
        found = changed_files(before.landed.get(date, {}), after.landed.get(date, {}))
        if found:
            landed |= found
            dates.append(date)
    return News(changed_files(before.project, after.project), landed, tuple(dates))


def _paths(location: str, options: RunOptions) -> Iterator[tuple[dt.date | None, str]]:
    """Return where a location's files lie, for each date that is asked for if it has dates."""
    if "{" not in location:
        yield None, location
        return
    for date in options.dates:
        yield date, extract_path(location, date)


def _places(options: RunOptions, selection: Selection | None) -> Places:
    project = project_places(options)
    landing = location_places(options.project_dir, selection.locations if selection else ())
    return Places(project.deep | landing.deep, project.flat | landing.flat)


def _is_for_all(news: News, options: RunOptions) -> bool:
    """Say whether files changed that can change any model."""
    folders = read_folders(options.project_dir)
    # where dbt alone knows its folders, any file may be a macro
    macros = folders["macro-paths"] if folders is not None else [options.project_dir]
    return any(
        path.name in _FOR_ALL or any(path.is_relative_to(folder) for folder in macros)
        for path in news.project
    )


def _location(node: Any) -> str | None:
    meta = getattr(node.config, "meta", None)
    settings = meta.get("tidemark") if isinstance(meta, Mapping) else None
    location = settings.get("location") if isinstance(settings, Mapping) else None
    return location if isinstance(location, str) else None


def _described(news: News, options: RunOptions) -> str:
    changes = describe_changes(news.project | news.landed, options.project_dir)
    dates = [date for date in news.dates if date is not None]
    return f"{changes} ({date_ranges(dates)})" if dates and not news.project else changes


def _report_waiting(seen: Seen, talk: Console) -> None:
    landed = sum(map(len, seen.landed.values()))
    talk.print(
        f"waiting for a change: {counted(len(seen.project), 'file')} of the project, "
        f"{counted(landed, 'file')} that it loads (Ctrl-C ends)",
        **_PLAIN,
    )


def _report_unwatched(selection: Selection | None, talk: Console) -> None:
    for location in selection.locations if selection is not None else ():
        if not is_local(location):
            talk.print(
                f"{location} is not watched, because it is not a path of this machine", **_PLAIN
            )
