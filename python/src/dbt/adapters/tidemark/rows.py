"""Rows of tables in commits of our own."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from dbt.adapters.tidemark.base import SessionAdapter
from tidemark.sessions.tables import StagedFiles
from tidemark.spark.delta import (
    replace_rows,
    stage_rows,
)
from tidemark.spark.iceberg import is_iceberg
from tidemark.spark.known_rows import KnownRows

_appending = threading.Lock()
_known = KnownRows()


class RowsAdapter(SessionAdapter):
    """Rows that are asked for, appended, staged and committed."""

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
            self.views.make_ready(rows_sql)
            return replace_rows(self._session, *table, rows_sql, name)

    def known_rows(
        self, relation: Any, key: str, sql: str, all_sql: str, most: int
    ) -> list[dict[str, Any]]:
        """Query rows of a table, once for as long as only this process writes to it.

        Example:
            >>> latest, of_all = "select … order by id desc", "select key, … limit 21"
            >>> rows = adapter.known_rows(commits, "shop.orders", latest, of_all, 20)

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
            state = self._of_format.id_and_version(self._session, *name)
            rows = _known.rows(table, state, key)
            is_empty = (
                rows is None
                and state is not None
                and self._of_format.file_count(self._session, *name) == 0
            )
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
            if self._of_format.id_and_version(self._session, *name) == state:
                _known.learn(table, state, parts, is_all)
        return parts.get(key, [])

    def append_rows(self, relation: Any, rows: list[dict[str, Any]]) -> None:
        """Append a few rows to a table without a Spark job.

        Args:
            relation: A table without partitions, of columns of plain types.
            rows: By column; those left out are NULL. Dates and timestamps (UTC) as ISO texts.
        """
        with self.connections.exception_handler(f"append_rows({relation})"):
            name = (relation.schema, relation.identifier)
            _, (_, version) = self._of_format.append_rows(self._session, *name, rows)
            self._of_format.join_now_and_then(self._session, *name, version)

    def append_known(
        self, relation: Any, key: str, row: dict[str, Any], columns: list[str]
    ) -> None:
        """Append a row to a table of which known_rows() asks, as append_rows() does.

        Args:
            relation: The table.
            key: Which part of it the row is in.
            row: By column.
            columns: Those that known_rows() gives.
        """
        with _appending, self.connections.exception_handler(f"append_known({relation})"):
            name = (relation.schema, relation.identifier)
            before, state = self._of_format.append_rows(self._session, *name, [row])
            known = {column: row.get(column) for column in columns}
            _known.append(str(relation), before, state, key, known)
            joined = self._of_format.join_now_and_then(self._session, *name, state[1])
            if joined is not None:
                _known.follow(str(relation), state, joined)

    def stage_rows(
        self, relation: Any, version: int, rows_sql: str, figures: dict[str, str], written_sql: str
    ) -> StagedFiles | None:
        """Write rows as data files of a table that are no part of it before commit_rows().

        Example:
            >>> counted = {"read": "count(*)"}
            >>> staged = adapter.stage_rows(log, 12, "select …", counted, "select * from {counted}")

        Args:
            relation: An existing table.
            version: The version of the table that the rows go with.
            rows_sql: A query of the rows to count.
            figures: What to count over them, name to SQL aggregate.
            written_sql: A query of what is written, from `{counted}`: columns by name, those that
                it lacks are NULL.

        Returns:
            `figures`, by name, and `rows`, how many rows were written; None: it takes a statement
            of Spark's, as of a table of Iceberg that the workers do not write to.
        """
        with self.connections.exception_handler(rows_sql):
            table = (relation.schema, relation.identifier)
            staged = self.views.stage(table, version, rows_sql, figures, written_sql)
            if staged is not None or is_iceberg(self._session):
                return staged
            self.views.make_ready(rows_sql)
            return stage_rows(self._session, *table, version, rows_sql, figures, written_sql)

    def revise_log(
        self, log: Any, version: int, rows_sql: str, match: Sequence[str], commit_id: int
    ) -> StagedFiles | None:
        """Stage rows of the log, and the marks of those that they supersede.

        Args:
            log: The log.
            version: The version of it that the rows go with.
            rows_sql: A query of the rows, and of marks, which have `_supersedes`.
            match: What a mark and its row have in common, beside the commit.
            commit_id: The commit.

        Returns:
            `figures`: rows_logged, rows_superseded; None: it takes a statement of Spark's.
        """
        with self.connections.exception_handler(f"revise_log({log})"):
            table = (log.schema, log.identifier)
            return self.views.revise(table, version, rows_sql, match, commit_id)

    def follow_log(self, current: Any, keys: str | None, rows: str, view: str) -> int | None:
        """Write the part of current anew that has some keys, in one commit.

        Args:
            current: Current.
            keys: A query of the keys, `_key_hash`; None: it is all of them.
            rows: A query of the rows in the place of that part.
            view: What it calls the rows that the part has, quoted as in SQL.

        Returns:
            The version of current; None: it takes a statement of Spark's.
        """
        with self.connections.exception_handler(f"follow_log({current})"):
            return self.views.follow((current.schema, current.identifier), keys, rows, view)

    def commit_rows(self, staged: StagedFiles) -> int:
        """Make rows that were staged part of their table; an error if another commit came before.

        Args:
            staged: What stage_rows() returned.

        Returns:
            The version of the table that has the rows.
        """
        with self.connections.exception_handler(f"commit_rows({staged.table})"):
            return staged.commit()

    def commit_side_files(self, staged: StagedFiles) -> None:
        """Commit what the engine in the workers wrote beside the log.

        It counts once the log has the rows.

        Args:
            staged: What stage_extract(), write_kept_rows(), stage_batch() or stage_rows() returned.
        """
        with self.connections.exception_handler(f"commit_side_files({staged.table})"):
            staged.commit_side_files()

    def view_rows(self, staged: StagedFiles, name: str) -> None:
        """Make a temporary view of rows that were staged, before or after their commit.

        Args:
            staged: What stage_rows() returned.
            name: The view, quoted as in SQL; one of that name is replaced.
        """
        with self.connections.exception_handler(f"view_rows({staged.table})"):
            staged.create_view(name)
            self.views.view_files(name, getattr(staged, "files", None))

    def discard_rows(self, staged: StagedFiles) -> None:
        """Remove the files of rows that are not to be committed.

        Args:
            staged: What stage_rows() returned.
        """
        with self.connections.exception_handler(f"discard_rows({staged.table})"):
            staged.discard()
