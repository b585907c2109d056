"""Debezium's embedded engine, run within this process."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tidemark.capture.jvm import java_message, start_jvm

# takes topic, key, value and the record itself
Take = Callable[[str, str | None, str | None, Any], None]

_LOGGING = """\
log4j.rootLogger=WARN, file
log4j.logger.io.debezium=INFO
log4j.appender.file=org.apache.log4j.RollingFileAppender
log4j.appender.file.File={log}
log4j.appender.file.MaxFileSize=10MB
log4j.appender.file.MaxBackupIndex=3
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=%d{{ISO8601}} %-5p %c{{1}} %m%n
"""


def start_java(jars: list[Path], log: Path, memory: str = "512m") -> None:
    """Start Java with the connectors; it logs to a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    settings = log.with_suffix(".log4j.properties")
    settings.write_text(_LOGGING.format(log=log), encoding="utf-8")
    jpype = start_jvm(
        jars,
        [f"-Xmx{memory}", f"-Dlog4j.configuration=file:{settings}", "-Duser.timezone=UTC"],
    )
    # some drivers talk on stderr by Java's own logging
    jpype.java.util.logging.LogManager.getLogManager().reset()


class Engine:
    """One run of the embedded engine. It cannot be run again: make another one.

    Args:
        properties: Debezium's properties.
        on_batch: Is called with the records of a batch, in a thread of the engine's.
    """

    def __init__(
        self, properties: Mapping[str, str], on_batch: Callable[[Any, Committer], None]
    ) -> None:
        self._properties = properties
        self._on_batch = on_batch
        self._engine: Any = None
        self._thread: threading.Thread | None = None
        self.error: BaseException | None = None
        self.reason: str | None = None
        """Why it stopped; None while it runs, and if it was asked to."""

    def start(self) -> None:
        """Start it; it runs in threads of its own."""
        import jpype

        api = "io.debezium.engine.DebeziumEngine"
        engine = self

        @jpype.JImplements(f"{api}$ChangeConsumer")
        class Consumer:
            @jpype.JOverride
            def handleBatch(self, records: Any, committer: Any) -> None:
                try:
                    engine._on_batch(records, Committer(committer))
                except BaseException as error:
                    engine.error = engine.error or error
                    raise

        @jpype.JImplements(f"{api}$CompletionCallback")
        class Completion:
            @jpype.JOverride
            def handle(self, success: bool, message: Any, error: Any) -> None:
                if not success:
                    engine.reason = java_message(error) if error is not None else str(message)

        properties = jpype.java.util.Properties()
        for name, value in self._properties.items():
            properties.setProperty(name, value)
        formats = jpype.JClass("io.debezium.engine.format.Json")
        self._engine = (
            jpype.JClass(api)
            .create(formats.class_)
            .using(properties)
            .using(jpype.JObject(Completion(), jpype.JClass(f"{api}$CompletionCallback")))
            .notifying(jpype.JObject(Consumer(), jpype.JClass(f"{api}$ChangeConsumer")))
            .build()
        )
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._engine.run()
        except BaseException as error:
            self.reason = self.reason or java_message(error)

    @property
    def is_running(self) -> bool:
        """Whether it has not stopped yet."""
        return self._thread is not None and self._thread.is_alive()

    def close(self, seconds: float = 60.0) -> bool:
        """Stop it and wait; return whether it has stopped."""
        until = time.monotonic() + seconds
        while self._thread is not None and self.is_running and time.monotonic() < until:
            # it refuses while its tasks start, and when it is stopping by itself
            with contextlib.suppress(Exception):
                self._engine.close()
            self._thread.join(0.5)
        return not self.is_running


class Committer:
    """Tells the engine that records are processed."""

    def __init__(self, committer: Any) -> None:
        self._committer = committer

    def acknowledge(self, record: Any) -> None:
        """All up to this record is processed."""
        self._committer.markProcessed(record)
        self._committer.markBatchFinished()
