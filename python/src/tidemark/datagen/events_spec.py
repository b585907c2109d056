"""What enriched events are to be generated, and which of them are copies of others."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields
from datetime import datetime, timedelta

from tidemark.errors import ConfigError

ORIGINAL = "original"
NATURAL_IN_BATCH = "natural_in_batch"
NATURAL_CROSS_BATCH = "natural_cross_batch"
SYNTHETIC_IN_BATCH = "synthetic_in_batch"
SYNTHETIC_CROSS_BATCH = "synthetic_cross_batch"
BAD = "bad"

KINDS = (
    ORIGINAL,
    NATURAL_IN_BATCH,
    NATURAL_CROSS_BATCH,
    SYNTHETIC_IN_BATCH,
    SYNTHETIC_CROSS_BATCH,
    BAD,
)
"""What a line can be."""

_START = datetime(2026, 3, 1)


@dataclass(frozen=True)
class EventsSpec:
    """What to generate. Rates are per cent of `events`, and exact.

    Attributes:
        events: Events that are no copies of others; they are spread evenly over the batches.
        batches: Files, each enriched `hours` after the one before.
        natural_in_batch: Delivered again in the same batch: same id, same content.
        natural_cross_batch: Delivered again in a later batch; every second one byte for byte.
        synthetic_in_batch: Whose id another event of the batch has, with other content.
        synthetic_cross_batch: Whose id an event of a later batch has, with other content.
        late: Sent hours or days after they happened.
        bad: Additional lines that cannot be read.
        no_fingerprint: Without fingerprint, and so all that have their id.
        hot_ids: Ids that have `hot_copies` lines each, half of them with other content.
        hot_copies: Lines of a hot id, all in one batch.
        hours: Hours from batch to batch.
        seed: Same seed, same bytes.
    """

    events: int
    batches: int = 1
    natural_in_batch: float = 0.0
    natural_cross_batch: float = 0.0
    synthetic_in_batch: float = 0.0
    synthetic_cross_batch: float = 0.0
    late: float = 0.0
    bad: float = 0.0
    no_fingerprint: float = 0.0
    hot_ids: int = 0
    hot_copies: int = 0
    hours: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        errors = []
        if self.events < 0 or self.batches < 1 or self.hours < 1:
            errors.append("events must be 0 or more, and batches and hours at least 1")
        for each in fields(self):
            value = getattr(self, each.name)
            if each.type == "float" and not 0 <= value <= 100:
                errors.append(f"{each.name} must be a percentage from 0 to 100 (found {value:g})")
        if self.hot_ids and self.hot_copies < 1:
            errors.append("hot_ids needs hot_copies, the number of lines of each id")
        if not 0 <= self.hot_ids <= max(self.events, 0):
            errors.append(f"hot_ids must lie between 0 and events (found {self.hot_ids})")
        if errors:
            raise ConfigError("\n".join(errors))
        for name in (NATURAL_CROSS_BATCH, SYNTHETIC_CROSS_BATCH):
            wanted, there = self._count(getattr(self, name)), len(self._eligible(name))
            if wanted > there:
                raise ConfigError(
                    f"{name}: {wanted} events must come again in a later batch, but only "
                    f"{there} have one: choose more batches or a lower rate"
                )
        for name in (NATURAL_IN_BATCH, SYNTHETIC_IN_BATCH):
            if self._count(getattr(self, name)) > len(self._eligible(name)):
                raise ConfigError(
                    f"{name}: hot ids leave too few other events: choose fewer hot ids"
                )

    def batch_of(self, index: int) -> int:
        """The batch that an event comes in first."""
        return index * self.batches // self.events

    def etl_tstamp(self, batch: int) -> datetime:
        """When a batch was enriched."""
        return _START + timedelta(hours=self.hours * (batch + 1))

    def _count(self, rate: float) -> int:
        return round(self.events * rate / 100)

    def _eligible(self, kind: str) -> range:
        """Events that may have copies of a kind: not hot ones, nor those without a later batch."""
        end = self.events
        if kind in (NATURAL_CROSS_BATCH, SYNTHETIC_CROSS_BATCH):
            end = -(-self.events * (self.batches - 1) // self.batches)
        return range(self.hot_ids, max(end, self.hot_ids))

    def chosen(self, kind: str) -> list[int]:
        """The events that have a copy of a kind, or a property such as `late`."""
        rate = float(getattr(self, kind))
        among = range(self.events) if kind in ("late", "no_fingerprint") else self._eligible(kind)
        return random.Random(f"{self.seed} {kind}").sample(among, self._count(rate))
