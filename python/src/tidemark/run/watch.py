"""Waiting for files to change: which folders to listen at, and what woke us."""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

from tidemark.errors import TidemarkError
from tidemark.run.files import is_own, profile_folders, read_folders
from tidemark.run.options import RunOptions

# changes that follow each other sooner are one: an editor's write, rename and permissions
QUIET_SECONDS = 0.3
# files that never come to rest are looked at all the same
_PATIENCE_SECONDS = 30.0
# how soon a thread that listens sees that it is to end
_STEP_MILLISECONDS = 50


@dataclass(frozen=True)
class Places:
    """The folders to listen at.

    Attributes:
        deep: With everything below them.
        flat: Only what lies in them itself.
    """

    deep: frozenset[Path] = frozenset()
    flat: frozenset[Path] = frozenset()


def project_places(options: RunOptions) -> Places:
    """Return where the files lie from which dbt reads a project.

    Args:
        options: Which project and profile.
    """
    root = options.project_dir
    folders = read_folders(root)
    if folders is None:  # what dbt alone knows lies below the project all the same
        folders = {"": [path for path in root.iterdir() if path.is_dir() and is_own(path.name)]}
    flat = [root, *profile_folders(options)]
    deep = frozenset(path for paths in folders.values() for path in paths)
    return Places(deep, frozenset(filter(Path.is_dir, flat)))


def location_places(root: Path, locations: Iterable[str]) -> Places:
    """Return where to listen for files to land.

    A folder that is not there yet is waited for in the nearest one above it that is.

    Args:
        root: The project, from which paths without a root count.
        locations: Paths, with globs and with placeholders of dates; URLs are left out.
    """
    deep, flat = set(), set()
    for location in filter(is_local, locations):
        path = local_path(root, location)
        fixed: list[str] = []
        for part in path.parts:
            if has_magic(part) or "{" in part:
                break
            fixed.append(part)
        folder = Path(*fixed)
        left = len(path.parts) - len(fixed)
        if not left and not folder.is_dir():
            folder, left = folder.parent, 1
        if not folder.is_dir():
            flat.add(next(parent for parent in folder.parents if parent.is_dir()))
        elif left == 1:
            flat.add(folder)
        else:
            deep.add(folder)
    return Places(frozenset(deep), frozenset(flat))


def is_local(location: str) -> bool:
    """Say whether a location is a path of this machine.

    Example:
        >>> is_local("landing/shop"), is_local("file:/data"), is_local("s3://data/shop")
        (True, True, False)
    """
    return "://" not in location or location.startswith("file:")


def local_path(root: Path, location: str) -> Path:
    """Return a location that is_local() as a path."""
    return root / re.sub(r"^file:/*", "/", location)


def landed_files(root: Path, location: str) -> Iterator[Path]:
    """Return the files that lie at a location now.

    Args:
        root: The project, from which a path without a root counts.
        location: A file, a folder or a glob, without placeholders; of a URL nothing is known.
    """
    if not is_local(location):
        return
    path = local_path(root, location)
    found = map(Path, sorted(glob(str(path)))) if has_magic(str(path)) else [path]
    for one in found:
        if one.is_dir():
            yield from (
                file
                for file in sorted(one.rglob("*"))
                if file.is_file() and not file.name.startswith((".", "_"))
            )
        elif one.is_file():
            yield one


class Watch:
    """Listens at folders, in threads of its own.

    Example:
        with Watch(lambda: project_places(options)) as watch:
            while watch.wait():
                ...
    """

    def __init__(self, places: Callable[[], Places]) -> None:
        """Begin to listen.

        Args:
            places: Where; asked again after each change, as folders come and go.
        """
        self._places_of = places
        self._places = Places()
        self._news: queue.SimpleQueue[TidemarkError | bool] = queue.SimpleQueue()
        self._end = threading.Event()
        self._closed = False
        self._listen()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether nothing will come any more."""
        return self._closed

    def close(self) -> None:
        """Stop listening; who waits returns."""
        self._closed = True
        self._end.set()
        self._news.put(False)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until something has changed and is at rest again.

        Args:
            timeout: How many seconds at most; by default for ever.

        Returns:
            Whether something changed, possibly nothing of interest; False at the time's end or
            when the watch is closed.

        Raises:
            TidemarkError: The system does not let us listen.
        """
        if not self._next(timeout):
            return False
        for _ in range(int(_PATIENCE_SECONDS / QUIET_SECONDS)):
            if not self._next(QUIET_SECONDS):
                break
        self._listen()
        return not self._closed

    def _next(self, timeout: float | None) -> bool:
        if self._closed:
            return False
        try:
            # waits that have an end let Ctrl-C through on every system
            news = self._news.get(timeout=timeout if timeout is not None else 3600)
        except queue.Empty:
            return timeout is None and self._next(timeout)
        if isinstance(news, TidemarkError):
            raise news
        return news

    def _listen(self) -> None:
        """Listen at the places of now, if they are others than before."""
        places = self._places_of()
        if places == self._places or self._closed:
            return
        self._end.set()
        self._places, self._end = places, threading.Event()
        for paths, deep in ((places.deep, True), (places.flat, False)):
            if paths:
                threading.Thread(
                    target=self._hear,
                    args=(sorted(paths), deep, self._end),
                    name="tidemark-watch",
                    daemon=True,
                ).start()

    def _hear(self, paths: list[Path], deep: bool, end: threading.Event) -> None:
        from watchfiles import watch

        try:
            for _ in watch(
                *paths,
                watch_filter=None,
                debounce=4 * _STEP_MILLISECONDS,
                step=_STEP_MILLISECONDS,
                stop_event=end,
                rust_timeout=1000,
                recursive=deep,
                ignore_permission_denied=True,
            ):
                self._news.put(True)
        except FileNotFoundError:  # gone since: somebody notices, and asks for the places again
            self._news.put(True)
        except Exception as error:
            self._news.put(TidemarkError(f"files cannot be watched. Run without --watch: {error}"))
