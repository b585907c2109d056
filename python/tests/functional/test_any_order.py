"""Dates in any order, any number of times, corrected or not: the tables are those of loading once, in order.

Every load takes hundreds of keys of random behaviour through some entities at once (full, scoped and delta extracts,
rows that cannot be used, tags), so a handful of loads meets every pattern of a key's life. The seed is printed.
"""

from __future__ import annotations

import os
import random
import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from .cdc_oracle import Extract, replay

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(1)]

COLUMNS = ("a", "b", "n")
ENTITIES: dict[str, dict[str, Any]] = {
    "full_plain": {"delta": False, "settings": "extract: full"},
    "full_tagged": {"delta": False, "settings": "extract: full, tag_unchanged: true"},
    "delta_plain": {"delta": True, "settings": "extract: delta"},
    "delta_tagged": {"delta": True, "settings": "extract: delta, tag_unchanged: true"},
    "scoped_spark": {
        "delta": False,
        "scope": ("b",),
        "settings": "extract: full, scope: {columns: [b]}, engine: spark",
    },
    "scoped_tagged": {
        "delta": False,
        "scope": ("a", "b"),
        "settings": "extract: full, scope: {columns: [a, b]}, tag_unchanged: true",
    },
    # which of the two it is changes between loads
    "other_tagged": {"delta": None, "settings": "tag_unchanged: true, extract: delta"},
}
SEED = int(os.environ.get("TIDEMARK_TEST_SEED", "20260304"))
LOADS = int(os.environ.get("TIDEMARK_TEST_LOADS", "4"))  # of the slow ring


def make_entities(project: Any) -> Any:
    models = []
    for name, entity in ENTITIES.items():
        project.write(f"models/{name}.sql", "{{ tidemark.extract() }}")
        models.append(
            f"""
  - name: {name}
    config:
      materialized: cdc
      unique_key: k
      meta: {{tidemark: {{{entity["settings"]}, location: "{project.root}/{name}/{{business_date}}.csv",
        on_reject: quarantine, max_reject_fraction: 1, ignore: [loaded_at], max_delete_fraction: 1}}}}
    columns:
      - {{name: k, data_type: string}}
      - {{name: a, data_type: string}}
      - {{name: b, data_type: string}}
      - {{name: n, data_type: int}}
      - {{name: loaded_at, data_type: string}}
"""
        )
    (project.root / "models" / "models.yml").write_text("version: 2\nmodels:" + "".join(models))
    return project


def ask_for(project: Any, extract: str) -> None:
    """Have the YAML of `other_tagged` say so."""
    path = project.root / "models" / "models.yml"
    text = path.read_text()
    asked = re.sub(r"(tag_unchanged: true, extract: )\w+", rf"\g<1>{extract}", text)
    if asked != text:
        path.write_text(asked)


def random_extract(rng: random.Random, keys: int, *, delta: bool, scoped: bool = False) -> Extract:
    extract: dict[str, Any] = {}
    letters = rng.sample([None, "", "z"], rng.choice([1, 2])) if scoped else [None, "", "z"]
    for number in range(keys):
        fate = rng.random()
        if fate < (0.5 if delta else 0.2):
            continue
        key = f"k{number}"
        if fate > 0.95:
            extract[key] = None
        else:
            extract[key] = (
                rng.choice(["x", "y"]),
                rng.choice(letters),
                rng.choice(["1", "2"]),
            )
    return extract


def write_extract(path: Path, extract: Extract, stamp: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        file.write("k,a,b,n,loaded_at\n")
        for key, row in extract.items():
            values = row if row is not None else ("x", "z", "not a number")
            # csv.writer cannot tell None from "": None is an empty field, "" a quoted one
            file.write(
                ",".join([key, *("" if v is None else f'"{v}"' for v in values), stamp]) + "\n"
            )


def is_delta_on(day: date, asked: bool, known: dict[date, bool]) -> bool:
    """What a date is when it is loaded, by what the loaded ones are."""
    if day in known or not known or day > max(known):
        return known.get(day, asked)
    return known[max((other for other in known if other < day), default=min(known))]


def check(
    project: Any,
    name: str,
    extracts: dict[date, Extract],
    *,
    delta: bool | dict[date, bool],
    tagged: bool,
    scope: tuple[str, ...] = (),
) -> None:
    wanted = replay(extracts, COLUMNS, delta=delta, scope=scope)
    history = {
        (r._business_date, r.k): (
            r._operation,
            (r.a, r.b, str(r.n)),
            tuple(r._changed_columns) if r._changed_columns is not None else None,
        )
        for r in project.sql(f"select * from {name}__history")
    }
    assert history == wanted.history
    current = {
        r.k: (r._operation, (r.a, r.b, str(r.n)), r._eff_start_date)
        for r in project.sql(f"select * from {name}")
    }
    if tagged:
        assert {k: v[0] for k, v in current.items()} == wanted.tagged
        current = {k: (wanted.current[k][0], v[1], v[2]) for k, v in current.items()}
    assert current == wanted.current


def run_random_loads(project: Any, seed: int, loads: int, keys: int = 300) -> date:
    """Load random dates, check after each, and return the last."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    first = date(2026, 1, 1)
    known: dict[str, dict[date, Extract]] = {name: {} for name in ENTITIES}
    deltas: dict[date, bool] = {}
    for step in range(loads):
        day = first + timedelta(days=rng.randrange(6))
        asked = step % 2 == 0
        ask_for(project, "delta" if asked else "full")
        deltas[day] = is_delta_on(day, asked, deltas)
        for name, entity in ENTITIES.items():
            is_delta = deltas[day] if entity["delta"] is None else entity["delta"]
            known[name][day] = random_extract(rng, keys, delta=is_delta, scoped="scope" in entity)
            write_extract(project.root / name / f"{day}.csv", known[name][day], f"load {step}")
        project.dbt("run", "--select", *ENTITIES, vars={"business_date": str(day)})
        for name, entity in ENTITIES.items():
            delta = deltas if entity["delta"] is None else entity["delta"]
            tagged, scope = name.endswith("tagged"), entity.get("scope", ())
            check(project, name, known[name], delta=delta, tagged=tagged, scope=scope)
    return day


def check_again__writes_nothing(project: Any, day: date) -> None:
    """The date that was loaded last, as it was: no table has one version more."""

    version = "describe history {schema}.{table} limit 1"
    if project.file_format == "iceberg":
        version = "select count(*) from spark_catalog.{schema}.{table}.snapshots"

    def versions() -> dict[str, int]:
        return {
            table: project.sql(version.format(schema=project.schema, table=table))[0][0]
            for entity in ENTITIES
            for table in (entity, f"{entity}__log", f"{entity}__rejects")
        }

    before = versions()
    project.dbt("run", vars={"business_date": str(day)})
    assert versions() == before
    for entity in ENTITIES:
        states = project.sql(
            f"select kind, state from tidemark_commits where entity = '{entity}' order by commit_id"
        )
        assert tuple(states[-1]) == ("repeat", "completed")


def test_random_order__delta(project: Any) -> None:
    entities = make_entities(project)
    check_again__writes_nothing(entities, run_random_loads(entities, SEED, loads=2))


@pytest.mark.slow
def test_random_order__more_loads(project: Any) -> None:
    run_random_loads(make_entities(project), SEED, LOADS)
