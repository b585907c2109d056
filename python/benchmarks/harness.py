"""What every benchmark needs: a throw-away dbt project, a clock, and the table of results."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).resolve().parent / "results"
MEMORY_VARIABLE = "BENCH_MEMORY"
HEADING = """
# Results

Measured of commit `{commit}` {dates}: {about}.{lacking}

`make bench` writes this file when all workloads are measured of one commit. The machine does other things as well, so seconds
differ from run to run: what counts are the ratios of rows of one table. "ours takes" is the seconds of Tidemark's row as a multiple
of those of the other row. Tidemark's seconds are those of dbt's models, unless the row says that a process was timed; floors and
peers run in the same Spark session with the same settings.
"""
DIRTY = "-dirty"


@dataclass
class Timing:
    """One measurement: wall seconds, seconds of CPU of this process and its JVM, bytes that were spilled to disk."""

    seconds: float
    cpu: float = 0.0
    spilled: int = 0
    jobs: int = 0
    statements: int = 0


@dataclass
class Series:
    """What one contender took, round by round.

    Args:
        name: What the workload calls it.
        what: What the table says it is.
        count: Rows or events of a round, for a column of how many there were in a second.
        compared: Whether it is compared with ours.
    """

    name: str
    what: str
    rounds: list[Timing] = field(default_factory=list)
    count: int = 0
    compared: bool = True

    def median(self, of: str = "seconds") -> float:
        """The median of the rounds."""
        return statistics.median(getattr(timing, of) for timing in self.rounds)

    def spread(self) -> str:
        """The least and the greatest."""
        seconds = [timing.seconds for timing in self.rounds]
        return f"{min(seconds):.1f} to {max(seconds):.1f}"


class Bench:
    """A dbt project in a temporary folder that has this package installed, and its Spark session.

    Args:
        models: Files of the project, path to text.
        memory: The JVM's heap, as `spark.driver.memory` takes it; BENCH_MEMORY goes before it.
        file_format: The format of its tables.
    """

    def __init__(
        self, models: dict[str, str], memory: str = "2g", file_format: str = "delta"
    ) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="tidemark_bench_"))
        self.home = self.root / "home"
        self.memory = os.environ.get(MEMORY_VARIABLE) or memory
        self.spilled = ("", -1, 0)
        self.landing = self.root / "landing"
        self.landing.mkdir()
        profile = (REPO / "profiles" / "profiles.yml").read_text()
        self.write("profiles.yml", profile.replace("\ntidemark:", "\nbench:"))
        self.write(
            "dbt_project.yml",
            """
            name: bench
            version: 1.0.0
            profile: bench
            flags: {send_anonymous_usage_stats: false}
            models: {tidemark: {+enabled: false}, bench: {+file_format: FORMAT}}
            vars: {tidemark__commits_format: FORMAT}
            """.replace("FORMAT", file_format),
        )
        for path, text in models.items():
            self.write(path, text)
        (self.root / "dbt_packages").mkdir()
        (self.root / "dbt_packages" / "tidemark").symlink_to(REPO)
        os.environ.update(self.environment())

    def environment(self) -> dict[str, str]:
        """What a process of this project is told by its environment."""
        return {
            "TIDEMARK_HOME": str(self.home),
            "TIDEMARK_DRIVER_MEMORY": self.memory,
            "DBT_LOG_PATH": str(self.home / "logs"),
            "DBT_TARGET_PATH": str(self.home / "target"),
            "DBT_PROJECT_DIR": str(self.root),
            "DBT_PROFILES_DIR": str(self.root),
        }

    def write(self, path: str, text: str) -> None:
        """Write a file of the project."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(text))

    def dbt(self, *arguments: str) -> Timing:
        """Run dbt in this process; the seconds are those of its models, snapshots and seeds."""
        seen = self._counts()
        results = self._invoke(*arguments)
        now = self._counts()
        seconds = sum(node.execution_time for node in results)
        return Timing(seconds, *(after - before for before, after in zip(seen, now, strict=True)))

    def compiled(self, text: str) -> str:
        """The SQL that dbt makes of a template."""
        return str(self._invoke("compile", "--inline", text)[0].node.compiled_code)

    def _invoke(self, *arguments: str) -> Any:
        from dbt.cli.main import dbtRunner

        with contextlib.redirect_stdout(io.StringIO()):  # what is shown or compiled is printed
            result: Any = dbtRunner().invoke(["--quiet", *arguments])
        if not result.success:
            told = [result.exception, *(one.message for one in result.result or () if one.message)]
            sys.exit(f"dbt {arguments[0]} failed: {' '.join(str(one) for one in told if one)}")
        return result.result.results

    def run(self, date: str, *arguments: str) -> Timing:
        """`dbt run` of one business date."""
        return self.dbt("run", "--vars", f"{{business_date: '{date}'}}", *arguments)

    def time(self, work: Callable[[], object]) -> Timing:
        """Time something else in the same session."""
        seen, started = self._counts(), time.monotonic()
        work()
        seconds, now = time.monotonic() - started, self._counts()
        return Timing(seconds, *(after - before for before, after in zip(seen, now, strict=True)))

    def process(self, *command: str) -> Timing:
        """Time a process of its own. An embedded metastore is one process's: this one's session is stopped."""
        self.stop()
        before, started = os.times(), time.monotonic()
        done = subprocess.run(
            (program(command[0]), *command[1:]),
            env={**os.environ, **self.environment()},
            cwd=self.root,
            capture_output=True,
            text=True,
        )
        seconds, after = time.monotonic() - started, os.times()
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        cpu = after.children_user + after.children_system
        return Timing(seconds, cpu - before.children_user - before.children_system)

    def overwrite(self, schema: str, path: str) -> Timing:
        """The floor of an extract: read the CSV, overwrite a Delta table."""

        def work() -> None:
            rows = self.session.read.csv(path, schema=schema, header=True)
            rows.write.format("delta").mode("overwrite").saveAsTable("peers.floor")

        return self.time(work)

    def snapshot(self, schema: str, path: str) -> Timing:
        """Run the project's dbt snapshot of an extract, see snapshot_of()."""
        self.session.sql("drop table if exists peers.csv_of_the_day")
        self.session.sql(
            f"create table peers.csv_of_the_day ({schema}) using csv options (header 'true', path '{path}')"
        )
        return self.dbt("snapshot")

    @property
    def session(self) -> Any:
        """The Spark session that dbt uses."""
        from tidemark.spark.session import current_session

        session = current_session()
        if session is None:
            self._invoke("show", "--inline", "select 1")
            session = current_session()
        return session

    def stop(self) -> None:
        """Stop the session."""
        from tidemark.spark.session import stop_session

        stop_session()

    def drop(self) -> None:
        """Forget all tables: the next round begins with nothing."""
        session = self.session
        for row in session.sql("show databases").collect():
            if row[0] != "default":
                session.sql(f"drop database if exists `{row[0]}` cascade")

    def close(self) -> None:
        """Stop the session and remove the folder."""
        self.stop()
        shutil.rmtree(self.root, ignore_errors=True)

    def peak_memory(self) -> float:
        """The most memory that the JVM has held, in GiB."""
        for process in self._jvms():
            with contextlib.suppress(OSError):
                for line in Path(f"/proc/{process}/status").read_text().splitlines():
                    if line.startswith("VmHWM"):
                        return int(line.split()[1]) / 2**20
        return float("nan")

    def _jvms(self) -> list[str]:
        """The JVM of this process."""
        found = []
        for entry in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                name, rest = entry.read_text().rsplit(")", 1)
                if name.endswith("(java") and int(rest.split()[1]) == os.getpid():
                    found.append(entry.parent.name)
        return found

    def _counts(self) -> tuple[float, int, int, int]:
        from tests.costs import spent_so_far

        from tidemark.spark.session import current_session

        # of this process, Spark's JVM and the Python workers below it
        cpu = spent_so_far().cpu
        session = current_session()
        if session is None:
            return cpu, self.spilled[2], 0, 0
        # Spark forgets executions: the number of the last one says how many there were
        executions = session._jsparkSession.sharedState().statusStore().executionsList()
        executed = executions.last().executionId() + 1 if executions.size() else 0
        tracker = session.sparkContext._jsc.sc().dagScheduler()
        return cpu, self._spilled(session.sparkContext), int(tracker.nextJobId()), int(executed)

    def _spilled(self, context: Any) -> int:
        """Bytes spilled so far. Spark forgets stages, so that those that are new are added at every call."""
        application, last, spilled = self.spilled
        if application != context.applicationId:
            last = -1
        new = list(itertools.takewhile(lambda stage: stage[0] > last, _spills(context)))
        spilled += sum(size for _, size in new)
        last = max((number for number, _ in new), default=last)
        self.spilled = (context.applicationId, last, spilled)
        return spilled


def _spills(context: Any) -> Iterator[tuple[int, int]]:
    """Number of each stage that a session still knows, newest first, and bytes that its tasks spilled to disk."""
    jvm = context._jvm
    every = jvm.java.util.ArrayList()
    quantiles = context._gateway.new_array(jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(every, False, False, quantiles, every)
    for place in range(stages.size()):
        stage = stages.apply(place)
        yield int(stage.stageId()), int(stage.diskBytesSpilled())


def columns_yaml(schema: str) -> str:
    """The columns of a schema, `name type` parted by commas, as a model's YAML has them."""
    columns = [column.split(" ") for column in schema.split(", ")]
    return "\n".join(f'      - {{name: {name}, data_type: "{kind}"}}' for name, kind in columns)


def snapshot_of(key: str) -> dict[str, str]:
    """Files of a dbt snapshot of the CSV of the day, by check of all columns; `key` is SQL for the one key that it takes."""
    return {
        "snapshots/extract_snapshot.sql": "{% snapshot extract_snapshot %}\n"
        "{{ config(unique_key='snapshot_key', strategy='check', check_cols='all', hard_deletes='invalidate', "
        "file_format='delta', target_schema='peers') }}\n"
        f"select {key} as snapshot_key, * from peers.csv_of_the_day\n"
        "{% endsnapshot %}\n"
    }


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(REPO), *arguments], capture_output=True, text=True
    ).stdout.strip()


def commit() -> str:
    """The commit of the sources, with `-dirty` where they are not as it has them."""
    # what the workloads before have written is no other code
    ours = [f":!python/benchmarks/{name}" for name in ("results", "RESULTS.md")]
    changed = _git("status", "--porcelain", "--", ".", *ours)
    head = _git("rev-parse", "--short=12", "HEAD")
    return head + (DIRTY if changed or not head else "")


def program(name: str) -> str:
    """A program of this Python's environment, which need not be activated; else the first on the PATH."""
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    found = beside or shutil.which(name)
    if found is None:
        sys.exit(f"{name} is neither beside {sys.executable} nor on the PATH: make setup-dev")
    return found


def check_programs() -> None:
    """Stop where a program is missing that a workload calls, before any is measured."""
    from tidemark.errors import JavaError
    from tidemark.java import check_java

    for name in ("dbt", "git"):
        program(name)
    try:
        check_java()
    except JavaError as error:
        sys.exit(str(error))


def machine() -> dict[str, str]:
    """What the figures were measured on and with."""
    from importlib.metadata import version

    memory = 0
    with contextlib.suppress(OSError):
        memory = int(Path("/proc/meminfo").read_text().split()[1]) // 2**20
    return {
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "pyspark": version("pyspark"),
        "dbt-core": version("dbt-core"),
        "tidemark": commit(),
        "date": time.strftime("%Y-%m-%d"),
    }


@dataclass
class Result:
    """One workload's table: the series, what each is compared with, and what else was noted.

    Args:
        name: Letter and short name of the workload.
        what: What it is, in a sentence.
        ours: Name of the series that others are compared with.
        rounds: What each series was measured several times of.
        over: What a column says that has the others over ours; none: it has ours over the others.
    """

    name: str
    what: str
    ours: str
    series: list[Series] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rounds: str = "rounds"
    over: str = ""

    def add(self, name: str, what: str, count: int = 0, compared: bool = True) -> Series:
        """Begin a series."""
        self.series.append(Series(name, what, count=count, compared=compared))
        return self.series[-1]

    def table(self) -> str:
        """The table in Markdown: medians, spreads and ratios."""
        ours = next(series for series in self.series if series.name == self.ours).median()
        counted = any(series.count for series in self.series)
        lines = [
            f"### {self.name}",
            "",
            self.what,
            "",
            f"| | median s | spread | CPU s | {self.over or 'ours takes'} |{' a second |' if counted else ''}",
            f"|---|---:|---:|---:|---:|{'---:|' if counted else ''}",
        ]
        for series in self.series:
            compared = series.compared and series.name != self.ours
            times = series.median() / ours if self.over else ours / series.median()
            ratio = f"{times:.2f} x" if compared else ""
            cpu = series.median("cpu")
            # a process that leaves its JVM behind is not counted by the system
            told = f"{cpu:.0f}" if cpu >= 1 else ""
            line = (
                f"| {series.what} | {series.median():.1f} | {series.spread()} | {told} | {ratio} |"
            )
            if counted:
                line += f" {series.count / series.median():,.0f} |" if series.count else " |"
            lines.append(line)
        rounds = max(len(series.rounds) for series in self.series)
        notes = [f"{rounds} {self.rounds}." if rounds > 1 else "One round.", *self.notes]
        return "\n".join([*lines, "", " ".join(notes), ""])

    def save(self) -> None:
        """Write the table where `render` finds it."""
        RESULTS.mkdir(exist_ok=True)
        letter = self.name.split()[0].strip("()")
        (RESULTS / f"{letter}.md").write_text(self.table())
        rounds = {s.name: [vars(timing) for timing in s.rounds] for s in self.series}
        (RESULTS / f"{letter}.json").write_text(
            json.dumps({"machine": machine(), "rounds": rounds}, indent=1) + "\n"
        )


def measured() -> dict[str, dict[str, str]]:
    """The workloads that have been measured: letter → what it was measured on and with."""
    return {
        path.stem: json.loads(path.read_text())["machine"]
        for path in sorted(RESULTS.glob("*.json"))
    }


def rendered(letters: Sequence[str], commit: str) -> str:
    """The text of RESULTS.md: what has been measured of a commit, in the order of the letters."""
    of_it = {name: one for name, one in measured().items() if one["tidemark"] == commit}
    dates = sorted({one["date"] for one in of_it.values()})
    # of several machines or versions each is told
    told = {key: sorted({one[key] for one in of_it.values()}) for key in next(iter(of_it.values()))}
    about = ", ".join(
        f"{key} {' and '.join(told[key])}" for key in told if key not in ("tidemark", "date")
    )
    lacking = [f"({letter})" for letter in letters if letter not in of_it]
    heading = HEADING.lstrip().format(
        commit=commit,
        about=about,
        dates=f"on {dates[0]}" if len(dates) == 1 else f"from {dates[0]} to {dates[-1]}",
        lacking=f" Not measured of it: {', '.join(lacking)}." if lacking else "",
    )
    tables = [(RESULTS / f"{letter}.md").read_text() for letter in letters if letter in of_it]
    return "\n".join([heading, *tables])


def render(letters: Sequence[str]) -> None:
    """Write RESULTS.md if all of these workloads are measured of one commit; else say which are not."""
    of_commit = {letter: one["tidemark"] for letter, one in measured().items()}
    now = commit()
    lacking = [letter for letter in letters if of_commit.get(letter) != now]
    if lacking:
        progress(f"RESULTS.md stays: not yet measured of {now}: {', '.join(lacking)}")
    else:
        (RESULTS.parent / "RESULTS.md").write_text(rendered(letters, now))


def progress(text: str) -> None:
    """Say what is being measured."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def opened(bench: Bench) -> Iterator[Bench]:
    """Close a bench whatever happens."""
    try:
        yield bench
    finally:
        bench.close()
