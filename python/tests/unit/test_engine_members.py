"""JSON lines by the engine in the workers: what it takes is read as Python's parser reads it, digit by digit."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tidemark import hashing
from tidemark.engine.covers import why_not
from tidemark.engine.header import members_of, stamp_of
from tidemark.engine.load import Column
from tidemark.engine.members import doubt_of
from tidemark.engine.sql import arrived_sql
from tidemark.engine.types import text_sql
from tidemark.hashing import types as hash_types
from tidemark.hashing.casts import readers_of

from .test_engine import CFG, a_load

TYPES = {
    "id": "int", "text": "string", "d": "double", "f": "float", "dec": "decimal(12,2)", "b": "boolean",
    "a/b~c": "bigint", 'na"me': "string", "ü": "string", ".*": "double", "0": "string",
}  # fmt: skip
TEXTS = ['""', '"a"', '" x "', '"\\u0041"', '"\\ud83d\\ude00"', '"\\n\\t\\r"', '"Hello, it\'s, NaN,]"', '"🙂ü"', '"5"', '"a\\"b"',
         '"\\/"', '"{\\"d\\": 1}"', '"d"', '"\x7f"', '"\u2028"', "true", "5", "null", "12345678901234567"]  # fmt: skip
ALIKE = {
    "int": ["1", "-5", '"7"', "null", "2147483647"],
    "bigint": ["12345678901234567", "-1", "null", '" 5 "'],
    "string": TEXTS,
    "boolean": ["true", "false", '"true"', "null"],
    "double": ["1.10", "1e5", "0.30000000000000004", "1.1000000000000000888", "0.1", "5", '"1.5"', "null", "1E+2"],
    "float": ["1.5", "-3.25", "123456.789", "12.345", '"2.5"', "null", "7"],
    "decimal(12,2)": ["1", "1.10", "99999.99", "-0.5", '"1.5"', "null", "100"],
}  # fmt: skip
OTHERS = ["-0", "-0.0", "1e400", "NaN", "nan", "Infinity", "01", "+1", "1.", "{}", "[1,]", '{"d":1.5,}', "'x'", '"\\ud800"',
          '"\\x"', "TRUE", "123456789012345678901", "1.10", "0.1000000000000000055", "16777216.999999999999", "[[1]]",
          '{"f":1.5}', "1e2"]  # fmt: skip


class Lines:
    """A file of JSON lines, read as a load reads it."""

    def __init__(self, folder: Path):
        self.file = folder / "lines.jsonl"
        self.db = duckdb.connect(config={"threads": 1})
        self.db.execute("set TimeZone = 'UTC'")
        self.load = a_load(
            format="json", files=(str(self.file),), fields=tuple(TYPES), keys=("id",), compared=(), ignored=(),
            columns=tuple(Column(name, kind, place, False) for place, (name, kind) in enumerate(TYPES.items())),
        )  # fmt: skip

    def read(self, data: bytes) -> list[list[str | None]] | str:
        """The canonical texts of the values, line by line; a text: they are left to Spark."""
        self.file.write_bytes(data)
        doubt = doubt_of(self.load.files)
        if doubt:
            return doubt
        texts = ", ".join(
            text_sql(f"c{number}", kind) for number, kind in enumerate(TYPES.values())
        )
        query = f"select unproven, {texts} from ({arrived_sql(self.load, False)})"
        try:
            rows = self.db.execute(query).fetchall()
        except duckdb.Error as error:
            return type(error).__name__
        unproven = {row[0] for row in rows} - {None}
        return f"unproven {min(unproven)}" if unproven else [list(row[1:]) for row in rows]


def reference(line: str) -> list[str | None]:
    """The same by Python's parser, which leaves the digits of numbers as they are, and Tidemark's own casts."""
    members = json.loads(line, parse_int=str, parse_float=str)
    texts = []
    for name, kind in TYPES.items():
        value = members.get(name)
        text = {True: "true", False: "false"}.get(value, value) if not isinstance(value, str) else value  # fmt: skip
        if text is None or (kind != "string" and not text.strip(" ")):
            texts.append(None)
            continue
        ((_, read),) = readers_of({"c": hash_types.parse_type(kind)}, frozenset(), "UTC")
        texts.append(hashing.canonical_text(read(text) if read else text, kind))
    return texts


def random_line(rng: random.Random) -> str:
    def blank() -> str:
        return rng.choice(["", "", "", " ", "\t"])

    def quoted(name: str) -> str:
        return json.dumps(name, ensure_ascii=rng.random() < 0.5)

    odd = rng.random() < 0.3
    names = rng.sample(list(TYPES), rng.randrange(1, len(TYPES)))
    members = [
        (quoted(name), rng.choice(OTHERS if odd and rng.random() < 0.3 else ALIKE[TYPES[name]]))
        for name in names
    ]
    if rng.random() < 0.3:
        members.append((quoted(rng.choice(["other", "ID", "Text"])), rng.choice([*TEXTS, *OTHERS])))
    if odd and rng.random() < 0.3:
        members.append(rng.choice(members))
    pairs = [f"{blank()}{name}{blank()}:{blank()}{value}{blank()}" for name, value in members]
    return f"{rng.choice(['', ' '])}{{{','.join(pairs)}}}{rng.choice(['', ' '])}"


@pytest.mark.parametrize("seed", range(2))
def test_random_lines(tmp_path: Path, seed: int) -> None:
    """Whatever looks like a JSON line: left to Spark, or read alike."""
    rng, lines, taken = random.Random(seed), Lines(tmp_path), 0
    for _ in range(150):
        line = random_line(rng)
        found = lines.read(line.encode() + b"\n")
        if not isinstance(found, str):
            taken += 1
            assert found == [reference(line)], line
    assert taken > 30


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"id":1}\n\n   \n{"id":2}', None),
        (b'{"id":1}\r\n \r\n{"id":2}\r\n', None),
        (b' {"id":1 , "x" : [ {"y":null} ] }\n', None),
        (b'{"id":1,"text":"a, it is , NaN,]"}\n', None),
        (b'{"d":0.30000000000000004,"dec":1.25,"f":1.5}\n', None),
        (b'{"id":1,"text":"\\u00e9"}\n', None),
        (b'{"id":1}\r{"id":2}\n', "has a carriage return that ends no line"),
        (b'\xef\xbb\xbf{"id":1}\n', "has a line that is no object"),
        (b'{"id":1}\n[{"id":2}]\n', "has a line that is no object"),
        (b'{"id":1}\n\t\n', "has a line that is no object"),
        (b"null\n", "has a line that is no object"),
        (b'{"id":1,"text":"\xff"}\n', "InvalidInputException"),
        (b'{"id":1} x\n', "InvalidInputException"),
        (b'{"id":1,\n"text":"a"}\n', "has a line that is no object"),
        (b'{"id":1,"id":1}\n', "unproven -1"),
        (b'{"id":1,"x":[1,]}\n', "unproven -1"),
        (b'{"id":1,"x":NaN}\n', "unproven -1"),
        (b'{"id":1,"x":-inf}\n', "unproven -1"),
        (b'{"id":1,"_unreadable":"x"}\n', "unproven -1"),
        (b'{"id":1,"x":"%s"}\n' % (b"x" * 60_000), "unproven -1"),
        (b'{"id":1,"x":%s1%s}\n' % (b"[" * 501, b"]" * 501), "unproven -1"),
        (b'{"id":1,"x":%s}\n' % (b"1" * 1001), "unproven -1"),
        (b'{"id":1.0}\n', "unproven 0"),
        (b'{"id":true}\n', "unproven 0"),
        (b'{"text":1.10}\n', "unproven 1"),
        (b'{"text":-0}\n', "unproven 1"),
        (b'{"text":{}}\n', "unproven 1"),
        (b'{"d":-0}\n', "unproven 2"),
        (b'{"d":"NaN"}\n', "unproven 2"),
        (b'{"f":16777216.999999999999}\n', "unproven 3"),
        (b'{"dec":1.0000000000000000001}\n', "unproven 4"),
        (b'{"d\\u0065c":1.0000000000000000001}\n', "unproven 4"),
        (b'{"x":{"dec":1.5},"d\\u0065c":1.0000000000000000001}\n', "unproven 4"),
        (b'{"x":{"a/dec":1.5},"a\\/dec":1.5}\n', None),
        (b'{"dec":1.5,"text":"a \\u003c b \\n, c"}\n', None),
        (b'{"dec":1e2}\n', "unproven 4"),
        (b'{"b":0}\n', "unproven 5"),
    ],
)  # fmt: skip
def test_lines(tmp_path: Path, data: bytes, why: str | None) -> None:
    found = Lines(tmp_path).read(data)
    assert (found if isinstance(found, str) else None) == why


def test_members(tmp_path: Path) -> None:
    """The names in the first lines of all files, plain or packed; what cannot be read is left to Spark."""
    plain, packed = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    plain.write_text('{"id": 1, "b": 2}\n\n')
    packed.write_bytes(gzip.compress(b'{"c": {"d": NaN}}\n'))
    files: list[dict[str, Any]] = [{"path": str(path), "depth": 0} for path in (plain, packed)]
    assert members_of(files, ["id", "z"]) == {
        "paths": [str(plain), str(packed)],
        "stamps": [list(stamp_of(str(path))) for path in (plain, packed)],
        "names": ["id", "z"],
        "types": ["string", "string"],
        "found": ["b", "c", "id"],
    }
    for text, why in {
        '{"id": 1\n': "one of its first lines cannot be read",
        "5\n": "one of its first lines cannot be read",
        '{"_unreadable": 1}\n': "its files have a member with a name that is Tidemark's own",
    }.items():
        plain.write_text(text)
        assert members_of(files, ["id"]) == {"why_not": why}


def test_why_not() -> None:
    assert why_not({**CFG, "format": "json"}) is None
    cfg = {**CFG, "format": "json", "options": {"allowComments": True}}
    assert why_not(cfg) == "options has allowComments: True"
