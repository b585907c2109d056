"""The adapter: dbt-spark's, plus Python models in the session and a few reads for Jinja."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from dbt.adapters.base.impl import PythonJobHelper
from dbt.adapters.base.meta import available
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.tidemark.connections import TidemarkConnectionManager
from dbt.adapters.tidemark.errors import MacroError, macro_stack
from dbt.adapters.tidemark.python_submissions import SessionPythonJobHelper, imported
from dbt.adapters.tidemark.workers import WorkersAdapter
from tidemark.errors import TidemarkError
from tidemark.spark.cached import cache_view, make_view
from tidemark.spark.catalog import (
    column_names,
    forget_views,
    query_columns,
    schema_names,
    syntax_error,
    table_names,
    told_tables,
)
from tidemark.spark.delta import (
    StagedRows,
    append_rows,
    file_count,
    listed_bytes,
    replace_rows,
    stage_rows,
    table_property,
    table_state,
    table_version,
    view_small_table,
)
from tidemark.spark.delta.landed import unread_files
from tidemark.spark.files import (
    clear_debris,
    clear_slices,
    list_files,
    remove_other_versions,
    shares_metastore,
)
from tidemark.spark.inputs import input_files
from tidemark.spark.known_rows import KnownRows
from tidemark.spark.links import check_links
from tidemark.spark.long_lines import long_line
from tidemark.spark.messages import made_at_once
from tidemark.spark.nanoseconds import nanosecond_columns

logger = AdapterLogger("Tidemark")

_one_at_a_time = threading.Lock()
# of what several processes make in one moment
_TRIES = 10
_appending = threading.Lock()
# by which this process knows what is its own among tables of others
_process_name = uuid4().hex[:8]
_known = KnownRows()


class TidemarkAdapter(WorkersAdapter):
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

    def list_schemas(self, database: str | None) -> list[str]:
        """Return the names of all schemas."""
        with self.connections.exception_handler("list_schemas"):
            return schema_names(self._session)

    def list_relations_without_caching(self, schema_relation: Any) -> list[Any]:
        """Return the tables and views of a schema.

        dbt-spark's statement asks the metastore for one table after the other, at each run: with
        40 tables a second or two.
        """
        schema = schema_relation.schema
        with self.connections.exception_handler(f"list_relations({schema})"):
            rows = [(schema, name, told) for name, told in told_tables(self._session, schema)]
        relations: list[Any] = self._build_spark_relation_list(rows, lambda row: row)
        return relations

    @available.parse(lambda *args, **kwargs: [])
    def list_files(self, path: str) -> list[dict[str, Any]]:
        """List the files at a path as Spark's file systems see it.

        Example:
            {% for file in adapter.list_files('data/*.csv') %} {{ file.path }} {% endfor %}

        Args:
            path: A file, a glob, or a folder: its files at any depth, except names that start
                with `_` or `.`.

        Returns:
            One dict per file in path order: `path`, `size` in bytes, `modified` (UTC), and how many
            folders it lies below the path, `depth`. Empty if nothing matches.
        """
        with self.connections.exception_handler(f"list_files({path!r})"):
            files = list_files(self._session, path)
            check_links(path, files)
            return files

    @available.parse(lambda *args, **kwargs: {})
    def nanosecond_columns(self, files: list[dict[str, Any]]) -> dict[str, str]:
        """Tell which columns of Parquet files have timestamps in nanoseconds, and have them read.

        Args:
            files: The files, as list_files() gives them.

        Returns:
            By name the type that they are. Spark reads them as numbers of nanoseconds.
        """
        with self.connections.exception_handler("nanosecond_columns"):
            return nanosecond_columns(self._session, files)

    @available.parse(lambda *args, **kwargs: None)
    def long_line(self, files: list[dict[str, Any]], most: int) -> dict[str, Any] | None:
        """Tell where the first line of text files begins that has more than so many bytes.

        Args:
            files: As list_files() gives them, or with `_file` and `_file_size` as Spark's metadata
                of files has them. Compressed files and those of columns are left out.
            most: How many bytes a line may have.

        Returns:
            Its file, `path`, and the place of its first byte, `at`; none where there is none.
        """
        with self.connections.exception_handler("long_line"):
            for file in files:
                path = str(file["path"]) if "path" in file else unquote(str(file["_file"]))
                size = int(file["size"] if "size" in file else file["_file_size"])
                at = long_line(self._session, path, size, most)
                if at is not None:
                    return {"path": path, "at": at}
            return None

    @available.parse(lambda *args, **kwargs: [])
    def unread_files(
        self, there: list[dict[str, Any]], landed: Any, undone: list[int]
    ) -> list[dict[str, Any]] | None:
        """Return those of the files in a folder that an entity is to read.

        Example:
            {% set files = adapter.unread_files(adapter.list_files('landing/orders'), landed, []) %}

        Args:
            there: The files, as list_files() gives them.
            landed: The register of those that were read; none: none was.
            undone: The ids of commits whose files count as not read.

        Returns:
            What the query event_files_sql() gives, or none where that has to be asked: of a
            register of many files, or one that does not lie on a local file system.
        """
        with self.connections.exception_handler(f"unread_files({landed})"):
            table = (landed.schema, landed.identifier) if landed else None
            return unread_files(self._session, there, table, undone)

    @available.parse(lambda *args, **kwargs: [])
    def input_files(self, sql: str) -> list[dict[str, Any]]:
        """List what a query reads, as far as it is in files: these, and tables of Delta.

        Args:
            sql: The query, which is not run.

        Returns:
            One dict per file as of list_files(), and per table its folder, `table`, and `version`.
        """
        with self.connections.exception_handler(sql):
            return input_files(self._session, sql)

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
                        self.clear_debris(table)
                    for statement in statements:
                        self.execute(statement)
                    return
                except DbtDatabaseError as error:
                    # another process makes them, on a metastore that is shared
                    if not left or not made_at_once(str(error)):
                        raise
                    time.sleep(1)

    @available.parse(lambda *args, **kwargs: False)
    def clear_debris(self, relation: Any) -> bool:
        """Remove what a killed `create table` left in the folder of a table that is to be made.

        Args:
            relation: The relation; nothing happens if it exists.

        Returns:
            Whether something was removed.
        """
        with self.connections.exception_handler(f"clear_debris({relation})"):
            return clear_debris(self._session, relation.schema, relation.identifier)

    @available.parse(lambda *args, **kwargs: 0)
    def clear_slices(self, relation: Any) -> int:
        """Remove the folders of slices that a killed run left without a table.

        Args:
            relation: Its identifier is what their names begin with, before the commit's number.

        Returns:
            How many were removed.
        """
        with self.connections.exception_handler(f"clear_slices({relation})"):
            return clear_slices(self._session, relation.schema, relation.identifier)

    @available.parse(lambda *args, **kwargs: False)
    def shares_metastore(self) -> bool:
        """Say whether other processes may be at work on the same tables."""
        with self.connections.exception_handler("shares_metastore"):
            return shares_metastore(self._session)

    @available
    def process_name(self) -> str:
        """Return a name that no other process has."""
        return _process_name

    @available.parse(lambda *args, **kwargs: 0)
    def remove_other_versions(self, version: str) -> int:
        """Remove the folders beside the present version of a Parquet table.

        Args:
            version: The folder that the table points to, under `<table>__versions/`.

        Returns:
            How many folders were removed.
        """
        with self.connections.exception_handler(f"remove_other_versions({version!r})"):
            return remove_other_versions(self._session, version)

    @available.parse(lambda *args, **kwargs: 0)
    def table_version(self, relation: Any) -> int | None:
        """Return the version of a Delta table, from its log: `describe history` takes a Spark job.

        Args:
            relation: A Delta table; None is returned if there is no such table.
        """
        with self.connections.exception_handler(f"table_version({relation})"):
            return table_version(self._session, relation.schema, relation.identifier)

    @available.parse(lambda *args, **kwargs: None)
    def table_layout(self, relation: Any) -> int | None:
        """Return the property `tidemark.layout` of a table, 0 where it has none.

        Args:
            relation: A table; None is returned if there is no such table.
        """
        with self.connections.exception_handler(f"table_layout({relation})"):
            told = table_property(
                self._session, relation.schema, relation.identifier, "tidemark.layout"
            )
        return None if told is None else int(told) if told.isdecimal() else 0

    @available.parse(lambda *args, **kwargs: 1)
    def file_count(self, relation: Any) -> int:
        """Return how many files a Delta table has.

        Args:
            relation: An existing Delta table.
        """
        with self.connections.exception_handler(f"file_count({relation})"):
            return file_count(self._session, relation.schema, relation.identifier)

    @available.parse(lambda *args, **kwargs: 0)
    def listed_bytes(self, relation: Any) -> int | None:
        """Return the bytes of a Delta table of few files, or none.

        Args:
            relation: An existing Delta table.
        """
        with self.connections.exception_handler(f"listed_bytes({relation})"):
            return listed_bytes(self._session, relation.schema, relation.identifier)

    @available.parse(lambda *args, **kwargs: False)
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
            return view_small_table(self._session, relation.schema, relation.identifier, name)

    @available.parse(lambda *args, **kwargs: None)
    def make_view(self, name: str, sql: str, is_kept: bool = False) -> None:
        """Make a temporary view.

        Args:
            name: The view, quoted as in SQL; one of that name is replaced.
            sql: Its query.
            is_kept: Whether its rows are kept from its first reading on.
        """
        with self.connections.exception_handler(sql):
            (cache_view if is_kept else make_view)(self._session, name, sql)

    @available.parse(lambda *args, **kwargs: None)
    def forget_views(self, prefix: str) -> None:
        """Drop temporary views, and give back what the rows of those of cache_view() take.

        Args:
            prefix: How their names begin; those with two underscores behind it stay.
        """
        with self.connections.exception_handler(f"forget_views({prefix})"):
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

    @available.parse(lambda *args, **kwargs: [])
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
            return query_columns(self._session, sql)

    @available.parse(lambda *args, **kwargs: [])
    def syntax_errors(self, expressions: list[str]) -> list[str | None]:
        """Tell of each expression why Spark cannot parse it; None of one that it can.

        Args:
            expressions: SQL expressions.
        """
        with self.connections.exception_handler("syntax_errors()"):
            return [syntax_error(self._session, expression) for expression in expressions]

    @available.parse(lambda *args, **kwargs: None)
    def replace_rows(self, relation: Any, rows_sql: str, name: str) -> int | None:
        """Replace all rows of a small Delta table in one commit.

        Args:
            relation: An existing Delta table.
            rows_sql: A query of the new rows: columns by name.
            name: A view, quoted as in SQL, that is made of the rows that are replaced.

        Returns:
            The version of the table; none, and nothing was done, if its files are many.
        """
        with self.connections.exception_handler(rows_sql):
            table = (relation.schema, relation.identifier)
            return replace_rows(self._session, *table, rows_sql, name)

    @available.parse(lambda *args, **kwargs: [])
    def known_rows(
        self, relation: Any, key: str, sql: str, all_sql: str, most: int
    ) -> list[dict[str, Any]]:
        """Query rows of a Delta table, once for as long as only this process writes to it.

        Example:
            {% set rows = adapter.known_rows(
                commits, 'shop.orders', 'select … order by id desc', 'select key, … limit 21', 20
            ) %}

        Args:
            relation: The table.
            key: Which part of it, as append_known() calls it.
            sql: A query of all rows of that part, the last appended first.
            all_sql: The same of all parts with the key before the other columns, or more rows than
                `most`.
            most: With more rows than that only the part is asked for.

        Returns:
            The rows, by column.
        """
        name, table = (relation.schema, relation.identifier), str(relation)
        with self.connections.exception_handler(f"known_rows({relation})"):
            state = table_state(self._session, *name)
            rows = _known.rows(table, state, key)
            is_empty = rows is None and state is not None and file_count(self._session, *name) == 0
        if rows is not None:
            return rows
        found = [] if is_empty else [row.dict() for row in self.execute(all_sql, fetch=True)[1]]
        parts: dict[str, list[dict[str, Any]]] = {}
        if is_all := len(found) <= most:
            for row in found:
                _, *others = row
                parts.setdefault(str(row["key"]), []).append({one: row[one] for one in others})
        else:
            parts[key] = [dict(row.dict()) for row in self.execute(sql, fetch=True)[1]]
        with self.connections.exception_handler(f"known_rows({relation})"):
            if table_state(self._session, *name) == state:
                _known.learn(table, state, parts, is_all)
        return parts.get(key, [])

    @available.parse(lambda *args, **kwargs: None)
    def append_rows(self, relation: Any, rows: list[dict[str, Any]]) -> None:
        """Append a few rows to a Delta table without a Spark job.

        Args:
            relation: A table without partitions, of columns of plain types.
            rows: By column; those left out are NULL. Dates and timestamps (UTC) as ISO texts.
        """
        with self.connections.exception_handler(f"append_rows({relation})"):
            append_rows(self._session, relation.schema, relation.identifier, rows)

    @available.parse(lambda *args, **kwargs: None)
    def append_known(
        self, relation: Any, key: str, row: dict[str, Any], columns: list[str]
    ) -> None:
        """Append a row to a Delta table of which known_rows() asks, as append_rows() does.

        Args:
            relation: The table.
            key: Which part of it the row is in.
            row: By column.
            columns: Those that known_rows() gives.
        """
        with _appending, self.connections.exception_handler(f"append_known({relation})"):
            state = append_rows(self._session, relation.schema, relation.identifier, [row])
            known = {column: row.get(column) for column in columns}
            _known.append(str(relation), state, key, known)

    @available.parse(lambda *args, **kwargs: None)
    def stage_rows(
        self, relation: Any, version: int, rows_sql: str, figures: dict[str, str], written_sql: str
    ) -> StagedRows:
        """Write rows as data files of a Delta table that are no part of it before commit_rows().

        Example:
            {% set staged = adapter.stage_rows(
                log, 12, 'select …', {'read': 'count(*)'}, 'select * from {counted}'
            ) %}

        Args:
            relation: An existing Delta table.
            version: The version of the table that the rows go with.
            rows_sql: A query of the rows to count.
            figures: What to count over them, name to SQL aggregate.
            written_sql: A query of what is written, from `{counted}`: columns by name, those that
                it lacks are NULL.

        Returns:
            `figures`, by name, and `rows`, how many rows were written.
        """
        with self.connections.exception_handler(rows_sql):
            table = (relation.schema, relation.identifier)
            return stage_rows(self._session, *table, version, rows_sql, figures, written_sql)

    @available.parse(lambda *args, **kwargs: 0)
    def commit_rows(self, staged: StagedRows) -> int:
        """Make rows that were staged part of their table; an error if another commit came before.

        Args:
            staged: What stage_rows() returned.

        Returns:
            The version of the table that has the rows.
        """
        with self.connections.exception_handler(f"commit_rows({staged.table})"):
            return staged.commit()

    @available.parse(lambda *args, **kwargs: None)
    def commit_beside(self, staged: StagedRows) -> None:
        """Commit what the engine in the workers wrote beside the log.

        It counts once the log has the rows.

        Args:
            staged: What stage_extract(), write_kept_rows(), stage_batch() or stage_rows() returned.
        """
        with self.connections.exception_handler(f"commit_beside({staged.table})"):
            staged.commit_beside()

    @available.parse(lambda *args, **kwargs: None)
    def view_rows(self, staged: StagedRows, name: str) -> None:
        """Make a temporary view of rows that were staged, before or after their commit.

        Args:
            staged: What stage_rows() returned.
            name: The view, quoted as in SQL; one of that name is replaced.
        """
        with self.connections.exception_handler(f"view_rows({staged.table})"):
            staged.create_view(name)

    @available.parse(lambda *args, **kwargs: None)
    def discard_rows(self, staged: StagedRows) -> None:
        """Remove the files of rows that are not to be committed.

        Args:
            staged: What stage_rows() returned.
        """
        with self.connections.exception_handler(f"discard_rows({staged.table})"):
            staged.discard()

    @available
    def raise_error(
        self, kind: str, message: str, macros: list[str], model: dict[str, Any] | None = None
    ) -> None:
        """Stop with a message for the person who runs dbt; the macros at work go to dbt's log.

        Args:
            kind: What heads the message, before ` Error`.
            message: What is wrong, where, and what to do.
            macros: The macros that called each other, the innermost last.
            model: The model that is being rendered, if one is.

        Raises:
            MacroError: Always.
        """
        logger.debug(f"{message}\n{macro_stack(macros)}")
        raise MacroError(kind, message, model)

    @available.parse(lambda *args, **kwargs: [])
    def call_function(self, function: str, *arguments: Any) -> Any:
        """Call a function of the `tidemark` distribution: for what Jinja cannot do.

        Args:
            function: Its dotted name.
            *arguments: What it is called with.

        Returns:
            What it returns: texts, numbers, lists and dicts.
        """
        try:
            return imported(function)(*arguments)
        except TidemarkError as error:
            raise DbtRuntimeError(str(error)) from error

    @available.parse(lambda *args, **kwargs: None)
    def register_function(self, name: str, function: str, arguments: list[str]) -> None:
        """Make a function of the `tidemark` distribution one of SQL that returns text.

        Args:
            name: Its name in SQL.
            function: Its dotted name; Spark's workers must have the distribution too.
            arguments: Its first arguments; SQL gives the others.
        """
        with self.connections.exception_handler(f"register_function({name!r})"):
            self._session.udf.register(name, partial(imported(function), *arguments))
