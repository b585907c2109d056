"""dbt-spark's adapter, which may have the session of this process."""

from __future__ import annotations

from typing import Any

from dbt.adapters.base.meta import available
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession

from tidemark.spark.session import get_session


class SessionAdapter(SparkAdapter):
    """What all parts of the adapter have: the session, started when one of them needs it."""

    @available
    def has_session(self) -> bool:
        """Say whether Spark is in this process: `method: session`."""
        credentials: Any = self.config.credentials
        return bool(credentials.has_session)

    @property
    def _session(self) -> SparkSession:
        if not self.has_session():
            raise DbtRuntimeError("this needs Spark in dbt's own process: method: session")
        credentials: Any = self.config.credentials
        return get_session(credentials.server_side_parameters)
