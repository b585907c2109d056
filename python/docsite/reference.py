"""Reference that is made of the sources: settings, macros, commands, docs blocks."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click
import yaml
from pydantic import BaseModel

from docsite.bill import bundled_table, dependencies_table
from docsite.markdown import demote, table
from docsite.messages import messages_text
from docsite.tree import ROOT, Generator, SiteError, readme_section
from tidemark.cli import cli
from tidemark.model import settings as models
from tidemark.spark.defaults import DEFAULTS

#: What Markdown and HTML would read in prose as marks
_MARKS = re.compile(r"(\*|(?<!\w)_|_(?!\w)|\](?=[(\[:]))")
_TAG = re.compile(r"<(?=[\w/!?])")
#: What stands in for a default that is too long for a table, or told beside it
_SIGNATURE = re.compile(r"\{%-?\s*macro (\w+)\(((?:[^()]|\(\))*)\)")
_TOLD = {"fingerprint_ignore": "see below", "ddl": "see DDL"}


def generators(root: Path = ROOT) -> dict[str, Generator]:
    """What a page may ask for in a line `<!-- generate: NAME ARGUMENT -->`.

    Example:
        >>> print(generators()["settings"]("FeedSettings").splitlines()[0])
        | setting | default | meaning |
    """
    macros = macros_of(root)
    blocks = docs_blocks(root)

    def macro(name: str) -> str:
        if name not in macros:
            raise SiteError(f"no YAML describes a macro `{name}`")
        return macro_text(macros[name])

    def block(name: str) -> str:
        if name not in blocks:
            raise SiteError(f"models/ has no docs block `{name}`")
        return blocks[name]

    return {
        "settings": settings_table,
        "spark-settings": lambda _: spark_table(),
        "macro": macro,
        "commands": lambda _: commands_text(cli),
        "messages": lambda _: messages_text(root),
        "docs": block,
        "readme": readme_section(root),
        "bundled": lambda _: bundled_table(),
        "dependencies": lambda _: dependencies_table(),
    }


# --- settings


def settings_table(argument: str) -> str:
    """The fields of a class of settings: `EventSettings`, or `EventSettings without LogSettings`.

    Example:
        >>> settings_table("Scd2Settings").count("`valid_from`")
        1
    """
    name, _, left_out = argument.partition(" without ")
    if not hasattr(models, name):
        raise SiteError(f"there is no class of settings `{name}`")
    found: type[BaseModel] = getattr(models, name)
    hidden = getattr(models, left_out).model_fields if left_out else {}
    # what it has of its own comes before what it has in common with others
    own = sorted(found.model_fields, key=lambda key: key not in found.__annotations__)
    rows = [
        [
            f"`{key}`",
            _default(key, found),
            _coded(field.description or "", _choices(field.annotation)),
        ]
        for key in own
        if key not in hidden
        for field in [found.model_fields[key]]
    ]
    return table(["setting", "default", "meaning"], rows)


def _default(key: str, settings: type[BaseModel]) -> str:
    field = settings.model_fields[key]
    if key in _TOLD:
        return _TOLD[key]
    if field.is_required():
        return "required"
    value = field.default
    if value is None:
        return "none"
    if isinstance(value, list):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def _choices(annotation: Any) -> list[str]:
    """The words that a setting may be: those of every Literal in its type."""
    if get_origin(annotation) is Literal:
        return [str(word) for word in get_args(annotation)]
    return [word for part in get_args(annotation) for word in _choices(part)]


def _coded(text: str, words: list[str]) -> str:
    """Prose with what is code in it marked as code: names, options, choices before a colon."""
    choices = "|".join(map(re.escape, words)) or "(?!)"
    code = re.compile(
        r"`[^`]+`|\{[^{}]*\}|(?:\w+:)?<\w+>\w*|--[\w-]+(?: '[^']*')?|\btidemark\.\w+\(\)"
        r"|\b(?:file_)?format: (?:delta|rows)\b|\b\w+(?:_\w+)+\b|\b_\w+"
        rf"|\b(?:{choices}|true|false)(?=:)"
    )
    marked = code.sub(lambda found: found[0] if found[0][0] == "`" else f"`{found[0]}`", text)
    return _escaped(marked)


def spark_table() -> str:
    """What the adapter sets of Spark."""
    rows = [
        [
            f"`{default.key}`",
            f"`{default.value}`",
            default.why + (" (not on a cluster)" if default.local and number else ""),
        ]
        for number, default in enumerate(DEFAULTS)
    ]
    return table(["setting", "default", "why"], rows)


# --- macros


def macros_of(root: Path = ROOT) -> dict[str, dict[str, Any]]:
    """What YAML tells of each macro, by its name, with the `defaults` of its arguments.

    Example:
        >>> macros_of()["as_of"]["defaults"]["known_at"]
        'none'
    """
    found = {
        macro["name"]: macro
        for path in sorted((root / "macros").rglob("*.yml"))
        for macro in yaml.safe_load(path.read_text(encoding="utf-8")).get("macros") or []
    }
    for path in (root / "macros").rglob("*.sql"):
        for name, arguments in _SIGNATURE.findall(path.read_text(encoding="utf-8")):
            if name in found:
                found[name]["defaults"] = dict(re.findall(r"(\w+)\s*=\s*([^,]+)", arguments))
    return found


def macro_text(macro: dict[str, Any]) -> str:
    """A macro's description and its arguments.

    Example:
        >>> macro_text({"description": "Nothing.", "arguments": []})
        'Nothing.\\n\\nNo arguments.'
    """
    # in this project itself a name hides dbt's own argument, see macros/read/log.sql
    arguments = [one for one in macro.get("arguments") or [] if one["name"] != "info"]
    description = str(macro["description"]).strip()
    if not arguments:
        return f"{description}\n\nNo arguments."
    defaults = {name: value.strip() for name, value in macro.get("defaults", {}).items()}
    rows = [
        [
            f"`{one['name']}`",
            str(one["type"]).removeprefix("optional[").removesuffix("]")
            if str(one["type"]).startswith("optional[")
            else str(one["type"]),
            f"`{defaults[one['name']]}`" if one["name"] in defaults else "required",
            str(one["description"]),
        ]
        for one in arguments
    ]
    return f"{description}\n\n{table(['argument', 'type', 'default', 'what it is'], rows)}"


# --- commands


def commands_text(group: click.Group) -> str:
    """Every command with its options, exit codes and examples."""
    return "\n\n".join(_command(path, command) for path, command in commands_of(group))


def commands_of(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """The commands that do something, by the words that call them.

    Example:
        >>> (("tidemark", "datagen", "cdc") in [path for path, _ in commands_of(cli)])
        True
    """
    words = path or ("tidemark",)
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands_of(command, *words, name)
        elif command is not None and not command.hidden:
            yield (*words, name), command


def _command(path: tuple[str, ...], command: click.Command) -> str:
    context = click.Context(command, info_name=" ".join(path))
    parts = [
        f"## {' '.join(path)}",
        f"```text\n{' '.join([*path, *command.collect_usage_pieces(context)])}\n```",
        *_paragraphs(command.help),
    ]
    rows = []
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None and "--help" not in record[0]:
            rows.append([_option(record[0]), _escaped(record[1])])
    if rows:
        parts.append(table(["option", "meaning"], rows))
    return "\n\n".join([*parts, *_paragraphs(command.epilog)])


def _option(text: str) -> str:
    """An option as code; a bar in a table's code is not told alike by all that read Markdown."""
    return f"<code>{escape(text).replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def _paragraphs(text: str | None) -> list[str]:
    """Paragraphs of a help text; those that click does not wrap are shown as they stand."""
    found = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text or "").replace("\f", "")):
        if paragraph.startswith("\b"):
            found.append(f"```text\n{paragraph.removeprefix(chr(8)).strip(chr(10))}\n```")
        elif paragraph.strip():
            found.append(_escaped(" ".join(paragraph.split())))
    return found


def _escaped(text: str) -> str:
    """The text, with what Markdown and HTML would read in it as letters."""
    return "".join(
        part if part.startswith("`") else _MARKS.sub(r"\\\1", _TAG.sub("&lt;", part))
        for part in re.split(r"(`[^`]*`)", text)
    )


# --- docs blocks


def docs_blocks(root: Path = ROOT) -> dict[str, str]:
    """dbt's docs blocks of models/, their title left out and their headings one level lower.

    Example:
        >>> docs_blocks()["hash_recipe"].count("# 1. The text of a row")
        1
    """
    found: dict[str, str] = {}
    for path in sorted((root / "models").rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        for name, body in re.findall(
            r"{% docs (\w+) %}\n(.*?){% enddocs %}", text, flags=re.DOTALL
        ):
            title = re.match(r"\s*# .*\n", body)
            rest = body[title.end() :] if title else body
            found[name] = demote(rest, 1).strip("\n")
    return found
