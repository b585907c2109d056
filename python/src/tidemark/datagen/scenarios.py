"""Small extracts, date by date, that often break change capture, and the counts they must give."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tidemark.datagen.csv_text import csv_line, open_csv
from tidemark.errors import ConfigError

Row = tuple[str | None, ...]


@dataclass(frozen=True)
class Day:
    """One extract and what loading it must give.

    Attributes:
        columns: The header.
        rows: Field texts, None for NULL.
        expected: Rows by operation, and `rejected` or `exact_duplicates` if there are any; what is
            not named is 0. `error` instead names the guard that must stop the run.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    expected: dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """Extracts in the order of their dates, the first being 2026-03-01.

    Attributes:
        about: What is nasty here.
        keys: `unique_key`.
        days: The extracts.
        settings: `meta.tidemark` settings that the counts assume.
        types: Declared types of columns that are not strings.
    """

    about: str
    keys: tuple[str, ...]
    days: tuple[Day, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)

    @property
    def dates(self) -> list[str]:
        return [f"2026-03-{number:02d}" for number in range(1, len(self.days) + 1)]


def _days(columns: str, *days: tuple[list[Row], dict[str, Any]]) -> tuple[Day, ...]:
    return tuple(Day(tuple(columns.split()), tuple(rows), expected) for rows, expected in days)


_PLAIN: list[Row] = [("1", "Amsterdam"), ("2", "Berlin"), ("3", "Copenhagen")]
_QUARANTINE = {"on_reject": "quarantine"}
_BERLIN_TWICE: list[Row] = [("2", "Berlin"), ("2", "Bern")]

SCENARIOS: dict[str, Scenario] = {
    "null_key": Scenario(
        "A NULL in one column of a composite key, every day: rejected each time, never a new row.",
        ("region", "id"),
        _days(
            "region id name",
            ([("eu", "1", "a"), ("eu", None, "b"), ("us", "1", "c")], {"I": 2, "rejected": 1}),
            ([("eu", "1", "a"), ("eu", None, "b"), ("us", "1", "c")], {"N": 2, "rejected": 1}),
            ([("eu", "1", "a2"), (None, None, "b"), ("us", "1", "c")],
             {"U": 1, "N": 1, "rejected": 1}),
        ),
        _QUARANTINE,
    ),
    "null_key_allowed": Scenario(
        "The same with NULL as a value of the key: matched on every day.",
        ("region", "id"),
        _days(
            "region id name",
            ([("eu", "1", "a"), ("eu", None, "b"), ("us", "1", "c")], {"I": 3}),
            ([("eu", "1", "a"), ("eu", None, "b"), ("us", "1", "c")], {"N": 3}),
            ([("eu", "1", "a"), ("eu", None, "b2"), ("us", "1", "c")], {"U": 1, "N": 2}),
            ([("eu", "1", "a"), ("us", "1", "c")], {"D": 1, "N": 2}),
        ),
        {"null_keys": "allow"},
    ),
    "delimiter_in_value": Scenario(
        "Delimiters move between columns: joined with any delimiter the rows look the same.",
        ("k1", "k2"),
        _days(
            "k1 k2 a b",
            ([("1", "23", "ab", "c"), ("12", "3", "x|", "y"), ("1|2", "3", 'p,"q"', "r;")],
             {"I": 3}),
            ([("1", "23", "a", "bc"), ("12", "3", "x", "|y"), ("1|2", "3", 'p,"q"', "r;")],
             {"U": 2, "N": 1}),
            ([("1", "23", "a", "bc"), ("12", "3", "x", "|y"), ("1", "2|3", 'p,"q"', "r;")],
             {"I": 1, "D": 1, "N": 2}),
        ),
    ),
    "duplicate_key": Scenario(
        "Two rows of one key with different payload: both rejected, on every day.",
        ("id",),
        _days(
            "id name",
            ([("1", "Amsterdam"), *_BERLIN_TWICE, ("3", "Copenhagen")], {"I": 2, "rejected": 2}),
            ([("1", "Amsterdam"), *_BERLIN_TWICE[::-1], ("3", "Kopenhagen")],
             {"U": 1, "N": 1, "rejected": 2}),
        ),
        _QUARANTINE,
    ),
    "exact_duplicate": Scenario(
        "The same row twice and three times: one row.",
        ("id",),
        _days(
            "id name",
            ([*_PLAIN, _PLAIN[0]], {"I": 3, "exact_duplicates": 1}),
            ([*_PLAIN, _PLAIN[0], _PLAIN[0], _PLAIN[2]], {"N": 3, "exact_duplicates": 3}),
        ),
    ),
    "key_reuse_after_delete": Scenario(
        "A key goes, comes back as it was, goes again, stays away and comes back as another row.",
        ("id",),
        _days(
            "id name",
            (_PLAIN, {"I": 3}),
            ([_PLAIN[0], _PLAIN[2]], {"D": 1, "N": 2}),
            (_PLAIN, {"I": 1, "N": 2}),
            ([_PLAIN[0], _PLAIN[2]], {"D": 1, "N": 2}),
            ([_PLAIN[0], _PLAIN[2]], {"N": 2}),
            ([_PLAIN[0], ("2", "Bern"), _PLAIN[2]], {"I": 1, "N": 2}),
        ),
    ),
    "there_and_back": Scenario(
        "A value changes and changes back: two updates.",
        ("id",),
        _days(
            "id name",
            (_PLAIN, {"I": 3}),
            ([("1", "Oslo"), *_PLAIN[1:]], {"U": 1, "N": 2}),
            (_PLAIN, {"U": 1, "N": 2}),
        ),
    ),
    "null_vs_empty": Scenario(
        "NULL, the empty string, a blank and the word NULL are four values.",
        ("id",),
        _days(
            "id name",
            ([("1", None), ("2", ""), ("3", "NULL"), ("4", " "), ("5", "x")], {"I": 5}),
            ([("1", None), ("2", ""), ("3", "NULL"), ("4", " "), ("5", "x")], {"N": 5}),
            ([("1", ""), ("2", None), ("3", None), ("4", ""), ("5", "x ")], {"U": 5}),
        ),
    ),
    "all_null": Scenario(
        "Rows with nothing but a key, then something, then nothing.",
        ("id",),
        _days(
            "id name city",
            ([("1", None, None), ("2", None, None)], {"I": 2}),
            ([("1", None, "x"), ("2", "x", None)], {"U": 2}),
            ([("1", "x", None), ("2", None, None)], {"U": 2}),
        ),
    ),
    "column_added": Scenario(
        "A new column: only rows that have a value in it changed.",
        ("id",),
        (
            Day(("id", "name"), tuple(_PLAIN), {"I": 3}),
            Day(
                ("id", "name", "country"),
                (("1", "Amsterdam", None), ("2", "Berlin", "DE"), ("3", "Copenhagen", None)),
                {"U": 1, "N": 2},
            ),
            Day(
                ("id", "country", "name"),
                (("1", "NL", "Amsterdam"), ("2", "DE", "Berlin"), ("3", None, "Copenhagen")),
                {"U": 1, "N": 2},
            ),
        ),
    ),
    "column_dropped": Scenario(
        "A column goes: it is NULL from then on, which changes the rows that had a value, once.",
        ("id",),
        (
            Day(
                ("id", "name", "country"),
                (("1", "Amsterdam", None), ("2", "Berlin", "DE"), ("3", "Copenhagen", "DK")),
                {"I": 3},
            ),
            Day(("id", "name"), tuple(_PLAIN), {"U": 2, "N": 1}),
            Day(("id", "name"), tuple(_PLAIN), {"N": 3}),
        ),
    ),
    "column_case_renamed": Scenario(
        "Only the case and order of the column names change: nothing changed.",
        ("id",),
        (
            Day(("id", "name"), tuple(_PLAIN), {"I": 3}),
            Day(("NAME", "ID"), tuple((row[1], row[0]) for row in _PLAIN), {"N": 3}),
        ),
    ),
    "odd_column_names": Scenario(
        "Column names with blanks, dots, back-ticks and other scripts.",
        ("the key",),
        (
            Day(
                ("the key", "a.b", "c`d", "größe", "select"),
                (("1", "x", "x", "x", "x"), ("2", None, "", "y", "y")),
                {"I": 2},
            ),
            Day(
                ("the key", "a.b", "c`d", "größe", "select"),
                (("1", "x", "x", "x", "x"), ("2", "", None, "y", "y")),
                {"U": 1, "N": 1},
            ),
        ),
    ),
    "empty_extract": Scenario(
        "A header without rows: the guard stops the run, the next extract is compared with day 1.",
        ("id",),
        _days(
            "id name",
            (_PLAIN, {"I": 3}),
            ([], {"error": "max_delete_fraction"}),
            (_PLAIN, {"N": 3}),
        ),
    ),
    "empty_first_extract": Scenario(
        "A first extract without rows is legal.",
        ("id",),
        _days("id name", ([], {}), (_PLAIN, {"I": 3})),
    ),
    "delete_storm": Scenario(
        "Most rows are gone: the guard stops the run.",
        ("id",),
        _days(
            "id name",
            (_PLAIN, {"I": 3}),
            ([_PLAIN[0]], {"error": "max_delete_fraction"}),
            (_PLAIN[:2], {"D": 1, "N": 2}),
        ),
    ),
    "delta_extract": Scenario(
        "A delta extract deletes nothing: what it does not supply is X.",
        ("id",),
        _days(
            "id name",
            (_PLAIN, {"I": 3}),
            ([("2", "Bern"), ("4", "Dublin")], {"I": 1, "U": 1, "X": 2}),
            ([("2", "Bern")], {"N": 1, "X": 3}),
            ([], {"X": 4}),
        ),
        {"extract": "delta"},
    ),
    "failed_cast": Scenario(
        "Texts that are no numbers or dates: rejected, never NULL or 0.",
        ("id",),
        _days(
            "id amount on_date",
            ([("1", "1.50", "2026-03-01"), ("2", "1,50", "2026-03-01"), ("3", "1", "1.3.2026")],
             {"I": 1, "rejected": 2}),
            ([("1", "1.50", "2026-03-01"), ("2", "2", "2026-03-01")], {"I": 1, "N": 1}),
        ),
        {**_QUARANTINE, "max_reject_fraction": 1},
        {"amount": "decimal(10,2)", "on_date": "date"},
    ),
    "number_spelling": Scenario(
        "The same numbers spelt otherwise: nothing changed.",
        ("id",),
        _days(
            "id amount ratio",
            ([("1", "1.50", "0.1"), ("2", "100", "-0.0"), ("3", None, "1")], {"I": 3}),
            ([("01", "1.5", "1e-1"), ("+2", "100.00", "0"), ("3", None, "1.0")], {"N": 3}),
            ([("1", "1.51", "0.1"), ("2", "100", "0"), ("3", "0", "1")], {"U": 2, "N": 1}),
        ),
        {},
        {"id": "int", "amount": "decimal(10,2)", "ratio": "double"},
    ),
    "unicode": Scenario(
        "Letters of two, three and four bytes, joined emoji, composed and decomposed accents.",
        ("id",),
        _days(
            "id name",
            ([("ü", "Zürich"), ("u\u0308", "Zürich"), ("東京", "✈️👩‍🚀"), ("x", "naïve")], {"I": 4}),
            ([("ü", "Zu\u0308rich"), ("u\u0308", "Zürich"), ("東京", "✈️👩‍🚀"), ("x", "naive")],
             {"U": 2, "N": 2}),
        ),
    ),
    "newline_in_value": Scenario(
        "Line breaks, tabs, backslashes and quotes within values.",
        ("id",),
        _days(
            "id name",
            ([("1", "one\ntwo"), ("2", "tab\there"), ("3", 'say "x"'), ("4", "c:\\new")],
             {"I": 4}),
            ([("1", "one\ntwo"), ("2", "tab here"), ("3", 'say "x"'), ("4", "c:\new")],
             {"U": 2, "N": 2}),
        ),
        {"options": {"multiLine": True}},
    ),
    "upper_case_and_blanks": Scenario(
        "Case and blanks at the end count, in keys and values.",
        ("id",),
        _days(
            "id name",
            ([("a", "Bob"), ("A", "x"), ("a ", "y")], {"I": 3}),
            ([("a", "BOB"), ("A", "x "), ("a ", "y")], {"U": 2, "N": 1}),
        ),
    ),
}  # fmt: skip


def write_scenario(name: str, folder: Path) -> Path:
    """Write the extracts of a scenario, `<date>.csv`, and `expected.json`.

    Example:
        >>> write_scenario("null_vs_empty", Path("landing"))  # doctest: +SKIP

    Args:
        name: One of `SCENARIOS`.
        folder: Where to; it is made if need be.

    Returns:
        The path of `expected.json`: `scenario`, `about`, `unique_key`, `settings`, `types`, and
        under `dates` the `file` and the `expected` counts of each date.

    Raises:
        ConfigError: There is no such scenario.
    """
    scenario = SCENARIOS.get(name)
    if scenario is None:
        near = get_close_matches(name, SCENARIOS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(SCENARIOS)}"
        raise ConfigError(f"no scenario {name}; {hint}")
    dates = {}
    for date, day in zip(scenario.dates, scenario.days, strict=True):
        with open_csv(folder / f"{date}.csv") as file:
            for row in (day.columns, *day.rows):
                file.write(csv_line(row).encode("utf-8"))
        dates[date] = {"file": f"{date}.csv", "expected": day.expected}
    content = {
        "scenario": name,
        "about": scenario.about,
        "unique_key": list(scenario.keys),
        "settings": {"extract": "full", **scenario.settings},
        "types": scenario.types,
        "dates": dates,
    }
    path = folder / "expected.json"
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return path
