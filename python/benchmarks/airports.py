"""Workload (g): the four releases of the airport register that the examples load."""

from __future__ import annotations

import re
from typing import Any

from harness import REPO, Bench, Result, Timing, opened, progress

SEEDS = REPO / "seeds" / "airports"
SCHEMA = (
    "icao string, iata string, name string, city string, subd string, country string, "
    "elevation double, lat double, lon double, tz string, lid string"
)
YAML = """
version: 2
models:
  - name: airports
    config:
      materialized: cdc
      unique_key: icao
      meta:
        tidemark: {{extract: full, location: "{seeds}/airports_{{business_date}}.csv.gz"}}
    columns:
{columns}
"""
SNAPSHOT = """
{% snapshot airports_snapshot %}
{{ config(unique_key='icao', strategy='check', check_cols='all', hard_deletes='invalidate', file_format='delta', target_schema='peers') }}
select * from peers.airports_of_the_day
{% endsnapshot %}
"""


def dates() -> list[str]:
    """The business dates for which there is a release."""
    names = (re.search(r"_(\d{4}-\d\d-\d\d)\.", path.name) for path in SEEDS.glob("*.csv.gz"))
    return sorted(name[1] for name in names if name)


def model() -> dict[str, str]:
    """Files of the entity."""
    columns = [column.split(" ") for column in SCHEMA.split(", ")]
    lines = [f"      - {{name: {name}, data_type: {kind}}}" for name, kind in columns]
    return {
        "models/airports.sql": "{{ tidemark.extract() }}",
        "models/airports.yml": YAML.format(seeds=SEEDS, columns="\n".join(lines)),
        "snapshots/airports_snapshot.sql": SNAPSHOT,
    }


def path_of(date: str) -> str:
    """The release of a date."""
    return str(SEEDS / f"airports_{date}.csv.gz")


def floor(bench: Bench, date: str) -> Timing:
    """Read the release, overwrite a Delta table."""

    def work() -> Any:
        rows = bench.session.read.csv(path_of(date), schema=SCHEMA, header=True)
        return rows.write.format("delta").mode("overwrite").saveAsTable("peers.floor")

    return bench.time(work)


def snapshot(bench: Bench, date: str) -> Timing:
    """A dbt snapshot, by check of all columns."""
    bench.session.sql("drop table if exists peers.airports_of_the_day")
    bench.session.sql(
        f"create table peers.airports_of_the_day ({SCHEMA}) using csv options (header 'true', path '{path_of(date)}')"
    )
    return bench.dbt("snapshot")


def workload_g(rounds: int, scale: float) -> Result:
    """The releases one after the other; there is only one size of them."""
    days = dates()
    what = f"28,000 airports, {len(days)} releases loaded one after the other; the last one."
    result = Result("(g) airports", what, "tidemark")
    ways = {
        "tidemark": ("Tidemark: current, history and feed", Bench.run),
        "snapshot": ("dbt snapshot: check, invalidate", snapshot),
        "floor": ("floor: read the CSV, overwrite a Delta table", floor),
    }
    series = {name: result.add(name, what) for name, (what, _) in ways.items()}
    with opened(Bench(model())) as bench:
        for number in range(rounds):
            bench.drop()
            bench.session.sql("create database peers")
            every: dict[str, list[Timing]] = {name: [] for name in ways}
            for date in days:
                for name, (_, way) in ways.items():
                    every[name].append(way(bench, date))
            for name, timings in every.items():
                series[name].rounds.append(timings[-1])
            told = {
                name: ", ".join(f"{timing.seconds:.1f}" for timing in timings)
                for name, timings in every.items()
            }
            progress(f"round {number + 1}: {told}")
        result.notes.append(
            f"Seconds by release, last round: Tidemark {told['tidemark']}; snapshot {told['snapshot']}; floor {told['floor']}."
        )
    return result
