"""Two processes that write at once, on a metastore that they share; one of them is killed at a random moment.

They load one entity, an entity each, and enriched events with one manifest; `tidemark_commits` is one table. Whatever one
waits for or refuses, a plain run after them finds nothing lost, nothing doubled and nothing in flight.
`TIDEMARK_TEST_ROUNDS` says how often, `TIDEMARK_TEST_DAYS` how many dates each brings, `TIDEMARK_TEST_SEED` repeats the moments.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable, QueryBuilder

from tests.macros import ROOT
from tests.metastores import shared_metastore

from .enriched_events import event_line

pytestmark = pytest.mark.faults

ROUNDS = int(os.environ.get("TIDEMARK_TEST_ROUNDS", "1"))
SEED = int(os.environ.get("TIDEMARK_TEST_SEED") or random.randrange(10**6))
DAYS = int(os.environ.get("TIDEMARK_TEST_DAYS", "1"))
"""That each round adds."""
WRITERS = ("left", "right")


@dataclass
class Lake:
    """A project, its landing files and the warehouse that all write to."""

    root: Path
    metastore: str

    def write(self) -> None:
        """Write the project; each process has a TIDEMARK_HOME of its own."""
        profiles = yaml.safe_load((ROOT / "profiles/profiles.yml").read_text(encoding="utf-8"))
        settings = profiles["tidemark"]["outputs"]["ci"]["server_side_parameters"]
        settings |= {
            "spark.hadoop.hive.metastore.uris": self.metastore,
            "spark.sql.warehouse.dir": str(self.root / "warehouse"),
            "spark.driver.memory": "1g",
        }
        output = {"type": "tidemark", "schema": "lake", "server_side_parameters": settings}
        models = [
            {
                "name": name,
                "config": {
                    "materialized": "cdc",
                    "unique_key": ["k"],
                    "meta": {
                        "tidemark": {
                            "extract": "full",
                            "format": "csv",
                            "location": f"{self.root}/landing/{{business_date}}.csv",
                            "max_delete_fraction": 1.0,
                        }
                    },
                },
            }
            for name in ("shared", *(f"{name}_rows" for name in WRITERS))
        ] + [
            {
                "name": f"{name}_events",
                "config": {
                    "materialized": "atomic",
                    "meta": {
                        "tidemark": {
                            "location": f"{self.root}/landing/events",
                            "manifest": "claims",
                        }
                    },
                },
            }
            for name in WRITERS
        ]
        files = {
            "dbt_project.yml": "name: lake\nprofile: lake\n",
            "profiles.yml": json.dumps({"lake": {"target": "dev", "outputs": {"dev": output}}}),
            "models/models.yml": json.dumps({"version": 2, "models": models}),
            **{f"models/{model['name']}.sql": "{{ tidemark.extract() }}" for model in models},
        }
        for name, text in files.items():
            path = self.root / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        packages = self.root / "project" / "dbt_packages"
        packages.mkdir()
        (packages / "tidemark").symlink_to(ROOT, target_is_directory=True)
        (self.root / "landing" / "events").mkdir(parents=True)

    def run(self, home: str, days: list[date], *selected: str) -> subprocess.Popen[str]:
        """Start `tidemark run` over days."""
        arguments = [f"--select={name}" for name in selected]
        dates = ",".join(map(str, days))
        # a log and a target folder of its own
        own = {name: value for name, value in os.environ.items() if not name.startswith("DBT_")}
        log = (self.root / f"{home}.log").open("w")
        return subprocess.Popen(
            [str(Path(sys.executable).with_name("tidemark")), "run", "--keep-going", "--business-date", dates, *arguments],
            cwd=self.root / "project",
            env={**own, "TIDEMARK_HOME": str(self.root / home), "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip

    def said(self, home: str) -> str:
        return (self.root / f"{home}.log").read_text()

    def rows(self, table: str, select: str) -> list[tuple[Any, ...]]:
        """Rows of a table, which is `t` in the query."""
        found = DeltaTable(str(self.root / "warehouse" / "lake.db" / table))
        read = QueryBuilder().register("t", found).execute(select).read_all()
        return list(
            zip(*(read.column(name).to_pylist() for name in read.column_names), strict=True)
        )

    def inflight(self) -> list[tuple[Any, ...]]:
        """Commits whose last state is that they are at work."""
        return self.rows(
            "tidemark_commits__log",
            "select relation, commit_id from (select *, row_number() over (partition by relation, commit_id "
            "order by state_at desc, case when state = 'inflight' then 1 else 0 end) as n from t) "
            "where n = 1 and state = 'inflight'",
        )


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with shared_metastore(tmp_path / "metastore") as metastore:
        made = Lake(tmp_path, metastore)
        made.write()
        yield made


def refused_clearly(text: str) -> bool:
    """Whether a run that failed says why as it is to."""
    return "Traceback" not in text and not re.search(r"\n\s+at [a-z]+\.", text)


def test_two_writers(lake: Lake) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    extracts: dict[date, dict[str, str]] = {}
    events: set[int] = set()
    for turn in range(ROUNDS):
        days = [date(2026, 1, 1) + timedelta(turn * DAYS + number) for number in range(DAYS)]
        for number, day in enumerate(days):
            extracts[day] = {f"k{n}": rng.choice("xyz") for n in range(200) if rng.random() < 0.9}
            text = "".join(f"{key},{value}\n" for key, value in extracts[day].items())
            (lake.root / f"landing/{day}.csv").write_text(f"k,a\n{text}")
            landed = [turn * 1000 + number * 100 + each for each in range(30)]
            events.update(landed)
            lines = "".join(f"{event_line(each)}\n" for each in landed)
            (lake.root / f"landing/events/{day}.tsv").write_text(lines)
        writers = {
            name: lake.run(name, days, "shared", f"{name}_rows", f"{name}_events")
            for name in WRITERS
        }
        victim = rng.choice(WRITERS)
        begun = lake.root / victim / "logs" / "dbt.log"
        while writers[victim].poll() is None and not (
            begun.exists() and "START sql cdc" in begun.read_text()
        ):
            time.sleep(0.2)  # fmt: skip
        time.sleep(rng.uniform(0, 20))
        if writers[victim].poll() is None:
            os.killpg(writers[victim].pid, signal.SIGKILL)
        for name, process in writers.items():
            process.wait(1200)
            print(
                f"--- round {turn}, {name}{' (to be killed)' if name == victim else ''}: {process.returncode}"
            )
            print(lake.said(name))
            assert refused_clearly(lake.said(name)), name

        after = lake.run("after", days)
        assert after.wait(1200) == 0, lake.said("after")
        assert lake.inflight() == []
        last = extracts[days[-1]]
        for table in ("shared", *(f"{name}_rows" for name in WRITERS)):
            assert dict(lake.rows(table, "select k, a from t")) == last
            found = lake.rows(
                f"{table}__log",
                "select k, a, _operation, cast(_business_date as varchar) from t where _superseded_by is null",
            )
            assert sorted(found) == sorted(changes(extracts)), table
        kept = [
            row[0]
            for name in WRITERS
            for row in lake.rows(f"{name}_events", "select event_id from t")
        ]
        assert sorted(kept) == sorted(f"00000000-0000-4000-8000-{number:012d}" for number in events)


def changes(extracts: dict[date, dict[str, str]]) -> list[tuple[str, str, str, str]]:
    """The history that loading the days in order gives."""
    found = []
    before: dict[str, str] = {}
    for day, rows in extracts.items():
        for key in before.keys() | rows.keys():
            if before.get(key) != rows.get(key):
                operation = "I" if key not in before else "D" if key not in rows else "U"
                found.append((key, rows.get(key, before.get(key, "")), operation, str(day)))
        before = rows
    return found
