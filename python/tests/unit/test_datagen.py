"""The data generator: exact counts, same bytes, scenarios that an oracle agrees with. No JVM."""

from __future__ import annotations

import collections
import csv
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tidemark import hashing
from tidemark.datagen.cdc import CdcSpec, write_cdc
from tidemark.datagen.cli import datagen
from tidemark.datagen.csv_text import csv_line
from tidemark.datagen.scenarios import SCENARIOS, Day, Scenario, write_scenario
from tidemark.errors import ConfigError
from tidemark.hashing import casts, types


def read(path: Path, n_keys: int) -> dict[tuple[str, ...], tuple[str, ...]]:
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))[1:]
    rows = {tuple(line[:n_keys]): tuple(line[n_keys:]) for line in lines}
    assert len(rows) == len(lines), "a key occurs twice"
    return rows


def operations(before: dict[Any, Any], after: dict[Any, Any]) -> tuple[int, int, int, int]:
    common = before.keys() & after.keys()
    updated = sum(before[key] != after[key] for key in common)
    return len(after) - len(common), updated, len(before) - len(common), len(common) - updated


def test_cdc__worked_example(tmp_path: Path) -> None:
    files = tmp_path / "day1.csv", tmp_path / "day2.csv"
    arguments = ["cdc", *"10000 2000 5 10 20 40 40".split(), *map(str, files), "--seed", "1"]
    result = CliRunner().invoke(datagen, arguments)
    assert result.exit_code == 0, result.output
    assert "I 2000, U 4000, D 2000, N 4000" in result.stderr
    day1, day2 = read(files[0], 5), read(files[1], 5)
    assert (len(day1), len(day2)) == (10_000, 10_000)
    assert operations(day1, day2) == (2000, 4000, 2000, 4000)
    header = files[0].read_text().split("\n")[0].split(",")
    assert header == [f"key{i}" for i in range(1, 6)] + [f"value{i}" for i in range(1, 11)]
    assert all(len(values) == 10 for values in day1.values())
    for position in range(5):
        assert len({key[position] for key in day1.keys() | day2.keys()}) == 12_000


def test_cdc__same_seed_same_bytes(tmp_path: Path) -> None:
    def digest(seed: int, suffix: str) -> tuple[str, ...]:
        files = tmp_path / f"1.csv{suffix}", tmp_path / f"2.csv{suffix}"
        write_cdc(CdcSpec(300, 30, 2, 3, 10, 20, 70, seed), *files)
        return tuple(hashlib.md5(file.read_bytes()).hexdigest() for file in files)

    assert (
        digest(7, "")
        == digest(7, "")
        == (
            "148a20c404370387254d6b5d6acfbac9",
            "b027b6c429e2251714591a86d648ccca",
        )
    )
    assert digest(7, ".gz") == digest(7, ".gz")
    assert digest(7, "") != digest(8, "")
    assert gzip.decompress((tmp_path / "1.csv.gz").read_bytes()).startswith(b"key1,key2,value1")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (CdcSpec(0, 5, 1, 1, 0, 0, 100), (5, 0, 0, 0)),
        (CdcSpec(7, 0, 1, 1, 100, 0, 0), (0, 0, 7, 0)),
        (CdcSpec(7, 0, 1, 1, 0, 100, 0), (0, 7, 0, 0)),
        (CdcSpec(7, 1, 1, 0, 50, 0, 50), (1, 0, 4, 3)),
        (CdcSpec(3, 0, 3, 2, 33.3, 33.3, 33.4), (0, 1, 1, 1)),
        (CdcSpec(5, 0, 1, 1, 50, 50, 0), (0, 3, 2, 0)),
        (CdcSpec(1001, 10, 1, 1, 12.5, 12.5, 75), (10, 125, 125, 751)),
    ],
)
def test_cdc__counts_come_out(
    spec: CdcSpec, expected: tuple[int, int, int, int], tmp_path: Path
) -> None:
    files = tmp_path / "1.csv", tmp_path / "2.csv"
    counts = write_cdc(spec, *files)
    assert (counts.inserted, counts.updated, counts.deleted, counts.unchanged) == expected
    assert operations(read(files[0], spec.n_keys), read(files[1], spec.n_keys)) == expected


def test_cdc__delta(tmp_path: Path) -> None:
    files = tmp_path / "1.csv", tmp_path / "2.csv"
    spec = CdcSpec(1000, 100, 2, 2, 20, 30, 50, 3, delta=True, pct_with_unchanged=10)
    counts = write_cdc(spec, *files)
    assert str(counts) == "I 100, U 300, D 0, N 50, X 650"
    inserted, updated, absent, unchanged = operations(read(files[0], 2), read(files[1], 2))
    assert (inserted, updated, absent, unchanged) == (100, 300, 650, 50)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((10, 1, 1, 1, 20, 40, 50), r"must add up to 100 \(20 \+ 40 \+ 50 = 110\)"),
        ((10, 1, 1, 1, -20, 60, 60), "between 0 and 100"),
        ((10, 1, 0, 1, 20, 40, 40), "n_keys must be at least 1"),
        ((-1, 1, 1, 1, 20, 40, 40), "must be 0 or more"),
        ((10, 1, 1, 0, 20, 40, 40), "cannot be updated"),
        ((10, 1, 1, 1, 20, 40, 40, 0, False, 5), "needs delta"),
        ((10, 1, 1, 1, 20, 40, 40, 0, True, 500), "with-unchanged must lie"),
    ],
)
def test_cdc__refuses(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CdcSpec(*arguments)


def test_cdc__refuses_one_file_for_both_days(tmp_path: Path) -> None:
    path = str(tmp_path / "x.csv")
    result = CliRunner().invoke(datagen, ["cdc", *"1 1 1 1 20 40 40".split(), path, path])
    assert result.exit_code == 2
    assert "cannot both be" in result.output


def test_csv_line() -> None:
    assert csv_line([None, "", " x", 'a"b', "c\nd", "e|;"]) == ',""," x","a""b","c\nd",e|;\n'


# -- Scenarios -----------------------------------------------------------------------------------


def typed(scenario: Scenario, day: Day) -> tuple[list[dict[str, Any]], int]:
    """Rows by lower-case column, and how many cannot be cast or have no key."""
    names = [name.lower() for name in day.columns]
    kinds = {n: types.parse_type(scenario.types.get(n, "string")) for n in names}
    readers = casts.readers_of(kinds, frozenset(), "UTC")
    rows, rejected = [], 0
    for row in day.rows:
        values, failed = casts.cast_values(row, readers)
        by_name = dict(zip(names, values, strict=True))
        no_key = any(by_name[key] is None for key in scenario.keys)
        if failed or (no_key and scenario.settings.get("null_keys") != "allow"):
            rejected += 1
        else:
            rows.append(by_name)
    return rows, rejected


def oracle(scenario: Scenario) -> list[dict[str, Any]]:
    """The counts of each day, by brute force over the rows' texts."""
    columns: list[hashing.Column] = []
    current: dict[str, str] = {}
    found = []
    for day in scenario.days:
        for name in map(str.lower, day.columns):
            if name not in [column.name for column in columns]:
                columns.append(hashing.Column(name, scenario.types.get(name, "string")))
        keys = [column for column in columns if column.name in scenario.keys]
        compared = [column for column in columns if column.name not in scenario.keys]
        rows, rejected = typed(scenario, day)
        versions: dict[str, list[str]] = collections.defaultdict(list)
        for row in rows:
            versions[hashing.row_text(row, keys)].append(hashing.row_text(row, compared))
        counts = collections.Counter(rejected=rejected)
        arrived = {}
        for key, texts in versions.items():
            if len(set(texts)) > 1:
                counts["rejected"] += len(texts)
            else:
                arrived[key] = texts[0]
                counts["exact_duplicates"] += len(texts) - 1
        inserted, updated, absent, unchanged = operations(current, arrived)
        delta = scenario.settings.get("extract") == "delta"
        counts.update(I=inserted, U=updated, N=unchanged)
        counts["X" if delta else "D"] += absent
        if not delta and current and (not arrived or absent > len(current) / 2):
            found.append({"error": "max_delete_fraction"})
            continue
        current = {**current, **arrived} if delta else arrived
        found.append({name: count for name, count in counts.items() if count})
    return found


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario__expected_counts(name: str) -> None:
    scenario = SCENARIOS[name]
    assert oracle(scenario) == [day.expected for day in scenario.days]


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario__files(name: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(datagen, ["scenario", name, str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    content = json.loads((tmp_path / "new" / "expected.json").read_text(encoding="utf-8"))
    assert content["unique_key"] == list(SCENARIOS[name].keys)
    for day, (date, described) in zip(SCENARIOS[name].days, content["dates"].items(), strict=True):
        assert described == {"file": f"{date}.csv", "expected": day.expected}
        with (tmp_path / "new" / described["file"]).open(newline="", encoding="utf-8") as file:
            lines = [tuple(line) for line in csv.reader(file)]
        assert lines == [day.columns, *(tuple(v or "" for v in row) for row in day.rows)]


def test_scenario__unknown_name() -> None:
    with pytest.raises(ConfigError, match="did you mean null_key"):
        write_scenario("null_keys_", Path("unused"))


def test_scenarios__lists_them() -> None:
    listed = CliRunner().invoke(datagen, ["scenarios"]).stdout.splitlines()
    assert [line.split("\t")[0] for line in listed] == list(SCENARIOS)
