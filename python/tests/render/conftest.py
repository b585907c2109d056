"""Golden files, reviewed like code.

`pytest python/tests/render --update-golden` writes them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..rendering import load_sql_macros

GOLDEN = Path(__file__).parent / "golden"
DUCKDB = GOLDEN.with_name("golden_duckdb")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")


@pytest.fixture(scope="session")
def macros() -> dict[str, Any]:
    """The project's macros by name."""
    return load_sql_macros()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Compare SQL with `golden/<name>.sql`; statements of a list are parted by semicolons.

    That of the engine in the workers is DuckDB's, in a folder of its own.
    """

    def check(name: str, sql: str | list[str], folder: Path = GOLDEN) -> None:
        statements = [sql] if isinstance(sql, str) else sql
        text = ";\n\n".join(statement.strip("\n") for statement in statements) + "\n"
        path = folder / f"{name}.sql"
        if request.config.getoption("--update-golden", default=False):
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no {path.name}: write it with --update-golden"
        assert text == path.read_text(encoding="utf-8")

    return check
