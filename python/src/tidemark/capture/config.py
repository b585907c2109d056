"""What a source's YAML says of its capture: `config.meta.tidemark.replicator`."""

from __future__ import annotations

import difflib
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from tidemark.durations import parse_duration
from tidemark.errors import ConfigError

Connector = Literal["postgresql", "mysql", "mariadb", "sqlserver", "oracle"]
PORTS: dict[str, int] = {
    "postgresql": 5432,
    "mysql": 3306,
    "mariadb": 3306,
    "sqlserver": 1433,
    "oracle": 1521,
}
# connectors whose databases are what others call schemas: there is none to connect to
BINLOG = ("mysql", "mariadb")

# for how many seconds a source or a table that fails is tried again, unless `retry_for` says it
RETRY_FOR = 600.0

# settings of the operating half, passed on as they are
OPERATING = (
    "ddl",
    "on_drop",
    "on_failure",
    "freshness",
    "objective",
    "every",
    "keep_landed",
)

# Debezium's properties that exactly-once landing depends on, and where to say what they say
REFUSED: dict[str, str] = {
    "name": "",
    "connector.class": "use `connector`",
    "topic.prefix": "",
    "tasks.max": "",
    "offset.": "capture keeps its position in the log beside the landed files",
    "schema.history.internal": "",
    "snapshot.mode": "use `snapshot`",
    "slot.name": "use `slot`",
    "slot.drop.on.stop": "changes would be lost",
    "publication.name": "use `publication`",
    "database.server.id": "use `server_id`",
    "database.hostname": "use `connection`",
    "database.port": "use `connection`",
    "database.user": "use `connection`",
    "database.password": "use `connection`",
    "database.dbname": "use `connection`",
    "database.names": "use `connection`",
    "database.pdb.name": "use `connection`",
    "table.include.list": "use `include`",
    "table.exclude.list": "use `exclude`",
    "schema.include.list": "use `include`",
    "schema.exclude.list": "use `exclude`",
    "database.include.list": "use `include`",
    "database.exclude.list": "use `exclude`",
    "column.include.list": "use `columns`",
    "column.exclude.list": "use `columns`",
    "provide.transaction.metadata": "whole transactions are acknowledged",
    "tombstones.on.delete": "",
    "errors.max.retries": "capture itself connects again",
    "event.processing.failure.handling.mode": "changes would be lost",
    "inconsistent.schema.handling.mode": "changes would be lost",
    "skip.messages.without.change": "changes would be lost",
    "transforms": "envelopes land untouched",
    "predicates": "envelopes land untouched",
    "key.converter": "envelopes land untouched",
    "value.converter": "envelopes land untouched",
}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FromEnvironment(_Strict):
    """A value that stands in an environment variable."""

    env: str


Value = str | int | FromEnvironment


class Connection(_Strict):
    """How the database is reached. Each value is a literal or `{env: NAME}`."""

    host: Value
    port: Value | None = None
    database: Value | None = None
    user: Value
    password: FromEnvironment
    pdb: Value | None = None

    @field_validator("password", mode="before")
    @classmethod
    def _not_literal(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError(
                "must be {env: NAME}: dbt's manifest would show a password that stands "
                "here. Put it into an environment variable"
            )
        return value


class Flush(_Strict):
    """When a landing file is closed: at the first of these; bytes are counted unpacked."""

    rows: int = Field(default=50_000, ge=1)
    seconds: float = Field(default=1.0, gt=0)
    bytes: int = Field(default=256 * 1024 * 1024, ge=1)


class Columns(_Strict):
    """Patterns of columns that are captured, or are not."""

    include: list[str] = Field(default_factory=list)
    exclude: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_of_them(self) -> Columns:
        if self.include and self.exclude:
            raise ValueError("include and exclude are both set: keep one of them")
        return self


class _Settings(_Strict):
    connector: Connector
    connection: Connection
    include: list[str] = Field(default_factory=list)
    exclude: list[str] = Field(default_factory=list)
    columns: Columns = Field(default_factory=Columns)
    location: str | None = None
    snapshot: Literal["initial", "no_data"] = "initial"
    flush: Flush = Field(default_factory=Flush)
    slot: str | None = Field(default=None, pattern=r"^[a-z0-9_]{1,63}$")
    publication: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_]{1,63}$")
    server_id: int | None = Field(default=None, ge=1, le=2**32 - 1)
    retry_for: float = RETRY_FOR
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)
    ddl: Any = None
    on_drop: Any = None
    on_failure: Any = None
    freshness: Any = None
    objective: Any = None
    every: Any = None
    keep_landed: Any = None

    @field_validator("retry_for", mode="before")
    @classmethod
    def _seconds(cls, value: Any) -> float:
        return RETRY_FOR if value is None else parse_duration(value)

    @field_validator("location")
    @classmethod
    def _folder(cls, location: str | None) -> str | None:
        # capture writes there, and models read it there: both are to understand it alike
        if location is not None and re.search(r"^\w[\w.+-]+:|[*?\[\]{}]", location):
            raise ValueError(
                "must be a folder of this machine, without URI, Jinja or any of *?[]{}. "
                f"Write a plain path; found: {location!r}"
            )
        return location

    @field_validator("options")
    @classmethod
    def _safe(cls, options: dict[str, Any]) -> dict[str, Any]:
        problems = []
        for name in options:
            for refused, instead in REFUSED.items():
                if name == refused or (refused != "name" and name.startswith(refused)):
                    problems.append(f"{name} cannot be set" + (f" ({instead})" if instead else ""))
                    break
        if problems:
            raise ValueError("; ".join(problems))
        return options

    @model_validator(mode="after")
    def _fits(self) -> _Settings:
        problems = []
        for kind in ("include", "exclude"):
            problems += [
                f"{kind}: {pattern!r} is not <schema>.<table>"
                for pattern in getattr(self, kind)
                if pattern.count(".") != 1 or not all(pattern.split("."))
            ]
        for kind in ("include", "exclude"):
            problems += [
                f"columns.{kind}: {pattern!r} is not <schema>.<table>.<column>"
                for pattern in getattr(self.columns, kind)
                if pattern.count(".") != 2 or not all(pattern.split("."))
            ]
        problems += [
            f"connection.{name} has Jinja, which capture does not render: write {{env: NAME}}"
            for name in Connection.model_fields
            if "{{" in str(getattr(self.connection, name))
        ]
        if self.connection.database is None and self.connector not in BINLOG:
            problems.append(f"connection.database is missing: {self.connector} needs it. Add it")
        if self.connection.pdb is not None and self.connector != "oracle":
            problems.append("connection.pdb is a setting of oracle only: take it out")
        for name in ("slot", "publication"):
            if getattr(self, name) is not None and self.connector != "postgresql":
                problems.append(f"{name} is a setting of postgresql only: take it out")
        if self.server_id is not None and self.connector not in BINLOG:
            problems.append("server_id is a setting of mysql and mariadb only: take it out")
        if problems:
            raise ValueError("; ".join(problems))
        return self


@dataclass(frozen=True)
class Login:
    """A connection with its values read from the environment."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str | None = None
    pdb: str | None = None


@dataclass(frozen=True)
class CaptureConfig:
    """The capture of one source, validated.

    Example:
        >>> config = CaptureConfig.from_dict("shop", {
        ...     "connector": "postgresql",
        ...     "connection": {"host": "db", "database": "shop", "user": "tidemark",
        ...                    "password": {"env": "SHOP_PASSWORD"}},
        ...     "include": ["public.*"],
        ... })
        >>> config.slot, config.publication
        ('tidemark_shop', 'tidemark_shop')
    """

    source: str
    connector: Connector
    connection: Connection
    slot: str
    publication: str
    server_id: int
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    columns: Columns = field(default_factory=Columns)
    location: str | None = None
    snapshot: Literal["initial", "no_data"] = "initial"
    flush: Flush = field(default_factory=Flush)
    retry_for: float = RETRY_FOR
    options: Mapping[str, str] = field(default_factory=dict)
    operating: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, source: str, settings: Any) -> CaptureConfig:
        """Return the settings of a source.

        Raises:
            ConfigError: They have errors; the message lists all.
        """
        where = f"source {source!r}, config.meta.tidemark.replicator"
        if not isinstance(settings, Mapping):
            raise ConfigError(f"{where}: must be a mapping of settings, found: {settings!r}")
        try:
            parsed = _Settings.model_validate(dict(settings))
        except ValidationError as error:
            problems = "\n".join(f"  - {problem}" for problem in problems_of(error))
            raise ConfigError(f"{where}:\n{problems}") from None
        return cls(
            source=source,
            connector=parsed.connector,
            connection=parsed.connection,
            slot=parsed.slot or f"tidemark_{_slug(source)}"[:63],
            publication=parsed.publication or f"tidemark_{_slug(source)}"[:63],
            # any number that no other replica of the server has
            server_id=parsed.server_id or 1_000_000 + zlib.crc32(source.encode()) % 1_000_000_000,
            include=tuple(parsed.include),
            exclude=tuple(parsed.exclude),
            columns=parsed.columns,
            location=parsed.location,
            snapshot=parsed.snapshot,
            flush=parsed.flush,
            retry_for=parsed.retry_for,
            options={name: _text(value) for name, value in parsed.options.items()},
            operating={
                name: getattr(parsed, name)
                for name in OPERATING
                if getattr(parsed, name) is not None
            },
        )

    @property
    def topic_prefix(self) -> str:
        """The name that the source has in topics and envelopes."""
        return _slug(self.source)

    def landing(self, project: Path, home: Path) -> Path:
        """Return the landing folder: a relative `location` is one of the project."""
        if self.location is None:
            return home / "landing" / self.source
        return (project / Path(self.location).expanduser()).absolute()

    def login(self, environ: Mapping[str, str]) -> Login:
        """Return the connection with the values of environment variables.

        Raises:
            ConfigError: Some are not set; the message lists all.
        """
        missing: list[str] = []

        def read(value: Value | None) -> str | None:
            if not isinstance(value, FromEnvironment):
                return None if value is None else str(value)
            if value.env not in environ:
                missing.append(value.env)
            return environ.get(value.env)

        values = {name: read(getattr(self.connection, name)) for name in Connection.model_fields}
        if missing:
            raise ConfigError(
                f"source {self.source!r}: these environment variables are not set: "
                f"{', '.join(missing)}. Set them, and start again"
            )
        port = values["port"] or str(PORTS[self.connector])
        if not port.isdigit():
            raise ConfigError(
                f"source {self.source!r}: connection.port must be a whole number, found: {port!r}"
            )
        return Login(
            host=values["host"] or "",
            port=int(port),
            user=values["user"] or "",
            password=values["password"] or "",
            database=values["database"],
            pdb=values["pdb"],
        )


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9_]", "_", name.lower())


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def problems_of(error: ValidationError) -> list[str]:
    """Return what is wrong with settings, one problem after the other."""
    problems = []
    for item in error.errors():
        place = ".".join(
            str(part)
            for part in item["loc"]
            # pydantic names the member of a union that it tried
            if part not in ("str", "int", "FromEnvironment", "float", "bool")
        )
        if item["type"] == "extra_forbidden":
            problem = f"{place} is no setting{_nearest(item['loc'])}"
        elif item["type"] == "missing":
            problem = f"{place} is missing"
        elif item["type"] == "value_error":
            text = item["msg"].removeprefix("Value error, ")
            problem = f"{place}: {text}" if place else text
        else:
            problem = f"{place}: {item['msg']}, found: {item['input']!r}"
        if problem not in problems:
            problems.append(problem)
    return problems


def _nearest(location: Sequence[str | int]) -> str:
    models: dict[str, type[BaseModel]] = {
        "connection": Connection,
        "flush": Flush,
        "columns": Columns,
    }
    model = models.get(str(location[0])) if len(location) > 1 else _Settings
    if model is None or len(location) > 2:
        return ""
    near = difflib.get_close_matches(str(location[-1]), model.model_fields, n=1)
    return f": did you mean {near[0]!r}?" if near else ""
