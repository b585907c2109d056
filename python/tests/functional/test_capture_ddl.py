"""Statements at random on a table of a real MariaDB and a real PostgreSQL: what is loaded is what the server has, batch by batch and at once.

TIDEMARK_TEST_SEED makes other statements, TIDEMARK_TEST_ROUNDS more stories.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.functional.capturing import Capturing, Sql, capturing_source
from tests.functional.event_entities import EventEntity
from tests.servers import (
    MariaDbServer,
    PostgresServer,
    install_connectors,
    mariadb_server,
    postgres_server,
)

pytest.importorskip("jpype")
pytestmark = pytest.mark.slow

SEED = int(os.environ.get("TIDEMARK_TEST_SEED", "20260304"))
ROUNDS = int(os.environ.get("TIDEMARK_TEST_ROUNDS", "2"))
BATCHES = 5
POLICIES = {"drop_column": "apply", "drop_table": "apply", "change_type": "apply"}
TYPES = {"int": "bigint", "varchar(10)": "varchar(20)", "smallint": "int"}
"""Type → a wider one."""
POSTGRES_TYPES = {"int": "bigint", "varchar(10)": "text", "smallint": "int"}


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariaDbServer]:
    install_connectors()
    with mariadb_server() as running:
        yield running


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    install_connectors()
    with postgres_server() as running:
        yield running


class Story:
    """A table whose rows, columns and name change, statement by statement.

    Args:
        sql: Runs statements in its database.
        rng: What happens.
    """

    def __init__(self, sql: Sql, rng: random.Random) -> None:
        self.sql = sql
        self.rng = rng
        self.name = "wild"
        self.columns = {"a": "int", "b": "varchar(10)"}
        self.said: list[str] = []
        self.made = 0
        self.former: list[str] = []
        self.begin()

    def begin(self) -> None:
        self.run("create table wild (id int primary key, a int, b varchar(10))")

    def weights(self) -> dict[Callable[[], None], float]:
        """How often each change is made."""
        return {
            self.upsert: 12, self.update: 6, self.delete: 3, self.rekey: 2, self.truncate: 0.3,
            self.add: 1.5, self.drop: 0.8, self.rename: 1, self.widen: 0.6, self.other: 1,
            self.move: 0.8, self.swap: 0.7, self.anew: 0.3,
        }  # fmt: skip

    def run(self, *statements: str) -> None:
        self.said += statements
        self.sql(";\n".join(statements))

    def value(self, kind: str) -> str:
        if self.rng.random() < 0.15:
            return "null"
        return repr(self.rng.choice(["x", "y", "", "zz"])) if "char" in kind else str(self.rng.randrange(-9, 100))  # fmt: skip

    def new(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}{self.made}"

    def step(self) -> None:
        """One change of the rows, or, less often, of the table."""
        weights = self.weights()
        self.rng.choices(list(weights), list(weights.values()))[0]()

    def upsert(self) -> None:
        names = [name for name in self.columns if self.rng.random() < 0.8]
        values = [str(self.rng.randrange(1, 12)), *(self.value(self.columns[name]) for name in names)]  # fmt: skip
        self.run(f"replace into {self.name} ({', '.join(['id', *names])}) values ({', '.join(values)})")  # fmt: skip

    def update(self) -> None:
        sets = [f"{name} = {self.value(kind)}" for name, kind in self.columns.items()]
        if sets:
            chosen = ", ".join(self.rng.sample(sets, self.rng.randint(1, len(sets))))
            self.run(f"update {self.name} set {chosen} where id % 3 = {self.rng.randrange(3)}")

    def delete(self) -> None:
        self.run(f"delete from {self.name} where id = {self.rng.randrange(1, 12)}")

    def rekey(self) -> None:
        self.made += 1
        self.run(
            f"update {self.name} set id = {100 + self.made} where id = {self.rng.randrange(1, 12)}"
        )

    def truncate(self) -> None:
        self.run(f"truncate {self.name}")

    def add(self) -> None:
        name, kind = self.new("c"), self.rng.choice(list(TYPES))
        if self.rng.random() < 0.3 and self.made > 1:
            # a name that there may have been before, of another type
            name = self.rng.choice([f"c{self.rng.randrange(1, self.made)}", *self.former])
            if name in self.columns:
                return
        defaults = [" default 'd'"] if "char" in kind else [" default 5", " default TRUE"]
        default = self.rng.choice(["", " not null", *defaults])
        place = self.rng.choice(["", " first", " after id"])
        self.columns[name] = kind
        self.run(f"alter table {self.name} add column {name} {kind}{default}{place}")
        if default == " not null":
            self.run(f"alter table {self.name} modify {name} {kind} null")

    def drop(self) -> None:
        if self.columns:
            name = self.rng.choice(list(self.columns))
            del self.columns[name]
            self.run(f"alter table {self.name} drop column {name}")

    def rename(self) -> None:
        if self.columns:
            old, new = self.rng.choice(list(self.columns)), self.new("r")
            kind = self.columns.pop(old)
            self.columns[new] = kind
            self.former.append(old)
            how = self.rng.choice([f"rename column {old} to {new}", f"change {old} {new} {kind}"])
            self.run(f"alter table {self.name} {how}")

    def widen(self) -> None:
        narrow = [name for name, kind in self.columns.items() if kind in TYPES]
        if narrow:
            name = self.rng.choice(narrow)
            self.columns[name] = TYPES[self.columns[name]]
            self.run(f"alter table {self.name} modify {name} {self.columns[name]}")

    def other(self) -> None:
        """Something that happens to another table."""
        other = self.new("other")
        self.run(
            f"create table {other} (id int primary key, o int)",
            f"insert into {other} values (1, 1)",
            f"rename table {other} to {other}x",
            f"drop table {other}x",
        )

    def move(self) -> None:
        old, self.name = self.name, self.new("wild")
        column = self.new("c")
        how = self.rng.choice(
            [
                f"rename table {old} to {self.name}",
                f"alter table {old} rename to {self.name}",
                f"alter table {old} add column {column} int default 3, rename {self.name}",
            ]
        )
        if column in how:
            self.columns[column] = "int"
        self.run(how)

    def swap(self) -> None:
        """A copy with one more column takes the place of the table."""
        name, column = self.new("copy"), self.new("c")
        self.columns[column] = "int"
        self.run(
            f"create table {name} like {self.name}",
            f"alter table {name} add column {column} int default 4",
            f"insert into {name} select *, 4 from {self.name}",
            f"rename table {self.name} to {name}_old, {name} to {self.name}",
            f"drop table {name}_old",
        )

    def anew(self) -> None:
        made = ", ".join(
            ["id int primary key", *(f"{n} {kind}" for n, kind in self.columns.items())]
        )
        self.run(f"drop table {self.name}", f"create table {self.name} ({made})")

    def rows(self) -> list[tuple[str, ...]]:
        names = ", ".join(f"coalesce(cast({name} as char), 'NULL')" for name in ["id", *self.columns])  # fmt: skip
        return sorted(
            tuple(row) for row in self.sql(f"select {names} from {self.name} order by id")
        )


class PostgresStory(Story):
    """The same where no statement is told but by the columns of the rows after it, so that a rename is none of them."""

    def begin(self) -> None:
        # a long text is stored aside, and told only where it changes
        self.run(
            "create table wild (id int primary key, a int, b text)",
            "alter table wild alter column b set storage external",
        )
        self.columns["b"] = "text"

    def weights(self) -> dict[Callable[[], None], float]:
        return {
            self.upsert: 12, self.update: 6, self.delete: 3, self.rekey: 2, self.truncate: 0.3,
            self.add: 1.5, self.drop: 0.6, self.widen: 0.6,
        }  # fmt: skip

    def value(self, kind: str) -> str:
        if kind == "text" and self.rng.random() < 0.3:
            return f"repeat('{self.rng.randrange(10)}abc', 2000)"
        return super().value(kind)

    def upsert(self) -> None:
        values = {name: self.value(kind) for name, kind in self.columns.items()}
        names, key = ", ".join(["id", *values]), self.rng.randrange(1, 12)
        sets = ", ".join(f"{name} = excluded.{name}" for name in values) or "id = excluded.id"
        row = ", ".join([str(key), *values.values()])
        self.run(f"insert into wild ({names}) values ({row}) on conflict (id) do update set {sets}")

    def add(self) -> None:
        name, kind = self.new("c"), self.rng.choice(list(POSTGRES_TYPES))
        default = self.rng.choice(["", " default 'd'" if "char" in kind else " default 5"])
        self.columns[name] = kind
        self.run(f"alter table wild add column {name} {kind}{default}")

    def widen(self) -> None:
        narrow = [name for name, kind in self.columns.items() if kind in POSTGRES_TYPES]
        if narrow:
            name = self.rng.choice(narrow)
            self.columns[name] = POSTGRES_TYPES[self.columns[name]]
            self.run(f"alter table wild alter column {name} type {self.columns[name]}")

    def rows(self) -> list[tuple[str, ...]]:
        names = ", ".join(f"coalesce(cast({name} as text), 'NULL')" for name in ["id", *self.columns])  # fmt: skip
        return sorted(tuple(row) for row in self.sql(f"select {names} from wild"))


def rows_of(entity: EventEntity, columns: list[str]) -> list[tuple[str, ...]]:
    names = ", ".join(f"coalesce(cast({name} as string), 'NULL')" for name in ["id", *columns])
    return sorted(entity.rows(names))


def play(story: Story, project: Any, capturing: Capturing, what: str, **settings: Any) -> None:
    """Let it happen in batches, each of them loaded by one entity, and all at once by another."""
    entities = [
        EventEntity(
            project, name, {}, location=str(capturing.landing), format="debezium", **settings
        )
        for name in ("by_batch", "at_once")
    ]
    for batch in range(BATCHES):
        for _ in range(story.rng.randint(5, 14)):
            story.step()
        story.upsert()
        capturing.once()
        for entity in entities[: 2 if batch == BATCHES - 1 else 1]:
            entity.run()
            told = "\n".join([f"{what}, {entity.name}, batch {batch}", *story.said])
            present = project.session.table(f"`{project.schema}`.{entity.name}").columns
            own = {name for name in present if not name.startswith("_")}
            assert {"id", *story.columns} <= own, told
            if not isinstance(story, PostgresStory):
                assert own == {"id", *story.columns}, told
            assert rows_of(entity, list(story.columns)) == story.rows(), told


@pytest.mark.parametrize("number", range(ROUNDS))
def test_mariadb(mariadb: MariaDbServer, make_project: Any, tmp_path: Path, number: int) -> None:
    database = f"wild{number}"
    mariadb.sql(f"create database {database} character set utf8mb4", database="")
    connection = {"port": mariadb.port, "user": "tidemark"}
    with capturing_source(tmp_path, "mariadb", connection, include=[f"{database}.*"]) as capturing:
        rng = random.Random(f"{SEED} {number}")
        story = Story(lambda text: mariadb.sql(text, database), rng)
        project = make_project(f"mariadb_{number}")
        settings = {"table": f"{database}.wild", "ddl": POLICIES}
        play(story, project, capturing, f"seed {SEED} {number}", **settings)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_postgres(postgres: PostgresServer, make_project: Any, tmp_path: Path, number: int) -> None:
    database = f"wild{number}"
    postgres.sql(f"create database {database}", database="postgres")
    connection = {"port": postgres.port, "user": "postgres", "database": database}
    with capturing_source(
        tmp_path,
        "postgresql",
        connection,
        include=["public.*"],
        slot=database,
        publication=database,
    ) as capturing:
        rng = random.Random(f"{SEED} {number}")
        story = PostgresStory(lambda text: postgres.sql(text, database), rng)
        project = make_project(f"postgres_{number}")
        play(story, project, capturing, f"seed {SEED} {number}", table="public.wild")
