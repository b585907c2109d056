"""What is not DuckDB's to answer."""

from __future__ import annotations

from tidemark.errors import TidemarkError

BY_SPARK = "by Spark alone"
"""What a query ends with that meets a row whose value only Spark works out."""


class Declined(TidemarkError):
    """A query is not one that DuckDB answers: the message says why, after `as`."""
