"""A run that dies at any point is finished or rolled back by the next one: nothing lost, nothing doubled.

Each point is made exactly, by putting the tables back to the version that a run would have left there; a kill -9 at
random moments is in the ring of faults (test_kill.py, test_kill_images.py).
"""

from __future__ import annotations

import os
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.tidemark import rows, tables
from dbt.adapters.tidemark.cursor import SessionConnection
from tidemark.spark import files

from .entities import Entity

pytestmark = pytest.mark.iceberg

COLUMNS = {"id": "int", "name": "string", "phone": "string"}
DAYS = {
    "2026-01-01": "id,name,phone\n1,ann,11\n2,bob,22\n3,cy,33\n",
    "2026-01-02": "id,name,phone\n1,ann,11\n2,bob,23\n4,di,44\nx,ed,55\n",
    "2026-01-03": "id,name,phone\n1,ann,11\n2,bob,23\n3,cy,33\n4,di,45\n",
}
STATE = {
    "": "id, name, _operation, _eff_start_date",
    "__history": "_business_date, id, name, _operation, _changed_columns",
    "__rejects": "_business_date, _reject_reason, _raw_payload",
    "__sensitive": "_business_date, phone",
}


def new_entity(project: Any, name: str, **settings: Any) -> Entity:
    return Entity(
        project,
        name,
        COLUMNS,
        sensitive=["phone"],
        on_reject="quarantine",
        max_delete_fraction=1,
        **settings,
    )


def state_of(entity: Entity) -> dict[str, Any]:
    return {relation: entity.rows(columns, relation) for relation, columns in STATE.items()}


def put_back(entity: Entity, commit: int, *tables: str) -> None:
    """Undo what the commit did to these tables, and that it was completed."""
    for table in tables:
        entity.project.undo(entity.name + table)
    entity.project.sql(
        f"delete from tidemark_commits__log where commit_id = {commit} and entity = '{entity.name}' "
        "and state = 'completed'"
    )


def last_commit(entity: Entity) -> int:
    return int(entity.commits("commit_id")[-1][0])


@pytest.mark.parametrize("tagged", [pytest.param(False, marks=pytest.mark.slow), True])
def test_died_after_and_before_log(module_project: Any, tagged: bool) -> None:
    crashed = new_entity(module_project, f"crashed_{tagged}".lower(), tag_unchanged=tagged)
    for day in ("2026-01-01", "2026-01-02"):
        crashed.load(day, DAYS[day])
    whole = state_of(crashed)
    put_back(crashed, last_commit(crashed), "")
    assert state_of(crashed) != whole
    # the same day again: the commit is finished, and the day is found to be loaded
    result = crashed.run("2026-01-02")
    assert "finished commit" in result.output
    assert state_of(crashed) == whole
    assert crashed.commits()[-2:] == [("load", "completed"), ("repeat", "completed")]
    # or the next day
    put_back(crashed, crashed.commits("commit_id")[-2][0], "")
    crashed.load("2026-01-03", DAYS["2026-01-03"])
    assert {key: value for key, value in state_of(crashed).items() if key != ""} == {
        "__history": [
            *whole["__history"],
            *crashed.rows(STATE["__history"], "__history", "_business_date = '2026-01-03'"),
        ],
        "__rejects": whole["__rejects"],
        "__sensitive": sorted(
            [
                *whole["__sensitive"],
                *crashed.rows(STATE["__sensitive"], "__sensitive", "_business_date = '2026-01-03'"),
            ],
            key=str,
        ),
    }
    assert [row[0] for row in crashed.rows("id")] == [1, 2, 3, 4]
    # before the log: what was written beside it (rejects, sensitive) is there, the log and current are not
    whole, dead = state_of(crashed), last_commit(crashed)
    put_back(crashed, dead, "", "__log")
    assert state_of(crashed)["__history"] != whole["__history"]
    # with a slice that was no table yet
    tables = module_project.folder_of(crashed.name).parent
    half = tables / f"{crashed.name}__slice_{dead}_log"
    (half / "_temporary").mkdir(parents=True)
    result = crashed.run("2026-01-03")
    assert not half.exists()
    assert "rolled back commit" in result.output
    assert state_of(crashed) == whole
    assert dict(crashed.commits("commit_id, state"))[dead] == "rolled_back"


@pytest.mark.turn(0)
def test_slices_of_others(module_project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a metastore that is shared a run leaves what another one may be reading; what is a day old was left.

    By whose clock: the number may be of one that is a day behind, or this process's a day ahead, so the files decide.
    """
    one = Entity(module_project, "others", {"id": "int", "name": "string"})
    one.load("2026-01-01", "id,name\n1,ann\n")
    young, old = (
        (datetime.now(UTC) - timedelta(days=days)).strftime("%y%m%d%H%M%S000") for days in (0, 2)
    )

    def slices() -> list[str]:
        found = module_project.sql(f"show tables like '{one.name}__slice_*'")
        return [row.tableName.removeprefix(f"{one.name}__slice_") for row in found]

    live, own = f"{young}_log_0123abcd", f"{young}_log_{tables._process_name}"
    dead, behind, empty = (f"{old}_{name}_0123abcd" for name in ("dead", "behind", "empty"))
    for name in (live, own, dead, behind, empty):
        rows = "select 1 as n" + (" where false" if name == empty else "")
        module_project.sql(f"create table {one.name}__slice_{name} using parquet as {rows}")
    for file in module_project.folder_of(f"{one.name}__slice_{dead}").iterdir():
        os.utime(file, (0, time.time() - 2 * 24 * 3600))
    monkeypatch.setattr(files, "_is_shared", lambda configuration: True)
    one.load("2026-01-02", "id,name\n1,anna\n")
    assert sorted(slices()) == sorted([live, behind])
    one.run("2026-01-02", **{"plan": True})
    assert sorted(slices()) == sorted([live, behind])
    monkeypatch.undo()
    one.run("2026-01-02")
    assert slices() == []


@pytest.mark.turn(1)
def test_died_in_first_run(module_project: Any) -> None:
    """Tables without a commit are made anew, however far a second run that died too had come with it."""
    first = Entity(module_project, "first", {"id": "int", "name": "string"})
    first.load("2026-01-01", "id,name\n1,ann\n")
    log = next(Path(module_project.root).rglob("dbt.log"))
    for gone in ("nothing", "current"):
        module_project.sql(f"delete from tidemark_commits__log where entity = '{first.name}'")
        for table in ("", "__log"):
            module_project.sql(f"delete from {first.name}{table}")
        if module_project.file_format == "iceberg":
            module_project.sql(f"insert into {first.name}__log (_superseded_by) values (-1)")
        if gone == "current":
            module_project.sql(f"drop table {first.name}")
        begun = log.stat().st_size
        first.run("2026-01-01")
        assert first.rows("id, name, _operation") == [(1, "ann", "I")], gone
        assert first.commits() == [("load", "completed")], gone
        # the log goes last: without it nobody knows whose the others are
        said = log.read_text()[begun:]
        dropped = re.findall(rf"drop table if exists \S*\.({first.name}\w*)", said)
        tables = [name for name in dropped if "slice" not in name]
        assert tables[0] == first.name, gone
        assert tables[-1] == f"{first.name}__log", gone


@pytest.mark.slow
def test_died_with_new_columns(module_project: Any) -> None:
    """Columns of a run that died before its commit: what the next one declares counts."""
    columns = {"id": "int", "name": "string"}
    left = Entity(module_project, "left", columns)
    left.load("2026-01-01", "id,name\n1,a\n")
    for table in ("", "__log"):
        module_project.sql(f"alter table left{table} add columns (price int, phone string)")
    left.write(columns={**columns, "price": "string", "phone": "string"}, sensitive=["phone"])
    left.load("2026-01-03", "id,name,price,phone\n1,a,007,5\n2,b,8,6\n")
    assert left.rows("id, price") == [(1, "007"), (2, "8")]
    assert left.rows("phone", "__sensitive") == [("5",), ("6",)]
    left.load("2026-01-02", "id,name\n1,a\n")
    left.check()


@pytest.mark.slow
def test_died_with_other_settings(module_project: Any) -> None:
    """A load that wrote current by other settings, and died: current is as the log's last commit has it, or as the load would have it."""
    soft = Entity(module_project, "died_soft", {"id": "int", "name": "string"}, max_delete_fraction=1)  # fmt: skip
    soft.load("2026-01-01", "id,name\n1,a\n2,b\n")
    soft.load("2026-01-02", "id,name\n1,a\n")
    for day, then, name, outcome in (
        ("2026-01-03", "2026-01-04", "a", "rolled back"),  # nothing was logged
        ("2026-01-05", "2026-01-06", "c", "finished"),
    ):
        soft.write(soft_delete=True)
        soft.load(day, f"id,name\n1,{name}\n")
        assert soft.rows("id") == [(1,), (2,)]
        put_back(soft, last_commit(soft))
        soft.write(soft_delete=False)
        assert f"{outcome} commit" in soft.load(then, f"id,name\n1,{name}\n").output
        assert soft.rows("id") == [(1,)]


@pytest.mark.slow
def test_died_in_correction(module_project: Any) -> None:
    late = new_entity(module_project, "late")
    for day in ("2026-01-01", "2026-01-03"):
        late.load(day, DAYS[day])
    late.load("2026-01-02", DAYS["2026-01-02"])
    whole = state_of(late)
    put_back(late, last_commit(late), "")
    late.run("2026-01-03")
    assert state_of(late) == whole
    # before the log: nothing of it is left, and doing it again gives the same
    late.load("2026-01-02", DAYS["2026-01-02"].replace("bob,23", "bo,24"))
    other = state_of(late)
    put_back(late, last_commit(late), "", "__log")
    late.run("2026-01-02")
    assert state_of(late) == other


@pytest.mark.slow
def test_died_in_full_refresh(module_project: Any) -> None:
    renewed = Entity(module_project, "renewed", {"id": "int", "name": "string"})
    renewed.load("2026-01-01", "id,name\n1,ann\n2,bob\n")
    renewed.load(
        "2026-01-02",
        "id,name\n1,ann\n",
        "--full-refresh",
    )
    commit = last_commit(renewed)
    whole = {
        relation: renewed.rows("id, name, _operation", relation) for relation in ("", "__history")
    }
    # died with the new log written and not one table renamed
    module_project.sql("alter table renewed__log rename to renewed__log__new")
    module_project.sql(f"alter table renewed__log_{commit} rename to renewed__log")
    module_project.sql(
        f"delete from tidemark_commits__log where commit_id = {commit} and entity = 'renewed' and state = 'completed'"
    )
    renewed.run("2026-01-02")
    assert {
        relation: renewed.rows("id, name, _operation", relation) for relation in ("", "__history")
    } == whole
    # died between the two renames
    module_project.sql("alter table renewed__log rename to renewed__log__new")
    module_project.sql(
        f"delete from tidemark_commits__log where commit_id = {commit} and entity = 'renewed' and state = 'completed'"
    )
    renewed.run("2026-01-02")
    assert {
        relation: renewed.rows("id, name, _operation", relation) for relation in ("", "__history")
    } == whole
    assert renewed.rows("id", f"__log_{commit}") == [(1,), (2,)]
    # died before the new log was written: the old one goes on
    renewed.load("2026-01-03", "id,name\n9,zoe\n", "--full-refresh")
    commit = last_commit(renewed)
    module_project.sql("drop table renewed__log")
    module_project.sql(f"alter table renewed__log_{commit} rename to renewed__log")
    module_project.sql(
        f"delete from tidemark_commits__log where commit_id = {commit} and entity = 'renewed' and state = 'completed'"
    )
    renewed.load("2026-01-02", "id,name\n1,ann\n")
    assert renewed.rows("id, name, _operation", "__history") == whole["__history"]


@pytest.mark.turn(2)
def test_tables_are_gone(module_project: Any) -> None:
    lost = new_entity(module_project, "lost")
    for day in ("2026-01-01", "2026-01-02"):
        lost.load(day, DAYS[day])
    whole = state_of(lost)
    # current can be built again from the log
    module_project.sql("drop table lost")
    lost.run("2026-01-02")
    assert state_of(lost) == whole
    # the log cannot, nor what it does not have
    for table, message in (("log", "the log"), ("sensitive", "the log does not have")):
        module_project.sql(f"alter table lost__{table} rename to lost__elsewhere")
        assert message in lost.run("2026-01-02", expect_pass=False).error
        module_project.sql(f"alter table lost__elsewhere rename to lost__{table}")
    lost.run("2026-01-02")
    assert state_of(lost) == whole


@pytest.mark.slow
def test_log_moved_under_a_new_one(module_project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rehash or a full refresh leaves the old log, if another run has written to it meanwhile, or has taken this one for dead."""
    moved = Entity(module_project, "moved", {"id": "int", "name": "string"})
    moved.load("2026-01-01", "id,name\n1,ann\n")
    first, log = last_commit(moved), moved.rows("*", "__log")
    states = f"`{module_project.schema}`.tidemark_commits__log"
    execute = SessionConnection.execute

    def said(columns: str, kind: str) -> str:
        """SQL that says this of the last commit of a kind."""
        names = "rows_logged, business_date, config, started_at, source_commit_id"
        return (
            f"insert into {states} (relation, entity, commit_id, kind, state, details, {names}, state_at) select relation, entity, "
            f"{columns}, {names}, current_timestamp() from {states} where entity = 'moved' and kind = '{kind}' order by commit_id desc limit 1"
        )

    def meanwhile(columns: str, kind: str) -> None:
        """Have this said once the new log is about to be made."""
        pending = [said(columns, kind)]

        def executed(self: Any, sql: str, bindings: Any = None) -> None:
            if pending and re.search(r"create table [^(]*moved__log__new", sql):
                module_project.query(pending.pop())
            execute(self, sql, bindings)

        monkeypatch.setattr(SessionConnection, "execute", executed)

    for kind in ("rehash", "full_refresh"):
        meanwhile(f"{first + 1}, 'load', 'completed', null", "load")
        if kind == "rehash":
            result = moved.operate("rehash", expect_pass=False)
        else:
            result = moved.run("2026-01-01", "--full-refresh", expect_pass=False)
        assert "another run has written to" in result.output
        assert moved.commits()[-1] == (kind, "rolled_back")
        assert moved.rows("*", "__log") == log
        assert module_project.sql("show tables like 'moved__log_*'") == []
        module_project.sql(f"delete from tidemark_commits__log where commit_id = {first + 1}")

    taken = """'{"taken_over_by": "another"}'"""
    meanwhile(f"commit_id, kind, 'inflight', {taken}", "rehash")
    assert "taken it for dead" in moved.operate("rehash", expect_pass=False).output
    assert moved.rows("*", "__log") == log
    # it had come far enough to be finished
    assert "finished commit" in moved.run("2026-01-01").output
    assert moved.rows("*", "__log") == log
    assert moved.exists(f"__log_{moved.commits('commit_id')[-2][0]}")
    assert moved.commits()[-2:] == [("rehash", "completed"), ("repeat", "completed")]

    # nor is it finished where another run has written to the old log since it began, by a clock that is a day behind
    meanwhile(f"commit_id, kind, 'inflight', {taken}", "rehash")
    moved.operate("rehash", expect_pass=False)
    died = last_commit(moved)
    meant = said(f"{died + 1}, 'load', 'completed', null", "load")
    module_project.query(meant.replace("timestamp()", "timestamp() - interval 1 day"))
    assert f"rolled back commit {died}" in moved.run("2026-01-01").output
    assert moved.rows("*", "__log") == log
    assert not moved.exists(f"__log_{died}")


@pytest.mark.turn(3)
def test_taken_for_dead(module_project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was taken for dead, and lives: it leaves current to the one that finished its commit, and completes none that was rolled back."""
    if module_project.file_format != "delta":
        return  # there the table of commits is asked by a statement, and of a load that logs nothing alone
    slow = Entity(module_project, "slow", {"id": "int", "name": "string"}, extract="delta")
    slow.load("2026-01-01", "id,name\n1,ann\n2,bob\n")
    append = rows.RowsAdapter.append_known
    taken = []

    def take_over(adapter: Any, relation: Any, key: str, row: Any, columns: Any) -> None:
        append(adapter, relation, key, row, columns)
        if row["state"] == "inflight":
            taken.append(row["commit_id"])
            fields = f"{row['commit_id']}, '{row['relation']}', '{row['entity']}', 'load', current_timestamp()"
            adapter._session.sql(
                f"insert into {relation} (commit_id, relation, entity, kind, state_at, state) values ({fields}, '{outcome}')"
            )

    monkeypatch.setattr(rows.RowsAdapter, "append_known", take_over)
    monkeypatch.setattr(files, "_is_shared", lambda configuration: True)
    outcome = "rolled_back"
    result = slow.load("2026-01-02", "id,name\n1,ann\n", expect_pass=False)
    assert "another run took this run for dead" in result.error
    outcome = "completed"
    slow.load("2026-01-03", "id,name\n2,bo\n")
    assert slow.rows("name", "__log", f"_commit_id = {taken[1]}") == [("bo",)]
    assert slow.rows("name", where="id = 2") == [("bob",)]
    states = dict(slow.commits("commit_id, state"))
    assert [states[commit] for commit in taken] == ["rolled_back", "completed"]
    # also of an entity that has had more loads than are judged without Spark
    many = f"`{module_project.schema}`.tidemark_commits__log"
    module_project.sql(
        f"insert into {many} select known.* from {many} as known cross join range(500) "
        f"where entity = 'slow' and commit_id = {min(states)} and state = 'completed'"
    )
    slow.load("2026-01-04", "id,name\n2,bert\n")
    assert slow.rows("name", "__log", f"_commit_id = {taken[2]}") == [("bert",)]
    assert slow.rows("name", where="id = 2") == [("bob",)]


@pytest.mark.turn(2)
def test_second_writer(module_project: Any) -> None:
    """A run whose log has moved on, or that was taken for dead, writes nothing: the statement it would send has no effect."""
    shared = Entity(module_project, "shared", {"id": "int", "name": "string"})
    shared.load("2026-01-01", "id,name\n1,ann\n")
    known = last_commit(shared)
    shared.load("2026-01-02", "id,name\n1,ann\n2,bob\n")
    before = shared.rows("*", "__log")
    # the others began after the last commit, but another run took the one with the even id for dead, or puts another log in the place
    last = last_commit(shared)
    taken, alive = last + 2 - last % 2, last + 3 - last % 2

    def record(commit: int, kind: str, state: str, details: str = "null") -> None:
        module_project.sql(
            "insert into tidemark_commits__log (commit_id, relation, entity, kind, state, details) values "
            f"({commit}, '{module_project.schema}.shared', 'shared', '{kind}', '{state}', {details})"
        )

    record(taken, "load", "rolled_back", "'taken over'")
    for forward, since, commit, replaced in (
        (True, known, known + 1, None),
        (False, known, known + 1, None),
        (True, last, taken, None),
        (False, last, taken, None),
        (True, last, alive, "inflight"),
        (False, last, alive, "inflight"),
        (True, last, alive, "rolled_back"),
    ):
        if replaced:
            record(alive + 1, "rehash", replaced)
        names = [
            "id",
            "name",
            "_key_hash",
            "_row_hash",
            "_operation",
            "_business_date",
            "_eff_start_date",
            "_changed_columns",
        ]
        module_project.sql(
            "create or replace temporary view stale_slice as select 3 as id, 'eve' as name, 'k' as _key_hash, "
            "'r' as _row_hash, 'I' as _operation, date'2026-01-03' as _business_date, date'2026-01-03' as _eff_start_date, "
            "cast(null as array<string>) as _changed_columns, cast(null as bigint) as _supersedes"
        )
        load = {
            "forward": forward,
            "commit_id": commit,
            "last_commit_id": since,
            "business_date": "2026-01-03",
            "states": f"{module_project.schema}.tidemark_commits__log",
            "relation": f"{module_project.schema}.shared",
        }
        module_project.write(
            "macros/stale.sql",
            "{% macro stale() %}"
            f"{{% set load = {load!r} %}}"
            "{% set log = api.Relation.create(schema=target.schema, identifier='shared__log') %}"
            "{% set append = tidemark.for_format(tidemark.lake_format(), 'append_to_log') %}"
            f"{{% do run_query(append({{'log': log}}, {names!r}, 'stale_slice', load)[0]) %}}"
            "{% endmacro %}",
        )
        module_project.dbt("run-operation", "stale")
        if replaced != "rolled_back":
            assert shared.rows("*", "__log") == before, (forward, since, commit, replaced)
    assert len(shared.rows("*", "__log")) == len(before) + 1
