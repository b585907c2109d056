"""Workload (t): small batches of change events onto a large table, one after the other, beside a MERGE of them."""

from __future__ import annotations

import random
from pathlib import Path
from statistics import median

import duckdb
from change_events import FORMATS, Change, fingerprint, merge_latest, model, names
from harness import Bench, Result, Timing, opened, progress

PARTS = 5
FEW, MANY = 10, 1_000
BATCHES = 100
UNCHECKED = "spark.databricks.delta.retentionDurationCheck.enabled"
MERGED = 3
"""Batches of each size that are merged by hand."""


def write_inserts(folder: Path, part: int, rows: int) -> None:
    """An insert of each key of a part, as canonical events."""
    first, last = (end * rows // PARTS for end in (part, part + 1))
    folder.mkdir(parents=True, exist_ok=True)
    duckdb.sql(
        f"""copy (
            select 'INSERT' as _operation, 'shop' as _database, 'orders' as _table, i + 1 as _sequence_num, i as id,
                'c' || i % 1000 as customer, printf('%d.%02d', i % 10000, i % 100) as amount,
                ['new', 'paid', 'sent'][1 + i % 3] as state, '2026-03-04T08:00:00Z' as updated
            from range({first}, {last}) as keys(i)
        ) to '{folder}/{part:04d}.jsonl' (format json)"""
    )


def write_updates(rng: random.Random, paths: dict[str, Path], number: int, rows: int) -> None:
    """Updates of so many keys, `number` that of the first event, in both forms."""
    count = FEW if paths["canonical"].name.startswith("few") else MANY
    made = [
        Change(number + place, "UPDATE", None, {
            "id": key, "customer": f"c{rng.randrange(1000)}", "amount": f"{rng.randrange(10**6) / 100:.2f}",
            "state": rng.choice(["new", "paid", "sent"]), "updated": "2026-03-04T08:00:00Z",
        })
        for place, key in enumerate(rng.sample(range(rows), count))
    ]  # fmt: skip
    for form, path in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(map(FORMATS[form], made)) + "\n")


def merge(bench: Bench, path: Path) -> Timing:
    """A batch by MERGE of the last change of each key: current only."""
    return bench.time(lambda: merge_latest(bench.session.read.text(str(path)), 0))


def workload_t(rounds: int, scale: float) -> Result:
    """Ten million keys; each round has a hundred batches of a thousand changes, and ten of ten."""
    rows = int(10_000_000 * scale)
    what = (
        f"Onto {rows:,} rows of current and of history {BATCHES} batches of {MANY:,} changed keys, and {BATCHES // 10} of {FEW}, "
        "one after the other: canonical events in files. The rows were inserted by five batches before."
    )
    result = Result("(t) small batches onto a large table", what, "many")
    series = {
        "many": result.add("many", f"Tidemark: a batch of {MANY:,}: current, history and feed", MANY),
        "merged many": result.add("merged many", "MERGE of the same in Spark SQL: current only", MANY),
        "few": result.add("few", f"Tidemark: a batch of {FEW}", FEW, False),
        "merged few": result.add("merged few", "MERGE of the same: current only", FEW, False),
    }  # fmt: skip
    with opened(Bench({})) as bench:
        for path, text in model("orders", bench.landing / "orders", "canonical").items():
            bench.write(path, text)
        for number in range(rounds):
            bench.drop()
            rng = random.Random(number)
            for part in range(PARTS):
                write_inserts(bench.landing / "orders", part, rows)
                inserted = bench.run("2026-03-04", "--select", "orders")
                progress(f"round {number + 1}: {rows // PARTS:,} inserts {inserted.seconds:.1f} s")
            bench.session.sql("create database peers")
            sizes = ["few"] * (BATCHES // 10) + ["many"] * BATCHES
            for place, size in enumerate(sizes):
                name = f"{size}-{place:04d}.jsonl"
                paths = {
                    "canonical": bench.landing / name,
                    "debezium": bench.root / "merged" / name,
                }
                write_updates(rng, paths, rows + 1 + place * MANY, rows)
                if sizes.index(size) == place:
                    peer = f"select {', '.join(names())} from tidemark.orders"
                    bench.session.sql(f"create or replace table peers.orders using delta as {peer}")
                paths["canonical"].rename(bench.landing / "orders" / f"1{place:03d}.jsonl")
                series[size].rounds.append(bench.run("2026-03-04", "--select", "orders"))
                merged = series[f"merged {size}"].rounds
                if sum(one == size for one in sizes[:place]) < MERGED:
                    merged.append(merge(bench, paths["debezium"]))
                    tables = ("tidemark.orders", "peers.orders")
                    if len({fingerprint(bench, table) for table in tables}) > 1:
                        raise SystemExit("the tables differ")
                if place % 10 == 9:
                    # each batch writes current again, of which a hundred fill a disk
                    bench.session.conf.set(UNCHECKED, "false")
                    bench.session.sql("vacuum tidemark.orders retain 0 hours")
                    progress(f"round {number + 1}, batch {place + 1}: {series[size].rounds[-1].seconds:.1f} s")  # fmt: skip
        seconds = [one.seconds for one in series["many"].rounds[-BATCHES:]]
        result.notes.append(
            f"In the last round the first ten batches of {MANY:,} took {median(seconds[:10]):.1f} s in the median, "
            f"the last ten {median(seconds[-10:]):.1f} s; the JVM held at most {bench.peak_memory():.1f} GiB."
        )
    return result
