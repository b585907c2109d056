"""Workloads (a) and (b): the second of two full extracts, against a floor and three other ways."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import by_hand
from harness import Bench, Result, Timing, columns_yaml, opened, progress, snapshot_of
from tests.rendering import load_sql_macros

KEYS = [f"k{number}" for number in range(1, 6)]
NUMBERS = [f"n{number}" for number in range(1, 11)]
DAYS = ("2026-03-03", "2026-03-04")
SCHEMA = ", ".join(
    [
        *(f"{name} string" for name in KEYS),
        *(
            f"{name} {'bigint' if place % 2 else 'decimal(12,2)'}"
            for place, name in enumerate(NUMBERS)
        ),
    ]
)
YAML = """
version: 2
models:
  - name: {name}
    config:
      materialized: cdc
      unique_key: [{keys}]
      meta:
        tidemark: {{extract: full, format: csv, location: "{landing}/{{business_date}}.csv", max_delete_fraction: 1{settings}}}
    columns:
{columns}
"""


def model(name: str, landing: Path, settings: str = "") -> dict[str, str]:
    """Files of a cdc model of this shape."""
    return {
        f"models/{name}.sql": "{{ tidemark.extract() }}",
        f"models/{name}.yml": YAML.format(
            name=name,
            keys=", ".join(KEYS),
            landing=landing,
            settings=settings,
            columns=columns_yaml(SCHEMA),
        ),
    }


def write_csv(session: Any, path: Path, rows_sql: str, version: str) -> None:
    """Write one CSV file with the keys and numbers of each `id`; `version` is SQL of what the numbers follow besides."""
    keys = ", ".join(
        f"regexp_replace(md5(concat('{name}:', id)), '(.{{8}})(.{{4}})(.{{4}})(.{{4}})(.{{12}})', '$1-$2-$3-$4-$5')"
        for name in KEYS
    )
    numbers = ", ".join(
        f"pmod(xxhash64(id, {place}, {version}), 10000000000)"
        if place % 2
        else f"cast(pmod(xxhash64(id, {place}, {version}), 1000000000) / 100 as decimal(12,2))"
        for place, _ in enumerate(NUMBERS)
    )
    folder = path.with_suffix(".parts")
    rows = session.sql(f"select {keys}, {numbers} from ({rows_sql})").toDF(*KEYS, *NUMBERS)
    rows.coalesce(1).write.csv(str(folder), header=True)
    next(folder.glob("*.csv")).rename(path)
    shutil.rmtree(folder)


def write_extracts(session: Any, landing: Path, rows: int, changed: float, deleted: float) -> None:
    """Write both days' extracts, one CSV file each: `deleted` of the rows go and as many come, `changed` get new numbers."""
    gone = round(rows * deleted)
    until = gone + round(rows * changed)
    for day, (first, last) in zip(DAYS, [(0, rows), (gone, rows + gone)], strict=True):
        version = f"if({'true' if day == DAYS[1] else 'false'} and place < {until}, 2, 1)"
        # which rows change is spread over the file: the ids are shuffled by multiplication
        rows_sql = f"select id as place, pmod(id * 7919, {rows + gone} * 3) as id from range({first}, {last})"
        write_csv(session, landing / f"{day}.csv", rows_sql, version)


def extract(bench: Bench, day: str) -> str:
    """The file of a day."""
    return str(bench.landing / f"{day}.csv")


def typed_csv(bench: Bench, day: str) -> Any:
    """The extract as somebody would read it by hand."""
    return bench.session.read.csv(extract(bench, day), schema=SCHEMA, header=True)


def hashed(bench: Bench) -> Timing:
    """Read the CSV, hash each row as Tidemark does, keep nothing."""
    columns = [
        {"name": name, "type": kind}
        for name, kind in (column.split(" ") for column in SCHEMA.split(", "))
    ]
    hash_of = load_sql_macros()["row_hash_expr"]
    keys, values = hash_of(columns[: len(KEYS)], "md5"), hash_of(columns[len(KEYS) :], "md5")
    return bench.time(
        lambda: (
            typed_csv(bench, DAYS[1])
            .selectExpr(f"{keys} as key_hash", f"{values} as row_hash", "*")
            .write.format("noop")
            .mode("overwrite")
            .save()
        )
    )


def merge(bench: Bench, day: str) -> Timing:
    """The MERGE that one writes by hand: current only."""
    session = bench.session
    typed_csv(bench, day).createOrReplaceTempView("csv_of_the_day")
    same = " and ".join(f"target.{name} = source.{name}" for name in KEYS)
    differs = " or ".join(f"not target.{name} <=> source.{name}" for name in NUMBERS)
    session.sql("create database if not exists peers")
    session.sql(f"create table if not exists peers.merged ({SCHEMA}) using delta")
    return bench.time(
        lambda: session.sql(
            f"merge into peers.merged as target using csv_of_the_day as source on {same} "
            f"when matched and ({differs}) then update set * when not matched then insert * "
            f"when not matched by source then delete"
        ).collect()
    )


def hand(bench: Bench, day: str) -> Timing:
    """Current and history with changed columns, by hand."""
    rows = typed_csv(bench, day)
    by_hand.extract_tables(bench.session, SCHEMA)
    return bench.time(lambda: by_hand.load_extract(bench.session, rows, KEYS, NUMBERS, day))


def check_same(bench: Bench) -> None:
    """Ours and those by hand have the same rows."""
    names = ", ".join([*KEYS, *NUMBERS])
    pairs = {
        "tidemark.items": ("", "peers.hand_current", ""),
        "tidemark.items__log": (
            ", _operation, concat_ws(',', array_sort(_changed_columns))",
            "peers.hand_history",
            ", operation, concat_ws(',', array_sort(changed_columns))",
        ),
    }
    for ours, (told, theirs, recorded_there) in pairs.items():
        found = [
            bench.session.sql(f"select count(*), bit_xor(xxhash64({names}{more})) from {table}")
            for table, more in ((ours, told), (theirs, recorded_there))
        ]
        if found[0].collect() != found[1].collect():
            sys.exit(f"{ours} and {theirs} have other rows")


def compare(
    name: str,
    what: str,
    rows: int,
    changed: float,
    deleted: float,
    rounds: int,
    settings: str,
    peers: tuple[str, ...],
) -> Result:
    """Measure one shape of extracts."""
    result = Result(name, what, "tidemark")
    with opened(Bench(snapshot_of(f"concat_ws('|', {', '.join(KEYS)})"))) as bench:
        for path, text in model("items", bench.landing, settings).items():
            bench.write(path, text)
        progress(f"{name}: writing extracts of {rows:,} rows")
        write_extracts(bench.session, bench.landing, rows, changed, deleted)
        size = (bench.landing / f"{DAYS[1]}.csv").stat().st_size / 2**20
        series = {
            "tidemark": "Tidemark: current, history and feed",
            "floor": "floor: read the CSV, overwrite a Delta table",
            "hashed": "read and hash the CSV, write nothing",
            "hand": "Spark SQL by hand: current and history (by_hand.py)",
            "merge": "MERGE by hand: current only",
            "snapshot": "dbt snapshot: check, invalidate",
            "run": "Tidemark, `dbt run` as a process",
            "rdd": "RDD pattern as a process",
        }
        # whole processes are compared with each other, below
        found = {
            key: result.add(key, text, compared=key not in ("run", "rdd"))
            for key, text in series.items()
            if key in peers or key == "tidemark"
        }
        for number in range(rounds):
            progress(f"{name}: round {number + 1} of {rounds}")
            bench.drop()
            bench.session.sql("create database peers")
            bench.run(DAYS[0])
            found["tidemark"].rounds.append(bench.run(DAYS[1]))
            if "floor" in found:
                found["floor"].rounds.append(bench.overwrite(SCHEMA, extract(bench, DAYS[1])))
            if "hashed" in found:
                found["hashed"].rounds.append(hashed(bench))
            for day in DAYS:
                timings = {"merge": merge(bench, day)} if "merge" in found else {}
                timings["hand"] = hand(bench, day)
                if "snapshot" in found:
                    timings["snapshot"] = bench.snapshot(SCHEMA, extract(bench, day))
            check_same(bench)
            for key, timing in timings.items():
                found[key].rounds.append(timing)
            progress(
                ", ".join(
                    f"{key} {one.rounds[-1].seconds:.1f} s"
                    for key, one in found.items()
                    if one.rounds
                )
            )
        last = found["tidemark"].rounds[-1]
        result.notes.append(
            f"{rows:,} rows, {size:.0f} MiB of CSV. Tidemark: {last.jobs} Spark jobs, {last.statements} executions, "
            f"{last.spilled / 2**20:.0f} MiB spilled; the JVM held at most {bench.peak_memory():.1f} GiB."
        )
        if "rdd" in found:
            compare_processes(bench, found["run"].rounds, found["rdd"].rounds, rounds)
            ratio = found["run"].median() / found["rdd"].median()
            result.notes.append(
                f"As processes, `dbt run` takes {ratio:.2f} times as long as the RDD pattern."
            )
    return result


def compare_processes(bench: Bench, ours: list[Timing], theirs: list[Timing], rounds: int) -> None:
    """Time whole processes: `dbt run` of the second day, and the RDD pattern."""
    script = Path(__file__).with_name("rdd_pattern.py")
    for number in range(rounds):
        bench.drop()
        bench.run(DAYS[0])
        ours.append(
            bench.process("dbt", "--quiet", "run", "--vars", f"{{business_date: '{DAYS[1]}'}}")
        )
        folder = bench.root / "rdd"
        shutil.rmtree(folder, ignore_errors=True)
        command = (sys.executable, str(script), str(bench.landing), str(folder), str(len(KEYS)))
        bench.process(*command, "", DAYS[0])
        theirs.append(bench.process(*command, *DAYS))
        progress(
            f"round {number + 1}: dbt run {ours[-1].seconds:.1f} s, RDD pattern {theirs[-1].seconds:.1f} s"
        )


def workload_a(rounds: int, scale: float) -> Result:
    """A million rows, of which most change."""
    rows = int(1_000_000 * scale)
    what = f"{rows:,} rows, 5 uuid keys and 10 numbers; 20 % deleted, 40 % updated, 40 % unchanged, 20 % inserted; the second day."
    return compare(
        "(a) full extract, much changed",
        what,
        rows,
        0.4,
        0.2,
        rounds,
        "",
        ("floor", "hand", "merge", "snapshot", "run", "rdd"),
    )


def workload_b(rounds: int, scale: float) -> Result:
    """A million rows, of which one in a hundred changes."""
    rows = int(1_000_000 * scale)
    what = f"{rows:,} rows as in (a); 0.2 % deleted, 0.6 % updated, 0.2 % inserted; `tag_unchanged: false`; the second day."
    return compare(
        "(b) full extract, 1 % changed",
        what,
        rows,
        0.006,
        0.002,
        rounds,
        ", tag_unchanged: false",
        ("floor", "hashed", "hand", "merge"),
    )
