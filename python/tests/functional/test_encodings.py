"""Text files in another encoding than declared: malformed bytes are told, U+FFFD of a file's own is a character."""

from __future__ import annotations

import bz2
import codecs
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..render.test_golden import KEYED, SEQUENCED
from ..rendering import load_sql_macros
from .entities import Entity

pytestmark = pytest.mark.turn(1)

CONFIG = {
    "alias": "people",
    "schema": "shop",
    "columns": {
        "id": {"name": "id", "data_type": "int"},
        "name": {"name": "name", "data_type": "string"},
        "tags": {"name": "tags", "data_type": "array<string>"},
    },
}
COLUMNS: dict[str, str | None] = {"id": "int", "name": "string"}
LATIN = "not UTF-8 (byte 0xFC, shown as ISO-8859-1): "
JSON = '{"id": 2, "name": "Zürich", "tags": ["x"]}'

Read = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def read(module_project: Any, tmp_path: Path) -> Read:
    """Rows of an extract: id, name, the line that is malformed, or cannot be read."""
    macros, session = load_sql_macros(), module_project.session

    def rows(data: bytes, name: str = "people.csv", **options: str) -> list[tuple[Any, ...]]:
        file = tmp_path / name
        file.write_bytes(data)
        suffix = name.split(".")[1]
        settings = {"extract": "full", "location": "x", "format": suffix, "options": options}
        config = {"unique_key": "id", "meta": {"tidemark": settings}}
        cfg = macros["entity_config"]({**CONFIG, "config": config})
        declared = macros["csv_options"](options)["encoding"] if suffix == "csv" else "UTF-8"
        is_utf8 = macros["is_utf8"](declared)
        if is_utf8:
            [told] = session.sql(macros["line_findings_sql"](cfg, str(file))).collect()
            if not told.malformed:
                session.sql(macros["extract_view_sql"](cfg, "extract", str(file), ["id", "name"]))
                found = session.sql("select id, name, _unreadable from extract").collect()
                return [tuple(row) for row in found]
        if suffix == "csv":
            read_as = {"encoding": "ISO-8859-1"} if is_utf8 else {}
            names = [
                session.sql(macros["csv_header_sql"](cfg, str(file), options)).columns
                for options in ({}, read_as)
            ]
            lines = macros["extract_view_sql"](cfg, "lines", str(file), names[1], read_as)
            session.sql(lines)
            session.sql(macros["readable_csv_sql"](cfg, "extract", "lines", *names))
        else:
            session.sql(macros["readable_json_sql"](cfg, "extract", str(file)))
        found = session.sql(
            "select id, name, coalesce(_malformed, _unreadable) from extract"
        ).collect()
        return [tuple(row) for row in found]

    return rows


PACKED: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("", bytes),
    (".gz", gzip.compress),
    (".bz2", bz2.compress),
]


@pytest.mark.parametrize(("suffix", "pack"), PACKED)
def test_csv(read: Read, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    good = "id,name\n1,Österreich\n3,\ufffd\n"
    bad = good.encode() + '2,Zürich\n4,"two\nlünes"\n5,"é",x\n'.encode("latin-1")
    assert read(pack(good.encode()), "people.csv" + suffix) == [
        ("1", "Österreich", None),
        ("3", "\ufffd", None),
    ]
    assert read(pack(bad), "people.csv" + suffix) == [
        ("1", "Österreich", None),
        ("3", "\ufffd", None),
        ("2", None, LATIN + "2,Zürich"),
        ("4", None, LATIN + "4,two\nlünes"),
        ("5", None, "not UTF-8 (byte 0xE9, shown as ISO-8859-1): 5,é"),
    ]


def test_csv__header(read: Read) -> None:
    """A byte order mark, and names that are not ASCII, with malformed rows after them."""
    bad = "id,größe\n1,ä\n".encode("utf-8-sig") + "2,ü\n".encode("latin-1")
    assert read(bad.replace("größe".encode(), b"name")) == [
        ("1", "ä", None),
        ("2", None, LATIN + "2,ü"),
    ]


def test_csv__declared(read: Read) -> None:
    text = "id;name\n1;Zürich\n"
    for encoding in ("windows-1252", "UTF-16"):
        found = read(text.encode(encoding), sep=";", encoding=encoding)
        assert found == [("1", "Zürich", None)], encoding
    assert read(text.encode("latin-1"), sep=";", charset="latin1") == [("1", "Zürich", None)]
    # 0x81 is no character of windows-1252
    found = read(b"id,name\n1,a\x81b\n2,c\n", encoding="windows-1252")
    assert found == [("1", None, "not windows-1252: 1,a\ufffdb"), ("2", "c", None)]


@pytest.mark.parametrize(
    ("text", "is_odd", "is_open"),
    [
        ('id,name\n1,a\n2,"b\n3,c\n', True, True),
        ('id,name\r\n1,a\r\n2,"b ""\r\n3,c\r\n\r\n', True, True),
        ('id,name\n1,a\n2,"b ""c', True, True),
        ('id,name\n1,5" pipe\n2,"x\n3,""y"\n', True, False),
        ('id,name\n1,"a ""q"\n', False, False),
    ],
)
def test_csv__open_quote(
    module_project: Any, tmp_path: Path, text: str, is_odd: bool, is_open: bool
) -> None:
    """A file that ends within a quote is told from one with a quote in the midst of a value."""
    macros, session = load_sql_macros(), module_project.session
    file = tmp_path / "cut.csv"
    file.write_bytes(text.encode())
    settings = {"extract": "full", "location": "x", "format": "csv"}
    cfg = macros["entity_config"](
        {**CONFIG, "config": {"unique_key": "id", "meta": {"tidemark": settings}}}
    )
    [told] = session.sql(macros["line_findings_sql"](cfg, str(file))).collect()
    names = ["id", "name"]
    session.sql(macros["extract_view_sql"](cfg, "extract", str(file), names))
    found = session.sql(macros["open_quote_sql"](cfg, "extract", str(file), names)).collect()
    assert (told.odd, bool(found)) == (is_odd, is_open)


def test_csv__cut(module_project: Any) -> None:
    people = Entity(module_project, "cut_people", {"id": "int", "name": "string"})
    error = people.load("2026-01-01", 'id,name\n1,a\n2,"b\n3,c\n', expect_pass=False).error
    assert "2026-01-01.csv ends within an open quote" in error


def test_csv__mark_of_utf8_and_another_encoding(module_project: Any) -> None:
    """A file of UTF-8 is read so, one that has only its mark as it is declared."""
    options = {"encoding": "windows-1252", "sep": ";"}
    people = Entity(module_project, "marked_people", COLUMNS, options=options)
    mark, text = codecs.BOM_UTF8, '"id";name\n1;Zürich\n2;Bern\n'
    people.load("2026-01-01", mark + text.encode("windows-1252"))
    assert people.rows("id, name") == [(1, "Zürich"), (2, "Bern")]
    people.load("2026-01-02", mark + text.replace("Zürich", "Züri").encode())
    assert people.rows("id, name") == [(1, "Züri"), (2, "Bern")]
    people.write(options={**options, "header": False})
    people.load("2026-01-03", mark + "1;Öland\n2;Bern\n".encode("windows-1252"))
    assert people.rows("id, name") == [(1, "Öland"), (2, "Bern")]
    # the failures of every column are told at once
    people.not_null = ("name",)
    people.write(options=options)
    error = people.load("2026-01-04", "id;name\nx;\n2;Bern\ny;Z\n", expect_pass=False).error
    assert "cast_failed: id: 2 rows, such as 'x'" in error and "null_value: name: 1 row" in error


@pytest.mark.parametrize(("suffix", "pack"), PACKED)
def test_json(read: Read, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    good = '{"id": 1, "name": "\ufffd"}\n'.encode()
    assert read(pack(good), "people.json" + suffix) == [("1", "\ufffd", None)]
    assert read(pack(good + JSON.encode("latin-1")), "people.json" + suffix) == [
        ("1", "\ufffd", None),
        ("2", None, LATIN + JSON),
    ]


@pytest.mark.parametrize("malformed", [False, True])
def test_json__whole_lines(read: Read, malformed: bool) -> None:
    """What stands behind an object, as where two files were joined without a line's end, is not passed over."""
    alike = [
        '{"id": 1, "name": "a"}',
        ' {"id": 1, "name": "a"} \t',
        '{"id": 1, "name": "a", "tags": ["}"], "other": {"x": [{}, NaN]}}',
        "{'id': 1, 'other': {'x': 2}, 'name': 'a'}",
    ]
    more = [
        line + rest
        for line in ('{"id": 1, "name": "a"}', '{"id": 1, "name": "a", "other": {"x": "}"}}')
        for rest in (' {"id": 2}', '{"id": 2}', ',{"id": 2}', ",", "]", "}", " x", ',"y"')
    ]
    other = [JSON.encode("latin-1")] if malformed else []
    found = read(b"\n".join([*(line.encode() for line in [*alike, *more]), *other]), "people.json")
    assert found[: len(alike)] == [("1", "a", None)] * len(alike)
    assert found[len(alike) :][: len(more)] == [("1", "a", line) for line in more]


DEBEZIUM = '{"op": "c", "after": {"id": 1, "name": "Zürich"}, "source": {"connector": "mysql", "db": "shop", "table": "customers"}}'


@pytest.mark.parametrize(
    ("macro", "cfg", "line"),
    [
        ("debezium_events_sql", KEYED.cfg, DEBEZIUM),
        (
            "canonical_events_sql",
            SEQUENCED.cfg,
            '{"_operation": "INSERT", "_table": "customers", "name": "Zürich"}',
        ),
    ],
)
def test_events(module_project: Any, macro: str, cfg: Any, line: str) -> None:
    """A line of another table is passed over, whatever it holds; what stands behind a message is not."""
    session = module_project.session

    def told(data: bytes) -> Any:
        session.sql(
            f"select cast(unhex('{data.hex()}') as string) as value, cast(1 as bigint) as _landing_num"
        ).createOrReplaceTempView("arrived_bytes")
        tables = ["shop.customers", "customers"]
        batch = {"tables": tables} if macro == "canonical_events_sql" else tables
        sql = load_sql_macros()[macro](cfg, batch, "arrived_bytes")
        [row] = session.sql(sql).collect()
        return row

    for text, kind in [(line, "unreadable"), (line.replace("customers", "others"), "ignored")]:
        row = told(text.encode("latin-1"))
        assert (row._kind, row._raw_payload) == (kind, LATIN + text)
    assert row._problem == "unreadable"
    assert told(f" {line} ".encode())._kind not in ("unreadable", "ignored")
    if "source" in line:
        assert told(b'{"status": "END", "id": "1"}')._kind == told(b"null")._kind == "ignored"
        assert told(b'{"status": "END", "id": "1"}' + line.encode())._kind == "unreadable"
    for rest in (line, " " + line, "," + line, ",", "]", "}", " x"):
        row = told((line + rest).encode())
        assert (row._kind, row._problem) == ("unreadable", "unreadable"), rest
