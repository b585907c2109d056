"""Files that loads read."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from dbt.adapters.base.meta import available

from dbt.adapters.tidemark.base import SessionAdapter
from tidemark.home import tidemark_home
from tidemark.spark.delta.landed import unread_files
from tidemark.spark.files import list_files
from tidemark.spark.footers import footers_of, view_files
from tidemark.spark.inputs import input_files
from tidemark.spark.links import check_links
from tidemark.spark.long_lines import long_line
from tidemark.spark.places import follow_files


class FilesAdapter(SessionAdapter):
    """What lies at a path, and what a query reads."""

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

    def footers_of(self, files: list[dict[str, Any]]) -> dict[str, Any]:
        """Tell how Parquet files are to be read, by their footers.

        Args:
            files: The files, as list_files() gives them.

        Returns:
            `nanoseconds`: by name the types of columns with such timestamps, which Spark reads as
            numbers of nanoseconds; `differ`: whether the files have different columns.
        """
        with self.connections.exception_handler("footers_of"):
            return footers_of(self._session, files)

    def view_parquet_files(self, name: str, files: list[dict[str, Any]], location: str) -> None:
        """Make a temporary view of Parquet files with all their columns.

        Args:
            name: The view, quoted as in SQL; one of that name is replaced.
            files: The files, with `_file` and `_file_size` as Spark's metadata of files has them.
            location: The folder that they lie in, or what matches them.
        """
        with self.connections.exception_handler(f"view_parquet_files({location!r})"):
            view_files(self._session, name, files, location)

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

    def unread_files(
        self, there: list[dict[str, Any]], landed: Any, undone: list[int]
    ) -> list[dict[str, Any]] | None:
        """Return those of the files in a folder that an entity is to read.

        Example:
            >>> files = adapter.unread_files(adapter.list_files("landing/orders"), landed, [])

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

    def follow_files(self, landed: Any, column: str, there: list[dict[str, Any]]) -> None:
        """Have a register of files know those again that have moved with the project.

        Args:
            landed: The register.
            column: That with the addresses of files.
            there: The files that lie there, as list_files() gives them.
        """
        with self.connections.exception_handler(f"follow_files({landed})"):
            if there:
                path = str(there[0]["path"])
                follow_files(self._session, tidemark_home(), str(landed), column, path)

    def input_files(self, sql: str) -> list[dict[str, Any]]:
        """List what a query reads, as far as it is in files: these, and tables of Delta.

        Args:
            sql: The query, which is not run.

        Returns:
            One dict per file as of list_files(), and per table its folder, `table`, and `version`.
        """
        with self.connections.exception_handler(sql):
            return input_files(self._session, sql)
