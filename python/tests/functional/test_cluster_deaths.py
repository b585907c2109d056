"""Executors and Python workers that die at random moments of each flow, while Spark tries slow tasks twice.

The run goes through, as Spark repeats what was lost, or fails with a line for each model; once it is run again, the tables are
those of a run without deaths. TIDEMARK_TEST_DEATHS says how many loads of each flow meet a death, TIDEMARK_TEST_SEED which.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ..standalone import Cluster
from . import test_any_order as dates
from .enriched_events import add_events, assert_same_events, expected_events, land, stored_events
from .entities import Entity
from .event_dedup_oracle import Batch, Loads
from .event_entities import EventEntity
from .event_oracle import simulate
from .event_streams import COLUMNS, KEY, deliver, random_streams
from .feed_reading import call, query_all
from .on_cluster import projects_on_cluster, session_on_cluster
from .test_engine import by_workers
from .test_shred_random import a_line

pytestmark = pytest.mark.clusters
DEATHS = int(os.environ.get("TIDEMARK_TEST_DEATHS", "5"))
SEED = int(os.environ.get("TIDEMARK_TEST_SEED", "20260304"))


@pytest.fixture(scope="module")
def cluster(
    tidemark_test_home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    eager = {
        "spark_speculation": "true",
        "spark_speculation_interval": "50ms",
        "spark_speculation_multiplier": "1",
        "spark_speculation_quantile": "0.1",
        "spark_speculation_minTaskRuntime": "10ms",
    }
    with session_on_cluster(tmp_path_factory.mktemp("deaths"), **eager) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def make_project(make_project: Callable[[str], Any], cluster: Cluster) -> Callable[[str], Any]:
    return projects_on_cluster(make_project)


class Death(threading.Thread):
    """Kills one of the victims while a stage of Spark runs, the one of this number."""

    def __init__(
        self, session: Any, victims: Callable[[], list[int]], number: int | None, rng: random.Random
    ) -> None:
        super().__init__(daemon=True)
        self._tracker = session.sparkContext.statusTracker()
        self._victims, self._number, self._rng = victims, number, rng
        self.over = threading.Event()
        self.stages: set[int] = set()
        """Those with a victim at work."""
        self.died = False

    def run(self) -> None:
        while not self.over.is_set():
            active = set(self._tracker.getActiveStageIds())
            victims = self._victims() if active - self.stages else []
            self.stages |= active if victims else set()
            if victims and self._number is not None and len(self.stages) > self._number:
                time.sleep(self._rng.uniform(0, 0.2))
                os.kill(self._rng.choice(victims), signal.SIGKILL)
                self.died = True
                return
            time.sleep(0.02)


class Story:
    """Loads of a project, each but the first of which loses one of its victims."""

    def __init__(self, project: Any, victims: Callable[[], list[int]]) -> None:
        print(f"seed {SEED}")
        self.project, self.victims, self.rng = project, victims, random.Random(SEED)
        self.stages: int | None = None
        self.deaths = self.failures = 0

    def load(self, **vars: Any) -> None:
        """Run all models; run them again if one failed."""
        number = None if self.stages is None else self.rng.randrange(max(self.stages, 1))
        death = Death(self.project.session, self.victims, number, self.rng)
        death.start()
        try:
            result = self.project.dbt("run", vars=vars or None, expect_pass=None)
        finally:
            death.over.set()
            death.join()
        self.deaths += death.died
        self.stages = self.stages or len(death.stages)
        if not result.success:
            self.failures += 1
            assert death.died, result.error
            for message in result.messages.values():
                assert "\tat " not in message and "Traceback" not in message, message
                assert len(message.strip().splitlines()) <= 3, message
            self.project.dbt("run", vars=vars or None)

    def end(self) -> None:
        """Some have died: a kill may come too late for its load."""
        print(f"{self.deaths} deaths, {self.failures} runs failed")
        assert self.deaths >= (DEATHS + 1) // 2


def check_figures(project: Any, name: str) -> None:
    """What commits say was written is what the log has of them."""
    logged = project.sql(
        f"select _commit_id, _operation, count(*) from {name}__log where _superseded_by is null group by all"
    )
    commits = project.sql(
        "select commit_id, rows_read, rows_inserted, rows_updated, rows_deleted, rows_unchanged, rows_rejected, rows_duplicate "
        f"from tidemark_commits where entity = '{name}' and kind = 'load' and state = 'completed'"
    )
    found = {(row[0], row[1]): row[2] for row in logged}
    for commit, read, inserted, updated, deleted, unchanged, rejected, duplicate in commits:
        told = dict(zip("IUD", (inserted, updated, deleted), strict=True))
        assert told == {operation: found.get((commit, operation), 0) for operation in "IUD"}
        assert read == inserted + updated + unchanged + rejected + duplicate


def test_extracts(project: Any, cluster: Cluster) -> None:
    """Full and delta extracts, kept intervals and a kept feed."""
    dates.make_entities(project)
    chosen = {name: dates.ENTITIES[name] for name in ("full_plain", "delta_tagged")}
    for name in dates.ENTITIES.keys() - chosen.keys():
        project.remove(f"models/{name}.sql")
    scd2 = "{{ tidemark.scd2(ref('full_plain')) }}"
    project.write("models/kept.sql", f"{{{{ config(materialized='scd2') }}}}\n{scd2}")
    project.write("models/derived.sql", f"{{{{ config(materialized='view') }}}}\n{scd2}")
    feed = "{{ tidemark.change_feed(ref('full_plain')) }}"
    project.write(
        "models/fed.sql", f"{{{{ config(materialized='feed') }}}}\nselect * from ({feed})"
    )
    story = Story(project, cluster.executors)
    known: dict[str, dict[date, Any]] = {name: {} for name in chosen}
    for number in range(DEATHS + 1):
        day = date(2026, 1, number + 1)
        for name, entity in chosen.items():
            known[name][day] = dates.random_extract(story.rng, 200, delta=entity["delta"])
            dates.write_extract(project.root / name / f"{day}.csv", known[name][day], str(number))
        story.load(business_date=str(day))
    for name, entity in chosen.items():
        tagged = name.endswith("tagged")
        dates.check(project, name, known[name], delta=entity["delta"], tagged=tagged)
        check_figures(project, name)
    kept, derived = (Counter(map(str, project.sql(f"select k, a, b, n, _valid_from, _valid_to from {name}"))) for name in ("kept", "derived"))  # fmt: skip
    assert kept == derived
    (rows,) = query_all(project, [call("change_feed", "full_plain")])
    names = [name for name in rows[0].asDict() if name != "_changed_fields"]
    fed = project.sql(f"select {', '.join(names)} from fed")
    assert Counter(map(str, map(tuple, fed))) == Counter(
        str(tuple(row[name] for name in names)) for row in rows
    )
    story.end()


def test_events(project: Any, cluster: Cluster) -> None:
    """Change events and enriched events."""
    story = Story(project, cluster.executors)
    events = random_streams(story.rng, 60, 12, truncates=1)
    entity = EventEntity(project, "changed", COLUMNS, KEY)
    landing, loads = add_events(project, "atomic"), Loads()
    for number, batch in enumerate(deliver(story.rng, events, DEATHS + 1, "in_order")):
        entity.land(batch)
        lines = [a_line(story.rng, number + 1) for _ in range(90)]
        land(landing, f"{number}.tsv", lines)
        loads.load(Batch(str(number), tuple(lines)))
        story.load()
    truth = simulate(events, list(COLUMNS), KEY)
    assert Counter(entity.rows(", ".join(COLUMNS))) == Counter(truth.current.values())
    log = entity.rows("_key_hash, _event_id, _source_operation", "__log")
    assert len(log) == len({*log})
    staged = entity.rows("_event_id", "__staging")
    assert len(staged) == len({*staged}) == len(events)
    assert_same_events(stored_events(project, "atomic"), expected_events(loads.atomic))
    rejects = project.sql("select _raw_payload from atomic__rejects")
    assert len(rejects) == sum(len(each.rejects) for each in loads.outcomes.values())
    story.end()


def test_python(project: Any, cluster: Cluster) -> None:
    """Python models and the engine in the workers, of which Python processes die."""
    columns = {"id": "string", "n": "int"}
    project.write(
        "models/hashed.py",
        """
        from tidemark.hashing import cast_and_hash


        def model(dbt, session):
            dbt.config(materialized="table", file_format="delta")
            lines = session.sparkContext.textFile(dbt.config.get("path"), 2)
            rows = lines.filter(lambda line: line != "id,n").map(lambda line: tuple(line.split(",")))
            return cast_and_hash(rows, columns={"id": "string", "n": "int"}, keys=["id"])
        """,
    )
    by_engine = Entity(project, "by_engine", columns, engine="workers", max_delete_fraction=1)
    location = f"{by_engine.folder}/{{business_date}}.csv"
    deltas = Entity(project, "deltas", columns, engine="workers", extract="delta", location=location)  # fmt: skip
    project.write(
        "models/hashed.yml",
        f"version: 2\nmodels: [{{name: hashed, config: {{path: '{location}'}}}}]\n",
    )
    by_python = Entity(
        project, "by_python", {}, body="select * from {{ ref('hashed') }}", stored_hashes=True,
        location=None, max_delete_fraction=1,
    )  # fmt: skip
    story = Story(project, cluster.python_workers)
    known: dict[date, Any] = {}
    for number in range(DEATHS + 1):
        day = date(2026, 1, number + 1)
        known[day] = {
            f"k{n}": (str(story.rng.randrange(3)),) for n in range(3000) if story.rng.random() < 0.8
        }
        by_engine.extract(
            str(day), "id,n\n" + "".join(f"{key},{row[0]}\n" for key, row in known[day].items())
        )
        story.load(business_date=str(day))
    for entity in (by_engine, by_python, deltas):
        wanted = dates.replay(known, ("n",), delta=entity is deltas)
        history = project.sql(
            f"select _business_date, id, _operation, n from {entity.name}__history"
        )
        assert len(history) == len(wanted.history)
        assert {(r[0], r[1]): (r[2], (str(r[3]),)) for r in history} == {
            key: value[:2] for key, value in wanted.history.items()
        }
        current = {row[0]: (str(row[1]),) for row in entity.rows("id, n")}
        assert current == {key: row for key, (_, row, _) in wanted.current.items()}
        check_figures(project, entity.name)
    assert any(by_workers(by_engine)) and any(by_workers(deltas))
    story.end()
