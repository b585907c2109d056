"""Workload (e): a batch of change events as landed JSON lines, against a floor, a MERGE in foreachBatch and AUTO CDC."""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import auto_cdc
import by_hand
from harness import Bench, Result, Timing, columns_yaml, opened, progress

HOT_KEYS, HOT_EVENTS = 0.2, 0.8
EVENTS_OF_A_KEY = 5
LINES_OF_A_FILE = 100_000
BATCHES = 6
ROW = "id bigint, customer string, amount decimal(12,2), state string, updated timestamp"
ENVELOPE = f"before struct<id: bigint>, after struct<{ROW}>, source struct<lsn: bigint>, op string"
YAML = """
version: 2
models:
  - name: {name}
    config:
      materialized: cdc
      unique_key: id
      meta:
        tidemark: {{extract: events, format: {format}, location: "{landing}", table: orders}}
    columns:
{columns}
"""


@dataclass(frozen=True)
class Change:
    """What the source did: `before` is the key of a row that goes or moves, `after` the row as it is then."""

    number: int
    operation: str
    before: int | None
    after: dict[str, Any] | None


def changes(keys: int, seed: int) -> Iterator[Change]:
    """An insert of each key, then changes without end.

    Four fifths of them are of the first fifth of the keys. For a row that was deleted there comes a new one. One in a
    hundred changes moves a row to a new key.
    """
    rng = random.Random(seed)
    ids: list[int | None] = list(range(keys))

    def row(key: int) -> dict[str, Any]:
        return {
            "id": key,
            "customer": f"c{rng.randrange(1000)}",
            "amount": f"{rng.randrange(10**6) / 100:.2f}",
            "state": rng.choice(["new", "paid", "sent"]),
            "updated": "2026-03-04T08:00:00Z",
        }

    for key in range(keys):
        yield Change(key + 1, "INSERT", None, row(key))
    number, hot = keys, max(1, round(keys * HOT_KEYS))
    while True:
        number += 1
        place = rng.randrange(hot) if rng.random() < HOT_EVENTS else rng.randrange(hot, keys)
        key, fresh, fate = ids[place], place + keys * number, rng.random()
        if key is None:
            ids[place] = fresh
            yield Change(number, "INSERT", None, row(fresh))
        elif fate < 0.94:
            yield Change(number, "UPDATE", None, row(key))
        elif fate < 0.99:
            ids[place] = None
            yield Change(number, "DELETE", key, None)
        else:
            ids[place] = fresh
            yield Change(number, "UPDATE", key, row(fresh))


def debezium(change: Change) -> str:
    """A change as Debezium captures it of PostgreSQL, without schema."""
    source = {"connector": "postgresql", "name": "pg", "db": "shop", "schema": "public", "table": "orders",
              "snapshot": "false", "ts_ms": 1772611200000 + change.number, "txId": change.number, "lsn": change.number}  # fmt: skip
    return json.dumps(
        {
            "before": None if change.before is None else {"id": change.before},
            "after": change.after,
            "source": source,
            "op": {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}[change.operation],
            "ts_ms": 1772611201000 + change.number,
        }
    )


def canonical(change: Change) -> str:
    """The same as an event in columns of our own."""
    event = {"_database": "shop", "_table": "orders", "_sequence_num": change.number}
    if change.before is not None:
        event["_before_id"] = change.before
    return json.dumps({**event, "_operation": change.operation, **(change.after or {})})


FORMATS = {"debezium": debezium, "canonical": canonical}


def write_batch(
    folder: Path, batch: int, of: Iterable[Change], formats: Iterable[str] = FORMATS
) -> None:
    """Write a batch in files `<format>/<batch>/<number>.jsonl`."""
    of = iter(of)
    number = 0
    while part := list(islice(of, LINES_OF_A_FILE)):
        number += 1
        for name in formats:
            path = folder / name / str(batch) / f"{batch:02d}-{number:04d}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = map(FORMATS[name], part)
            path.write_text("\n".join(lines) + "\n")


def land(folder: Path, batch: int, landing: Path) -> None:
    """Let a batch arrive."""
    landing.mkdir(parents=True, exist_ok=True)
    for path in (folder / str(batch)).iterdir():
        (landing / path.name).hardlink_to(path)


def model(name: str, landing: Path, form: str) -> dict[str, str]:
    """Files of an entity of these events."""
    text = YAML.format(name=name, format=form, landing=landing, columns=columns_yaml(ROW))
    return {f"models/{name}.sql": "{{ tidemark.extract() }}", f"models/{name}.yml": text}


def floor(bench: Bench, files: Path) -> Timing:
    """Parse the lines of a batch into columns and write them as a Delta table."""
    return bench.time(
        lambda: (
            bench.session.read.text(str(files))
            .selectExpr(f"from_json(value, '{ENVELOPE}') as event")
            .selectExpr("event.op", "event.source.lsn", "event.before.id as before_id", "event.after.*")
            .write.format("delta")
            .mode("overwrite")
            .saveAsTable("peers.floor")
        )
    )  # fmt: skip


def merge_latest(lines: Any, _: int) -> None:
    """Bring the last change of each key of a micro-batch to the table: what one writes into foreachBatch."""
    lines.createOrReplaceTempView("landed")
    lines.sparkSession.sql(
        f"""
        merge into peers.orders as target using (
            select changed.* from (
                select max_by(change, change.lsn) as changed from (
                    select explode(array_compact(array(
                        if(before.id is not null and not before.id <=> after.id,
                            struct(before.id as key, true as is_gone, source.lsn as lsn, cast(null as struct<{ROW}>) as row), null),
                        if(after.id is not null, struct(after.id as key, false as is_gone, source.lsn as lsn, after as row), null)
                    ))) as change from (select event.* from (select from_json(value, '{ENVELOPE}') as event from landed))
                ) group by change.key
            )
        ) as source on target.id = source.key
        when matched and source.is_gone then delete
        when matched then update set {", ".join(f"{name} = source.row.{name}" for name in names())}
        when not matched and not source.is_gone
            then insert ({", ".join(names())}) values ({", ".join(f"source.row.{name}" for name in names())})
        """
    )


def names() -> list[str]:
    """The columns of a row."""
    return [column.split(" ")[0] for column in ROW.split(", ")]


def for_each_batch(bench: Bench, landing: Path) -> Timing:
    """Stream what has landed since the last call into a table of current rows, without history."""
    session = bench.session
    session.sql(f"create table if not exists peers.orders ({ROW}) using delta")
    checkpoint = str(bench.root / "checkpoint")

    def work() -> None:
        lines = session.readStream.text(str(landing)).writeStream.foreachBatch(merge_latest)
        started = lines.trigger(availableNow=True).option("checkpointLocation", checkpoint).start()
        started.awaitTermination()

    return bench.time(work)


def hand(bench: Bench, files: Path) -> Timing:
    """Current and history with changed columns, by hand."""
    by_hand.event_tables(bench.session, ROW)
    return bench.time(lambda: by_hand.load_events(bench.session, str(files), ROW, ENVELOPE))


def fingerprint(bench: Bench, table: str) -> Any:
    """What is in a table of current rows, to see that all came to the same."""
    rows = bench.session.sql(
        f"select count(*), bit_xor(xxhash64({', '.join(names())})) from {table}"
    )
    return rows.collect()[0]


def big_batch(bench: Bench, made: Path, series: dict[str, Any]) -> None:
    """One round of the large batch: the inserts, then what is timed."""
    shutil.rmtree(bench.root / "checkpoint", ignore_errors=True)
    ways = {
        "debezium": lambda: bench.run("2026-03-04", "--select", "orders_debezium"),
        "canonical": lambda: bench.run("2026-03-04", "--select", "orders_canonical"),
        "foreach": lambda: for_each_batch(bench, bench.landing / "debezium"),
    }
    for batch in (1, 2):
        for form in FORMATS:
            land(made / form, batch, bench.landing / form)
        for name, way in ways.items():
            timing = way()
            (series[name] if batch == 2 else series[f"{name} inserts"]).rounds.append(timing)
        timing = hand(bench, made / "debezium" / str(batch))
        if batch == 2:
            series["hand"].rounds.append(timing)
    series["floor"].rounds.append(floor(bench, made / "debezium" / "2"))
    tables = (
        "peers.orders",
        "peers.hand_orders",
        "tidemark.orders_debezium",
        "tidemark.orders_canonical",
    )
    found = {table: fingerprint(bench, table) for table in tables}
    if len(set(found.values())) > 1:
        sys.exit(f"the tables differ: {found}")


def growing_history(bench: Bench, made: Path, series: dict[str, Any]) -> None:
    """One round of the small batches, each of which finds a longer history."""
    for batch in range(1, BATCHES + 1):
        land(made / "debezium", batch, bench.landing / "small")
        timing = bench.run("2026-03-04", "--select", "orders_small")
        if f"batch {batch}" in series:
            series[f"batch {batch}"].rounds.append(timing)


def workload_e(rounds: int, scale: float) -> Result:
    """A million change events."""
    count = int(1_000_000 * scale)
    keys, few = count // EVENTS_OF_A_KEY, count // 10
    what = (
        f"{keys:,} keys are inserted; then, timed, {count:,} changes of them, {HOT_EVENTS * 100:g} % of which concern "
        f"{HOT_KEYS * 100:g} % of the keys: updates, 5 % deletes, 1 % changes of the key. JSON lines in files."
    )
    result = Result("(e) change events", what, "debezium")
    series = {
        "debezium": result.add("debezium", "Tidemark: current, history and feed; Debezium envelopes", count),
        "canonical": result.add("canonical", "Tidemark: the same; canonical events", count),
        "hand": result.add("hand", "Spark SQL by hand: current and history (by_hand.py); Debezium envelopes", count),
        "foreach": result.add("foreach", "foreachBatch with MERGE of the last change of each key: current only", count),
        "floor": result.add("floor", "floor: from_json into columns, write a Delta table", count),
        f"batch {BATCHES}": result.add(f"batch {BATCHES}", f"Tidemark, batch {BATCHES} of {few:,} changes", few, False),
        "batch 2": result.add("batch 2", f"Tidemark, batch 2 of {few:,} changes", few, False),
        "debezium inserts": result.add("debezium inserts", f"Tidemark, the first {keys:,} inserts; Debezium", keys, False),
        "canonical inserts": result.add("canonical inserts", "Tidemark, the same; canonical", keys, False),
        "foreach inserts": result.add("foreach inserts", "foreachBatch, the same", keys, False),
    }  # fmt: skip
    with opened(Bench({})) as bench:
        for form in FORMATS:
            for path, text in model(f"orders_{form}", bench.landing / form, form).items():
                bench.write(path, text)
        for path, text in model("orders_small", bench.landing / "small", "debezium").items():
            bench.write(path, text)
        large, small = bench.root / "large", bench.root / "small"
        progress(f"{result.name}: writing {count:,} events")
        source = changes(keys, 1)
        for batch, size in ((1, keys), (2, count)):
            write_batch(large, batch, islice(source, size))
        source = changes(few // EVENTS_OF_A_KEY, 2)
        for batch in range(1, BATCHES + 1):
            size = few // EVENTS_OF_A_KEY if batch == 1 else few
            write_batch(small, batch, islice(source, size), ["debezium"])
        for number in range(rounds):
            bench.drop()
            bench.session.sql("create database peers")
            shutil.rmtree(bench.landing)
            big_batch(bench, large, series)
            growing_history(bench, small, series)
            progress(f"round {number + 1}: " + ", ".join(f"{name} {one.rounds[-1].seconds:.1f} s" for name, one in series.items()))  # fmt: skip
        last = series["debezium"].rounds[-1]
        grown = series[f"batch {BATCHES}"].median() / series["batch 2"].median()
        result.notes.append(
            f"Tidemark: {last.jobs} Spark jobs, {last.spilled / 2**20:.0f} MiB spilled; the JVM held at most "
            f"{bench.peak_memory():.1f} GiB. The history before batch {BATCHES} has {(EVENTS_OF_A_KEY * (BATCHES - 2) + 1)} times "
            f"the rows of that before batch 2, and the batch takes {grown:.2f} times as long."
        )
        bench.stop()
        progress(f"{result.name}: AUTO CDC")
        timing, told = auto_cdc.second_batch(bench.root / "auto_cdc", large / "debezium")
        if timing is not None:
            result.add("auto_cdc", "AUTO CDC (SCD 1) of PySpark 4.3, as a process", count, False).rounds.append(timing)  # fmt: skip
        result.notes.append(told)
    return result
