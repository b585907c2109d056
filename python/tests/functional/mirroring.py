"""Running `tidemark replicator`, in this process or as one of its own, and reading the copies that it made."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.servers import QUICK_JAVA

Row = tuple[Any, ...]


def call_here(root: Path, *arguments: str, code: int = 0) -> str:
    """Run a command of `tidemark replicator` in this process; return what it printed.

    It uses the Spark session of the tests. The environment must name its home and schema.
    """
    from tidemark.cli import main

    out, talk = io.StringIO(), io.StringIO()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(talk),
            pytest.raises(SystemExit) as ended,
        ):
            main(["replicator", *arguments, "--project-dir", str(root)])
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert (ended.value.code or 0) == code, out.getvalue() + talk.getvalue()
    return out.getvalue() + talk.getvalue() if "--json" not in arguments else out.getvalue()


class Mirroring:
    """A dbt project that mirrors one source, with a home of its own."""

    schema = "mirror"

    def __init__(self, project: Any, home: Path, replicator: dict[str, Any]) -> None:
        self.project = project
        self.root = Path(project.root)
        self.home = home
        self.process: subprocess.Popen[bytes] | None = None
        self.configure(**replicator)

    def configure(self, **replicator: Any) -> None:
        """Write the source's YAML."""
        meta = {"tidemark": {"replicator": replicator}}
        content = {"version": 2, "sources": [{"name": "shop", "config": {"meta": meta}}]}
        path = self.root / "models" / "shop" / "_shop__source.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(content))

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            **QUICK_JAVA,
            "TIDEMARK_HOME": str(self.home),
            "TIDEMARK_SCHEMA": self.schema,
            "SHOP_PASSWORD": "secret",
        }

    # --- commands

    def call(self, *arguments: str, code: int = 0) -> str:
        """`tidemark replicator …`, until it ends."""
        done = subprocess.run(
            [sys.executable, "-m", "tidemark.cli", "replicator", *arguments],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, f"{done.stdout}{done.stderr}\n{self.logs()}"
        return done.stdout + done.stderr

    def run_once(self, code: int = 0) -> str:
        return self.call("run-once", "shop", "--target", "ci", code=code)

    def start(self) -> None:
        """`tidemark replicator start`, not waited for, in a process group of its own."""
        with (self.home / "output").open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tidemark.cli", "replicator", "start", "shop", "-t", "ci"],
                cwd=self.root,
                env=self.environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kill -9: the process, its capture and its JVMs."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process = None

    def kill_capture(self) -> None:
        """Kill -9 the process that captures alone."""
        pid = json.loads((self.landing / "_state" / "status.json").read_text())["pid"]
        if pid is not None:
            os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(180) == 0, self.logs()
            self.process = None

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()

    # --- what is known

    @property
    def landing(self) -> Path:
        return self.home / "landing" / "shop"

    def tables(self) -> dict[str, dict[str, Any]]:
        """What `status` says, by table: asked in this process, as tests ask often."""
        from tidemark.capture.config import CaptureConfig
        from tidemark.capture.project import replicator_settings
        from tidemark.home import Home
        from tidemark.replicator.operated import Operated
        from tidemark.replicator.settings import Operation

        config = CaptureConfig.from_dict("shop", replicator_settings(self.root, "shop"))
        operated = Operated(self.root, config, Operation.of(config), Home(self.home), self.landing)
        return {one["table"]: one for one in asdict(operated.status())["tables"]}

    def wait_for(
        self, condition: Callable[[dict[str, dict[str, Any]]], bool], seconds: float = 240
    ) -> None:
        """Wait until something holds of the tables."""
        until = time.monotonic() + seconds
        while not condition(self.tables()):
            assert time.monotonic() < until, f"{self.call('status', 'shop')}\n{self.logs()}"
            assert self.process is None or self.process.poll() is None, self.logs()
            time.sleep(1)

    def logs(self) -> str:
        output = self.home / "output"
        texts = [output.read_text()] if output.exists() else []
        texts += [
            path.read_text(errors="replace")[-3000:]
            for path in sorted((self.home / "logs").glob("*.log"))
        ]
        return "\n".join(texts)

    # --- the copies

    @property
    def warehouse(self) -> Path:
        return self.home / "warehouse" / f"{self.schema}.db"

    def frame(self, name: str) -> Any:
        """A table of the mirror, read from its files."""
        return self.project.session.read.format("delta").load(str(self.warehouse / name))

    def copy(self, name: str, *columns: str) -> Counter[Row]:
        """The rows of a table of the mirror, as text."""
        frame = self.frame(name).selectExpr(*(f"cast({column} as string)" for column in columns))
        return Counter(tuple(row) for row in frame.collect())

    def logged(self, name: str) -> Counter[str]:
        """How many events of each kind the log has, each counted once."""
        rows = (
            self.frame(f"{name}__log")
            .where("_superseded_by is null and _operation <> 'T'")
            .select("_event_id", "_source_operation", "_key_hash")
            .collect()
        )
        assert len(rows) == len(set(rows)), "an event stands in the log twice"
        return Counter(row["_source_operation"] for row in rows)


class MirroringHere(Mirroring):
    """One that lives in this process, in the home of all tests: no command starts Spark anew."""

    def __init__(self, project: Any, replicator: dict[str, Any]) -> None:
        self.schema = project.schema
        super().__init__(project, project.home, {**replicator, "location": "landing"})

    @property
    def landing(self) -> Path:
        return self.root / "landing"

    def call(self, *arguments: str, code: int = 0) -> str:
        with pytest.MonkeyPatch.context() as patch:
            # what a command would set for good
            patch.setenv("DBT_LOG_PATH", str(self.root / "logs"))
            patch.setenv("DBT_TARGET_PATH", str(self.root / "target"))
            for name in (*QUICK_JAVA, "TIDEMARK_HOME", "TIDEMARK_SCHEMA", "SHOP_PASSWORD"):
                patch.setenv(name, self.environment[name])
            return call_here(self.root, *arguments, code=code)
