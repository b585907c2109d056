"""Generated code and the interpreter of Spark give one answer for every expression of ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests import expressions
from tests.nasty import nasty_rows
from tests.rendering import load_sql_macros
from tests.three_ways import answers, differences, settings_kept


@pytest.fixture(scope="module")
def session(module_project: Any) -> Iterator[Any]:
    session = module_project.session
    with settings_kept(session, **{"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "America/New_York"}):  # fmt: skip
        yield session


@pytest.mark.parametrize("family", expressions.FAMILIES, ids=lambda family: family.__name__[1:])
@pytest.mark.turn(0, 1, 2, 3)
def test_expressions(session: Any, family: Any) -> None:
    wrong = []
    for tried in family(load_sql_macros()):
        wrong += [(tried.macro, *difference) for difference in _differing(session, tried)]
    assert wrong == []


def _differing(session: Any, tried: expressions.Tried) -> Iterator[tuple[list[str], str]]:
    """The expressions whose answers differ, with what they are."""
    session.sql(tried.rows).createOrReplaceTempView("tried")
    names = [*tried.expressions]
    # what has a lambda keeps all beside it out of whole-stage code
    for some in (
        [name for name in names if "->" in tried.expressions[name]],
        [name for name in names if "->" not in tried.expressions[name]],
    ):
        for start in range(0, len(some), 8):
            columns = []
            for name in some[start : start + 8]:
                value = tried.expressions[name]
                columns += [
                    value,
                    # a NULL that is called a value is left out, so that a field is missing
                    f"concat_ws('|', 'a', coalesce(cast({value} as string), 'none'), 'b')",
                ]
            told = differences(answers(session, f"select {', '.join(columns)} from tried as t"))
            yield from ((some[start : start + 8], difference) for difference in told)


def test_exported_lines__have_all_fields(session: Any) -> None:
    """A NULL is an empty field, whatever its type: what stands behind it is not moved."""
    macros = load_sql_macros()
    types = {column["name"]: column["type"] for column in macros["enriched_columns"]()}
    rows = session.sql(nasty_rows({**types, "_commit_id": "bigint"}, 20, {"_commit_id": ["7L"]}))
    rows.createOrReplaceTempView("exported")
    for json_columns, fields in ((True, 131), (False, 128)):
        query = macros["exported_events_sql"]("exported", 0, 9, json_columns)
        found = answers(session, query)
        assert differences(found) == []
        lines = [line for (line,) in found["whole stages"].elements()]
        assert len(lines) > 5
        assert {line.count("\t") + 1 for line in lines} == {fields}
