"""Workload (r): many tables of one source, as `tidemark capture` lands their changes, in one run."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from change_events import EVENTS_OF_A_KEY, Change, changes
from harness import Bench, Result, Series, opened, progress

EVENTS = 1000
LINES_OF_A_FILE = 10_000
COMPARED = 10
"""Of so many tables Spark SQL loads the changes too."""
TYPES = {
    "id": {"type": "int64"},
    "customer": {"type": "string"},
    "amount": {"type": "string"},
    "state": {"type": "string"},
    "updated": {"type": "string", "name": "io.debezium.time.ZonedTimestamp"},
}
NUMERIC = {"column.type": "NUMERIC", "column.length": "12", "column.scale": "2"}
YAML = """
version: 2
models:
  - name: {name}
    config:
      materialized: cdc
      unique_key: id
      meta:
        tidemark: {{extract: events, format: debezium, engine: {engine}, location: "{landing}/*.jsonl.gz", table: public.{table}}}
"""


def schema(table: str) -> str:
    """What Kafka Connect tells of the columns of a table, about as long as a database makes it."""

    def column(name: str, kind: dict[str, str]) -> dict[str, object]:
        told = NUMERIC if name == "amount" else {"column.type": "TEXT", "column.name": name}
        parameters = {f"__debezium.source.{key}": value for key, value in told.items()}
        return {**kind, "optional": name != "id", "parameters": parameters, "field": name}

    image = [column(name, kind) for name, kind in TYPES.items()]
    sides = [
        {"type": "struct", "fields": image, "optional": True, "name": f"shop.public.{table}.Value", "field": side}
        for side in ("before", "after")
    ]  # fmt: skip
    return json.dumps({"type": "struct", "fields": sides, "name": f"shop.public.{table}.Envelope"}, separators=(",", ":"))  # fmt: skip


def line(table: str, told: str, change: Change, number: int) -> str:
    """A change as capture lands it."""
    source = {"connector": "postgresql", "name": "shop", "db": "shop", "schema": "public", "table": table, "snapshot": "false",
              "ts_ms": 1772611200000 + change.number, "txId": change.number, "lsn": change.number}  # fmt: skip
    before = None if change.before is None else {name: change.before if name == "id" else None for name in TYPES}  # fmt: skip
    operation = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}[change.operation]
    envelope = {"before": before, "after": change.after, "source": source, "transaction": None, "op": operation,
                "ts_ms": 1772611201000 + change.number}  # fmt: skip
    payload = json.dumps(envelope, separators=(",", ":"))
    return (
        f'{{"topic":"shop.public.{table}","key":{{"id":1}},"value":{{"schema":{told},"payload":{payload}}},'
        f'"_seq":1,"_ord":{number},"_id":"{table}:{number}"}}\n'
    )


def write_files(folder: Path, sources: dict[str, Iterator[Change]], first: int) -> int:
    """Write so many changes of each table, one after the other; return how many files there are now."""
    told = {table: schema(table) for table in sources}
    of_tables = [[(table, one) for one in islice(source, EVENTS)] for table, source in sources.items()]  # fmt: skip
    lines = [line(table, told[table], one, number) for number, turn in enumerate(zip(*of_tables, strict=True)) for table, one in turn]  # fmt: skip
    number = first
    for start in range(0, len(lines), LINES_OF_A_FILE):
        number += 1
        with gzip.open(folder / f"ev-{number:010}.jsonl.gz", "wt", compresslevel=1) as file:
            file.writelines(lines[start : start + LINES_OF_A_FILE])
    return number


def workload_r(rounds: int, scale: float) -> Result:
    """A hundred tables of one source."""
    tables = [f"t{number:03}" for number in range(max(COMPARED, int(100 * scale)))]
    what = (
        f"{len(tables)} tables, {EVENTS:,} events of each as `tidemark capture` lands them: compressed, with their schemas, "
        "the tables in turn. Seconds are those of one `dbt run` of all tables."
    )
    result = Result("(r) a replicated database", what, "workers")
    per = {"workers": len(tables), "spark": COMPARED}
    series: dict[str, Series] = {}
    for engine, count in per.items():
        name = {"workers": "Tidemark, engine in the workers", "spark": "Tidemark, Spark SQL"}[engine]  # fmt: skip
        series[engine] = result.add(engine, f"{name}: {count} tables, a second batch", count * EVENTS, False)  # fmt: skip
        series[f"{engine} first"] = result.add(f"{engine} first", f"{name}: {count} tables, the first batch", count * EVENTS, False)  # fmt: skip
    with opened(Bench({})) as bench:
        for engine, count in per.items():
            for table in tables[:count]:
                text = YAML.format(name=f"{engine}_{table}", engine=engine, landing=bench.landing, table=table)  # fmt: skip
                bench.write(f"models/{engine}_{table}.yml", text)
                bench.write(f"models/{engine}_{table}.sql", "{{ tidemark.extract() }}")
        for number in range(rounds):
            bench.drop()
            for path in bench.landing.iterdir():
                path.unlink()
            sources = {table: changes(EVENTS // EVENTS_OF_A_KEY, place) for place, table in enumerate(tables)}  # fmt: skip
            files = 0
            for batch in ("first", ""):
                files = write_files(bench.landing, sources, files)
                for engine in per:
                    timing = bench.time(lambda engine=engine: bench.run("2026-03-04", "--select", f"{engine}_*"))  # type: ignore[misc]  # fmt: skip
                    series[f"{engine} {batch}".strip()].rounds.append(timing)
            progress(f"round {number + 1}: " + ", ".join(f"{name} {one.rounds[-1].seconds:.1f} s" for name, one in series.items()))  # fmt: skip
    each = {engine: series[engine].median() / count for engine, count in per.items()}
    result.notes.append(
        f"A table takes {each['workers']:.2f} s, by Spark SQL {each['spark']:.2f} s; the first time "
        f"{series['workers first'].median() / per['workers']:.2f} and {series['spark first'].median() / per['spark']:.2f} s."
    )
    return result
