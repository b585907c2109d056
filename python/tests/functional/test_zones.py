"""Sessions with a time zone of their own, set in the profile: what is stored and told are the moments that it is in UTC."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .entities import Entity
from .event_entities import EventEntity, delete, insert, update
from .feed_reading import call, render

pytestmark = pytest.mark.slow

COLUMNS = {"id": "int", "at": "timestamp", "n": "string"}
#: around the hour that New York has twice: 01:30 is 05:30 and 06:30 of UTC
DAYS = {
    "2026-11-01": "id,at,n\n1,2026-11-01T01:30:00Z,a\n2,2026-11-01T05:30:00Z,b\n3,2026-11-01T06:30:00Z,c\n",
    "2026-11-02": "id,at,n\n1,2026-11-02T01:30:00Z,z\n2,2026-11-01T05:30:00Z,b\n",
}
BATCHES = [
    [
        insert({"id": 1, "at": "2026-11-01T05:30:00Z", "n": "a"}, event_time="2026-11-01T05:30Z"),
        insert({"id": 2, "at": "2026-11-01 06:30:00", "n": "b"}, event_time="2026-11-01 06:30:00"),
    ],
    [
        update({"id": 1, "n": "z"}, event_time="2026-11-01T06:45:00Z"),
        delete({"id": 2}, event_time="2026-11-02T00:30:00Z"),
    ],
]
#: what differs from run to run
OWN = ("_commit_id", "_commit_time", "_superseded_by", "_batch_id", "_event_id")
IN_UTC = "map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSSXXX')"


def test_zones(module_project: Any) -> None:
    project = module_project
    profiles = Path(project.root) / "profiles.yml"
    text = profiles.read_text(encoding="utf-8")
    told: dict[str, dict[str, list[str]]] = {}
    midnights = {
        "UTC": "2026-11-02 00:00",
        "America/New_York": "2026-11-02 05:00",
        "Asia/Kolkata": "2026-11-01 18:30",
    }
    for zone, midnight in midnights.items():
        old = '        spark.sql.shuffle.partitions: "2"\n'
        assert old in text
        profiles.write_text(
            text.replace(old, f"{old}        spark.sql.session.timeZone: {zone}\n"), "utf-8"
        )
        found = _story(project, zone.rpartition("/")[2].lower())
        assert project.session.conf.get("spark.sql.session.timeZone") == zone
        # a date has its midnight in the session's zone: id 3 is gone since then
        gone = [line for line in found.pop("since scd2") if '"id": 3' in line]
        assert [json.loads(line)["_valid_to"] for line in gone] == [f"{midnight}:00.000000Z"]
        told[zone] = found
    project.session.conf.set("spark.sql.session.timeZone", "UTC")
    for zone in midnights:
        for part, lines in told["UTC"].items():
            assert told[zone][part] == lines, (zone, part)
    # both engines say the same
    for part, lines in told["UTC"].items():
        assert lines == told["UTC"][part.replace("workers", "spark")], part


def _story(project: Any, zone: str) -> dict[str, list[str]]:
    rows = Entity(project, f"rows_{zone}", COLUMNS, max_delete_fraction=1, engine="workers")
    since = Entity(project, f"since_{zone}", COLUMNS, max_delete_fraction=1, effective_from="at")
    bare = {name: kind for name, kind in COLUMNS.items() if name != "at"}
    # outside of UTC the workers leave timestamps to Spark
    events = [
        EventEntity(project, f"timed_{zone}", COLUMNS),
        EventEntity(project, f"bare_spark_{zone}", bare, engine="spark"),
        EventEntity(project, f"bare_workers_{zone}", bare, engine="workers"),
    ]
    names = [rows.name, since.name, *(one.name for one in events)]
    for (day, text), batch in zip(DAYS.items(), BATCHES, strict=True):
        for entity in (rows, since):
            entity.extract(day, text)
        for one in events:
            one.land(batch)
        project.dbt("run", "--select", *names, vars={"business_date": day})
    asked = {"since scd2": call("scd2", since.name)}
    for name in names:
        # the moment at which the first load was completed, as the session shows it
        moment = project.sql(
            f"select cast(min(completed_at) as string) from tidemark_commits where entity = '{name}'"
        )[0][0]
        asked |= {
            f"{name} feed": call("change_feed", name, moment),
            f"{name} known": call("as_of", name, "2026-11-02", known_at=moment),
            f"{name} as of": call("as_of", name, "2026-11-01"),
            f"{name} history": "select * from " + call("history", name),
        }
    for one in events:
        asked[f"{one.name} scd2"] = call("scd2", one.name, by="event_time")
        asked[f"{one.name} then"] = call("as_of", one.name, "2026-11-01T06:40:00Z", by="event_time")
    found = {}
    for part, query in zip(asked, render(project, list(asked.values())), strict=True):
        frame = project.session.sql(query)
        lines = [
            json.loads(row[0])
            for row in frame.selectExpr(f"to_json(struct(*), {IN_UTC})").collect()
        ]
        kept = [{name: value for name, value in line.items() if name not in OWN} for line in lines]
        found[part.replace(f"_{zone}", "")] = sorted(
            json.dumps(line, sort_keys=True) for line in kept
        )
    return found
