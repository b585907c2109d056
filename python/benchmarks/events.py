"""How long a batch of change events takes, as a ratio to reading and writing the same lines once.

    python python/benchmarks/events.py 1000000

prints the seconds of a first batch (inserts), of a second one (updates, deletes, moves) of the same size, of the floor,
and the ratios. Everything is in a temporary folder. The floor reads the lines, parses them into columns and writes them
as Parquet.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
MODEL = """
version: 2
models:
  - name: orders
    config:
      materialized: cdc
      unique_key: id
      meta:
        tidemark: {extract: events, format: canonical, location: LANDING, table: shop.orders}
    columns:
      - {name: id, data_type: bigint}
      - {name: customer, data_type: string}
      - {name: amount, data_type: "decimal(12,2)"}
      - {name: state, data_type: string}
      - {name: updated, data_type: timestamp}
"""


def events(count: int, first: int, seed: int) -> Iterator[str]:
    """Lines of canonical events: inserts first; with `first` > 0 updates, deletes and moves of what there is."""
    rng = random.Random(seed)
    for number in range(count):
        key = number if not first else rng.randrange(count)
        row = {
            "id": key,
            "customer": f"c{rng.randrange(1000)}",
            "amount": f"{rng.randrange(10**6) / 100:.2f}",
            "state": rng.choice(["new", "paid", "sent"]),
            "updated": "2026-03-04T08:00:00Z",
        }
        event = {"_database": "shop", "_table": "orders", "_sequence_num": first + number}
        fate = rng.random() if first else 0
        if fate < 0.8:
            event |= {"_operation": "UPDATE" if first else "INSERT", **row}
        elif fate < 0.99:
            event |= {"_operation": "DELETE", "_before_id": key}
        else:
            event |= {"_operation": "UPDATE", "_before_id": key, **row, "id": count + number}
        yield json.dumps(event)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        os.environ["TIDEMARK_HOME"] = str(root / "home")
        (root / "models").mkdir()
        (root / "landing").mkdir()
        (root / "dbt_packages").mkdir()
        (root / "dbt_packages" / "tidemark").symlink_to(REPO)
        profile = (REPO / "profiles" / "profiles.yml").read_text()
        (root / "profiles.yml").write_text(profile.replace("\ntidemark:", "\nbench:"))
        (root / "dbt_project.yml").write_text(
            textwrap.dedent(
                """
                name: bench
                version: 1.0.0
                profile: bench
                flags: {send_anonymous_usage_stats: false}
                models: {tidemark: {+enabled: false}}
                data_tests: {tidemark: {+enabled: false}}
                """
            )
        )
        (root / "models" / "orders.sql").write_text("{{ tidemark.extract() }}")
        (root / "models" / "orders.yml").write_text(MODEL.replace("LANDING", f"{root}/landing"))
        from dbt.cli.main import dbtRunner

        from dbt.adapters.tidemark.session import current_session

        seconds = []
        for batch in range(2):
            lines = events(count, batch * count, batch)
            (root / "landing" / f"{batch}.jsonl").write_text("\n".join(lines) + "\n")
            started = time.monotonic()
            result = dbtRunner().invoke(
                ["--quiet", "run", "--project-dir", folder, "--profiles-dir", folder]
            )
            if not result.success:
                sys.exit("the run failed")
            seconds.append(time.monotonic() - started)
        session = current_session()
        started = time.monotonic()
        session.read.text(f"{root}/landing/1.jsonl").selectExpr(
            "from_json(value, 'id bigint, customer string, amount decimal(12,2), state string, updated timestamp, "
            "_operation string, _before_id bigint, _sequence_num bigint') as e"
        ).select("e.*").write.parquet(f"{root}/floor")
        floor = time.monotonic() - started
        print(f"{count:,} events a batch")
        print(f"floor          {floor:8.1f} s")
        for name, value in zip(("first batch", "second batch"), seconds, strict=True):
            print(f"{name:<14} {value:8.1f} s  {value / floor:6.1f} x floor")


if __name__ == "__main__":
    main()
