"""Workload (g): the four releases of the airport register that the examples load."""

from __future__ import annotations

import re

from harness import REPO, Bench, Result, Timing, columns_yaml, opened, progress, snapshot_of

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


def dates() -> list[str]:
    """The business dates for which there is a release."""
    names = (re.search(r"_(\d{4}-\d\d-\d\d)\.", path.name) for path in SEEDS.glob("*.csv.gz"))
    return sorted(name[1] for name in names if name)


def model() -> dict[str, str]:
    """Files of the entity."""
    return {
        "models/airports.sql": "{{ tidemark.extract() }}",
        "models/airports.yml": YAML.format(seeds=SEEDS, columns=columns_yaml(SCHEMA)),
        **snapshot_of("icao"),
    }


def path_of(date: str) -> str:
    """The release of a date."""
    return str(SEEDS / f"airports_{date}.csv.gz")


def workload_g(rounds: int, scale: float) -> Result:
    """The releases one after the other; there is only one size of them."""
    days = dates()
    what = f"28,000 airports, {len(days)} releases loaded one after the other; the last one."
    result = Result("(g) airports", what, "tidemark")
    ways = {
        "tidemark": ("Tidemark: current, history and feed", Bench.run),
        "snapshot": (
            "dbt snapshot: check, invalidate",
            lambda bench, date: bench.snapshot(SCHEMA, path_of(date)),
        ),
        "floor": (
            "floor: read the CSV, overwrite a Delta table",
            lambda bench, date: bench.overwrite(SCHEMA, path_of(date)),
        ),
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
