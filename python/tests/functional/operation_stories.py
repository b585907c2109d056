"""A story of an entity: steps in random order, and what the entity and the tables kept of it must hold after each.

What is in force after each commit is known (`State`), and all the rest is worked out from there.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, ClassVar

import pytest

from .entities import Entity
from .feed_reading import call, query_all
from .test_clones import clone, promote, schema_of_clones

KEYS = ("a", "b", "c", "d", "e", "o'k", "ü x")
FIRST = date(2026, 1, 1)
KEPT = {
    "scd2": ("scd2", {}, "{{ tidemark.scd2(ref('NAME')) }}"),
    "known": ("scd2", {"axes": ["business", "system"]}, "{{ tidemark.scd2(ref('NAME')) }}"),
    "feed": ("feed", {}, "select * from ({{ tidemark.change_feed(ref('NAME')) }})"),
}
FEED = ("_commit_id", "k", "_position", "_operation", "_change")

Row = dict[str, Any]
Values = tuple[Any, ...]
State = Mapping[Any, Any]
"""What is in force: business date → extract, or file → events."""


@dataclass
class Commit:
    """A commit, and what was in force when it was the last."""

    number: int
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
        self.state: State = {}
        self.commits: list[Commit] = []
        self.floor, self.fed_from = 0, -1
        self.told = [self.name]
        for suffix, (materialized, meta, body) in KEPT.items():
            config = f"materialized='{materialized}', meta={{'tidemark': {json.dumps(meta)}}}"
            text = f"{{{{ config({config}) }}}}\n{body.replace('NAME', self.name)}"
            project.write(f"models/{self.name}_{suffix}.sql", text)

    def tell(self, steps: int) -> None:
        """Take so many steps, and look at the entity after each, at what is kept of it after some."""
        try:
            for number in range(steps):
                if self.rng.random() < 0.25:
                    self.change(engine=self.rng.choice(["spark", "workers"]))
                names, weights = list(self.steps), list(self.steps.values())
                step = self.rng.choices(names, weights)[0] if len(self.state) > 1 else "load_next"
                getattr(self, step)()
                self.check()
                if number == steps - 1 or self.rng.random() < 0.35:
                    self.check_kept()
            self.check_ranges()
        except BaseException:
            commits = [f"{one.number} {[*map(str, one.state)]}" for one in self.commits]
            print(*self.told, *commits, sep="\n")
            raise

    def say(self, what: str) -> None:
        self.told.append(f"{len(self.told)}. {what}")

    def change(self, **settings: Any) -> None:
        self.say(f"settings {settings}")
        self.entity.write(self.types, **settings)

    def row(self, regions: list[Any]) -> Row:
        choose = self.rng.choice
        numbers = [None, 1, 2, *([2**40] if self.types["n"] == "bigint" else [])]
        row = {"region": choose(regions), "n": choose(numbers), "s": choose([None, "", "x", 'q"t', "a,b"])}  # fmt: skip
        return row | {name: choose([None, None, "x", "y"]) for name in self.columns[3:]}

    # what the flows have of their own

    def load_next(self) -> None:
        raise NotImplementedError

    def load_nothing_new(self) -> None:
        """Load what is there as it is, which does not move the entity."""

    def versions(self, state: State) -> set[Values]:
        """Return key, values, from, to of each version."""
        raise NotImplementedError

    def without(self, state: State, key: str) -> State:
        raise NotImplementedError

    def is_erasable(self, key: str) -> bool:
        return True

    # steps

    def operate(self, operation: str, **arguments: Any) -> str:
        self.say(f"{operation} {arguments}")
        said = self.entity.operate(operation, **arguments).output
        return " ".join(said.split())

    def rollback(self) -> None:
        target = self.rng.choice([one for one in self.commits if one.number >= self.floor])
        self.operate("rollback", to=target.number)
        self.state = target.state
        self.note()

    def erase(self) -> None:
        key = self.rng.choice([None, *filter(self.is_erasable, KEYS)])
        if key is None:
            return
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
        fate = self.rng.choice(["promote", "promote", "move", "drop"])
        self.say(f"clone; {fate} after these steps there:")
        was = self.state, [*self.commits]
        clone(self.entity)
        with schema_of_clones(self.project):
            self.note()
            self.load_next()
            if self.rng.random() < 0.5:
                self.rollback()
            self.check()
        ahead, (self.state, self.commits) = self.commits, was
        if self.rng.random() < 0.5:
            self.load_nothing_new()
            self.check_kept()
        if fate == "move":
            self.say("here:")
            self.load_next()
            said = promote(self.entity, expect_pass=False).output
            assert "the original has moved" in " ".join(said.split()), said
        self.check()
        if fate == "promote":
            promote(self.entity)
            self.state = ahead[-1].state
            self.note({one.number: one.state for one in ahead})
        clone(self.entity, remove=True)

    def note(self, known: Mapping[int, State] | None = None) -> None:
        """Learn the commits that a step made; where it is not known better, they left what is in force now."""
        last = self.commits[-1].number if self.commits else 0
        for (number,) in self.project.sql(
            f"select commit_id from tidemark_commits where entity = '{self.name}' and commit_id > {last} order by 1"
        ):
            self.commits.append(Commit(number, (known or {}).get(number, self.state)))

    # what must be

    def rows_of(self, state: State) -> dict[str, Values]:
        """Return what current is then: key → values."""
        return {key: values for key, values, _, to in self.versions(state) if to is None}

    def current(self) -> list[Values]:
        return [(key, *values) for key, values in self.rows_of(self.state).items()]

    def changes(self, before: State, after: State) -> list[Values]:
        """Return key, row before, row after of the rows that differ."""
        old, new = self.rows_of(before), self.rows_of(after)
        pairs = [(key, old.get(key), new.get(key)) for key in {*old, *new}]
        return [pair for pair in pairs if pair[1] != pair[2]]

    def fed(self, since: int, until: int) -> list[Values]:
        """Return commit, key, row before, row after of all changes in (since, until]."""
        states = [{}, *(one.state for one in self.commits)]
        return [
            (commit.number, *change)
            for before, commit in zip(states, self.commits, strict=False)
            if since < commit.number <= until
            for change in self.changes(before, commit.state)
        ]

    # checks

    def check(self) -> None:
        """Look at current."""
        self.same("current", self.read("", "k", *self.columns), self.current())

    def check_kept(self) -> None:
        """Look at kept intervals of one axis and of both, and at the kept feed, which follow now."""
        self.say("kept tables follow")
        self.project.dbt("run", "--select", *(f"{self.name}_{suffix}" for suffix in KEPT))
        names = ("k", "_valid_from", "_valid_to", "_is_current", *self.columns)
        wanted = [(k, *at, at[1] is None, *row) for k, row, *at in self.versions(self.state)]
        self.same("scd2", self.read("_scd2", *names), wanted)
        rows = self.read("_known", "_known_from", "_known_to", *names)
        for commit in self.commits:
            at = commit.number
            known = [(*row[2:5], *row[6:]) for row in rows if row[0] <= at < (row[1] or at + 1)]
            wanted = [(k, *bounds, *row) for k, row, *bounds in self.versions(commit.state)]
            if at >= self.floor:
                self.same(f"known at {at}", known, wanted)
        current = [(row[2], *row[6:]) for row in rows if row[5]]
        self.same("known, current", current, self.current())
        if self.fed_from < 0:
            self.fed_from = self.floor  # a feed begins where changes can be read from
        wanted = self.fed(self.fed_from, self.commits[-1].number)
        self.same("kept feed", self.folded(self.read("_feed", *FEED)), wanted)

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
                    (key, *values)
                    for key, values, start, end in self.versions(until.state)
                    if start <= day and (end is None or day < end)
                ]
        for what, rows in zip(asked, query_all(self.project, [*asked]), strict=True):
            if "as_of" in what:
                found = [(row.k, *(row[name] for name in self.columns)) for row in rows]
            elif "net_changes" in what:
                found = [(row.k, *self.images(row._operation, row._change)) for row in rows]
            else:
                found = self.folded([tuple(row[name] for name in FEED) for row in rows])
            self.same(what, found, asked[what])

    def read(self, table: str, *columns: str) -> list[Values]:
        rows = self.project.sql(f"select {', '.join(columns)} from {self.name}{table}")
        return [tuple(row) for row in rows]

    def folded(self, rows: list[Values]) -> list[Values]:
        """Return commit, key, row before, row after of rows of a feed, which may have a key in a commit again."""
        found: dict[Values, list[Any]] = {}
        for number, key, _, operation, change in sorted(rows, key=lambda row: row[:3]):
            before, after = self.images(operation, change)
            ends = found.setdefault((number, key), [before, before])
            self.same(f"feed of {number}, {key}: what was before", [before], [ends[1]])
            ends[1] = after
        return [(*at, *ends) for at, ends in found.items() if ends[0] != ends[1]]

    def images(self, operation: str, change: str) -> list[Values | None]:
        """Return the row before and after a change of the feed."""
        pair = [json.loads(change)[name] for name in ("pre_image", "post_image")]
        assert [one is None for one in pair] == [operation == "I", operation == "D"]
        return [one and tuple(map(one.get, self.columns)) for one in pair]

    def same(self, what: str, found: list[Any], wanted: list[Any]) -> None:
        found, wanted = sorted(map(repr, found)), sorted(map(repr, wanted))
        if found != wanted:
            more = [one for one in found if one not in wanted or found.count(one) > 1]
            less = [one for one in wanted if one not in found]
            pytest.fail(f"{what}:\n  found {more[:6]}\n  wanted {less[:6]}", pytrace=False)
