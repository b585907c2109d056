"""The exception by which DuckDB leaves a query to Spark."""

from __future__ import annotations

from tidemark.errors import TidemarkError


class Declined(TidemarkError):
    """A query is not one that DuckDB answers: the message says why, after `as`."""
