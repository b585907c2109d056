"""The past of a replicator's lag: a line a minute, thinned out with age, and what status and report make of it."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from pathlib import Path

import pytest
import yaml

from tidemark.capture.files import event_file
from tidemark.read.mirrors import mirrors_of
from tidemark.read.project import Entity
from tidemark.read.show import notes
from tidemark.read.status import Mirror, Seen, status_of
from tidemark.replicator.lag import Lag, LagHistory, read_lags, thinned
from tidemark.replicator.state import ReplicatorState, TableState
from tidemark.report.collect import lag_rows

MINUTE, DAY = 60.0, 86400.0
NOW = 1_772_600_040.0


def test_thinned__fewer_with_age_and_the_worst_of_each() -> None:
    points = [Lag(NOW - minute * MINUTE, float(minute % 7), "t", 0, 0) for minute in range(200_000)]
    kept = thinned(points[::-1], NOW)
    ages = [NOW - point.at for point in kept]
    assert len(kept) < 1600 and ages == sorted(ages, reverse=True) and ages[0] <= 90 * DAY
    assert sum(age < 6 * 3600 for age in ages) == 360
    assert all(point.seconds == 6.0 for point in kept if 7 * DAY < NOW - point.at < 89 * DAY)
    # what was thinned out stays as it is
    assert thinned(kept, NOW) == kept


def test_history__a_line_for_each_minute(tmp_path: Path) -> None:
    history = LagHistory(tmp_path / "_state" / "lag.jsonl")
    start = NOW // 60 * 60
    for second, lag in ((0, 1.0), (10, 9.0), (20, 2.0), (60, 3.0)):
        history.note(start + second, {"a": lag, "b": None, "c": 0.5}, waiting=second, applied=5)
    path = tmp_path / "_state" / "lag.jsonl"
    assert [(one.seconds, one.table, one.waiting) for one in read_lags(path)] == [(9.0, "a", 10)]
    history.close()
    history.close()
    assert [one.at - start for one in read_lags(path)] == [10, 60]
    # nothing is known, and that is noted, too
    history.note(start + 120, {"a": None}, 0, 5)
    history.close()
    assert read_lags(path)[-1] == Lag(start + 120, None, None, 0, 5)


def test_history__is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "lag.jsonl"
    history = LagHistory(path)
    for minute in range(9000):
        history.note(NOW + minute * MINUTE, {"a": 1.0}, 0, 0)
        if minute % 1000 == 0:
            assert len(path.read_text().splitlines() if path.exists() else []) <= 3001
    # another process goes on with what is there
    LagHistory(path).note(NOW, {"a": 1.0}, 0, 0)
    found = read_lags(path)
    assert len(found) <= 3001 and found[-1].at >= NOW + 8990 * MINUTE


def test_history__lines_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "lag.jsonl"
    path.write_text(
        '{"at": 1\n[]\n{"at": 2, "seconds": 1, "table": "a", "waiting": 0, "applied": 0}\n'
    )
    assert [one.at for one in read_lags(path)] == [2]
    assert read_lags(tmp_path / "none") == []
    # a folder that cannot be written to stops nothing
    (tmp_path / "file").write_text("")
    history = LagHistory(tmp_path / "file" / "lag.jsonl")
    history.note(NOW, {"a": 1.0}, 0, 0)
    history.close()


def test_lag_rows__since() -> None:
    points = [Lag(NOW - days * DAY, 5.0 if days else None, "t", 1, 2) for days in (9, 3, 1, 0)]
    now = dt.datetime.fromtimestamp(NOW, dt.UTC)
    rows = lag_rows("shop", points, now - dt.timedelta(days=5), now)
    assert [(now - row.at).days for row in rows] == [3, 1]
    assert {row.source for row in rows} == {"shop"}


ORDERS = Entity("shop_orders", "cdc", "lake", "shop_orders")


@pytest.mark.parametrize(
    ("lag", "said"), [(None, []), (300.0, []), (1234.4, ["stale: 1,234 s behind its source, and"])]
)
def test_status__of_a_mirrored_table(lag: float | None, said: list[str]) -> None:
    from .test_read import NOW as AT
    from .test_read import commit

    load = commit(1, relation=ORDERS.relation, entity=ORDERS.name)
    found = status_of(ORDERS, [load], Seen(mirror=Mirror("shop", lag, 300.0)), AT)
    assert found.state == ("stale" if said else "loaded")
    assert [note[:37] for note in notes(found, AT)] == said


def test_mirrors_of__a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path / "home"))
    (tmp_path / "dbt_project.yml").write_text("name: tests\n")
    (tmp_path / "models").mkdir()
    assert mirrors_of(tmp_path) == {}
    connection = {"host": "db", "database": "shop", "user": "me", "password": {"env": "P"}}
    replicator = {"connector": "postgresql", "connection": connection, "freshness": "2 minutes"}

    def source(name: str, **more: object) -> dict[str, object]:
        return {
            "name": name,
            "config": {"meta": {"tidemark": {"replicator": {**replicator, **more}}}},
        }

    # one that has never run, and one whose settings are wrong
    sources = [source("shop"), source("idle"), source("wrong", freshnes="x"), {"name": "plain"}]
    (tmp_path / "models" / "s.yml").write_text(yaml.safe_dump({"sources": sources}))
    assert mirrors_of(tmp_path) == {}
    landing = tmp_path / "home" / "landing" / "shop"
    landing.mkdir(parents=True)
    state = ReplicatorState(landing)
    state.tables = {"public.orders": TableState(model="shop_orders"), "public.new": TableState()}
    state.folder.mkdir()
    state.save()
    origin = {"connector": "postgresql", "name": "shop", "schema": "public", "table": "orders"}
    origin |= {"ts_ms": 1_000, "db": "shop", "txId": 1, "lsn": 1, "snapshot": "false"}
    event = {"before": None, "after": {"id": 1}, "source": origin, "op": "c"}
    line = json.dumps({"topic": "shop.public.orders", "key": {"id": 1}, "value": event, "_id": "1"})
    event_file(landing, 1).write_bytes(gzip.compress(line.encode()))
    (found,) = mirrors_of(tmp_path).items()
    assert found[0] == "shop_orders" and found[1].limit_seconds == 120.0 and found[1].is_late
