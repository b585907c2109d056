"""A throw-away PostgreSQL, a load on it, and a copy that follows: `make run-replicator`."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from tests.servers import PostgresServer, postgres_server  # noqa: E402

SECONDS = int(os.environ.get("TIDEMARK_EXAMPLE_SECONDS", "40"))
TABLES = """
create table customers (id int primary key, name text, city text);
create table orders (id bigint generated always as identity primary key, customer int, amount numeric(10,2), state text);
insert into customers select i, 'customer ' || i, 'Bern' from generate_series(1, 200) i;
"""
STATEMENTS = {
    "INSERT": "insert into orders (customer, amount, state) select 1 + i % 200, i * 1.5, 'new' from generate_series(1, {n}) i",
    "UPDATE": "update orders set state = 'paid' where id in (select id from orders where state = 'new' limit {n})",
    "MOVE": "update customers set city = 'Basel' where id = {n}",
    "DELETE": "delete from orders where id in (select id from orders where state = 'paid' limit {few})",
}


def make_project(folder: Path) -> None:
    """A dbt project that has Tidemark installed, as `dbt deps` installs it from a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "models").mkdir(parents=True)
    (folder / "dbt_project.yml").write_text(
        "name: mirror\nversion: 1.0.0\nprofile: mirror\nmodels: {mirror: {+file_format: delta}}\n"
    )
    profiles = (ROOT / "profiles" / "profiles.yml").read_text(encoding="utf-8")
    (folder / "profiles.yml").write_text(re.sub(r"(?m)^tidemark:", "mirror:", profiles))
    (folder / "dbt_packages").mkdir()
    (folder / "dbt_packages" / "tidemark").symlink_to(ROOT, target_is_directory=True)


class Example:
    """The project, its environment and the server."""

    def __init__(self, folder: Path, server: PostgresServer) -> None:
        self.folder = folder
        self.server = server
        self.environment = {
            **os.environ,
            "TIDEMARK_HOME": str(folder / "home"),
            "SHOP_PASSWORD": "none is asked for",
        }
        self.changes: Counter[str] = Counter()

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "tidemark.cli", *arguments]

    def call(self, *arguments: str, show: bool = True) -> str:
        """Run a command of ours as a user does."""
        if show:
            print(f"\n$ tidemark {' '.join(arguments)}", flush=True)
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment,
            text=True,
            check=False,
            stdout=None if show else subprocess.PIPE,
        )
        if done.returncode != 0:
            sys.exit(f"tidemark {arguments[0]} ended with {done.returncode}")
        return done.stdout or ""

    def tables(self) -> list[dict[str, Any]]:
        status = json.loads(self.call("replicator", "status", "shop", "--json", show=False))
        tables: list[dict[str, Any]] = status["tables"]
        return tables

    def load(self, stop: threading.Event) -> None:
        """Change rows until told to stop."""
        rng = random.Random(20260304)
        while not stop.wait(0.2):
            kind = rng.choice(list(STATEMENTS))
            n = rng.randrange(1, 200)
            self.server.sql(STATEMENTS[kind].format(n=n, few=n // 4))
            self.changes[kind] += 1

    def follow(self, process: subprocess.Popen[bytes]) -> None:
        """Show the copy following the load, then let it catch up."""
        stop = threading.Event()
        load = threading.Thread(target=self.load, args=(stop,), daemon=True)
        while not any(sum(table["events"].values()) for table in self.tables()):
            if process.poll() is not None:
                sys.exit("the replicator ended: see the lines above")
            time.sleep(1)
        load.start()
        began = time.monotonic()
        while time.monotonic() - began < SECONDS:
            time.sleep(4)
            self.show()
        stop.set()
        load.join()
        print(f"the load ends: {sum(self.changes.values())} statements", flush=True)
        while any(table["lag_events"] for table in self.tables()):
            time.sleep(2)
            self.show()

    def show(self) -> None:
        parts = [
            f"{table['table']} {sum(table['events'].values()):,} applied, {table['lag_events']:,} wait"
            + (f", {table['lag_seconds']:.0f} s behind" if table["lag_seconds"] is not None else "")
            for table in self.tables()
        ]
        print(f"  {time.strftime('%H:%M:%S')}  {'; '.join(parts)}", flush=True)


def main() -> None:
    """Run the example."""
    home = Path(os.environ.get("TIDEMARK_HOME") or ".tidemark").absolute()
    folder = home / "replicator-example"
    print("starting a PostgreSQL server of its own …", flush=True)
    with postgres_server() as server:
        make_project(folder)
        server.sql(TABLES)
        example = Example(folder, server)
        example.call("connectors", "install")
        connection = ["--port", str(server.port), "--database", "shop", "--user", "postgres"]
        source = ["--connector", "postgresql", *connection, "--include", "public.*"]
        example.call("replicator", "create", "shop", *source)
        example.call("replicator", "validate", "shop")
        print("\n$ tidemark replicator start shop", flush=True)
        process = subprocess.Popen(
            example.command("replicator", "start", "shop"), cwd=folder, env=example.environment
        )
        try:
            example.follow(process)
        finally:
            process.terminate()
            process.wait()
        # what came in the last moments
        example.call("replicator", "run-once", "shop")
        example.call("replicator", "reconcile", "shop")
        example.call("replicator", "delete", "shop", "--yes")
    print(f"\nThe copies and their history are in {folder / 'home' / 'warehouse'}.")


if __name__ == "__main__":
    main()
