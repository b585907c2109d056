"""Workloads (k), (l), (i): what a setting, and a format, cost over a plain load."""

from __future__ import annotations

import json
import os
from itertools import chain, islice
from pathlib import Path
from typing import Any

from change_events import ROW, Change, changes, debezium
from harness import Bench, Result, opened, progress

ROWS = 100_000
VALUES = 10
FIRST, BEFORE, NEXT, LATE = "2026-03-02", "2026-03-03", "2026-03-04", "2026-03-01"
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "soft_delete": {"soft_delete": True},
    "tag_unchanged": {"tag_unchanged": True},
    "delta": {"extract": "delta"},
    "one_reject": {"on_reject": "quarantine"},
    "compare_as": {},
    "sensitive": {"sensitive": ["v3"]},
    "select_over_files": {},
    "merge_on_read": {"write_mode": "merge_on_read"},
    "by_spark": {"engine": "spark"},
}
"""Name of the model, and what of `meta.tidemark` it has beside where its files lie."""


def write_extract(
    path: Path, number: int, rows: int, *, reject: bool = False, changed: int | None = None
) -> None:
    """So many rows, of which a fifth is new, a fifth gone and two fifths changed since the day before.

    Args:
        changed: What the values that change are made of, where that is not the number.
    """
    keys = range(number * rows // 5, number * rows // 5 + rows)
    names = [f"v{place}" for place in range(VALUES)]
    with path.open("w") as file:
        file.write(",".join(["id", *names]) + "\n")
        for key in keys:
            value = (number if changed is None else changed) if key % 5 in (1, 2) else 0
            cells = (f"{key % 97}.{(key + value + place) % 90 + 10}" for place in range(VALUES))
            file.write(",".join(chain([f"key-{key:09}"], cells)) + "\n")
        if reject:
            file.write("key-of-a-reject" + ",x" * VALUES + "\n")


def _model(name: str, settings: dict[str, Any], landing: Path) -> dict[str, Any]:
    folder = "rejects" if name == "one_reject" else "rows"
    location = {"location": f"{landing}/{folder}/{{business_date}}.csv"}
    columns = [{"name": "id", "data_type": "string"}] + [
        {"name": f"v{place}", "data_type": "decimal(18,2)"} for place in range(VALUES)
    ]
    if name == "compare_as":
        columns[4]["meta"] = {"tidemark": {"compare_as": "round(v3, 1)"}}  # type: ignore[assignment]
    given = {} if name == "select_over_files" else location
    meta = {"extract": "full", **given, **settings}
    config = {"materialized": "cdc", "unique_key": "id", "meta": {"tidemark": meta}}
    return {"name": name, "config": config, "columns": columns}


def workload_k(rounds: int, scale: float) -> Result:
    """Each setting in a process that has loaded two dates of it; then dates late and again."""
    rows = int(ROWS * scale)
    what = (
        f"{rows:,} rows of a key and {VALUES} decimals; a fifth new, a fifth gone, two fifths changed. The third date of each model, "
        "over that of the plain one, in one process; a date before all others, one that is corrected, one that comes again as it was."
    )
    result = Result("(k) the cliff", what, "plain", over="over plain")
    series = {name: result.add(name, f"third date: {name}") for name in SETTINGS}
    late = {
        "late": result.add("late", "plain: a date before all others"),
        "corrected": result.add("corrected", "plain: the second date with other rows"),
        "again": result.add("again", "plain: the third date once more, as it was"),
    }
    os.environ.setdefault("TIDEMARK_PEPPER", "of the benchmark alone")
    with opened(Bench({})) as bench:
        body = f"select * from csv.`{bench.landing}/rows/{{{{ var('business_date') }}}}.csv` with ('header' 'true')"
        for name in SETTINGS:
            text = body if name == "select_over_files" else "{{ tidemark.extract() }}"
            bench.write(f"models/{name}.sql", text)
        models = [_model(name, given, bench.landing) for name, given in SETTINGS.items()]
        bench.write("models/models.yml", json.dumps({"models": models}))
        for folder in ("rows", "rejects"):
            (bench.landing / folder).mkdir()
        for number in range(rounds):
            bench.drop()
            for place, date in enumerate((LATE, FIRST, BEFORE, NEXT)):
                write_extract(bench.landing / "rows" / f"{date}.csv", place, rows)
                write_extract(bench.landing / "rejects" / f"{date}.csv", place, rows, reject=True)
            for name, taken in series.items():
                for date in (FIRST, BEFORE):
                    bench.run(date, "--select", name)
                taken.rounds.append(bench.run(NEXT, "--select", name))
                progress(f"round {number + 1}: {name} {taken.rounds[-1].seconds:.1f} s")
            late["again"].rounds.append(bench.run(NEXT, "--select", "plain"))
            late["late"].rounds.append(bench.run(LATE, "--select", "plain"))
            write_extract(bench.landing / "rows" / f"{BEFORE}.csv", 2, rows, changed=5)
            late["corrected"].rounds.append(bench.run(BEFORE, "--select", "plain"))
    return result


def workload_i(rounds: int, scale: float) -> Result:
    """The same loads into tables of Delta and of Iceberg, each in a session of its own."""
    rows = int(ROWS * scale)
    what = (
        f"{rows:,} rows as of (k), engine: auto. The third date, and a date before all others, in one process with two dates loaded; "
        "into tables of Iceberg, over the same into tables of Delta."
    )
    result = Result("(i) Iceberg over Delta", what, "delta", over="over Delta")
    loads = {NEXT: "third date", LATE: "a date before all others"}
    series = {
        (file_format, date): result.add(
            file_format if date == NEXT else f"{file_format}_late", f"{file_format.title()}: {told}"
        )
        for file_format in ("delta", "iceberg")
        for date, told in loads.items()
    }
    for number in range(rounds):
        for file_format in ("delta", "iceberg"):
            model = {"models/plain.sql": "{{ tidemark.extract() }}"}
            with opened(Bench(model, file_format=file_format)) as bench:
                plain = json.dumps({"models": [_model("plain", {}, bench.landing)]})
                bench.write("models/models.yml", plain)
                (bench.landing / "rows").mkdir()
                for place, date in enumerate((LATE, FIRST, BEFORE, NEXT)):
                    write_extract(bench.landing / "rows" / f"{date}.csv", place, rows)
                for date in (FIRST, BEFORE):
                    bench.run(date)
                for date in loads:
                    taken = series[file_format, date]
                    taken.rounds.append(bench.run(date))
                    progress(
                        f"round {number + 1}: {file_format} {date} {taken.rounds[-1].seconds:.1f} s"
                    )
    return result


EVENTS = 20_000
EVENT_SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "sequence_by": {"sequence_by": "amount"},
    "no_key": {},
    "one_reject": {"on_reject": "quarantine"},
    "late": {},
    "ddl": {},
    "rows": {"format": "rows", "sequence_by": "number", "table": None},
    "ignore_null_updates": {"ignore_null_updates": True},
    "sensitive": {"sensitive": ["customer"]},
    "by_spark": {"engine": "spark"},
}
"""As SETTINGS; `late` and `ddl` are canonical events: each batch has one that belongs to the first, or two new columns."""


def _lines(name: str, batch: list[tuple[Change, Any]], number: int) -> list[str]:
    if name == "rows":
        return [json.dumps({**one.after, "number": one.number}) for one, _ in batch if one.after]
    lines = []
    for one, before in batch:
        line = json.loads(debezium(one))
        if name in ("no_key", "sequence_by") and one.operation != "INSERT":
            line["before"] = before
        lines.append(line)
    if name in ("late", "ddl"):
        lines = [
            {"_operation": "UPSERT", "_table": "orders", "_sequence_num": one.number, **one.after}
            for one, _ in batch
            if one.after
        ]
    if name == "late":
        lines[-1]["_sequence_num"] = number
    if name == "ddl":
        columns = [
            {"name": column, "type": kind}
            for column, kind in (one.split() for one in ROW.split(", "))
        ] + [{"name": f"n{place}", "type": "int"} for place in range(2 * number + 2)]
        for place in (1, 2):
            lines.insert(
                place * len(lines) // 3,
                {
                    "_operation": "ALTER_TABLE",
                    "_table": "orders",
                    "_sequence_num": lines[place * len(lines) // 3]["_sequence_num"],
                    "_schema": columns[: len(columns) - 2 + place],
                },
            )
    if name == "one_reject":
        after = (
            {**lines[0]["after"], "amount": "x"}
            if lines[0]["after"]
            else {"id": number, "amount": "x"}
        )
        lines.append(
            {
                **lines[0],
                "op": "c",
                "before": None,
                "after": {**dict.fromkeys(("customer", "state", "updated")), **after},
            }
        )
    return [json.dumps(line) for line in lines]


def _event_model(name: str, settings: dict[str, Any], landing: Path) -> dict[str, Any]:
    columns = [
        dict(zip(("name", "data_type"), one.split(), strict=True)) for one in ROW.split(", ")
    ]
    if name == "rows":
        columns.append({"name": "number", "data_type": "bigint"})
    form = "canonical" if name in ("late", "ddl") else "debezium"
    meta = {
        "extract": "events",
        "format": form,
        "location": f"{landing}/{name}",
        "table": "orders",
        **settings,
    }
    key = {} if name == "no_key" else {"unique_key": "id"}
    return {
        "name": name,
        "config": {"materialized": "cdc", **key, "meta": {"tidemark": meta}},
        "columns": columns,
    }


def workload_l(rounds: int, scale: float) -> Result:
    """Each setting in a process that has loaded two batches of it."""
    count = int(EVENTS * scale)
    what = (
        f"{count:,} change events of {count // 5:,} keys in a batch, as landed JSON lines. The third batch of each model, over that of the "
        "plain one, in one process."
    )
    result = Result("(l) the cliff of change events", what, "plain", over="over plain")
    series = {name: result.add(name, f"third batch: {name}") for name in EVENT_SETTINGS}
    os.environ.setdefault("TIDEMARK_PEPPER", "of the benchmark alone")
    stream, rows, batches = changes(count // 5, 7), {}, []
    for _ in range(3):
        batch = []
        for one in islice(stream, count):
            before = rows.pop(one.before, None) if one.before is not None else None
            if one.after:
                before = before or rows.get(one.after["id"])
                rows[one.after["id"]] = one.after
            batch.append((one, before))
        batches.append(batch)
    with opened(Bench({})) as bench:
        for name in EVENT_SETTINGS:
            bench.write(f"models/{name}.sql", "{{ tidemark.extract() }}")
        models = [
            _event_model(name, given, bench.landing) for name, given in EVENT_SETTINGS.items()
        ]
        bench.write("models/models.yml", json.dumps({"models": models}))
        for turn in range(rounds):
            bench.drop()
            for name, taken in series.items():
                folder = bench.landing / name
                folder.mkdir(exist_ok=True)
                for old in folder.iterdir():
                    old.unlink()
                for number, batch in enumerate(batches):
                    (folder / f"{number:02}.jsonl").write_text(
                        "\n".join(_lines(name, batch, number)) + "\n"
                    )
                    timing = bench.run(NEXT, "--select", name)
                taken.rounds.append(timing)
                progress(f"round {turn + 1}: {name} {timing.seconds:.1f} s")
    return result
