"""`tidemark feed`: what is typed, and what is printed."""

from __future__ import annotations

import io
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from tidemark.cli import cli
from tidemark.errors import ConfigError
from tidemark.feed import reader as reading
from tidemark.feed.cli import parse_images
from tidemark.feed.options import FeedOptions
from tidemark.feed.reader import FeedReadError, Page, json_line, local_folder, print_feed
from tidemark.run.invoke import Invoker


class Commits:
    """A reader whose commits bring these lines, one commit after another."""

    def __init__(self, *commits: list[str], breaks_at: int | None = None) -> None:
        self.commits = list(commits)
        self.asked: list[tuple[str | None, int | None]] = []
        self.rested = 0
        self.breaks_at = breaks_at

    def page(self, since: str | None, limit: int | None) -> Page:
        self.asked.append((since, limit))
        return Page("", len(self.asked), "", "", "")

    def lines(self, page: Page) -> Iterator[str]:
        if page.to == self.breaks_at:
            raise FeedReadError("Spark is gone")
        limit = self.asked[-1][1]
        lines = self.commits[page.to - 1]
        yield from lines if limit is None else lines[:limit]

    def rest(self) -> None:
        self.rested += 1

    def has_news(self, page: Page) -> bool:
        if page.to == len(self.commits):
            raise KeyboardInterrupt
        return True


def printed(reader: Commits, **options: Any) -> tuple[int, list[str], str]:
    out, talk = io.BytesIO(), Console(file=io.StringIO(), width=80)
    code = print_feed(FeedOptions("airports", **options), reader, talk, out, sleep=lambda _: None)
    return code, out.getvalue().decode().splitlines(), talk.file.getvalue()  # type: ignore[attr-defined]


def test_print_feed__one_range() -> None:
    reader = Commits(["a", "b"])
    assert printed(reader, since="2026-03-04", limit=9) == (0, ["a", "b"], "")
    assert reader.asked == [("2026-03-04", 9)] and reader.rested == 0


def test_print_feed__follow_goes_on_after_the_last_commit_printed() -> None:
    reader = Commits(["a", "b"], [], ["c"])
    assert printed(reader, follow=True) == (0, ["a", "b", "c"], "")
    assert reader.asked == [(None, None), ("1", None), ("2", None)]
    assert reader.rested == 3


def test_print_feed__follow_ends_at_the_limit() -> None:
    reader = Commits(["a", "b"], ["c", "d"], ["e"])
    assert printed(reader, follow=True, limit=3) == (0, ["a", "b", "c"], "")
    assert [limit for _, limit in reader.asked] == [3, 1]


def test_print_feed__spark_failed() -> None:
    assert printed(Commits(["a"], breaks_at=1)) == (1, [], "Spark is gone\n")


def test_print_feed__interrupted_without_follow() -> None:
    class Interrupted(Commits):
        def lines(self, page: Page) -> Iterator[str]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        printed(Interrupted([]))
    assert printed(Interrupted([]), follow=True)[0] == 0


def test_rest__can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    from tidemark.spark import session

    stopped: list[bool] = []
    monkeypatch.setattr(session, "holds_metastore", lambda: True)
    monkeypatch.setattr(session, "stop_session", lambda: stopped.append(True))
    before = signal.signal(signal.SIGINT, lambda *_: None)  # as PySpark leaves one
    try:
        reader = reading.FeedReader(FeedOptions("airports"), Console())
        reader.rest()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert stopped == [True]


def test_json_line__the_change_is_not_touched() -> None:
    change = '{"change":{"price":0.10000000000000000001,"n":1e400}}'
    line = json_line('{"id":1,"name":"Zürich"}', change)
    assert line == f'{{"id":1,"name":"Zürich","_change":{change}}}'
    assert json_line("{}", change) == f'{{"_change":{change}}}'
    assert json_line('{"id":1}', None) == '{"id":1}'


def test_local_folder(tmp_path: Path) -> None:
    assert local_folder(f"file:{tmp_path}") == tmp_path
    (tmp_path / "a b" / "_delta_log").mkdir(parents=True)
    assert local_folder(f"file:{tmp_path}/a%20b") == tmp_path / "a b" / "_delta_log"
    assert local_folder("hdfs://lake/table") is None


def test_parse_images() -> None:
    assert parse_images(None) is None
    assert parse_images("pre, change") == ["pre", "change"]
    for text in ("", "pre,old", ","):
        with pytest.raises(
            ConfigError, match=r"is not a list of images\. Write pre, post or change"
        ):
            parse_images(text)


class Heard:
    """Stands in for dbt and Spark, and keeps what was asked."""

    def __init__(self, error: str | None = None) -> None:
        self.asked: list[dict[str, Any]] = []
        self.error = error

    def __call__(self, operation: str, arguments: dict[str, Any], mark: str) -> list[Any]:
        self.asked.append(arguments)
        if self.error is not None:
            raise ConfigError(self.error)
        return [{"sql": "", "to": 7, "states": "s", "news_sql": "", "news": ""}]


def call(monkeypatch: pytest.MonkeyPatch, heard: Heard, *arguments: str) -> Any:
    monkeypatch.setenv("TIDEMARK_HOME", "/nowhere")
    for name in ("DBT_LOG_PATH", "DBT_TARGET_PATH"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setattr(Invoker, "parse", lambda self: True)
    monkeypatch.setattr(Invoker, "ask", lambda self, *a: heard(*a))
    monkeypatch.setattr(
        reading.FeedReader, "lines", lambda self, page: iter(['{"icao":"LSZH"}', '{"icao":"é"}'])
    )
    return CliRunner().invoke(cli, ["feed", *arguments])


def test_feed__what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    result = call(
        monkeypatch, heard, "airports", "--from", "2026-02-05", "--to", "260304093000123",
        "--images", "pre,post", "--net", "--where", "icao = 'LSZH'", "--limit", "2",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert [json.loads(line)["icao"] for line in result.stdout.splitlines()] == ["LSZH", "é"]
    assert heard.asked == [
        {
            "entity": "airports",
            "from": "2026-02-05",
            "to": "260304093000123",
            "images": ["pre", "post"],
            "net": True,
            "where": "icao = 'LSZH'",
            "limit": 2,
        }
    ]


def test_feed__defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    assert call(monkeypatch, heard, "airports").exit_code == 0
    assert heard.asked == [{"entity": "airports", "net": False}]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["airports", "--follow", "--to", "2026-02-05"],
            "--follow has no end and takes no --to. Leave --to out",
        ),
        (["airports", "--images", "all"], "is not a list of images. Write pre, post or change"),
        (["airports", "--vars", "x"], "--vars must be a YAML mapping"),
    ],
)
def test_feed__refused(monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str) -> None:
    heard = Heard()
    result = call(monkeypatch, heard, *arguments)
    assert isinstance(result.exception, ConfigError) and said in str(result.exception)
    assert heard.asked == []


def test_feed__what_the_operation_says_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    result = call(monkeypatch, Heard("there is no cdc or feed model named 'airport'"), "airport")
    assert str(result.exception) == "there is no cdc or feed model named 'airport'"
    assert result.stdout == ""
