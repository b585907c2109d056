"""Commands of the documentation, typed as a reader does."""

from __future__ import annotations

from click.testing import CliRunner, Result

from tests.conftest import Project
from tidemark.cli import cli


def call_tidemark(project: Project, words: list[str], *, code: int = 0, **env: str) -> Result:
    """Call `tidemark` in a project of tests, and say yes to what it asks.

    Args:
        project: Where.
        words: What stands behind `tidemark`.
        code: The exit code that it has to have.
        **env: Variables of the environment.
    """
    root = str(project.root)
    place = ["--project-dir", root, "--profiles-dir", root, "--target", "ci"]
    variables = {"TIDEMARK_SCHEMA": project.schema, **env}
    result = CliRunner().invoke(
        cli, words if words == ["--version"] else [*words, *place], input="y\n", env=variables
    )
    assert result.exit_code == code, f"{words}\n{result.output}\n{result.exception!r}"
    return result
