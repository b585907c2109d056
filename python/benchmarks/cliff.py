"""Workload (k): what a setting costs over a plain load, and a date that comes late or again."""

from __future__ import annotations

import json
import os
from itertools import chain
from pathlib import Path
from typing import Any

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


def write_extract(path: Path, number: int, rows: int, reject: bool = False) -> None:
    """So many rows, of which a fifth is new, a fifth gone and two fifths changed since the day before."""
    keys = range(number * rows // 5, number * rows // 5 + rows)
    names = [f"v{place}" for place in range(VALUES)]
    with path.open("w") as file:
        file.write(",".join(["id", *names]) + "\n")
        for key in keys:
            value = number if key % 5 in (1, 2) else 0
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
    result = Result("(k) the cliff", what, "plain")
    series = {name: result.add(name, f"third date: {name}") for name in SETTINGS}
    late = {
        "late": result.add("late", "plain: a date before all others"),
        "corrected": result.add("corrected", "plain: the second date with other rows"),
        "again": result.add("again", "plain: the third date once more, as it was"),
    }
    os.environ.setdefault("TIDEMARK_PEPPER", "one of the benchmark's own")
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
            write_extract(bench.landing / "rows" / f"{BEFORE}.csv", 5, rows)
            late["corrected"].rounds.append(bench.run(BEFORE, "--select", "plain"))
    return result
