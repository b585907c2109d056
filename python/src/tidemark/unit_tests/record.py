"""Writing what comes out of a test into its YAML, for a person to read before it is believed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml

from tidemark.errors import ConfigError
from tidemark.model.settings.unit_tests import Row, TableRows
from tidemark.read.values import json_value, value_text
from tidemark.unit_tests.differences import plain_value
from tidemark.unit_tests.found import Found
from tidemark.unit_tests.rows import rows_of

_USUAL = ("_operation", "_business_date", "_reject_reason", "_valid_from", "_valid_to")
"""Those of our own columns that a reader wants to see, if a test names none."""
_WIDE = 10_000


def recorded_rows(found: Found, wanted: TableRows | None, root: Path, zone: ZoneInfo) -> list[Row]:
    """Return rows as YAML has them.

    Args:
        found: The rows.
        wanted: What the test expected so far, whose columns stay; none: those of the source, and of
            our own those that say what happened.
        root: The project's folder.
        zone: The time zone of the session.
    """
    named = dict.fromkeys(name for row in (rows_of(wanted, root) if wanted else []) for name in row)
    # names that the table does not have say nothing of what to keep
    lower = {name.lower() for name in named} & {name.lower() for name in found.columns}
    columns = [
        name
        for name in found.columns
        if (name.lower() in lower if lower else not name.startswith("_") or name in _USUAL)
    ]
    rows = [
        {name: _yaml_value(plain_value(row[name], zone)) for name in columns} for row in found.rows
    ]
    return sorted(rows, key=lambda row: [str(value) for value in row.values()])


def _yaml_value(value: Any) -> Any:
    """Return a value as YAML has it, so that it reads as the same one."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    if isinstance(value, Decimal):
        number = int(value) if value == value.to_integral_value() else float(value)
        return number if Decimal(str(number)) == value else str(value)
    return json_value(value) if isinstance(value, Mapping | list) else value_text(value)


def write_expectations(path: Path, model: str, recorded: Mapping[str, Sequence[Any]]) -> None:
    """Write what each step of tests left into the YAML of their model, and nothing else.

    Args:
        path: The property file.
        model: The model.
        recorded: What `expect` of each step is to be, by the name of the test.

    Raises:
        ConfigError: The tests do not stand there.
    """
    text = path.read_text(encoding="utf-8")
    tests = _tests_in(yaml.compose(text), model)
    edits: list[tuple[int, int, str]] = []
    for name, steps in recorded.items():
        nodes = [one for one in tests if _value(_child(one, "name")) == name]
        found = _child(nodes[0], "steps") if nodes else None
        if found is None:
            raise ConfigError(
                f"nothing was written: {path} has no test {name} of {model}. Check the name"
            )
        for node, expect in zip(found.value, steps, strict=False):
            edits.append(_edit(text, node, expect))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    path.write_text(text, encoding="utf-8")


def _edit(text: str, step: Any, expect: Mapping[str, Any]) -> tuple[int, int, str]:
    """Return from where to where a text is replaced, and by what, to have a step's `expect`."""
    pair = next((pair for pair in step.value if pair[0].value == "expect"), None)
    if step.flow_style:
        text_of_step = f"expect: {_flow(expect)}"
        if pair is not None:
            return pair[0].start_mark.index, pair[1].end_mark.index, text_of_step
        end = step.end_mark.index - 1
        return end, end, f", {text_of_step}"
    text_of_step = _block(expect, step.value[0][0].start_mark.column)
    if pair is not None:
        start = pair[0].start_mark.index
        return start, _end_of(text, start, pair[1].end_mark.index), text_of_step
    last = step.value[-1]
    end = _end_of(text, last[0].start_mark.index, last[1].end_mark.index)
    # a remark on its last line stays there
    line = text[end:].partition("\n")[0]
    end += len(line) if line.lstrip().startswith("#") else 0
    return end, end, "\n" + " " * step.value[0][0].start_mark.column + text_of_step


def _end_of(text: str, start: int, end: int) -> int:
    """Return where a value ends, without the line breaks and comments behind it."""
    return start + len(text[start:end].rstrip())


def _block(expect: Mapping[str, Any], column: int) -> str:
    indent = " " * (column + 2)
    lines = ["expect:"]
    for name, value in expect.items():
        if isinstance(value, list) and value:
            lines += [f"{indent}{name}:", *[f"{indent}  - {_flow(row)}" for row in value]]
        else:
            lines.append(f"{indent}{name}: {_flow(value)}")
    return "\n".join(lines)


def _flow(value: Any) -> str:
    dumped = yaml.safe_dump(
        value, default_flow_style=True, width=_WIDE, sort_keys=False, allow_unicode=True
    )
    return dumped.removesuffix("...\n").strip()


def _tests_in(document: Any, model: str) -> list[Any]:
    """Return the nodes of a model's tests."""
    models = _child(document, "models")
    for node in models.value if models is not None else ():
        if _value(_child(node, "name")) == model:
            found = _path(node, ("config", "meta", "tidemark", "unit_tests"))
            return list(found.value) if found is not None else []
    return []


def _path(node: Any, names: Iterable[str]) -> Any:
    for name in names:
        node = _child(node, name)
    return node


def _child(node: Any, name: str) -> Any:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for key, value in node.value if key.value == name), None)


def _value(node: Any) -> Any:
    return node.value if node is not None else None
