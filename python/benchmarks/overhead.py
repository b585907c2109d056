"""Workload (o): what `dbt run` of one small entity costs, where there is nothing to do."""

from __future__ import annotations

import re
from pathlib import Path

from harness import Bench, Result, Timing, opened, progress

DAYS = ("2026-03-03", "2026-03-04", "2026-03-05", "2026-03-06")
EARLIER = ("--exclude", "others")
STATUS = re.compile(r"SQL status: OK in ([\d.]+) seconds")
ITEMS = """
version: 2
models:
  - &items
    name: items
    config:
      materialized: cdc
      unique_key: id
      meta: {{tidemark: {{extract: full, location: "{landing}/{{business_date}}.csv"}}}}
    columns:
      - {{name: id, data_type: bigint}}
      - {{name: name, data_type: string}}
"""
YAML = f"""{ITEMS.rstrip()}
  - <<: *items
    name: others
  - name: plain
    config: {{{{materialized: table, file_format: delta}}}}
"""
PLAIN = "select * from csv.`{landing}/{{{{ var('business_date') }}}}.csv`"


def write_extract(path: Path, number: int, count: int = 10) -> None:
    """So many rows, of which one is new, one gone and one changed since the day before."""
    keys = range(number, number + count)
    rows = [f"{key},{'b' if key == number + 5 else 'a'}" for key in keys]
    path.write_text("\n".join(["id,name", *rows]) + "\n")


def statements(log: Path, offset: int) -> list[float]:
    """Seconds of each SQL statement that dbt's log has from there on."""
    with log.open() as file:
        file.seek(offset)
        return [float(seconds) for seconds in STATUS.findall(file.read())]


def counted(bench: Bench, date: str, name: str) -> tuple[Timing, list[float]]:
    """Run one model in this process; also the seconds of each of its statements."""
    log = bench.home / "logs" / "dbt.log"
    offset = log.stat().st_size
    timing = bench.run(date, "--select", name)
    return timing, statements(log, offset)


def workload_o(rounds: int, scale: float) -> Result:
    """Ten rows."""
    what = "One entity of 10 rows, a changed one, a new one and one that is gone; what is not work with rows."
    result = Result("(o) overhead", what, "tidemark")
    names = {"tidemark": "items", "plain": "plain"}
    series = {
        "process": result.add("process", "`dbt run` as a process, the second date", compared=False),
        "plain process": result.add("plain process", "`dbt run` of a plain table as a process", compared=False),
        "tidemark": result.add("tidemark", "Tidemark, in a process that has run a date before"),
        "plain": result.add("plain", "floor: a plain table in that process"),
        "first": result.add("first", "Tidemark, the first load of another entity in that process", compared=False),
        "second": result.add("second", "the second load of that one", compared=False),
    }  # fmt: skip
    with opened(Bench({})) as bench:
        for entity in ("items", "others"):
            bench.write(f"models/{entity}.sql", "{{ tidemark.extract() }}")
        bench.write("models/items.yml", YAML.format(landing=bench.landing))
        bench.write("models/plain.sql", PLAIN.format(landing=bench.landing))
        for number, day in enumerate(DAYS):
            write_extract(bench.landing / f"{day}.csv", number)
        for number in range(rounds):
            bench.drop()
            bench.run(DAYS[0], *EARLIER)
            for name, entity in (("process", "items"), ("plain process", "plain")):
                command = ("dbt", "--quiet", "run", "--select", entity)
                date = ("--vars", f"{{business_date: '{DAYS[1]}'}}")
                series[name].rounds.append(bench.process(*command, *date))
            bench.run(DAYS[2], *EARLIER)
            sent = {}
            for name, entity in names.items():
                timing, sent[name] = counted(bench, DAYS[3], entity)
                series[name].rounds.append(timing)
            for name, date in (("first", DAYS[2]), ("second", DAYS[3])):
                series[name].rounds.append(bench.run(date, "--select", "others"))
            told = ", ".join(
                f"{name} {one.rounds[-1].seconds:.1f} s" for name, one in series.items()
            )
            progress(f"round {number + 1}: {told}")
        result.notes.append(
            "In the last round "
            + " and ".join(
                f"{title} sent {len(sent[name])} SQL statements that took {sum(sent[name]):.1f} s "
                f"and ran {series[name].rounds[-1].jobs} Spark jobs"
                for name, title in (("tidemark", "Tidemark"), ("plain", "the plain table"))
            )
            + "."
        )
    return result
