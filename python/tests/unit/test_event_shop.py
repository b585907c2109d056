"""Random change events by the engine and the macros' SQL, without Spark, against a source that took each event once, in order.

More of them, by Spark too: functional/test_event_streams.py. `TIDEMARK_TEST_SEED` adds a seed.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.event_shop import EventShop, Row
from tests.functional.event_entities import Event
from tests.functional.event_oracle import simulate
from tests.functional.event_streams import COLUMNS, KEY, deliver, random_streams
from tidemark.pipeline import events_workers

SEEDS = [1, *map(int, filter(None, [os.environ.get("TIDEMARK_TEST_SEED")]))]
NAMES = ", ".join(COLUMNS)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("order", ["in_order", "shuffled"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        pytest.param({"sequence_by": ["_sequence_num"], "hash": "sha256"}, marks=pytest.mark.slow),
        pytest.param({"soft_delete": True, "changed_columns": False}, marks=pytest.mark.slow),
    ],
)
def test_streams(tmp_path: Path, settings: dict[str, Any], order: Any, seed: int) -> None:
    """Current and intervals are those of the source; what comes again changes nothing."""
    rng = random.Random(f"{seed} {order}")
    events = [with_whole_key(event) for event in random_streams(rng, 40, 12)]
    shop = EventShop(tmp_path, COLUMNS, KEY, **settings)
    batches = deliver(rng, events, 2, order)
    for batch in batches:
        middle = len(batch) // 2
        shop.load(batch[:middle], batch[middle:])
    truth = simulate(events, list(COLUMNS), KEY)
    there = [row[:-1] for row in shop.rows(f"{NAMES}, _operation") if row[-1] != "D"]
    assert Counter(there) == Counter(truth.current.values())
    versions = [(*row, since, until) for _, since, until, row in truth.versions]
    assert Counter(shop.intervals()) == Counter(versions)
    before = tables_of(shop)
    figures = shop.load(rng.sample(events, 100))
    assert (figures["rows_logged"], figures["rows_duplicate"]) == (0, 100)
    assert tables_of(shop) == before


def with_whole_key(event: Event) -> Event:
    """The same with all of a key of which the image from before tells a part: what it leaves out is that of the row."""
    if not any(name.startswith("_before_") for name in event):
        return event
    return {**{f"_before_{name}": event.get(name) for name in KEY}, **event}


def tables_of(shop: EventShop) -> list[list[str]]:
    return [sorted(map(repr, shop.rows("*", table))) for table in ("current", "log", "staging")]


PLACES: dict[str, tuple[dict[str, Any], str]] = {
    "mysql": ({"file": "bin.000007", "pos": 4}, "row"),
    "mariadb": ({"file": "bin.000007", "pos": 4}, "row"),
    "sqlserver": ({"commit_lsn": "27:ac:1", "change_lsn": "27:ac:2"}, "event_serial_no"),
}


@pytest.mark.parametrize("connector", PLACES)
def test_equal_rows_that_come_again(tmp_path: Path, connector: str) -> None:
    """Of a Debezium that tells no microseconds: without key an event is known by its place, where no other has it."""
    place, within = PLACES[connector]
    source = {"connector": connector, "name": "shop", "db": "shop", "table": "t", "ts_ms": 1772611200000, "snapshot": "false"}  # fmt: skip

    def line(op: str, number: int, row: dict[str, Any]) -> str:
        images = {"before": row, "after": None} if op == "d" else {"before": None, "after": row}
        return json.dumps({**images, "source": {**source, **place, within: number}, "op": op})

    twin = {"a": 1, "b": "x"}
    shop = EventShop(tmp_path, {"a": "int", "b": "string"}, None, format="debezium")
    lines = [line("c", number, twin) for number in range(3)]
    shop.load(lines)
    # the end of a delivery again, and what comes after it
    figures = shop.load([*lines[1:], line("d", 3, twin)])
    assert (figures["rows_duplicate"], figures["rows_deleted"]) == (2, 1)
    assert shop.rows("a, b") == two_of((1, "x"))
    figures = shop.load([*lines, line("d", 3, twin)], lines)
    assert (figures["rows_duplicate"], figures["rows_logged"]) == (7, 0)
    assert shop.rows("a, b") == two_of((1, "x"))


@pytest.mark.parametrize("is_older", [False, True])
@pytest.mark.parametrize("told", [{"gtid": "0-{}-7"}, {"gtid": None, "server_id": "{}"}])
def test_another_server(tmp_path: Path, told: dict[str, Any], is_older: bool) -> None:
    """Another server may have the same change at the same place in its log. An older log knows none by its server."""
    row = {"id": 1, "name": "ann"}

    def line(op: str, server: int, pos: int) -> str:
        images = {"before": row, "after": None} if op == "d" else {"before": None, "after": row}
        source = {"connector": "mariadb", "name": "shop", "db": "shop", "table": "t", "ts_ms": 1772611200000, "snapshot": "false"}  # fmt: skip
        source |= {"file": "bin.000001", "pos": pos, "row": 0}
        source |= {name: text and text.format(server) for name, text in told.items()}
        return json.dumps({**images, "source": source, "op": op})

    shop = EventShop(tmp_path, {"id": "int", "name": "string"}, "id", format="debezium")
    lines = [line("c", 1, 236), line("d", 1, 500)]
    with pytest.MonkeyPatch.context() as patch:
        if is_older:
            found = events_workers._batch_to_come
            older = lambda *of: {**found(*of), "by_server": False}  # noqa: E731
            patch.setattr(events_workers, "_batch_to_come", older)
        shop.load(lines)
    after_failover = line("c", 2, 236)
    shop.load([*lines, after_failover])
    assert shop.rows("id, name") == ([] if is_older else [(1, "ann")])
    assert shop.load([*lines, after_failover])["rows_logged"] == 0


def two_of(row: Row) -> list[Row]:
    return [row, row]
