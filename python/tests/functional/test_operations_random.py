"""Loads and operations in random order: what an entity and the tables kept of it hold is what an oracle holds.

A story is that of one entity: extracts (full, delta, scoped) on dates in any order, or change events in any order. Between
loads are rollbacks, restates, erased keys, house-keeping, columns that come or grow wider, and clones that take the
entity's place or do not. Beside it are kept intervals of one axis and of both, and a kept feed, which follow now and then.
A story that fails prints its steps.

    TIDEMARK_TEST_SEED=70 TIDEMARK_TEST_STORIES=20 TIDEMARK_TEST_STEPS=12 pytest -m slow …  # of each kind, of seeds 70 to 89
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner

from tidemark import cli

from .cdc_oracle import Outcome, replay
from .entities import Entity
from .event_entities import Event, EventEntity, delete, insert, update
from .event_oracle import simulate
from .operation_stories import FIRST, KEYS, Row, State, Story, Values

pytestmark = pytest.mark.iceberg

SEED = int(os.environ.get("TIDEMARK_TEST_SEED", "7"))
STORIES = int(os.environ.get("TIDEMARK_TEST_STORIES", "1"))
STEPS = int(os.environ.get("TIDEMARK_TEST_STEPS", "9"))
KINDS = ("full", "delta", "scoped", "events")


@dataclass(frozen=True)
class Extract:
    """What a business date brought: key → row, None if it could not be used."""

    kind: str
    rows: Mapping[str, Row | None]


class ExtractStory(Story):
    """Extracts on dates in any order."""

    steps: ClassVar = {
        "load_next": 4, "load_late": 3, "correct": 3, "repeat": 1, "rollback": 3, "restate": 1, "erase": 1, "clean": 1,
        "keep_house": 1, "rehash": 1, "other_columns": 2, "other_kind": 1, "clone": 2,
    }  # fmt: skip

    def __init__(self, project: Any, kind: str, seed: int) -> None:
        super().__init__(project, kind, seed)
        self.files: dict[date, list[tuple[str, Row | str]]] = {}
        settings = {name: self.rng.random() < 0.3 for name in ("soft_delete", "tag_unchanged")}
        given = {"on_reject": "quarantine", "max_delete_fraction": 1, **settings, **self.extract()}
        self.entity = Entity(project, self.name, self.types, "k", **given)

    def extract(self) -> dict[str, Any]:
        scope = {"columns": ["region"]} if self.kind == "scoped" else None
        return {"extract": "full" if scope else self.kind, "scope": scope}

    def load_next(self) -> None:
        last = max(self.state, default=FIRST)
        self.load(last + timedelta(days=self.rng.choice([1, 1, 2, 3])))

    def load_late(self) -> None:
        days = [FIRST + timedelta(days=n) for n in range(-1, (max(self.state) - FIRST).days)]
        self.load(self.rng.choice([day for day in days if day not in self.state] or days))

    def correct(self) -> None:
        self.load(self.rng.choice(sorted(self.state)))

    def repeat(self) -> None:
        """The same file once more: whatever the entity stands at, it is what the file says."""
        self.load(self.rng.choice(sorted(self.files)), is_new=False)

    def load_nothing_new(self) -> None:
        day, known = max(self.state), self.state
        self.land(day, is_new=False)
        if self.state == known:
            self.entity.run(str(day), allow_rejects=True)
            self.note()
        self.state = known

    def restate(self) -> None:
        since = self.rng.choice(sorted(self.state))
        states = []
        for day in sorted(day for day in self.state if day >= since):
            self.land(day, is_new=self.rng.random() < 0.3)
            states.append(self.state)
        self.operate("restate", **{"from": since})
        count = len(self.commits)
        self.note()
        for commit, state in zip(self.commits[count:], states, strict=True):
            commit.state = state

    def rehash(self) -> None:
        self.change(hash=self.rng.choice(["md5", "sha256"]))
        self.operate("rehash")
        self.note()

    def other_columns(self) -> None:
        """A column comes, or one grows wider."""
        if self.types["n"] == "int" and self.rng.random() < 0.5:
            self.types["n"] = "bigint"
        else:
            self.columns.append(f"x{len(self.columns)}")
            self.types[self.columns[-1]] = "string"
        self.change()
        self.rng.choice([self.load_next, self.correct])()

    def other_kind(self) -> None:
        self.kind = self.rng.choice(["full", "delta", "scoped"])
        self.change(**self.extract())
        self.load_next()

    def load(self, day: date, is_new: bool = True) -> None:
        self.land(day, is_new)
        self.entity.run(str(day), allow_deletes=True, allow_rejects=True)
        self.note()

    def land(self, day: date, is_new: bool) -> None:
        """Write the file of a date, and say what will be in force when it is loaded."""
        if is_new or day not in self.files:
            self.files[day] = self.lines()
        texts, rows = [",".join(["k", *self.columns])], dict[str, Row | None]()
        for key, row in self.files[day]:
            values: Any = {"n": "odd", "region": "N"} if row == "bad" else row
            texts.append(",".join(map(_text, [key, *map(values.get, self.columns)])))
            rows[key] = None if row == "bad" or rows.get(key, row) != row else values
        self.entity.extract(str(day), "\n".join(texts) + "\n")
        kind = self.kind
        if self.state and day <= max(self.state):  # what the one before it is
            before = max((one for one in self.state if one <= day), default=min(self.state))
            kind = self.state[before].kind
        self.say(f"load {day}, {kind}: {rows}")
        self.state = {**self.state, day: Extract(kind, rows)}

    def lines(self) -> list[tuple[str, Row | str]]:
        """Return key and row of each line of a file, "bad" for a row that cannot be used."""
        rng, lines = self.rng, list[tuple[str, Row | str]]()
        regions = rng.sample(["N", "S", None, ""], 2 if self.kind == "scoped" else 3)
        few = self.kind == "delta" or rng.random() < 0.3
        for key in rng.sample(KEYS, rng.randint(1, 4) if few else rng.randint(3, 7)):
            dice, row = rng.random(), self.row(regions)
            lines.append((key, "bad" if dice < 0.05 else row))
            if dice > 0.95:  # once more, with the same values or with others
                lines.append((key, row if dice > 0.97 else {**row, "s": "another"}))
        return lines

    def is_erasable(self, key: str) -> bool:
        """Say whether other rows tell of each scoped extract that the scope of this one came."""
        states = [self.state, *(commit.state for commit in self.commits)]
        for one in (one for state in states for one in state.values() if one.kind == "scoped"):
            regions = {k: [row["region"]] for k, row in one.rows.items() if row is not None}
            if [*regions.values()].count(regions.get(key, [])) == 1:
                return False
        return True

    def without(self, state: State, key: str) -> State:
        return {
            day: Extract(one.kind, {k: row for k, row in one.rows.items() if k != key})
            for day, one in state.items()
        }

    def replayed(self, state: State) -> Outcome:
        """Return what loading the extracts in order gives."""
        names = tuple(self.columns)
        rows = {
            day: {k: row and tuple(map(row.get, names)) for k, row in one.rows.items()}
            for day, one in state.items()
        }
        delta = {day: one.kind == "delta" for day, one in state.items()}
        scoped = [day for day, one in state.items() if one.kind == "scoped"]
        outcome = replay(rows, names, delta=delta, scope=("region",), scoped=scoped)
        outcome.history = dict(sorted(outcome.history.items(), key=lambda one: one[0]))
        return outcome

    def versions(self, state: State) -> set[Values]:
        found, last = set(), dict[str, Any]()
        history = self.replayed(state).history if state else {}
        for (day, key), (operation, values, _) in history.items():
            if key in last:
                found.add((key, *last.pop(key), day))
            if operation != "D":
                last[key] = (values, day)
        return found | {(key, *version, None) for key, version in last.items()}

    def check(self) -> None:
        """Look at history and current."""
        outcome, settings = self.replayed(self.state), self.entity.settings
        names = ("_business_date", "k", "_operation", "_changed_columns", *self.columns)
        found = [(*row[:3], row[3] and tuple(row[3]), *row[4:]) for row in self.read("__history", *names)]  # fmt: skip
        entries = [(*at, one[0], one[2], *one[1]) for at, one in outcome.history.items()]
        self.same("history", found, entries)
        tags = outcome.tagged if settings["tag_unchanged"] else {}
        last = {key: (key, day, tags.get(key, operation), *values) for day, key, operation, _, *values in entries}  # fmt: skip
        wanted = [row for row in last.values() if row[2] != "D" or settings["soft_delete"]]
        self.same("current", self.read("", "k", "_eff_start_date", "_operation", *self.columns), wanted)  # fmt: skip

    def check_console(self, see: Any) -> None:
        """Look at what `tidemark history` says, without Spark."""
        if self.types["n"] == "bigint" and self.project.file_format == "delta":
            return  # delta-rs does not read what type widening left
        history = self.replayed(self.state).history
        for key in self.rng.sample(sorted({key for _, key in history}), 3):
            told = [(one["business_date"], one["operation"], *map(one["values"].get, self.columns)) for one in see("history", self.name, key)]  # fmt: skip
            wanted = [(str(day), one[0], *one[1]) for (day, k), one in history.items() if k == key]
            self.same(f"history of {key}", told, wanted)


class EventStory(Story):
    """Change events that come late, twice, and again after a rollback."""

    steps: ClassVar = {"load_next": 8, "rollback": 3, "erase": 1, "clean": 1, "keep_house": 1, "clone": 2}  # fmt: skip

    def __init__(self, project: Any, kind: str, seed: int) -> None:
        super().__init__(project, kind, seed)
        self.landed: dict[str, list[Event]] = {}
        self.sent: dict[int, Event] = {}
        self.entity: EventEntity = EventEntity(
            project, self.name, self.types, "k", on_reject="quarantine"
        )

    def load_next(self) -> None:
        """Load a file that lands, with those that landed and count as not read; some of these are gone."""
        for name in [name for name in self.landed if name not in self.state]:
            if self.rng.random() < 0.2:
                (self.entity.folder / name).unlink()
                del self.landed[name]
        again = min(len(self.sent), self.rng.choice([0, 0, 0, 1, 2]))
        events = self.rng.sample(list(self.sent.values()), again)
        for _ in range(self.rng.randint(1, 6)):
            # those that come late find a gap
            number = 10 * len(self.sent) + 10 - self.rng.choice([0, 0, 0, 0, 15, 37])
            if number > 0 and number not in self.sent:
                self.sent[number] = self.event(number)
                events.append(self.sent[number])
        if self.rng.random() < 0.5:
            self.rng.shuffle(events)
        name = self.entity.land(events).name
        self.landed[name] = [one for one in events if one.get("n") != "odd"]
        self.say(f"load {name}: {events}")
        self.entity.run(allow_rejects=True)
        self.state = {**self.landed, **self.state}
        self.note()

    def event(self, number: int) -> Event:
        key, row = self.rng.choice(KEYS), self.row(["N", "S", None])
        if self.rng.random() < 0.05:
            row["n"] = "odd"
        make = self.rng.choice([insert, update, update, delete])
        return make({"k": key, **({} if make is delete else row)}, sequence_num=number)

    def without(self, state: State, key: str) -> State:
        return {name: [one for one in events if key not in (one.get("k"), one.get("_before_k"))] for name, events in state.items()}  # fmt: skip

    def versions(self, state: State) -> set[Values]:
        events = {one["_sequence_num"]: one for events in state.values() for one in events}
        truth = simulate([events[number] for number in sorted(events)], self.columns, ["k"])
        return {(key[0], row, since, until) for key, since, until, row in truth.versions}


def _text(value: Any) -> str:
    return "" if value is None else '"' + str(value).replace('"', '""') + '"'


@pytest.fixture
def see(module_project: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call a command of the console in this process; its rows."""
    project = module_project

    def call_it(*arguments: str) -> Any:
        with monkeypatch.context() as patch:
            patch.setenv("TIDEMARK_HOME", str(project.home))
            patch.setenv("TIDEMARK_SCHEMA", project.schema)
            for name in ("DBT_LOG_PATH", "DBT_TARGET_PATH"):
                patch.setenv(name, str(project.root / name.lower()))
            where = ("--project-dir", str(project.root), "--target", "ci", "--json")
            result = CliRunner().invoke(cli.cli, [*arguments, *where])
        assert result.exception is None, (result.output, result.exception)
        return json.loads(result.stdout)

    return call_it


def tell(project: Any, kind: str, seed: int, steps: int, see: Any) -> None:
    story = (EventStory if kind == "events" else ExtractStory)(project, kind, seed)
    story.tell(steps)
    if isinstance(story, ExtractStory):
        story.check_console(see)


SHORT = [pytest.param(kind, marks=pytest.mark.turn(turn)) for turn, kind in enumerate(KINDS)]


@pytest.mark.parametrize("kind", SHORT)
def test_short_story(module_project: Any, kind: str, see: Any) -> None:
    tell(module_project, kind, 1, 4, see)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEED, SEED + STORIES))
@pytest.mark.parametrize("kind", KINDS)
def test_story(module_project: Any, kind: str, seed: int, see: Any) -> None:
    tell(module_project, kind, seed, STEPS, see)
