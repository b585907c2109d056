"""Spark starts in the background while dbt parses; nothing of it stays where nobody needs it."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from filelock import FileLock

from dbt.adapters.tidemark import connections
from dbt.adapters.tidemark.connections import _will_run_sql
from tidemark.errors import JavaError, SparkStartError
from tidemark.home import Home
from tidemark.spark import launch, session
from tidemark.spark.class_archive import ClassArchive
from tidemark.spark.launch import Start, can_start_early


class Spark:
    """In place of a Spark that takes its time: it starts when it is told to, or is ended before."""

    def __init__(self) -> None:
        self.may_start = threading.Event()
        self.begun = threading.Event()
        self.launched: list[Any] = []
        self.refusal: Exception | None = None

    def launch(self, settings: Any, home: Any, start: Start) -> Any:
        self.begun.set()
        while not self.may_start.wait(0.01):
            if start.ended:
                raise SparkStartError("its JVM ended")
        if self.refusal is not None:
            raise self.refusal
        self.launched.append(MagicMock())
        return self.launched[-1]


class Conf(dict[str, str]):
    """The settings of a session."""

    @property
    def getAll(self) -> dict[str, str]:
        return dict(self)

    def isModifiable(self, key: str) -> bool:
        return key != "spark.driver.memory"

    set = dict.__setitem__
    unset = dict.__delitem__


@pytest.mark.parametrize(("ours", "partitions"), [(True, "16"), (False, "200")])
def test_reset_settings__to_the_profile_and_the_defaults_of_a_session_of_ours(
    ours: bool, partitions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the profile that the session was started with gave something else."""
    shared = session._Shared()
    conf = Conf({"spark.sql.shuffle.partitions": "200", "spark.driver.memory": "4g"})
    shared.session = MagicMock(conf=conf)
    shared.launched = MagicMock() if ours else None
    monkeypatch.setattr(session, "_shared", shared)
    session.reset_settings({"spark.sql.ansi.enabled": "false"})
    conf.update({"spark.sql.ansi.enabled": "true", "my.own": "1"})
    session.reset_settings({"spark.sql.ansi.enabled": "false"})
    assert conf["spark.sql.shuffle.partitions"] == partitions
    assert (conf["spark.sql.ansi.enabled"], conf["spark.driver.memory"]) == ("false", "4g")
    assert "my.own" not in conf


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Spark]:
    spark = Spark()
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path))
    monkeypatch.setattr(session, "_shared", session._Shared())
    monkeypatch.setattr(session.SparkSession, "_instantiatedSession", None)
    monkeypatch.setattr(session, "launch", spark.launch)
    monkeypatch.setattr(session, "can_start_early", lambda *_, **__: True)
    monkeypatch.setattr(session, "reset_settings", lambda _: None)
    yield spark
    session.abandon_start()
    session.stop_session()


def test_starts_before_it_is_asked_for__once_for_all_threads(spark: Spark) -> None:
    session.start_session({})
    assert spark.begun.wait(10)
    asked: list[Any] = []
    threads = [
        threading.Thread(target=lambda: asked.append(session.get_session({}))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    spark.may_start.set()
    for thread in threads:
        thread.join(10)
    assert [launched.session for launched in spark.launched] * 3 == asked
    # what a connection has asked for stays when its command ends, and is not started again
    session.abandon_start()
    session.start_session({})
    assert session.get_session({}) is asked[0]
    assert len(spark.launched) == 1
    assert not spark.launched[0].stop.called


def test_error__told_to_who_asks__once(spark: Spark) -> None:
    spark.refusal = JavaError("no Java")
    spark.may_start.set()
    session.start_session({})
    assert spark.begun.wait(10)
    with pytest.raises(JavaError, match="no Java"):
        session.get_session({})
    spark.refusal = None
    assert session.get_session({}) is spark.launched[0].session


def test_nobody_asks__ended_while_it_starts(spark: Spark) -> None:
    session.start_session({})
    assert spark.begun.wait(10)
    session.abandon_start()
    assert session.current_session() is None
    # and what became of it is not told to the next command
    spark.may_start.set()
    assert session.get_session({}) is spark.launched[0].session


@pytest.mark.parametrize("is_early", [True, False])
def test_interrupted__while_threads_of_dbt_wait(
    spark: Spark, monkeypatch: pytest.MonkeyPatch, is_early: bool
) -> None:
    """dbt waits for its threads before it ends, and these for Spark: Ctrl-C ends its start."""
    monkeypatch.setattr(session, "can_start_early", lambda *_, **__: is_early)
    told: list[str] = []

    def ask() -> None:
        with pytest.raises(SparkStartError) as raised:
            session.get_session({})
        told.append(str(raised.value))

    before = signal.getsignal(signal.SIGINT)
    with session.session_expected():
        session.start_session({})
        thread = threading.Thread(target=ask)
        thread.start()
        assert spark.begun.wait(10)
        while not (session._shared.start and session._shared.start.is_awaited):
            pass
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        thread.join(10)
        assert told == ["The start of Spark was interrupted. Run the command again"]
        # the shell goes on
        spark.may_start.set()
        assert session.get_session({}) is spark.launched[0].session
    assert signal.getsignal(signal.SIGINT) is before


def test_interrupted__a_start_that_nobody_waits_for_goes_on(spark: Spark) -> None:
    with session.session_expected():
        session.start_session({})
        assert spark.begun.wait(10)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.1)
        spark.may_start.set()
        assert session.get_session({}) is spark.launched[0].session


def test_nobody_asks__stopped_where_it_has_started(spark: Spark) -> None:
    spark.may_start.set()
    session.start_session({})
    while session.current_session() is None:
        pass
    session.abandon_start()
    assert session.current_session() is None
    assert spark.launched[0].stop.called


def test_expected__by_a_later_command_of_dbt(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    """`tidemark run` parses first: what that starts is there for its dates, and goes with it."""
    monkeypatch.setattr(connections, "set_working_directory", lambda _: None)
    monkeypatch.setattr(connections, "reset_settings", lambda _: None)
    profile: Any = SimpleNamespace(
        credentials=SimpleNamespace(has_session=True, server_side_parameters={}),
        project_root="/",
        args=SimpleNamespace(WHICH="parse"),
    )
    spark.may_start.set()

    def parse() -> None:
        manager = connections.TidemarkConnectionManager(profile, MagicMock())
        manager.cleanup_all()

    parse()
    assert not spark.begun.is_set()
    with session.session_expected():
        parse()
        assert spark.begun.wait(10)
        asked = session.get_session({})
        assert [launched.session for launched in spark.launched] == [asked]
    assert session.current_session() is asked
    # one that no date asked for is ended
    session.stop_session()
    with session.session_expected():
        parse()
        while session.current_session() is None:
            pass
    assert session.current_session() is None and spark.launched[1].stop.called


def test_expected__but_not_of_a_thrift_server(spark: Spark) -> None:
    profile: Any = SimpleNamespace(
        credentials=SimpleNamespace(has_session=False), args=SimpleNamespace(WHICH="run")
    )
    spark.may_start.set()
    with session.session_expected():
        connections.TidemarkConnectionManager(profile, MagicMock()).cleanup_all()
        assert not spark.begun.is_set() and not spark.launched


def test_what_must_be_told_is_left_to_who_asks(
    spark: Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "can_start_early", lambda *_, **__: False)
    spark.may_start.set()
    session.start_session({})
    with session._shared.lock:
        pass
    assert not spark.launched
    assert session.get_session({}) is spark.launched[0].session


def test_end__before_there_is_a_process_and_after() -> None:
    start = Start()
    process = start.popen(["sleep", "60"])
    start.end()
    assert process.wait(10) != 0
    early = Start()
    early.end()
    with pytest.raises(SparkStartError):
        early.popen(["sleep", "60"], stdout=subprocess.DEVNULL)


@pytest.mark.parametrize(
    ("flags", "starts"),
    [
        ({"WHICH": "run"}, True),
        ({"WHICH": "build"}, True),
        ({"WHICH": "run-operation"}, True),
        ({"WHICH": "compile", "INTROSPECT": True}, True),
        ({"WHICH": "compile", "INTROSPECT": False}, False),
        ({"WHICH": "parse"}, False),
        ({"WHICH": "list"}, False),
        ({"WHICH": "debug"}, False),
        ({}, False),
    ],
)
def test_commands(flags: dict[str, Any], starts: bool) -> None:
    assert _will_run_sql(SimpleNamespace(**flags)) is starts


def test_can_start_early__only_without_a_word(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIDEMARK_CLASS_ARCHIVE", "off")
    home = Home(tmp_path).create()
    settings = {"spark.jars.ivy": str(tmp_path)}
    assert not can_start_early(settings, home)  # Delta is not there yet
    assert can_start_early(settings, home, may_report=True)
    settings["spark.jars"] = "/jars/delta-spark_4.1_2.13-4.4.0.jar"
    assert can_start_early(settings, home)
    assert not can_start_early({**settings, "spark.jars.packages": "a:b:1"}, home)
    with FileLock(home.metastore_lock):
        assert not can_start_early(settings, home, may_report=True)
        assert can_start_early({**settings, "hive.metastore.uris": "thrift://x:9083"}, home)
    monkeypatch.setattr(
        launch, "find_archive", lambda _: ClassArchive(tmp_path / "a.jsa", tmp_path / "a.tmp")
    )
    assert not can_start_early(settings, home, may_report=True)
    # only a JVM that does all of the work has an archive
    assert can_start_early({**settings, "spark.master": "spark://x:7077"}, home)


def test_traces_of_py4j_stay_off_the_console(caplog: pytest.LogCaptureFixture) -> None:
    """Where the JVM is gone, Py4J's clean-up tells the root logger, after the message for the user."""
    launch.quietly()
    for path, text in (("/lib/py4j/java_gateway.py", "py4j's"), ("/lib/other/a.py", "another's")):
        exec(compile(f'import logging\nlogging.error("{text}")', path, "exec"))
    assert [record.message for record in caplog.records] == ["another's"]
