"""Reading a feed range by range: the range comes from dbt, the rows straight from Spark."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol
from urllib.parse import unquote, urlparse

from rich.console import Console

from tidemark.errors import ConfigError, TidemarkError
from tidemark.feed.options import FeedOptions
from tidemark.project import NOT_PARSED
from tidemark.read.tables import log_folder
from tidemark.run.invoke import Invoker
from tidemark.run.options import RunOptions

# rows reach this process a partition at a time, so a partition stays small however much is read
_SMALL_PARTITIONS = {
    "spark.sql.shuffle.partitions": "200",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16m",
}


class FeedReadError(TidemarkError):
    """Spark failed while it read."""


@dataclass(frozen=True)
class Page:
    """A range of a feed.

    Attributes:
        sql: Its rows: `line`, JSON without `_change`, and `change`, JSON or NULL.
        to: The last commit of the range.
        states: The table in which commits are recorded.
        news_sql: A query whose result changes when the entity has a new commit.
        news: Its result before the range was fixed.
    """

    sql: str
    to: int
    states: str
    news_sql: str
    news: str


class Reader(Protocol):
    """What printing needs."""

    def page(self, since: str | None, limit: int | None) -> Page:
        """Ask for what lies after `since`."""

    def lines(self, page: Page) -> Iterator[str]:
        """Read its rows."""

    def rest(self) -> None:
        """Let others at the metastore until there may be news."""

    def has_news(self, page: Page) -> bool:
        """Say whether there may be more than the page had."""


def print_feed(
    options: FeedOptions,
    reader: Reader,
    talk: Console,
    out: IO[bytes],
    sleep: Any = time.sleep,
) -> int:
    """Print a feed, and with `follow` what comes after it; return the exit code."""
    since, left = options.since, options.limit
    try:
        while True:
            page = reader.page(since, left)
            count = 0
            for line in reader.lines(page):
                out.write(line.encode() + b"\n")
                count += 1
            out.flush()
            left = None if left is None else left - count
            since = str(page.to)
            if not options.follow or left == 0:
                return 0
            reader.rest()
            sleep(options.interval)
            while not reader.has_news(page):
                sleep(options.interval)
    except KeyboardInterrupt:
        if not options.follow:
            raise
        return 0
    except BrokenPipeError:
        # whoever read has read enough, as `head` does; nothing is left to be flushed at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        return 0
    except FeedReadError as error:
        talk.print(str(error), highlight=False, markup=False, soft_wrap=True)
        return 1


def json_line(line: str, change: str | None) -> str:
    """Put `_change` at the end of a row's JSON, as the text that it is.

    Example:
        >>> json_line('{"icao":"LSZH"}', '{"event_type":"delete"}')
        '{"icao":"LSZH","_change":{"event_type":"delete"}}'
    """
    if change is None:
        return line
    return f'{line[:-1]}{"," if len(line) > 2 else ""}"_change":{change}}}'


class _QuietInvoker(Invoker):
    """Calls dbt without its warnings, which are for those who load."""

    def __init__(self, options: RunOptions, talk: Console) -> None:
        super().__init__(options, talk)
        self._muted = True


class FeedReader:
    """Reads by dbt and Spark in this process."""

    def __init__(self, options: FeedOptions, talk: Console) -> None:
        self._options = options
        self._talk = talk
        self._invoker: Invoker | None = None
        self._folder: Path | None = None
        self._seen: list[str] = []
        self._reported_busy = False

    def page(self, since: str | None, limit: int | None) -> Page:
        """Ask the run-operation `feed_query` for what lies after `since`.

        Raises:
            ConfigError: The project cannot be parsed, or the range cannot be read.
        """
        arguments = {
            "entity": self._options.entity,
            "from": since,
            "to": self._options.until,
            "images": self._options.images,
            "net": self._options.net,
            "where": self._options.where,
            "limit": limit,
        }
        given = {name: value for name, value in arguments.items() if value is not None}
        answer = self._parsed().ask("feed_query", given, "tidemark feed ")
        return Page(**answer[0])

    def lines(self, page: Page) -> Iterator[str]:
        """Read the rows of a page, a partition at a time.

        Raises:
            FeedReadError: Spark failed.
        """
        from tidemark.spark.messages import readable_error

        session = self._session()
        for key, value in _SMALL_PARTITIONS.items():
            session.conf.set(key, value)
        if self._options.follow:
            self._remember(session, page.states)
        try:
            for row in session.sql(page.sql).toLocalIterator(prefetchPartitions=False):
                yield json_line(row.line, row.change)
        except Exception as error:
            raise FeedReadError(readable_error(error)) from error

    def rest(self) -> None:
        """Release an embedded metastore."""
        from tidemark.spark.session import holds_metastore, stop_session

        if holds_metastore():
            stop_session()
            # PySpark's handler of Ctrl-C asks a Spark that is no more
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def has_news(self, page: Page) -> bool:
        """Look for new commits: in their table, or without Spark at the files of it."""
        from tidemark.home import tidemark_home
        from tidemark.spark.launch import metastore_holder
        from tidemark.spark.session import current_session

        session = current_session()
        if session is not None:
            return str(session.sql(page.news_sql).collect()[0][0]) != page.news
        if self._folder is not None and _listing(self._folder) == self._seen:
            return False
        holder = metastore_holder(tidemark_home())
        if holder is None:
            self._reported_busy = False
            return True
        if not self._reported_busy:
            self._reported_busy = True
            self._talk.print(
                f"another run ({holder}) uses the metastore; its changes follow when it has ended",
                highlight=False,
                soft_wrap=True,
            )
        return False

    def _remember(self, session: Any, states: str) -> None:
        """Keep what the files of commits are, while no other process can write any."""
        from tidemark.spark.session import holds_metastore

        if holds_metastore():
            rows = session.sql(f"describe table extended {states}").collect()
            self._folder = local_folder(
                next(row.data_type for row in rows if row.col_name == "Location")
            )
            self._seen = _listing(self._folder) if self._folder is not None else []

    def _session(self) -> Any:
        from tidemark.spark.session import current_session

        session = current_session()
        if session is None:
            raise ConfigError(
                "tidemark feed needs Spark in its own process. Write `type: tidemark` and `method: "
                "session` in the profile"
            )
        return session

    def _parsed(self) -> Invoker:
        if self._invoker is None:
            options = RunOptions(
                vars=self._options.vars,
                project_dir=self._options.project_dir,
                profiles_dir=self._options.profiles_dir,
                target=self._options.target,
                dates=[],
            )
            invoker = _QuietInvoker(options, self._talk)
            if not invoker.parse():
                raise ConfigError(NOT_PARSED)
            self._invoker = invoker
        return self._invoker


def local_folder(location: str) -> Path | None:
    """Return the folder of a table's log or metadata, else its own, if it is on this machine.

    Example:
        >>> local_folder("s3://bucket/table") is None
        True
    """
    parts = urlparse(location)
    if parts.scheme not in ("", "file"):
        return None
    return log_folder(Path(unquote(parts.path)))


def _listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*") if not path.name.startswith("."))
