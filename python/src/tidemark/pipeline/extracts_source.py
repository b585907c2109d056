"""The extract of a business date: its files, or what the model's own SELECT yields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidemark.errors import ConfigError, DataError
from tidemark.model.columns import refused_name
from tidemark.pipeline.checking import no_date
from tidemark.pipeline.landing import check_lines
from tidemark.pipeline.slices import make_view
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.pipeline.workers import leave_to_spark, of_engine, tries_workers
from tidemark.printable import one_line, shortened
from tidemark.rules.names import lowered, names_of, unique
from tidemark.rules.paths import passed_over
from tidemark.shapes.load import Source
from tidemark.shapes.opened import Opened, Recorded, Run, SourceColumn
from tidemark.shapes.settings import Settings

_Files = Sequence[Values]

_OWN = ("_unreadable", "_malformed")
_SEPARATORS = ((";", "';'"), ("\t", '"\\t"'), ("|", "'|'"))
"""What may stand between columns instead of a comma, and how YAML has it."""
_PACKED = (".gz", ".bz2", ".zst", ".snappy", ".lz4", ".deflate")
_PLAIN = ("header", "sep", "delimiter", "nullvalue", "dateformat", "timestampformat")
"""Options by which each line may be a row still."""
# what a file begins with, as it is read by UTF-8 and by an encoding of one byte a letter
_COMPRESSED = (
    ("\x1f\ufffd", "gzip", ".gz"),
    ("\x1f\x8b", "gzip", ".gz"),
    ("BZh91AY", "bzip2", ".bz2"),
    ("(\ufffd/\ufffd", "zstd", ".zst"),
)
_LARGE = 16 * 1024 * 1024
"""Below that size one core reads a file as fast as one looks."""
_MOST_FOLDERS = 3


def source_extract(warehouse: Warehouse, opened: Opened, body: str) -> Source:
    """Return what there is to read.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        body: The compiled SQL of the model.

    Raises:
        UsageError: There is no business date.
        DataError: There is no extract of it, or it cannot be read.
    """
    if opened["run"]["business_date"] is None and not opened["run"]["empty"]:
        raise no_date(opened["cfg"])
    by_workers = source_of_workers(warehouse, opened, body)
    return by_workers or source_of_spark(warehouse, opened, body)


def source_of_spark(warehouse: Warehouse, opened: Opened, body: str) -> Source:
    """Return the source as Spark reads it; of files it makes the view behind extract()."""
    cfg, run, file_names = opened["cfg"], opened["run"], []
    if cfg["location"]:
        file_names = _extract_view(warehouse, cfg, run, opened["state"]["recorded"])
    return {
        "parts": ["all"],
        "body": body,
        "columns": warehouse.macro("describe_query", body),
        "file_names": file_names,
        "origin": _origin(warehouse, cfg, run),
    }


def source_of_workers(warehouse: Warehouse, opened: Opened, body: str) -> Source | None:
    """Return the source as the engine in the workers reads it; None where Spark has to.

    Only the first line, or the footer, of the files was read so far.
    """
    cfg, run = opened["cfg"], opened["run"]
    if not tries_workers(warehouse, opened, body, "covers.why_not_read"):
        return None
    path = warehouse.macro("extract_path", cfg["location"], run["business_date"])
    files = warehouse.adapter.list_files(path)
    if not files:
        return None
    check_lines(warehouse, cfg, run, files)
    separator, kind = of_engine("covers.separator_of", cfg["options"]), cfg["format"]
    if kind == "csv":
        header = of_engine("header.header_of", files, separator)
    elif kind == "parquet":
        header = of_engine("header.footer_of", files)
    else:
        header = of_engine("header.members_of", files, names_of(cfg["columns"]))
    if header.get("why_not"):
        leave_to_spark(warehouse, opened, header["why_not"])
        return None
    columns: list[SourceColumn] = [
        {"name": name, "type": type_}
        for name, type_ in zip(header["names"], header["types"], strict=False)
    ]
    if kind != "parquet":
        columns.append({"name": "_unreadable", "type": "string"})
    return {
        "parts": ["all"],
        "body": body,
        "columns": columns,
        "fields": header["names"],
        "file_names": header.get("found", header["names"]),
        "origin": _origin(warehouse, cfg, run),
        "files": header["paths"],
        "stamps": header["stamps"],
        "separator": separator,
    }


def _origin(warehouse: Warehouse, cfg: Settings, run: Run) -> str:
    """How messages call an extract."""
    date, where = run["business_date"], ""
    if cfg["location"]:
        where = f" ({warehouse.macro('extract_path', cfg['location'], date)})"
    return f" of business date {date}{where}"


def _extract_view(
    warehouse: Warehouse, cfg: Settings, run: Run, recorded: Recorded | None
) -> list[str]:
    """Make the view behind extract(), over the files of the run's business date.

    Args:
        warehouse: Where it is made.
        cfg: The settings.
        run: The dict of `run_config()`.
        recorded: What the last load recorded, which tells its columns.

    Returns:
        The names of the columns that the files have.
    """
    macro, entity, kind = warehouse.macro, cfg["entity"], cfg["format"]
    path = macro("extract_path", cfg["location"], run["business_date"])
    names = names_of(cfg["columns"])
    if kind == "json" and not names:
        raise ConfigError(
            f"{entity}: format json needs the columns in the YAML. Declare the columns with "
            "their names in the file"
        )
    files = macro("files_at", path)
    if not files and run["empty"]:
        make_empty_extract_view(warehouse, cfg, recorded)
        return []
    if not files:
        raise DataError(
            f"{entity}: no extract for business date {run['business_date']}. There is no file "
            f"at {path} (location in meta.tidemark). Put the file there, or give another "
            "business_date"
        )
    _check_folders(warehouse, cfg, files)
    check_lines(warehouse, cfg, run, files)
    mark = ""
    if kind == "csv":
        options = macro("csv_options", cfg["options"])
        found = _header_of(warehouse, cfg, path) if _has_header(options) else []
        mark = _utf8_mark(warehouse, cfg, path, found)
        if mark and not warehouse.rows(macro("line_findings_sql", cfg, path))[0]["malformed"]:
            # a file that has the mark and is UTF-8 throughout is read so
            as_utf8: Settings = {**cfg, "options": {**options, "encoding": "UTF-8"}}
            return _extract_view(warehouse, as_utf8, run, recorded)
        if _has_header(options):
            if mark and found:
                # which keeps quotes around the first name from being any
                found = [found[0][len(mark) :].strip('"'), *found[1:]]
            _check_separator(cfg, found, path)
            _check_header(warehouse, cfg, found, path)
            names = found or names
        elif not names:
            raise ConfigError(
                f"{entity}: a file without header needs the columns in the YAML. Declare the "
                "columns in the order of the file"
            )
    view = macro("run_view", cfg["target"], "extract")
    lines = _look_at_lines(warehouse, cfg, path)
    extra = ["_malformed"] if lines["malformed"] else []
    if kind == "csv":
        if extra:
            _readable_csv_view(warehouse, cfg, view, path, names, {**lines, "mark": mark})
        elif _is_read_by_line(warehouse, cfg, path, files):
            # a row on one line: see row_over_lines_sql()
            by_line = {"multiLine": "false"}
            warehouse.run(macro("extract_view_sql", cfg, view, path, names, by_line))
        else:
            _csv_view(warehouse, cfg, view, path, names, lines)
        if lines["odd"]:
            _check_quotes(warehouse, cfg, view, path, names)
        return names + extra
    if extra:
        warehouse.run(macro("readable_json_sql", cfg, view, path))
    elif kind == "parquet":
        _parquet_view(warehouse, cfg, view, path, files)
    else:
        warehouse.run(macro("extract_view_sql", cfg, view, path, names))
    if kind == "json":
        return extra + names_of(warehouse.rows(macro("json_names_sql", cfg, path)))
    return extra + names_of(macro("describe_query", f"select * from {view}"))


def _has_header(options: Values) -> bool:
    return str(options.get("header", "true")).lower() == "true"


def _header_of(
    warehouse: Warehouse, cfg: Settings, path: str, read_as: Values | None = None
) -> list[str]:
    sql = warehouse.macro("csv_header_sql", cfg, path, read_as or {})
    return names_of(warehouse.macro("describe_query", sql))


def _first_row(warehouse: Warehouse, cfg: Settings, path: str) -> list[Any]:
    """Return what the first line has, as it is written."""
    sql = warehouse.macro("csv_header_sql", cfg, path, {"header": "false"})
    rows = warehouse.rows(f"{sql} limit 1")
    return list(rows[0].values()) if rows else []


def _utf8_mark(warehouse: Warehouse, cfg: Settings, path: str, names: list[str]) -> str:
    """Return the byte order mark of UTF-8 as it is read by the declared encoding, such as ï»¿.

    Empty where the encoding is UTF-8, whose mark Spark's reader takes off.
    """
    macro = warehouse.macro
    encoding = macro("csv_options", cfg["options"])["encoding"]
    if macro("is_utf8", encoding) or not macro("can", "list_files"):
        return ""
    first = names or _first_row(warehouse, cfg, path)
    mark: str = of_engine("header.utf8_mark", (first[0] or "") if first else "", encoding)
    return mark


def _check_folders(warehouse: Warehouse, cfg: Settings, files: _Files) -> None:
    """Stop at files in folders of the folder, which Spark passes over.

    A full extract would take their keys for deleted ones.
    """
    options = {name.lower(): str(value).lower() for name, value in cfg["options"].items()}
    is_recursive = options.get("recursivefilelookup") == "true"
    if is_recursive or not warehouse.macro("can", "list_files"):
        return
    unread = passed_over(files)
    if unread:
        others = len(unread) - _MOST_FOLDERS
        more = f" and {others} more" if others > 0 else ""
        raise DataError(
            f"{cfg['entity']}: location is a folder. Files below its folders are not read, but "
            f"for folders called name=value. There {'is' if len(unread) == 1 else 'are'} "
            f"{', '.join(unread[:_MOST_FOLDERS])}{more}. Name their folders in location (such "
            "as …/*), set options: {recursiveFileLookup: true} in meta.tidemark, or move the "
            "files away"
        )


def _parquet_view(warehouse: Warehouse, cfg: Settings, view: str, path: str, files: _Files) -> None:
    """Make the view over Parquet files.

    If not all of them have a column, Spark would take those of one file, and lose the others; a
    file without a byte it passes over, and its rows would be taken for deleted ones.
    """
    for file in files:
        if file["size"] == 0:
            raise DataError(
                f"{cfg['entity']}: {file['path']} is empty, so it is not a Parquet file. "
                "Deliver the file again, or remove the file"
            )
    footers: Values = {"nanoseconds": {}, "differ": len(files) > 1}
    if warehouse.macro("can", "read_footers"):
        footers = warehouse.adapter.footers_of(files)
    options = cfg["options"]
    if footers["differ"] and "mergeschema" not in lowered(options):
        options = {**options, "mergeSchema": "true"}
    cfg = {**cfg, "options": options}
    sql = warehouse.macro("extract_view_sql", cfg, view, path, [], footers["nanoseconds"])
    warehouse.run(sql)


def _look_at_lines(warehouse: Warehouse, cfg: Settings, path: str) -> Values:
    """Return what is to be known of the lines of text files.

    Returns:
        `malformed`, whether some bytes may not be of the encoding that they are read by (Parquet
        has its own), `odd`, whether some line has an open quote, `mixed`, whether CSV lines end in
        two ways, and then `has_return`, see mixed_ends_sql().
    """
    if cfg["format"] == "parquet":
        return {"malformed": False, "mixed": False, "odd": False}
    macro = warehouse.macro
    lines = warehouse.rows(macro("line_findings_sql", cfg, path))[0]
    if cfg["format"] != "csv":
        return {**lines, "mixed": False}
    options = macro("csv_options", cfg["options"])
    if not macro("is_utf8", options["encoding"]):
        lines["malformed"] = True
    lines["mixed"] = lines["mixed"] and "linesep" not in lowered(cfg["options"])
    if lines["mixed"]:
        first = warehouse.rows(macro("first_lines_sql", cfg, path))
        headers = list(dict.fromkeys(row["line"] for row in first))
        # the reader would not compare them: to it the carriage return is a part of the last name
        if len(headers) > 1 and str(options.get("header", "")).lower() == "true":
            raise DataError(
                f"{cfg['entity']}: the files at {path} have different headers, {headers[0]} and "
                f"{headers[1]}. Deliver all files of a date with the same columns in the same order"
            )
        lines["has_return"] = any(row["has_return"] for row in first)
    return lines


def _check_quotes(
    warehouse: Warehouse, cfg: Settings, view: str, path: str, names: list[str]
) -> None:
    """Stop at a CSV file that ends within a quote."""
    for found in warehouse.rows(warehouse.macro("open_quote_sql", cfg, view, path, names)):
        raise DataError(
            f"{cfg['entity']}: {found['file']} ends within an open quote. The delivery broke "
            "off, or a quote is not doubled. The rows after the quote would be lost. Deliver "
            "the file again"
        )


def _csv_view(
    warehouse: Warehouse, cfg: Settings, view: str, path: str, names: list[str], lines: Values
) -> None:
    """Make the view over CSV files, whatever their lines end with."""
    macro, read_as = warehouse.macro, lines.get("read_as", {})
    if not lines["mixed"]:
        warehouse.run(macro("extract_view_sql", cfg, view, path, names, read_as))
        return
    mixed = macro("run_view", cfg["target"], "mixed")
    read_as = {**read_as, "lineSep": "\n", "enforceSchema": "true"}
    warehouse.run(macro("extract_view_sql", cfg, mixed, path, names, read_as))
    warehouse.run(macro("mixed_ends_sql", view, mixed, names, lines["has_return"]))


def _readable_csv_view(
    warehouse: Warehouse, cfg: Settings, view: str, path: str, names: list[str], given: Values
) -> None:
    """Make the view over CSV files with bytes that cannot be read.

    A name in the header that has them is no name.
    """
    macro = warehouse.macro
    options = macro("csv_options", cfg["options"])
    has_header = _has_header(options)
    for name in names:
        if "\ufffd" in name:
            raise _other_encoding(warehouse, cfg, path, name)
    read_as = {"encoding": "ISO-8859-1"} if macro("is_utf8", options["encoding"]) else {}
    read_names = names
    if (read_as or given["mark"]) and has_header:
        read_names = _header_of(warehouse, cfg, path, read_as)
    lines = macro("run_view", cfg["target"], "lines")
    _csv_view(warehouse, cfg, lines, path, read_names, {**given, "read_as": read_as})
    marked = {**cfg, "mark": "" if has_header else given["mark"]}
    warehouse.run(macro("readable_csv_sql", marked, view, lines, names, read_names))


def _check_separator(cfg: Settings, found: list[str], path: str) -> None:
    """Stop at a header that is none, or whose columns another separator separates."""
    known = lowered([*names_of(cfg["columns"]), *cfg["keys"]])
    for start, packed, ending in _COMPRESSED:
        if found and found[0].startswith(start):
            raise DataError(
                f"{cfg['entity']}: {path} is compressed with {packed}, which Spark sees by the end "
                f"of a file's name alone. Let the name end in {ending}, or deliver it unpacked"
            )
    if found and found[0].lower().startswith("sep=") and found[0].lower() not in known:
        raise DataError(
            f"{cfg['entity']}: {path} begins with the line sep=, which only Excel reads. Deliver "
            "the file without this line"
        )
    if found and found[0].startswith("PK\x03\x04"):
        raise DataError(
            f"{cfg['entity']}: {path} is a zip archive or an Excel workbook. Deliver the file as "
            "CSV"
        )
    if len(found) != 1 or found[0].lower() in known:
        return
    for separator, shown in _SEPARATORS:
        if separator in found[0]:
            raise ConfigError(
                f"{cfg['entity']}: the header of {path} is one column, `{found[0]}`. If {shown} "
                "separates "
                f"the columns: set options: {{sep: {shown}}} in meta.tidemark"
            )


def _check_header(warehouse: Warehouse, cfg: Settings, found: list[str], path: str) -> None:
    """Stop at a header that no view of the file could have.

    What Spark makes of a name that is not there, or there twice, tells of it.
    """
    entity, header = cfg["entity"], f"the header of {path}"
    # what Spark reads of a byte order mark alone
    if found == ["\0"]:
        raise DataError(
            f"{entity}: {path} has only a byte order mark. Deliver the file again, with its header"
        )
    for name in found:
        if "\0" in name:
            raise _other_encoding(warehouse, cfg, path, name)
        refused = refused_name(name, _OWN)
        if refused:
            raise ConfigError(f"{entity}: in {header}, {refused}: rename it in the source")
    if not warehouse.macro("has_made_names", found):
        return
    names = _first_row(warehouse, cfg, path)
    there = lowered([name for name in names if name])
    known = lowered([*names_of(cfg["columns"]), *cfg["keys"]])
    if known and not set(known) & set(there):
        line = shortened(one_line(",".join(name or "" for name in names)), 60)
        raise DataError(
            f"{entity}: the first line of {path} is `{line}` and names no column of the YAML: the "
            "header is missing. Deliver the file with its header"
        )
    for place, name in enumerate(names, 1):
        if name is None or name == "":
            raise DataError(
                f"{entity}: column {place} in {header} has no name. Name the column in the source"
            )
    lower = lowered(names)
    for name in names:
        if lower.count(name.lower()) > 1:
            raise DataError(
                f"{entity}: {header} has column `{name}` twice (names differ at most in case). "
                "Rename one in the source"
            )


def _other_encoding(warehouse: Warehouse, cfg: Settings, path: str, name: str) -> ConfigError:
    """A name is not of the encoding that the file is read by."""
    encoding, shown = warehouse.macro("csv_options", cfg["options"])["encoding"], "\ufffd"
    # of UTF-16 every second byte of a plain letter is NUL
    other = "UTF-16" if chr(0) in name else "windows-1252"
    return ConfigError(
        f"{cfg['entity']}: the header of {path} is not {encoding}: "
        f"`{shortened(one_line(name.replace(chr(0), shown)), 60)}`. "
        f"Name the encoding of the file: options: {{encoding: {other}}} in meta.tidemark"
    )


def _is_read_by_line(warehouse: Warehouse, cfg: Settings, path: str, files: _Files) -> bool:
    """Say whether each line of large CSV files is a row, so that Spark can share out the lines."""
    has_other = any(name not in _PLAIN for name in lowered(cfg["options"]))
    if has_other or max(file["size"] for file in files) < _LARGE:
        return False
    if any(file["path"].endswith(_PACKED) for file in files):
        return False
    return len(warehouse.run(warehouse.macro("row_over_lines_sql", cfg, path))) == 0


def make_empty_extract_view(warehouse: Warehouse, cfg: Settings, recorded: Recorded | None) -> None:
    """Make the view for --empty without a file.

    It has no rows, and the columns of the last load, of the settings and of the YAML.
    """
    macro = warehouse.macro
    types = {
        column["name"].lower(): macro("quoted_type", column["type"])
        for column in (recorded or {}).get("columns", [])
        if not column.get("dropped")
    }
    declared = [column for column in cfg["columns"] if column["data_type"]]
    types |= {column["name"].lower(): column["data_type"] for column in declared}
    if cfg["effective_from"]:
        types.setdefault(cfg["effective_from"].lower(), "timestamp")
    named = [*names_of(cfg["columns"]), *cfg["keys"], *cfg["ignore"], *cfg["sensitive"], *types]
    layout = [*cfg["partition_by"], *cfg["cluster_by"]]
    named += [name for name in layout if "." not in name and not name.startswith("_")]
    terms = [
        f"cast(null as {types.get(name.lower(), 'string')}) as {macro('quote_identifier', name)}"
        for name in unique(named)
    ]
    view = macro("run_view", cfg["target"], "extract")
    make_view(warehouse, view, f"select {', '.join(terms)} where false")
