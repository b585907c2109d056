"""Fixtures of all rings. `project` is a throw-away dbt project that has this package installed.

Example, told day by day:

    def test_two_days(project):
        project.write("models/cities.sql", "{{ config(materialized='table') }} select 1 as id")
        project.dbt("run")                                                   # day 1
        assert project.sql("select * from cities") == [(1,)]
        result = project.dbt("run", vars={"business_date": "2026-03-04"}, expect_pass=False)
        assert "no file" in result.error

Spark's session and its warehouse are shared by the whole process (starting Spark takes seconds);
every project has a schema and a folder of its own. Relative paths are relative to the project.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest

from tests import costs, statements, tenths, turns
from tests.both_ways import BOTH, SPARK, WORKERS
from tests.hash_vectors import PEPPER
from tests.thrift_server import ThriftServer, thrift_server

REPO = Path(__file__).resolve().parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    costs.options(parser)
    statements.options(parser)
    turns.options(parser)
    parser.addoption(
        "--update-pictures", action="store_true", help="Take the pictures of the pages anew."
    )
    parser.addoption(
        "--iceberg", action="store_true", help="The stories that say so, with tables of Iceberg."
    )


#: A picture of the pages is at most this large
LARGEST_PICTURE = 300_000


@pytest.fixture
def picture(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., None]:
    """Takes a picture of a browser's page or of a part of it: into the repository if asked to."""
    is_kept = request.config.getoption("--update-pictures")

    def take(shown: Any, name: str) -> None:
        path = REPO / name if is_kept else tmp_path / Path(name).name
        shown.screenshot(path=path, animations="disabled")
        assert path.stat().st_size < LARGEST_PICTURE, name
        if is_kept:
            from tests.pictures import record

            record(name)

    return take


def pytest_configure(config: pytest.Config) -> None:
    costs.configure(config)
    statements.configure(config)
    turns.configure(config)
    # a shell's background job ignores an interrupt, and so would every process that a test starts
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("--iceberg"):
        Project.file_format = "iceberg"


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [tenths.IS_INTERPRETED.told(), tenths.BOTH_WAYS.told(), turns.recorded_turn(config)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    name = metafunc.module.__name__.rpartition(".")[2]
    if "functional" in metafunc.module.__name__ and tenths.BOTH_WAYS.has(name):
        metafunc.parametrize("ways_of_the_day", [WORKERS, SPARK], indirect=True, scope="module")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    costs.long_files_first(items)
    # a process has a session of Delta or of Iceberg: stories are for both, for Delta, or for Iceberg
    wanted = "iceberg" if Project.file_format == "iceberg" else "delta"
    left_out = {item for item in items if wanted not in _formats_of(item)}
    left_out |= {*turns.left_out(config, items)}
    left_out |= {item for item in items if item.get_closest_marker("one_way") and _is_second(item)}
    config.hook.pytest_deselected(items=[*left_out])
    items[:] = [item for item in items if item not in left_out]


def _is_second(item: pytest.Item) -> bool:
    """Say whether a test is told once more, by Spark SQL alone."""
    told = getattr(item, "callspec", None)
    return told is not None and told.params.get("ways_of_the_day") == SPARK


def _formats_of(item: pytest.Item) -> tuple[str, ...]:
    mark = item.get_closest_marker("iceberg")
    if mark is None:
        return ("delta",)
    if mark.kwargs.get("never"):
        return ("delta",)
    return ("iceberg",) if mark.kwargs.get("only") else ("delta", "iceberg")


@dataclass(frozen=True)
class DbtResult:
    """What one dbt invocation did.

    Attributes:
        success: dbt's own verdict.
        statuses: Status by node name: success, error, fail, pass, skipped, …
        messages: Message by node name.
        error: The messages of what failed, else "".
        output: What the user saw.
        raw: dbt's own result.
    """

    success: bool
    statuses: dict[str, str]
    messages: dict[str, str]
    error: str
    output: str
    raw: Any = field(repr=False)


class Project:
    """A dbt project of a test's own, run in this process."""

    target = "ci"
    file_format = "delta"
    spark_settings = tenths.COMPILED
    engine = "auto"

    def __init__(self, root: Path, schema: str, home: Path) -> None:
        self.root = root
        self.schema = schema
        self.home = home
        """TIDEMARK_HOME: warehouse, metastore and logs, shared by all projects of the process."""
        self._manifest: Any = None
        self._parsed: Any = None
        self._has_schema = False
        profiles = (REPO / "profiles" / "profiles.yml").read_text(encoding="utf-8")
        settings = "".join(
            f'        {key}: "{value}"\n' for key, value in self.spark_settings.items()
        )
        profiles = re.sub(r"(?m)^      server_side_parameters:\n", rf"\g<0>{settings}", profiles)
        self.write("profiles.yml", re.sub(r"(?m)^tidemark:", "tests:", profiles))
        self.write(
            "dbt_project.yml",
            """
            name: tests
            version: 1.0.0
            config-version: 2
            profile: tests
            flags: {send_anonymous_usage_stats: false, validate_macro_args: true}
            models: {tests: {+file_format: FORMAT}, tidemark: {+enabled: false}}
            seeds: {tests: {+file_format: FORMAT}, tidemark: {+enabled: false}}
            vars: {tidemark__commits_format: FORMAT, tidemark__engine: ENGINE}
            """.replace("FORMAT", self.file_format).replace("ENGINE", self.engine),
        )
        # What `dbt deps` does for `packages: [{local: …}]`, without its seconds.
        (root / "dbt_packages").mkdir()
        (root / "dbt_packages" / "tidemark").symlink_to(REPO, target_is_directory=True)

    def write(self, path: str, text: str) -> Path:
        """Write a file of the project; the indentation that all lines share is taken off."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return file

    def remove(self, path: str) -> None:
        """Delete a file of the project."""
        (self.root / path).unlink()

    def dbt(
        self, *arguments: str, vars: dict[str, Any] | None = None, expect_pass: bool | None = True
    ) -> DbtResult:
        """Run a dbt command.

        Args:
            *arguments: The command and its options, as on the command line.
            vars: `--vars`.
            expect_pass: Fail the test if dbt's verdict is another one; None takes either.
        """
        given = ["--vars", json.dumps(vars, default=str)] if vars else []
        lines: list[str] = []
        raw = None
        if arguments[0] in ("run", "run-operation", "test", "build", "compile"):
            raw = self._parse(given, lines)
        if raw is None:
            raw = self._invoke([*arguments, *given], lines, self._manifest)
        result = _result(raw, "\n".join(lines))
        if expect_pass is not None and result.success != expect_pass:
            verdict = "passed" if result.success else "failed"
            pytest.fail(
                f"dbt {' '.join(arguments)} {verdict}\n{result.error or result.output}",
                pytrace=False,
            )
        BOTH.after(self, f"dbt {' '.join(arguments)}", result.messages)
        return result

    def _parse(self, given: list[str], lines: list[str]) -> Any:
        """Have the project's files parsed, if they changed. What failed, else None."""
        from tidemark.run.varies import parsing_varies

        files = [
            (str(path), path.stat().st_mtime_ns, path.stat().st_size)
            for folder in ("models", "macros", "seeds", "tests", "snapshots", "analyses")
            for path in sorted([*(self.root / folder).rglob("*"), self.root / "dbt_project.yml"])
            if path.is_file()
        ]
        if self._manifest is None or self._parsed not in ((files, None), (files, given)):
            self._manifest = None
            raw = self._invoke(["parse", *given], lines, None)
            if not raw.success:
                return raw
            self._manifest = raw.result
            varies = parsing_varies(self._manifest, self.root)
            self._parsed = (files, given if varies else None)
        return None

    def _invoke(self, arguments: list[str], lines: list[str], manifest: Any) -> Any:
        from dbt.cli.main import dbtRunner

        from tidemark.run.nodes import fresh_copy

        def collect(event: Any) -> None:
            if event.info.level != "debug" and event.info.msg:
                lines.append(event.info.msg)

        os.environ["TIDEMARK_SCHEMA"] = self.schema
        command = [*arguments, "--project-dir", str(self.root), "--profiles-dir", str(self.root)]
        command += [
            "--target",
            self.target,
            "--no-use-colors",
            "--no-version-check",
            "--no-write-json",
        ]
        costs.count_call_of_dbt()
        # dbt writes into the nodes of a manifest
        copy = fresh_copy(manifest) if manifest is not None else None
        return dbtRunner(manifest=copy, callbacks=[collect]).invoke(command)

    def sql(self, query: str) -> list[Any]:
        """Run a statement in the project's schema and return its rows."""
        from tests.reading import small_tables

        session = self.session
        if not self._has_schema:
            session.sql(f"create database if not exists `{self.schema}`")
            self._has_schema = True
        session.catalog.setCurrentDatabase(self.schema)
        try:
            with small_tables(session, self.schema, query):
                return list(session.sql(textwrap.dedent(query)).collect())
        finally:
            session.catalog.setCurrentDatabase("default")

    def query(self, query: str) -> list[Any]:
        """Run a query that names its schema, in any thread, and return its rows."""
        return list(self.session.sql(query).collect())

    def columns(self, table: str) -> list[str]:
        """The names of a table's columns, in order."""
        names = (row.col_name for row in self.sql(f"describe table {table}"))
        # what follows are its partitions
        return list(itertools.takewhile(lambda name: name and not name.startswith("#"), names))

    def version(self, table: str) -> int:
        """How many commits a table has had."""
        if self.file_format == "iceberg":
            return len(self.sql(f"select 1 from spark_catalog.{self.schema}.{table}.snapshots"))
        return int(self.sql(f"describe history {table} limit 1")[0].version)

    def folder_of(self, table: str) -> Path:
        """Where the files of a table are."""
        for row in self.sql(f"describe table extended {table}"):
            if row.col_name == "Location":
                return Path(urlparse(row.data_type).path)
        raise LookupError(table)

    def undo(self, table: str) -> None:
        """Take the last commit of a table away, as if who made it had died before."""
        if self.file_format == "iceberg":
            name = f"{self.schema}.{table}"
            (row,) = self.sql(
                f"select parent_id from spark_catalog.{name}.history where is_current_ancestor "
                "order by made_current_at desc limit 1"
            )
            self.sql(f"call spark_catalog.system.set_current_snapshot('{name}', {row.parent_id})")
            return
        (detail,) = self.sql(f"describe detail {table}")
        log = Path(urlparse(detail.location).path) / "_delta_log"
        last = max(log.glob("[0-9]*.json")).stem
        assert not list(log.glob(f"{last}.checkpoint*")), "Delta remembers it"
        for file in log.glob(f"*{last}*"):
            file.unlink()
        self.session._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        self.session.catalog.refreshTable(f"`{self.schema}`.`{table}`")

    @property
    def session(self) -> Any:
        """The Spark session that dbt uses."""
        from tidemark.spark.session import current_session

        if current_session() is None:
            self.dbt("debug", "--connection")
        return current_session()


class ThriftProject(Project):
    """A project by `method: thrift`: dbt and `sql()` are clients of a Thrift server."""

    target = "thrift"

    def __init__(self, root: Path, schema: str, server: ThriftServer) -> None:
        super().__init__(root, schema, root)
        self.server = server

    def sql(self, query: str) -> list[Any]:
        schema = f"`{self.schema}`"
        use = (f"create database if not exists {schema}", f"use {schema}")
        return self.server.sql(*use, textwrap.dedent(query))

    def query(self, query: str) -> list[Any]:
        return self.server.sql(query)

    @property
    def session(self) -> Any:
        raise LookupError("Spark is at the other end of a wire")


def _result(raw: Any, output: str) -> DbtResult:
    nodes = getattr(raw.result, "results", None) or []
    statuses, messages = {}, {}
    for node in nodes:
        name = getattr(getattr(node, "node", None), "name", None)
        if name is not None:
            statuses[name] = str(getattr(node.status, "value", node.status))
            messages[name] = str(node.message or "")
    failed = [messages[name] for name, status in statuses.items() if status in ("error", "fail")]
    if raw.exception is not None:
        failed.append(str(raw.exception))
    return DbtResult(bool(raw.success), statuses, messages, "\n".join(failed), output, raw)


@pytest.fixture(scope="session")
def parsed_package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have the package parsed once: dbt goes on from there with the files of each project, in a tenth of the time.

    What is parsed here has the package's macros and none of its models: the schema, the target and the vars that
    dbt would parse anew for make no difference to it.
    """
    from dbt.contracts.graph.manifest import Manifest
    from dbt.parser import manifest as parser

    read = parser.ManifestLoader.read_manifest_for_partial_parse

    def read_or_begin(loader: Any) -> Any:
        saved = read(loader)
        if saved is not None or loader.root_project.credentials.type != "tidemark":
            return saved
        begun = Manifest.from_msgpack(data, decoder=parser.extended_mashumuro_decoder)
        # nothing changes a macro that is parsed, and they are most of what would be decoded
        begun.macros = {**macros}
        known, begun.state_check = begun.state_check, loader.manifest.state_check
        return begun if known.project_hashes == begun.state_check.project_hashes else None

    template = Project(tmp_path_factory.mktemp("template"), "template", Path())
    template.dbt("parse")
    file = next(template.root.rglob("partial_parse.msgpack"))
    known = Manifest.from_msgpack(file.read_bytes(), decoder=parser.extended_mashumuro_decoder)
    macros, known.macros = known.macros, {}
    data = known.to_msgpack(parser.extended_mashumaro_encoder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parser.ManifestLoader, "read_manifest_for_partial_parse", read_or_begin)
        yield


@pytest.fixture(scope="session")
def tidemark_test_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """TIDEMARK_HOME of the test process; Spark is stopped when the tests are over."""
    home = tmp_path_factory.mktemp("home")
    patch = pytest.MonkeyPatch()
    patch.setenv("TIDEMARK_HOME", str(home))
    patch.setenv("TIDEMARK_SCHEMA", "tidemark")
    # one process runs a dozen modules: with 1 GiB it collects garbage more than it tests
    patch.setenv("TIDEMARK_DRIVER_MEMORY", "3g")
    # Spark reads it from the environment that its JVM was started with
    patch.setenv("TIDEMARK_PEPPER", PEPPER)
    for name in ("DBT_TARGET_PATH", "DBT_LOG_PATH", "DBT_PROFILES_DIR", "TIDEMARK_TARGET"):
        patch.delenv(name, raising=False)
    yield home
    patch.undo()
    from tidemark.spark.session import stop_session

    stop_session()


_numbers = itertools.count(1)


def _slug(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").lower()[:40]


@pytest.fixture(scope="session")
def make_project(
    tidemark_test_home: Path,
    parsed_package: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], Project]:
    """Return a function that makes a project: name → Project."""

    def make(name: str) -> Project:
        slug = _slug(name)
        return Project(
            tmp_path_factory.mktemp(slug), f"{slug}_{next(_numbers)}", tidemark_test_home
        )

    return make


@pytest.fixture(scope="session")
def make_thrift_project(
    tidemark_test_home: Path,
    parsed_package: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], ThriftProject]]:
    """The same at a Thrift server with Delta, which is there for all tests of the process that want one."""
    with thrift_server(tmp_path_factory.mktemp("thrift")) as server:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TIDEMARK_THRIFT_PORT", str(server.port))

            def make(name: str) -> ThriftProject:
                slug = _slug(name)
                return ThriftProject(
                    tmp_path_factory.mktemp(slug), f"{slug}_{next(_numbers)}", server
                )

            yield make


@pytest.fixture(scope="module", autouse=True)
def ways_of_the_day(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let a module's projects load as those of users do, interpreted, or by Spark SQL alone, as a comparison."""
    name = request.module.__name__.rpartition(".")[2]
    way = getattr(request, "param", None)
    settings = tenths.INTERPRETED if tenths.IS_INTERPRETED.has(name) else tenths.COMPILED
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Project, "spark_settings", settings)
        patch.setattr(Project, "engine", "spark" if way == SPARK else "auto")
        BOTH.begin_module(way)
        yield
        BOTH.begin_module(None)


@pytest.fixture(autouse=True)
def compared_test(request: pytest.FixtureRequest, ways_of_the_day: None) -> Iterator[None]:
    """Have what a test leaves behind compared, where its module runs both ways."""
    BOTH.begin_test(request.node)
    yield
    BOTH.end_test()


@pytest.fixture
def project(request: pytest.FixtureRequest, make_project: Callable[[str], Project]) -> Project:
    """A project of this test alone."""
    return make_project(request.node.name)


@pytest.fixture(scope="module")
def module_project(
    request: pytest.FixtureRequest, make_project: Callable[[str], Project], ways_of_the_day: None
) -> Project:
    """A project that the tests of a module share."""
    return make_project(request.module.__name__.rpartition(".")[2])


@pytest.fixture(scope="module", autouse=True)
def no_views_left() -> Iterator[None]:
    """Drop a module's temporary views: they would hide tables of the modules that come after it."""
    yield
    loaded = sys.modules.get("tidemark.spark.session")
    session = loaded.current_session() if loaded is not None else None
    if session is not None:
        for row in session.sql("show views in default").collect():
            if row.isTemporary:
                session.catalog.dropTempView(row.viewName)
