"""Random stories of tables whose files each hold a range of key hashes, down to a few rows: what the oracle says, in few files.

Full extracts and deltas go by both engines, on dates in and out of order; between them operations, and others who lay the files out
anew, also while the engine in the workers is about to commit what it made of them. Its tasks are done in this process, where what is
worth a file can be set.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import deltalake
import pytest

from dbt.adapters.tidemark.tables import TablesAdapter
from tidemark.engine import ranges
from tidemark.engine.room import Room
from tidemark.engine.task import Outcome
from tidemark.spark.delta import log, target, worker, worker_events

from . import test_engine_events
from .test_timeline_random import COLUMNS, COMPARED, FIRST, IGNORED, Entity, History
from .timeline_oracle import Timeline

pytestmark = pytest.mark.slow

KEYS = [f"k{number}" for number in range(90)]
ENTITIES: dict[str, dict[str, Any]] = {
    "full": {"extract": "full"},
    "told": {"extract": "full", "soft_delete": True, "hash": "sha256", "ignore": []},
    "delta": {"extract": "delta"},
}
LAID_OUT = (
    "insert overwrite {table} select /*+ repartition({files}) */ * from {table}",
    "insert overwrite {table} select /*+ repartition_by_range({files}, _key_hash) */ * from {table}",
    "update {table} set _operation = _operation where hash(k) % 5 = 0",
    "merge into {table} as t using (select * from {table} where hash(k) % 5 = 1) as s on t.k = s.k when matched then update set *",
)
"""What another writer does to the files of current, of whose rows none changes."""


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Current is in ranges of six rows, and Spark merges into it however small it is."""
    sizes = {"ROWS_OF_ONE_FILE": 10, "ROWS_OF_A_RANGE": 6, "MOST_RANGES": 16, "_MOST_KEYS": 12}
    for name, value in sizes.items():
        monkeypatch.setattr(ranges, name, value)

    def run_here(_: Any, task: Callable[[Room], Any], declined: Any = Outcome) -> Any:
        try:
            return task(Room(2, str(tmp_path / "task")))
        except Exception as error:
            return declined(f"it failed ({type(error).__name__})")

    for module in (worker, worker_events):
        monkeypatch.setattr(module, "run_task", run_here)
    monkeypatch.setattr(TablesAdapter, "listed_bytes", lambda *_: None)


class Ranged(Entity):
    @property
    def soft(self) -> bool:
        return "soft_delete" in ENTITIES[self.name.rpartition("_s")[0]]


class Story(History):
    """Entities whose current is in ranges.

    Attributes:
        engine: By which a step loads.
        changed: How many rows of current each entity's last load changed.
        by_ranges: How many loads wrote a part of the files of current.
    """

    def __init__(self, project: Any, seed: int) -> None:
        super().__init__(project, seed)
        self.engine, self.by_ranges = "workers", 0
        self.changed: dict[str, int] = {}
        self.entities = [Ranged(f"{name}_s{seed}", _timeline(name)) for name in ENTITIES]
        Path(project.root, "models/ranged.yml").write_text(json.dumps({"version": 2, "models": [
            self._model(entity, settings) for entity, settings in zip(self.entities, ENTITIES.values(), strict=True)
        ]}))  # fmt: skip

    def _write_models(self) -> None:
        """None but those of this story."""

    def _model(self, entity: Entity, settings: dict[str, Any]) -> dict[str, Any]:
        self.project.write(f"models/{entity.name}.sql", "{{ tidemark.extract() }}")
        location = f"{self.project.root}/{entity.name}/{{business_date}}.csv"
        meta = {"ignore": list(IGNORED), **settings, "location": location, "on_reject": "quarantine", "max_reject_fraction": 1, "max_delete_fraction": 1}  # fmt: skip
        types = {name: "int" if name == "n" else "string" for name in ("k", *COLUMNS)}
        return {
            "name": entity.name,
            "config": {"materialized": "cdc", "unique_key": "k", "meta": {"tidemark": meta}},
            "columns": [{"name": name, "data_type": kind} for name, kind in types.items()],
        }

    # ── steps ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def go(self) -> None:
        """One step, then a look at current, its files and the commits."""
        self.step += 1
        self.engine = "spark" if self.rng.random() < 0.15 else "workers"
        kinds = {"load": 30, "lay_out": 5, "rollback": 2, "restate": 2, "compact": 2}
        kind = self.rng.choices(list(kinds), list(kinds.values()))[0] if self.step > 2 else "load"
        before = {entity.name: self._files(entity) for entity in self.entities} if self.step > 1 else {}  # fmt: skip
        steps: dict[str, Callable[[], None]] = {
            "load": self._load,
            "lay_out": self._lay_out,
            "rollback": lambda: self._rollback(self._any_target),
            "restate": self._restate,
            "compact": self._compact,
        }
        steps[kind]()
        for entity in self.entities:
            self._note_commits(entity)
            self._check_current(entity)
            if kind == "load" and before:
                self._check_files(entity, before[entity.name])
        self.report()

    def _load(self) -> None:
        last = max(max(entity.timeline.loaded_dates(), default=FIRST) for entity in self.entities)
        day = last + timedelta(days=1)
        if self.rng.random() < 0.15:
            day = FIRST + timedelta(days=self.rng.randrange((day - FIRST).days))
        for entity in self.entities:
            before = entity.timeline.current_rows() if entity.timeline.commits else {}
            if day not in entity.files or self.rng.random() < 0.7:
                self._land(entity, day)
            self._tell(f"load {day} by {self.engine}", entity)
            entity.timeline.load(day, entity.files[day])
            after = entity.timeline.current_rows()
            self.changed[entity.name] = sum(before.get(key) != after.get(key) for key in {*before, *after})  # fmt: skip
        names = [entity.name for entity in self.entities]
        told = {"business_date": str(day), "tidemark__engine": self.engine, "allow_deletes": True}
        self.project.dbt("run", "--select", *names, vars=told)

    def _lay_out(self) -> None:
        """Another writer lays out the files of one entity."""
        entity, files = self.rng.choice(self.entities), self.rng.choice([1, 5, 12, 30, 60])
        statement = self.rng.choice(LAID_OUT).format(table=entity.name, files=files)
        self._tell(statement, entity)
        self.project.sql(statement)

    def _compact(self) -> None:
        entity = self.rng.choice(self.entities)
        self._tell("compact", entity)
        self._operate("compact", entity=entity.name)

    def _land(self, entity: Entity, day: date) -> None:
        """Most extracts change a few rows, some all, few have none, or one that cannot be used."""
        rng, dice = self.rng, self.rng.random()
        now = entity.timeline.current() if entity.timeline.commits else {}
        extract: dict[str, Any] = {}
        if dice < 0.15 or not now:
            extract = {key: self._row() for key in KEYS if rng.random() < 0.7}
        elif dice < 0.95:
            extract = {} if entity.delta else {key: self._seen(entity, now[key]) for key in now}
            for key in rng.sample(KEYS, rng.choice([0, 1, 1, 2, 4])):
                if key in extract and rng.random() < 0.4:
                    del extract[key]
                else:
                    extract[key] = self._row()
        if extract and rng.random() < 0.1:
            extract[rng.choice(list(extract))] = None
        entity.files[day] = extract
        self._write_extract(entity, day)

    def _seen(self, entity: Entity, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """A row as it comes again: what is ignored is another."""
        return row if entity.timeline.compared == COLUMNS else (*row[:-1], f"step {self.step}")

    def _write_extract(self, entity: Entity, day: date) -> None:
        folder = Path(self.project.root) / entity.name
        folder.mkdir(exist_ok=True)
        lines = [",".join(("k", *COLUMNS))]
        for key, row in entity.files[day].items():
            values = row if row is not None else ("x", "z", "not a number", None)
            lines.append(",".join([key, *("" if v is None else f'"{v}"' for v in values)]))
        (folder / f"{day}.csv").write_text("\n".join(lines) + "\n")

    # ── checks ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _note_commits(self, entity: Entity) -> None:
        """Learn the ids of the commits of loads and rollbacks that the step made."""
        rows = self.project.sql(
            f"select commit_id, kind from tidemark_commits where entity = '{entity.name}' "
            "and kind <> 'compact' order by commit_id"
        )
        commits = entity.timeline.commits
        if len(rows) == len(commits) + 1 and rows[-1].kind == "rollback":
            entity.timeline.repeat("rollback")  # with nothing to undo
        found = ["rollback" if row.kind == "rollback" else "load" for row in rows]
        self._compare(f"commits of {entity.name}", found, [commit.kind for commit in commits])
        entity.ids = [row.commit_id for row in rows]

    def _check_current(self, entity: Entity) -> None:
        """Current, read without Spark."""
        table = deltalake.DeltaTable(self._folder(entity))
        names = ("k", "_operation", "_eff_start_date", *COLUMNS)
        query = f"select {', '.join(names)} from t"
        read = deltalake.QueryBuilder().register("t", table).execute(query).read_all()
        rows = list(zip(*(read.column(name).to_pylist() for name in names), strict=True))
        found = {key: (operation, tuple(values), day) for key, operation, day, *values in rows}
        assert len(found) == len(rows)
        wanted = entity.timeline.current_rows()
        if not entity.soft:
            wanted = {key: row for key, row in wanted.items() if row[0] != "D"}
        self._compare(f"step {self.step}, current of {entity.name}", found, wanted)

    def _check_files(self, entity: Entity, before: set[str]) -> None:
        """What the engine wrote are ranges, and not many; of a few rows a few."""
        after = self._files(entity)
        gone, came = before - after, after - before
        if not gone or not all("workers-" in file for file in came):
            return
        if gone == before:
            assert len(after) <= ranges.MOST_RANGES
            return
        self.by_ranges += 1
        assert len(gone) <= self.changed[entity.name]
        assert len(came) <= len(gone)

    def _folder(self, entity: Entity) -> Path:
        return Path(self.project.home) / "warehouse" / f"{self.project.schema}.db" / entity.name

    def _files(self, entity: Entity) -> set[str]:
        return set(deltalake.DeltaTable(self._folder(entity)).file_uris())


def _timeline(name: str) -> Timeline:
    settings = ENTITIES[name]
    ignored = IGNORED if settings.get("ignore", IGNORED) else ()
    compared = COMPARED if ignored else COLUMNS
    return Timeline(compared, ignored, delta=settings["extract"] == "delta")


class Racer:
    """Another writer, who comes between what the engine made of current and its commit."""

    def __init__(self, project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project, self.turn, self.came = project, 0, 0
        self.table: target.Table = ("", "")
        replace, commit = worker.WorkerRows.replace, log.commit

        def replace_late(rows: worker.WorkerRows) -> int | None:
            self.table, self.turn = rows.replaced, self.turn + 1
            if self.turn % 8 == 3:
                self.write()
            return replace(rows)

        def commit_late(jvm: Any, transaction: Any, actions: Any, mode: str) -> int:
            if mode == "Overwrite" and self.turn % 8 == 7:
                self.write()
            return commit(jvm, transaction, actions, mode)

        monkeypatch.setattr(worker.WorkerRows, "replace", replace_late)
        monkeypatch.setattr(worker, "commit", commit_late)

    def write(self) -> None:
        self.came += 1
        name = ".".join(f"`{part}`" for part in self.table)
        self.project.query(f"update {name} set _operation = _operation where hash(k) % 3 = 1")


@pytest.mark.usefixtures("small_ranges")
@pytest.mark.parametrize("seed", [1, 2])
def test_random_story(module_project: Any, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    story, racer = Story(module_project, seed), Racer(module_project, monkeypatch)
    for _ in range(25):
        story.go()
    for entity in story.entities:
        story.check_history(entity)
    story.report()
    assert story.by_ranges > 1
    assert racer.came > 2


@pytest.mark.usefixtures("small_ranges")
def test_change_events(module_project: Any) -> None:
    """As by Spark SQL, with changes of keys, and where batches go by the one and the other in turn."""
    test_engine_events.test_random_batches(module_project, 9, {"soft_delete": True, "hash": "sha256"})  # fmt: skip
    test_engine_events.test_canonical_events(module_project, "offset", 3)
