"""First lines of CSV files that are no header: what they are instead is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidemark.errors import TidemarkError
from tidemark.pipeline import extracts_source

CFG: Any = {
    "entity": "airports",
    "keys": ["icao"],
    "columns": [{"name": "icao"}, {"name": "name"}],
    "options": {},
}


def said(found: list[str], line: list[str | None]) -> str:
    """What is said of a header as Spark has its names, and of the line as it is written."""
    macros = {
        "csv_options": lambda options: {"encoding": "UTF-8"},
        "csv_header_sql": lambda *_: "select",
        "has_made_names": lambda names: True,
    }
    warehouse: Any = SimpleNamespace(
        macro=lambda name, *given: macros[name](*given),
        rows=lambda sql: [dict(enumerate(line))],
    )
    with pytest.raises(TidemarkError) as raised:
        extracts_source._check_separator(CFG, found, "a.csv")
        extracts_source._check_header(warehouse, CFG, found, "a.csv")
    return str(raised.value)


@pytest.mark.parametrize(
    ("start", "packed"),
    [("\x1f\ufffd\x08\x00", "gzip"), ("\x1f\x8b\x08", "gzip"), ("BZh91AY&SY", "bzip2"),
     ("(\ufffd/\ufffd$", "zstd")],
)  # fmt: skip
def test_compressed(start: str, packed: str) -> None:
    """It is no file of another encoding, and what is in it does not reach the terminal."""
    assert said([start + ";u\n\x1b["], []).startswith(
        f"airports: a.csv is compressed with {packed}, "
    )


def test_other_encoding__has_nothing_that_a_terminal_obeys() -> None:
    text = said(["i\x00c\x00\x1b[2J\n" + "x" * 200], [])
    assert "encoding: UTF-16" in text and text.isprintable() and len(text) < 200


def test_header__that_is_a_row() -> None:
    assert said(["00AK", "_c1", "Lowell Field"], ["00AK", None, "Lowell Field"]) == (
        "airports: the first line of a.csv is `00AK,,Lowell Field` and names no column of the YAML: "
        "the header is missing. Deliver the file with its header"
    )
    assert said(["icao", "_c1"], ["icao", None]).startswith("airports: column 2 in the header of")
