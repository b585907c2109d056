"""Tables of PostgreSQL that came after the snapshot: taken into the publication, rows read once.

The rows of a table are exactly those from before a position of the log if nobody writes to it
while it joins the publication and the snapshot that reads it begins. What the log says of the table
from before that position is left out for good.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tidemark.capture.config import CaptureConfig, Login
from tidemark.capture.database import Database, DatabaseError, connect
from tidemark.capture.properties import selects, without_tables

# how long the writers of a table may be kept waiting behind a lock that is not granted
_LOCK_WAIT = "3s"

# whether updates and deletes of a published table `c` succeed; a key that is checked at the end of
# transactions is no identity
IS_IDENTIFIED = """
    c.relreplident = 'f'
    or exists (
        select from pg_index as i
        where i.indrelid = c.oid and i.indisvalid and i.indimmediate
        and case c.relreplident when 'd' then i.indisprimary when 'i' then i.indisreplident end
    )
"""
_TABLES = f"""
select
    n.nspname || '.' || c.relname,
    format('%I.%I', n.nspname, c.relname),
    exists (
        select from pg_publication_tables as p
        where p.pubname = ? and p.schemaname = n.nspname and p.tablename = c.relname
    )
    -- a partition is published with its table, also where events bear the table's name
    or exists (
        select from pg_publication as p
        inner join pg_publication_rel as r on p.oid = r.prpubid
        inner join pg_partition_ancestors(c.oid) as a on r.prrelid = a.relid
        where p.pubname = ?
    ),
    pg_has_role(c.relowner, 'usage'),
    has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select'),
    {IS_IDENTIFIED.strip()}
from pg_class as c
inner join pg_namespace as n on c.relnamespace = n.oid
where c.relkind = 'r' and c.relpersistence = 'p'
and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
order by 1
"""


@dataclass(frozen=True)
class Table:
    """A table of the server.

    Attributes:
        name: `schema.table`, as events call it.
        quoted: The same as SQL wants it.
        is_published: Whether the publication has it.
        is_owned: Whether the user may put it there.
        is_readable: Whether the user may read its rows.
        is_identified: Whether it has what updates and deletes need once it is published.
    """

    name: str
    quoted: str
    is_published: bool
    is_owned: bool
    is_readable: bool
    is_identified: bool


@dataclass(frozen=True)
class Newcomers:
    """What capture is to do about tables that came after its snapshot.

    Attributes:
        tables: Those whose rows are to be read.
        warnings: One for each that cannot be captured: what to do about it.
    """

    tables: tuple[Table, ...] = ()
    warnings: tuple[str, ...] = ()


def owns_publication(config: CaptureConfig, database: Database) -> bool | None:
    """Whether the user has made the publication, of named tables; None if there is none."""
    owned = database.value(
        "select not puballtables and pubowner = (select oid from pg_roles "
        "where rolname = current_user) from pg_publication where pubname = ?",
        config.publication,
    )
    return None if owned is None else bool(owned)


def server_tables(config: CaptureConfig, database: Database) -> list[Table]:
    """Return all tables that could be captured."""
    return [Table(*row) for row in database.query(_TABLES, *[config.publication] * 2)]


def judge_tables(
    config: CaptureConfig,
    user: str,
    tables: Sequence[Table],
    unread: Collection[str],
    *,
    owned: bool,
) -> Newcomers:
    """Tell tables that can join from those that cannot.

    Args:
        config: The source.
        user: The one that captures.
        tables: Those of the server.
        unread: Names of tables that have joined before and whose rows have not landed.
        owned: Whether capture may change the publication.
    """
    joining: list[Table] = []
    warnings: list[str] = []
    for table in tables:
        if not selects(config, table.name) or (table.is_published and table.name not in unread):
            continue
        problem = _problem(config, user, table, owned=owned)
        if problem is None:
            joining.append(table)
        else:
            warnings.append(_not_captured(table, problem))
    return Newcomers(tuple(joining), tuple(warnings))


def leave_out(
    config: CaptureConfig, tables: Sequence[Table]
) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Return Debezium's properties for a first snapshot without tables that must not be published.

    The second value has a warning for each of them. They join when they are identified.
    """
    unidentified = [
        table for table in tables if selects(config, table.name) and not table.is_identified
    ]
    if not unidentified:
        return {}, ()
    warnings = tuple(_not_captured(table, _unidentified(table)) for table in unidentified)
    return without_tables(config, [table.name for table in unidentified]), warnings


def _not_captured(table: Table, problem: str) -> str:
    return f"{table.name} is selected but not captured: {problem}"


def _problem(config: CaptureConfig, user: str, table: Table, *, owned: bool) -> str | None:
    if not owned or not table.is_owned:
        return (
            f'ask the owner of both to run: alter publication "{config.publication}" add '
            f"table {table.quoted} (only --resnapshot brings the rows that the table "
            "already has)"
        )
    if not table.is_readable:
        return f'ask the owner of the table to run: grant select on {table.quoted} to "{user}"'
    if not table.is_identified:
        return _unidentified(table)
    return None


def _unidentified(table: Table) -> str:
    # in the publication, the server would refuse the updates of whoever writes to it
    return (
        "the table has no primary key, or a deferrable one, so the database would refuse "
        f"its updates and deletes; run: alter table {table.quoted} replica identity full"
    )


class Joining:
    """Tables that nobody writes to until `release`; they are in the publication from there on.

    Attributes:
        tables: The tables that were free to be locked.
        position: All changes of theirs that lie before it in the log are in their rows.
    """

    def __init__(self, config: CaptureConfig, database: Database, tables: Sequence[Table]) -> None:
        self._database = database
        self._held = True
        database.query("begin")
        database.query(f"set local lock_timeout = '{_LOCK_WAIT}'")
        self.tables = tuple(table for table in tables if self._lock(table))
        for table in self.tables:
            if not table.is_published:
                # under the lock: older servers forget changes of transactions that write to a
                # table while it is added
                database.query(
                    f'alter publication "{config.publication}" add table only {table.quoted}'
                )
        self.position = int(database.value("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))

    def _lock(self, table: Table) -> bool:
        self._database.query("savepoint one_table")
        try:
            self._database.query(f"lock table only {table.quoted} in share row exclusive mode")
        except DatabaseError:
            # somebody writes to it for long, or it is gone: it is looked at again later
            self._database.query("rollback to savepoint one_table")
            return False
        self._database.query("release savepoint one_table")
        return True

    @property
    def is_held(self) -> bool:
        """Whether writers still wait."""
        return self._held

    def release(self) -> None:
        """Let writers go on."""
        self._held = False
        self._database.query("commit")


@contextmanager
def join(config: CaptureConfig, login: Login, tables: Sequence[Table]) -> Iterator[Joining]:
    """Lock tables and put them into the publication; undone if they are not released."""
    with connect(config, login) as database:
        yield Joining(config, database, tables)


def are_lockable(config: CaptureConfig, login: Login, tables: Sequence[Table]) -> bool:
    """Whether one of them is free to be locked right now; nothing stays changed."""
    with connect(config, login) as database:
        for table in tables:
            try:
                database.query("begin")
                database.query(f"set local lock_timeout = '{_LOCK_WAIT}'")
                database.query(f"lock table only {table.quoted} in share row exclusive mode")
            except DatabaseError:
                continue
            else:
                return True
            finally:
                database.query("rollback")
    return False


def leave_publication(config: CaptureConfig, database: Database, tables: Sequence[Table]) -> None:
    """Take out the tables that are no longer selected: selected again, their rows are read."""
    named = {
        str(name)
        for (name,) in database.query(
            "select n.nspname || '.' || c.relname from pg_publication as p "
            "inner join pg_publication_rel as r on r.prpubid = p.oid "
            "inner join pg_class as c on r.prrelid = c.oid "
            "inner join pg_namespace as n on c.relnamespace = n.oid where p.pubname = ?",
            config.publication,
        )
    }
    for table in tables:
        if table.name in named and not selects(config, table.name):
            database.query(
                f'alter publication "{config.publication}" drop table only {table.quoted}'
            )
