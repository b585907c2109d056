"""The adapter: dbt-spark's, plus Python models in the session and a few reads for Jinja."""

from __future__ import annotations

from typing import Any

from dbt.adapters.base import PythonJobHelper, available
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.spark.impl import SparkAdapter

from dbt.adapters.tidemark.connections import TidemarkConnectionManager
from dbt.adapters.tidemark.files import list_files
from dbt.adapters.tidemark.python_submissions import SessionPythonJobHelper
from dbt.adapters.tidemark.session import get_session


class TidemarkAdapter(SparkAdapter):
    """dbt-spark on the session of this process. Knows nothing about CDC."""

    ConnectionManager = TidemarkConnectionManager

    @property
    def default_python_submission_method(self) -> str:
        """Python models run in the session unless a model names another way."""
        return "session"

    @property
    def python_submission_helpers(self) -> dict[str, type[PythonJobHelper]]:
        """One helper per way of submitting."""
        return {"session": SessionPythonJobHelper}

    def generate_python_submission_response(self, submission_result: Any) -> AdapterResponse:
        """Return dbt's status line of a Python model."""
        return AdapterResponse(_message="OK")

    @available.parse(lambda *args, **kwargs: [])
    def list_files(self, path: str) -> list[dict[str, Any]]:
        """List the files at a path as Spark's file systems see it.

        Example:
            {% for file in adapter.list_files('data/airports_*.csv.gz') %} … {{ file.path }} {% endfor %}

        Args:
            path: A file, a folder (its files at any depth, except names that start with `_` or `.`) or a glob.

        Returns:
            One dict per file in path order: `path`, `size` in bytes, `modified` (UTC). Empty if nothing matches.
        """
        with self.connections.exception_handler(f"list_files({path!r})"):
            credentials: Any = self.config.credentials
            return list_files(get_session(credentials.server_side_parameters), path)
