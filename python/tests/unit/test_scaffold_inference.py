"""Types, keys and business dates inferred from samples."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidemark.errors import ConfigError
from tidemark.scaffold.inference import Column, infer_column, infer_json_column
from tidemark.scaffold.keys import NearKey, count_key_problems, nearest_to_key, propose_key
from tidemark.scaffold.locations import check_date, find_extract, put_placeholders
from tidemark.scaffold.samples import read_sample


@pytest.mark.parametrize("texts", [["1,234", "5,678"], ["12"], ["1,2,3"], ["1.23,4"], ["31.02,5"]])
def test_infer_column__no_decimal_comma(texts: list[str]) -> None:
    """Thousands, a list and a place are none, or nobody knows."""
    assert "replace(" not in infer_column("value", texts).reason


@pytest.mark.parametrize(
    ("values", "data_type"),
    [
        (["1", "-2", "", "0"], "bigint"),
        (["9223372036854775807"], "bigint"),
        (["9223372036854775808"], "decimal(38, 0)"),
        (["9" * 39], "string"),
        (["00501", "10001"], "string"),
        (["0", "00"], "string"),
        (["-0"], "string"),
        (["+4915112345"], "string"),
        (["1e5", "12"], "string"),
        (["1.5e5", "2.5"], "double"),
        (["1.5", "2", "-.25"], "double"),
        (["1.50", "20.25", " 3.75 "], "decimal(18, 2)"),
        (["12345678901234.50", "1.25"], "decimal(38, 2)"),
        (["1.50"], "double"),
        (["38.704022", "59.948889"], "double"),
        (["1.2.3"], "string"),
        (["NaN", "1.5"], "string"),
        (["1,5", "2,5"], "string"),
        (["\u0661", "\u0662"], "string"),
        (["true", "FALSE"], "boolean"),
        (["Y", "N"], "string"),
        (["t", "f"], "string"),
        (["2026-03-04", "2024-02-29"], "date"),
        (["2026-02-30"], "string"),
        (["2026-03-04T10:00:00Z", "2026-03-04 10:00:00.123456"], "timestamp"),
        (["2026-03-04", "2026-03-04 10:00:00"], "timestamp"),
        (["2026-03-04 10:00"], "string"),
        (["2026-03-04 25:00:00"], "string"),
        (["", " "], "string"),
        ([], "string"),
    ],
)
def test_infer_column(values: list[str], data_type: str) -> None:
    assert infer_column("value", values).data_type == data_type


def test_infer_column__counts_nulls() -> None:
    assert infer_column("value", ["1", "", " "]) == Column("value", "bigint", "", 2, 3)


@pytest.mark.parametrize("name", ["zip", "PostalCode", "phone_number", "ship zip"])
def test_infer_column__codes_of_digits_stay_text(name: str) -> None:
    assert infer_column(name, ["10001", "94105"]).data_type == "string"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["1", "NULL", "2"], "nullValue"),
        (["04.03.2026", "05.03.2026"], "the option dateFormat: 'dd.MM.yyyy'"),
        (["4.3.2026", "15.03.2026"], "the option dateFormat: 'd.M.yyyy'"),
        (["04/03/2026", "25/03/2026"], "the option dateFormat: 'dd/MM/yyyy'"),
        (["03/04/2026", "03/25/2026"], "the option dateFormat: 'MM/dd/yyyy'"),
        (["03/04/2026"], "the option dateFormat: 'dd/MM/yyyy' or 'MM/dd/yyyy'"),
        (
            ["1.234,50", "-99,95", "12"],
            "numbers such as 1.234,50; to read them, set data_type decimal(18, 2), and write in the model's "
            "SQL: replace(replace(value, '.', ''), ',', '.') as value",
        ),
        (
            ["1,234.50", "-99.95", "12"],
            "numbers such as 1,234.50; to read them, set data_type decimal(18, 2), and write in the model's "
            "SQL: replace(value, ',', '') as value",
        ),
        (["04.03.2026", "05/03/2026"], "dateFormat: a pattern, once"),
        (["0,5", "1,25"], "SQL: replace(value, ',', '.') as value"),
        (["0,5", "12345678901234567,1234"], "set data_type decimal(38, 4)"),
        (["007", "8"], "leading zeros"),
        (["1.50", "2.25"], "2 decimals in every row"),
        ([""], "no value"),
        (["NA", "DE"], ""),
    ],
)
def test_infer_column__says_why(values: list[str], reason: str) -> None:
    found = infer_column("value", values).reason
    assert reason in found if reason else found == ""


@pytest.mark.parametrize(
    ("values", "data_type"),
    [
        ([1, None, 2], "bigint"),
        ([1, 2.5], "double"),
        ([2**63], "decimal(38, 0)"),
        ([True, False], "boolean"),
        ([True, 1], "string"),
        (["1", "2"], "string"),
        (["00501"], "string"),
        (["2026-03-04"], "date"),
        (["2026-03-04T10:00:00Z"], "timestamp"),
        ([None], "string"),
        ([[1, 2], []], "array<bigint>"),
        ([[]], "array<string>"),
        ([{"a": 1, "b c": "x"}, {"a": 2.5}], "struct<a: double, `b c`: string>"),
        ([{}], "string"),
        ([{"a": 1}, "text"], "string"),
    ],
)
def test_infer_json_column(values: list[Any], data_type: str) -> None:
    assert infer_json_column("value", values).data_type == data_type


def key_of(entity: str, **columns: list[str]) -> tuple[str, ...]:
    inferred = [infer_column(name, values) for name, values in columns.items()]
    return propose_key(inferred, list(zip(*columns.values(), strict=True)), entity).columns


def test_propose_key__prefers_the_name_of_an_identifier() -> None:
    assert key_of("people", name=["a", "b", "c"], id=["1", "2", "3"]) == ("id",)
    assert key_of("people", city=["a", "b", "c"], person_id=["1", "2", "3"]) == ("person_id",)
    assert key_of("people", population=["4", "5", "6"], code=["x", "y", "z"]) == ("code",)


def test_propose_key__prefers_the_identifier_of_the_entity() -> None:
    columns = {"address_id": ["7", "8"], "customer_id": ["1", "2"]}
    assert key_of("customers", **columns) == ("customer_id",)
    assert key_of("stg_addresses", **columns) == ("address_id",)


def test_propose_key__first_column_before_a_number_that_is_unique_by_chance() -> None:
    assert key_of("cities", name=["a", "b"], population=["10", "20"]) == ("name",)


def test_propose_key__composite_before_a_time_that_is_unique_by_chance() -> None:
    found = key_of(
        "lines",
        order_id=["1", "1", "2"],
        line_no=["1", "2", "1"],
        amount=["3.10", "4.20", "5.30"],
        updated_at=["2026-01-01 00:00:00", "2026-01-01 00:00:01", "2026-01-01 00:00:02"],
    )
    assert found == ("order_id", "line_no")
    fees = key_of("members", club=["a", "a", "b"], member_no=["1", "2", "1"], fee=["5", "6", "7"])
    assert fees == ("club", "member_no")


def test_propose_key__three_columns_in_the_order_of_the_file() -> None:
    found = key_of(
        "cube",
        x=["1", "1", "1", "1", "2", "2", "2", "2"],
        y=["1", "1", "2", "2", "1", "1", "2", "2"],
        z=["1", "2", "1", "2", "1", "2", "1", "2"],
        flag=["a"] * 8,
    )
    assert found == ("x", "y", "z")


def test_propose_key__nothing_is_unique() -> None:
    assert key_of("t", a=["1", "1", "1"], b=["x", "x", "y"], c=["", "2", "3"]) == ()


def test_propose_key__null_is_no_key_and_equal_rows_count_once() -> None:
    assert key_of("t", id=["", "1", "2"], ref=["a", "b", "c"]) == ("ref",)
    assert key_of("t", id=["1", "1", "2"], ref=["a", "a", "c"]) == ("id",)


def near_of(entity: str, **columns: list[str]) -> NearKey | None:
    inferred = [infer_column(name, values) for name, values in columns.items()]
    return nearest_to_key(inferred, list(zip(*columns.values(), strict=True)), entity)


def test_nearest_to_key() -> None:
    flags = {"flag": ["true", "true", "true", "false"], "v": ["x", "y", "z", "u"]}
    found = near_of("t", name=["a", "a", "a", "b"], id=["1", "2", "3", "3"], **flags)
    assert found == NearKey("v", 0, 0, None)
    flags["v"] = ["x", "x", "x", "x"]
    # rows that are equal as a whole count once
    found = near_of("t", name=["a", "a", "a", "b"], id=["1", "3", "3", "3"], **flags)
    assert found == NearKey("id", 1, 0, "3")
    # of two that are as near the likelier name
    found = near_of("t", name=["a", "b", "c", "c"], code=["1", "2", "", "4"], **flags)
    assert found == NearKey("code", 0, 1, None)
    assert near_of("t", flag=flags["flag"]) is None


def test_count_key_problems() -> None:
    rows = [("1", "a"), ("1", "b"), ("", "c"), ("2", "d"), ("2", "d")]
    assert count_key_problems([0], rows, lambda value: value == "") == (1, 1)


@pytest.mark.parametrize(
    ("path", "template", "business_date"),
    [
        ("a_2026-03-04.csv", "a_{business_date}.csv", "2026-03-04"),
        ("a_20260304.csv", "a_{yyyy}{mm}{dd}.csv", "2026-03-04"),
        ("a_2026_03_04.csv", "a_{yyyy}_{mm}_{dd}.csv", "2026-03-04"),
        ("in/2026/03/04/a.csv", "in/{yyyy}/{mm}/{dd}/a.csv", "2026-03-04"),
        ("dt=2026-03-04/p.parquet", "dt={business_date}/p.parquet", "2026-03-04"),
        (
            "export-2020-01-01/a_2026-03-04.csv",
            "export-2020-01-01/a_{business_date}.csv",
            "2026-03-04",
        ),
        ("a_2026-13-04.csv", "a_2026-13-04.csv", None),
        ("a_99990304.csv", "a_99990304.csv", None),
        ("a_1234567890.csv", "a_1234567890.csv", None),
        ("a.csv", "a.csv", None),
    ],
)
def test_put_placeholders(path: str, template: str, business_date: str | None) -> None:
    assert put_placeholders(path) == (template, business_date)


def test_put_placeholders__given_date() -> None:
    path = "export-2026-03-04/a_2020-01-01.csv"
    expected = ("export-{business_date}/a_2020-01-01.csv", "2026-03-04")
    assert put_placeholders(path, "2026-03-04") == expected


@pytest.mark.parametrize("text", ["20260304", "2026-02-30", "today", ""])
def test_check_date__refused(text: str) -> None:
    with pytest.raises(ConfigError, match="business date must be a date such as 2026-03-04"):
        check_date(text)


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("id\n1\n", encoding="utf-8")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("written", ["utf-8", "windows-1252"])
def test_sample__mark_of_utf8_and_another_encoding(
    tmp_path: Path, written: str, pack: Callable[[bytes], bytes]
) -> None:
    file = tmp_path / ("a.csv" if pack is bytes else "a.csv.gz")
    file.write_bytes(pack(codecs.BOM_UTF8 + "id;name\n1;Zürich\n".encode(written)))
    sample = read_sample([file], encoding="windows-1252")
    assert [column.name for column in sample.columns] == ["id", "name"]
    assert sample.rows == (("1", "Zürich"),)
    is_utf8 = written == "utf-8"
    assert ("encoding" not in sample.options) is is_utf8
    assert any("UTF-8" in note for note in sample.notes) is is_utf8


def test_find_extract__latest_of_a_glob(tmp_path: Path) -> None:
    touch(tmp_path, "in/a_2026-03-04.csv", "in/a_2026-03-03.csv", "in/b.csv")
    found = find_extract([str(tmp_path / "in/a_*.csv")], tmp_path)
    assert [file.name for file in found.files] == ["a_2026-03-04.csv"]
    assert (found.location, found.business_date, found.found) == (
        "in/a_{business_date}.csv",
        "2026-03-04",
        2,
    )


def test_find_extract__given_date(tmp_path: Path) -> None:
    touch(tmp_path, "a_2026-03-04.csv", "a_2026-03-03.csv")
    found = find_extract([str(tmp_path / "a_*.csv")], tmp_path, "2026-03-03")
    assert [file.name for file in found.files] == ["a_2026-03-03.csv"]
    with pytest.raises(ConfigError, match="no path has the business date 2026-01-01"):
        find_extract([str(tmp_path / "a_*.csv")], tmp_path, "2026-01-01")


def test_find_extract__parts_of_one_date_stay_a_glob(tmp_path: Path) -> None:
    touch(tmp_path, "a_2026-03-04_1.csv", "a_2026-03-04_2.csv")
    found = find_extract([str(tmp_path / "a_2026-03-04_*.csv")], tmp_path)
    assert len(found.files) == 2
    assert found.location == "a_{business_date}_*.csv"


@pytest.mark.parametrize("given", ["a_20260304.csv", "a_20260304_2.csv", "a_*.csv"])
@pytest.mark.parametrize("second", ["a_20260304_2.csv", "a_20260304-part2.csv", "a_20260304.b.csv"])
def test_find_extract__numbered_files_of_a_day(tmp_path: Path, given: str, second: str) -> None:
    names = ["a_20260303.csv", "a_20260304.csv", second, "a_lines_20260304.csv", "b_20260304_3.csv"]
    for name in names:
        (tmp_path / name).write_text("id\n1\n")
    if given == "a_20260304_2.csv":
        given = second
    patterns = [str(tmp_path / (given if given != "a_*.csv" else "a_2*.csv"))]
    found = find_extract(patterns, tmp_path)
    assert (found.location, found.business_date) == ("a_{yyyy}{mm}{dd}*.csv", "2026-03-04")
    assert sorted(path.name for path in found.files) == sorted(names[1:3])
    assert found.family == tmp_path / second and found.special == ""


@pytest.mark.parametrize(
    "beside", ["a_20260304_lines.csv", "a_20260304.csv.gz", "a_20260304x1y.csv"]
)
def test_find_extract__other_files_of_a_day_are_left(tmp_path: Path, beside: str) -> None:
    for name in ("a_20260304.csv", beside):
        (tmp_path / name).write_text("id\n1\n")
    found = find_extract([str(tmp_path / "a_20260304.csv")], tmp_path)
    assert (found.location, found.family) == ("a_{yyyy}{mm}{dd}.csv", None)
    (tmp_path / "a_20260304_2.csv").write_text("id\n1\n")
    found = find_extract([str(tmp_path / "a_20260304.csv")], tmp_path)
    wanted = "a_{yyyy}{mm}{dd}*.csv" if beside.endswith(".gz") else "a_{yyyy}{mm}{dd}.csv"
    assert found.location == wanted


def test_find_extract__folder_of_a_date(tmp_path: Path) -> None:
    touch(tmp_path, "dt=2026-03-04/part-0.csv", "dt=2026-03-04/_SUCCESS", "dt=2026-03-04/.x.crc")
    found = find_extract([str(tmp_path / "dt=2026-03-04")], tmp_path)
    assert [file.name for file in found.files] == ["part-0.csv"]
    assert found.location == "dt={business_date}"


def test_find_extract__outside_the_project_is_absolute(tmp_path: Path) -> None:
    touch(tmp_path, "in/a.csv", "project/x")
    found = find_extract([str(tmp_path / "in/a.csv")], tmp_path / "project")
    assert found.location == (tmp_path / "in/a.csv").as_posix()


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        (["missing.csv"], "no file .*missing.csv"),
        (["none_*.csv"], "no file matches"),
        (["a_*_*.csv"], "put a date into the pattern"),
        (["a_2026-03-04_1.csv", "b.csv"], "differ in more than the business date"),
        (["empty"], "empty folder"),
    ],
)
def test_find_extract__refused(tmp_path: Path, patterns: list[str], message: str) -> None:
    touch(tmp_path, "a_2026-03-04_1.csv", "a_2026-03-04_2.csv", "a_2026-03-05_1.csv", "b.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=message):
        find_extract([str(tmp_path / pattern) for pattern in patterns], tmp_path)
