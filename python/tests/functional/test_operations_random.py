"""Loads and operations in random order: what an entity and the tables kept of it hold is what an oracle holds.

A story is that of one entity: extracts (full, delta, scoped) on dates in any order, or change events in any order. Between
loads are rollbacks, restates, erased keys, house-keeping, columns that come or grow wider, and clones that take the
entity's place or do not. Beside it are kept intervals of one axis and of both, and a kept feed, which follow now and then.
The oracle has what is in force after each commit, and works everything out from there. A story that fails prints its steps.

    TIDEMARK_TEST_SEED=70 TIDEMARK_TEST_STORIES=20 TIDEMARK_TEST_STEPS=12 pytest -m slow …  # of each kind, of seeds 70 to 89
"""

from __future__ import annotations

import json
import os
import random
import re
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
from .feed_reading import call, query_all
from .test_clones import clone, promote, schema_of_clones

pytestmark = pytest.mark.iceberg

SEED = int(os.environ.get("TIDEMARK_TEST_SEED", "7"))
STORIES = int(os.environ.get("TIDEMARK_TEST_STORIES", "1"))
STEPS = int(os.environ.get("TIDEMARK_TEST_STEPS", "9"))
KINDS = ("full", "delta", "scoped", "events")
KEYS = ("a", "b", "c", "d", "e", "o'k", "ü x")
FIRST = date(2026, 1, 1)
KEPT = {
    "scd2": ("scd2", {}, "{{ tidemark.scd2(ref('NAME')) }}"),
    "known": ("scd2", {"axes": ["business", "system"]}, "{{ tidemark.scd2(ref('NAME')) }}"),
    "feed": ("feed", {}, "select * from ({{ tidemark.change_feed(ref('NAME')) }})"),
}

Row = dict[str, Any]
Values = tuple[Any, ...]
State = Mapping[Any, Any]
"""What is in force after a commit: business date → extract, or file → events."""
Version = tuple[str, Values, Any, Any]
"""Key, values, from, to."""


@dataclass(frozen=True)
class Extract:
    """What a business date brought: key → row, None if it could not be used."""

    kind: str
    rows: Mapping[str, Row | None]


@dataclass
class Commit:
    """A commit and what was in force when it was the last."""

    number: int
    kind: str
    state: State


class Story:
    """An entity, the tables kept of it, and what they must be."""

    entity: Entity
    steps: ClassVar[dict[str, int]]

    def __init__(self, project: Any, kind: str, seed: int) -> None:
        self.project, self.kind, self.name = project, kind, f"{kind}_{seed}"
        self.rng = random.Random(f"{kind} {seed}")
        self.columns = ["region", "n", "s"]
        self.types = {"k": "string", "region": "string", "n": "int", "s": "string"}
        self.settings = {name: True for name in self.choices if self.rng.random() < 0.3}
        self.state: State = {}
        self.commits: list[Commit] = []
        self.floor = 0
        self.fed_from: int | None = None
        self.told: list[str] = []
        for suffix, (materialized, meta, body) in KEPT.items():
            config = f"materialized='{materialized}', meta={{'tidemark': {json.dumps(meta)}}}"
            text = f"{{{{ config({config}) }}}}\n{body.replace('NAME', self.name)}"
            project.write(f"models/{self.name}_{suffix}.sql", text)

    choices: tuple[str, ...] = ()

    def go(self) -> None:
        """Take a step, and look at the entity."""
        if self.rng.random() < 0.25:
            self.write(engine=self.rng.choice(["spark", "workers"]))
        if len(self.state) < 2:
            self.load_next()
        else:
            getattr(self, self.rng.choices(list(self.steps), list(self.steps.values()))[0])()
        self.check()

    def write(self, **changed: Any) -> None:
        self.say(f"settings {changed}")
        self.settings |= changed
        self.entity.write(self.types, **changed)

    def say(self, what: str) -> None:
        self.told.append(f"{len(self.told)}. {what}")

    def operate(self, operation: str, **arguments: Any) -> str:
        self.say(f"{operation} {arguments}")
        return " ".join(self.entity.operate(operation, **arguments).output.split())

    # ── steps ─────────────────────────────────────────────────────────────────────────────────────

    def load_next(self) -> None:
        raise NotImplementedError

    def rollback(self) -> None:
        target = self.rng.choice([one for one in self.commits if one.number >= self.floor])
        self.operate("rollback", to=target.number)
        self.state = target.state
        self.note()

    def erase(self) -> None:
        key = self.rng.choice(KEYS)
        self.operate("erase_key", key=json.dumps({"k": key}), confirm=True)
        for commit in self.commits:
            commit.state = self.without(commit.state, key)
        self.state = self.without(self.state, key)
        self.note()

    def clean(self) -> None:
        said = self.operate("clean", retention='{superseded: "0 minutes"}')
        found = re.search(r"changes can be read from commit (\d+) on", said)
        assert found, said
        self.floor = max(self.floor, int(found[1]))
        self.note()

    def keep_house(self) -> None:
        self.operate(self.rng.choice(["compact", "rebuild"]))
        self.note()

    def clone(self) -> None:
        """What goes on in a clone leaves the original as it was; it may take its place, if that has not moved."""
        self.say("clone; there:")
        was = self.state, [*self.commits]
        clone(self.entity)
        with schema_of_clones(self.project):
            self.note()
            self.load_next()
            if self.rng.random() < 0.5:
                self.rollback()
            self.check()
        ahead, (self.state, self.commits) = self.commits, was
        fate = self.rng.choice(["promote", "promote", "move", "drop"])
        self.say(f"back; {fate}")
        if fate == "move":
            self.load_next()
        self.check()
        if fate == "move":
            said = promote(self.entity, expect_pass=False).output
            assert "the original has moved" in " ".join(said.split()), said
        elif fate == "promote":
            promote(self.entity)
            self.state = ahead[-1].state
            self.note({one.number: one.state for one in ahead})
        clone(self.entity, remove=True)

    def note(self, known: Mapping[int, State] | None = None) -> None:
        """Learn the commits that a step made; those that are not known left what is in force now."""
        last = self.commits[-1].number if self.commits else 0
        for number, kind in self.project.sql(
            f"select commit_id, kind from tidemark_commits where entity = '{self.name}' "
            f"and commit_id > {last} order by commit_id"
        ):
            self.commits.append(Commit(number, kind, (known or {}).get(number, self.state)))

    # ── what must be ──────────────────────────────────────────────────────────────────────────────

    def without(self, state: State, key: str) -> State:
        raise NotImplementedError

    def versions(self, state: State) -> set[Version]:
        raise NotImplementedError

    def rows_of(self, state: State) -> dict[str, Values]:
        """Current: key → values."""
        return {key: values for key, values, _, to in self.versions(state) if to is None}

    def changes(self, before: State, after: State) -> list[tuple[str, Any, Any]]:
        """Key, row before, row after of each row that is not the same."""
        old, new = self.rows_of(before), self.rows_of(after)
        keys = [key for key in {*old, *new} if old.get(key) != new.get(key)]
        return [(key, old.get(key), new.get(key)) for key in keys]

    def fed(self, since: int, until: int) -> list[Values]:
        """Commit, key, row before, row after of all changes in (since, until]."""
        pairs = zip([Commit(0, "", {}), *self.commits], self.commits, strict=False)
        return [
            (commit.number, *change)
            for before, commit in pairs
            if since < commit.number <= until
            for change in self.changes(before.state, commit.state)
        ]

    # ── checks ────────────────────────────────────────────────────────────────────────────────────

    def check(self) -> None:
        """Current."""
        rows = self.rows("k", *self.columns)
        self.same("current", rows, [(k, *row) for k, row in self.rows_of(self.state).items()])

    def rows(self, *columns: str, of: str = "") -> list[Values]:
        return list(
            map(tuple, self.project.sql(f"select {', '.join(columns)} from {self.name}{of}"))
        )

    def check_kept(self) -> None:
        """Kept intervals of one axis and of both, and the kept feed, which follow now."""
        self.say("kept tables follow")
        self.project.dbt("run", "--select", *(f"{self.name}_{suffix}" for suffix in KEPT))
        bounds = ("k", "_valid_from", "_valid_to", "_is_current")
        wanted = [(k, *at, at[1] is None, *row) for k, row, *at in self.versions(self.state)]
        self.same("scd2", self.rows(*bounds, *self.columns, of="_scd2"), wanted)
        rows = self.rows("_known_from", "_known_to", *bounds, *self.columns, of="_known")
        for commit in self.commits:
            if commit.number >= self.floor:
                known = [
                    (row[2], tuple(row[6:]), *row[3:5])
                    for row in rows
                    if row[0] <= commit.number and (row[1] is None or commit.number < row[1])
                ]
                self.same(f"known at {commit.number}", known, list(self.versions(commit.state)))
        current = [(row[2], tuple(row[6:])) for row in rows if row[5]]
        self.same("known, current", current, list(self.rows_of(self.state).items()))
        if self.fed_from is None:
            self.fed_from = self.floor  # it begins where changes can be read from
        found = self.rows("_commit_id", "k", "_position", "_operation", "_change", of="_feed")
        self.same("kept feed", self.folded(found), self.fed(self.fed_from, self.commits[-1].number))

    def folded(self, rows: list[Values]) -> list[Values]:
        """Commit, key, row before, row after of the rows of a feed; a commit may have changed a key again."""
        found: dict[Values, list[Any]] = {}
        for number, key, _, operation, text in sorted(rows, key=lambda row: row[:3]):
            before, after = self.images(text, operation)
            ends = found.setdefault((number, key), [before, before])
            self.same(f"feed of {number}, {key}: what was before", [before], [ends[1]])
            ends[1] = after
        return [(*at, *ends) for at, ends in found.items() if ends[0] != ends[1]]

    def images(self, text: str, operation: str) -> list[Values | None]:
        """The row before and after a change of the feed."""
        pair = [json.loads(text)[f"{when}_image"] for when in ("pre", "post")]
        assert operation == {(True, False): "I", (False, True): "D"}.get(tuple(one is None for one in pair), "U")  # fmt: skip
        return [one and tuple(one.get(name) for name in self.columns) for one in pair]

    def check_ranges(self) -> None:
        """Ask feed, net changes and as_of of random ranges and moments."""
        moments = [one for one in self.commits if one.number >= self.floor]
        asked: dict[str, list[Values]] = {}
        for _ in range(3):
            since, until = sorted(self.rng.choices(moments, k=2), key=lambda one: one.number)
            ends = {"from": since.number, "to": until.number}
            changes = self.fed(since.number, until.number)
            asked[call("change_feed", self.name, **ends)] = changes
            asked[call("net_changes", self.name, **ends)] = self.changes(since.state, until.state)
            day = FIRST + timedelta(days=self.rng.randrange(8))
            if self.kind != "events":
                asked[call("as_of", self.name, str(day), known_at=until.number)] = [
                    (key, values)
                    for key, values, start, end in self.versions(until.state)
                    if start <= day and (end is None or day < end)
                ]
        for what, rows in zip(asked, query_all(self.project, [*asked]), strict=True):
            if "as_of" in what:
                found: list[Values] = [
                    (row.k, tuple(row[name] for name in self.columns)) for row in rows
                ]
            elif "net_changes" in what:
                found = [(row.k, *self.images(row._change, row._operation)) for row in rows]
            else:
                names = ("_commit_id", "k", "_position", "_operation", "_change")
                found = self.folded([tuple(row[name] for name in names) for row in rows])
            self.same(what, found, asked[what])

    def same(self, what: str, found: list[Any], wanted: list[Any]) -> None:
        found, wanted = sorted(map(repr, found)), sorted(map(repr, wanted))
        if found != wanted:
            more = [one for one in found if one not in wanted or found.count(one) > 1]
            less = [one for one in wanted if one not in found]
            pytest.fail(f"{what}:\n  found {more[:6]}\n  wanted {less[:6]}", pytrace=False)


class ExtractStory(Story):
    """Extracts on dates in any order."""

    choices = ("soft_delete", "tag_unchanged")
    steps: ClassVar = {
        "load_next": 4, "load_late": 3, "correct": 3, "repeat": 1, "rollback": 3, "restate": 1, "erase": 1, "clean": 1,
        "keep_house": 1, "rehash": 1, "other_columns": 2, "other_kind": 1, "clone": 2,
    }  # fmt: skip

    def __init__(self, project: Any, kind: str, seed: int) -> None:
        super().__init__(project, kind, seed)
        self.files: dict[date, list[tuple[str, Row | str]]] = {}
        self.settings |= self.extract_settings()
        given = {"on_reject": "quarantine", "max_delete_fraction": 1}
        self.entity = Entity(project, self.name, self.types, "k", **given, **self.settings)

    def extract_settings(self) -> dict[str, Any]:
        scope = {"columns": ["region"]} if self.kind == "scoped" else None
        return {"extract": "full" if scope else self.kind, "scope": scope}

    # ── steps ─────────────────────────────────────────────────────────────────────────────────────

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
        self.write(hash=self.rng.choice(["md5", "sha256"]))
        self.operate("rehash")
        self.note()

    def other_columns(self) -> None:
        """A column comes, or one grows wider."""
        if self.types["n"] == "int" and self.rng.random() < 0.5:
            self.types = {**self.types, "n": "bigint"}
        else:
            self.columns = [*self.columns, f"x{len(self.columns)}"]
            self.types = {**self.types, self.columns[-1]: "string"}
        self.write()
        self.rng.choice([self.load_next, self.correct])()

    def other_kind(self) -> None:
        self.kind = self.rng.choice(["full", "delta", "scoped"])
        self.write(**self.extract_settings())
        self.load_next()

    def load(self, day: date, is_new: bool = True) -> None:
        self.land(day, is_new)
        self.entity.run(str(day), allow_deletes=True, allow_rejects=True)
        self.note()

    def land(self, day: date, is_new: bool) -> None:
        """Write the file of a date, and say what will be in force when it is loaded."""
        if is_new or day not in self.files:
            self.files[day] = self.lines()
        texts = [",".join(["k", *self.columns])]
        rows: dict[str, Row | None] = {}
        for key, row in self.files[day]:
            values: Any = {"n": "odd", "region": "N"} if row == "bad" else row
            texts.append(",".join(map(_text, [key, *map(values.get, self.columns)])))
            rows[key] = None if row == "bad" or rows.get(key, row) != row else values
        self.entity.extract(str(day), "\n".join(texts) + "\n")
        kind = self.kind_of(day)
        self.say(f"load {day}, {kind}: {rows}")
        self.state = {**self.state, day: Extract(kind, rows)}

    def kind_of(self, day: date) -> str:
        """What an extract is when it is loaded: a late one is what the one before it is."""
        if not self.state or day > max(self.state):
            return self.kind
        before = max((one for one in self.state if one <= day), default=min(self.state))
        return str(self.state[before].kind)

    def lines(self) -> list[tuple[str, Row | str]]:
        """Key and row of each line of a file, "bad" for a row that cannot be used."""
        rng, lines = self.rng, list[tuple[str, Row | str]]()
        regions = rng.sample(["N", "S", None, ""], 2 if self.kind == "scoped" else 3)
        few = self.kind == "delta" or rng.random() < 0.3
        for key in rng.sample(KEYS, rng.randint(1, 4) if few else rng.randint(3, 7)):
            dice, row = rng.random(), row_of(self, regions)
            lines.append((key, "bad" if dice < 0.05 else row))
            if dice > 0.95:  # once more, with the same values or with others
                lines.append((key, row if dice > 0.97 else {**row, "s": "another"}))
        return lines

    # ── what must be ──────────────────────────────────────────────────────────────────────────────

    def without(self, state: State, key: str) -> State:
        """The scope of an erased row has come all the same, so it stays under a name that is not looked at."""
        return {
            day: Extract(one.kind, {f"~{k}" if k == key else k: row for k, row in one.rows.items()})
            for day, one in state.items()
        }

    def replayed(self, state: State) -> Outcome:
        names, kinds = tuple(self.columns), {day: one.kind for day, one in state.items()}
        rows = {
            day: {k: row and tuple(map(row.get, names)) for k, row in one.rows.items()}
            for day, one in state.items()
        }
        scoped = {day for day, kind in kinds.items() if kind == "scoped"}
        delta = {day: kind == "delta" for day, kind in kinds.items()}
        outcome = replay(rows, names, delta=delta, scope=("region",), scoped=scoped)
        seen = sorted(outcome.history.items(), key=lambda one: one[0])
        outcome.history = {at: one for at, one in seen if not at[1].startswith("~")}
        return outcome

    def versions(self, state: State) -> set[Version]:
        found, last = set(), dict[str, Any]()
        for (day, key), (operation, values, _) in self.replayed(state).history.items() if state else ():  # fmt: skip
            if key in last:
                found.add((key, *last.pop(key), day))
            if operation != "D":
                last[key] = (values, day)
        return found | {(key, values, day, None) for key, (values, day) in last.items()}

    def check(self) -> None:
        """History and current."""
        outcome = self.replayed(self.state)
        sides = ("_business_date", "k", "_operation", "_changed_columns")
        rows = self.rows(*sides, *self.columns, of="__history")
        found = [(*row[:3], row[3] and tuple(row[3]), *row[4:]) for row in rows]
        wanted = [
            (*at, operation, changed, *values)
            for at, (operation, values, changed) in outcome.history.items()
        ]
        self.same("history", found, wanted)
        last = {key: (day, *entry) for (day, key), entry in outcome.history.items()}
        tags = outcome.tagged if self.settings.get("tag_unchanged") else {}
        wanted = [
            (key, day, tags.get(key, operation), *values)
            for key, (day, operation, values, _) in last.items()
            if operation != "D" or self.settings.get("soft_delete")
        ]
        self.same("current", self.rows("k", "_eff_start_date", "_operation", *self.columns), wanted)

    def check_console(self, see: Any) -> None:
        """What `tidemark changes` and `tidemark history` say, without Spark."""
        if self.types["n"] == "bigint" and self.project.file_format == "delta":
            return  # delta-rs does not read what type widening left
        history = self.replayed(self.state).history
        for day in self.rng.sample(sorted(self.state), 2):
            (told,) = see("changes", self.name, "--date", str(day))
            of_day = [entry[0] for at, entry in history.items() if at[0] == day]
            for letter, what in {"I": "inserted", "U": "updated", "D": "deleted"}.items():
                self.same(f"changes of {day}, {what}", [told[what]], [of_day.count(letter)])
        for key in self.rng.sample(sorted({key for _, key in history}), 2):
            told = [
                (one["business_date"], one["operation"], *map(one["values"].get, self.columns))
                for one in see("history", self.name, key)
            ]
            wanted = [(str(day), one[0], *one[1]) for (day, k), one in history.items() if k == key]
            self.same(f"history of {key}", told, wanted)


class EventStory(Story):
    """Change events that come late, twice, and again after a rollback."""

    steps: ClassVar = {
        "load_next": 8,
        "rollback": 3,
        "erase": 1,
        "clean": 1,
        "keep_house": 1,
        "clone": 2,
    }

    def __init__(self, project: Any, kind: str, seed: int) -> None:
        super().__init__(project, kind, seed)
        given = {"on_reject": "quarantine", **self.settings}
        self.entity: EventEntity = EventEntity(project, self.name, self.types, "k", **given)
        self.landed: dict[str, list[Event]] = {}
        self.sent: dict[int, Event] = {}

    def load_next(self) -> None:
        """Load a file that lands, with those that landed and count as not read; some of these are gone."""
        for name in [name for name in self.landed if name not in self.state]:
            if self.rng.random() < 0.2:
                (self.entity.folder / name).unlink()
                del self.landed[name]
        events = self.rng.sample(list(self.sent.values()), min(2, len(self.sent)))
        events = events if self.rng.random() < 0.4 else []
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
        key, row = self.rng.choice(KEYS), row_of(self, ["N", "S", None])
        if self.rng.random() < 0.05:
            row["n"] = "odd"
        make = self.rng.choice([insert, update, update, delete])
        return make({"k": key} if make is delete else {"k": key, **row}, sequence_num=number)

    def without(self, state: State, key: str) -> State:
        def has_key(event: Event) -> bool:
            return key in (event.get("k"), event.get("_before_k"))

        return {name: [e for e in events if not has_key(e)] for name, events in state.items()}

    def versions(self, state: State) -> set[Version]:
        events = {one["_sequence_num"]: one for events in state.values() for one in events}
        truth = simulate([events[number] for number in sorted(events)], self.columns, ["k"])
        return {(key[0], row, since, until) for key, since, until, row in truth.versions}


def row_of(story: Story, regions: list[Any]) -> Row:
    rng = story.rng
    numbers = [None, 1, 2, *([2**40] if story.types["n"] == "bigint" else [])]
    texts = [None, "", "x", 'q"t', "a,b"]
    row = {"region": rng.choice(regions), "n": rng.choice(numbers), "s": rng.choice(texts)}
    return row | {name: rng.choice([None, None, "x", "y"]) for name in story.columns[3:]}


def _text(value: Any) -> str:
    return "" if value is None else '"' + str(value).replace('"', '""') + '"'


@pytest.fixture
def see(module_project: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call a command of the console in this process; its rows."""
    root = module_project.root
    monkeypatch.setenv("TIDEMARK_HOME", str(module_project.home))
    monkeypatch.setenv("TIDEMARK_SCHEMA", module_project.schema)

    def call_it(*arguments: str) -> Any:
        with monkeypatch.context() as patch:
            for name in ("DBT_LOG_PATH", "DBT_TARGET_PATH"):
                patch.setenv(name, str(root / name.lower()))
            where = ("--project-dir", str(root), "--target", "ci", "--json")
            result = CliRunner().invoke(cli.cli, [*arguments, *where])
        assert result.exception is None, (result.output, result.exception)
        return json.loads(result.stdout)

    return call_it


def tell(project: Any, kind: str, seed: int, steps: int, see: Any) -> None:
    story = (EventStory if kind == "events" else ExtractStory)(project, kind, seed)
    try:
        for number in range(steps):
            story.go()
            if number == steps - 1 or story.rng.random() < 0.35:
                story.check_kept()
        story.check_ranges()
        if isinstance(story, ExtractStory):
            story.check_console(see)
    except BaseException:
        commits = [f"{one.number} {one.kind} {[*map(str, one.state)]}" for one in story.commits]
        print(story.name, story.settings, *story.told, *commits, sep="\n")
        raise


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.turn(at)) for at, kind in enumerate(KINDS)]
)
def test_short_story(module_project: Any, kind: str, see: Any) -> None:
    tell(module_project, kind, 1, 4, see)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEED, SEED + STORIES))
@pytest.mark.parametrize("kind", KINDS)
def test_story(module_project: Any, kind: str, seed: int, see: Any) -> None:
    tell(module_project, kind, seed, STEPS, see)
