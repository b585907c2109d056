"""What a step gives, as files that land: written as the model's settings say they are read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tidemark.engine.quoted import identifier, literal
from tidemark.engine.types import known_type
from tidemark.errors import ConfigError, first_line
from tidemark.model.settings.unit_tests import Given, Row
from tidemark.read.values import json_value, value_text
from tidemark.unit_tests.cases import Case
from tidemark.unit_tests.rows import rows_of, types_of


def location_of(case: Case) -> str:
    """Return the location that a model has while it is tested: a folder of each date, or of all."""
    landing = case.folder / "landing"
    return str(landing if case.has_events else landing / "{business_date}")


def land(case: Case, step: int, date: str, root: Path) -> None:
    """Write what a step gives where the model finds it.

    Args:
        case: The test.
        step: The number of the step.
        date: Its business date.
        root: The project's folder.

    Raises:
        ConfigError: It cannot be written so.
    """
    given = case.test.steps[step].given
    if given is None or given.model_dump(exclude={"inputs"}, exclude_none=True) == {}:
        return
    folder = Path(location_of(case).replace("{business_date}", date))
    if not case.has_events:
        # the date is given anew
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    if given.files is not None:
        files = [given.files] if isinstance(given.files, str) else given.files
        for number, name in enumerate(files):
            source = root / name
            if not source.is_file():
                raise ConfigError(f"there is no file {name}. Check the path")
            shutil.copy(source, folder / f"{step:03}_{number:03}_{source.name}")
        return
    file_format = _format_of(case)
    path = folder / f"{step:03}.{file_format if file_format == 'parquet' else _suffix(case)}"
    if file_format == "parquet" and given.lines is None:
        _write_parquet(case, _with_declared(case, rows_of(given, root)), path)
        return
    encoding = str(_option(case, "encoding") or "utf-8")
    try:
        path.write_bytes(_text_of(case, given, step, root).encode(encoding))
    except (LookupError, UnicodeEncodeError) as error:
        raise ConfigError(
            f"the given rows cannot be written as {encoding}. Correct them: {error}"
        ) from error


def _text_of(case: Case, given: Given, step: int, root: Path) -> str:
    if given.lines is not None:
        return given.lines if given.lines.endswith("\n") or not given.lines else given.lines + "\n"
    rows = rows_of(given, root)
    if given.rows is not None and not case.has_events:
        rows = _with_declared(case, rows)
    if _format_of(case) == "csv":
        return _csv_text(case, rows)
    if _format_of(case) == "debezium":
        rows = [_envelope(row, case, 1000 * step + number) for number, row in enumerate(rows)]
    return "".join(json.dumps(json_value(row), ensure_ascii=False) + "\n" for row in rows)


def _with_declared(case: Case, rows: Sequence[Row]) -> list[Row]:
    """Return rows that have all columns that the YAML declares; what a row lacks is NULL."""
    named = dict.fromkeys(name for row in rows for name in row)
    lower = {name.lower() for name in named}
    others = [name for name in case.node.columns if name.lower() not in lower]
    return [{name: row.get(name) for name in (*named, *others)} for row in rows]


def _format_of(case: Case) -> str:
    """Return the format of the model's files; of enriched events that of lines of JSON."""
    if case.node.config.materialized == "atomic":
        return "json"
    usual = "debezium" if case.has_events else "csv"
    return str(case.settings.get("format") or usual)


def _suffix(case: Case) -> str:
    return "csv" if _format_of(case) == "csv" else "jsonl"


def _option(case: Case, *names: str) -> Any:
    """Return a reader option, whose name Spark takes in any case."""
    options = case.settings.get("options") or {}
    found = [value for name, value in options.items() if str(name).lower() in names]
    return found[0] if found else None


def _csv_text(case: Case, rows: Sequence[Row]) -> str:
    """Return rows as CSV by the model's options: NULL is an empty cell, '' is a quoted one."""
    separator = str(_option(case, "sep", "delimiter") or ",")
    quote = str(_option(case, "quote") or '"')
    escape = str(_option(case, "escape") or quote)
    null = str(_option(case, "nullvalue") or "")
    has_header = str(_option(case, "header")).lower() != "false"
    declared = list(case.node.columns)
    names = list(dict.fromkeys(name for row in rows for name in row)) or declared
    if not has_header:
        if unknown := [name for name in names if name not in declared]:
            raise ConfigError(
                "files without a header have the columns of the YAML, which lacks "
                f"{unknown[0]}: add it there, or set a header"
            )
        names = declared

    def cell(value: Any) -> str:
        text = value_text(value)
        if text is None:
            return null
        if text in ("", null) or any(one in text for one in (separator, quote, "\n", "\r")):
            return quote + text.replace(quote, escape + quote) + quote
        return text

    lines = [[cell(row.get(name)) for name in names] for row in rows]
    head = [[cell(name) for name in names]] if has_header else []
    return "".join(separator.join(line) + "\n" for line in head + lines)


def _envelope(row: Row, case: Case, number: int) -> Row:
    """Return a Debezium event with what a test need not say: where in the source it stands."""
    if not isinstance(row.get("op"), str) or "source" in row:
        return row
    *above, table = str(case.settings.get("table") or case.node.name).split(".")
    database, schema = ["unit_test", "public", *above][-2:]
    at = 1_767_225_600_000 + number
    source = {
        "connector": "postgresql",
        "db": database,
        "schema": schema,
        "table": table,
        "ts_ms": at,
        "txId": number + 1,
        "lsn": number + 1,
    }
    return {"before": None, "after": None, **row, "source": source, "ts_ms": row.get("ts_ms", at)}


def _write_parquet(case: Case, rows: Sequence[Row], path: Path) -> None:
    import duckdb

    kinds = {name: _duck_type(kind) for name, kind in types_of(case.node, rows).items()}
    values = ", ".join(
        "(" + ", ".join(_cast_sql(row.get(name), kind) for name, kind in kinds.items()) + ")"
        for row in rows
    )
    columns = ", ".join(map(identifier, kinds))
    nulls = ", ".join(f"cast(null as {kind})" for kind in kinds.values())
    select = f"select * from (values {values or f'({nulls})'}) as given({columns})"
    limit = "" if values else " limit 0"
    try:
        with duckdb.connect() as db:
            db.execute(f"copy ({select}{limit}) to {literal(str(path))} (format parquet)")
    except duckdb.Error as error:
        raise ConfigError(
            f"the given rows cannot be written as Parquet. Correct them: {first_line(error)}"
        ) from error


def _cast_sql(value: Any, kind: str) -> str:
    text = value_text(value)
    value_sql = "null" if text is None else literal(text)
    is_nested = isinstance(value, Mapping | list)
    return f"cast({value_sql}::json as {kind})" if is_nested else f"cast({value_sql} as {kind})"


def _duck_type(kind: str) -> str:
    from sqlglot import exp

    known = known_type(kind.lower().replace(" ", ""))
    return known.duck if known else exp.DataType.build(kind, "spark").sql("duckdb")
