"""The session of DuckDB in Spark's workers: views are text, each action is one task.

    make_view() » text ─┐
    view_table() » files ├─► rows() | keep() | stage() | revise() | follow() ─► one task
    keep() » files ──────┘

The pipeline makes its views in Spark, and asks there; this session takes what it can of it, from
what is known of the views. Where a view is made of something that does not cross (the contract), or
of a table that only Spark reads, Spark works it out once, into files. Where a query itself does not
cross, it is Spark's as if there were no session.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from dataclasses import field as default
from functools import partial
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit

from tidemark.engine.quoted import PEPPER
from tidemark.engine.types import known_type
from tidemark.errors import TidemarkError
from tidemark.hashing.recipe import PEPPER_VARIABLE
from tidemark.rules.quoted import back_ticked
from tidemark.sessions.declined import Declined
from tidemark.sessions.duck import (
    Answer,
    Files,
    Stored,
    Views,
    answer,
    append,
    follow,
    keep,
    revise,
    stage,
)
from tidemark.sessions.formats import files_of, open_table
from tidemark.sessions.tables import StagedFiles, Table, columns_of
from tidemark.spark.cached import make_view, view_rows
from tidemark.spark.delta.task import folder_of_task, run_task
from tidemark.spark.delta.worker import UNSEEN

_Done = TypeVar("_Done")
_MOST_ROWS = 10_000
_VIEW = re.compile(r"`(tidemark__[^`]+)`")


@dataclass
class _Run:
    """The views of a load.

    Args:
        folder: Where files of it are kept.
        report: Takes the reason why a query of it is Spark's.
        views: Name to text or files.
        unmade: Those of them that Spark does not have yet.
        bodies: The SELECT of a model's own that is within a view, by its name.
        told: What was told.
        proven: Files of tables whose pages are what their checksums say.
    """

    folder: Path
    report: Callable[[str], None]
    views: dict[str, str | Files] = default(default_factory=dict)
    unmade: set[str] = default(default_factory=set)
    bodies: dict[str, str] = default(default_factory=dict)
    told: set[str] = default(default_factory=set)
    proven: set[str] = default(default_factory=set)

    def to_verify(self, files: Files) -> Files:
        """Return files of a table, with those whose pages are still to be looked at."""
        return replace(files, unproven=tuple(set(files.paths) - self.proven))

    def know(self, name: str, of: str | Files, *, is_made: bool = False) -> None:
        """Know a view, which Spark has already or gets when it is asked for it."""
        self.views[name] = of
        (self.unmade.discard if is_made else self.unmade.add)(name)
        self.bodies.pop(name, None)


class WorkersSession:
    """What is known of the views of loads, by which DuckDB can answer in Spark's place.

    Example:
        >>> session.open("tidemark__shop__items__", print)
        >>> session.make_view("`tidemark__shop__items__few`", "select * from shop.items limit 3")
        >>> session.rows("select count(*) as n from `tidemark__shop__items__few`").rows
        ((3,),)

    Args:
        spark: Returns the session of Spark.
        note: Is told which query was Spark's, and which view it worked out.
    """

    def __init__(self, spark: Callable[[], SparkSession], note: Callable[[str], None]) -> None:
        self._spark = spark
        self._note = note
        self._runs: dict[str, _Run] = {}

    def open(self, prefix: str, report: Callable[[str], None]) -> None:
        """Begin to know the views whose names begin so; `report` takes why a query is Spark's.

        What they have may lie in files until they are forgotten.
        """
        self.forget(prefix)
        self._runs[prefix.lower()] = _Run(folder_of_task(), report)

    def forget(self, prefix: str) -> None:
        """Forget views, and remove what was kept for them."""
        run = self._runs.pop(prefix.lower(), None)
        if run is not None:
            shutil.rmtree(run.folder, ignore_errors=True)

    def has_files(self, name: str) -> bool:
        """Say whether a view is of rows that lie in files of the load."""
        run = self._run_of(name)
        return run is not None and isinstance(run.views.get(_plain(name)), Files)

    def make_view(
        self,
        name: str,
        sql: str,
        is_made: bool = False,
        given: Sequence[str] = (),
        kinds: Mapping[str, str] | None = None,
        body: str | None = None,
    ) -> bool:
        """Know a view by its text, of which Spark makes one when it is asked for it.

        Args:
            name: The view, quoted as in SQL.
            sql: Its query.
            is_made: Whether Spark has it already.
            given: Expressions of the YAML within it. Where types meet in one, it is Spark's.
            kinds: The columns that they see, with their types in Spark.
            body: The SELECT of the model's own within it, to which the same applies.

        Returns:
            False: it is of no load that is known.
        """
        run = self._run_of(name)
        if run is None:
            return False
        if given and self._tried(run, sql, partial(_check_given, given, kinds or {})) is None:
            return False
        run.know(_plain(name), sql, is_made=is_made)
        if body:
            run.bodies[_plain(name)] = body
        return True

    def view_files(self, name: str, files: Files | None) -> None:
        """Know a view that Spark has by the files of its rows; None: it is Spark's alone."""
        run = self._run_of(name)
        if run is None:
            return
        run.views.pop(_plain(name), None)
        run.unmade.discard(_plain(name))
        if files is not None:
            run.know(_plain(name), files, is_made=True)

    def view_kept(self, name: str, path: str, columns: Sequence[Stored]) -> None:
        """Make a view of rows in a file, which the load has from now on."""
        run = self._run_of(name)
        if run is None:
            raise TidemarkError(f"{name} is not a view of a load")
        run.folder.mkdir(exist_ok=True)
        kept = run.folder / Path(path).name
        shutil.move(path, kept)
        run.know(_plain(name), Files((str(kept),), tuple(columns)))

    def make_ready(self, sql: str) -> None:
        """Make the views in Spark that a statement names, and those that they are made of."""
        for name in _VIEW.findall(sql) if self._runs else ():
            run = self._run_of(name)
            if run is None or _plain(name) not in run.unmade:
                continue
            run.unmade.discard(_plain(name))
            of = run.views[_plain(name)]
            spark, quoted = self._spark(), back_ticked(_plain(name))
            if isinstance(of, str):
                self.make_ready(of)
                make_view(spark, quoted, of)
            else:
                view_rows(spark, quoted, _frame_of(spark, of))

    def view_table(self, name: str, table: Table) -> None:
        """Know a view as a table is now."""
        if self._run_of(name) is None:
            return
        try:
            self.view_files(name, files_of(self._spark(), table))
        except Declined:
            self.view_files(name, None)

    def rows(self, sql: str) -> Answer | None:
        """Return the rows of a query that names views of a load; None: it is Spark's."""
        run = self._run_in(sql)
        if run is None:
            return None

        def ask() -> Answer:
            text, views = self._composed(run, sql)
            return self._done(run, partial(answer, views, text, _MOST_ROWS), views)

        return self._tried(run, sql, ask)

    def keep(
        self, name: str, sql: str, body: str | None = None, asked: str | None = None
    ) -> Answer | None:
        """Make a view of the rows of a query as they are now, in both engines; None: it is not.

        Args:
            name: The view, quoted as in SQL.
            sql: The query.
            body: The SELECT of the model's own within it.
            asked: A query over the view.

        Returns:
            The answer to it, in the same task; without names where it is to be asked by itself.
        """
        run = self._run_of(name)
        if run is None:
            return None

        def work() -> Answer:
            text, views = self._composed(run, sql, body)
            about = None
            with suppress(Declined):
                views, about = self._composed_over(run, name, views, asked)
            folder = str(run.folder)
            task = partial(keep, views, text, folder, name=_plain(name), asked=about)
            found = self._done(run, task, views)
            if not Path(str(found.path)).exists():
                raise Declined(UNSEEN)
            columns = tuple(Stored(name, name, kind) for name, kind in found.columns)
            run.know(_plain(name), Files((str(found.path),), columns))
            return found

        def leave() -> Answer:
            self.make_ready(sql)
            self._write(run, _plain(name), self._spark().sql(sql))
            return Answer()

        return self._tried(run, sql, work) or self._tried(run, sql, leave)

    def _composed_over(
        self, run: _Run, name: str, views: Views, asked: str | None
    ) -> tuple[Views, tuple[str, int] | None]:
        """Return what a query over a view to be made sees beside that, and what is asked."""
        if asked is None:
            return views, None
        before, plain = run.views.get(_plain(name)), _plain(name)
        run.views[plain] = Files((), ())
        try:
            question, seen = self._composed(run, asked)
        finally:
            run.views.pop(plain)
            if before is not None:
                run.views[plain] = before
        known = {**dict(views), **dict(seen)}
        known.pop(plain)
        return tuple(known.items()), (question, _MOST_ROWS)

    def insert(self, sql: str) -> bool:
        """Append what an INSERT selects from views of a load; False: it is Spark's.

        If two append at once, both do, as Spark's own: it is not one whose rows depend on what
        the table has.
        """
        run = self._run_in(sql)
        if run is None:
            return False

        def work() -> bool:
            from tidemark.sessions.contract import inserted

            table, query = inserted(sql)
            text, views = self._composed(run, query)
            if ".".join(table) in dict(views):
                raise Declined("what it reads is what it writes to")
            to = open_table(self._spark(), table)
            to.append(self._done(run, partial(append, views, text, to.wanted), views))
            return True

        return self._tried(run, sql, work) is not None

    def stage(
        self,
        table: Table,
        version: int,
        rows_sql: str,
        figures: Mapping[str, str],
        written_sql: str,
    ) -> StagedFiles | None:
        """Write rows as files of a Delta table that no commit names, as stage_rows() does.

        Raises:
            TidemarkError: The table has another version by now.
        """
        run = self._run_in(rows_sql)
        if run is None:
            return None

        def work() -> StagedFiles:
            from tidemark.sessions.contract import crossed

            counted = f"counted_{uuid4().hex}"
            asked = ", ".join(f"{one} as {name}" for name, one in figures.items())
            figures_sql = crossed(f"select {asked} from {counted}")
            written = crossed(written_sql.replace("{counted}", counted))
            text, views = self._composed(run, rows_sql)
            to = open_table(self._spark(), table, version)
            task = partial(stage, views, text, counted, figures_sql, written, to.wanted)
            return to.staged(self._done(run, task, views))

        return self._tried(run, rows_sql, work)

    def revise(
        self, table: Table, version: int, rows_sql: str, match: Sequence[str], commit_id: int
    ) -> StagedFiles | None:
        """Write rows for a log, and anew its files with rows that are marked.

        Args:
            table: The log.
            version: Its version that the rows go with.
            rows_sql: A query of them: the columns of the log, and `_supersedes`, the commit of a
                row that is to be marked.
            match: What such a row and its mark have in common, beside the commit.
            commit_id: The commit.

        Returns:
            The rows; `rows_logged`, `rows_superseded` and what was logged by operation as figures.
            None: Spark has to.

        Raises:
            TidemarkError: The log has another version by now.
        """
        run = self._run_in(rows_sql)
        if run is None:
            return None

        def work() -> StagedFiles:
            text, views = self._composed(run, rows_sql)
            to = open_table(self._spark(), table, version)
            to.check_whole_files()
            stood = run.to_verify(to.stored())
            ours, log = "_tidemark_slice", "_tidemark_log"
            views = (*views, (ours, text), (log, stood))
            task = partial(revise, views, ours, log, tuple(match), commit_id, to.wanted)
            return to.staged(self._done(run, task, views))

        return self._tried(run, rows_sql, work)

    def follow(self, table: Table, keys_sql: str | None, rows_sql: str, view: str) -> int | None:
        """Write the part of current anew that has some keys, in one commit.

        Args:
            table: Current.
            keys_sql: A query of the keys, `_key_hash`; None: it is all of them.
            rows_sql: The rows that take the place of that part.
            view: What they call the rows that the part has, quoted as in SQL.

        Returns:
            The version of current; None, and nothing was done: Spark has to.

        Raises:
            TidemarkError: Another run has written to current meanwhile.
        """
        run = self._run_of(view)
        if run is None:
            return None

        def work() -> int:
            to = open_table(self._spark(), table)
            to.check_whole_files()
            if to.wanted.partition:
                raise Declined("current with partitions of its own")
            stored = run.to_verify(to.stored())
            target = replace(to.wanted.target, files=stored.paths)
            to = replace(to, wanted=replace(to.wanted, target=target))
            run.views[_plain(view)] = replace(stored, paths=(), partitions={}, unproven=())
            keys, of_keys = self._composed(run, keys_sql) if keys_sql else (None, ())
            text, views = self._composed(run, rows_sql)
            merged = {**dict(of_keys), **dict(views)}
            merged.pop(_plain(view), None)
            known = tuple(merged.items())
            task = partial(follow, known, keys, stored, _plain(view), text, to.wanted)
            return to.replace(self._done(run, task, known))

        return self._tried(run, rows_sql, work)

    def _run_of(self, name: str) -> _Run | None:
        plain = _plain(name)
        # other threads open and forget theirs meanwhile
        found = [prefix for prefix in list(self._runs) if plain.startswith(prefix)]
        # a view of `items` is none of `items__x`, whose own begin so too
        found = [prefix for prefix in found if "__" not in plain[len(prefix) :]]
        return self._runs.get(max(found, key=len)) if found else None

    def _run_in(self, sql: str) -> _Run | None:
        if not self._runs:
            return None
        for name in _VIEW.findall(sql):
            if run := self._run_of(name):
                return run
        return None

    def _tried(self, run: _Run, sql: str, work: Callable[[], _Done]) -> _Done | None:
        try:
            return work()
        except Declined as error:
            why = str(error)
            self._note(f"by Spark SQL, as {why}: {' '.join(sql.split())[:80]} …")
            if why not in run.told:
                run.told.add(why)
                run.report(why)
            return None

    def _done(self, run: _Run, task: Callable[..., Answer], views: Views) -> Answer:
        found = run_task(self._spark(), task, _declined)
        if found.declined:
            raise Declined(found.declined)
        for _, of in views:
            run.proven.update(of.unproven if isinstance(of, Files) else ())
        return found

    def _composed(self, run: _Run, sql: str, body: str | None = None) -> tuple[str, Views]:
        """Return a query in DuckDB's SQL, and the views that it sees."""
        views: dict[str, str | Files] = {}
        text = self._crossed(run, sql, views, body)
        known = {name: _peppered(of) if isinstance(of, str) else of for name, of in views.items()}
        return _peppered(text), tuple(known.items())

    def _crossed(
        self, run: _Run, sql: str, views: dict[str, str | Files], body: str | None = None
    ) -> str:
        """Return a query in DuckDB's SQL; what it sees is added to views.

        A SELECT of the model's own within it is looked at first, over what it sees itself.
        """

        def known_as(schema: str | None, name: str) -> str:
            if schema is None:
                self._add_view(run, _plain(name), views)
                return _plain(name)
            whole = f"{schema}.{name}"
            if whole not in views:
                views[whole] = run.to_verify(files_of(self._spark(), (schema, name)))
            return whole

        def kinds_of(schema: str | None, name: str) -> dict[str, str]:
            of = views[known_as(schema, name)]
            if not isinstance(of, Files):
                raise Declined(f"the types of {name} are not known")
            return {column.name: column.type for column in of.columns}

        # the library that reads SQL takes a quarter of a second to import
        from tidemark.sessions.contract import check_query, crossed

        if body:
            # before a view is worked out for it
            crossed(body)
            check_query(body, kinds_of)
        return crossed(sql, known_as)

    def _add_view(self, run: _Run, name: str, views: dict[str, str | Files]) -> None:
        if name in views:
            return
        known = run.views.get(name)
        if isinstance(known, str):
            within: dict[str, str | Files] = dict(views)
            try:
                text = self._crossed(run, known, within, run.bodies.get(name))
            except Declined as error:
                self._note(f"{name} is worked out by Spark SQL, as {error}")
                known = None
            else:
                views.update(within)
                views[name] = text
                return
        if known is None:
            known = self._worked_out(run, name)
        views[name] = known

    def _worked_out(self, run: _Run, name: str) -> Files:
        """Have Spark work a view out, once, into files."""
        spark, quoted = self._spark(), back_ticked(name)
        self.make_ready(quoted)
        return self._write(run, name, spark.table(quoted))

    def _write(self, run: _Run, name: str, rows: DataFrame) -> Files:
        """Have Spark write rows to files of the load, which are the view's from now on."""
        spark, columns = self._spark(), columns_of(rows.schema)
        folder = run.folder / uuid4().hex
        run.folder.mkdir(exist_ok=True)
        rows.write.parquet(f"file://{folder}")
        paths = tuple(str(path) for path in sorted(folder.glob("*.parquet")))
        files = Files(paths, tuple(Stored(name, name, kind) for name, kind in columns))
        view_rows(
            spark, back_ticked(name), spark.read.schema(rows.schema).parquet(f"file://{folder}")
        )
        run.know(name, files, is_made=True)
        return files


def _check_given(given: Sequence[str], kinds: Mapping[str, str]) -> bool:
    from tidemark.sessions.contract import check_types

    known = {name: known_type(kind) for name, kind in kinds.items()}
    types = {name: kind.duck for name, kind in known.items() if kind}
    for expression in given:
        check_types(expression, types)
    return True


def _peppered(text: str) -> str:
    """Return SQL with the pepper in its place, as Spark has it when it reads a statement."""
    pepper = os.environ.get(PEPPER_VARIABLE)
    if PEPPER in text and not pepper:
        raise Declined("there is no pepper")
    # what pepper_check() lets pass stands in a literal as it is
    return text.replace(PEPPER, pepper or "")


def _frame_of(spark: SparkSession, files: Files) -> DataFrame:
    rows = spark.read.parquet(*[f"file://{path}" for path in files.paths])
    there = set(rows.columns)
    return rows.select(
        *[
            # what the reader's file lacks are texts: see staged_columns()
            (col(back_ticked(one.field)) if one.field in there else lit(None).cast("string")).alias(
                one.name
            )
            for one in files.columns
        ]
    )


def _declined(reason: str) -> Answer:
    return Answer(declined=reason)


def _plain(name: str) -> str:
    return (name[1:-1].replace("``", "`") if name.startswith("`") else name).lower()
