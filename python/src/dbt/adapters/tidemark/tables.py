"""Tables and views as Spark and Delta know them, for macros."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from dbt.adapters.base.meta import available
from dbt_common.exceptions import DbtDatabaseError
from pyspark.errors import AnalysisException

from dbt.adapters.tidemark.base import SessionAdapter
from tidemark.spark.cached import cache_view, make_view
from tidemark.spark.catalog import (
    analysis_error,
    column_names,
    forget_views,
    query_columns,
    syntax_error,
    table_names,
)
from tidemark.spark.clones import clone_table, drop_clone
from tidemark.spark.delta import (
    file_count,
    listed_bytes,
    table_property,
    trim_log,
    view_small_table,
)
from tidemark.spark.files import clear_leftovers, clear_slices, shares_metastore
from tidemark.spark.messages import made_at_once

_one_at_a_time = threading.Lock()
# of what several processes make in one moment
_TRIES = 10
# by which this process knows what is its own among tables of others
_process_name = uuid4().hex[:8]


class TablesAdapter(SessionAdapter):
    """What there is, how it stands, and what a killed run left."""

    @available.parse(lambda *args, **kwargs: None)
    def execute_alone(self, statements: list[str], tables: list[Any] | None = None) -> None:
        """Run statements while no other thread of this process runs statements this way.

        For `create table if not exists`, which is not atomic where two threads meet in an empty
        folder.

        Args:
            statements: SQL, in order.
            tables: Relations that they make: what a killed run left of them is removed first, by
                no thread while another one is making them.
        """
        with _one_at_a_time:
            for left in reversed(range(_TRIES)):
                try:
                    for table in tables or []:
                        self.clear_leftovers(table)
                    for statement in statements:
                        self.execute(statement)
                    return
                except DbtDatabaseError as error:
                    # another process makes them, on a metastore that is shared
                    if not left or not made_at_once(str(error)):
                        raise
                    time.sleep(1)

    @available.parse(lambda *args, **kwargs: False)
    def clear_leftovers(self, relation: Any) -> bool:
        """Remove what a killed `create table` left in the folder of a table that is to be made.

        Args:
            relation: The relation; nothing happens if it exists.

        Returns:
            Whether something was removed.
        """
        with self.connections.exception_handler(f"clear_leftovers({relation})"):
            return clear_leftovers(self._session, relation.schema, relation.identifier)

    def clone_table(self, source: Any, target: Any) -> int:
        """Make a table of its own over the files of another one.

        Args:
            source: The relation.
            target: The one to be made, which is not there.

        Returns:
            How many files were copied, as they could not be linked.
        """
        with self.connections.exception_handler(f"clone_table({source}, {target})"):
            copied: int = clone_table(
                self._session,
                (source.schema, source.identifier),
                (target.schema, target.identifier),
            )
            return copied

    def drop_clone(self, relation: Any) -> None:
        """Drop a table and its folder.

        Args:
            relation: A table of a clone.
        """
        with self.connections.exception_handler(f"drop_clone({relation})"):
            drop_clone(self._session, (relation.schema, relation.identifier))

    def clear_slices(self, relation: Any) -> int:
        """Remove the folders of slices that a killed run left without a table.

        Args:
            relation: Its identifier is what their names begin with, before the commit's number.

        Returns:
            How many were removed.
        """
        with self.connections.exception_handler(f"clear_slices({relation})"):
            return clear_slices(self._session, relation.schema, relation.identifier)

    def shares_metastore(self) -> bool:
        """Say whether other processes may be at work on the same tables."""
        with self.connections.exception_handler("shares_metastore"):
            return shares_metastore(self._session)

    def process_name(self) -> str:
        """Return a name that no other process has."""
        return _process_name

    def version_of_same_rows(self, relation: Any, since: int) -> int | None:
        """Return the version of a table that has been altered since another one.

        Args:
            relation: The table.
            since: The version before.

        Returns:
            As table_version(); None: its rows, too, may be others.
        """
        with self.connections.exception_handler(f"version_of_same_rows({relation})"):
            version: int | None = self._of_format.version_of_same_rows(
                self._session, relation.schema, relation.identifier, since
            )
            return version

    @available.parse(lambda *args, **kwargs: 0)
    def table_version(self, relation: Any) -> int | None:
        """Return the version of a table, from its log: `describe history` takes a Spark job.

        Args:
            relation: A table; None is returned if there is no such table.

        Returns:
            Of Delta the version; of Iceberg the snapshot, 0 where there is none yet.
        """
        with self.connections.exception_handler(f"table_version({relation})"):
            version: int | None = self._of_format.table_version(
                self._session, relation.schema, relation.identifier
            )
            return version

    def trim_log(self, relation: Any) -> None:
        """Take what the log of a Delta table says of former versions away, which then are gone.

        Args:
            relation: The table.
        """
        with self.connections.exception_handler(f"trim_log({relation})"):
            trim_log(self._session, relation.schema, relation.identifier)

    def hide_literal(self, literal: str) -> str:
        """Keep a literal of SQL from dbt's log, while the process lasts.

        Args:
            literal: As it would stand in a statement.

        Returns:
            What stands in its place: Spark puts the literal in when it parses the statement.
        """
        name = f"tidemark.hidden.{uuid4().hex[:8]}"
        with self.connections.exception_handler("hide_literal"):
            self._session.conf.set(name, literal)
        return f"${{{name}}}"

    def table_layout(self, relation: Any) -> int | None:
        """Return the property `tidemark.layout` of a table, 0 where it has none.

        Args:
            relation: A table; None is returned if there is no such table.
        """
        with self.connections.exception_handler(f"table_layout({relation})"):
            layout = table_property(
                self._session, relation.schema, relation.identifier, "tidemark.layout"
            )
        return None if layout is None else int(layout) if layout.isdecimal() else 0

    @available.parse(lambda *args, **kwargs: 1)
    def file_count(self, relation: Any) -> int:
        """Return how many files a Delta table has.

        Args:
            relation: An existing Delta table.
        """
        with self.connections.exception_handler(f"file_count({relation})"):
            return file_count(self._session, relation.schema, relation.identifier)

    def listed_bytes(self, relation: Any) -> int | None:
        """Return the bytes of a Delta table of few files, or none.

        Args:
            relation: An existing Delta table.
        """
        with self.connections.exception_handler(f"listed_bytes({relation})"):
            return listed_bytes(self._session, relation.schema, relation.identifier)

    def view_small_table(self, relation: Any, name: str) -> bool:
        """Make a temporary view of a Delta table as it is now, if its files are few.

        It is read without the jobs by which Delta plans a scan.

        Args:
            relation: An existing Delta table.
            name: The view, quoted as in SQL; one of that name is replaced.

        Returns:
            Whether there is a view.
        """
        with self.connections.exception_handler(f"view_small_table({relation})"):
            table = (relation.schema, relation.identifier)
            is_made = view_small_table(self._session, *table, name)
            if is_made:
                self.views.view_table(name, table)
            return is_made

    def make_view(
        self, name: str, sql: str, is_kept: bool = False, body: str | None = None
    ) -> None:
        """Make a temporary view.

        Args:
            name: The view, quoted as in SQL; one of that name is replaced.
            sql: Its query.
            is_kept: Whether its rows are kept from its first reading on.
            body: The SELECT of the model's own within it.
        """
        with self.connections.exception_handler(sql):
            if is_kept and self.views.keep(name, sql, body) is not None:
                return
            if not is_kept and self.views.make_view(name, sql, body=body):
                return
            self.views.make_ready(sql)
            (cache_view if is_kept else make_view)(self._session, name, sql)
            self.views.view_files(name, None)

    def keep_view(
        self, name: str, sql: str, asked: str | None = None
    ) -> list[dict[str, Any]] | None:
        """Make a temporary view of the rows that a query has now, in a file of the run.

        Args:
            name: The view, quoted as in SQL; one of that name is replaced.
            sql: Its query.
            asked: A query over the view.

        Returns:
            The rows of that one, name to value; none where it is to be asked by itself. None, and
            no view, where that takes Spark.
        """
        with self.connections.exception_handler(sql):
            found = self.views.keep(name, sql, asked=asked)
        if found is None:
            return None
        return [dict(zip(found.names, row, strict=True)) for row in found.rows]

    def open_views(self, prefix: str, tell: Callable[[str], None]) -> None:
        """Have the workers answer what they can over the views whose names begin so.

        Args:
            prefix: How their names begin.
            tell: Is told why a query goes by Spark, each reason once.
        """
        self.views.open(prefix, tell)

    def close_views(self, prefix: str) -> None:
        """Forget what open_views() began to know, and remove the files that were kept for it."""
        self.views.forget(prefix)

    def try_view(self, name: str, sql: str, given: list[str], kinds: dict[str, str]) -> bool:
        """Make a temporary view, unless Spark refuses its query.

        Args:
            name: The view, quoted as in SQL; one of that name is replaced.
            sql: Its query.
            given: Expressions of the YAML within it.
            kinds: The columns that these see, with their types.

        Returns:
            Whether it was made.
        """
        with self.connections.exception_handler(sql):
            self.views.make_ready(sql)
            try:
                make_view(self._session, name, sql)
            except AnalysisException:
                return False
            if not self.views.make_view(name, sql, True, given, kinds):
                self.views.view_files(name, None)
        return True

    def forget_views(self, prefix: str) -> None:
        """Drop temporary views, and give back what the rows of those of cache_view() take.

        Args:
            prefix: How their names begin; those with two underscores behind it stay.
        """
        with self.connections.exception_handler(f"forget_views({prefix})"):
            self.views.forget(prefix)
            forget_views(self._session, prefix)

    @available.parse(lambda *args, **kwargs: [])
    def table_names(self, schema: str, pattern: str) -> list[str]:
        """Return the names of the tables and views that a schema has.

        Args:
            schema: The schema.
            pattern: As in `show tables … like`: `*` for anything, several between `|`.
        """
        with self.connections.exception_handler(f"table_names({schema}, {pattern})"):
            return table_names(self._session, schema, pattern)

    def column_names(self, relation: Any) -> list[str]:
        """Return the names of the columns of a view or table; none if it is not there.

        Args:
            relation: The relation.
        """
        with self.connections.exception_handler(f"column_names({relation})"):
            return column_names(self._session, relation.schema, relation.identifier)

    @available.parse(lambda *args, **kwargs: [])
    def query_columns(self, sql: str) -> list[dict[str, str]]:
        """Return `name` and `type` of a query's columns, without running it.

        Args:
            sql: The query.
        """
        with self.connections.exception_handler(sql):
            self.views.make_ready(sql)
            return query_columns(self._session, sql)

    def syntax_errors(self, expressions: list[str]) -> list[str | None]:
        """Tell of each expression why Spark cannot parse it; None of one that it can.

        Args:
            expressions: SQL expressions.
        """
        with self.connections.exception_handler("syntax_errors()"):
            return [syntax_error(self._session, expression) for expression in expressions]

    def analysis_error(self, query: str) -> dict[str, str | None] | None:
        """Tell why Spark refuses a query; None of one that it takes.

        Args:
            query: The query.

        Returns:
            The `reason` in a line, and the `column` if it is one that is not there.
        """
        with self.connections.exception_handler(query):
            self.views.make_ready(query)
            return analysis_error(self._session, query)
