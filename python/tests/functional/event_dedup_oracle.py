"""What de-duplication of enriched events must give, in plain Python: batches in order of arrival, and a manifest.

**Steps.** Each can be switched off; they come in this order, which is upstream's:

1. *In-batch natural*: of events with the same id and fingerprint one stays, the one with the smallest
   (etl_tstamp, collector_tstamp, hash of the line), missing timestamps last. It is never "any": a retry and a re-run keep
   the same line.
2. *Cross-batch natural*: an event whose id and fingerprint another batch has claimed is dropped.
3. *In-batch synthetic*: where the events left of an id have several fingerprints, each gets a new id and a `duplicate`
   context with the old one, the first among them, too: nothing says which is the real one.
4. *Cross-batch synthetic*: the same for an event whose id another batch has claimed with another fingerprint.

What stays is then claimed: (id, fingerprint) → etl timestamp of the batch. Nothing is claimed if both cross-batch steps
are off. Every line is in exactly one of atomic, duplicates (steps 1 and 2), rejects; 3 and 4 rename, they drop nothing.

**The batch's etl timestamp** is the greatest etl_tstamp of its events (if none has one, the greatest collector_tstamp),
stored at the first attempt: never a clock. Not the smallest, as upstream has it: one line that is delivered again byte
for byte would make its batch as old as the batch it was in first, so that all claims of that one looked like its own,
and what came with it would expire early.

**Corner cases.**

- *Re-run of a failed batch.* A claim is a batch's own if its etl timestamp and batch are the same; then the event stays.
  Whatever part of the claims a died attempt wrote, the next attempt adds the others.
- *Two batches with the same etl timestamp* are told apart by their names, or each would keep the other's events. A claim
  without batch (from another tool's manifest) is compared by etl timestamp alone, as upstream does: by the greatest or
  the smallest of the batch, to the microsecond or to the second, as upstream stores it.
- *Re-run of a batch after later ones.* Batch 1 took (A, f), batch 2 then (A, g), renamed as f had A. Should 1 run again,
  f must keep A though the manifest now has g: a claim stores the id that its event got, and own claims are believed.
- *A batch that failed and is not repeated* holds on to its claims: what others bring again is dropped as a copy of
  events that are nowhere. So it is finished before another batch is loaded, or given up, which takes its claims back.
- *A synthetic group one member of which is a natural cross-batch duplicate*: the member goes first (step 2), so one other
  event left is no in-batch group any more; step 4 renames it, as the manifest has the id. Without step 4 it keeps the id.
- *Renamed events are claimed under the id they came with*, and the fingerprint never changes: so copies of them are
  recognised, and so are new siblings.
- *A copy of an event whose siblings were renamed*: claimed, so dropped. If it was the first, its own id stays as it was.
- *Ids are compared and stored in lower case*; fingerprints are compared as they are.
- *Expiry*: a claim holds for an event while the event's own etl timestamp (the batch's, if it has none) ≤ claim's + 180 days: at
  exactly 180 days it still does. What comes with an event has no say in it, so neither a clock that was ahead nor a late file beside
  one of today has the claims of others end. A copy that is dropped does not renew the claim. An expired claim is as good as gone;
  the event is then taken again, under its own id.
- *An older batch that comes late* sees the claims of newer ones, whatever their etl timestamps.
- *A missing fingerprint* is computed from what the line has; a copy with and one without are two contents.
- *Steps switched on later* know only what was claimed since: populate the manifest first.
- *Populating* reads the original id from the first `duplicate` context. Such claims belong to no batch that could come
  again, so what they have is dropped even at the same etl timestamp.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tidemark.shred.enriched import (
    DUPLICATE_SCHEMA,
    LEFT_OUT,
    Event,
    fingerprint,
    parse_json_line,
    parse_line,
    parse_timestamp,
    preference,
    problems,
    synthetic_id,
    with_duplicate,
)

POPULATED = "(populated)"
"""Batch of the claims that come from events which are loaded for good."""

Key = tuple[str, str]
"""Id in lower case, as it came, and fingerprint."""


@dataclass(frozen=True)
class Steps:
    """Which steps run."""

    in_batch_natural: bool = True
    in_batch_synthetic: bool = True
    cross_batch_natural: bool = True
    cross_batch_synthetic: bool = True


@dataclass(frozen=True)
class Batch:
    """What is loaded together. The name is the same at each attempt; so are the lines."""

    name: str
    lines: tuple[str, ...]
    etl_tstamp: datetime | None = None


@dataclass(frozen=True)
class Claim:
    """An entry of the manifest. `stored_id` is the id that the event has in atomic events."""

    event_id: str
    fingerprint: str
    etl_tstamp: datetime
    batch: str | None = None
    stored_id: str | None = None


@dataclass(frozen=True)
class Kept:
    """A row of atomic events.

    Attributes:
        line: Number of its line in the batch, from 0.
        event: As it is stored: id and derived contexts are new in a synthetic duplicate, the fingerprint is filled in.
        original_id: The id that it came with, in lower case.
        renamed: The step that renamed it, `synthetic_in_batch` or `synthetic_cross_batch`, or None.
    """

    line: int
    event: Event
    original_id: str
    renamed: str | None

    @property
    def event_id(self) -> str:
        return str(self.event["event_id"])

    @property
    def key(self) -> Key:
        return self.original_id, str(self.event["event_fingerprint"])


@dataclass
class Outcome:
    """Where the lines of a batch went: each number is in one of the three."""

    atomic: list[Kept] = field(default_factory=list)
    duplicates: dict[int, str] = field(default_factory=dict)
    rejects: dict[int, str] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """`read`, `atomic`, `rejected`, and the events of each kind, those not named being 0."""
        kinds = Counter(self.duplicates.values())
        kinds.update(kept.renamed for kept in self.atomic if kept.renamed)
        kinds.update(atomic=len(self.atomic), rejected=len(self.rejects))
        kinds["read"] = len(self.atomic) + len(self.duplicates) + len(self.rejects)
        return {kind: count for kind, count in kinds.items() if count}


@dataclass(frozen=True)
class _Arrived:
    line: int
    text: str
    event: Event
    key: Key


class Loads:
    """Batches loaded one after the other.

    Attributes:
        claims: The manifest. It only grows, except where a batch is given up.
        outcomes: What each completed batch gave.
    """

    def __init__(
        self,
        steps: Steps | None = None,
        ttl: timedelta = timedelta(days=180),
        left_out: Iterable[str] = LEFT_OUT,
    ) -> None:
        self.steps = steps or Steps()
        self.ttl = ttl
        self.left_out = tuple(left_out)
        self._claims: dict[str, list[Claim]] = defaultdict(list)
        self.outcomes: dict[str, Outcome] = {}
        self._etl_tstamps: dict[str, datetime] = {}
        self._first_tstamps: dict[str, datetime] = {}

    @property
    def claims(self) -> list[Claim]:
        return [claim for claims in self._claims.values() for claim in claims]

    @property
    def atomic(self) -> Iterator[Kept]:
        return (kept for outcome in self.outcomes.values() for kept in outcome.atomic)

    def load(self, batch: Batch, die_after: int | None = None) -> Outcome | None:
        """Load a batch, for the first time or again.

        Args:
            batch: What to load. What it gave before is replaced.
            die_after: Die when so many claims are written, before atomic events are.

        Returns:
            What the batch gave, None if it died.
        """
        outcome = Outcome()
        left = self._arrived(batch, outcome)
        etl_tstamp = self._etl_tstamp(batch, left)
        if etl_tstamp is not None:
            left = self._drop_natural(left, batch, etl_tstamp, outcome)
            outcome.atomic = self._kept(left, batch, etl_tstamp)
            made = self._new_claims(outcome.atomic, batch, etl_tstamp)
            for claim in made[:die_after]:
                self._claims[claim.event_id].append(claim)
        if die_after is not None:
            return None
        self.outcomes[batch.name] = outcome
        return outcome

    def give_up(self, name: str) -> None:
        """Take back the claims of a batch that failed and will not be repeated."""
        if name in self.outcomes:
            raise ValueError(f"batch {name} is complete")
        for claims in self._claims.values():
            claims[:] = [claim for claim in claims if claim.batch != name]

    def populate(self, events: Iterable[Event], since: datetime = datetime.min) -> None:
        """Claim what is in atomic events already; doing it again adds nothing."""
        for event in events:
            tstamp = parse_timestamp(event["etl_tstamp"] or event["collector_tstamp"])
            if tstamp is None or tstamp < since:
                continue
            stored_id = str(event["event_id"]).lower()
            original_id = _original_id(event["derived_contexts"]) or stored_id
            found = fingerprint(event, self.left_out)
            claim = Claim(original_id, found, tstamp, POPULATED, stored_id)
            self.claim(claim)

    def claim(self, claim: Claim) -> None:
        """Add an entry to the manifest, unless it is there."""
        if claim not in self._claims[claim.event_id]:
            self._claims[claim.event_id].append(claim)

    def _arrived(self, batch: Batch, outcome: Outcome) -> list[_Arrived]:
        arrived = []
        for number, text in enumerate(batch.lines):
            try:
                event = read(text)
            except ValueError:
                outcome.rejects[number] = "unreadable"
                continue
            wrong = problems(event)
            if wrong:
                outcome.rejects[number] = wrong[0]
                continue
            key = str(event["event_id"]).lower(), fingerprint(event, self.left_out)
            arrived.append(_Arrived(number, text, event, key))
        return arrived

    def _etl_tstamp(self, batch: Batch, arrived: list[_Arrived]) -> datetime | None:
        if batch.name not in self._etl_tstamps:
            etl_tstamp = first = batch.etl_tstamp
            for column in ("etl_tstamp", "collector_tstamp"):
                found = [parse_timestamp(each.event[column]) for each in arrived]
                etl_tstamp = etl_tstamp or max(filter(None, found), default=None)
                first = first or min(filter(None, found), default=None)
            if etl_tstamp is None or first is None:
                return None
            self._etl_tstamps[batch.name] = etl_tstamp
            self._first_tstamps[batch.name] = first
        return self._etl_tstamps[batch.name]

    def _drop_natural(
        self, arrived: list[_Arrived], batch: Batch, etl_tstamp: datetime, outcome: Outcome
    ) -> list[_Arrived]:
        """Steps 1 and 2."""
        copies: dict[Key, list[_Arrived]] = defaultdict(list)
        for each in arrived:
            copies[each.key].append(each)
        left = []
        for (_, found), group in copies.items():
            if self.steps.in_batch_natural:
                first, *others = sorted(group, key=_preference)
                outcome.duplicates |= {each.line: "natural_in_batch" for each in others}
                group = [first]
            for each in group:
                own, of_others = self._claims_of(each, batch, etl_tstamp)
                taken = found not in own and any(claim.fingerprint == found for claim in of_others)
                if taken and self.steps.cross_batch_natural:
                    outcome.duplicates[each.line] = "natural_cross_batch"
                else:
                    left.append(each)
        return sorted(left, key=lambda each: each.line)

    def _kept(self, left: list[_Arrived], batch: Batch, etl_tstamp: datetime) -> list[Kept]:
        """Steps 3 and 4."""
        fingerprints: dict[str, set[str]] = defaultdict(set)
        for each in left:
            fingerprints[each.key[0]].add(each.key[1])
        kept = []
        for each in left:
            event_id, found = each.key
            own, of_others = self._claims_of(each, batch, etl_tstamp)
            renamed = None
            if self.steps.in_batch_synthetic and len(fingerprints[event_id]) > 1:
                renamed = "synthetic_in_batch"
            elif self.steps.cross_batch_synthetic:
                stored_id = own.get(found)
                if stored_id is not None:
                    has_sibling = stored_id != event_id
                else:
                    has_sibling = any(claim.fingerprint != found for claim in of_others)
                renamed = "synthetic_cross_batch" if has_sibling else None
            event = {**each.event, "event_id": event_id, "event_fingerprint": found}
            if renamed:
                event["event_id"] = synthetic_id(event_id, found)
                event["derived_contexts"] = with_duplicate(event["derived_contexts"], event_id)
            kept.append(Kept(each.line, event, event_id, renamed))
        return kept

    def _new_claims(self, kept: list[Kept], batch: Batch, etl_tstamp: datetime) -> list[Claim]:
        if not (self.steps.cross_batch_natural or self.steps.cross_batch_synthetic):
            return []
        made: dict[Key, Claim] = {}
        for each in kept:
            own, _ = self._claims_of(each, batch, etl_tstamp)
            if each.key[1] not in own:
                made[each.key] = Claim(*each.key, etl_tstamp, batch.name, each.event_id)
        return list(made.values())

    def _claims_of(
        self, found: _Arrived | Kept, batch: Batch, etl_tstamp: datetime
    ) -> tuple[dict[str, str | None], list[Claim]]:
        """The batch's own claims of an event's id, stored id by fingerprint, and those of others in force."""
        at = parse_timestamp(found.event["etl_tstamp"]) or etl_tstamp
        own: dict[str, str | None] = {}
        of_others = []
        told_by_time = {etl_tstamp, self._first_tstamps[batch.name]}
        told_by_time |= {moment.replace(microsecond=0) for moment in told_by_time}
        for claim in self._claims.get(found.key[0], ()):
            is_own = claim.batch == batch.name and claim.etl_tstamp == etl_tstamp
            if is_own or (claim.batch is None and claim.etl_tstamp in told_by_time):
                own[claim.fingerprint] = claim.stored_id
            elif at <= claim.etl_tstamp + self.ttl:
                of_others.append(claim)
        return own, of_others


def read(text: str) -> Event:
    """An event from TSV or JSON; which of the two, the line says."""
    if text.startswith("{") and "\t" not in text:
        return parse_json_line(text)
    return parse_line(text)


def _preference(each: _Arrived) -> tuple[bool, datetime, bool, datetime, int, int]:
    return (*preference(each.event, each.text), each.line)


def _original_id(derived_contexts: str | None) -> str | None:
    contexts = json.loads(derived_contexts)["data"] if derived_contexts else []
    for context in contexts:
        if context["schema"] == DUPLICATE_SCHEMA:
            return str(context["data"]["originalEventId"]).lower()
    return None
