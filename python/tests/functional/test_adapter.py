"""The adapter in a real session: Python models, readable errors, listing of files."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import ParseException

from tidemark.errors import TidemarkError
from tidemark.spark.cached import cache_view, forget_cached
from tidemark.spark.delta import (
    append_rows,
    create,
    create_table,
    file_count,
    id_and_version,
    join_now_and_then,
    replace_rows,
    small,
    stage_rows,
    table_version,
    version_of_same_rows,
    view_small_table,
)
from tidemark.spark.delta.log import commit
from tidemark.spark.files import java_class, table_identifier


@pytest.fixture(scope="module", autouse=True)
def models(module_project: Any) -> None:
    module_project.write(
        "models/cities.sql",
        """
        {{ config(materialized='table') }}
        select 1 as id, 'Oslo' as name union all select 2, 'Rome'
        """,
    )
    module_project.write(
        "models/sources.yml",
        f"""
        sources:
          - name: raw
            schema: {module_project.schema}
            tables: [{{name: extra}}]
        """,
    )
    for file_format in ("delta", "parquet"):
        strategy = "merge" if file_format == "delta" else "append"
        module_project.write(
            f"models/py_{file_format}.py",
            f"""
            from __future__ import annotations

            import pyspark.sql.functions as F


            def shout(name: str) -> str:
                return name.upper()


            def model(dbt, session):
                dbt.config(
                    materialized="incremental",
                    file_format="{file_format}",
                    unique_key="id",
                    incremental_strategy="{strategy}",
                    partition_by="id",
                    greeting="hello",
                )
                assert session is session.getActiveSession()
                rows = dbt.ref("cities").union(dbt.source("raw", "extra"))
                rows = rows.withColumn("name", F.udf(shout)("name"))
                rows = rows.withColumn("greeting", F.lit(dbt.config.get("greeting")))
                seen = session.table(str(dbt.this)).count() if dbt.is_incremental else 0
                return rows.withColumn("seen", F.lit(seen))
            """,
        )
        module_project.write(
            f"models/py_table_{file_format}.py",
            f"""
            def model(dbt, session):
                dbt.config(materialized="table", file_format="{file_format}")
                return dbt.ref("py_{file_format}").select("id")
            """,
        )
    module_project.dbt("run", "--select", "cities")


@pytest.mark.turn(0, 1, 2, 3)
def test_python_models_on_delta_and_parquet__twice(module_project: Any) -> None:
    project = module_project
    project.sql("create or replace table extra using delta as select 3 as id, 'Bern' as name")

    # first run: tables are created
    project.dbt("run")
    for file_format in ("delta", "parquet"):
        assert project.sql(
            f"select id, name, greeting, seen from py_{file_format} order by id"
        ) == [
            (1, "OSLO", "hello", 0),
            (2, "ROME", "hello", 0),
            (3, "BERN", "hello", 0),
        ]
        details = project.sql(f"describe table extended py_{file_format}")
        assert ("Provider", file_format) in [(row[0], row[1]) for row in details]
        assert ("# Partition Information", "") in [(row[0], row[1]) for row in details]

    # second run: delta merges, parquet appends, tables are replaced
    project.dbt("run")
    assert project.sql("select id, seen from py_delta order by id") == [(1, 3), (2, 3), (3, 3)]
    assert project.sql("select seen, count(*) from py_parquet group by seen order by seen") == [
        (0, 3),
        (3, 3),
    ]
    assert project.sql("select count(*) from py_table_delta") == [(3,)]
    assert project.sql("select count(*) from py_table_parquet") == [(6,)]
    assert project.sql("show tables like '*__dbt_tmp'") == []


def test_python_model__error_in_a_worker(module_project: Any) -> None:
    module_project.write(
        "models/py_broken_udf.py",
        """
        import pyspark.sql.functions as F


        def check(name):
            raise ValueError(f"odd name {name}")


        def model(dbt, session):
            dbt.config(materialized="table")
            return dbt.ref("cities").withColumn("x", F.udf(check)("name"))
        """,
    )
    try:
        error = module_project.dbt("run", "--select", "py_broken_udf", expect_pass=False).error
    finally:
        module_project.remove("models/py_broken_udf.py")
    assert "ValueError: odd name " in error
    assert "line 5, in check" in error
    assert "site-packages" not in error and "py4j" not in error
    assert len(error.splitlines()) < 12, error


def test_python_model__error_has_only_the_users_lines(module_project: Any) -> None:
    module_project.write(
        "models/py_broken.py",
        """
        def helper(frame):
            return frame.select("no_such_column")


        def model(dbt, session):
            dbt.config(materialized="table")
            return helper(dbt.ref("cities"))
        """,
    )
    try:
        error = module_project.dbt("run", "--select", "py_broken", expect_pass=False).error
    finally:
        module_project.remove("models/py_broken.py")
    assert 'File "models/py_broken.py", line 7, in model' in error
    assert 'File "models/py_broken.py", line 2, in helper' in error
    assert "UNRESOLVED_COLUMN" in error and "no_such_column" in error
    assert "site-packages" not in error and "JVM stacktrace" not in error
    assert len(error.splitlines()) < 12


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            "select cast(raise_error('no extract for 2026-03-05') as string) as x",
            "no extract for 2026-03-05",
        ),
        (
            "select if(id = 2, raise_error('bad row'), name) as x from {{ ref('cities') }}",
            "bad row",
        ),
        (
            "select nope from {{ ref('cities') }}",
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable",
        ),
        ("selec 1", "[PARSE_SYNTAX_ERROR] Syntax error at or near"),
        (
            "select * from csv.`/nowhere/at_all.csv`",
            "[PATH_NOT_FOUND] Path does not exist: file:/nowhere/at_all.csv",
        ),
        (
            "select cast(assert_true(id > 5) as string) as x from {{ ref('cities') }}",
            "'(id > 5)' is not true!",
        ),
    ],
)
def test_sql_error__one_readable_message(
    sql: str, said: str, module_project: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    module_project.write("models/broken.sql", "{{ config(materialized='table') }}\n" + sql)
    try:
        error = module_project.dbt("run", "--select", "broken", expect_pass=False).error
    finally:
        module_project.remove("models/broken.sql")
    lines = [line.strip() for line in error.splitlines()]
    assert lines[0].startswith("Database Error in model broken")
    assert lines[1].startswith(said)
    assert len(lines) < 8, error
    for noise in ("\tat ", "JVM stacktrace", "SQLSTATE", "Driver stacktrace", "+- "):
        assert noise not in error
    captured = capfd.readouterr()
    assert "Stage" not in captured.err and "WARN" not in captured.err


def test_error_of_a_query__readable_as_well(module_project: Any) -> None:
    module_project.write(
        "macros/ask.sql",
        "{% macro ask() %}{% do run_query(\"select raise_error('stop here')\") %}{% endmacro %}",
    )
    error = module_project.dbt("run-operation", "ask", expect_pass=False).output
    assert "stop here" in error and "USER_RAISED_EXCEPTION" not in error
    assert "Unhandled" not in error


def test_settings_of_a_run_do_not_outlive_it(module_project: Any) -> None:
    module_project.write(
        "macros/leave.sql",
        "{% macro leave() %}{% do run_query('set spark.sql.shuffle.partitions = 77') %}"
        "{% do run_query('set my.own.setting = 1') %}{% endmacro %}",
    )
    conf = module_project.session.conf
    before = conf.get("spark.sql.shuffle.partitions")
    assert before != "77"
    module_project.dbt("run-operation", "leave")
    module_project.dbt("debug", "--connection")
    assert conf.get("spark.sql.shuffle.partitions") == before
    assert conf.get("my.own.setting", "unset") == "unset"


def test_list_files(module_project: Any, tmp_path: Path) -> None:
    from tidemark.spark.files import list_files

    session = module_project.session
    (tmp_path / "in" / "deep" / "_hidden").mkdir(parents=True)
    for name in (
        "in/b.csv",
        "in/a é.csv",
        "in/_SUCCESS",
        "in/.b.csv.crc",
        "in/deep/c.csv",
        "in/deep/_hidden/d.csv",
    ):
        (tmp_path / name).write_text("x\n")
    (tmp_path / "in" / "z.csv.gz").write_bytes(gzip.compress(b"x"))

    def names(path: str) -> list[str]:
        return [
            file["path"].rpartition("/in/")[2] for file in list_files(session, f"{tmp_path}/{path}")
        ]

    everything = ["a é.csv", "b.csv", "deep/c.csv", "z.csv.gz"]
    assert names("in") == everything
    assert names("in/") == everything
    assert [file["depth"] for file in list_files(session, f"{tmp_path}/in")] == [1, 1, 2, 1]
    assert names("in/*.csv") == ["a é.csv", "b.csv"]
    assert names("in/{b,z}.csv*") == ["b.csv", "z.csv.gz"]
    assert names("in/b.csv") == ["b.csv"]
    assert names("nothing/*.csv") == []
    assert names("in/nothing.csv") == []
    (file,) = list_files(session, f"{tmp_path}/in/b.csv")
    assert file["path"] == f"file:{tmp_path}/in/b.csv"
    assert (file["size"], file["depth"]) == (2, 0)
    assert abs(file["modified"].timestamp() - (tmp_path / "in/b.csv").stat().st_mtime) < 1


def test_list_files__of_this_machine(
    module_project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Python finds in a folder is what Hadoop finds there."""
    from tidemark.spark.files import list_files, local_files

    session = module_project.session
    for name in ("in/b.csv", "in/_day=1/c d.csv", "in/_SUCCESS", "in/.hidden/e.csv", "in/deep/f"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "in/link.csv").symlink_to(tmp_path / "in/b.csv")
    (tmp_path / "in/linked").symlink_to(tmp_path / "in/deep")
    (tmp_path / "in/dead").symlink_to(tmp_path / "nowhere")
    (tmp_path / "in/loop").symlink_to(tmp_path / "in/loop")
    own = list_files(session, f"{tmp_path}/in")
    assert len(own) == 5
    assert sorted(local_files(f"file:{tmp_path}/in") or [], key=lambda file: file["path"]) == own
    with monkeypatch.context() as patch:
        patch.setattr("tidemark.spark.files.local_files", lambda folder, depth: None)
        assert list_files(session, f"{tmp_path}/in") == own
    (tmp_path / "in/100%.csv").write_text("x")
    assert local_files(f"file:{tmp_path}/in") is None
    assert local_files("s3a://lake/in") is None


def test_clear_slices(module_project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a killed run wrote of slices goes, but what is a table, another entity's, or on a shared metastore young."""
    from tidemark.spark import files

    session, schema = module_project.session, module_project.schema
    module_project.sql("create table whole__slice_1_log using parquet as select 1 as n")
    place = module_project.folder_of("whole__slice_1_log").parent
    half = [place / f"whole__slice_{name}" for name in ("2_log", "3_keys")]
    others = [place / name for name in ("whole__slice_log", "wholesale__slice_2_log", "whole__log")]
    for folder in (*half, *others):
        (folder / "_temporary/0").mkdir(parents=True)
    monkeypatch.setattr(files, "_is_shared", lambda configuration: True)
    os.utime(half[1], (0, time.time() - 2 * 24 * 3600))
    ahead = SimpleNamespace(time=lambda: time.time() + 2 * 24 * 3600, monotonic=time.monotonic)
    # its own clock is no measure, which may be days ahead of that of the files
    with monkeypatch.context() as patch:
        patch.setattr(files, "time", ahead)
        assert files.clear_slices(session, schema, "whole__slice_") == 1
    assert [folder.exists() for folder in half] == [True, False]
    assert not [*place.glob("_tidemark_*")]
    monkeypatch.undo()
    assert files.clear_slices(session, schema, "whole__slice_") == 1
    assert not half[0].exists()
    assert all(folder.exists() for folder in others)
    assert module_project.sql("select n from whole__slice_1_log") == [(1,)]
    assert files.clear_slices(session, "nowhere", "whole__slice_") == 0


def test_clear_leftovers__of_another_clock(
    module_project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that another process may be making a table of is as young as the clock of the files says."""
    from tidemark.spark import files

    session, schema = module_project.session, module_project.schema
    module_project.sql("create table near using parquet as select 1 as n")
    coming, left = (module_project.folder_of("near").parent / name for name in ("coming", "left"))
    for folder in (coming, left):
        (folder / "_delta_log").mkdir(parents=True)
    for folder in (left / "_delta_log", left):
        os.utime(folder, (0, time.time() - 3600))
    ahead = SimpleNamespace(
        time=lambda: time.time() + 2 * 24 * 3600,
        monotonic=time.monotonic,
        sleep=lambda seconds: shutil.rmtree(coming),
    )
    monkeypatch.setattr(files, "_is_shared", lambda configuration: True)
    monkeypatch.setattr(files, "time", ahead)
    assert files.clear_leftovers(session, schema, "left") and not left.exists()
    # who makes it is waited for, and gives up
    assert not files.clear_leftovers(session, schema, "coming")


def test_list_files__from_jinja(module_project: Any, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("x\n")
    module_project.write(
        "macros/listing.sql",
        """
        {% macro listing(path) %}
            {% for file in adapter.list_files(path) %}
                {% do log('FILE ' ~ file.path ~ ' ' ~ file.size, info=true) %}
            {% endfor %}
        {% endmacro %}
        """,
    )
    result = module_project.dbt("run-operation", "listing", "--args", f"{{path: '{tmp_path}'}}")
    assert f"FILE file:{tmp_path}/one.csv 2" in result.output


def test_seed_values_arrive_as_written(make_project: Callable[[str], Any]) -> None:
    project = make_project("seeds")
    project.write("seeds/odd.csv", "id,name\n1,it's\n2,back\\slash\n3,\n9007199254740993,big\n")
    project.dbt("seed")
    assert project.sql("select id, name from odd order by id") == [
        (1, "it's"),
        (2, "back\\slash"),
        (3, None),
        (9007199254740993, "big"),
    ]


def test_relative_paths_are_relative_to_the_project(make_project: Callable[[str], Any]) -> None:
    for number in (1, 2):
        project = make_project(f"relative_{number}")
        project.write("in/number.csv", f"{number}\n")
        project.write("models/number.sql", "select cast(_c0 as int) as n from csv.`in/number.csv`")
        project.dbt("run")
        assert project.sql("select n from number") == [(number,)]


@pytest.fixture
def table(module_project: Any) -> Any:
    module_project.sql(
        "create or replace table staged_into (id bigint, name string, day date, `no{te}` string) using delta "
        "partitioned by (day) tblproperties ('delta.columnMapping.mode' = 'name')"
    )
    module_project.sql("insert into staged_into values (0, 'zero', date'2026-01-01', 'n')")
    return module_project


ROWS = "select id, concat('n', id) as name from range(10)"
WRITTEN = "select *, date'2026-01-02' as day, null as `no{te}` from {counted} where id > 6"
FIGURES = {"read": "count(*)", "even": "count_if(id % 2 = 0)", "none": "sum(nullif(1, 1))"}


def stage(table: Any) -> Any:
    version = table_version(table.session, table.schema, "staged_into")
    where = (table.session, table.schema, "staged_into", version)
    return stage_rows(*where, ROWS, FIGURES, WRITTEN)


def data_files(table: Any) -> set[str]:
    location = table.sql("describe detail staged_into")[0].location.removeprefix("file:")
    return {str(path) for path in Path(location).rglob("*.parquet")}


def test_staged_rows(table: Any) -> None:
    """Rows that are staged are no part of the table before they are committed."""
    staged = stage(table)
    assert staged.figures == {"read": 10, "even": 5, "none": 0}
    assert staged.rows == 3
    assert [row.id for row in table.sql("select id from staged_into")] == [0]
    staged.create_view("`what was staged`")
    version = staged.commit()
    assert version == table_version(table.session, table.schema, "staged_into")
    assert [tuple(row) for row in table.sql("select * from staged_into order by id")] == [
        (0, "zero", date(2026, 1, 1), "n"),
        *((number, f"n{number}", date(2026, 1, 2), None) for number in (7, 8, 9)),
    ]
    assert table.sql("select id, day, `no{te}` from `what was staged` order by id") == [
        (number, date(2026, 1, 2), None) for number in (7, 8, 9)
    ]


def test_version_of_same_rows(table: Any) -> None:
    """What alters a table leaves its rows; where another run may have written some, there is none."""
    where = (table.session, table.schema, "staged_into")
    version = table_version(*where)
    assert version is not None
    assert version_of_same_rows(*where, version) == version
    table.sql("alter table staged_into add column n int")
    table.sql("alter table staged_into rename column n to m")
    table.sql("alter table staged_into drop column m")
    assert version_of_same_rows(*where, version) == version + 3
    table.sql("insert into staged_into values (11, 'n11', date'2026-01-02', null)")
    assert version_of_same_rows(*where, version) is None
    table.sql("alter table staged_into add column n int")
    assert version_of_same_rows(*where, version) is None
    assert version_of_same_rows(*where, version + 4) == version + 5


def test_staged_rows__discarded(table: Any) -> None:
    before = data_files(table)
    staged = stage(table)
    assert data_files(table) > before
    staged.discard()
    assert data_files(table) == before


@pytest.mark.parametrize(
    "other",
    [
        "insert into staged_into values (1, 'one', date'2026-01-03', null)",
        "delete from staged_into where id = 0",
        "alter table staged_into set tblproperties ('tidemark.fence' = '1')",
    ],
    ids=["append", "delete", "fence"],
)
def test_staged_rows__another_commit(table: Any, other: str) -> None:
    """Whatever another run does to the table in between, the rows are not committed and leave no file."""
    staged = stage(table)
    table.sql(other)
    rows, files = table.sql("select * from staged_into"), data_files(table)
    with pytest.raises(TidemarkError, match=r"another run has written to .*staged_into"):
        staged.commit()
    assert table.sql("select * from staged_into") == rows
    assert data_files(table) < files


@pytest.mark.parametrize("versions", ["fewer", "as many"])
def test_staged_rows__another_table(table: Any, versions: str) -> None:
    """Nor where a new table has come in the place of that one: its versions begin anew, so that Delta would let them through."""
    staged = stage(table)
    version = table_version(table.session, table.schema, "staged_into")
    table.sql("alter table staged_into rename to staged_before")
    table.sql(
        "create table staged_into (id bigint, name string, day date, `no{te}` string) using delta "
        "partitioned by (day) tblproperties ('delta.columnMapping.mode' = 'name')"
    )
    for number in range(version if versions == "as many" else 0):
        table.sql(f"insert into staged_into values ({number}, 'new', date'2026-01-03', null)")
    rows, files = table.sql("select * from staged_into"), data_files(table)
    with pytest.raises(TidemarkError, match=r"another run has written to .*staged_into"):
        staged.commit()
    assert table.sql("select * from staged_into") == rows
    assert data_files(table) == files
    table.sql("drop table staged_before")


def test_staged_rows__table_has_moved_on(table: Any) -> None:
    version = table_version(table.session, table.schema, "staged_into")
    table.sql("insert into staged_into values (1, 'one', date'2026-01-03', null)")
    files = data_files(table)
    with pytest.raises(TidemarkError, match="another run has written"):
        stage_rows(table.session, table.schema, "staged_into", version, ROWS, FIGURES, WRITTEN)
    assert data_files(table) == files


TYPES = """id bigint not null, `a b` string comment "o'É", day date, at timestamp, local timestamp_ntz, is_it boolean,
    bytes binary, amount decimal(38, 9), small tinyint, ratio double, parts array<struct<x int, `y-z` map<string, date>>>,
    any variant"""


def made_of(session: Any, schema: str, name: str) -> dict[str, Any]:
    """What log and catalog have of a new table, but for what is drawn, or a time."""
    catalog = session._jsparkSession.sessionState().catalog()
    identifier = table_identifier(session._jvm, schema, name)
    told = str(catalog.getTableMetadata(identifier).toString())
    folder = Path(str(catalog.defaultTablePath(identifier).getPath()), "_delta_log")
    actions: dict[str, Any] = {}
    for line in Path(folder, f"{0:020}.json").read_text().splitlines():
        actions |= json.loads(line)
    sums = json.loads(Path(folder, f"{0:020}.crc").read_text())
    sums.pop("fileSizeHistogram", None)
    assert sums.pop("metadata") == actions["metaData"]
    assert sums.pop("protocol") == actions["protocol"]
    assert sums.pop("txnId") == actions["commitInfo"].pop("txnId")
    for drawn in (actions["metaData"].pop("id"), actions["metaData"].pop("createdTime")):
        assert drawn
    assert time.time() - actions["commitInfo"].pop("timestamp") / 1000 < 60
    info = actions["commitInfo"]["operationParameters"]
    # Delta tells the columns' number only there, as it has been told by then
    info["properties"] = {
        key: value
        for key, value in json.loads(info["properties"]).items()
        if key != "delta.columnMapping.maxColumnId"
    }
    actions["metaData"]["schemaString"] = re.sub(
        r"col-[0-9a-f-]{36}", "col-…", actions["metaData"]["schemaString"]
    )
    entries = sorted(entry.name for entry in folder.iterdir() if entry.name[0] != ".")
    return {
        "actions": actions,
        "sums": sums,
        "files": entries,
        "catalog": re.sub(r"Created Time: [^\n]*", "", told),
        "described": session.sql(f"describe {schema}.`{name}`").collect(),
    }


@pytest.mark.parametrize(
    "statement",
    [
        f"({TYPES}) using delta tblproperties ('delta.columnMapping.mode' = 'name', 'tidemark.layout' = '1')",
        "(_key_hash string, `Größe` int, day date) using delta partitioned by (day, `Größe`) comment 'it''s \\'\\n' "
        "tblproperties ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true', "
        "'delta.dataSkippingStatsColumns' = '_key_hash', 'x.y' = 'quoted \"', 'tidemark.layout' = '1')",
        "(id bigint) using delta tblproperties ('delta.autoOptimize.autoCompact' = 'true', "
        "'delta.checkpointInterval' = '100', 'tidemark.layout' = '1')",
    ],
    ids=["types", "partitions", "settings"],
)
@pytest.mark.parametrize("name", ["made", "Made_2"])
def test_create_table__is_what_spark_makes(module_project: Any, statement: str, name: str) -> None:
    """The same log and the same entry of the catalog; also where a table of that name was dropped before."""
    schema, spark = module_project.schema, module_project.session
    table = f"{schema}.{name}"
    sql = f"create table if not exists {table} {statement}"
    found = []
    for make in (create_table, type(spark).sql, create_table):
        jobs = spark.sparkContext.statusTracker().getJobIdsForGroup(None)
        made = make(spark, sql)
        if make is create_table:
            assert made
            assert spark.sparkContext.statusTracker().getJobIdsForGroup(None) == jobs
            assert not create_table(spark, sql), "it is there"
        found.append(made_of(spark, schema, name))
        spark.sql(f"alter table {table} add columns (added int)")
        assert spark.sql(f"select added from {table}").collect() == []
        assert table_version(spark, schema, name) == 1
        spark.sql(f"drop table {table}")
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    "statement",
    [
        "create table if not exists {} (id int) using delta",
        "create table {} (id int) using delta tblproperties ('tidemark.layout' = '1')",
        "create or replace table {} (id int) using delta tblproperties ('tidemark.layout' = '1')",
        "create table if not exists {} (id int) using parquet tblproperties ('tidemark.layout' = '1')",
        "create table if not exists {} (id int) using delta location '{}' tblproperties ('tidemark.layout' = '1')",
        "create table if not exists {} (id int) using delta cluster by (id) tblproperties ('tidemark.layout' = '1')",
        "create table if not exists {} (id int, a varchar(3)) using delta tblproperties ('tidemark.layout' = '1')",
        "create table if not exists {} (id int default 3) using delta tblproperties ('tidemark.layout' = '1')",
        "create table if not exists {} (id int) using delta tblproperties ('tidemark.layout' = '1') as select 1 as id",
        "create table if not exists {} using delta tblproperties ('tidemark.layout' = '1') as select 1 as id",
        "create table if not exists {} (id int) using delta tblproperties "
        "('delta.enableChangeDataFeed' = 'true', 'tidemark.layout' = '1')",
        "create table if not exists {} (id int) using delta tblproperties "
        "('Delta.checkpointInterval' = '1', 'tidemark.layout' = '1')",
        "create table if not exists nix.{} (id int) using delta tblproperties ('tidemark.layout' = '1')",
        "drop table if exists {} -- 'tidemark.layout'",
    ],
)
def test_create_table__leaves_to_spark(module_project: Any, tmp_path: Path, statement: str) -> None:
    schema, spark = module_project.schema, module_project.session
    name = f"`{schema}`.left_to_spark"
    try:
        assert not create_table(spark, statement.format(name, tmp_path))
    except ParseException:
        assert "(id int) using delta" in statement and "as select" in statement
    assert not spark.catalog.tableExists(f"{schema}.left_to_spark")
    assert not Path(warehouse(spark), f"{schema}.db", "left_to_spark").exists()


def test_create_table__where_something_is(
    module_project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a session sets for new tables, a folder, a run that makes the table at this moment: Spark judges."""
    schema, spark = module_project.schema, module_project.session
    sql = (
        f"create table if not exists {schema}.judged (id int) using delta "
        "tblproperties ('tidemark.layout' = '1')"
    )
    setting = "spark.databricks.delta.properties.defaults.enableChangeDataFeed"
    spark.conf.set(setting, "true")
    try:
        assert not create_table(spark, sql)
    finally:
        spark.conf.unset(setting)
    folder = Path(warehouse(spark), f"{schema}.db", "judged")
    assert not folder.exists()
    folder.mkdir()
    assert not create_table(spark, sql)
    folder.rmdir()

    write = create._write

    def another_comes_first(jvm: Any, log: Any, *rest: Any) -> None:
        log.createLogDirectoriesIfNotExists()
        Path(folder, "_delta_log", f"{0:020}.json").write_text("{}")
        write(jvm, log, *rest)

    monkeypatch.setattr(create, "_write", another_comes_first)
    assert not create_table(spark, sql)
    assert Path(folder, "_delta_log", f"{0:020}.json").read_text() == "{}"
    assert not spark.catalog.tableExists(f"{schema}.judged")
    shutil.rmtree(folder)


def warehouse(session: Any) -> str:
    return str(session.conf.get("spark.sql.warehouse.dir")).removeprefix("file:")


def test_append_rows__is_what_an_insert_would_write(module_project: Any) -> None:
    """Without a job; every type, NULLs, small and large numbers, odd texts; also where columns are mapped."""
    schema, spark = module_project.schema, module_project.session
    columns = "id bigint, name string, day date, at timestamp, is_it boolean"
    rows = [
        {"id": 7, "name": "o'É\n€", "day": "2026-03-04", "at": "2026-03-04 09:30:00.123456", "is_it": True},
        {"id": -(2**40), "day": "1600-01-01", "at": "1600-01-01T00:00:00+01:00", "is_it": False},
        {"name": ""},
    ]  # fmt: skip
    values = """
        (7, "o'É\\n€", date'2026-03-04', timestamp'2026-03-04 09:30:00.123456Z', true),
        (-1099511627776, null, date'1600-01-01', timestamp'1599-12-31 23:00:00Z', false),
        (null, '', null, null, null)
    """
    for mode in ("none", "name"):
        name = f"records_{mode}"
        spark.sql(
            f"create table {schema}.{name} ({columns}) using delta "
            f"tblproperties ('delta.columnMapping.mode' = '{mode}')"
        )
        before = id_and_version(spark, schema, name)
        jobs = spark.sparkContext.statusTracker().getJobIdsForGroup(None)
        _, state = append_rows(spark, schema, name, rows[:1])
        assert spark.sparkContext.statusTracker().getJobIdsForGroup(None) == jobs
        assert before and state == (before[0], before[1] + 1) == id_and_version(spark, schema, name)
        append_rows(spark, schema, name, rows[1:])
        wanted = spark.sql(f"select * from values {values}").collect()
        found = spark.sql(f"select * from {schema}.{name} order by id desc nulls last").collect()
        assert [tuple(row) for row in found] == [tuple(row) for row in wanted]
        # found by its bounds, and rows of SQL go with it
        spark.sql(f"insert into {schema}.{name} (id) values (8)")
        assert spark.sql(f"select id from {schema}.{name} where id between 7 and 9").count() == 2
        assert spark.sql(f"select id from {schema}.{name} where id > 8").count() == 0
        for wrong in ({"nix": 1}, {"id": 1, "Name": "x"}):
            with pytest.raises(TidemarkError, match="has no column"):
                append_rows(spark, schema, name, [wrong])
    spark.sql(f"create table {schema}.parted (id bigint, b bigint) using delta partitioned by (b)")
    with pytest.raises(TidemarkError, match="has partitions"):
        append_rows(spark, schema, "parted", [{"id": 1}])


@pytest.mark.turn(0, 1, 2, 3)
def test_small_files__are_joined_without_a_job(module_project: Any) -> None:
    """Also those that Spark has written; the rows stay, and so does what files tell of their bounds."""
    schema, spark = module_project.schema, module_project.session
    spark.sql(
        f"create table {schema}.many (id bigint, `a b` string, day date, at timestamp, is_it boolean, never string) using delta "
        "tblproperties ('delta.columnMapping.mode' = 'name')"
    )
    spark.sql(
        f"insert into {schema}.many values (-1, null, date'1600-01-01', timestamp'1599-12-31 23:00:00.000001Z', true, null)"
    )
    spark.sql(f"alter table {schema}.many add columns (later string)")
    while (version := table_version(spark, schema, "many") or 0) < 50:
        row = {"id": version, "a b": "o'É\n€" * version, "day": "2026-03-04", "later": "x"}
        at = {"at": "2026-03-04 09:30:00.123456", "is_it": False} if version % 2 else {}
        _, state = append_rows(spark, schema, "many", [row | at])
        if state[1] < 50:
            assert join_now_and_then(spark, schema, "many", state[1]) is None
    rows = spark.sql(f"select * from {schema}.many order by id").collect()
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup(None)
    joined = join_now_and_then(spark, schema, "many", 50)
    assert spark.sparkContext.statusTracker().getJobIdsForGroup(None) == jobs
    assert joined == (state[0], 51) == id_and_version(spark, schema, "many")
    assert file_count(spark, schema, "many") == 1
    assert spark.sql(f"select * from {schema}.many order by id").collect() == rows
    assert len(rows) == 49
    append_rows(spark, schema, "many", [{"id": 60}])
    found = spark.sql(f"select id, later, never from {schema}.many where id between 48 and 60")
    assert sorted(found.collect()) == [(48, "x", None), (49, "x", None), (60, None, None)]
    folder = Path(warehouse(spark), f"{schema}.db", "many")
    told = [
        json.loads(line)
        for line in (folder / "_delta_log" / f"{51:020}.json").read_text().splitlines()
    ]
    (added,) = [action["add"] for action in told if "add" in action]
    assert not added["dataChange"]
    bounds = json.loads(added["stats"])
    assert bounds["numRecords"] == 49
    assert list(bounds["minValues"].values()) == [-1]
    assert list(bounds["maxValues"].values()) == [49]

    assert join_now_and_then(spark, schema, "many", 50) is None, "a commit came between"
    assert file_count(spark, schema, "many") == 2


def test_small_files__where_the_answer_is_lost(
    module_project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails may have been committed: then the table names the joined file, which stays."""
    schema, spark = module_project.schema, module_project.session
    spark.sql(f"create table {schema}.lost (id bigint) using delta")
    for number in range(50):
        append_rows(spark, schema, "lost", [{"id": number}])

    def committed_and_lost(*arguments: Any) -> int:
        commit(*arguments)
        raise OSError("the JVM has gone")

    monkeypatch.setattr("tidemark.spark.delta.join.commit", committed_and_lost)
    with pytest.raises(OSError, match="has gone"):
        join_now_and_then(spark, schema, "lost", 50)
    assert file_count(spark, schema, "lost") == 1
    assert spark.sql(f"select count(*) from {schema}.lost").head() == (50,)


def test_small_files__in_folders_of_their_own(module_project: Any) -> None:
    """Where a table's columns are mapped, Spark writes files into folders within that of the table."""
    schema, spark = module_project.schema, module_project.session
    spark.sql(
        f"create table {schema}.apart using delta tblproperties ('delta.columnMapping.mode' = 'name') "
        "as select /*+ repartition(3) */ id from range(30)"
    )
    folder = Path(warehouse(spark), f"{schema}.db", "apart")
    assert len([*folder.glob("*/part-*.parquet")]) == 3
    assert join_now_and_then(spark, schema, "apart", 0) is not None
    assert file_count(spark, schema, "apart") == 1
    assert spark.sql(f"select sum(id) from {schema}.apart").collect() == [(435,)]


@pytest.mark.turn(0, 1, 2, 3)
def test_small_files__by_spark_where_it_has_to(module_project: Any) -> None:
    """Of another type; and nothing is done where a file cannot be read, which is for readers to say."""
    schema, spark = module_project.schema, module_project.session
    spark.sql(f"create table {schema}.joined_by_spark (id double) using delta")
    for number in range(3):
        spark.sql(f"insert into {schema}.joined_by_spark values ({number})")
    assert join_now_and_then(spark, schema, "joined_by_spark", 50) is None
    assert file_count(spark, schema, "joined_by_spark") == 1
    assert spark.sql(f"select sum(id) from {schema}.joined_by_spark").collect() == [(3.0,)]

    spark.sql(f"create table {schema}.cut_short (id bigint) using delta")
    for number in range(50):
        append_rows(spark, schema, "cut_short", [{"id": number}])
    folder = Path(warehouse(spark), f"{schema}.db", "cut_short")
    files = sorted(folder.glob("*.parquet"))
    files[0].write_bytes(b"PAR1")
    assert join_now_and_then(spark, schema, "cut_short", 50) is None
    assert table_version(spark, schema, "cut_short") == 50
    assert sorted(folder.glob("*.parquet")) == files


def test_small_tables__are_read_and_replaced_by_their_files(module_project: Any) -> None:
    """Partitions, mapped columns, NOT NULL and a commit that comes between, as Spark's own statements have them."""
    schema, spark = module_project.schema, module_project.session
    name = f"{schema}.small"
    spark.sql(
        f"create table {name} (id bigint not null, `a b` string, day date) using delta partitioned by (day) "
        "tblproperties ('delta.columnMapping.mode' = 'name')"
    )
    spark.sql(
        f"insert into {name} select id, id, date_add(date'2026-01-01', cast(id % 3 as int)) from range(6)"
    )
    spark.sql(f"delete from {name} where id = 5")
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup(None)
    assert view_small_table(spark, schema, "small", "`now`")
    assert spark.sparkContext.statusTracker().getJobIdsForGroup(None) == jobs
    rows = spark.sql(f"select * from {name} order by id").collect()
    assert spark.sql("select * from `now` order by id").collect() == rows
    found = spark.sql("select id from now where day = date'2026-01-02' order by id").collect()
    assert found == [(1,), (4,)]

    new = "select id, upper(`a b`) || '!' as `a b`, day from was where id > 2 union all select 9, null, null"
    version = replace_rows(spark, schema, "small", new, "`was`")
    assert version == table_version(spark, schema, "small")
    found = spark.sql(f"select id, `a b`, cast(day as string) from {name} order by id").collect()
    assert [tuple(row) for row in found] == [
        (3, "3!", "2026-01-01"),
        (4, "4!", "2026-01-02"),
        (9, None, None),
    ]
    # the view stays as it was, and so does the version before
    assert spark.sql("select * from now order by id").collect() == rows
    before = spark.sql(f"select * from {name} version as of {version - 1} order by id").collect()
    assert before == rows
    spark.sql(f"insert into {name} values (10, 'x', null)")
    assert spark.sql(f"select count(*) from {name}").collect()[0][0] == 4

    with pytest.raises(Exception, match="DELTA_NOT_NULL_CONSTRAINT_VIOLATED"):
        replace_rows(spark, schema, "small", "select null as id, 'x' as `a b`, null as day", "was")


def test_small_tables__are_none(module_project: Any) -> None:
    """Many files, deletion vectors and columns whose length is checked are Spark's own to read or to write."""
    schema, spark = module_project.schema, module_project.session
    spark.sql(
        f"create table {schema}.vectors using delta tblproperties ('delta.enableDeletionVectors' = 'true') "
        "as select /*+ coalesce(1) */ * from range(10)"
    )
    assert view_small_table(spark, schema, "vectors", "vectors_now")
    spark.sql(f"delete from {schema}.vectors where id = 3")
    assert not view_small_table(spark, schema, "vectors", "vectors_now")
    assert replace_rows(spark, schema, "vectors", "select * from range(3)", "v") is None
    spark.sql(
        f"create table {schema}.files using delta partitioned by (id) as "
        "select id, id as number from range(60)"
    )
    assert not view_small_table(spark, schema, "files", "files_now")
    spark.sql(f"create table {schema}.lengths (name varchar(3)) using delta")
    spark.sql(f"insert into {schema}.lengths values ('abc')")
    assert view_small_table(spark, schema, "lengths", "lengths_now")
    assert replace_rows(spark, schema, "lengths", "select 'abcd' as name", "l") is None


def test_replace_rows__not_over_a_commit_that_came_between(module_project: Any) -> None:
    schema, spark = module_project.schema, module_project.session
    spark.sql(f"create table {schema}.busy using delta as select * from range(3)")
    real = small.view_files

    def view_files(*args: Any) -> None:
        real(*args)
        spark.sql(f"insert into {schema}.busy values (7)")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small, "view_files", view_files)
        with pytest.raises(TidemarkError, match="another run has written"):
            replace_rows(spark, schema, "busy", "select id + 1 as id from was", "was")
    found = spark.sql(f"select id from {schema}.busy order by id").collect()
    assert [row.id for row in found] == [0, 1, 2, 7]


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="what spares it is Linux's")
def test_long_answers_are_not_waited_for(module_project: Any) -> None:
    """By any thread, each of which has a connection of its own; the answers are whole."""
    spark = module_project.session
    jvm, sizes, found = spark._jvm, (7, 8191, 8192, 8193, 200_000), []

    def ask() -> None:
        for size in sizes:
            text = java_class(jvm, "org.apache.commons.lang3.StringUtils").repeat("é\n", size)
            found.append(text == "é\n" * size)
        found.append(type(jvm._gateway_client.get_thread_connection().socket).__name__)

    for _ in range(2):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    ask()
    assert found == [*[True] * 5, "_Prompt"] * 3


def test_jars_are_not_on_the_path_of_workers(module_project: Any) -> None:
    """Those of `spark.jars.packages`; Spark's own stays."""
    context = module_project.session.sparkContext
    (path,) = context.parallelize([1], 1).map(lambda _: sys.path).collect()
    assert not [name for name in path if name.endswith(".jar") and "/pyspark/jars/" not in name]


def test_cache_view__rows_stay(module_project: Any) -> None:
    """Rows are worked out once, whatever becomes of the tables and views below, and what reads them is planned with them."""
    project, session = module_project, module_project.session
    project.sql("create table below using delta as select 1 as id")
    session.catalog.setCurrentDatabase(project.schema)
    session.sql(
        "create or replace temporary view between_them as select *, uuid() as mark from below"
    )

    def held() -> list[str]:
        found = [one.name() for one in session._jsc.sc().getRDDStorageInfo()]
        return sorted(name for name in found if "kept" in name and "Delta Table State" not in name)

    cache_view(session, "`kept`", "select * from between_them")
    cache_view(session, "`kept again`", "select *, uuid() as other from `kept`")
    session.catalog.setCurrentDatabase("default")
    assert held() == [], "nothing is worked out before it is read"
    first = session.sql("select * from `kept again`").collect()
    project.sql("insert into below values (2)")
    session.sql("drop view between_them")
    assert session.sql("select * from `kept again`").collect() == first
    both = "select k.* from `kept again` as k join `kept again` as l on k.mark = l.mark"
    read = session.sql(both)
    assert read.collect() == first
    leaves = read._jdf.queryExecution().optimizedPlan().collectLeaves()
    assert [leaves.apply(place).nodeName() for place in range(leaves.size())] == [
        "InMemoryRelation",
        "InMemoryRelation",
    ]
    assert held() == ["In-memory table `kept again`", "In-memory table `kept`"]
    for name in ("`kept again`", "`kept`", "`kept`"):
        forget_cached(session, name)
    assert held() == []
