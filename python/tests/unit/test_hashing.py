"""The hash recipe in Python against the shared vectors and its promises. No JVM."""

from __future__ import annotations

import collections
import datetime
import decimal
import json
import random
from typing import Any

import pytest

from tests import hash_vectors
from tidemark import hashing
from tidemark.errors import ConfigError
from tidemark.hashing import (
    Column,
    canonical_text,
    casts,
    frames,
    row_hash,
    row_text,
    types,
)
from tidemark.hashing.rows import check_pepper

CASES = hash_vectors.load()


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_vectors(case: dict[str, Any]) -> None:
    row, columns = hash_vectors.row_of(case), hash_vectors.columns_of(case)
    assert row_text(row, columns, hash_vectors.PEPPER) == case["row_text"]
    for algorithm in hashing.ALGORITHMS:
        assert row_hash(row, columns, algorithm, hash_vectors.PEPPER) == case[algorithm]


def test_vectors__file_is_what_the_script_makes() -> None:
    assert json.loads(hash_vectors.VECTORS.read_text(encoding="utf-8")) == hash_vectors.make()


def test_vectors__known_digests() -> None:
    """Digests from md5sum and sha256sum, not from this code."""
    columns = [Column("icao", "string")]
    assert row_text({"icao": "EDDF"}, columns) == "4:icao4:EDDF"
    assert row_hash({"icao": "EDDF"}, columns) == "0641478b647ce210f16b30b058150cf8"
    assert row_hash({}, columns) == "d41d8cd98f00b204e9800998ecf8427e"


def test_vectors__documented_examples() -> None:
    told = (hash_vectors.VECTORS.parents[3] / "models" / "overview.md").read_text("utf-8")
    documented = [case for case in CASES if case["name"].startswith("documented")]
    assert len(documented) == 3
    for case in documented:
        for name in ("row_text", *hashing.ALGORITHMS):
            assert case[name] in told
    assert f"{len(CASES)} worked cases" in told


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("split ab c", "split a bc"),
        ("split 1 23", "split 12 3"),
        ("empty string", "all null"),
        ("empty string", "string NULL"),
        ("string NULL", "string null"),
        ("null then value", "value then null"),
        ("upper case", "mixed case"),
        ("array of strings", "array in other order"),
        ("empty array", "array of null"),
        ("struct of nulls", "null struct"),
        ("sensitive null", "sensitive empty"),
        ("value looks like an encoding", "two columns of that look"),
        ("column name like an encoding", "two columns of that look"),
    ],
)
def test_rows_that_differ(left: str, right: str) -> None:
    texts = {case["name"]: case["row_text"] for case in CASES}
    assert texts[left] != texts[right]


@pytest.mark.parametrize(
    "names",
    [
        ("string", "string, new column is null", "string, other column first null"),
        ("one as int", "one as bigint", "one as decimal", "one as double"),
        ("zero as int", "zero as double", "minus zero", "zero as decimal"),
        ("decimal 1.5", "decimal 1.5 widened"),
        ("map", "map in other order"),
    ],
)
def test_rows_that_agree(names: tuple[str, ...]) -> None:
    texts = {case["name"]: case["row_text"] for case in CASES}
    assert len({texts[name] for name in names}) == 1


def test_row_text__distinct_rows_give_distinct_text() -> None:
    """A random million would not find what a small alphabet of delimiters finds in thousands."""
    dice = random.Random(20260304)
    alphabet = ["", "1", "2", ":", "a", "b", "N", ";", "1:a", "0:", "é", "[", "]", "\x00"]
    columns = [Column("a", "string"), Column("b", "string"), Column("1:b", "array<string>")]

    def text() -> str | None:
        return dice.choice([None, "".join(dice.choices(alphabet, k=dice.randint(0, 3)))])

    seen: dict[str, tuple[Any, ...]] = {}
    for _ in range(30_000):
        items = None if dice.random() < 0.3 else [text() for _ in range(dice.randint(0, 3))]
        row = {"a": text(), "b": text(), "1:b": items}
        frozen = (row["a"], row["b"], None if items is None else tuple(items))
        assert seen.setdefault(row_text(row, columns), frozen) == frozen
    assert len(seen) > 5_000


def test_row_text__number_agrees_only_with_equal_number() -> None:
    dice = random.Random(7)
    texts: dict[str | None, float] = {}
    for _ in range(20_000):
        number = dice.choice([dice.uniform(-2, 2), dice.randint(-50, 50) / 8, dice.gauss(0, 1e12)])
        assert texts.setdefault(canonical_text(number, "double"), number) == number


def test_canonical_text__decimal_does_not_depend_on_scale() -> None:
    dice = random.Random(8)
    for _ in range(5_000):
        digits, scale = dice.randint(-(10**12), 10**12), dice.randint(0, 14)
        number = decimal.Decimal(digits).scaleb(-scale)
        wider = number.quantize(decimal.Decimal(1).scaleb(-20), context=decimal.Context(prec=60))
        text = canonical_text(number, f"decimal(38,{scale})")
        assert text == canonical_text(wider, "decimal(38,20)")
        assert text is not None and decimal.Decimal(text) == number


@pytest.mark.parametrize(
    ("value", "data_type", "text"),
    [
        (datetime.datetime(1970, 1, 1, 1, tzinfo=datetime.UTC), "timestamp", "3600000000"),
        ({"y": 1, "x": 2}, "struct<x:int,y:int>", "{1:x1:21:y1:1}"),
        ((1,), "struct< `a``b` : int >", "{3:a`b1:1}"),
        ((1, 2), "struct<x,y:int,z:w:int>", "{3:x,y1:13:z:w1:2}"),
        ("a", "string collate UTF8_LCASE", "a"),
        (bytearray(b"\n"), "binary", "0A"),
        (datetime.timedelta(hours=26), "interval hour", "INTERVAL '26' HOUR"),
        (decimal.Decimal("1E+3"), "decimal(10,2)", "1000"),
        (None, "variant", None),
    ],
)
def test_canonical_text__forms(value: Any, data_type: str, text: str | None) -> None:
    assert canonical_text(value, data_type) == text


@pytest.mark.parametrize(
    "data_type", ["variant", "time(6)", "array<variant>", "array", "geometry(0)"]
)
def test_canonical_text__type_without_text(data_type: str) -> None:
    with pytest.raises(ConfigError, match="no canonical text"):
        canonical_text([1], data_type)


@pytest.mark.parametrize(
    ("value", "data_type"),
    [(1, "string"), ("1", "int"), (True, "int"), ("1.0", "double"), (1, "boolean"), (0.5,
    "decimal(3,1)"),
     (datetime.datetime(2026, 1, 1), "date"), (datetime.date(2026, 1, 1), "timestamp"), ("x",
     "binary")],
)  # fmt: skip
def test_canonical_text__value_of_another_type(value: Any, data_type: str) -> None:
    with pytest.raises(TypeError):
        canonical_text(value, data_type)


def test_canonical_text__decimal_that_does_not_fit() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        canonical_text(decimal.Decimal("0.123"), "decimal(10,2)")


def test_row_hash__unknown_algorithm() -> None:
    with pytest.raises(ConfigError, match=r"use md5, sha256$"):
        row_hash({}, [], "sha1")


@pytest.mark.parametrize("pepper", [None, "", "it's", "back\\slash", "new\nline", "${env:HOME}"])
def test_row_text__pepper_that_cannot_be_used(pepper: str | None) -> None:
    with pytest.raises(ConfigError, match="TIDEMARK_PEPPER"):
        row_text({"a": 1}, [Column("a", "int", sensitive=True)], pepper)


def test_check_pepper(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the environment; one that is not set is refused elsewhere, by the entity's name."""
    for harmless in ("", "a grain of salt"):
        monkeypatch.setenv("TIDEMARK_PEPPER", harmless)
        check_pepper()
    monkeypatch.setenv("TIDEMARK_PEPPER", "it's")
    with pytest.raises(ConfigError, match="must not hold quotes") as raised:
        check_pepper()
    assert "it's" not in str(raised.value)


READ = [
    ("int", " 12 ", 12), ("int", "+7", 7), ("int", "2147483648", None), ("int", "1.5", None),
    ("int", "", ""), ("int", "1_000", None), ("tinyint", "-128", -128), ("bigint", "٣", None),
    ("decimal(5,2)", "1.005", decimal.Decimal("1.01")), ("decimal(5,2)", "1000", None),
    ("decimal(5,2)", "-999.994", decimal.Decimal("-999.99")), ("decimal(5,2)", "999.995", None),
    ("decimal(5,2)", "1e2", decimal.Decimal("100.00")), ("decimal(5,2)", "1e999999999", None),
    ("decimal(5,2)", "NaN", None), ("double", "1e400", float("inf")), ("double", "-Infinity",
    -float("inf")), ("double", "1,5", None), ("double", "0x1p3", None), ("float", "0.1",
    0.10000000149011612), ("date", "2026-03-04", datetime.date(2026, 3, 4)), ("date", "2026-02-30",
    None), ("date", "4.3.2026", None), ("boolean", "Yes", True), ("boolean", "0", False),
    ("boolean", "maybe", None), ("string", " x ", " x "), ("string", "", ""),
    ("timestamp", "2026-03-04T05:06:07Z", datetime.datetime(2026, 3, 4, 5, 6, 7,
    tzinfo=datetime.UTC)), ("timestamp", "2026-07-01 12:00", datetime.datetime(2026, 7, 1, 10,
    tzinfo=datetime.UTC)), ("timestamp", "yesterday", None),
    ("timestamp_ntz", "2026-03-04 05:06:07", datetime.datetime(2026, 3, 4, 5, 6, 7)),
    ("timestamp_ntz", "2026-03-04T05:06:07Z", None),
]  # fmt: skip


@pytest.mark.parametrize(("data_type", "text", "expected"), READ)
def test_cast_values(data_type: str, text: str, expected: Any) -> None:
    readers = casts.readers_of({"c": types.parse_type(data_type)}, frozenset(), "Europe/Berlin")
    values, failed = casts.cast_values([text], readers)
    if expected == "" and data_type != "string":
        assert (values, failed) == ([None], [])
    elif expected is None:
        assert (values, failed) == ([None], ["c"])
    else:
        assert (values, failed) == ([expected], [])


def test_readers__type_that_text_cannot_hold() -> None:
    with pytest.raises(ConfigError, match="columns: c cannot be read from text as array<int>"):
        casts.readers_of({"c": types.parse_type("array<int>")}, frozenset(), "UTC")


def test_hashing__names_the_nearest_column() -> None:
    kinds = {"icao": types.parse_type("string")}
    with pytest.raises(ConfigError, match=r"keys names column icoa.*did you mean icao"):
        frames._Hashing.of(kinds, ["icoa"], None, (), (), "md5")


def test_payload__masks_sensitive_values() -> None:
    row = {"id": "x", "phone": "123", "fax": None}
    payload = casts.payload_of(row, list(row), frozenset(["phone", "fax"]))
    assert json.loads(payload) == {"id": "x", "phone": "***", "fax": None}
    assert "123" not in casts.payload_of(("x", "123"), list(row), frozenset(["phone"]))


def test_values_of__rows_of_other_shape() -> None:
    row = collections.namedtuple("row", "a b")(1, 2)
    assert casts.values_of(row, ["a", "b"]) == [1, 2]
    assert casts.values_of(("1",), ["a", "b"]) is None
    assert casts.values_of({"c": 1}, ["a", "b"]) is None
    assert casts.values_of({"b": 1}, ["a", "b"]) == [None, 1]
    assert casts.values_of("text", ["a", "b"]) is None
