"""Generated code and the interpreter of Spark give one answer for every query of the flows: the golden files, over rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from ..render.test_golden import CASES
from ..three_ways import answers, differences, settings_kept
from ..turns import MARKS
from .golden_relations import golden_sql
from .golden_rows import FilledRelations

LEFT_OUT = {
    "version_sql.any": "it takes all columns of a version of a Delta table, and works nothing out",
}
"""Golden files that are not run over rows → why."""

MAY_BE_EMPTY = {
    "scd2.empty": "it has a limit of 0",
}
"""Golden files that may give no row → why."""

OTHERWISE = {
    # of all lines, not of one
    "staged_events_sql.keyed": ("_landing_num < 9", "_landing_num < 999"),
    "failed_event_values_sql": ("_landing_num < 9", "_landing_num < 999"),
    # the files were written just now
    "idle_slices_sql.two": ("- interval 1 day", "+ interval 1 day"),
    # of any commit: which of them were undone, or completed, is left to chance
    "log_commits_sql.one": ("commit_id = 260304093000123", "commit_id <= 260304093000123"),
    # what came after any state
    "cloned_states_sql.since": (
        "max(marks.state_at) from shop.tidemark_commits as marks\n        where marks.relation = 'shop.customers' and marks.commit_id = 260304093000123",
        "min(marks.state_at) from shop.tidemark_commits as marks",
    ),
    "clones_of_sql.any": ("kind = 'clone' and", "kind = 'load' or"),
    "batches_gone_sql.any": ("commit_id <= 7", "commit_id > 7"),
    # the digest of a key that is there
    "reconcile_sql.rows": ("'c4ca4238a0b923820dcc509a6f75849b'", "md5('1:1;')"),
    # loads that are daily; windows order by date, of which there is one load
    "missing_dates_sql.told": ("select * from shop.tidemark_commits", "select * from daily_counts"),
    "unusual_counts_sql": ("select * from shop.tidemark_commits", "select * from daily_counts"),
}
"""What is said otherwise so that a query finds rows, or has one answer at all: golden file → a text and what stands in its place."""

#: Some months of loads, with days that are missing and numbers that are unusual
DAILY_COUNTS = """
    select
        relation,
        date_add(date'2026-01-01', cast(day as int)) as business_date,
        day as commit_id,
        if(day % 29 = 28, 0L, 100 + pmod(hash(relation, day), 17)) as rows_inserted,
        if(day % 31 = 30, 1000000L, pmod(hash(day, relation), 7)) as rows_updated,
        if(day % 5 = 0, null, 9223372036854775807) as rows_deleted,
        if(day % 41 = 40, 5000L, 0) as rows_rejected
    from range(150) as days(day)
    cross join (select explode(array('shop.a', 'shop.b', null)) as relation) as relations
    where day % 13 <> 12
"""

SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.shuffle.partitions": "2",
    # a query of few rows is one job, not one for each stage
    "spark.sql.adaptive.enabled": "false",
}


@pytest.fixture(scope="module")
def session(module_project: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    session = module_project.session
    with settings_kept(session, **SETTINGS):
        relations = FilledRelations(session, tmp_path_factory.mktemp("rows"))
        relations.make()
        relations.derived("daily_counts", DAILY_COUNTS)
        yield session
    session.sql("drop database shop cascade")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with files that have arrived."""
    folder = tmp_path_factory.mktemp("lake")
    (folder / "shop").mkdir()
    for name in ("a.tsv", "b c.tsv", "left.tmp"):
        (folder / "shop" / name).write_text("x")
    return f"{folder}/"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.turn(place % MARKS))
        for place, name in enumerate(CASES)
        if name not in LEFT_OUT
    ],
)
def test_golden_sql__one_answer(session: Any, lake: str, name: str) -> None:
    golden = golden_sql(name)
    if name in OTHERWISE:
        assert OTHERWISE[name][0] in golden
        golden = golden.replace(*OTHERWISE[name])
    found = answers(session, query_of(golden.replace("/lake/", lake)))
    assert differences(found) == []
    assert found["interpreted"] or name in MAY_BE_EMPTY, "no row was compared"


def query_of(text: str) -> str:
    """Return a golden file as a query: of a statement that writes, what it reads and how its rows meet."""
    # each way of Spark is another run, at another moment
    text = text.replace("current_timestamp()", "timestamp'2026-03-09 10:00:00'")
    # what keeps two writers apart lets no row pass here; it is worked out all the same
    text = re.sub(r"(\)|commits) = 0(?=\n|,|$)", r"\1 >= 0", text)
    if text.startswith("merge into "):
        return _query_of_merge(text)
    if text.startswith("insert into "):
        return text.partition("\n)\n")[2]
    if text.startswith("create or replace "):
        return re.split(r"\bas$", text, maxsplit=1, flags=re.M)[1]
    return text


def _query_of_merge(text: str) -> str:
    """The rows that meet and those that do not, with the answer of each condition and each value that would be written."""
    parts = re.fullmatch(
        r"merge into (.*?)\nusing (\(\n.*?\n\) as \w+)\n\s*on\s(.*?)\n(when .*)", text, re.S
    )
    assert parts is not None, text
    target, source, condition, clauses = parts.groups()
    told = re.findall(r"^when (?:not )?matched and (.*?) then ", clauses, re.M)
    told += re.findall(r"^    \S.* = (.*?),?$", clauses, re.M)
    for values in re.findall(r"^\) values \(\n(.*?)\n\)", clauses, re.M | re.S):
        told += values.split(",\n")
    return f"select {', '.join(['*', *told])} from {target} full outer join {source} on {condition}"
