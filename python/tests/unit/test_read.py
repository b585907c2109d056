"""`tidemark status`, `runs`, `rejects`, `history`, `changes`: judged and shown without Spark."""

from __future__ import annotations

import datetime as dt
import io
import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from deltalake import write_deltalake
from rich.console import Console

from dbt.adapters.tidemark.connections import _remember_run
from tidemark import cli
from tidemark.failures import (
    Failure,
    one_line,
    read_failures,
    remember_failure,
    succeeded_at,
)
from tidemark.home import Home
from tidemark.read import delta
from tidemark.read import project as projects
from tidemark.read.commits import Commit
from tidemark.read.past import rows_as_of
from tidemark.read.project import Entity, KnownProject, known_project
from tidemark.read.show import ago, bar, notes
from tidemark.read.status import Counts, Seen, landed_dates, missing_dates, status_of
from tidemark.read.tables import TableNotReadable, Tables
from tidemark.read.versions import Change, Version
from tidemark.report.collect import _NO_LOADS, run_rows, value_intervals
from tidemark.run.options import RunOptions
from tidemark.shapes.opened import Kind

from ..foreign_project import ForeignProject
from ..stored import (
    CITIES,
    ICEBERG,
    LOG,
    NOW,
    VIEWED,
    day,
    known_shop,
    logged,
    stand_in,
    state,
    write,
    write_loads,
)


def commit(number: int, date: dt.date | None = None, **more: Any) -> Commit:
    """A completed load; numbers rise."""
    values = {"relation": "shop.cities", "entity": "cities", "kind": "load", "state": "completed"}
    begun = NOW + dt.timedelta(minutes=number)
    ended = begun + dt.timedelta(seconds=5)
    return Commit(
        **{**values, "commit_id": number, "business_date": date, "started_at": begun, "completed_at": ended, **more}
    )  # fmt: skip


def judged(*commits: Commit, entity: Entity = CITIES, **seen: Any) -> Any:
    return status_of(entity, sorted(commits, key=lambda c: -c.commit_id), Seen(**seen), NOW)


def test_status__of_loads() -> None:
    found = judged(
        commit(1, day(1), rows_inserted=3),
        commit(2, day(3), rows_inserted=1, rows_updated=2, rows_deleted=1, rows_unchanged=7),
        commit(3, day(2), rows_updated=1),
        commit(4, day(3), kind="repeat"),
        rows=9,
    )
    assert (found.state, found.last_date, found.rows) == ("loaded", day(3), 9)
    # the last run was a repetition; what it found unchanged is not what the last load brought
    assert found.loaded_at == NOW + dt.timedelta(minutes=4, seconds=5)
    assert found.last_load == Counts(0, 1, 0)
    assert notes(found, NOW) == []


def test_status__nothing_loaded() -> None:
    found = judged(commit(1, day(1), state="rolled_back"))
    assert (found.state, found.last_date, found.loaded_at) == ("empty", None, None)


def test_status__what_was_undone_is_not_loaded() -> None:
    found = judged(
        commit(1, day(1)),
        commit(2, day(2), state="rolled_back", undone_by=3),
        commit(3, kind="rollback", source_commit_id=1),
        landed=(day(1), day(2)),
    )
    assert (found.state, found.last_date, found.landed_dates) == ("loaded", day(1), (day(2),))
    assert notes(found, NOW) == ["landed and not loaded: 2026-03-02"]


def test_status__a_full_refresh_forgets_the_dates_before() -> None:
    found = judged(commit(1, day(1)), commit(2, day(2), kind="full_refresh"), commit(3, day(4)))
    assert (found.last_date, found.missing_dates) == (day(4), ())
    assert judged(commit(1, day(9)), commit(2, day(2), kind="full_refresh")).last_date == day(2)


def test_status__in_flight() -> None:
    found = judged(commit(1, day(1)), commit(2, day(2), state="inflight", completed_at=None))
    assert (found.state, found.in_flight, found.last_date) == ("in flight", (2,), day(1))
    assert notes(found, NOW)[0].startswith("commit 2 is in flight")


@pytest.mark.parametrize(
    ("read", "state"), [(2, "loaded"), (1, "behind"), (3, "loaded")]
)  # fmt: skip
def test_status__of_what_is_derived(read: int, state: str) -> None:
    own = {"relation": "shop.cities_scd2", "entity": "cities_scd2", "kind": "scd2"}
    derived = commit(9, source_relation="shop.cities", source_commit_id=read, **own)
    loads = [commit(1, day(1)), commit(2, day(2)), commit(3, kind="compact")]
    found = judged(*loads, derived, entity=VIEWED)
    assert (found.state, found.last_date) == (state, None)


@pytest.mark.parametrize(
    ("later", "state"),
    [
        ([commit(8, day(3), rows_inserted=0, rows_updated=0, rows_deleted=0)], "loaded"),
        ([commit(8, day(3), rows_inserted=0, rows_updated=1, rows_deleted=0)], "behind"),
        ([commit(8, kind="rehash")], "loaded"),
        ([commit(12, kind="rehash")], "behind"),
        ([commit(8, kind="rollback")], "behind"),
        ([commit(8, day(3), relation="shop.ports", rows_inserted=1)], "behind"),
        ([commit(7, day(3), relation="shop.ports", rows_inserted=1)], "loaded"),
    ],
)  # fmt: skip
def test_status__of_what_reads_several(later: list[Commit], state: str) -> None:
    """What changed nothing is not to be read; any of several sources is."""
    own = {
        "relation": "shop.cities_scd2",
        "entity": "cities_scd2",
        "kind": "feed",
        "started_at": NOW,
    }
    derived = [
        commit(9, source_relation="shop.ports", source_commit_id=7, **own),
        commit(10, source_relation="shop.cities", source_commit_id=2, **own),
    ]
    loads = [commit(1, day(1)), commit(2, day(2)), *later]
    assert judged(*loads, *derived, entity=VIEWED).state == state


def test_notes__say_what_to_do() -> None:
    found = judged(commit(1, day(1)), open_rejects=2, problem="only Spark reads it")
    assert notes(found, NOW) == ["2 open rejects: tidemark rejects cities", "only Spark reads it"]


@pytest.mark.parametrize(
    ("days", "missing"),
    [
        ([2, 3, 4, 6, 7], [5]),
        # working days: no Saturday is expected
        ([2, 3, 4, 6, 9, 10], [5]),
        ([2, 3, 4, 5, 6, 9, 10], []),
        # with a Sunday among them, the Saturday is
        ([2, 3, 4, 5, 6, 8, 9], [7]),
        # too few, or not day by day: nobody knows what is expected
        ([2, 3, 5], []),
        ([2, 9, 16, 23, 30], []),
        ([], []),
    ],
)
def test_missing_dates(days: list[int], missing: list[int]) -> None:
    assert missing_dates(map(day, days)) == tuple(map(day, missing))


@pytest.mark.parametrize(
    "location",
    [
        "in/cities_{business_date}.csv",
        "in/{yyyy}/{mm}/{dd}/part-*.csv",
        "in/{business_date}/part?.csv",
        "in/cities_{yyyy}{mm}{dd}*.csv",
        "in/**/cities_{business_date}**.csv",
        "in/[x]/{business_date}.csv",
        "file:{root}/in/{business_date}.csv.gz",
    ],
)
def test_landed_dates(tmp_path: Path, location: str) -> None:
    location = location.replace("{root}", str(tmp_path))
    local = location.removeprefix(f"file:{tmp_path}/")
    for name in ("2026-03-01", "2026-03-04"):
        year, month, number = name.split("-")
        path = local.replace("{business_date}", name).replace("{yyyy}", year)
        path = path.replace("{mm}", month).replace("{dd}", number)
        file = tmp_path / path.replace("**", "1").replace("*", "1").replace("?", "2")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("id\n")
    (tmp_path / "in").joinpath("cities_2026-13-01.csv").write_text("id\n")
    assert landed_dates(tmp_path, location) == (day(1), day(4))


def test_size__counts_as_small_what_compact_would_join(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [("1", 10), ("2", 20), ("2", 30), ("2", 200 * 1024 * 1024), ("3", 90 * 1024 * 1024)]
    tables = Tables(KnownProject(tmp_path, str(tmp_path), "shop", "delta"))
    stored = SimpleNamespace(sizes=lambda: files)
    monkeypatch.setattr(tables, "_read", lambda path, ask: ask(stored))
    assert tables.size("a")[1:] == (5, 4)
    assert tables.size("a", by_partition=True)[1:] == (5, 2)
    files[:] = files[:1]
    assert tables.size("a") == (10, 1, 0)


@pytest.mark.parametrize("location", [None, "in/cities.csv", "s3://lake/{business_date}.csv"])
def test_landed_dates__nothing_is_known(tmp_path: Path, location: str | None) -> None:
    assert landed_dates(tmp_path, location) == ()


def test_status__failed_until_a_run_goes_through() -> None:
    failed = Failure(
        "shop.cities", "cities", NOW + dt.timedelta(minutes=2), "cities: no file", "2026-03-02"
    )
    found = judged(commit(1, day(1)), failure=failed)
    assert (found.state, found.last_date) == ("failed", day(1))
    assert notes(found, NOW + dt.timedelta(minutes=7)) == [
        "failed 5 min ago: no file",
        "after mending it: tidemark run --select cities --business-date 2026-03-02",
    ]
    assert judged(failure=failed).state == "failed"
    assert judged(commit(1, day(1)), commit(2, day(2)), failure=failed).state == "loaded"
    # an operation is no run, and a run that went through did, also if it was undone since
    assert judged(commit(1, day(1)), commit(2, kind="compact"), failure=failed).state == "failed"
    undone = commit(2, day(2), state="rolled_back", undone_by=3)
    later = (undone, commit(3, kind="rollback"))
    assert judged(commit(1, day(1)), *later, failure=failed).state == "loaded"
    # one that found nothing new has no commit
    for minutes, expected in ((-1, "failed"), (1, "loaded")):
        moment = failed.failed_at + dt.timedelta(minutes=minutes)
        assert judged(commit(1, day(1)), failure=failed, succeeded_at=moment).state == expected


def test_status__stale_when_a_run_was_due() -> None:
    """By dbt's `freshness: {build_after: …}`; a repetition that found nothing new is a run."""
    daily = replace(CITIES, fresh_minutes=24 * 60)
    ended = NOW - dt.timedelta(hours=25)
    late = [commit(1, day(1), completed_at=ended)]
    found = judged(*late, entity=daily)
    assert (found.state, found.fresh_until) == ("stale", NOW - dt.timedelta(hours=1))
    assert notes(found, NOW) == ["stale: a run was due by 2026-03-05 11:00 UTC"]
    again = commit(2, day(1), kind="repeat", completed_at=NOW - dt.timedelta(hours=1))
    assert judged(*late, again, entity=daily).state == "loaded"
    assert judged(*late).state == "loaded" and judged(*late).fresh_until is None
    kept = commit(2, kind="savepoint", completed_at=NOW)
    assert judged(*late, kept, entity=daily).state == "stale"
    # a run that found nothing new has no commit; what was loaded is as old as before
    idle = judged(*late, entity=daily, succeeded_at=NOW - dt.timedelta(hours=1))
    assert (idle.state, idle.loaded_at) == ("loaded", ended)
    assert idle.fresh_until == NOW + dt.timedelta(hours=23)
    # and the report's chart of ages has it too
    for status, ends in [(idle, [25, 1]), (judged(*late, entity=daily), [25])]:
        runs = run_rows({"cities": daily}, [status], late, NOW - dt.timedelta(days=2))
        assert [(NOW - run.completed_at) / dt.timedelta(hours=1) for run in runs] == ends
    assert run_rows({"cities": CITIES}, [judged(*late)], late, NOW - dt.timedelta(days=2)) == []


def test_failures__are_remembered_in_a_file_of_the_owner(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    assert read_failures(home) == []
    kept = [Failure("shop.a", "a", NOW + dt.timedelta(minutes=n), f"no {n}") for n in range(3)]
    for failure in kept:
        remember_failure(home, failure)
    with home.failures.open("a") as file:
        file.write('{"relation": "cut')
    assert read_failures(home) == kept[::-1]
    assert home.failures.stat().st_mode & 0o077 == 0


def test_failures__the_oldest_are_forgotten(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for number in range(700):
        moment = NOW + dt.timedelta(seconds=number)
        remember_failure(home, Failure("shop.a", "a", moment, "x" * 1000))
    found = read_failures(home)
    assert 500 <= len(found) < 700 and found[0].failed_at == NOW + dt.timedelta(seconds=699)
    assert home.failures.stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir()] == ["failures.jsonl"]


def test_successes__are_remembered_of_runs_that_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path))
    home = Home(tmp_path)

    def tell(status: str = "success", kind: str = "scd2", **flags: Any) -> dt.datetime | None:
        place = SimpleNamespace(schema="shop", alias="a/b")
        node = SimpleNamespace(materialized=kind, node_relation=place, node_name="ab")
        result = SimpleNamespace(status=status, message="it failed")
        info = SimpleNamespace(name="NodeFinished", invocation_id="f00")
        event = SimpleNamespace(info=info, data=SimpleNamespace(node_info=node, run_result=result))
        _remember_run(SimpleNamespace(**flags), event)
        return succeeded_at(home, "shop.a/b")

    assert tell("skipped", WHICH="run") is None and tell(kind="view", WHICH="run") is None
    assert tell(WHICH="compile") is None and tell(WHICH="run", EMPTY=True) is None
    assert tell(WHICH="run", VARS={"plan": "p1"}) is None and read_failures(home) == []
    assert tell("error", WHICH="run") is None
    first = tell(WHICH="build")
    assert first is not None and first > read_failures(home)[0].failed_at - dt.timedelta(seconds=1)
    os.utime(next((tmp_path / "successes").iterdir()), (0, 0))
    assert tell(WHICH="run") not in (None, dt.datetime.fromtimestamp(0, dt.UTC))


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("Data Error in model a (models/a.sql)\n  a: 1 of 4 rows cannot be used\nfor example\n  - x,secret", "a: 1 of 4 rows cannot be used"),
        ("Configuration Error in model a\n  a: hash must be xxh64, found: md6", "a: hash must be xxh64, found: md6"),
        ("Database Error in model a (models/a.sql)\n  [CAST_INVALID_INPUT] The value 'secret' of", "[CAST_INVALID_INPUT] (see the log)"),
        ("Runtime Error in model a (models/a.sql)\n  ValueError: secret", "Runtime Error (see the log)"),
        ("Runtime Error in model a (models/a.sql)\n  the load was interrupted before its commit. Run", "the load was interrupted before its commit. Run"),
        ("Database Error in model a\n  /in/a.csv cannot be opened: permission denied", "/in/a.csv cannot be opened: permission denied"),
        ("", "it failed (see the log)"),
    ],
)  # fmt: skip
def test_failures__have_no_values(message: str, line: str) -> None:
    assert one_line(message) == line


def test_bar__shows_whatever_there_is() -> None:
    assert bar(Counts(1, 2, 0, 100_000)).plain == "+~··········"
    assert bar(Counts(0, 0, 0)).plain == ""
    assert len(bar(Counts(10, 10, 10, 10)).plain) == 12


def test_ago() -> None:
    assert [ago(dt.timedelta(minutes=n)) for n in (0, 5, 61, 60 * 50)] == [
        "just now",
        "5 min ago",
        "1 h 1 min ago",
        "2 d ago",
    ]


# --- tables


@pytest.fixture(params=["delta", "iceberg"])
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    if request.param == "iceberg":
        (tmp_path / ICEBERG).touch()
    stand_in(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def loaded(shop: Path) -> Path:
    write_loads(shop)
    (shop / "in").mkdir()
    for number in (1, 2, 5):
        (shop / f"in/{day(number)}.csv").write_text("id\n")
    return shop


def call(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli.cli, list(arguments))
    if code == 0:
        assert result.exception is None, result.output
    return result


def test_cli__before_anything_was_loaded(shop: Path) -> None:
    (cities, _) = json.loads(call("status", "--json").stdout)
    assert (cities["state"], cities["rows"], cities["open_rejects"]) == ("empty", None, 0)
    where = shop / "warehouse/shop.db/tidemark_commits__log"
    assert f"there is nothing at {where}" in call("status").stderr
    assert "there are no commits yet" in call("runs").output
    assert "nothing was loaded yet" in call("changes").output
    assert "0 open rejects of cities" in call("rejects", "cities").output
    result = call("history", "cities", "1", code=1)
    assert "was never loaded" in str(result.exception)


def test_cli__status(loaded: Path) -> None:
    (cities, view) = json.loads(call("status", "--json").stdout)
    assert cities["last_load"] == {
        "inserted": 1,
        "updated": 1,
        "deleted": 1,
        "unchanged": None,
        "rejected": 1,
    }
    assert (cities["rows"], cities["open_rejects"], cities["last_date"]) == (2, 1, "2026-03-02")
    assert (cities["landed_dates"], view["state"]) == (["2026-03-05"], "empty")
    said = call("status", "cities").output
    assert "1 inserted, 1 updated, 1 deleted" in said and "cities_scd2" not in said
    assert "cities: landed and not loaded: 2026-03-05" in said
    assert "cities: 1 open reject: tidemark rejects cities" in said


def test_cli__status__files_that_no_location_finds(loaded: Path) -> None:
    (loaded / "in/2026-03-05_2.csv").touch()
    said = "2026-03-05_2.csv lies there, which location in/{business_date}.csv does not match"
    assert f"cities: {said}\n" in call("status", "cities").output
    assert json.loads(call("status", "cities", "--json").stdout)[0]["unmatched"] == said


def test_cli__status__tables_of_a_model_that_was_renamed(loaded: Path) -> None:
    assert "no model" not in call("status").output
    changed = ("rows_inserted", "rows_updated", "rows_deleted", "rows_rejected")
    counts = dict.fromkeys(("rows_read", *changed), 1)
    others = [
        state(1, "completed", 1, relation=f"{schema}.{name}", entity=name, **counts)
        for schema, name in (("shop", "towns"), ("shop", "gone"), ("dev", "towns"))
    ]
    write(loaded, "tidemark_commits__log", others, "append")
    write(loaded, "towns", [{"id": 1}])
    said = (
        "no model of the project has shop.towns, whose tables and commits remain. A renamed model "
        "goes on with them by `alias: towns` in its config; else run `dbt run-operation "
        "drop_entity` while the model is in the project\n"
    )
    # the table gone was dropped, and dev may be a clone's
    assert call("status").output.endswith(said)
    assert "towns" not in call("status", "cities").output
    assert "towns" not in call("status", "--json").output


def test_cli__runs(loaded: Path) -> None:
    rows = json.loads(call("runs", "--json").stdout)
    assert [(row["commit_id"], row["state"]) for row in rows] == [
        (2, "completed"),
        (1, "completed"),
    ]
    assert len(json.loads(call("runs", "cities", "--limit", "1", "--json").stdout)) == 1
    assert json.loads(call("runs", "cities_scd2", "--json").stdout) == []
    assert "5.0 s" in call("runs").output
    moment = NOW + dt.timedelta(minutes=1, seconds=30)
    failure = Failure("shop.cities", "cities", moment, "cities: no file", "2026-03-02")
    remember_failure(Home(loaded / ".tidemark"), failure)
    states = [row["state"] for row in json.loads(call("runs", "--json").stdout)]
    assert states == ["completed", "failed", "completed"]
    assert "12:01:30  cities: no file" in call("runs", "cities").output
    assert "no file" not in call("status", "cities").output


def test_cli__rejects(loaded: Path) -> None:
    (row,) = json.loads(call("rejects", "cities", "--json").stdout)
    assert (row["_raw_payload"], row["_reject_reason"]) == ("x,y", "cast_failed: id")
    assert (row["reason"], row["column"], row["state"]) == ("cast_failed", "id", "open")
    assert "2 rejects of cities" in call("rejects", "cities", "--all").output


def test_cli__history(loaded: Path) -> None:
    first, second = json.loads(call("history", "cities", "1", "--json").stdout)
    assert (first["operation"], first["values"]) == ("I", {"id": 1, "name": "Aa", "Area km²": 1.5})
    assert second["changes"] == [{"column": "name", "old": "Aa", "new": "A2", "is_apart": False}]
    said = call("history", "cities", "1").output
    assert "name: Aa → A2" in said and "wrong" not in said
    assert "2026-03-02  delete" in call("history", "cities", "2").output
    result = call("history", "cities", "9", code=1)
    assert "never had a row with the key 9" in str(result.exception)
    result = call("history", "cities", "1", "2", code=1)
    assert "the key of cities is id: give 1 value, found 2" in str(result.exception)
    result = call("history", "citys", "1", code=1)
    assert "Did you mean 'cities'?" in str(result.exception)
    result = call("history", "cities_scd2", "1", code=1)
    assert "so it has no log of versions" in str(result.exception)
    # a value is text, whatever is in it
    assert "never had a row" in str(call("history", "cities", "1' or '1'='1", code=1).exception)


def test_cli__changes(loaded: Path) -> None:
    (found,) = json.loads(call("changes", "--json").stdout)
    assert (found["inserted"], found["updated"], found["deleted"]) == (1, 1, 1)
    assert found["columns"] == [["name", 1]]
    assert [(one["key"]["id"], one["operation"]) for one in found["samples"]] == [
        (1, "U"),
        (2, "D"),
        (3, "I"),
    ]
    assert found["samples"][0]["changes"] == [
        {"column": "name", "old": "Aa", "new": "A2", "is_apart": False}
    ]
    said = call("changes", "cities", "--date", "2026-03-02", "--samples", "1").output
    assert "most changed: name (1)" in said and "id=3" not in said
    assert "1 rejected" in said and "1 open reject: tidemark rejects cities" in said
    before = call("changes", "--date", "2026-03-01").output
    assert "2 inserted" in before and "reject" not in before
    assert "cities    no load of this date\n" in call("changes", "--date", "2026-03-05").output
    assert not json.loads(call("changes", "--date", "2026-03-05", "--json").stdout)[0]["is_loaded"]
    # as `tidemark run` calls it
    assert call("changes", "--business-date", "2026-03-01").output == before
    wrong = call("changes", "cities", "2026-03-01", code=1).exception
    assert str(wrong) == "2026-03-01 is no entity but a date: write --date 2026-03-01"
    result = call("changes", "--date", "2026-03-01..2026-03-02", code=1)
    assert "--date must be one date" in str(result.exception)


def test_cli__diff(loaded: Path) -> None:
    def counted(first: str, last: str) -> Any:
        return json.loads(call("diff", "cities", first, last, "--json").stdout)

    found = counted("2026-03-01", "2026-03-02")
    assert (found["inserted"], found["updated"], found["deleted"]) == (1, 0, 1)
    # the hash tells what differs: these rows have all the same one
    rows = [{**row, "_row_hash": row["name"]} for row in LOG]
    write(loaded, "cities__log", rows, "overwrite")
    found = counted("2026-03-01", "2026-03-02")
    assert (found["inserted"], found["updated"], found["deleted"]) == (1, 1, 1)
    assert [(one["key"]["id"], one["operation"]) for one in found["samples"]] == [
        (1, "U"),
        (2, "D"),
        (3, "I"),
    ]
    assert found["samples"][0]["changes"] == [
        {"column": "name", "old": "Aa", "new": "A2", "is_apart": False}
    ]
    # the other way round, and where nothing lies between
    found = counted("2026-03-02", "2026-03-01")
    assert (found["inserted"], found["updated"], found["deleted"]) == (1, 1, 1)
    (change,) = found["samples"][0]["changes"]
    assert (change["column"], change["old"], change["new"]) == ("name", "A2", "Aa")
    assert "no difference" in call("diff", "cities", "2026-03-02", "2026-03-09").output
    assert counted("2026-02-01", "2026-03-01")["inserted"] == 2
    result = call("diff", "cities", "2026-03-01..2026-03-03", "2026-03-04", code=1)
    assert "there must be two dates" in result.output
    said = call("diff", "cities", "2026-03-01", "2026-03-02", "--samples", "1").output
    assert "name: Aa → A2" in said and "id=2" not in said


def sequence_by(value: int | None) -> dict[str, Any]:
    """What orders an event of a log with `sequence_by`."""
    return {"sequence_1": value, "is_stream": True, "position": 0, "supplied_num": 0}


def test_events__have_the_order_of_the_log(shop: Path) -> None:
    """Of one date and commit: by sequence, and at a tie by what arrived first."""

    def event(name: str | None, operation: str, sequence: int | None, line: int) -> dict[str, Any]:
        kind = {"I": "INSERT", "U": "UPDATE", "D": "DELETE"}[operation]
        return logged(1, name, operation, 1, _sequence_num=line, _batch_id=1, _event_id=f"e{line}",
                      _sequence_by=sequence_by(sequence), _source_operation=kind,
                      _transaction_id="7:1", _event_time=NOW, _offset=None)  # fmt: skip

    rows = [event("c", "U", 8, 4), event("b", "U", 8, 3), event("a", "I", None, 5)]
    write(shop, "cities__log", [*rows, event("c", "D", 9, 1)])
    found = json.loads(call("history", "cities", "1", "--json").stdout)
    assert [one["values"]["name"] for one in found] == ["a", "b", "c", "c"]
    assert found[3]["event"]["operation"] == "DELETE" and found[3]["event"]["transaction"] == "7:1"
    # and the state at a date is that of the last one
    differs = json.loads(call("diff", "cities", "2026-02-01", "2026-03-01", "--json").stdout)
    assert (differs["inserted"], differs["deleted"]) == (0, 0)
    write(shop, "cities__log", rows, "overwrite")
    differs = json.loads(call("diff", "cities", "2026-02-01", "2026-03-01", "--json").stdout)
    assert differs["samples"][0]["values"]["name"] == "c"


@pytest.mark.parametrize(
    ("recorded", "names"),
    [
        ('{"on_tie": "content"}', ["second", "first"]),
        ('{"columns": {}}', ["second", "first"]),  # of before there was this setting
        ('{"on_tie": "later"}', ["first", "second"]),
        (None, ["first", "second"]),
    ],
)
def test_events__have_the_order_that_ties_were_broken_in(
    shop: Path, recorded: str | None, names: list[str]
) -> None:
    """With `on_tie: content` the identity decides at a tie, whatever arrived first, as it does in the log."""

    def event(name: str, line: int) -> dict[str, Any]:
        operation = "I" if name == names[0] else "U"
        changed = ["name"] if operation == "U" else None
        return logged(1, name, operation, 1, _sequence_num=line, _batch_id=1, _event_id=f"e{9 - line}",
                      _sequence_by=sequence_by(5), _source_operation="INSERT", _row_hash=name,
                      _changed_columns=changed, _transaction_id="", _event_time=NOW, _offset=None)  # fmt: skip

    write(shop, "cities__log", [event("first", 1), event("second", 2)])
    # neither what was rolled back counts nor what another entity recorded
    told = [
        state(1, "completed", 1, config=recorded),
        state(2, "rolled_back", 2, config='{"on_tie": "content"}'),
        state(3, "completed", 3, relation="shop.other", config='{"on_tie": "later"}'),
    ]
    write(shop, "tidemark_commits__log", told)
    found = json.loads(call("history", "cities", "1", "--json").stdout)
    assert [one["values"]["name"] for one in found] == names
    assert [one["operation"] for one in found] == ["I", "U"]
    (change,) = found[1]["changes"]
    assert (change["old"], change["new"]) == tuple(names)
    differs = json.loads(call("diff", "cities", "2026-02-01", "2026-03-01", "--json").stdout)
    assert differs["samples"][0]["values"]["name"] == names[1]
    (day_changes,) = json.loads(call("changes", "--date", "2026-03-01", "--json").stdout)
    assert [one["values"]["name"] for one in day_changes["samples"]] == names
    tables = Tables(known_shop(shop))
    for moment in (None, day(1)):
        (row,) = rows_as_of(tables, CITIES, moment).rows
        assert row["name"] == names[1]


def test_diff__of_events_that_changed_nothing(shop: Path) -> None:
    """In the order of the sequence; by the day they had, as what was before them came later."""

    def event(operation: str, name: str, number: int, on: int, **more: Any) -> dict[str, Any]:
        kind = {"D": "DELETE"}.get(operation, "UPDATE")
        row = logged(1, name, operation, 1, _sequence_num=number, _batch_id=1,
                     _event_id=f"e{number}", _source_operation=kind, _transaction_id="",
                     _event_time=NOW, _offset=None, _business_date=day(on))  # fmt: skip
        return {**row, "_row_hash": name, "place": "a column of theirs", **more}

    def differences(*rows: dict[str, Any]) -> tuple[Any, ...]:
        write(shop, "cities__log", list(rows), "overwrite")
        found = json.loads(call("diff", "cities", "2026-03-01", "2026-03-02", "--json").stdout)
        shown = [(one["operation"], one["values"]["name"]) for one in found["samples"]]
        return found["inserted"], found["updated"], found["deleted"], shown

    first, late = event("I", "a", 1, 1), event("U", "b", 2, 3)
    same, gone = event("N", "b", 3, 2), event("N", "b", 4, 2, _row_hash=None)
    assert differences(first, late, same) == (0, 1, 0, [("U", "b")])
    assert differences(first, event("D", "a", 2, 3), gone) == (0, 0, 1, [("D", "a")])
    assert differences(first, event("N", "a", 2, 2)) == (0, 0, 0, [])
    # that of a row that was pushed aside by one that has moved there
    moved = event("U", "c", 2, 2, _source_operation="MOVE_IN")
    assert differences(first, moved, gone) == (0, 1, 0, [("U", "c")])
    assert differences(same) == (1, 0, 0, [("I", "b")])


def test_cli__report(loaded: Path) -> None:
    found = json.loads(call("report", "--days", "36500", "--key", "cities:1", "--json").stdout)
    assert set(found) == set(json.loads(call("report", "--schema").stdout)["properties"])
    (cities, view) = found["entities"]
    assert (cities["rows"], cities["open_rejects"], cities["inserted"]) == (2, 1, 1)
    assert (cities["files"], view["state"], view["size_bytes"]) == (2, "empty", None)
    assert cities["notes"] == [
        "landed and not loaded: 2026-03-05",
        "1 open reject: tidemark rejects cities",
    ]
    loads = [(row["business_date"], row["inserted"], row["rejected"]) for row in found["loads"]]
    assert loads == [("2026-03-01", 2, 0), ("2026-03-02", 1, 1)]
    assert found["columns"] == [{"entity": "cities", "column": "name", "changes": 1}]
    assert found["rejects"] == [{"entity": "cities", "reason": "cast_failed: id", "rows": 1}]
    # two keys with a version more, and one with one
    assert [(row["versions"], row["keys"]) for row in found["versions"]] == [(1, 1), (2, 2)]
    assert found["lineage"] == [{"reads": "cities", "read_by": "cities_scd2"}]
    (key,) = found["keys"]
    assert [one["changes"] for one in key["versions"]] == [[], ["name: 'Aa' → 'A2'"]]
    assert key["values"] == [
        {"column": "name", "value": "'Aa'", "since": "2026-03-01", "until": "2026-03-02"},
        {"column": "name", "value": "'A2'", "since": "2026-03-02", "until": None},
    ]

    # no load was so late, as the fixture's dates are long ago
    assert json.loads(call("report", "--days", "1", "--json").stdout)["loads"] == []
    path = call("report", "--output", "out/report.html").output.strip()
    text = Path(path).read_text()
    assert "https:" not in text.partition("<script id")[0] and len(text) < 700_000
    call("report", "cities")
    assert (loaded / ".tidemark/report.html").exists()


def test_cli__model_whose_table_has_another_name(
    loaded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = known_shop(loaded)
    entities = {
        "dim_cities": replace(project.entities["cities"], name="dim_cities"),
        # another model has the name that stands in the commits
        "cities": replace(project.entities["cities_scd2"], name="cities"),
    }
    renamed = replace(project, entities=entities)
    monkeypatch.setattr("tidemark.read.cli.known_project", lambda *_: renamed)
    found = json.loads(call("report", "--days", "36500", "--json").stdout)
    assert [row["entity"] for row in found["loads"]] == ["dim_cities", "dim_cities"]
    assert {row["entity"] for row in json.loads(call("runs", "--json").stdout)} == {"dim_cities"}


def test_value_intervals__of_a_row_that_goes_and_comes() -> None:
    def version(number: int, operation: str, n: int, *changed: str) -> Version:
        changes = tuple(Change(name, None, n) for name in changed)
        return Version({"id": 1}, operation, day(number), number, {}, {"id": 1, "n": n}, changes)

    versions = [
        version(1, "I", 1),
        version(2, "U", 2, "n"),
        version(2, "U", 3, "n"),  # on the same day: the last one counts
        version(4, "D", 3),
        version(6, "I", 3),
    ]
    found = [(one.value, one.since, one.until) for one in value_intervals(versions)]
    assert found == [("1", day(1), day(2)), ("3", day(2), day(4)), ("3", day(6), None)]
    assert value_intervals(versions[:1]) == []


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("cities", "--key must be an entity and a key"),
        ("citys:1", "Did you mean 'cities'?"),
        ("cities:", "--key must be an entity and a key"),
        ("cities:7", "cities never had a row with the key 7"),
    ],
)
def test_cli__report__of_a_wrong_key(loaded: Path, key: str, message: str) -> None:
    assert message in str(call("report", "--key", key, code=1).exception)


def test_table__that_only_spark_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch)
    write_loads(tmp_path)
    loaded = tmp_path
    log = next((loaded / "warehouse/shop.db/cities__rejects/_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    before = call("rejects", "cities", "--json").stdout

    def has(*features: str) -> None:
        named = {name: features for name in ("readerFeatures", "writerFeatures")}
        for action in actions:
            if "protocol" in action:
                action["protocol"] = {"minReaderVersion": 3, "minWriterVersion": 7, **named}
        log.write_text("\n".join(map(json.dumps, actions)))

    # delta-rs reads none of it, and DuckDB does
    has("typeWidening")
    assert call("rejects", "cities", "--json").stdout == before
    has("typeWidening", "deletionVectors")
    (cities, _) = json.loads(call("status", "--json").stdout)
    assert cities["open_rejects"] is None and "a wider type" in cities["problem"]
    assert (cities["last_date"], cities["rows"]) == ("2026-03-02", 2)
    result = call("rejects", "cities", code=1)
    assert isinstance(result.exception, TableNotReadable)
    assert "a column has a wider type, which only Spark reads together" in str(result.exception)


def test_wider_types(tmp_path: Path) -> None:
    """A column of each type that has become a wider one, with names of its own in files, and partitions."""
    folder = tmp_path / "table"
    rows = {
        "d": ["2026-01-01", "2026-01-02"],
        "a": pa.array([1, None], pa.int32()),
        "t": pa.array([0, 1], pa.timestamp("us", "UTC")),
        "s": pa.array([{"x": [1]}, None], pa.struct([("x", pa.list_(pa.int16()))])),
        "m": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int8())),
        "e": pa.array([1.5, 2.5], pa.float32()),
        "b": pa.array([b"\0", None]),
    }
    write_deltalake(str(folder), pa.table(rows), partition_by=["d"])
    log = next((folder / "_delta_log").glob("*.json"))
    text = (
        log.read_text()
        .replace('\\"integer\\"', '\\"long\\"')
        .replace('\\"short\\"', '\\"integer\\"')
    )
    actions = [json.loads(line) for line in text.splitlines()]
    named = {name: ["typeWidening"] for name in ("readerFeatures", "writerFeatures")}
    for action in actions:
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": 3, "minWriterVersion": 7, **named}
    log.write_text("\n".join(map(json.dumps, actions)))
    table = delta.open_table(str(folder))
    assert table.query("select * from t order by d") == [
        {
            "d": "2026-01-01", "a": 1, "t": dt.datetime(1970, 1, 1, tzinfo=dt.UTC), "s": {"x": [1]},
            "m": {"k": 1}, "e": 1.5, "b": b"\0",
        },
        {
            "d": "2026-01-02", "a": None, "t": dt.datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=dt.UTC),
            "s": None, "m": {}, "e": 2.5, "b": None,
        },
    ]  # fmt: skip
    condition = table.equals("t", "1970-01-01 00:00:00.000001")
    assert table.query(f"select d from t where {condition}") == [{"d": "2026-01-02"}]
    with duckdb.connect() as db:
        table.show(db, "shown", "select a + 5000000000 as n from t where a is not null")
        assert db.execute("select typeof(n), n from shown").fetchall() == [("BIGINT", 5000000001)]


def test_tables__lie_where_spark_puts_them(tmp_path: Path) -> None:
    project = KnownProject(tmp_path, f"file:{tmp_path}/w", "shop", "delta")
    assert Tables(project).of(CITIES, "__log") == str(tmp_path / "w/shop.db/cities__log")
    # Spark's own schema lies at the warehouse
    default = replace(CITIES, schema="default")
    assert Tables(project).of(default, "__log") == str(tmp_path / "w/cities__log")
    away = replace(CITIES, location_root="s3a://lake/tables/")
    assert Tables(project).of(away) == "s3://lake/tables/cities"
    with pytest.raises(TableNotReadable, match="cannot be read"):
        Tables(project).rows(str(tmp_path / "nowhere"), "select 1 from t")


@pytest.mark.parametrize("broken", ["people__log", f"people__log__new-{1:032}"])
def test_tables__a_folder_that_may_be_the_tables_is_broken(tmp_path: Path, broken: str) -> None:
    """An older folder is not taken for the table: one line says which folder is to be looked at."""
    project = KnownProject(tmp_path, f"file:{tmp_path}/w", "shop", "delta")
    people = replace(CITIES, table="people", location_root=str(tmp_path))
    for name in ("people__log", f"people__log__new-{1:032}"):
        write_deltalake(str(tmp_path / name), pa.table({"id": [1]}))
    assert Path(Tables(project).of(people, "__log")).name == "people__log"
    for commit in (tmp_path / broken / "_delta_log").glob("*.json"):
        commit.write_text("{")
    with pytest.raises(TableNotReadable) as caught:
        Tables(project).of(people, "__log")
    (line,) = str(caught.value).splitlines()
    assert (
        f"{broken} cannot be read, so it is not known whether it is the table people__log" in line
    )


# --- the project


YAML = """
models:
  - name: orders
    config:
      materialized: cdc
      unique_key: [id, line]
      freshness: {build_after: {count: 2, period: hour}}
      meta: {tidemark: {extract: full, location: "in/{business_date}.csv"}}
    columns: [{name: id, data_type: int}, {name: line, data_type: int}]
"""


def test_project__is_parsed_again_when_a_file_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path / "home"))
    made = ForeignProject(tmp_path / "shop")
    made.write("models/orders.sql", "{{ tidemark.extract() }}")
    made.write("models/models.yml", YAML)
    parsed = []
    whole = projects.remember_project
    monkeypatch.setattr(
        projects, "remember_project", lambda *given: parsed.append(1) or whole(*given)
    )
    options = RunOptions(dates=[], project_dir=made.root, profiles_dir=made.root)
    talk = Console(file=io.StringIO())
    first = known_project(options, talk)
    orders = first.entities["orders"]
    assert (orders.key, orders.kind) == (("id", "line"), "cdc")
    assert orders.fresh_minutes == 120
    assert orders.location == "in/{business_date}.csv"
    assert first.warehouse == str(tmp_path / "home/warehouse")
    assert known_project(options, talk) == first and len(parsed) == 1
    made.write("models/models.yml", YAML.replace("[id, line]", "id"))
    assert known_project(options, talk).entities["orders"].key == ("id",)
    assert len(parsed) == 2

    # what is saved while dbt parses is read by the next one
    def saved_meanwhile(*given: Any) -> KnownProject:
        made.write("models/models.yml", YAML)
        return whole(*given)

    made.write("models/models.yml", YAML.replace("[id, line]", "line"))
    monkeypatch.setattr(projects, "remember_project", saved_meanwhile)
    assert known_project(options, talk).entities["orders"].key == ("line",)
    assert known_project(options, talk).entities["orders"].key == ("id", "line")


def test_tables__an_object_store_that_the_environment_does_not_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    # an address at which nothing listens, and no services of a cloud are asked for keys
    for name, value in {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    project = KnownProject(tmp_path, "s3a://lake/warehouse", "shop", "delta", {}, "p", ())
    tables = Tables(project)
    with pytest.raises(TableNotReadable) as raised:
        tables.exists(tables.commits())
    said = str(raised.value)
    assert said.startswith("s3://lake/warehouse/shop.db/tidemark_commits__log cannot be reached:")
    assert "AWS_ENDPOINT_URL" in said and "\n" not in said


def test_report__tells_loads_from_other_commits() -> None:
    kinds = set(get_args(Kind)) - _NO_LOADS
    assert kinds == {"load", "full_refresh", "rollback", "feed", "scd2", "shred"}
