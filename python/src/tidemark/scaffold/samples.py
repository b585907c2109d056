"""Read the first rows of a file: its columns, their types, the reader options it needs."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import importlib
import io
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tidemark.errors import ConfigError, first_line
from tidemark.scaffold.inference import Column, field_name, infer_column, infer_json_column

Format = Literal["csv", "json", "parquet"]

_DELIMITERS = ",;\t|"
_SNIFFED_CHARACTERS = 64 * 1024
_EXTENSIONS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".psv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}


@dataclass(frozen=True)
class Sample:
    """The first rows of an extract.

    Attributes:
        format: Format of the files.
        columns: The columns, in the order of the files.
        rows: The rows, values as they can be compared, in the order of the columns.
        options: Reader options that differ from Tidemark's defaults.
        notes: What the user should know.
        complete: The files have no further row.
    """

    format: Format
    columns: tuple[Column, ...]
    rows: tuple[tuple[Hashable, ...], ...]
    options: dict[str, str | bool]
    notes: tuple[str, ...]
    complete: bool


def read_sample(
    files: Sequence[Path],
    *,
    format: Format | None = None,
    max_rows: int = 100_000,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
) -> Sample:
    """Read at most `max_rows` rows of the files.

    Args:
        files: The files, all of one format and shape.
        format: Their format; by default their extension says it.
        max_rows: Number of rows to read.
        delimiter: What stands between a CSV file's values; by default it is found out.
        header: Whether a CSV file's first line has the names; by default it is found out.
        encoding: Encoding of text, as Python and Java name it; by default UTF-8.

    Raises:
        ConfigError: The files cannot be read so.
    """
    format = format or format_of(files[0])
    if format == "parquet":
        return _read_parquet(files, max_rows)
    try:
        if format == "json":
            if encoding is not None:
                raise ConfigError("JSON lines are UTF-8. Remove --encoding")
            return _read_json(files, max_rows)
        return _read_csv(files, max_rows, delimiter, header, encoding)
    except UnicodeDecodeError as error:
        raise ConfigError(_wrong_encoding(files[0], format, encoding, error)) from error
    except LookupError as error:
        raise ConfigError(
            f"--encoding must be an encoding that Python knows, such as latin-1, found: {encoding}"
        ) from error
    except (EOFError, OSError) as error:
        raise ConfigError(
            f"{files[0]} cannot be read. Check the file and its rights: {error}"
        ) from error


def _wrong_encoding(
    path: Path, format: Format, declared: str | None, error: UnicodeDecodeError
) -> str:
    """Say what is no text in the declared encoding, and which one to declare."""
    data, start = bytes(error.object), error.start
    found = f"{path} is not {declared or 'utf-8'}: byte 0x{data[start]:02X}; "
    if format == "json":
        return found + "JSON lines must be UTF-8, so save the file as UTF-8"
    likely = next((name for name in _LIKELY_ENCODINGS if _reads(data, name)), "ISO-8859-1")
    line = data[data.rfind(b"\n", 0, start) + 1 :].split(b"\n")[0]
    advice = f"{found}name its encoding, for example --encoding {likely}"
    if likely == "UTF-16":
        return advice
    return f"{advice}, which reads the line as `{line.decode(likely)[:80].strip()}`"


_LIKELY_ENCODINGS = ("UTF-16", "windows-1252")


def _reads(data: bytes, encoding: str) -> bool:
    """Whether bytes are text in an encoding; UTF-16 is told by its first bytes."""
    if encoding == "UTF-16":
        return data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def format_of(path: Path) -> Format:
    """Return the format that a file's extension stands for.

    Raises:
        ConfigError: It stands for none.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in (".gz", ".bz2")]
    if suffixes and suffixes[-1] in _EXTENSIONS:
        return _EXTENSIONS[suffixes[-1]]
    raise ConfigError(
        f"the name {path.name} does not show a format: add --format csv, json or parquet"
    )


def _open_text(path: Path, encoding: str | None) -> io.TextIOBase:
    """Open a file as Spark does: its extension, not its content, says how it is compressed."""
    with path.open("rb") as raw:
        start = raw.read(4)
    if start[:2] == b"\x1f\x8b" and path.suffix.lower() != ".gz":
        raise ConfigError(
            f"{path} is compressed with gzip, but Spark reads it only if its name ends in "
            ".gz: rename it"
        )
    if start == b"PAR1":
        raise ConfigError(f"{path} is a Parquet file: add --format parquet")
    if start == b"PK\x03\x04":
        raise ConfigError(
            f"{path} is a zip archive, which Spark does not read: unpack it, or use gzip"
        )
    openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
    opener = openers.get(path.suffix.lower(), open)
    text: io.TextIOBase = opener(path, "rt", encoding=encoding or "utf-8-sig", newline="")
    mark = codecs.BOM_UTF8.decode(encoding, "replace") if encoding is not None else ""
    if mark and text.read(len(mark)) != mark:
        text.seek(0)
    return text


def _is_utf8_by_its_mark(path: Path) -> bool:
    """Whether a file begins with the byte order mark of UTF-8 and is UTF-8 as far as one looks."""
    with _open_text(path, "ISO-8859-1") as text:
        text.seek(0)
        start = text.read(_SNIFFED_CHARACTERS).encode("ISO-8859-1")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return start.startswith(codecs.BOM_UTF8)


# -- CSV


@dataclass(frozen=True)
class _Dialect:
    delimiter: str
    backslash: bool
    """Quotes inside quotes are written \\" instead of doubled."""

    def rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        options: dict[str, Any] = {"delimiter": self.delimiter, "quotechar": '"'}
        if self.backslash:
            options |= {"doublequote": False, "escapechar": "\\"}
        return (row for row in csv.reader(lines, **options) if row)


def _read_csv(
    files: Sequence[Path],
    max_rows: int,
    delimiter: str | None,
    header: bool | None,
    encoding: str | None,
) -> Sample:
    csv.field_size_limit(2**31 - 1)
    notes = []
    if encoding is not None and _is_utf8_by_its_mark(files[0]):
        notes.append(f"the file begins with the mark of UTF-8 and is UTF-8, not {encoding}")
        encoding = None
    with _open_text(files[0], encoding) as text:
        start = text.read(_SNIFFED_CHARACTERS)
    if not start.strip():
        raise ConfigError(f"{files[0]} is empty: give a sample with rows")
    if "\0" in start:
        raise ConfigError(
            f"{files[0]} is not text in {encoding or 'UTF-8'}, because it has NUL characters: "
            "name its --encoding or --format"
        )
    top_line = start.splitlines()[0]
    if re.fullmatch(r'"?sep=.?"?', top_line.strip(), re.IGNORECASE):
        raise ConfigError(
            f"{files[0]} begins with the line {top_line}, which only Excel reads: a load would "
            "take it for the header. Remove this line from the files"
        )
    dialect = _sniff(start, delimiter)
    first_rows = list(itertools.islice(dialect.rows(io.StringIO(start, newline="")), 101))
    has_header = _has_header(first_rows) if header is None else header
    names = _names(files[0], first_rows[0], has_header)

    rows: list[list[str]] = []
    ragged = 0
    complete = True
    for path in files:
        with _open_text(path, encoding) as text:
            lines = dialect.rows(text)
            if has_header:
                found = next(lines, None)
                if found is not None and found != first_rows[0]:
                    raise ConfigError(
                        f"{path} has other columns than {files[0]}: give files with the same "
                        "columns"
                    )
            try:
                for row in lines:
                    if len(rows) == max_rows:
                        complete = False
                        break
                    if len(row) != len(names):
                        ragged += 1
                        row = (row + [""] * len(names))[: len(names)]
                    rows.append(row)
            except csv.Error as error:
                raise ConfigError(
                    f"{path} cannot be read as CSV. Correct the file: {error}"
                ) from error

    columns = tuple(
        infer_column(name, values)
        for name, values in zip(names, _columns(rows, len(names)), strict=True)
    )
    options: dict[str, str | bool] = {}
    if dialect.delimiter != ",":
        options["sep"] = dialect.delimiter
    if not has_header:
        options["header"] = False
        notes.append(
            "the first line looks like data, so columns have Spark's names; add --header "
            "if the line has names"
        )
    if dialect.backslash:
        options["escape"] = "\\"
    if encoding is not None:
        options["encoding"] = encoding
    if ragged:
        have = "row has" if ragged == 1 else "rows have"
        notes.append(f"{ragged} {have} more or fewer values than the first line has columns")
    return Sample(
        "csv", columns, tuple(tuple(row) for row in rows), options, tuple(notes), complete
    )


def _sniff(start: str, delimiter: str | None) -> _Dialect:
    """Find the delimiter that cuts all lines into as many values; csv.Sniffer decides a tie."""
    backslash = '""' not in re.sub(r'(?:^|(?<=[,;\t|\n]))""(?=[,;\t|\r\n]|$)', "", start) and bool(
        re.search(r'\\"(?![,;\t|\r\n])', start)
    )
    if delimiter is not None:
        return _Dialect(delimiter, backslash)
    scores: dict[str, tuple[float, int]] = {}
    for candidate in _DELIMITERS:
        lines = list(
            itertools.islice(
                _Dialect(candidate, backslash).rows(io.StringIO(start, newline="")), 200
            )
        )
        widths = Counter(len(row) for row in lines[:-1] or lines)
        width, count = widths.most_common(1)[0]
        if width > 1:
            scores[candidate] = (round(count / sum(widths.values()), 2), width)
    if not scores:
        return _Dialect(",", backslash)
    best = max(scores.values())
    tied = [candidate for candidate, score in scores.items() if score == best]
    if len(tied) > 1:
        try:
            sniffed = csv.Sniffer().sniff(start, delimiters="".join(tied)).delimiter
            if sniffed in tied:
                return _Dialect(sniffed, backslash)
        except csv.Error:
            pass
    return _Dialect(tied[0], backslash)


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has names: no number, no value of its column, different words."""
    first, rest = [name.strip() for name in rows[0]], rows[1:]
    columns = [[row[i] for row in rest if len(row) > i] for i in range(len(first))]
    for name, values in zip(first, columns, strict=True):
        if name and infer_column("", [name]).data_type != "string":
            return False
        if re.match(r"0\d", name) or (name and name in values):
            return False
    if not rest or any(infer_column("", values).data_type != "string" for values in columns):
        return True
    # All text: names are words and differ, values are not all so.
    different = len({name.lower() for name in first}) == len(first)
    return different and all(
        re.fullmatch(r"[^\W\d][\w .#/()%-]{0,63}", name) for name in first if name
    )


def _names(path: Path, first: Sequence[str], has_header: bool) -> list[str]:
    """Names of the columns, those that Spark gives where the file has none."""
    for place, name in enumerate(first if has_header else (), 1):
        if not name.strip():
            raise ConfigError(
                f"column {place} in the header of {path} has no name, so a load would stop: name "
                "the column in the source"
            )
    names = list(first) if has_header else [f"_c{index}" for index in range(len(first))]
    _check_names(path, names)
    return names


def _check_names(path: Path, names: Sequence[str]) -> None:
    repeated = [
        name for name, count in Counter(name.lower() for name in names).items() if count > 1
    ]
    if repeated:
        raise ConfigError(
            f"{path} has several columns named {repeated[0]} (case does not count): "
            "rename them in the source"
        )


def _columns(rows: Sequence[Sequence[Any]], width: int) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True)) if rows else [()] * width


# -- JSON


def _read_json(files: Sequence[Path], max_rows: int) -> Sample:
    objects: list[dict[str, Any]] = []
    complete = True
    for path in files:
        with _open_text(path, None) as text:
            for number, line in enumerate(text, start=1):
                if not line.strip():
                    continue
                if len(objects) == max_rows:
                    complete = False
                    break
                objects.append(_json_object(path, number, line))
    if not objects:
        raise ConfigError(f"{files[0]} is empty: give a sample with rows")
    names = list(dict.fromkeys(name for item in objects for name in item))
    _check_names(files[0], names)
    columns = tuple(infer_json_column(name, [item.get(name) for item in objects]) for name in names)
    rows = tuple(tuple(_comparable(item.get(name)) for name in names) for item in objects)
    return Sample("json", columns, rows, {}, (), complete)


def _json_object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        item = json.loads(line)
    except ValueError as error:
        item = None
        if not line.lstrip().startswith(("{", "[")):
            raise ConfigError(
                f"{path} line {number} is not JSON. Correct the line: {error}"
            ) from error
    if not isinstance(item, dict):
        raise ConfigError(
            f"{path} line {number} is not a JSON object: write one object per line"
            + ("; this line holds an array or is spread over lines" if number == 1 else "")
        )
    return item


def _comparable(value: Any) -> Hashable:
    """A value that can stand in a set: null and '' as '', containers as text."""
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return json.dumps(value, sort_keys=True)
    return (type(value).__name__, value) if isinstance(value, bool) else value


# -- Parquet


def _read_parquet(files: Sequence[Path], max_rows: int) -> Sample:
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
        arrow: Any = importlib.import_module("pyarrow")
    except ImportError as error:
        raise ConfigError(
            "a Parquet sample needs pyarrow. Install it: pip install 'dbt-tidemark[parquet]'"
        ) from error
    schema: Any = None
    rows: list[tuple[Hashable, ...]] = []
    complete = True
    for path in files:
        try:
            file = parquet.ParquetFile(path)
            if schema is None:
                schema = file.schema_arrow
            elif file.schema_arrow.names != schema.names:
                raise ConfigError(
                    f"{path} has other columns than {files[0]}: give files with the same columns"
                )
            for batch in file.iter_batches(batch_size=10_000):
                values = [column.to_pylist() for column in batch.columns]
                rows += [
                    tuple(_parquet_value(value) for value in row)
                    for row in zip(*values, strict=True)
                ]
                if len(rows) > max_rows:
                    break
        except (arrow.ArrowException, OSError) as error:
            raise ConfigError(
                f"{path} cannot be read as Parquet. Replace the file: {first_line(error)}"
            ) from error
        if len(rows) > max_rows:
            complete = False
            rows = rows[:max_rows]
            break
    _check_names(files[0], schema.names)
    columns = tuple(
        Column(
            field.name,
            _arrow_type(arrow, field.type),
            "",
            sum(1 for value in values if value == ""),
            len(set(values)),
        )
        for field, values in zip(schema, _columns(rows, len(schema.names)), strict=True)
    )
    return Sample("parquet", columns, tuple(rows), {}, (), complete)


def _parquet_value(value: Any) -> Hashable:
    return repr(value) if isinstance(value, dict | list) else _comparable(value)


def _arrow_type(arrow: Any, kind: Any) -> str:
    """The Spark type that Spark's Parquet reader gives an Arrow type."""
    types = arrow.types
    if types.is_dictionary(kind):
        return _arrow_type(arrow, kind.value_type)
    if types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    if types.is_timestamp(kind):
        return "timestamp" if kind.tz is not None else "timestamp_ntz"
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return f"array<{_arrow_type(arrow, kind.value_type)}>"
    if types.is_map(kind):
        return f"map<{_arrow_type(arrow, kind.key_type)}, {_arrow_type(arrow, kind.item_type)}>"
    if types.is_struct(kind):
        fields = ", ".join(
            f"{field_name(field.name)}: {_arrow_type(arrow, field.type)}" for field in kind
        )
        return f"struct<{fields}>"
    spark = {
        "bool": "boolean",
        "int8": "tinyint",
        "int16": "smallint",
        "int32": "int",
        "int64": "bigint",
        "uint8": "smallint",
        "uint16": "int",
        "uint32": "bigint",
        "uint64": "decimal(20, 0)",
        "float": "float",
        "double": "double",
        "date32[day]": "date",
        "binary": "binary",
        "large_binary": "binary",
    }
    return spark.get(str(kind), "string")
