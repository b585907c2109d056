"""dbt-spark's adapter, which may have the session of this process."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from dbt.adapters.base.meta import available
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.events.types import SQLQuery
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.clients.agate_helper import table_from_data_flat
from dbt_common.events.contextvars import get_node_info
from dbt_common.events.functions import fire_event
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession

from tidemark.sessions.workers import WorkersSession
from tidemark.spark import delta, iceberg
from tidemark.spark.iceberg import is_iceberg
from tidemark.spark.session import get_session

logger = AdapterLogger("Tidemark")
_QUERY = re.compile(r"\s*(\(|select\b|with\b)", re.IGNORECASE)
_INSERT = re.compile(r"\s*insert into\b", re.IGNORECASE)


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
            raise DbtRuntimeError(
                "this needs Spark in dbt's own process. Write `method: session` in the profile"
            )
        credentials: Any = self.config.credentials
        return get_session(credentials.server_side_parameters)

    @property
    def _of_format(self) -> Any:
        """What knows versions of tables of the session's format, and appends a few rows to them."""
        return iceberg if is_iceberg(self._session) else delta

    @cached_property
    def views(self) -> WorkersSession:
        """What is known of the views of loads, by which DuckDB may answer in Spark's place."""
        return WorkersSession(lambda: self._session, logger.debug)

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, Any]:
        """Run a statement; one over views of a load goes to the workers where it can."""
        if self.has_session():
            with self.connections.exception_handler(sql):
                done = self._by_workers(sql, fetch and limit is None)
                if done is not None:
                    return AdapterResponse(_message="OK"), done
                self.views.make_ready(sql)
        found: tuple[AdapterResponse, Any] = super().execute(sql, auto_begin, fetch, limit)
        return found

    def _by_workers(self, sql: str, is_asked: bool) -> Any:
        """Return what a statement gives that DuckDB runs; None: it is Spark's."""
        rows, names = [], []
        if is_asked and _QUERY.match(sql):
            answer = self.views.rows(sql)
            if answer is None:
                return None
            names = list(answer.names)
            rows = [dict(zip(names, row, strict=True)) for row in answer.rows]
        elif not _INSERT.match(sql) or not self.views.insert(sql):
            return None
        name = self.connections.get_thread_connection().name
        fire_event(SQLQuery(conn_name=name, sql=sql, node_info=get_node_info()))
        return table_from_data_flat(rows, names)
