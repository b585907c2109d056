"""Running `tidemark replicator` as a process of its own, and reading the copies that it made."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

Row = tuple[Any, ...]


class Mirroring:
    """A dbt project that mirrors one source, with a home of its own."""

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
            "TIDEMARK_HOME": str(self.home),
            "TIDEMARK_SCHEMA": "mirror",
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

    def status(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.call("status", "shop", "--json"))
        return content

    def tables(self) -> dict[str, dict[str, Any]]:
        """What `status` says, by table."""
        return {one["table"]: one for one in self.status()["tables"]}

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

    def frame(self, name: str) -> Any:
        """A table of the mirror, read from its files."""
        path = self.home / "warehouse" / "mirror.db" / name
        return self.project.session.read.format("delta").load(str(path))

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
