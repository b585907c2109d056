"""The adapter: dbt-spark's, plus Python models in the session, and rooms of what macros ask for."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

from dbt.adapters.base.impl import PythonJobHelper
from dbt.adapters.base.meta import available
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.tidemark.connections import TidemarkConnectionManager
from dbt.adapters.tidemark.errors import MacroError, macro_stack
from dbt.adapters.tidemark.files import FilesAdapter
from dbt.adapters.tidemark.python_submissions import SessionPythonJobHelper, imported
from dbt.adapters.tidemark.rows import RowsAdapter
from dbt.adapters.tidemark.tables import TablesAdapter
from dbt.adapters.tidemark.warehouse import DbtWarehouse
from dbt.adapters.tidemark.workers import WorkersAdapter
from tidemark.errors import ConfigError, TidemarkError
from tidemark.spark.catalog import described_tables, schema_names
from tidemark.spark.tables_of_load import remembered_tables

logger = AdapterLogger("Tidemark")


_OF_A_LOAD = ("opening.open_load", "steps.load_entity")
"""Steps in which nobody but the run itself makes, drops and renames its tables."""


class TidemarkAdapter(WorkersAdapter, RowsAdapter, TablesAdapter, FilesAdapter):
    """dbt-spark on the session of this process, or at a Thrift server. Knows nothing about CDC."""

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

    def list_schemas(self, database: str) -> list[str]:
        """Return the names of all schemas."""
        if not self.has_session():
            names: list[str] = super().list_schemas(database)
            return names
        with self.connections.exception_handler("list_schemas"):
            return schema_names(self._session)

    def list_relations_without_caching(self, schema_relation: Any) -> list[Any]:
        """Return the tables and views of a schema.

        dbt-spark's statement asks the metastore for one table after the other, at each run: with
        40 tables a second or two.
        """
        relations: list[Any]
        if not self.has_session():
            relations = super().list_relations_without_caching(schema_relation)
            return relations
        schema = schema_relation.schema
        with self.connections.exception_handler(f"list_relations({schema})"):
            rows = [
                (schema, name, description)
                for name, description in described_tables(self._session, schema)
            ]
        relations = self._build_spark_relation_list(rows, lambda row: row)
        return relations

    @available.parse_none
    def drop_relation(self, relation: Any) -> None:
        """Drop a table or view, but not the current table of an entity for a model of another kind.

        Raises:
            MacroError: It is one.
        """
        self.check_no_entity(relation)
        super().drop_relation(relation)

    @available.parse_none
    def check_no_entity(self, relation: Any) -> None:
        """Stop dbt before it puts a view or a table of its own in the place of a current table.

        A typo is enough: of a model with `materialised: cdc` dbt makes a view.

        Args:
            relation: What is to be dropped or replaced.

        Raises:
            MacroError: It is the current table of an entity.
        """
        names = (relation.identifier, f"{relation.identifier}__history")
        there, log = (self.get_relation(relation.database, relation.schema, name) for name in names)
        if there is None or there.is_view or log is None:
            return
        _, found = self.execute(f"show tblproperties {there} ('tidemark.layout')", fetch=True)
        if not str(found.rows[0][1]).isdecimal():
            return
        raise MacroError(
            ConfigError.kind,
            f"{relation.identifier}: {relation} is the current table of an entity, and this model "
            "is not materialized: cdc; nothing was written. Write materialized: cdc in the config "
            "of the model. To give the entity up, run `dbt run-operation drop_entity --args "
            f"'{{entity: {relation.identifier}}}'` while it is",
        )

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
            raise MacroError(error.kind, str(error)) from error

    @available.parse(lambda *args, **kwargs: None)
    def run_step(self, step: str, macros: Mapping[str, Any], *arguments: Any) -> Any:
        """Run a step of the load pipeline, or an operation, for the macro of that name.

        Args:
            step: `module.function` of `tidemark.pipeline`, or `operations.module.function`.
            macros: The macros of the package, as a macro sees them (`tidemark`).
            *arguments: What the function takes after the warehouse.

        Returns:
            What it returns.
        """
        name = step if step.startswith("operations.") else f"pipeline.{step}"
        try:
            with remembered_tables() if step in _OF_A_LOAD else nullcontext():
                return imported(f"tidemark.{name}")(DbtWarehouse(self, macros), *arguments)
        except TidemarkError as error:
            raise MacroError(error.kind, str(error)) from error

    def register_function(self, name: str, function: str, arguments: list[str]) -> None:
        """Make a function of the `tidemark` distribution one of SQL that returns text.

        Args:
            name: Its name in SQL.
            function: Its dotted name; Spark's workers must have the distribution too.
            arguments: Its first arguments; SQL gives the others.
        """
        with self.connections.exception_handler(f"register_function({name!r})"):
            self._session.udf.register(name, partial(imported(function), *arguments))
