"""dbt-spark's adapter on the session of this process."""

from __future__ import annotations

from typing import Any

from dbt.adapters.spark.impl import SparkAdapter
from pyspark.sql import SparkSession

from tidemark.spark.session import get_session


class SessionAdapter(SparkAdapter):
    """What all parts of the adapter have: the session, started when one of them needs it."""

    @property
    def _session(self) -> SparkSession:
        credentials: Any = self.config.credentials
        return get_session(credentials.server_side_parameters)
