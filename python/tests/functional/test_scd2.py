"""SCD type 2 as a table and as a view, and the state as of a date: four cities, day by day."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pytest

from ..rendering import load_sql_macros, relation

pytestmark = pytest.mark.iceberg

Rows = set[tuple[Any, ...]]

YAML = """
version: 2
models:
  - name: cities
    config:
      materialized: cdc
      unique_key: id
      meta: {{tidemark: {{extract: full, location: "{root}/extracts/{{business_date}}.csv",
        sensitive: [phone], max_delete_fraction: 1}}}}
    columns:
      - {{name: id, data_type: string}}
      - {{name: name, data_type: string}}
      - {{name: phone, data_type: string}}
    data_tests:
      - tidemark.current_equals_open_intervals
      - tidemark.history_replays_to_current
      - tidemark.no_current_key_last_deleted
  - name: cities_scd2
    config: {{materialized: scd2}}
    data_tests:
      - tidemark.one_open_interval_per_key
      - tidemark.no_overlapping_intervals
"""


def make_cities(project: Any) -> Any:
    project.write("models/cities.sql", "{{ tidemark.extract() }}")
    project.write("models/cities_scd2.sql", "{{ tidemark.scd2(ref('cities')) }}")
    project.write(
        "models/cities_intervals.sql",
        "{{ config(materialized='view') }} {{ tidemark.scd2(ref('cities')) }}",
    )
    project.write("models/models.yml", YAML.format(root=project.root))
    return project


def load(project: Any, day: str, rows: dict[str, str], *select: str) -> Any:
    """Write an extract, id → name, and run its date."""
    lines = [f"{key},{name},phone of {name}" for key, name in rows.items()]
    project.write(f"extracts/{day}.csv", "\n".join(["id,name,phone", *lines]) + "\n")
    arguments = ["run", "--select", *select] if select else ["run"]
    return project.dbt(*arguments, vars={"business_date": day})


def intervals(project: Any, relation: str = "cities_scd2") -> Rows:
    """(id, name, day from, day to, current) of a table of intervals; days are those of January."""
    rows = project.sql(
        f"select id, name, day(_valid_from), day(_valid_to), _is_current from {relation}"
    )
    assert len(set(rows)) == len(rows)
    return {tuple(row) for row in rows}


def version(project: Any, table: str = "cities_scd2") -> int:
    return int(project.version(table))


def last_commit(project: Any, relation: str) -> int:
    name = f"{project.schema}.{relation}"
    query = f"select max(commit_id) from tidemark_commits where relation = '{name}'"
    return int(project.sql(query)[0][0])


@dataclass
class Story:
    """What the tables held after each step."""

    project: Any
    kept: dict[str, Rows] = field(default_factory=dict)
    viewed: dict[str, Rows] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    commits: dict[str, int] = field(default_factory=dict)

    def step(self, name: str, day: str, rows: dict[str, str]) -> None:
        load(self.project, day, rows, "cities+")
        self.kept[name] = intervals(self.project)
        self.viewed[name] = intervals(self.project, "cities_intervals")
        self.versions[name] = version(self.project)
        self.commits[name] = last_commit(self.project, "cities")


@pytest.fixture(scope="module")
def story(module_project: Any) -> Story:
    story = Story(make_cities(module_project))
    story.step("day 1", "2026-01-01", {"a": "Aa", "b": "Bb", "c": "Cc"})
    story.step("day 2", "2026-01-02", {"a": "A2", "c": "Cc"})
    story.step("day 4", "2026-01-04", {"a": "Aa", "b": "Bb", "c": "Cc"})
    story.step("day 4 again", "2026-01-04", {"a": "Aa", "b": "Bb", "c": "Cc"})
    story.step("late day 3", "2026-01-03", {"a": "A2", "d": "Dd"})
    story.step("corrected day 2", "2026-01-02", {"a": "Aa", "c": "C2"})
    return story


EXPECTED: dict[str, Rows] = {
    "day 1": {
        ("a", "Aa", 1, None, True),
        ("b", "Bb", 1, None, True),
        ("c", "Cc", 1, None, True),
    },
    # a changes, b is deleted
    "day 2": {
        ("a", "Aa", 1, 2, False),
        ("a", "A2", 2, None, True),
        ("b", "Bb", 1, 2, False),
        ("c", "Cc", 1, None, True),
    },
    # a is what it was: three versions; b comes back as it was: a gap
    "day 4": {
        ("a", "Aa", 1, 2, False),
        ("a", "A2", 2, 4, False),
        ("a", "Aa", 4, None, True),
        ("b", "Bb", 1, 2, False),
        ("b", "Bb", 4, None, True),
        ("c", "Cc", 1, None, True),
    },
    # day 3 knew a d and no c; day 4 had c and no d
    "late day 3": {
        ("a", "Aa", 1, 2, False),
        ("a", "A2", 2, 4, False),
        ("a", "Aa", 4, None, True),
        ("b", "Bb", 1, 2, False),
        ("b", "Bb", 4, None, True),
        ("c", "Cc", 1, 3, False),
        ("c", "Cc", 4, None, True),
        ("d", "Dd", 3, 4, False),
    },
    # a changed on day 3 only, c already on day 2
    "corrected day 2": {
        ("a", "Aa", 1, 3, False),
        ("a", "A2", 3, 4, False),
        ("a", "Aa", 4, None, True),
        ("b", "Bb", 1, 2, False),
        ("b", "Bb", 4, None, True),
        ("c", "Cc", 1, 2, False),
        ("c", "C2", 2, 3, False),
        ("c", "Cc", 4, None, True),
        ("d", "Dd", 3, 4, False),
    },
}


@pytest.mark.parametrize("step", EXPECTED)
def test_scd2__intervals(story: Story, step: str) -> None:
    assert story.viewed[step] == EXPECTED[step]
    assert story.kept[step] == EXPECTED[step]


def test_scd2__nothing_new_writes_no_version(story: Story) -> None:
    assert story.versions["day 4 again"] == story.versions["day 4"]
    assert story.kept["day 4 again"] == EXPECTED["day 4"]


@pytest.mark.iceberg(never=True)
def test_scd2__kept_row_by_row(story: Story) -> None:
    operations = story.project.sql("describe history cities_scd2")
    kinds = [row.operation for row in operations]
    assert set(kinds[:-1]) == {"MERGE"} and kinds[-1].startswith("CREATE OR REPLACE")
    # the correction moved two boundaries of a, by taking a row away and adding one, and split c
    figures = story.project.sql(
        f"""
        select rows_inserted, rows_updated, rows_deleted
        from tidemark_commits
        where relation = '{story.project.schema}.cities_scd2'
        order by commit_id desc limit 1
        """
    )
    assert tuple(figures[0]) == (2, 2, 1)


def test_scd2__all_columns(story: Story) -> None:
    names = [row.col_name for row in story.project.sql("describe table cities_scd2")]
    assert (
        names == "id name _key_hash _row_hash _commit_id _valid_from _valid_to _is_current".split()
    )


def test_scd2__generic_tests_pass(story: Story) -> None:
    result = story.project.dbt("test")
    assert len(result.statuses) == 5


def rendered(project: Any, macro: str, *arguments: Any, of: str = "cities") -> str:
    """The SQL of a public macro for the entity, or for a relation beside it."""
    return str(load_sql_macros()[macro](relation(project.schema, of), *arguments))


def test_scd2__known_at(story: Story) -> None:
    for step in ("day 2", "day 4", "late day 3", "corrected day 2"):
        query = rendered(story.project, "scd2", story.commits[step])
        assert intervals(story.project, f"({query})") == EXPECTED[step], step


@pytest.mark.parametrize(
    ("step", "day", "expected"),
    [
        (None, "2025-12-31", {}),
        (None, "2026-01-01", {"a": "Aa", "b": "Bb", "c": "Cc"}),
        (None, "2026-01-02", {"a": "Aa", "c": "C2"}),
        (None, "2026-01-03", {"a": "A2", "d": "Dd"}),
        (None, "2026-01-04", {"a": "Aa", "b": "Bb", "c": "Cc"}),
        (None, "2030-01-01", {"a": "Aa", "b": "Bb", "c": "Cc"}),
        # before day 2 was corrected
        ("late day 3", "2026-01-02", {"a": "A2", "c": "Cc"}),
        ("late day 3", "2026-01-03", {"a": "A2", "d": "Dd"}),
        # before day 3 was loaded
        ("day 4", "2026-01-03", {"a": "A2", "c": "Cc"}),
        ("day 1", "2026-01-04", {"a": "Aa", "b": "Bb", "c": "Cc"}),
    ],
)
def test_as_of(story: Story, step: str | None, day: str, expected: dict[str, str]) -> None:
    known_at = story.commits[step] if step else None
    rows = story.project.sql(rendered(story.project, "as_of", day, known_at))
    assert {row.id: row.name for row in rows} == expected
    assert all(row._eff_start_date <= date.fromisoformat(day) for row in rows)


def test_scd2__deletes(story: Story) -> None:
    """What was known at day 4: b was deleted on day 2."""
    names = {"valid_from": "since", "is_deleted": "is gone"}
    query = rendered(story.project, "scd2", story.commits["day 4"], None, True, "2099-01-01", names)
    found = story.project.sql(
        f"select name, day(since), string(_valid_to), _is_current, `is gone` from ({query}) where id = 'b'"
    )
    assert sorted(map(tuple, found), key=lambda version: version[1]) == [
        ("Bb", 1, "2026-01-02", False, False),
        ("Bb", 2, "2026-01-04", False, True),
        ("Bb", 4, "2099-01-01", True, False),
    ]


def test_as_of__last_date_is_current(story: Story) -> None:
    query = rendered(story.project, "as_of", "2026-01-04")
    assert story.project.sql(f"({query}) except all select * from cities") == []
    assert story.project.sql(f"select * from cities except all ({query})") == []


def test_with_sensitive(story: Story) -> None:
    for side in ("cities", "cities__history", "cities__log"):
        rows = story.project.sql(rendered(story.project, "with_sensitive", of=side))
        assert len(rows) == story.project.sql(f"select count(*) from {side}")[0][0] > 0
        assert all(row.phone == f"phone of {row.name}" for row in rows)


# --- when the table must be built again. Each test starts from whatever state the entity is in.


@pytest.fixture(scope="module")
def rebuilt(make_project: Callable[[str], Any]) -> Any:
    project = make_cities(make_project("scd2_rebuilt"))
    load(project, "2026-01-01", {"a": "Aa", "b": "Bb"})
    load(project, "2026-01-02", {"a": "A2", "b": "Bb"})
    return project


def run_scd2(project: Any, *arguments: str) -> str:
    result = project.dbt("run", "--select", "cities_scd2", *arguments)
    return str(result.output)


def check_equals_view(project: Any) -> None:
    assert intervals(project) == intervals(project, "cities_intervals")


@pytest.mark.turn(0)
def test_rebuild__full_refresh(rebuilt: Any) -> None:
    assert "built again as a whole, as --full-refresh" in run_scd2(rebuilt, "--full-refresh")
    check_equals_view(rebuilt)
    before = version(rebuilt)
    assert "nothing new" in run_scd2(rebuilt)
    assert version(rebuilt) == before


@pytest.mark.turn(1)
def test_rebuild__table_dropped(rebuilt: Any) -> None:
    rebuilt.sql("drop table cities_scd2")
    run_scd2(rebuilt)
    check_equals_view(rebuilt)


@pytest.mark.slow
def test_rebuild__columns_changed(rebuilt: Any) -> None:
    body = "select *, upper(name) as `loud name` from ({{ tidemark.scd2(ref('cities')) }})"
    rebuilt.write("models/cities_scd2.sql", body)
    assert "as its columns changed" in run_scd2(rebuilt)
    check_equals_view(rebuilt)
    assert rebuilt.sql("select count_if(`loud name` <> upper(name)) from cities_scd2")[0][0] == 0


@pytest.mark.turn(2)
def test_rebuild__filter_changed(rebuilt: Any) -> None:
    run_scd2(rebuilt)
    body = "select * from ({{ tidemark.scd2(ref('cities')) }}) where _is_current"
    rebuilt.write("models/cities_scd2.sql", body)
    run_scd2(rebuilt, "--full-refresh")
    rebuilt.write("models/cities_scd2.sql", body + " and id <> 'b'")
    assert "as its SQL or its layout changed" in run_scd2(rebuilt)
    assert {row[0] for row in intervals(rebuilt)} == {"a"}
    # what the filter drops goes from the table by MERGE as well
    load(rebuilt, "2026-01-03", {"a": "A3", "b": "B3"})
    assert intervals(rebuilt) == {("a", "A3", 3, None, True)}
    rebuilt.write("models/cities_scd2.sql", "{{ tidemark.scd2(ref('cities')) }}")
    run_scd2(rebuilt)
    check_equals_view(rebuilt)


@pytest.mark.slow
def test_rebuild__entity_refreshed(rebuilt: Any) -> None:
    rebuilt.dbt("run", "--select", "cities", "--full-refresh", vars={"business_date": "2026-01-02"})
    assert "the log of cities is not the one" in run_scd2(rebuilt)
    assert intervals(rebuilt) == {("a", "A2", 2, None, True), ("b", "Bb", 2, None, True)}
    check_equals_view(rebuilt)


@pytest.mark.turn(3)
def test_rebuild__log_rows_vanished(rebuilt: Any) -> None:
    load(rebuilt, "2026-01-05", {"a": "A5", "b": "Bb", "erased": "x"})
    rebuilt.sql("delete from cities__log where id = 'erased'")
    assert "the log of cities is not the one" in run_scd2(rebuilt)
    check_equals_view(rebuilt)
    assert not [row for row in intervals(rebuilt) if row[0] == "erased"]
    rebuilt.sql("delete from cities where id = 'erased'")


@pytest.mark.slow
def test_rebuild__crash_before_the_first_record(rebuilt: Any) -> None:
    run_scd2(rebuilt, "--full-refresh")
    forget_last_commit(rebuilt)
    assert "no completed run of it is known" in run_scd2(rebuilt)
    check_equals_view(rebuilt)


@pytest.mark.turn(0)
def test_crash_between_merge_and_record__applies_again(rebuilt: Any) -> None:
    load(rebuilt, "2026-01-06", {"a": "A6", "b": "Bb"})
    run_scd2(rebuilt)
    load(rebuilt, "2026-01-07", {"a": "A7", "b": "B7"})
    forget_last_commit(rebuilt)
    before = intervals(rebuilt)
    assert "built again" not in run_scd2(rebuilt)
    assert intervals(rebuilt) == before
    check_equals_view(rebuilt)


def forget_last_commit(project: Any) -> None:
    """As if the last run of the scd2 model had died before it recorded its commit."""
    relation = f"{project.schema}.cities_scd2"
    commit = last_commit(project, "cities_scd2")
    project.sql(
        f"delete from tidemark_commits__log where relation = '{relation}' and commit_id = {commit}"
    )


@pytest.mark.turn(1)
def test_empty__makes_an_empty_table_and_leaves_a_full_one(rebuilt: Any) -> None:
    run_scd2(rebuilt)
    before = intervals(rebuilt)
    run_scd2(rebuilt, "--empty")
    assert intervals(rebuilt) == before
    rebuilt.sql("drop table cities_scd2")
    run_scd2(rebuilt, "--empty")
    assert intervals(rebuilt) == set()
    assert "no completed run of it is known" in run_scd2(rebuilt)
    check_equals_view(rebuilt)


@pytest.mark.turn(2)
def test_replaces_a_view(rebuilt: Any) -> None:
    rebuilt.sql("drop table cities_scd2")
    rebuilt.sql("create view cities_scd2 as select 1 as one")
    run_scd2(rebuilt)
    check_equals_view(rebuilt)


RENAMED = "deletes=true, open_end='2099-01-01', columns={'valid_from': 'since'}"


@pytest.mark.iceberg(never=True)
@pytest.mark.parametrize(
    ("config", "arguments", "layout"),
    [
        ("partition_by='_is_current'", "", ("partitionColumns", ["_is_current"])),
        pytest.param(
            "liquid_clustered_by=['id', 'since'], meta={'tidemark': {'valid_from': 'since'}}",
            RENAMED,
            ("clusteringColumns", ["id", "since"]),
            marks=pytest.mark.slow,
        ),
    ],
)
@pytest.mark.turn(3)
def test_layout(rebuilt: Any, config: str, arguments: str, layout: tuple[str, list[str]]) -> None:
    call = f"tidemark.scd2(ref('cities'), {arguments})".replace(", )", ")")
    rebuilt.write(
        "models/cities_layout.sql",
        f"{{{{ config(materialized='scd2', {config}) }}}} {{{{ {call} }}}}",
    )
    first_day = 20 if arguments else 10
    for day, rows in enumerate(({"a": "Ax", "b": "Bx"}, {"a": "Ay"}), first_day):
        load(rebuilt, f"2026-01-{day}", rows, "cities", "cities_layout")
    detail = rebuilt.sql("describe detail cities_layout")[0]
    assert detail[layout[0]] == layout[1]
    if arguments:
        found = rebuilt.sql(
            "select id, name, day(since), nullif(day(_valid_to), 1), _is_current "
            "from cities_layout where not _is_deleted"
        )
        gone = rebuilt.sql(
            "select day(since) from cities_layout where _is_deleted and _is_current and id = 'b'"
        )
        assert gone == [(first_day + 1,)]
    else:
        found = rebuilt.sql(
            "select id, name, day(_valid_from), day(_valid_to), _is_current from cities_layout"
        )
    assert {tuple(row) for row in found} == intervals(rebuilt, "cities_intervals")
    kinds = [row.operation for row in rebuilt.sql("describe history cities_layout")]
    assert kinds[0] == "MERGE"
    rebuilt.remove("models/cities_layout.sql")


SCD2 = "{{ tidemark.scd2(ref('cities')) }}"


WRONG = [
    (
        "file_format='parquet'",
        SCD2,
        "file_format: parquet is not supported any more. Set file_format to delta",
    ),
    ("partition_by='id', liquid_clustered_by='id'", SCD2, "conflict: choose one"),
    ("meta={'tidemark': {'entty': 'x'}}", SCD2, "did you mean `entity`?"),
    ("meta={'tidemark': {'entity': 'citys'}}", SCD2, "did you mean `cities`?"),
    ("", "select 1 as one", "refers to no cdc model"),
    ("", f"select id from ({SCD2})", "the body lacks `_key_hash`"),
]


@pytest.mark.turn(1)
def test_wrong_configuration__says_what_is_wrong(rebuilt: Any) -> None:
    names = [f"wrong_{number}" for number in range(len(WRONG))]
    for name, (config, body, _) in zip(names, WRONG, strict=True):
        settings = "materialized='scd2'" + (f", {config}" if config else "")
        rebuilt.write(f"models/{name}.sql", f"{{{{ config({settings}) }}}} {body}")
    result = rebuilt.dbt("run", "--select", *names, expect_pass=False)
    for name, (_, _, message) in zip(names, WRONG, strict=True):
        rebuilt.remove(f"models/{name}.sql")
        assert message in result.messages[name]


# --- generic tests catch planted faults


UNTIL = {"open_end": "2099-01-01", "valid_from": "since", "valid_to": "until"}
INTERVAL_FAULTS: dict[str, Any] = {
    "two open until a date": (
        "one_open_interval_per_key",
        "(1, 26663), (2, 26663)",
        1,
        UNTIL,
    ),
    "open until a date, then more": (
        "no_overlapping_intervals",
        "(1, 26663), (3, 4)",
        1,
        UNTIL,
    ),
    "two open": ("one_open_interval_per_key", "(1, null), (2, null)", 1),
    "overlap": ("no_overlapping_intervals", "(1, 5), (3, 8), (8, null)", 1),
    "empty": ("no_overlapping_intervals", "(1, 1), (1, null)", 1),
    "reversed": ("no_overlapping_intervals", "(5, 3)", 1),
    "open, then more": ("no_overlapping_intervals", "(1, null), (3, 4)", 1),
    "no start": ("no_overlapping_intervals", "(null, 3)", 1),
    "a gap and a neighbour": ("no_overlapping_intervals", "(1, 2), (2, 3), (5, null)", 0),
    "one open": ("one_open_interval_per_key", "(1, 2), (2, null)", 0),
}


@pytest.mark.turn(2)
def test_interval_tests__catch_planted_faults(module_project: Any) -> None:
    for name, (test, values, failures, *more) in INTERVAL_FAULTS.items():
        module_project.session.sql(
            f"""
            create or replace temporary view faulty_intervals as
            select
                'k' as id,
                date_add(date'2026-01-01', f) as _valid_from,
                date_add(date'2026-01-01', t) as _valid_to,
                _valid_from as since,
                _valid_to as until
            from values {values} as v(f, t)
            """
        )
        query = load_sql_macros()[f"test_{test}"](
            "faulty_intervals", keys=["id"], **(more[0] if more else {})
        )
        assert len(module_project.session.sql(query).collect()) == failures, name


EQUALS, REPLAYS = "current_equals_open_intervals", "history_replays_to_current"
ENTITY_FAULTS = [
    ("cities", "update cities set _row_hash = 'x' where id = 'a'", {EQUALS, REPLAYS}),
    ("cities", "update cities set name = 'x' where id = 'a'", {REPLAYS}),
    ("cities", "delete from cities where id = 'a'", {EQUALS, REPLAYS}),
    (
        "cities",
        "insert into cities values ('z', 'Zz', 'z', 'z', 'I', date'2026-01-01')",
        {EQUALS, REPLAYS},
    ),
    (
        "cities",
        """
        insert into cities
        select id, name, _key_hash, _row_hash, 'I', _eff_start_date
        from cities__history where id = 'b' and _operation = 'D'
        """,
        {EQUALS, REPLAYS, "no_current_key_last_deleted"},
    ),
    ("cities", "update cities set _operation = 'D' where id = 'a'", {EQUALS, REPLAYS}),
    ("cities", "insert into cities select * from cities where id = 'a'", {EQUALS, REPLAYS}),
    ("cities__log", "delete from cities__log where id = 'c' and _operation = 'I'", {REPLAYS}),
    (
        "cities__log",
        "update cities__log set _row_hash = 'x' where id = 'b' and _operation = 'D'",
        {REPLAYS},
    ),
]


@pytest.mark.slow
def test_entity_tests__catch_planted_faults(make_project: Callable[[str], Any]) -> None:
    project = make_cities(make_project("scd2_entity_faults"))
    load(project, "2026-01-01", {"a": "Aa", "b": "Bb", "c": "Cc"})
    load(project, "2026-01-02", {"a": "A2", "c": "C2"})
    for table, statement, caught in ENTITY_FAULTS:
        good = version(project, table)
        project.sql(statement)
        result = project.dbt("test", "--select", "cities", expect_pass=False)
        project.sql(f"restore table {table} to version as of {good}")
        failed = {name for name, status in result.statuses.items() if status == "fail"}
        assert {
            name.removeprefix("tidemark_").removesuffix("_cities_") for name in failed
        } == caught, statement
