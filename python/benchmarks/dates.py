"""Workload (d): whether the hundredth business date costs more than the fifth."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

from extracts import model, write_csv
from harness import Bench, Result, opened, progress

FIRST = dt.date(2026, 1, 1)
PERIOD = 60
"""Every row gets new numbers every so many days: 1.7 % of them a day."""
MOVED = 0.002
"""So much of the rows goes each day, and as much comes."""


def write_extract(session: Any, path: Path, rows: int, day: int) -> None:
    """Write the extract of one day, as one CSV file."""
    first = round(rows * MOVED) * day
    # the day on which the row was changed last
    version = f"greatest(0, {day} - pmod({day} - place, {PERIOD}))"
    rows_sql = f"select id as place, id * 7919 as id from range({first}, {first + rows})"
    write_csv(session, path, rows_sql, version)


def load_dates(rounds: int, rows: int, dates: int) -> Result:
    """Load so many dates in one process, and compare the last five with the five around the fifth."""
    what = (
        f"{dates} business dates of {rows:,} rows of the shape of (a), `dbt run` of each in one process; "
        f"a day 1.7 % of the rows are updated, {MOVED * 100:g} % deleted and as many inserted."
    )
    result = Result("(d) many dates", what, "last", rounds="dates")
    early = result.add("early", "dates 3 to 7")
    late = result.add("last", f"dates {dates - 4} to {dates}")
    with opened(Bench({})) as bench:
        for path, text in model("items", bench.landing).items():
            bench.write(path, text)
        for number in range(rounds):
            bench.drop()
            for day in range(dates):
                date = (FIRST + dt.timedelta(day)).isoformat()
                extract = bench.landing / f"{date}.csv"
                write_extract(bench.session, extract, rows, day)
                timing = bench.run(date)
                extract.unlink()
                if 3 <= day + 1 <= 7:
                    early.rounds.append(timing)
                if day + 1 > dates - 5:
                    late.rounds.append(timing)
                if day < 7 or (day + 1) % 10 == 0:
                    progress(f"round {number + 1}, date {day + 1}: {timing.seconds:.1f} s")
        ratio = late.median() / early.median()
        result.notes.append(
            f"The last dates take {ratio:.2f} times as long (target: at most 1.15); "
            f"Spark jobs: {early.rounds[-1].jobs} and {late.rounds[-1].jobs}; "
            f"the JVM held at most {bench.peak_memory():.1f} GiB."
        )
    return result


def workload_d(rounds: int, scale: float) -> Result:
    """A hundred dates."""
    return load_dates(rounds, int(100_000 * scale), 100)
