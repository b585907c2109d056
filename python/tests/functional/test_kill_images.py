"""What `kill -9` would leave at random moments of loads, each recovered by a plain run and compared with the oracle.

A kill leaves what lies on the disk. So one warm process loads date after date and is frozen (SIGSTOP, with its JVM and its
Python workers) at random moments of each load; what lies there then is copied, and it goes on. Each copy, an image, is put in
the place of the warehouse of this process, which runs the same date; of images of a load that agree in what a run can see there
(`Scene.seen`), the last, which has most of what nobody sees. The last freeze ends in a real SIGKILL, which must leave
just the image. Kills of cold processes, with their metastore, are in test_kill.py.

TIDEMARK_TEST_IMAGES says how many images a flow gets, TIDEMARK_TEST_SEED makes the inputs anew; so many images can be had in
portions, each of a flow (`-k "delta"`) and a seed.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.tidemark import rows
from tidemark.spark.known_rows import KnownRows

from .freezing import Loader, Session
from .killing import FLOWS, STILL_IN_FLIGHT, Flow, Stored

IMAGES = int(os.environ.get("TIDEMARK_TEST_IMAGES", "24"))
SEED = int(os.environ.get("TIDEMARK_TEST_SEED", "20260304"))
COLD = 2
"""Loads of an engine before the first of which there are images."""
NOBODY = 2**22 + 1
"""No process has this number."""
BY_WORKERS = 0.8
"""Of images that either engine may recover, so many are recovered by the workers, which are faster."""
PHASES = (
    "nothing", "files without a commit", "in flight", "beside the log", "log", "current",
    "entity completed", "derived", "completed",
)  # fmt: skip
"""What a load has written, the last of these; what is derived is loaded after its entity is completed."""


Files = frozenset[tuple[Path, int, int]]
"""Path, bytes and time of each."""


@dataclass(frozen=True)
class Image:
    """What lies there at a moment of a load.

    Attributes:
        folder: The copy.
        phase: How far the load was.
        seen: What a run can see of it.
    """

    folder: Path
    phase: str
    seen: Files


@dataclass
class Scene:
    """A flow, who loads it, and what is known before a load begins."""

    flow: Flow
    loader: Loader
    folder: Path
    of_a_load: int = 10
    """Random moments of one load; there are others, which follow its commits."""
    commits: dict[str, int] = field(default_factory=dict)
    data: set[Path] = field(default_factory=set)
    completed: int = 0
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """What each load by an engine took."""
    taken: dict[Files, Image] = field(default_factory=dict)
    """Of this load."""

    def begin(self, number: int, engine: str) -> float:
        """Have a date loaded; when its model began."""
        self.taken.clear()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.loader.schema.exists():
            self.commits, self.data = commits_in(self.loader.schema), data_in(self.loader.schema)
            self.completed = completed_in(self.loader.schema)
        self.flow.land(number)
        self.loader.begin(self.flow, number, engine)
        return time.monotonic()

    def take(self) -> Image:
        """Copy what lies there, unless it is as before; the loader is frozen."""
        tasks = list((self.loader.home / "tmp").glob("engine-*"))
        files = files_in(self.loader.schema, *tasks)
        if files not in self.taken:
            folder = self.folder / str(len(self.taken))
            (folder / "tmp").mkdir(parents=True)
            subprocess.run(["cp", "-a", self.loader.schema, folder / "schema"], check=True)
            for task in tasks:
                # of a process that is no more, as it were
                name = task.name.replace(f"-{self.loader.process.pid}-", f"-{NOBODY}-")
                subprocess.run(["cp", "-a", task, folder / "tmp" / name], check=True)
            self.taken[files] = Image(folder, self.phase(folder / "schema"), self.seen(files))
        return self.taken[files]

    def seen(self, files: Files) -> Files:
        """What a run can see of these: commits, whole slices and folders of tasks, but no data file that no commit names."""
        tasks = self.loader.home / "tmp"
        folders = {
            tasks / file[0].relative_to(tasks).parts[0]
            for file in files
            if file[0].is_relative_to(tasks)
        }
        told = {
            file for file in files if "_delta_log" in file[0].parts or file[0].name == "_SUCCESS"
        }
        return frozenset(told | {(folder, 0, 0) for folder in folders})

    def phase(self, schema: Path) -> str:
        """How far the load was."""
        made = {
            name for name, count in commits_in(schema).items() if count > self.commits.get(name, 0)
        }
        completed = completed_in(schema) - self.completed
        if completed == self.flow.models:
            return "completed"
        if made & set(self.flow.derived):
            return "derived"
        if completed:
            return "entity completed"
        if "killed" in made and self.flow.log != "killed":
            return "current"
        if self.flow.log in made:
            return "log"
        if made - {"tidemark_commits__log"}:
            return "beside the log"
        if made:
            return "in flight"
        return "files without a commit" if data_in(schema) - self.data else "nothing"


def files_in(*folders: Path) -> Files:
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    stats = [(path, path.stat()) for path in found]
    return frozenset((path, stat.st_size, stat.st_mtime_ns) for path, stat in stats)


def commits_in(schema: Path) -> dict[str, int]:
    """How many commits each table of Delta has."""
    logs = [folder / "_delta_log" for folder in schema.iterdir()] if schema.exists() else []
    return {log.parent.name: len(list(log.glob("[0-9]*.json"))) for log in logs if log.exists()}


def data_in(schema: Path) -> set[Path]:
    """The data files, and folders of slices."""
    return {
        path.relative_to(schema) for path in schema.rglob("*") if "_delta_log" not in path.parts
    }


def completed_in(schema: Path) -> int:
    select = "select count(*) from t where state = 'completed'"
    return int(Stored(schema).rows("tidemark_commits__log", select)[0][0])


def contents(folder: Path) -> dict[Path, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder): path.read_bytes() for path in files}


def chosen(images: list[Image]) -> list[Image]:
    """Of images, in their order, that agree in what a run can see, the last: it has most of what nobody sees."""
    return list({image.seen: image for image in images}.values())


def load(scene: Scene, number: int, engine: str, rng: random.Random) -> list[Image]:
    """Have a date loaded; images of it at random moments, and others just after something was committed."""
    loader, images, seconds = scene.loader, [], scene.seconds[engine]
    is_warm = len(seconds) >= COLD
    begun, stood = scene.begin(number, engine), 0.0
    moments = [rng.uniform(0, min(seconds)) for _ in range(scene.of_a_load)] if is_warm else []
    logs = list(loader.schema.glob("*/_delta_log"))
    touched = 0
    while loader.at_work():
        now = time.monotonic() - begun - stood
        last = max((log.stat().st_mtime_ns for log in logs), default=0)
        if is_warm and last > touched:
            touched = last
            moments.append(now + rng.choice((0.0, rng.uniform(0, 0.05))))
        if min(moments, default=now + 1) <= now:
            moments.remove(min(moments))
            stopped = time.monotonic()
            loader.freeze()
            if loader.at_work():
                images.append(scene.take())
            loader.thaw()
            stood += time.monotonic() - stopped
        time.sleep(0.002)
    seconds.append(time.monotonic() - begun - stood)
    loader.wait()
    return images


def kill(scene: Scene, number: int, engine: str, rng: random.Random) -> Image | None:
    """Kill the loader within a load; what it leaves is the image that was taken before."""
    loader, moment = scene.loader, rng.uniform(0, min(scene.seconds[engine]))
    begun = scene.begin(number, engine)
    while loader.at_work() and time.monotonic() - begun < moment:
        time.sleep(0.001)
    loader.freeze()
    if not loader.at_work():
        loader.thaw()
        loader.wait()
        return None
    image = scene.take()
    loader.kill()
    assert contents(image.folder / "schema") == contents(loader.schema)
    return image


def recover(scene: Scene, image: Image, number: int, engine: str) -> None:
    """Run the date again upon an image, by an engine; the tables are as if nothing had happened."""
    project = scene.flow.project
    put(project, image)
    variables = {"business_date": scene.flow.day(number), "tidemark__engine": engine}
    by_spark = "by Spark SQL, as" in project.dbt("run", vars=variables).output
    stored = Stored(schema_of(project))
    scene.flow.check(stored, number + 1)
    assert stored.rows("tidemark_commits__log", STILL_IN_FLIGHT) == []
    assert not list(schema_of(project).glob("*__slice_*"))
    if image.phase in ("nothing", "in flight"):
        # it is this run that wrote the log, by the engine unless that left a part of the load to Spark
        logged = set(stored.files(scene.flow.log)) - {path.name for path in scene.data}
        assert logged
        assert by_spark or {"workers-" in name for name in logged} == {engine == "workers"}


def schema_of(project: Any) -> Path:
    return Path(project.home / "warehouse" / f"{project.schema}.db")


def put(project: Any, image: Image) -> None:
    """Put an image in the place of the schema of this process, which forgets what it knows of its tables."""
    for made in (image.folder / "schema").glob("*__slice_*/_SUCCESS"):
        # tables of a run, of which the metastore of who loads knows
        project.sql(f"create table {made.parent.name} (n int) using parquet")
    shutil.rmtree(schema_of(project))
    (image.folder / "schema").rename(schema_of(project))
    for left in (image.folder / "tmp").iterdir():
        left.rename(project.home / "tmp" / left.name)
    project.session._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    rows._known = KnownRows()


WRITER = """
import itertools, os, pathlib, sys
if not os.fork():
    os.setpgid(0, 0)
for number in itertools.count():
    with pathlib.Path(f"{os.getpid()}-{number % 50}").open("a") as file:
        for line in range(20):
            print(number, line, file=file, flush=True)
"""


def test_freeze__is_what_a_kill_leaves(tmp_path: Path) -> None:
    """Nothing is written while two processes are frozen, of which one has a group of its own, nor by a kill after it."""
    folder = tmp_path / "written"
    folder.mkdir()
    session = Session(subprocess.Popen([sys.executable, "-c", WRITER], cwd=folder, start_new_session=True))  # fmt: skip
    while len(list(folder.iterdir())) < 100:
        time.sleep(0.01)
    for _ in range(20):
        session.freeze()
        frozen = contents(folder)
        time.sleep(0.02)
        assert contents(folder) == frozen
        session.thaw()
        time.sleep(0.01)
    session.freeze()
    assert contents(folder) != frozen
    frozen = contents(folder)
    session.kill()
    assert contents(folder) == frozen


@pytest.mark.faults
@pytest.mark.parametrize("name", FLOWS)
def test_kill_images(make_project: Any, tmp_path: Path, name: str) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    project = make_project(f"frozen_{name}")
    flow = FLOWS[name](project, rng, dates=16)
    loader = Loader(project, tmp_path / "home")
    # what a load costs to recover hardly rises with its moments: most are alike
    of_a_load = max(10, IMAGES // len(flow.engines))
    scene = Scene(flow, loader, tmp_path / "images", of_a_load)
    phases: dict[str, Counter[str]] = {engine: Counter() for engine in flow.engines}
    differ, recovered = Counter[str](), Counter[str]()
    try:
        load(scene, 0, flow.engines[0], rng)
        project.dbt("run", vars={"business_date": flow.day(0)})
        number, killed = 1, None
        while killed is None and number < flow.dates - 1:
            engine = flow.engines[number % len(flow.engines)]
            if sum(map(Counter.total, phases.values())) < IMAGES - 1:
                images = load(scene, number, engine, rng)
            else:
                killed = kill(scene, number, engine, rng)
                images = [killed] if killed is not None else []
            phases[engine].update(image.phase for image in images)
            begun = time.monotonic()
            differ[engine] += len(set(images))
            for image in chosen(images):
                other = "workers" if rng.random() < BY_WORKERS else "spark"
                recover(scene, image, number, other if other in flow.engines else engine)
                recovered[engine] += 1
            found = ", ".join(f"{phases[engine][phase]} {phase}" for phase in PHASES)
            tried = f"{differ[engine]} differ, {recovered[engine]} recovered"
            took = f"these in {time.monotonic() - begun:.0f} s"
            print(f"{name}, engine {engine}: {found}; {tried}, {took}", flush=True)
            number += 1
    finally:
        loader.kill()
    assert killed is not None, "each load ended before it was to be killed"
    # folders of tasks that a kill left go with the next task
    flow.land(number)
    project.dbt("run", vars={"business_date": flow.day(number), "tidemark__engine": "workers"})
    flow.check(Stored(schema_of(project)), number + 1)
    assert not list((project.home / "tmp").glob(f"engine-{NOBODY}-*"))
    if IMAGES >= 100:
        wanted = set(PHASES)
        if flow.log == "killed":
            wanted.remove("current")
        if not flow.beside:
            wanted.remove("beside the log")
        if not flow.derived:
            wanted -= {"entity completed", "derived"}
        assert set().union(*phases.values()) == wanted
