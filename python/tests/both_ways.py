"""Whether a story leaves the same behind by Spark SQL and by the engine in the workers.

The modules of a tenth run twice, first as users load, then by Spark SQL alone (`tenths.BOTH_WAYS`). After each command of dbt the
tables that it changed are read, and so are the views when a test ends; what the second time finds is compared with what the first
did. Two runs differ in the moments at which they ran, in what their schema and folders are called, and in nothing else.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

WORKERS, SPARK = "workers", "spark"
_MOMENTS = ("started_at", "completed_at", "state_at", "invocation_id", "config_fingerprint")
_OF_THE_RUN = {*_MOMENTS, "_file_time", "_file_size"}
"""Columns whose values tell when it was, or are of texts that have a path of the test in them."""
_COMMIT = re.compile(r"(?<![\d.])2\d{14}(?![\d.])")
_SHOWN = 5
_MOST = 20_000


@dataclass
class _Found:
    """What a command left behind: the rows of each table, the verdicts of each node."""

    command: str
    tables: dict[str, Counter[str]]
    messages: dict[str, str]


@dataclass
class BothWays:
    """What the modules of a process left behind the first time.

    Attributes:
        way: How the module that runs loads; None: it runs once.
        test: The test that runs, without the way.
    """

    way: str | None = None
    test: str = ""
    _projects: list[Any] = field(default_factory=list)
    _first: dict[str, list[_Found]] = field(default_factory=dict)
    _passed: Counter[str] = field(default_factory=Counter)
    _versions: dict[str, str] = field(default_factory=dict)

    def begin_module(self, way: str | None) -> None:
        """Begin with a module."""
        self.way, self.test = way, ""
        self._versions.clear()
        if way != SPARK:
            self._first.clear()
        self._passed.clear()

    def begin_test(self, item: pytest.Item) -> None:
        """Begin with a test; what its fixtures of the module do belongs to it, or to the one before."""
        self.test = re.sub(rf"(?<=\[)({WORKERS}|{SPARK})(-|(?=\]))", "", item.name)
        self._projects.clear()

    def after(self, project: Any, command: str, messages: dict[str, str]) -> None:
        """Look at what a command of dbt left behind."""
        if self.way is None or threading.current_thread() is not threading.main_thread():
            return
        if project not in self._projects:
            self._projects.append(project)
        tables = dict(_tables(project, self._versions))
        self._judge(project, _Found(command, tables, messages))

    def end_test(self) -> None:
        """Look at the views of the projects that a test ran dbt in."""
        for project in self._projects if self.way else ():
            self._judge(project, _Found("the end", dict(_views(project)), {}))

    def _judge(self, project: Any, found: _Found) -> None:
        found = _shown_alike(project, found)
        number = self._passed[self.test]
        self._passed[self.test] += 1
        if self.way == WORKERS:
            self._first.setdefault(self.test, []).append(found)
            return
        first = self._first.get(self.test, [])
        # what failed the first time has told so itself
        if number < len(first) and (differences := list(_differences(first[number], found))):
            pytest.fail(
                f"by the workers and by Spark SQL, {found.command} of {self.test} (its command "
                f"{number + 1}) left something else behind\n" + "\n".join(differences),
                pytrace=False,
            )


BOTH = BothWays()


def _differences(workers: _Found, spark: _Found) -> Iterator[str]:
    for node in sorted({*workers.messages, *spark.messages}):
        of_workers, of_spark = workers.messages.get(node), spark.messages.get(node)
        if of_workers != of_spark:
            yield f"{node}\n  workers: {of_workers}\n  Spark:   {of_spark}"
    for table in sorted({*workers.tables, *spark.tables}):
        of_workers, of_spark = workers.tables.get(table), spark.tables.get(table)
        if of_workers is None or of_spark is None:
            yield f"{table} was written by {'Spark' if of_workers is None else 'workers'} alone"
        elif of_workers != of_spark:
            for way, rows in (
                ("workers", of_workers - of_spark),
                ("Spark", of_spark - of_workers),
            ):
                yield f"{table}, {rows.total()} rows by {way} alone"
                yield from (f"  {row}" for row in sorted(rows)[:_SHOWN])


def _tables(project: Any, versions: dict[str, str]) -> Iterator[tuple[str, Counter[str]]]:
    """Return the tables of a project's schema that have changed, with their rows."""
    for name, table in _catalog(project):
        if str(table.tableType().name()) == "VIEW":
            continue
        whole, version = f"{project.schema}.{name}", _version(table)
        if versions.get(whole) != version:
            versions[whole] = version
            yield name, _rows(project, name)


def _views(project: Any) -> Iterator[tuple[str, Counter[str]]]:
    for name, table in _catalog(project):
        if str(table.tableType().name()) == "VIEW":
            yield name, _rows(project, name)


def _catalog(project: Any) -> Iterator[tuple[str, Any]]:
    from tidemark.spark.files import each, table_identifier

    session = project.session
    catalog = session._jsparkSession.sessionState().catalog()
    if not catalog.databaseExists(project.schema):
        return
    for one in each(catalog.listTables(project.schema)):
        name = str(one.table())
        if one.database().isDefined():
            yield (
                name,
                catalog.getTableMetadata(table_identifier(session._jvm, project.schema, name)),
            )


def _version(table: Any) -> str:
    """Return what is another text once a table has another commit."""
    from pathlib import Path
    from urllib.parse import unquote, urlparse

    folder = Path(unquote(urlparse(str(table.location().toString())).path))
    logs = [*folder.glob("_delta_log/*.json"), *folder.glob("metadata/*.metadata.json")]
    stat = folder.stat() if folder.exists() else None
    return f"{stat and stat.st_ino} {max((log.stat().st_mtime_ns for log in logs), default=0)}"


def _rows(project: Any, name: str) -> Counter[str]:
    """Return the rows of a table as JSON, and its types, as one more; of a long table a digest."""
    import duckdb

    from tidemark.sessions.declined import Declined

    try:
        types = project.session.table(f"`{project.schema}`.`{name}`").dtypes
        kept = [one for one, _ in types if one.lower() not in _OF_THE_RUN]
        try:
            found = _rows_of_files(project, name, kept)
        except (Declined, duckdb.Error):
            found = _rows_of_spark(project, name, kept)
    except Exception as error:
        # a story may break a table on purpose
        return Counter([f"cannot be read: {type(error).__name__}"])
    return Counter([json.dumps(types), *found])


def _rows_of_files(project: Any, name: str, kept: list[str]) -> list[str]:
    """Have DuckDB read a table of Delta, in a hundredth of the time."""
    import duckdb

    from tidemark.engine.quoted import identifier
    from tidemark.sessions.duck import files_sql
    from tidemark.sessions.formats import files_of

    files = files_of(project.session, (project.schema, name))
    with duckdb.connect() as db:
        db.execute("set timezone = 'UTC'")
        columns = ", ".join(map(identifier, kept))
        rows = f"select to_json(t) from (select {columns} from ({files_sql(db, files)})) as t"
        found = [str(row) for (row,) in db.execute(f"{rows} limit {_MOST + 1}").fetchall()]
        if len(found) > _MOST:
            found = [
                str(db.execute(f"select count(*), bit_xor(hash(t)) from ({rows}) as t").fetchone())
            ]
    return found


def _rows_of_spark(project: Any, name: str, kept: list[str]) -> list[str]:
    rows = project.session.table(f"`{project.schema}`.`{name}`")
    rows = rows.select(*[f"`{one.replace('`', '``')}`" for one in kept])
    found: list[str] = rows.limit(_MOST + 1).toJSON().collect()
    if len(found) > _MOST:
        found = [str(rows.selectExpr("count(*)", "bit_xor(xxhash64(struct(*)))").first())]
    return found


def _shown_alike(project: Any, found: _Found) -> _Found:
    """Return the same with what tells one run from another in other words."""
    texts = [text for rows in found.tables.values() for text in rows] + [*found.messages.values()]
    ids = sorted({one for text in texts for one in _COMMIT.findall(text)})
    ranks = {one: f"<commit {rank}>" for rank, one in enumerate(ids)}
    names = {str(project.root): "<root>", str(project.home): "<home>", project.schema: "<schema>"}

    def alike(text: str) -> str:
        for name, told in names.items():
            text = text.replace(name, told)
        return _COMMIT.sub(lambda one: ranks.get(one[0], "<commit>"), text)

    tables = {}
    for name, rows in found.tables.items():
        told: Counter[str] = Counter()
        for row, count in rows.items():
            told[alike(row)] += count
        tables[alike(name)] = told
    messages = {alike(node): alike(message) for node, message in found.messages.items()}
    return _Found(found.command, tables, messages)
