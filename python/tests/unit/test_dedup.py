"""What the de-duplication of a batch refuses, and which copy it prefers. No JVM."""

from __future__ import annotations

import itertools
import subprocess
import sys
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from tidemark import dedup
from tidemark.errors import ConfigError
from tidemark.shred import enriched

COLUMNS = [*enriched.COLUMNS, "_reject_reason", "_raw_payload"]


def test_import__needs_no_spark() -> None:
    code = (
        "import sys, tidemark.shred.enriched, tidemark.dedup; assert 'pyspark' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_step() -> None:
    events: Any = SimpleNamespace(columns=COLUMNS)
    with pytest.raises(ConfigError, match="there is no step natural: use natural_in_batch"):
        dedup.deduplicate_batch(events, ["natural"])
    with pytest.raises(ConfigError, match="there is no step natural_cross_batch"):
        dedup.deduplicate_batch(events, "natural_cross_batch")


def test_missing_columns() -> None:
    events: Any = SimpleNamespace(columns=COLUMNS[:-2])
    with pytest.raises(ConfigError, match="events lack _reject_reason, _raw_payload"):
        dedup.deduplicate_batch(events)


def test_preference__as_that_of_events() -> None:
    order = dedup._preference({"etl_tstamp": 0, "collector_tstamp": 1, "_raw_payload": 2})
    stamps = (None, "1969-12-31 23:59:59.5", "2026-03-04 00:00:00", "2026-03-04 00:00:00.000001")
    copies = list(itertools.product(stamps, stamps, ("a", "b")))

    def row(copy: tuple[str | None, str | None, str]) -> tuple[Any, ...]:
        return (*map(micros, copy[:2]), copy[2])

    def micros(text: str | None) -> int | None:
        moment = enriched.parse_timestamp(text)
        return moment and round(moment.replace(tzinfo=UTC).timestamp() * 1_000_000)

    def preference(
        copy: tuple[str | None, str | None, str],
    ) -> tuple[bool, datetime, bool, datetime, int]:
        event = {"etl_tstamp": copy[0], "collector_tstamp": copy[1]}
        return enriched.preference(event, copy[2])

    assert sorted(copies, key=lambda c: order(row(c))) == sorted(copies, key=preference)
