"""Extracts become current and history, told day by day."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.hash_vectors import PEPPER
from tidemark.datagen.cli import datagen
from tidemark.read import delta
from tidemark.read.folders import folder_of

from .entities import Entity

pytestmark = pytest.mark.iceberg

PEOPLE = {"id": "int", "name": "string", "city": "string"}


def d(rows: list[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    """Dates as text, for literal tables."""
    return [tuple(str(value) for value in row) for row in rows]


def test_three_days__full(module_project: Any) -> None:
    people = Entity(module_project, "people", PEOPLE)
    # day 1: first run, no flag
    people.load("2026-01-01", "id,name,city\n1,ann,Oslo\n2,bob,Rome\n3,cy,\n")
    assert d(people.rows("id, name, city, _operation, _eff_start_date")) == [
        ("1", "ann", "Oslo", "I", "2026-01-01"),
        ("2", "bob", "Rome", "I", "2026-01-01"),
        ("3", "cy", "None", "I", "2026-01-01"),
    ]
    # day 2: bob moves, cy gets '' for NULL, ann is gone
    people.load("2026-01-02", 'id,name,city\n2,bob,Bonn\n3,cy,""\n4,di,Kyiv\n')
    assert d(people.rows("id, name, city, _operation, _eff_start_date")) == [
        ("2", "bob", "Bonn", "U", "2026-01-02"),
        ("3", "cy", "", "U", "2026-01-02"),
        ("4", "di", "Kyiv", "I", "2026-01-02"),
    ]
    # day 3: nothing changed but ann is back as she was
    people.load("2026-01-03", 'id,name,city\n1,ann,Oslo\n2,bob,Bonn\n3,cy,""\n4,di,Kyiv\n')
    assert d(
        people.rows("_business_date, id, name, city, _operation, _changed_columns", "__history")
    ) == [
        ("2026-01-01", "1", "ann", "Oslo", "I", "None"),
        ("2026-01-01", "2", "bob", "Rome", "I", "None"),
        ("2026-01-01", "3", "cy", "None", "I", "None"),
        ("2026-01-02", "1", "ann", "Oslo", "D", "None"),
        ("2026-01-02", "2", "bob", "Bonn", "U", "['city']"),
        ("2026-01-02", "3", "cy", "", "U", "['city']"),
        ("2026-01-02", "4", "di", "Kyiv", "I", "None"),
        ("2026-01-03", "1", "ann", "Oslo", "I", "None"),
    ]
    assert people.commits(
        "kind, state, rows_read, rows_inserted, rows_updated, rows_deleted, rows_unchanged"
    ) == [
        ("load", "completed", 3, 3, 0, 0, 0),
        ("load", "completed", 3, 1, 2, 1, 0),
        ("load", "completed", 4, 1, 0, 0, 3),
    ]
    commits = [row[0] for row in people.commits("commit_id")]
    assert commits == sorted(set(commits))
    # the commit's rows and versions are on record
    last = people.commits(
        "log_version_before, log_version_after, current_version_before, current_version_after"
    )[-1]
    if module_project.file_format == "delta":
        assert last[1] == last[0] + 1 and last[3] == last[2] + 1
    assert last[1] != last[0] and last[3] != last[2]


def test_delta_and_tags(module_project: Any) -> None:
    items = Entity(
        module_project,
        "items",
        {"id": "int", "price": "decimal(10,2)"},
        extract="delta",
        tag_unchanged=True,
    )
    items.load("2026-01-01", "id,price\n1,1.50\n2,2.00\n3,3.00\n")
    # day 2: 1 comes unchanged (1.5 is 1.50), 2 changes, 3 is not supplied, 4 is new
    items.load("2026-01-02", "id,price\n1,1.5\n2,2.01\n4,4.00\n")
    assert d(items.rows("id, price, _operation, _eff_start_date")) == [
        ("1", "1.50", "N", "2026-01-01"),
        ("2", "2.01", "U", "2026-01-02"),
        ("3", "3.00", "X", "2026-01-01"),
        ("4", "4.00", "I", "2026-01-02"),
    ]
    assert items.commits("rows_unchanged, rows_not_supplied")[-1] == (1, 1)
    # a delta that is empty deletes nothing and is no error
    items.load("2026-01-03", "id,price\n")
    assert [row[1] for row in items.rows("id, _operation")] == ["X"] * 4
    # the tags are a setting: off, every row has the operation of its last change
    items.write(tag_unchanged=False)
    items.load("2026-01-04", "id,price\n4,4.00\n")
    assert [row[1] for row in items.rows("id, _operation")] == ["I", "U", "I", "I"]


def test_rejects__fail(module_project: Any) -> None:
    strict = Entity(
        module_project, "strict", {**PEOPLE, "age": "int"}, not_null=("name",), sensitive=None
    )
    bad = "id,name,city,age\n1,ann,Oslo,x1\n,bob,Rome,2\n3,,Bonn,3\n4,di,Kyiv,4\n4,di,Lviv,4\n5,ed,Nice,5,6\nz,fi,Rome,1\n6,Zürich,Rome,1\n"
    result = strict.load("2026-01-01", bad.encode("latin-1"), expect_pass=False)
    for line in [
        "8 of 8 rows of business date 2026-01-01 cannot be used; nothing was written",
        "cast_failed: age: 1 row",
        "cast_failed: id: 1 row",
        "duplicate_key: 2 rows",
        "null_key: id: 1 row",
        "null_value: name: 1 row",
        "unreadable: 2 rows",
        '"age":"x1"',
        "/2026-01-01.csv, line 2)",
        "Name its encoding (options: {encoding: windows-1252} in meta.tidemark)",
        "on_reject: quarantine",
    ]:
        assert line in result.error
    assert not strict.exists() and not strict.exists("__log") and strict.commits() == []


@pytest.mark.turn(0)
def test_not_null__taken_back(module_project: Any) -> None:
    """Current takes what the log has, also where an earlier version left it refusing that."""
    freed = Entity(module_project, "freed", PEOPLE, not_null=("name", "city"))
    freed.load("2026-01-01", "id,name,city\n1,ann,Oslo\n")
    freed.not_null = ("city",)
    freed.config = {"tblproperties": {"team": "bags"}}
    freed.write()
    told = freed.load("2026-01-02", "id,name,city\n1,,Oslo\n").output
    assert freed.rows("id, name, city") == [(1, None, "Oslo")]
    # what does not follow the YAML is told, once
    said = f"tblproperties has changed since {module_project.schema}.freed was made"
    assert said in told
    # one that was left where nothing of it was recorded
    module_project.sql(
        """update tidemark_commits__log set config = replace(config, '"not_null": true', '"is_old": true') where entity = 'freed'"""
    )
    freed.not_null = ()
    freed.write()
    told = freed.load("2026-01-03", "id,name,city\n1,,\n", expect_pass=False).output
    assert said not in told
    assert freed.commits("state")[-1] == ("inflight",)
    assert freed.rows("id, name, city") == [(1, None, "Oslo")]
    freed.run("2026-01-03")
    assert freed.rows("id, name, city") == [(1, None, None)]
    assert freed.commits("state")[2] == ("completed",)
    freed.check()


@pytest.mark.turn(0, 2)
def test_rejects__quarantine(module_project: Any) -> None:
    loose = Entity(
        module_project,
        "loose",
        {**PEOPLE, "age": "int"},
        not_null=("name",),
        on_reject="quarantine",
    )
    # day 1: one exact duplicate, which is one row
    loose.load(
        "2026-01-01",
        "id,name,city,age\n1,ann,Oslo,1\n2,bob,Rome,2\n3,cy,Bonn,3\n3,cy,Bonn,3\n6,Gül \ufffd,Bonn,7\n",
    )
    assert loose.commits("rows_read, rows_inserted, rows_rejected, rows_duplicate") == [
        (5, 4, 0, 1)
    ]
    # day 2: ann cannot be read, bob comes twice, Gül is no UTF-8: they were there, so they are not deleted; cy is
    bad = "id,name,city,age\n1,ann,Oslo,old\n2,bob,Rome,2\n2,bob,Pisa,2\n,eve,Rome,1\n4,,Rome,1\n5,flo,Rome,5,6\n6,Gül,Bonn,7\n"
    result = loose.load("2026-01-02", bad.encode("latin-1"), "--warn-error")
    commit = loose.commits("commit_id")[-1][0]
    told = (
        "[WARNING]: loose: 7 of 7 rows of business date 2026-01-02 went to quarantine (2 duplicate_key, "
        "2 unreadable, 1 cast_failed: age, 1 null_key: id, 1 null_value: name). To see these rows: select * from "
        f"{module_project.schema}.loose__rejects where _commit_id = {commit}"
    )
    assert told in result.output
    (line,) = [ln for ln in loose.operate("show_commits").output.splitlines() if str(commit) in ln]
    assert line.split()[-4:] == ["0", "0", "1", "7"]
    assert loose.rows("id, name, city") == [
        (1, "ann", "Oslo"),
        (2, "bob", "Rome"),
        (6, "Gül \ufffd", "Bonn"),
    ]
    assert loose.rows("_reject_reason, _raw_payload", "__rejects") == [
        ("cast_failed: age", '{"id":"1","name":"ann","city":"Oslo","age":"old"}'),
        ("duplicate_key", '{"id":2,"name":"bob","city":"Pisa","age":2}'),
        ("duplicate_key", '{"id":2,"name":"bob","city":"Rome","age":2}'),
        ("null_key: id", '{"id":null,"name":"eve","city":"Rome","age":"1"}'),
        ("null_value: name", '{"id":"4","name":null,"city":"Rome","age":"1"}'),
        ("unreadable", "5,flo,Rome,5,6"),
        ("unreadable", "not UTF-8 (byte 0xFC, shown as ISO-8859-1): 6,Gül,Bonn,7"),
    ]
    read, inserted, updated, unchanged, rejected, duplicate, deleted = loose.commits(
        "rows_read, rows_inserted, rows_updated, rows_unchanged, rows_rejected, rows_duplicate, rows_deleted"
    )[-1]
    assert read == inserted + updated + unchanged + rejected + duplicate == 7
    assert deleted == 1
    # day 2 again, as it was: not one row more, also where an earlier version made the table; then mended
    mapped = "'delta.columnMapping.mode' = 'name'"
    module_project.sql(f"alter table loose__rejects set tblproperties ({mapped})")
    module_project.sql("alter table loose__rejects drop column _resolved_by")
    module_project.sql(
        "update tidemark_commits__log set config = replace(config, 'marks_rejects', 'is_old') where entity = 'loose'"
    )
    again = loose.run("2026-01-02").output
    assert told.replace("quarantine (", "quarantine, none of them new (") in again
    assert loose.commits("kind") == [("load",), ("load",), ("repeat",)]
    assert loose.rows("count(*), count(_resolved_by)", "__rejects") == [(7, 0)]
    bad = "id,name,city,age\n1,ann,Oslo,1\n2,bob,Pisa,2\n3,cy,Bonn,3\n6,Gül \ufffd,Bonn,old\n,eve,Rome,1\n"
    again = loose.load("2026-01-02", bad).output
    assert "2 of 5 rows of business date 2026-01-02 went to quarantine, 1 of them new (" in again
    reloaded = loose.commits("commit_id")[-1][0]
    # Gül's row cannot be read for another reason, and eve's key is as it was
    left = ["cast_failed: age", "null_key: id"]
    assert [
        row[0] for row in loose.rows("_reject_reason", "__rejects", f"_commit_id = {reloaded}")
    ] == left
    assert loose.rows("_reject_reason, _resolved_by", "__rejects", f"_commit_id = {commit}") == [
        ("cast_failed: age", reloaded),
        ("duplicate_key", reloaded),
        ("duplicate_key", reloaded),
        ("null_key: id", None),
        ("null_value: name", reloaded),
        ("unreadable", None),
        ("unreadable", reloaded),
    ]
    found = loose.check("tidemark.no_open_rejects", expect_pass=False)
    assert "Got 2 results" in found.error
    loose.load(
        "2026-01-02",
        "id,name,city,age\n1,ann,Oslo,1\n2,bob,Pisa,2\n3,cy,Bonn,3\n6,Gül \ufffd,Bonn,7\n",
    )
    assert loose.rows("id, city, _operation", "__history", "_business_date = '2026-01-02'") == [
        (2, "Pisa", "U")
    ]
    assert loose.rows("_resolved_by", "__rejects", "_resolved_by is null") == []
    loose.check("tidemark.no_open_rejects")
    # what the load that is undone had mended is open again
    loose.operate("rollback", to=reloaded)
    assert loose.rows("_reject_reason", "__rejects", "_resolved_by is null") == [
        ("cast_failed: age",),
        ("null_key: id",),
        ("null_key: id",),
        ("unreadable",),
    ]


@pytest.mark.parametrize(
    "extract",
    [
        pytest.param("full", marks=pytest.mark.turn(1)),
        pytest.param("delta", marks=pytest.mark.turn(3)),
    ],
)
def test_reject_guard(module_project: Any, extract: str) -> None:
    """More rejects than may be stop a load before it writes; what was let through is not stopped again."""
    columns = {"id": "int", "n": "int"}
    bad = Entity(
        module_project,
        f"bad_{extract}",
        columns,
        extract=extract,
        on_reject="quarantine",
        max_reject_fraction=None,
    )
    result = bad.load("2026-01-01", "id,n\n1,x\n", expect_pass=False)
    assert (
        "1 of 1 rows of business date 2026-01-01 cannot be used; nothing was written"
        in result.error
    )
    assert not bad.exists() and not bad.exists("__rejects")
    # half of a load may be
    bad.load("2026-01-01", "id,n\n1,1\n2,2\n3,x\n4,x\n")
    before = bad.versions()
    most = "id,n\n1,9\n2,x\n3,x\n"
    result = bad.load("2026-01-02", most, expect_pass=False)
    for text in (
        "2 of 3 rows",
        "nothing was written (max_reject_fraction is 0.5)",
        "cast_failed: n: 2 rows",
        "--vars '{business_date: 2026-01-02, allow_rejects: true}', or set max_reject_fraction higher",
    ):
        assert text in result.error, result.error
    assert bad.versions() == before and bad.rows("id, n") == [(1, 1), (2, 2)]
    # let through, once; that date may come again, with few others that are new
    bad.run("2026-01-02", allow_rejects=True)
    kept = [(1, 9), (2, 2)]
    assert (
        bad.rows("id, n") == kept and len(bad.rows("1", "__rejects", "_resolved_by is null")) == 4
    )
    bad.run("2026-01-02")
    bad.load("2026-01-02", most + "4,x\n5,5\n")
    assert bad.rows("id, n") == [*kept, (5, 5)]
    result = bad.load("2026-01-02", most + "4,x\n5,x\n6,x\n", expect_pass=False)
    assert "5 of 6 rows" in result.error and "(2 of them are new; " in result.error
    # a date in the past, which is compared by another way
    assert "2 of 2 rows" in bad.load("2025-12-31", "id,n\n1,x\n2,y\n", expect_pass=False).error
    bad.write(max_reject_fraction=1)
    bad.load("2025-12-31", "id,n\n1,x\n2,y\n")
    assert bad.rows("id, n") == [*kept, (5, 5)]


def test_delete_guard(module_project: Any) -> None:
    guarded = Entity(module_project, "guarded", PEOPLE, max_delete_fraction=0.5)
    # an empty first extract is legal
    guarded.load("2026-01-01", "id,name,city\n")
    assert guarded.rows("id") == []
    guarded.load("2026-01-02", "id,name,city\n1,a,x\n2,b,x\n3,c,x\n")
    # an empty later one is not, and deletes nothing; nor is the same date, which is compared with what it brought
    before = guarded.versions()
    result = guarded.load("2026-01-02", "id,name,city\n1,a,x\n", expect_pass=False)
    assert "has 1 row and would delete 2 of 3 keys" in result.error
    result = guarded.load("2026-01-03", "id,name,city\n", expect_pass=False)
    assert "has 0 rows and would delete 3 of 3 keys (max_delete_fraction is 0.5)" in result.error
    assert result.error.startswith("Data Error in model ") and "in macro" not in result.error
    assert guarded.load("2026-01-03", "", expect_pass=False).error
    result = guarded.load("2026-01-03", "id,name,city\n1,a,x\n", expect_pass=False)
    assert "would delete 2 of 3 keys" in result.error
    assert "tidemark plan --select guarded --business-date 2026-01-03" in result.error
    assert guarded.versions() == before
    # let through, once
    guarded.run("2026-01-03", allow_deletes=True)
    assert guarded.rows("id") == [(1,)]
    # what was let through needs not be let through again when the date comes again
    guarded.run("2026-01-03")
    assert guarded.load("2026-01-03", "id,name,city\n", expect_pass=False).error
    assert guarded.rows("id") == [(1,)]
    assert guarded.load("2026-01-04", "id,name,city\n", expect_pass=False).error


def test_soft_delete(module_project: Any) -> None:
    soft = Entity(module_project, "soft", PEOPLE, soft_delete=True, max_delete_fraction=1)
    soft.load("2026-01-01", "id,name,city\n1,a,x\n2,b,y\n")
    soft.load("2026-01-02", "id,name,city\n1,a,x\n")
    assert d(soft.rows("id, name, _operation, _eff_start_date")) == [
        ("1", "a", "I", "2026-01-01"),
        ("2", "b", "D", "2026-01-02"),
    ]
    soft.check()
    # it stays deleted, with one delete record, and comes back as an insert
    soft.load("2026-01-03", "id,name,city\n1,a,x\n")
    assert soft.rows("_operation", "__history", "id = 2") == [("D",), ("I",)]
    soft.load("2026-01-04", "id,name,city\n1,a,x\n2,b,y\n")
    assert soft.rows("id, _operation") == [(1, "I"), (2, "I")]


@pytest.mark.turn(3)
def test_stopped__tables_stay(module_project: Any) -> None:
    """A load that says that nothing was written has altered nothing either."""
    stopped = Entity(module_project, "stopped", PEOPLE, max_delete_fraction=1)
    stopped.load("2026-01-01", "id,name,city\n1,a,x\n2,b,y\n3,c,z\n")
    stopped.load("2026-01-02", "id,name,city\n1,a,x\n2,b,y\n")

    def state() -> Any:
        names = [module_project.sql(f"describe stopped{table}") for table in ("", "__log")]
        return names, stopped.rows("id, name, _operation")

    before = state()
    stopped.write(columns={**PEOPLE, "price": "int"}, soft_delete=True)
    text = "id,name,city,price\n1,a,x,12.50\n2,b,y,3\n"
    assert "nothing was written" in stopped.load("2026-01-03", text, expect_pass=False).error
    assert state() == before
    # the settings are taken back, and the type is another one
    stopped.write(columns={**PEOPLE, "price": "decimal(10,2)"}, soft_delete=False)
    stopped.run("2026-01-03")
    assert d(stopped.rows("id, price")) == [("1", "12.50"), ("2", "3.00")]
    assert stopped.rows("_operation", "__history", "id = 3") == [("D",), ("I",)]


@pytest.mark.slow
def test_soft_delete__comes_and_goes(module_project: Any) -> None:
    """The setting counts for rows that are there, also by a date that comes again with nothing new."""
    turned = Entity(module_project, "turned", PEOPLE, max_delete_fraction=1)
    turned.load("2026-01-01", "id,name,city\n1,a,x\n2,b,y\n")
    turned.load("2026-01-02", "id,name,city\n1,a,x\n")
    turned.write(soft_delete=True)
    turned.run("2026-01-02")
    assert turned.rows("id, _operation") == [(1, "I"), (2, "D")]
    turned.run("2026-01-02")
    assert turned.commits("kind")[-2:] == [("load",), ("repeat",)]
    turned.write(soft_delete=False)
    turned.load("2026-01-03", "id,name,city\n1,a,x\n")
    assert turned.rows("id, _operation") == [(1, "I")]
    turned.write(soft_delete=True)
    turned.load("2026-01-04", "id,name,city\n1,a,x\n2,b,y\n")
    assert turned.rows("id, _operation") == [(1, "I"), (2, "I")]
    assert turned.rows("_operation", "__history", "id = 2") == [("D",), ("I",), ("I",)]
    turned.check()


@pytest.mark.turn(2)
def test_config_drift(module_project: Any) -> None:
    drifting = Entity(module_project, "drifting", PEOPLE)
    drifting.load("2026-01-01", "id,name,city\n1,a,x\n2,b,y\n")
    drifting.load("2026-01-02", "id,name,city\n1,a,x2\n2,b,y\n")
    before = drifting.versions()
    text = "id,name,city\n1,a,x\n2,b,z\n"
    for change, sentence in [
        ({"key": ["id", "name"]}, "unique_key was id and is now id, name"),
        ({"key": "id", "hash": "sha256"}, "hash was md5 and is now sha256"),
        ({"hash": "md5", "ignore": ["city"]}, "column `city` was compared and is now ignored"),
        (
            {"ignore": [], "columns": {**PEOPLE, "city": "int"}},
            "column `city` was string and is now int",
        ),
    ]:
        drifting.write(**change)
        result = drifting.load("2026-01-03", text, expect_pass=False)
        assert sentence in result.error and "--full-refresh" in result.error
        # new hashes do not make up for another key
        assert ("rehash" in result.error) == ("unique_key" not in sentence)
    drifting.write(columns=PEOPLE)
    result = drifting.load("2026-01-03", "id,name\n1,a\n", expect_pass=False)
    assert "column `city` of the YAML is not in the extract" in result.error
    assert drifting.versions() == before
    # a column that is gone for good: nothing but a full refresh goes on, and it keeps the old log
    drifting.write(columns={"id": "int", "name": "string"})
    assert (
        "the extract lacks columns that the log has; nothing was written\n"
        "    - compared column `city` is no longer in the extract"
        in drifting.run("2026-01-03", expect_pass=False).error
    )
    drifting.load("2026-01-01", "id,name\n1,a\n", "--full-refresh")
    assert drifting.rows("id, name") == [(1, "a")]
    assert drifting.rows("id, name, _operation", "__history") == [(1, "a", "I")]
    (commit,) = drifting.commits("commit_id")[-1:]
    assert drifting.rows("id, city", f"__log_{commit[0]}") == [(1, "x"), (1, "x2"), (2, "y")]
    assert drifting.commits()[-1] == ("full_refresh", "completed")
    # dates of the old log do not count, also not where they are to be loaded again: this one goes forward
    said = drifting.operate("restate", **{"from": "2026-01-01", "dry_run": True}).output
    assert "would load 1 business date again: 2026-01-01" in said
    drifting.load("2026-01-02", "id,name\n1,a2\n")
    assert drifting.rows("id, name") == [(1, "a2")]
    assert [row[0] for row in drifting.commits("kind")] == ["load", "load", "full_refresh", "load"]


@pytest.mark.slow
def test_full_refresh__of_tables_in_a_folder_of_their_own(
    module_project: Any, tmp_path: Path
) -> None:
    """The catalogue renames such tables and leaves their folders: each refresh begins with an empty one."""
    is_delta = module_project.file_format == "delta"
    apart = Entity(module_project, "apart", PEOPLE, config={"location_root": str(tmp_path)})
    apart.load("2026-01-01", "id,name,city\n1,a,x\n2,b,y\n")
    for number in (1, 2, 3):
        apart.load("2026-01-01", f"id,name,city\n1,a{number},x\n", "--full-refresh")
        assert apart.rows("id, name") == [(1, f"a{number}")]
        history = apart.rows("id, name, _operation", "__history")
        assert history == apart.rows("id, name, _operation", "__log") == [(1, f"a{number}", "I")]
        if is_delta:
            # without the metastore the log is the one that has the name now
            read = delta.open_table(str(folder_of(tmp_path, "apart__log", delta.describe)))
            assert read.query("select name from t") == [{"name": f"a{number}"}]
    # current stays where it is, also where its columns are others
    apart.write(columns={"id": "int", "note": "string"})
    apart.load("2026-01-01", "id,note\n1,n\n", "--full-refresh")
    file = apart.rows("_metadata.file_path" if is_delta else "_file")[0][0]
    assert file.removeprefix("file:").startswith(f"{tmp_path}/apart/")
    assert apart.rows("id, note") == [(1, "n")]
    apart.load("2026-01-02", "id,note\n1,m\n")
    assert apart.rows("id, note, _operation", "__history") == [(1, "m", "U"), (1, "n", "I")]


@pytest.mark.turn(2)
def test_full_and_delta_take_turns(module_project: Any) -> None:
    """Which of the two an extract is changes with the next date; a date that was loaded, or lies before one, is what it was."""
    turns = Entity(
        module_project, "turns", {"id": "int", "n": "int"}, extract="delta", tag_unchanged=True
    )
    turns.load("2026-01-02", "id,n\n1,1\n2,2\n3,3\n4,4\n")
    turns.load("2026-01-03", "id,n\n1,10\n")
    turns.write(extract="full")
    # by the first full one the guard judges all that deltas have left there
    said = turns.load("2026-01-05", "id,n\n1,10\n", expect_pass=False).error
    assert "has 1 row and would delete 3 of 4 keys" in said
    turns.load("2026-01-05", "id,n\n1,10\n2,2\n5,5\n")
    tags = "id, n, _operation"
    assert turns.rows(tags) == [(1, 10, "N"), (2, 2, "N"), (5, 5, "I")]
    # dates of before: one again, and one that is late; who is not in them is not gone
    turns.run("2026-01-03")
    assert turns.commits("kind")[-1] == ("repeat",)
    turns.load("2026-01-04", "id,n\n3,33\n")
    assert turns.rows(tags) == [(1, 10, "N"), (2, 2, "N"), (5, 5, "I")]
    turns.write(extract="delta")
    turns.load("2026-01-06", "id,n\n5,50\n7,7\n1,10\n")
    assert turns.rows(tags) == [(1, 10, "N"), (2, 2, "X"), (5, 50, "U"), (7, 7, "I")]
    # the full one is corrected: 5 is gone by it, and came with the delta after it
    turns.load("2026-01-05", "id,n\n1,10\n2,2\n4,4\n")
    assert turns.rows(tags) == [(1, 10, "N"), (2, 2, "X"), (4, 4, "X"), (5, 50, "I"), (7, 7, "I")]
    assert d(turns.rows("_business_date, id, n, _operation", "__history", "_business_date > '2026-01-02'")) == [
        ("2026-01-03", "1", "10", "U"),
        ("2026-01-04", "3", "33", "U"),
        ("2026-01-05", "3", "33", "D"),
        ("2026-01-06", "5", "50", "I"),
        ("2026-01-06", "7", "7", "I"),
    ]  # fmt: skip
    # the table of what deltas supplied, and current, are made anew from the log as the last date was
    module_project.sql("drop table turns")
    turns.run("2026-01-06")
    assert turns.rows(tags, where="id < 5") == [(1, 10, "N"), (2, 2, "X"), (4, 4, "X")]
    turns.check()


NARROW = {
    "id": "int", "p": "struct<a: int>", "l": "array<struct<x: int>>", "m": "map<string, struct<v: decimal(9,2)>>",
}  # fmt: skip
WIDE = {
    "id": "bigint", "p": "struct<B: string, a: bigint>", "l": "array<struct<x: bigint, y: struct<z: int>>>",
    "m": "map<string, struct<v: decimal(11,2), w: int>>",
}  # fmt: skip


@pytest.mark.turn(0)
def test_nested_types_become_wider(module_project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Structs gain fields and numbers get wider, at any depth: what did not change is no change, NULL stays NULL."""
    monkeypatch.setenv("TIDEMARK_PEPPER", PEPPER)
    nested = Entity(
        module_project, "nested", NARROW, format="json", sensitive=["l"], max_delete_fraction=1,
        location=f"{module_project.root}/extracts/nested/{{business_date}}.jsonl",
    )  # fmt: skip

    def load(day: str, *rows: dict[str, Any], **options: Any) -> Any:
        nested.extract(day, "".join(f"{json.dumps(row)}\n" for row in rows), "jsonl")
        return nested.run(day, **options)

    first = {"id": 1, "p": {"a": 1}, "l": [{"x": 1}, None], "m": {"k": {"v": 1.5}}}
    nulls: dict[str, Any] = {"id": 2, "p": None, "l": None, "m": None}
    empty = {"id": 3, "p": {"a": None}, "l": [], "m": {"k": {"v": None}, "n": None}}
    load("2026-01-02", first, nulls, empty)
    (begun,) = nested.commits("commit_id")
    nested.write(columns=WIDE)
    # as it was, with the new fields left out, or NULL
    spelt = {**first, "p": {"a": 1, "B": None}, "l": [{"x": 1, "y": None}, None]}
    load("2026-01-03", spelt, nulls, {**empty, "p": {"a": None, "B": "b"}})
    assert nested.commits("rows_inserted, rows_updated, rows_unchanged")[-1] == (0, 1, 2)
    values = "id, p.a, p.B, m['k'].v, m['k'].w"
    rows = [(1, 1, None, Decimal("1.50"), None), (2, *[None] * 4), (3, None, "b", None, None)]
    assert nested.rows(values) == rows
    assert nested.rows("id", where="p is null and m is null") == [(2,)]
    changed = "id, _operation, _changed_columns"
    assert nested.rows(changed, "__history", "_business_date = '2026-01-03'") == [(3, "U", ["p"])]
    # the wider types are used, in a column that stands apart too
    far = {
        "id": 5_000_000_000,
        "l": [{"x": 6_000_000_000, "y": {"z": 7}}],
        "m": {"k": {"v": 123456789.25, "w": 8}},
    }
    load("2026-01-04", spelt, nulls, {**empty, "p": {"a": None, "B": "b"}}, far)
    assert nested.commits("rows_inserted, rows_updated")[-1] == (1, 0)
    assert nested.rows("l[0].x, l[0].y.z", "__sensitive", "l[0].x > 5") == [(6_000_000_000, 7)]
    # of a date from before the change the extract has what it had then
    load("2026-01-02", first, nulls, empty)
    assert nested.commits("kind")[-1] == ("repeat",)
    load("2026-01-01", {**first, "p": {"a": 0}}, nulls)
    history = nested.rows("_business_date, id, p.a, _operation", "__history", "id <> 2")
    assert [(str(day), *row) for day, *row in history] == [
        ("2026-01-01", 1, 0, "I"),
        ("2026-01-02", 1, 1, "U"),
        ("2026-01-02", 3, None, "I"),
        ("2026-01-03", 3, None, "U"),
        ("2026-01-04", 5_000_000_000, None, "I"),
    ]
    nested.operate("rollback", to=begun[0])
    assert nested.rows("id, p.a, p.B") == [(1, 1, None), (2, None, None), (3, None, None)]
    nested.run("2026-01-03")
    assert nested.rows(values) == rows
    nested.check()
    # what goes, or is another type, is refused
    nested.write(columns={**WIDE, "p": "struct<a: bigint>"})
    said = nested.run("2026-01-04", expect_pass=False).error
    assert "column `p` was struct<a:bigint,B:string> and is now struct<a:bigint>" in said


@pytest.mark.turn(1, 3)
def test_columns_come_and_change(module_project: Any) -> None:
    wide = Entity(module_project, "wide", {"id": "int", "amount": "int", "name": "string"})
    wide.load("2026-01-01", "id,amount,name\n1,10,a\n2,20,b\n3,30,c\n")
    # day 2: a new column, first in the YAML, which is NULL for most rows: only the others changed
    wide.write(columns={"note": "string", "id": "int", "amount": "int", "name": "string"})
    result = wide.load("2026-01-02", "id,amount,name,note\n1,10,a,\n2,20,b,new\n3,30,c,\n")
    assert "I 0, U 1, D 0, N 2, new column note in" in result.output
    assert wide.rows(
        "id, note, _changed_columns", "__history", "_business_date = '2026-01-02'"
    ) == [(2, "new", ["note"])]
    # day 3: the YAML is in another order, a name in another case, a type wider: nothing changed
    wide.write(columns={"NAME": "string", "amount": "bigint", "note": "string", "id": "int"})
    wide.load("2026-01-03", "NAME,amount,note,id\na,10,,1\nb,20,new,2\nc,30,,3\n")
    assert wide.commits("rows_updated, rows_unchanged")[-1] == (0, 3)
    # day 4: the wider type is used
    wide.load("2026-01-04", "NAME,amount,note,id\na,10000000000,,1\nb,20,new,2\nc,30,,3\n")
    assert wide.rows("amount", where="id = 1") == [(10000000000,)]
    # day 5: a column is missing, then one is there that the YAML does not have
    result = wide.load("2026-01-05", "NAME,amount,id\n", expect_pass=False)
    file = wide.folder / "2026-01-05.csv"
    where = f"is not in the extract of business date 2026-01-05 ({file})"
    assert f"column `note` of the YAML {where}" in result.error
    result = wide.load(
        "2026-01-05",
        "NAME,amount,note,id,zip\na,10000000000,,1,x\nb,20,new,2,\nc,30,,3,\n",
    )
    assert "I 0, U 1, D 0, N 2, new column zip in" in result.output
    assert "wide: new in the source and loaded from now on: `zip` (string)." in result.output
    # dates from before, one as it was and one that is late, lack what came later: it is NULL there
    wide.load("2026-01-01", "id,amount,name\n1,10,a\n2,20,b\n3,30,c\n")
    assert wide.commits("kind")[-1] == ("repeat",)
    wide.load("2025-12-31", "id,amount,name\n2,20,bee\n")
    assert wide.rows("id, name, note, zip", "__history", "_business_date = '2025-12-31'") == [
        (2, "bee", None, None)
    ]
    assert wide.rows("id, _operation", "__history", "_business_date = '2026-01-01'") == [
        (1, "I"),
        (2, "U"),
        (3, "I"),
    ]


@pytest.mark.turn(0, 2)
def test_sensitive(module_project: Any) -> None:
    tmp = Path(os.environ["TIDEMARK_HOME"], "tmp")
    before = {*tmp.glob("engine-*")}
    columns = {"ssn": "string", "name": "string", "phone": "string", "age": "int"}
    secret = Entity(
        module_project,
        "secret",
        columns,
        key="ssn",
        sensitive=["ssn", "phone"],
        on_reject="quarantine",
    )
    secret.load("2026-01-01", "ssn,name,phone,age\ns1,ann,111,1\ns2,bob,222,2\ns3,cy,333,old333\n")
    for relation in ("", "__log", "__history", "__rejects"):
        names = {row.col_name for row in module_project.sql(f"describe {secret.name}{relation}")}
        assert not names & {"ssn", "phone"}
    assert secret.rows("_raw_payload", "__rejects") == [
        ('{"ssn":"***","name":"cy","phone":"***","age":"old333"}',)
    ]
    assert secret.rows("ssn, phone", "__sensitive") == [("s1", "111"), ("s2", "222")]
    # the hashes are not those of the bare values
    import hashlib

    bare = hashlib.md5(b"3:ssn2:s1").hexdigest()
    assert bare not in {row[0] for row in secret.rows("_key_hash")}
    # day 2: a change of a sensitive column is a change, named but not shown
    secret.load("2026-01-02", "ssn,name,phone,age\ns1,ann,112,1\ns2,bob,222,2\n")
    assert secret.rows(
        "name, _operation, _changed_columns", "__history", "_business_date = '2026-01-02'"
    ) == [
        ("ann", "U", ["phone"]),
    ]
    assert secret.rows("ssn, phone", "__sensitive") == [("s1", "111"), ("s1", "112"), ("s2", "222")]
    # day 1 corrected: what was said of it is superseded, day 2 follows
    secret.load("2026-01-01", "ssn,name,phone,age\ns1,ann,110,1\ns2,bob,222,2\n")
    history = module_project.sql(
        "select h.name, s.phone, h._operation, h._business_date from secret__history h left join secret__sensitive s "
        "using (_key_hash, _business_date, _commit_id) order by 1, 4"
    )
    assert d([tuple(row) for row in history]) == [
        ("ann", "110", "I", "2026-01-01"),
        ("ann", "112", "U", "2026-01-02"),
        ("bob", "222", "I", "2026-01-01"),
    ]
    # nothing is staged that shows a secret, and samples mask it
    secret.write(on_reject="fail")
    rows = "ssn,name,phone,age\ns1,ann,5550199777,nope\n"
    result = secret.load("2026-01-03", rows, expect_pass=False)
    assert "***" in result.error and "5550199777" not in result.error + result.output
    # neither is in compiled SQL, a log, a table or what is remembered of the failure
    for folder in (Path(module_project.root), Path(os.environ["TIDEMARK_HOME"])):
        for path in folder.rglob("*"):
            # Spark's scratch space has rows on their way, and is gone with the process
            if path.is_file() and not {"extracts", "tmp"} & set(path.relative_to(folder).parts):
                # the example of the docs block hash_recipe has it between back-ticks
                found = path.read_bytes().replace(f"`{PEPPER}`".encode(), b"")
                assert PEPPER.encode() not in found and b"5550199777" not in found, path
    # what the workers keep of a load while it runs goes with it
    assert {*tmp.glob("engine-*")} <= before
    # with a server of Spark nothing is kept here
    assert not tmp.exists() or tmp.stat().st_mode & 0o077 == 0


def test_pepper__that_ends_its_literal(
    module_project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused before Spark sees it, whose message would show a piece of it."""
    quoted = Entity(module_project, "quoted", PEOPLE, sensitive=["city"])
    for pepper in ("Kq7'zR9 wint", "back\\slash"):
        monkeypatch.setenv("TIDEMARK_PEPPER", pepper)
        result = quoted.load("2026-01-01", "id,name,city\n1,a,x\n", expect_pass=False)
        assert "TIDEMARK_PEPPER must not hold quotes" in result.error
        assert "zR9" not in result.error + result.output


def test_empty_flag(module_project: Any) -> None:
    hollow = Entity(module_project, "hollow", PEOPLE)
    module_project.dbt("run", "--select", "hollow", "--empty")
    assert hollow.rows("*") == [] and hollow.commits() == []
    hollow.load("2026-01-01", "id,name,city\n1,a,x\n")
    # it writes nothing and trips no guard, whatever is there
    before = hollow.versions()
    module_project.dbt("run", "--select", "hollow", "--empty", vars={"business_date": "2026-01-02"})
    assert hollow.versions() == before and len(hollow.commits()) == 1
    # nor does it need columns in the YAML, where there is no file to have them
    bare = Entity(module_project, "bare", {})
    module_project.dbt("run", "--select", "bare", "--empty")
    assert bare.rows("id") == [] and bare.commits() == []


@pytest.mark.turn(2)
def test_folders_of_the_folder(module_project: Any) -> None:
    """What Spark would pass over is told; by an option of its reader it is read, of JSON lines, too."""
    by_hour = Entity(module_project, "by_hour", PEOPLE, format="json", location=None)
    by_hour.write(location=f"{by_hour.folder}/{{business_date}}")
    for hour, line in (("h01", '{"id": 1, "name": "a"}'), ("h02", '{"id": 2, "name": "b"}')):
        folder = by_hour.folder / "2026-01-01" / hour
        folder.mkdir(parents=True)
        (folder / "part.jsonl").write_text(f"{line}\n", encoding="utf-8")
        (folder / "part.jsonl.bak").write_text(f"{line}\n", encoding="utf-8")
    error = by_hour.run("2026-01-01", expect_pass=False).error
    assert "location is a folder" in error and "/h01/part.jsonl" in error
    by_hour.write(options={"recursiveFileLookup": True, "pathGlobFilter": "*.jsonl"})
    by_hour.run("2026-01-01")
    assert by_hour.rows("id, name") == [(1, "a"), (2, "b")]
    assert by_hour.commits("rows_read, rows_duplicate") == [(2, 0)]


def test_missing_date_and_file(module_project: Any) -> None:
    lost = Entity(module_project, "lost", PEOPLE)
    result = module_project.dbt("run", "--select", "lost", expect_pass=False)
    assert "the run has no business date" in result.error
    for value in ("yesterday", "2026-02-30", "20260101"):
        result = lost.run(value, expect_pass=False)
        assert "business_date must be a date such as 2026-03-04" in result.error
    result = lost.run("2026-01-01", expect_pass=False)
    assert "no extract for business date 2026-01-01. There is no file at" in result.error
    assert "Java" not in result.output and "at org." not in result.output
    module_project.dbt("compile", "--select", "lost")
    assert not lost.exists()


def test_a_model_that_is_of_another_kind_now(module_project: Any) -> None:
    """A typo in its YAML would make a view of it, in the place of the current table."""
    kept = Entity(module_project, "kept", PEOPLE)
    kept.load("2026-01-01", "id,name,city\n1,a,x\n")
    path = module_project.root / "models" / "kept.yml"
    written = path.read_text(encoding="utf-8")
    path.write_text(written.replace("materialized", "materialised"), encoding="utf-8")
    error = kept.run("2026-01-01", expect_pass=False).error
    assert "kept: tidemark.extract() is for materialized: cdc and atomic" in error
    assert "this model is materialized: view" in error
    path.write_text(written, encoding="utf-8")
    assert kept.rows("id, name") == [(1, "a")]
    kept.run("2026-01-01")
    # of a body without it nothing tells but the table that is there
    (module_project.root / "models" / "kept.sql").write_text("select 7 as id", encoding="utf-8")
    stays = '"materialized": "cdc"'
    assert stays in written
    for kind in ('"materialised": "cdc"', '"materialized": "view"', '"materialized": "table"'):
        path.write_text(written.replace(stays, kind), encoding="utf-8")
        for options in ((), ("--full-refresh",)):
            error = kept.run("2026-01-02", *options, expect_pass=False).error
            assert "kept is the current table of an entity, and this model is not" in error
            assert "dbt run-operation drop_entity --args '{entity: kept}'" in error
    path.write_text(written, encoding="utf-8")
    assert kept.rows("id, name") == [(1, "a")]


@pytest.mark.turn(3)
def test_worked_example(module_project: Any) -> None:
    """10,000 rows, 5 keys, 10 other columns; then 20 % deleted, 40 % updated, 40 % unchanged, 20 % inserted."""
    names = [f"key{n}" for n in range(1, 6)]
    sizes = ["10000", "2000", "5", "10", "20", "40", "40"]
    for name, extract, arguments, operations, history in [
        (
            "example",
            "full",
            [],
            {"U": 4000, "N": 4000, "I": 2000},
            {"I": 2000, "U": 4000, "D": 2000},
        ),
        (
            "example_delta",
            "delta",
            ["--delta"],
            {"U": 4000, "X": 6000, "I": 2000},
            {"I": 2000, "U": 4000},
        ),
    ]:
        entity = Entity(module_project, name, {}, key=names, extract=extract, tag_unchanged=True)
        entity.folder.mkdir(parents=True)
        days = [str(entity.folder / f"2026-01-0{day}.csv") for day in (1, 2)]
        generated = CliRunner().invoke(datagen, ["cdc", *sizes, *days, "--seed", "7", *arguments])
        assert generated.exit_code == 0, generated.output
        entity.run("2026-01-01")
        entity.run("2026-01-02")
        assert (
            dict(entity.project.sql(f"select _operation, count(*) from {name} group by all"))
            == operations
        )
        counts = f"select _operation, count(*) from {name}__history where _business_date = '2026-01-02' group by all"
        assert dict(entity.project.sql(counts)) == history


@pytest.mark.slow
def test_rehash__what_rejects_observed(module_project: Any) -> None:
    """A full extract says nothing of a key that it had to reject, also after a rehash: a date that comes late does not delete it."""
    seen = Entity(
        module_project,
        "seen",
        {"id": "int", "city": "string", "n": "int"},
        on_reject="quarantine",
        max_delete_fraction=1,
    )
    for day in ("2026-01-02", "2026-01-03"):
        seen.load(day, "id,city,n\n1,a,1\n2,b,oops\n")
    seen.write(ignore=["city"])
    seen.operate("rehash")
    seen.load("2026-01-01", "id,city,n\n1,a,1\n2,b,5\n")
    assert seen.rows("id, n, _operation") == [(1, 1, "I"), (2, 5, "I")]
    assert seen.rows("id", "__history", "_operation = 'D'") == []


@pytest.mark.turn(3)
def test_rehash(module_project: Any) -> None:
    hashed = Entity(
        module_project,
        "hashed",
        {**PEOPLE, "fax": "string"},
        extract="delta",
        on_reject="quarantine",
    )
    hashed.load("2026-01-01", "id,name,city,fax\n1,a,x,1\n2,b,y,2\nz,c,x,3\n6,f,x,4\n6,f,y,4\n")
    hashed.load("2026-01-02", "id,name,city,fax\n1,a,x2,1\n2,b,y,9\n")
    columns = "id, name, city, fax, _operation, _business_date"
    before = hashed.rows(columns, "__history")
    # another hash, a column that is not compared any more, a column that is gone
    hashed.write(columns=PEOPLE, hash="sha256", ignore=["name"])
    assert "rehash" in hashed.load("2026-01-03", "id,name,city\n1,A,x2\n", expect_pass=False).error
    arguments = "{entity: hashed, drop: [fax]"
    plan = module_project.dbt("run-operation", "rehash", "--args", arguments + ", dry_run: true}")
    assert "would rehash 4 log rows with sha256 over city" in plan.output
    module_project.dbt("run-operation", "rehash", "--args", arguments + "}")
    assert hashed.rows(columns, "__history") == before
    assert {
        len(row[0]) for row in hashed.rows("_row_hash", "__log") + hashed.rows("_key_hash")
    } == {64}
    # current is made anew as it was
    asked = "explain select isnull(id) as a, isnull(city) as b from hashed"
    ((plan,),) = module_project.sql(asked)
    assert ("isnull(id" in plan, "isnull(city" in plan) == (False, True)
    # what a version changed may be compared no more
    hashed.check("tidemark.history_replays_to_current")
    # the name alone is no change, the city is; nothing else is versioned
    hashed.load("2026-01-03", "id,name,city\n1,A,x2\n2,b,y2\n6,f,x\n")
    assert hashed.rows(
        "id, city, fax, _operation, _changed_columns", "__history", "_business_date = '2026-01-03'"
    ) == [
        (2, "y2", None, "U", ["city"]),
        (6, "x", None, "I", None),
    ]
    # a key that was rejected, which the log did not have, is known by the new hash, too
    (key_hash,) = hashed.rows("_key_hash", "", "id = 6")[0]
    assert hashed.rows("_key_hash", "__rejects") == [(None,), (key_hash,), (key_hash,)]
    # what was supplied on day 2 is still known: a late day 1 reaches it
    hashed.load("2026-01-01", "id,name,city\n2,b,y0\n")
    assert hashed.rows("id, city, _operation", "__history", "_business_date = '2026-01-02'") == [
        (1, "x2", "I"),
        (2, "y", "U"),
    ]
    result = module_project.dbt(
        "run-operation", "rehash", "--args", "{entity: hashd}", expect_pass=False
    )
    assert "did you mean `hashed`?" in str(result.raw.exception) + result.output + result.error
