"""A query as Spark may run it: as whole-stage code, as generated code alone, and interpreted. All that users run is the first;
what it cannot do goes the second way, and the third where code does not compile; a tenth of the tests goes the third, too."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

WAYS = {
    "whole stages": {"wholeStage": "true", "factoryMode": "FALLBACK"},
    "generated": {"wholeStage": "false", "factoryMode": "CODEGEN_ONLY"},
    "interpreted": {"wholeStage": "false", "factoryMode": "NO_CODEGEN"},
}
#: Rules that would work out rows of a statement, interpreted, before any code is made
_WORKED_OUT = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"


@contextlib.contextmanager
def settings_kept(session: Any, **more: str) -> Iterator[None]:
    """Leave the session's settings as they were; what is worked out of literal rows is worked out by a run."""
    names = ["spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode"]
    given = {"spark.sql.optimizer.excludedRules": _WORKED_OUT, **more}
    before = {name: session.conf.get(name, None) for name in [*names, *given]}
    for name, value in given.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, value)


def answers(session: Any, query: str) -> dict[str, Counter[tuple[Any, ...]]]:
    """The rows of a query by the way they were made, each column as text."""
    found = {}
    rows = session.sql(query)
    rows = rows.toDF(*(f"c{place}" for place in range(len(rows.columns))))
    texts = [f"cast({name} as string)" for name in rows.columns]
    for way, settings in WAYS.items():
        for name, value in settings.items():
            session.conf.set(f"spark.sql.codegen.{name}", value)
        # what is analysed once is optimized and planned anew
        found[way] = Counter(tuple(row) for row in rows.selectExpr(*texts).collect())
    return found


def differences(found: dict[str, Counter[tuple[Any, ...]]]) -> list[str]:
    """What of the answers is not the same all three ways, to be read."""
    told = []
    right = found["interpreted"]
    for way, rows in found.items():
        if rows != right:
            lost, more = list((right - rows).elements()), list((rows - right).elements())
            told.append(f"{way}: {more[:3]} where interpreted has {lost[:3]}")
    return told
