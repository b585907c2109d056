"""Runs of dbt that stop at a statement, or that another run comes before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.tidemark.cursor import SessionConnection
from tests.conftest import DbtResult, Project
from tidemark.sessions.workers import WorkersSession


@contextmanager
def before(pattern: str, act: Callable[[str], object]) -> Iterator[list[str]]:
    """Have something done before the first statement that a pattern finds, which it is given; yields that statement."""
    execute, insert = SessionConnection.execute, WorkersSession.insert
    found: list[str] = []

    def look(sql: str) -> None:
        if not found and re.search(pattern, sql):
            found.append(sql)
            act(sql)

    def executed(self: SessionConnection, sql: str, bindings: object = None) -> None:
        look(sql)
        execute(self, sql, bindings)  # type: ignore[arg-type]

    def inserted(self: WorkersSession, sql: str) -> bool:
        look(sql)
        return insert(self, sql)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SessionConnection, "execute", executed)
        patch.setattr(WorkersSession, "insert", inserted)
        yield found


def die_at(project: Project, pattern: str, *arguments: str) -> DbtResult:
    """Run dbt up to the statement that a pattern finds, as one that is killed there."""

    def die(sql: str) -> None:
        raise DbtDatabaseError("died here")

    with before(pattern, die):
        result = project.dbt("run", *arguments, expect_pass=False)
    assert "died here" in result.error
    return result
