"""What the timeline of an entity must give, in plain Python: its loads, rollbacks and restates as commits, one by one.

A commit is nothing but the state after it. Current, history and loaded dates are read from the state; the feed of a
commit is what it did to current, net changes are what a range did to it. History is that of loading in order
(cdc_oracle), of the extracts that are in force after the commit. Commits count from 0; a range is (since, until].

    cities = Timeline(["name"])
    cities.load(date(2026, 1, 1), {"a": ("Aa",)})
    cities.load(date(2026, 1, 2), {"a": ("A2",)})
    cities.rollback(0)
    assert [change.event_type for change in cities.feed()] == ["insert", "update", "update"]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from . import cdc_oracle

Values = tuple[Any, ...]
"""A row but for its key: compared columns, then ignored ones."""

Extract = Mapping[str, Values | None]
"""Key → row; None is a row that came but could not be used."""

START = -1
"""The moment before the first commit."""


@dataclass(frozen=True)
class Entry:
    """A row of the history in force."""

    operation: str
    values: Values
    changed: tuple[str, ...] | None


@dataclass(frozen=True)
class State:
    """What is true after a commit.

    Attributes:
        extracts: Business date → extract in force, compared columns only.
        history: (business date, key) → entry.
        live: Commits that are not undone.
    """

    extracts: Mapping[date, cdc_oracle.Extract] = field(default_factory=dict)
    history: Mapping[tuple[date, str], Entry] = field(default_factory=dict)
    live: frozenset[int] = frozenset()

    def rows_at(self, day: date | None = None) -> dict[str, tuple[date, Entry]]:
        """Key → last entry up to a business date, with its date; deleted keys too."""
        rows = {}
        for (entry_day, key), entry in sorted(self.history.items(), key=lambda item: item[0]):
            if day is None or entry_day <= day:
                rows[key] = (entry_day, entry)
        return rows


@dataclass(frozen=True)
class Commit:
    """An operation that is done.

    Attributes:
        kind: load (a repeat too) or rollback.
        state: What is true after it.
        day: Business date loaded.
        target: Commit that a rollback went to.
    """

    kind: str
    state: State
    day: date | None = None
    target: int | None = None


@dataclass(frozen=True)
class Change:
    """A change of current.

    Attributes:
        commit: The commit that made it; of a net change the last one that changed the key.
        event_type: insert, update or delete.
        pre: The row before, None for an insert.
        post: The row after, None for a delete.
    """

    commit: int
    key: str
    event_type: str
    pre: Values | None
    post: Values | None


class FeedError(Exception):
    """A change that does not fit the rows that it is applied to."""


class Timeline:
    """One entity.

    Args:
        compared: Names of the compared columns.
        ignored: Names of the ignored columns, which follow the compared ones in every row.
        delta: Extracts bring only what may have changed.
    """

    def __init__(
        self, compared: Sequence[str], ignored: Sequence[str] = (), *, delta: bool = False
    ) -> None:
        self.compared = tuple(compared)
        self.columns = (*compared, *ignored)
        self.delta = delta
        self.commits: list[Commit] = []

    # ── operations ────────────────────────────────────────────────────────────────────────────────────────────────────

    def load(self, day: date, extract: Extract) -> int:
        """Load a business date: the next one, a late one, or one again; the commit."""
        before = self.state()
        width = len(self.compared)
        observed = {key: None if row is None else row[:width] for key, row in extract.items()}
        extracts = {**before.extracts, day: observed}
        history = self._history(before, extracts, day, extract)
        return self._commit("load", State(extracts, history, before.live), day=day)

    def rollback(self, target: int) -> int | None:
        """Make everything as it was after `target`; the commit, None if no load between is in force."""
        goal = self.state(target)
        if self._live_loads(goal) == self._live_loads(self.state()):
            return None
        return self._commit("rollback", goal, target=target)

    def restate(self, since: date, extracts: Mapping[date, Extract]) -> list[int]:
        """Load every loaded date from `since` on again, in order, from the extracts that are there; the commits."""
        return [
            self.load(day, extracts[day]) for day in sorted(self.loaded_dates()) if day >= since
        ]

    def repeat(self, kind: str) -> int:
        """A commit that changed nothing."""
        return self._commit(kind, self.state())

    # ── answers ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def state(self, at: int | None = None) -> State:
        """What was true after a commit; default: now."""
        at = self.last if at is None else at
        return State() if at == START else self.commits[at].state

    @property
    def last(self) -> int:
        """The last commit, START if there is none."""
        return len(self.commits) - 1

    def current(self, at: int | None = None) -> dict[str, Values]:
        """Key → row, without deleted ones."""
        return self.as_of(None, at)

    def current_rows(self, at: int | None = None) -> dict[str, tuple[str, Values, date]]:
        """Key → (operation, row, date of the last change), deleted rows too."""
        rows = self.state(at).rows_at()
        return {key: (entry.operation, entry.values, day) for key, (day, entry) in rows.items()}

    def tags(self, at: int | None = None) -> dict[str, str]:
        """Key → operation that current shows with tag_unchanged, of rows that are not deleted."""
        extracts = self.state(at).extracts
        return cdc_oracle.replay(extracts, self.compared, delta=self.delta).tagged

    def history(self, at: int | None = None) -> Mapping[tuple[date, str], Entry]:
        """(Business date, key) → the row in force."""
        return self.state(at).history

    def loaded_dates(self, at: int | None = None) -> set[date]:
        """Business dates that count as loaded."""
        return set(self.state(at).extracts)

    def as_of(self, day: date | None, known_at: int | None = None) -> dict[str, Values]:
        """The rows as they stood at the end of a business date, as known after a commit."""
        rows = self.state(known_at).rows_at(day)
        return {key: entry.values for key, (_, entry) in rows.items() if entry.operation != "D"}

    def moment(self, day: date) -> int | None:
        """The commit meant by a business date: the first that loaded it. None if there is none, or if it was undone."""
        loads = [number for number, commit in enumerate(self.commits) if commit.day == day]
        return loads[0] if loads and loads[0] in self.state().live else None

    def feed(self, since: int = START, until: int | None = None) -> list[Change]:
        """Every change of current in (since, until], in order of commit, then key."""
        until = self.last if until is None else until
        return [
            change
            for number in range(since + 1, until + 1)
            for change in differences(self.current(number - 1), self.current(number), number)
        ]

    def net_changes(self, since: int = START, until: int | None = None) -> list[Change]:
        """One change per key whose row differs at both ends, in order of key."""
        last = {change.key: change.commit for change in self.feed(since, until)}
        return [
            Change(last[change.key], change.key, change.event_type, change.pre, change.post)
            for change in differences(self.current(since), self.current(until), START)
        ]

    # ── how ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _commit(
        self, kind: str, state: State, *, day: date | None = None, target: int | None = None
    ) -> int:
        number = len(self.commits)
        state = State(state.extracts, state.history, state.live | {number})
        self.commits.append(Commit(kind, state, day, target))
        return number

    def _live_loads(self, state: State) -> set[int]:
        return {number for number in state.live if self.commits[number].kind == "load"}

    def _history(
        self,
        before: State,
        extracts: Mapping[date, cdc_oracle.Extract],
        loaded: date,
        extract: Extract,
    ) -> dict[tuple[date, str], Entry]:
        """The history of these extracts. What loading in order does not say is where ignored columns come from."""
        width = len(self.compared)
        wanted = cdc_oracle.replay(extracts, self.compared, delta=self.delta).history
        history: dict[tuple[date, str], Entry] = {}
        standing: dict[str, Values] = {}
        for (day, key), (operation, row, changed) in sorted(
            wanted.items(), key=lambda item: item[0]
        ):
            known = before.history.get((day, key))
            if known is not None and (known.operation, known.values[:width], known.changed) == (
                operation,
                row,
                changed,
            ):
                entry = known
            elif operation == "D":  # the last known row
                entry = Entry("D", standing[key], None)
            elif day == loaded:
                values = extract[key]
                assert values is not None
                entry = Entry(operation, values, changed)
            else:  # restored: what the key had on that date before the load
                entry = Entry(operation, before.rows_at(day)[key][1].values, changed)
            assert entry.values[:width] == row
            history[day, key] = entry
            standing[key] = entry.values
        return history


def differences(
    before: Mapping[str, Values], after: Mapping[str, Values], commit: int
) -> list[Change]:
    """The changes that make `after` of `before`, in order of key."""
    changes = []
    for key in sorted({*before, *after}):
        pre, post = before.get(key), after.get(key)
        if pre != post:
            changes.append(Change(commit, key, event_type(pre, post), pre, post))
    return changes


def event_type(pre: Values | None, post: Values | None) -> str:
    """What happens to a row that is `pre` before and `post` after."""
    return "insert" if pre is None else "delete" if post is None else "update"


def apply_feed(rows: Mapping[str, Values], changes: Iterable[Change]) -> dict[str, Values]:
    """A copy of `rows` after these changes, one by one.

    Raises:
        FeedError: A change does not fit what is there, says nothing, or comes after a later commit.
    """
    result = dict(rows)
    commit = START
    for change in changes:
        there = result.get(change.key)
        if change.commit < commit:
            raise FeedError(f"{change} comes after commit {commit}")
        if change.pre != there:
            raise FeedError(f"{change}: {there} is there")
        if change.pre == change.post:
            raise FeedError(f"{change} changes nothing")
        if change.event_type != event_type(change.pre, change.post):
            raise FeedError(f"{change} is no {change.event_type}")
        commit = change.commit
        if change.post is None:
            del result[change.key]
        else:
            result[change.key] = change.post
    return result


def fold(changes: Iterable[Change]) -> list[Change]:
    """The net changes of a feed, from the feed alone: first pre-image to last post-image of each key."""
    pre: dict[str, Values | None] = {}
    last: dict[str, Change] = {}
    for change in changes:
        pre.setdefault(change.key, change.pre)
        last[change.key] = change
    return [
        Change(change.commit, key, event_type(pre[key], change.post), pre[key], change.post)
        for key, change in sorted(last.items())
        if pre[key] != change.post
    ]
