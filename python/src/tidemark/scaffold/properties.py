"""Property YAML: text of a new entry, and its place in a file whose content stays as it is.

An entry is inserted as text at the end of its list, so that no comment, quote or blank line of the
file changes; the result is parsed again and compared before anything is written.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from tidemark.errors import ConfigError
from tidemark.printable import one_line
from tidemark.project import parse, unrendered
from tidemark.scaffold.inference import Column

_WORDS_OF_YAML = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_WORTH_KNOWING = {
    "ignore": ("[loaded_at]", "carried, never compared"),
    "sensitive": ("[phone]", "stored apart, in <entity>__sensitive"),
    "hash": ("sha256", "default md5"),
    "tag_unchanged": ("true", "writes N or X on the unchanged rows of current, too"),
    "soft_delete": ("true", "deleted rows stay in current, with _operation D"),
    "effective_from": (
        "updated_at",
        "since when a row holds; default: the business date",
    ),
    "null_keys": ("allow", "takes NULL as a value of a composite key, not as a reject"),
    "on_reject": ("quarantine", "bad rows go to <entity>__rejects; default: fail"),
    "max_reject_fraction": ("0.1", "a load stops if it rejects more than this; default 0.5"),
    "max_delete_fraction": ("0.1", "a full extract that deletes more than this stops; default 0.5"),
    "rules": ('[{name: paid, check: "amount > 0"}]', "a row that fails stops the load"),
    "unit_tests": ("[]", "rows by date and the expected result, for `tidemark test`"),
}
"""Settings offered as comments: an example value, and what it does."""
DATA_TESTS = (
    "tidemark.current_equals_open_intervals",
    "tidemark.history_replays_to_current",
    "tidemark.no_current_key_last_deleted",
)
"""Tests that every entity has: current, log and history say the same."""


@dataclass(frozen=True)
class ModelEntry:
    """What the YAML of a new `materialized: cdc` model says.

    Attributes:
        name: The model's name.
        keys: Its unique_key.
        settings: What stands under meta.tidemark, in order.
        columns: Its columns; none where they are not known.
        comment: Lines that say where the entry is from.
    """

    name: str
    keys: Sequence[str]
    settings: Mapping[str, Any]
    columns: Sequence[Column] = ()
    comment: Sequence[str] = field(default=())

    def to_yaml(self) -> str:
        """Return the entry as an item of `models:`, without indentation."""
        lines = [f"- name: {scalar(self.name)}"]
        lines += [f"  # {one_line(line)}" for line in self.comment]
        lines += [
            "  config:",
            "    materialized: cdc",
            f"    unique_key: {flow_list(self.keys)}",
            "    meta:",
            "      tidemark:",
        ]
        for name, value in self.settings.items():
            lines.append(f"        {name}: {_value(value)}")
        lines.append(
            "        # More settings (an editor shows them all, see `tidemark schema --help`):"
        )
        lines += [f"        {line}" for line in _settings_worth_knowing()]
        lines += ["  data_tests:", *(f"    - {test}" for test in DATA_TESTS)]
        if self.columns:
            lines.append("  columns:")
        lowered = {key.lower() for key in self.keys}
        for column in self.columns:
            lines.append(f"    - name: {scalar(unrendered(column.name))}")
            comment = f"  # {one_line(column.reason)}" if column.reason else ""
            lines.append(f"      data_type: {_type(column.data_type)}{comment}")
            if column.name.lower() in lowered:
                lines.append("      constraints: [{type: not_null}]")
        return "\n".join(lines) + "\n"


def scalar(text: str) -> str:
    """Return text as a YAML scalar, quoted where YAML would read something else.

    Example:
        >>> scalar("no"), scalar("icao")
        ('"no"', 'icao')
    """
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) and text.lower() not in _WORDS_OF_YAML:
        return text
    return json.dumps(text, ensure_ascii=False)


def flow_list(names: Sequence[str]) -> str:
    """Return names as a YAML list on one line."""
    return f"[{', '.join(scalar(unrendered(name)) for name in names)}]"


def insert_entry(text: str, section: str, entry: str, file: str) -> str:
    """Return the text of a property file with an entry more at the end of one of its lists.

    Args:
        text: The file's text; "" for a new file.
        section: `models` or `sources`.
        entry: The item, as YAML without indentation.
        file: How messages name the file.

    Raises:
        ConfigError: It is not a property file, or its list is written so that nothing can be added.
    """
    before = parse(text, file)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    root = yaml.compose("".join(lines), Loader=yaml.SafeLoader)
    pair = _pair(root, section)

    if pair is None:
        if root is None:
            lines = [*lines, "version: 2\n"]
        if isinstance(root, yaml.MappingNode) and root.flow_style:
            raise _cannot_add(file, section, "the file is written in one line")
        if lines[-1].strip() == "...":
            raise _cannot_add(file, section, "the file ends its document with `...`")
        indent = root.start_mark.column if root is not None else 0
        block = [f"{section}:\n", *_indented(entry, 2)]
        new_lines = [*lines, "\n", *("" if line == "\n" else " " * indent + line for line in block)]
    else:
        key, value = pair
        if isinstance(value, yaml.SequenceNode) and value.value and not value.flow_style:
            at = _last_line(value) + 1
            spaces = value.start_mark.column
            separated = _blank_between_items(value, lines)
            new_lines = [
                *lines[:at],
                *(["\n"] if separated or len(value.value) == 1 else []),
                *_indented(entry, spaces),
                *lines[at:],
            ]
        elif _is_empty(value):
            at = key.end_mark.line
            rest = lines[at][key.end_mark.column :]
            if not re.fullmatch(r"\s*:\s*(?:\[\s*\]|null|~)?\s*(#.*)?\n", rest):
                raise _cannot_add(file, section, "its list is empty in an unusual way")
            comment = re.search(r"\s+#.*", rest)
            head = lines[at][: key.end_mark.column] + ":" + (comment.group() if comment else "")
            new_lines = [
                *lines[:at],
                head.rstrip("\n") + "\n",
                *_indented(entry, key.start_mark.column + 2),
                *lines[at + 1 :],
            ]
        else:
            raise _cannot_add(file, section, f"`{section}:` is not a list with one item per line")

    result = "".join(new_lines)
    _check(before, result, section, entry, file)
    return result.replace("\n", newline)


def _settings_worth_knowing() -> list[str]:
    examples = [(f"{name}: {value}", help) for name, (value, help) in _WORTH_KNOWING.items()]
    width = max(len(example) for example, _ in examples)
    return [f"# {example:<{width}}  # {help}" for example, help in examples]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{scalar(name)}: {_value(item)}" for name, item in value.items()) + "}"
        )
    return scalar(unrendered(value)) if isinstance(value, str) else json.dumps(value)


def _type(data_type: str) -> str:
    """A type as YAML: quoted if YAML would read it otherwise, as the `: ` of a struct's field."""
    return (
        data_type
        if re.fullmatch(r"[a-z][\w<>]*(?:\(\d+, \d+\))?", data_type)
        else scalar(unrendered(data_type))
    )


def _pair(root: Any, section: str) -> tuple[Any, Any] | None:
    if root is None:
        return None
    return next(((key, value) for key, value in root.value if key.value == section), None)


def _is_empty(node: Any) -> bool:
    if isinstance(node, yaml.SequenceNode):
        return not node.value
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def _last_line(node: Any) -> int:
    """The last line of a node; a block's own end mark lies behind the comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return max(_last_line(item) for item in (last if isinstance(last, tuple) else (last,)))
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        return int(node.end_mark.line) - 1
    return int(node.end_mark.line)


def _blank_between_items(node: Any, lines: Sequence[str]) -> bool:
    return any(not lines[item.start_mark.line - 1].strip() for item in node.value[1:])


def _indented(entry: str, spaces: int) -> list[str]:
    return textwrap.indent(entry, " " * spaces).splitlines(keepends=True)


def _cannot_add(file: str, section: str, why: str) -> ConfigError:
    return ConfigError(
        f"{file}: {why}, so nothing can be added under `{section}:` without changing other "
        "lines. Write one item per line, or print the entry with --dry-run"
    )


def _check(before: dict[str, Any], result: str, section: str, entry: str, file: str) -> None:
    """The new text says what the old one said and the entry: nothing else, nothing less."""
    expected = dict(before) if before else {"version": 2}
    expected[section] = [*(before.get(section) or []), *yaml.safe_load(entry)]
    if parse(result, file) != expected:
        raise _cannot_add(file, section, "it is written in an unusual way")
