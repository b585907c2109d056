"""Loads, rollbacks and restates in random order: feed, net changes and what was known when are those of the oracle.

Three entities go through the same steps, each load of all three is one run of dbt. The seed and the steps are printed
when a check fails; TIDEMARK_TEST_SEED is the seed of the test that is not slow.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from .feed_reading import FeedRow, call, change_json, feed_rows, query_all
from .timeline_oracle import START, Change, Extract, Timeline, apply_feed

pytestmark = pytest.mark.iceberg

SEED = int(os.environ.get("TIDEMARK_TEST_SEED", "20260304"))
KEYS = 60
FIRST = date(2026, 1, 1)
COMPARED, IGNORED = ("a", "b", "n"), ("loaded_at",)
COLUMNS = (*COMPARED, *IGNORED)
ENTITIES: dict[str, dict[str, Any]] = {
    "full_plain": {"extract": "full"},
    "full_soft": {"extract": "full", "tag_unchanged": True, "soft_delete": True},
    "delta_plain": {"extract": "delta"},
}
STORY = ("load", "load", "load", "rollback", "load", "undo_rollback")
"""Steps of the test that is not slow; slow ones go on, or draw theirs."""
WHOLE_STORY = (*STORY, "load", "restate", "rollback_together", "load")


@dataclass
class Entity:
    """An entity of the project beside what it must be.

    Attributes:
        files: Business date → extract that lies there.
        ids: Commit ids, in order of the oracle's commits.
        completed: When each commit was completed, as text.
        steps: The step that made each commit.
    """

    name: str
    timeline: Timeline
    files: dict[date, Extract] = field(default_factory=dict)
    ids: list[int] = field(default_factory=list)
    completed: list[str] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)

    @property
    def delta(self) -> bool:
        return self.timeline.delta

    @property
    def soft(self) -> bool:
        return "soft_delete" in ENTITIES[self.name.rpartition("_s")[0]]


class History:
    """The project, and the steps that it has gone through."""

    def __init__(self, project: Any, seed: int) -> None:
        self.project = project
        self.rng = random.Random(seed)
        self.told = [f"seed {seed}"]
        self.wrong: list[str] = []
        self.step = 0
        self.entities = [
            Entity(
                f"{name}_s{seed}",
                Timeline(COMPARED, IGNORED, delta=settings["extract"] == "delta"),
            )
            for name, settings in ENTITIES.items()
        ]
        self._write_models()

    # ── steps ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def take(self, kind: str) -> None:
        """One step, then a look at current and the commits."""
        self.step += 1
        steps: dict[str, Callable[[], None]] = {
            "load": self._load,
            "rollback": lambda: self._rollback(self._any_target),
            "undo_rollback": lambda: self._rollback(self._undone_target),
            "rollback_together": self._rollback_together,
            "restate": self._restate,
        }
        steps[kind]()
        for entity in self.entities:
            self._note_commits(entity)
            self._check_current(entity)
        if self.wrong:  # what comes after would only be wrong too
            self.report()

    def draw(self) -> str:
        """A random step."""
        kinds = ("load", "rollback", "undo_rollback", "rollback_together", "restate")
        return "load" if self.step < 2 else self.rng.choices(kinds, (12, 3, 2, 2, 2))[0]

    def _load(self) -> None:
        loaded = max(max(e.timeline.loaded_dates(), default=FIRST) for e in self.entities)
        days = [FIRST + timedelta(days=number) for number in range(7)]
        day = self.rng.choice([*days, loaded + timedelta(days=1), loaded + timedelta(days=1)])
        for entity in self.entities:
            same = day in entity.files and self.rng.random() < 0.3
            if not same:
                self._land(entity, day)
            self._tell(f"load {day}{' as it was' if same else ''}", entity)
            entity.timeline.load(day, entity.files[day])
        names = [entity.name for entity in self.entities]
        self.project.dbt("run", "--select", *names, vars={"business_date": str(day)})

    def _rollback(self, choose: Callable[[Entity], int]) -> None:
        entity = self.rng.choice(self.entities)
        target = choose(entity)
        days = [day for day in entity.files if entity.timeline.moment(day) == target]
        by_date = bool(days) and self.rng.random() < 0.5
        to = str(days[0]) if by_date else entity.ids[target]
        self._tell(f"rollback to {target} ({to})", entity)
        self._operate("rollback", entity=entity.name, to=to)
        entity.timeline.rollback(target)

    def _any_target(self, entity: Entity) -> int:
        return self.rng.randrange(len(entity.ids))

    def _undone_target(self, entity: Entity) -> int:
        """A commit that a rollback has undone, if there is one."""
        live = entity.timeline.state().live
        undone = [number for number in range(len(entity.ids)) if number not in live]
        return self.rng.choice(undone) if undone else self._any_target(entity)

    def _rollback_together(self) -> None:
        """All entities to the same step, if all took part in every step since; else one alone."""
        last = self.step - 1
        while last > 1 and all(last in entity.steps for entity in self.entities):
            last -= 1
        shared = range(last, self.step - 1)
        if not shared:
            self._rollback(self._any_target)
            return
        step = self.rng.choice(shared)
        targets = [max(n for n, s in enumerate(e.steps) if s <= step) for e in self.entities]
        leader = self.rng.randrange(len(self.entities))
        entity = self.entities[leader]
        self._tell(f"rollback together to step {step} ({targets})", entity)
        self._operate("rollback", entity=entity.name, to=entity.ids[targets[leader]], together=True)
        for each, target in zip(self.entities, targets, strict=True):
            each.timeline.rollback(target)

    def _restate(self) -> None:
        entity = self.rng.choice(self.entities)
        loaded = sorted(entity.timeline.loaded_dates())
        since = self.rng.choice(loaded)
        corrected = [day for day in loaded if self.rng.random() < 0.4]
        for day in corrected:
            self._land(entity, day)
        self._tell(f"restate from {since}, new files of {list(map(str, corrected))}", entity)
        self._operate("restate", **{"entity": entity.name, "from": str(since)})
        entity.timeline.restate(since, entity.files)

    # ── the project ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _write_models(self) -> None:
        models = []
        for entity, settings in zip(self.entities, ENTITIES.values(), strict=True):
            self.project.write(f"models/{entity.name}.sql", "{{ tidemark.extract() }}")
            meta = {
                **settings,
                "location": f"{self.project.root}/{entity.name}/{{business_date}}.csv",
                "on_reject": "quarantine",
                "max_reject_fraction": 1,
                "ignore": list(IGNORED),
                "max_delete_fraction": 1,
            }
            models.append(
                {
                    "name": entity.name,
                    "config": {
                        "materialized": "cdc",
                        "unique_key": "k",
                        "meta": {"tidemark": meta},
                    },
                    "columns": [
                        {"name": name, "data_type": "int" if name == "n" else "string"}
                        for name in ("k", *COLUMNS)
                    ],
                }
            )
        text = json.dumps({"version": 2, "models": models})
        (Path(self.project.root) / f"models/{self.entities[0].name}.yml").write_text(text)

    def _land(self, entity: Entity, day: date) -> None:
        extract: dict[str, Any] = {}
        for number in range(KEYS):
            dice = self.rng.random()
            if dice < (0.5 if entity.delta else 0.25):
                continue
            extract[f"k{number}"] = None if dice > 0.96 else self._row()
        entity.files[day] = extract
        folder = Path(self.project.root) / entity.name
        folder.mkdir(exist_ok=True)
        lines = [",".join(("k", *COLUMNS))]
        for key, row in extract.items():
            values = row if row is not None else ("x", "z", "not a number", None)
            lines.append(",".join([key, *("" if v is None else f'"{v}"' for v in values)]))
        (folder / f"{day}.csv").write_text("\n".join(lines) + "\n")

    def _row(self) -> tuple[Any, ...]:
        stamp = None if self.rng.random() < 0.1 else f"step {self.step}"
        return (
            self.rng.choice(["x", "y"]),
            self.rng.choice([None, "", "z"]),
            self.rng.choice([1, 2]),
            stamp,
        )

    def _operate(self, operation: str, **arguments: Any) -> None:
        self.project.dbt("run-operation", operation, "--args", json.dumps(arguments))

    def _tell(self, what: str, entity: Entity) -> None:
        line = f"{self.step}. {entity.name}: {what}"
        self.told.append(line)

    # ── checks ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def report(self) -> None:
        """Fail with the steps, if anything was wrong."""
        if self.wrong:
            pytest.fail("\n".join([*self.told, "", *self.wrong[:90]]), pytrace=False)

    def _compare(self, what: str, found: Any, wanted: Any) -> None:
        """Note where two sets or dicts differ."""
        if found == wanted:
            return
        differing = _different(found, wanted)
        self.wrong.append(f"{what}: {len(differing)} wrong (found, wanted), such as")
        self.wrong += [f"    {line}" for line in differing[:2]]

    def _note_commits(self, entity: Entity) -> None:
        """Learn the ids of the commits that the step made."""
        rows = self.project.sql(
            "select commit_id, kind, business_date, cast(completed_at as string) as completed "
            f"from tidemark_commits where entity = '{entity.name}' order by commit_id"
        )
        known, commits = len(entity.ids), entity.timeline.commits
        new = [row for row in rows if row.commit_id > max(entity.ids, default=0)]
        if len(new) == 1 + len(commits) - known and new[-1].kind == "rollback":
            # a rollback with nothing to undo may be recorded
            entity.timeline.repeat("rollback")
        found = [
            ("rollback" if row.kind == "rollback" else "load", row.business_date) for row in new
        ]
        wanted = [(commit.kind, commit.day) for commit in commits[known:]]
        if [kind for kind, _ in found] != [kind for kind, _ in wanted] or any(
            kind == "load" and day != other
            for (kind, day), (_, other) in zip(found, wanted, strict=True)
        ):
            self.wrong.append(f"{entity.name}: new commits are {found}, not {wanted}")
            return
        entity.ids += [row.commit_id for row in new]
        entity.completed += [row.completed for row in new]
        entity.steps += [self.step] * len(new)

    def _check_current(self, entity: Entity) -> None:
        rows = self.project.sql(f"select * from {entity.name}")
        wanted = entity.timeline.current_rows()
        if not entity.soft:
            wanted = {key: row for key, row in wanted.items() if row[0] != "D"}
        else:
            tags = entity.timeline.tags()
            wanted = {key: (tags.get(key, op), row, day) for key, (op, row, day) in wanted.items()}
        found = {
            row.k: (row._operation, tuple(row[name] for name in COLUMNS), row._eff_start_date)
            for row in rows
        }
        assert len(found) == len(rows)
        self._compare(f"step {self.step}, current of {entity.name}", found, wanted)

    def check_history(self, entity: Entity) -> None:
        """History, loaded dates and states of commits, now."""
        rows = self.project.sql(f"select * from {entity.name}__history")
        found = {
            (row._business_date, row.k): (
                row._operation,
                tuple(row[name] for name in COLUMNS),
                None if row._changed_columns is None else tuple(row._changed_columns),
            )
            for row in rows
        }
        assert len(found) == len(rows)
        wanted = {
            at: (entry.operation, entry.values, entry.changed)
            for at, entry in entity.timeline.history().items()
        }
        self._compare(f"history of {entity.name}", found, wanted)
        states = {
            row.commit_id: (row.state, row.business_date)
            for row in self.project.sql(
                "select commit_id, state, business_date from tidemark_commits "
                f"where entity = '{entity.name}' and kind not in ('rollback', 'compact')"
            )
        }
        live = entity.timeline.state().live
        numbers = {
            id: n for n, id in enumerate(entity.ids) if entity.timeline.commits[n].kind == "load"
        }
        self._compare(
            f"states of {entity.name}",
            {numbers[id]: state for id, (state, _) in states.items()},
            {n: "completed" if n in live else "rolled_back" for n in numbers.values()},
        )
        self._compare(
            f"loaded dates of {entity.name}",
            {day for state, day in states.values() if state == "completed"},
            entity.timeline.loaded_dates(),
        )

    def check_ranges(self) -> None:
        """Feed, net changes and earlier states of every entity."""
        checks: list[tuple[str, Callable[[list[Any]], None]]] = []
        for entity in self.entities:
            checks += self._range_checks(entity)
        answers = query_all(self.project, [template for template, _ in checks])
        for (_, check), rows in zip(checks, answers, strict=True):
            check(rows)

    def _range_checks(self, entity: Entity) -> Iterable[tuple[str, Callable[[list[Any]], None]]]:
        timeline, rng = entity.timeline, self.rng
        adjacent = [(number - 1, number) for number in range(len(entity.ids))]
        drawn = []
        for _ in range(4):
            since = rng.randrange(START, timeline.last)
            drawn.append((since, rng.randrange(max(since, 0), len(entity.ids))))
        for since, until in [*adjacent, (START, timeline.last), *drawn]:
            moments = {"from": self._moment(entity, since), "to": self._moment(entity, until)}
            told = f"{entity.name} ({since}, {until}] = {moments}"

            def check_feed(
                rows: list[Any], since: int = since, until: int = until, told: str = told
            ) -> None:
                self._check_feed(f"feed of {told}", entity, rows, since, until)

            yield call("change_feed", entity.name, **moments), check_feed
            if (since, until) in adjacent:
                continue

            def check_net(
                rows: list[Any], since: int = since, until: int = until, told: str = told
            ) -> None:
                wanted = timeline.net_changes(since, until)
                self._check_changes(f"net changes of {told}", entity, rows, wanted)

            yield call("net_changes", entity.name, **moments), check_net
        days = [FIRST + timedelta(days=number) for number in range(9)]
        for known_at in range(len(entity.ids)):
            day = rng.choice(days)

            def check_as_of(rows: list[Any], known_at: int = known_at, day: date = day) -> None:
                found = {row.k: tuple(row[name] for name in COLUMNS) for row in rows}
                assert len(found) == len(rows)
                self._compare(
                    f"{entity.name} as of {day}, known at {known_at}",
                    found,
                    timeline.as_of(day, known_at),
                )

            yield call("as_of", entity.name, str(day), known_at=entity.ids[known_at]), check_as_of

    def _moment(self, entity: Entity, number: int) -> Any:
        """One of the ways to name the moment after a commit."""
        if number == START:
            return None
        days = [day for day in entity.files if entity.timeline.moment(day) == number]
        ways: list[Any] = [entity.ids[number], str(entity.ids[number]), entity.completed[number]]
        ways += map(str, days)
        ways += [None] if number == entity.timeline.last else []
        return self.rng.choice(ways)

    def _check_feed(
        self, what: str, entity: Entity, rows: list[Any], since: int, until: int
    ) -> None:
        changes = self._check_changes(what, entity, rows, entity.timeline.feed(since, until))
        if changes is not None:
            after = apply_feed(entity.timeline.current(since), changes)
            self._compare(f"{what}, applied", after, entity.timeline.current(until))

    def _check_changes(
        self, what: str, entity: Entity, rows: list[Any], wanted: list[Change]
    ) -> list[Change] | None:
        """Compare rows with changes; the rows as changes, in their order, if they are right."""
        found = feed_rows(rows, ["k"])
        before = len(self.wrong)
        numbers = {id: number for number, id in enumerate(entity.ids)}
        if any(
            row.position is None for row in found
        ):  # net changes: one row per key, the commit by itself
            self._compare(
                f"{what}, without commits",
                {row.key[0]: (row.operation, row.change) for row in found},
                {change.key: _row_of(change) for change in wanted},
            )
            assert len({row.key for row in found}) == len(found), what
            if len(self.wrong) == before:
                self._compare(
                    f"{what}, commits",
                    {row.key[0]: numbers.get(row.commit_id) for row in found},
                    {change.key: change.commit for change in wanted},
                )
        else:
            keyed = {(numbers.get(row.commit_id), row.key[0]): row for row in found}
            assert len(keyed) == len(found), what
            self._compare(
                what,
                {at: (row.operation, row.change) for at, row in keyed.items()},
                {(change.commit, change.key): _row_of(change) for change in wanted},
            )
        if len(self.wrong) > before:
            return None
        by_key = {(change.commit, change.key): change for change in wanted}
        changes = [by_key[numbers[row.commit_id], row.key[0]] for row in found]
        for change, row in zip(changes, found, strict=True):
            self._check_row(f"{what}, {change.commit}, {change.key}", change, row)
        return changes

    def _check_row(self, what: str, change: Change, row: FeedRow) -> None:
        if row.position not in (1, None) or not row.other["_key_hash"]:
            self.wrong.append(f"{what}: {row}")
        if change.event_type == "update":
            changed = set(row.change["change"])
            if not changed & set(COMPARED) <= set(row.changed_columns or ()) <= changed:
                self.wrong.append(f"{what}: _changed_fields {row.changed_columns}, {changed=}")


def _row_of(change: Change) -> tuple[str, dict[str, Any]]:
    """(operation, `_change`)"""

    def named(values: Sequence[Any] | None) -> dict[str, Any] | None:
        return None if values is None else dict(zip(COLUMNS, values, strict=True))

    wanted = change_json({"k": change.key}, named(change.pre), named(change.post))
    return {"insert": "I", "update": "U", "delete": "D"}[change.event_type], wanted


def _different(found: Any, wanted: Any) -> list[str]:
    if isinstance(found, dict):
        keys = sorted({*found, *wanted}, key=str)
        return [
            f"{key}: {found.get(key, 'none')}, {wanted.get(key, 'none')}"
            for key in keys
            if found.get(key, "none") != wanted.get(key, "none")
        ]
    return [f"{item}" for item in sorted(found ^ wanted, key=str)]


@pytest.mark.parametrize(
    ("seed", "story"),
    [
        pytest.param(SEED, STORY, id=f"{SEED}", marks=pytest.mark.slow),
        pytest.param(SEED, WHOLE_STORY, id=f"{SEED}_whole", marks=pytest.mark.slow),
        *(
            pytest.param(seed, None, id=f"{seed}", marks=pytest.mark.slow)
            for seed in (101, 102, 103, 104)
        ),
    ],
)
def test_random_timeline(module_project: Any, seed: int, story: Sequence[str] | None) -> None:
    history = History(module_project, seed)
    for number in range(len(WHOLE_STORY)):
        if story is None or number < len(story):
            history.take(history.draw() if story is None else story[number])
    for entity in history.entities:
        history.check_history(entity)
    history.check_ranges()
    history.report()
