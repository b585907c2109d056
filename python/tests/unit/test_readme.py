"""What README.md says exists: settings, commands, targets, macros, files, tests, and the airports' values."""

from __future__ import annotations

import csv
import gzip
import re
import shlex
from collections.abc import Iterator
from typing import Any

import click
import jsonschema
import pytest
import yaml
from pydantic import BaseModel

from tests.macros import ROOT
from tests.readme import BLOCK, README
from tidemark import DISTRIBUTION
from tidemark.cli import cli
from tidemark.scaffold.schema import models_schema
from tidemark.scaffold.settings import (
    ENCODINGS,
    AtomicSettings,
    DdlPolicies,
    EventSettings,
    ExtractSettings,
    LogSettings,
    ShredSettings,
)
from tidemark.spark.defaults import DEFAULTS

PAGES = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
BLOCKS = BLOCK.findall(README)
TEXT = "\n".join(PAGES.values())
MACROS = {
    name: [
        argument.partition("=")[0].strip() for argument in arguments.split(",") if argument.strip()
    ]
    for path in (ROOT / "macros").rglob("*.sql")
    for name, arguments in re.findall(
        r"\{%-?\s*macro (\w+)\(((?:[^()]|\(\))*)\)", path.read_text(encoding="utf-8")
    )
}
GENERIC_TESTS = {path.stem for path in (ROOT / "tests" / "generic").glob("*.sql")}


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


def section(title: str) -> str:
    """The text below a heading, up to the next one."""
    return re.split(r"^#+ ", README.partition(f"# {title}\n")[2], flags=re.MULTILINE)[0]


def first_cells(title: str) -> list[str]:
    return [
        name
        for line in section(title).splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`([^`]+)`", line.split("|")[1])
    ]


def commands(word: str) -> Iterator[list[str]]:
    """Command lines of bash blocks, and those in back-ticks, that begin with a word."""
    texts = [
        *(line for block in blocks("bash") for line in block.splitlines()),
        *re.findall(
            r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
        ),
    ]
    for text in texts:
        if text.split(" ")[0] == word:
            yield shlex.split(text, comments=True)


# --- YAML


@pytest.mark.parametrize("text", blocks("yaml"))
def test_yaml_blocks__parse_and_fit_the_schema(text: str) -> None:
    content = yaml.safe_load(text)
    jsonschema.Draft7Validator(models_schema()).validate(content)
    for model in content.get("models") or []:
        for test in model.get("data_tests") or []:
            assert test.removeprefix("tidemark.") in GENERIC_TESTS


def test_settings__all_with_their_defaults() -> None:
    title = "`meta.tidemark` of a `materialized: cdc` model"
    assert sorted(first_cells(title)) == sorted(ExtractSettings.model_fields)
    check_defaults(title, ExtractSettings)


def test_event_settings__all_with_their_defaults() -> None:
    title = "`meta.tidemark` with `extract: events`"
    names = first_cells(title)
    assert sorted([*names, *LogSettings.model_fields]) == sorted(EventSettings.model_fields)
    check_defaults(title, EventSettings)
    # those that are in the other table are named above this one
    assert all(f"`{name}`" in section(title).partition("|")[0] for name in LogSettings.model_fields)
    (encodings,) = (
        line for line in section(title).splitlines() if line.startswith("| `encodings`")
    )
    listed = re.findall(r"`([a-z0-9_]+)(?::<\w+>)?`", encodings.partition("One of")[2])
    assert sorted(listed) == sorted([*ENCODINGS, "decimal_bytes", "array"])


@pytest.mark.parametrize(
    ("materialized", "settings"), [("atomic", AtomicSettings), ("shred", ShredSettings)]
)
def test_settings_of_enriched_events__all_with_their_defaults(
    materialized: str, settings: type[BaseModel]
) -> None:
    title = f"`meta.tidemark` of a `materialized: {materialized}` model"
    assert sorted(first_cells(title)) == sorted(settings.model_fields)
    check_defaults(title, settings)


def test_ddl__all_kinds_with_their_policy() -> None:
    policies = {
        kind: cells[2].strip(" `")
        for cells in (line.split("|") for line in section("DDL").splitlines())
        if len(cells) > 1
        for kind in re.findall(r"`([a-z]+_[a-z]+)`", cells[1])
    }
    assert policies == DdlPolicies().model_dump()


def check_defaults(title: str, settings: type[BaseModel]) -> None:
    """The column `default` of a settings table."""
    for line in section(title).splitlines():
        if line.startswith("| `"):
            name, default = (cell.strip().strip("`") for cell in line.split("|")[1:3])
            field = settings.model_fields[name]
            if isinstance(field.default, DdlPolicies):
                assert default == "see DDL"
                continue
            if name == "fingerprint_ignore":
                assert default == "see below"
                continue
            wanted: Any = "required" if field.is_required() else field.default
            shown = "none" if wanted is None else str(wanted)
            if isinstance(wanted, list):
                shown = f"[{','.join(wanted)}]"
            assert default.lower().replace(" ", "") == shown.lower().replace(" ", "")


def test_vars_and_variables__are_read_by_the_code() -> None:
    config = (ROOT / "macros" / "config" / "run_config.sql").read_text(encoding="utf-8")
    assert sorted(first_cells("Vars")) == sorted(set(re.findall(r"var\('(\w+)'", config)))
    code = "".join(
        path.read_text(encoding="utf-8")
        for folder, pattern in (("python/src", "*.py"), ("profiles", "*.yml"))
        for path in (ROOT / folder).rglob(pattern)
    )
    for name in re.findall(r"\bTIDEMARK_[A-Z_]+\b", section("Environment variables")):
        assert name in code
    profile = (ROOT / "profiles" / "profiles.yml").read_text(encoding="utf-8")
    for name in re.findall(r"env_var\('(TIDEMARK_\w+)'", profile):
        assert name in README


def test_spark_settings__all_with_their_defaults() -> None:
    rows = [
        tuple(cell.strip(" `") for cell in line.split("|")[1:4])
        for line in section("Spark settings").splitlines()
        if line.startswith("| `")
    ]
    shown = [(key, value, why.removesuffix(" (not on a cluster)")) for key, value, why in rows]
    assert shown == [(default.key, default.value, default.why) for default in DEFAULTS]
    assert [why.endswith(" (not on a cluster)") for *_, why in rows[1:]] == [
        default.local for default in DEFAULTS[1:]
    ]


# --- commands


def test_make__targets_are_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, flags=re.MULTILINE))
    used = {command[1] for command in commands("make") if len(command) > 1}
    assert {"run", "test", "help"} <= used <= targets


def test_tidemark__commands_and_options_are_there() -> None:
    used = list(commands("tidemark"))
    assert {"run", "init", "datagen", "schema"} <= {words[1] for words in used if len(words) > 1}
    for words in used:
        command: click.Command = cli
        rest = words[1:]
        while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
            found = command.get_command(click.Context(command), rest[0])
            assert found is not None, " ".join(words)
            command, rest = found, rest[1:]
        known = {"--help", *(opt for parameter in command.params for opt in parameter.opts)}
        options = {word for word in rest if word.startswith("--")}
        assert options <= known, " ".join(words)


def test_options_named_alone__are_those_of_run() -> None:
    run = cli.get_command(click.Context(cli), "run")
    assert run is not None
    known = {opt for parameter in run.params for opt in parameter.opts}
    for option in ("--available", "--changes", "--build", "--keep-going"):
        assert f"`{option}" in README and option in known


def test_run_operations__arguments_are_those_of_the_macro() -> None:
    used = [
        words for words in commands("dbt") if words[1:2] == ["run-operation"] and "--args" in words
    ]
    assert len(used) >= 3
    for words in used:
        arguments = yaml.safe_load(words[words.index("--args") + 1])
        assert set(arguments) <= set(MACROS[words[2]]), " ".join(words)


def test_texts__name_the_distribution_and_quote_dates() -> None:
    """Elsewhere `tidemark` is another's distribution; YAML reads an unquoted date before we can check it."""
    paths = [
        *(ROOT / name for name in (*PAGES, "Makefile", "pyproject.toml")),
        *(ROOT / "profiles").glob("*.yml"),
        *(
            path
            for folder in ("macros", "models", "python/src", "python/examples")
            for path in (ROOT / folder).rglob("*")
            if path.suffix in (".py", ".sql", ".yml", ".md")
        ),
    ]
    wrong = re.compile(r"pip install '?tidemark\b|['\"]tidemark\[|\{[^{}]*\bbusiness_date: ?\d")
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert not wrong.search(text), f"{path}: {wrong.findall(text)}"
    assert f'name = "{DISTRIBUTION}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_locks__running_takes_a_part_of_what_tests_take() -> None:
    running, tests = (
        set(re.findall(r"^[\w-]+==\S+$", (ROOT / name).read_text(), flags=re.MULTILINE))
        for name in ("requirements.lock", "requirements-dev.lock")
    )
    assert running < tests
    assert not {"pytest", "mypy", "jpype1", "sqlglot"} & {
        line.partition("=")[0] for line in running
    }
    # the verbs a newcomer calls first do not wait for the rest
    needs = dict(re.findall(r"^([a-z-]+): ([^#\n]*?) *##", MAKEFILE, flags=re.MULTILINE))
    assert needs["run"] == needs["examples"] == "setup"
    assert needs["test-fast"] == "setup-dev"
    assert needs["run-replicator"] == "$(CAPTURE)"


# --- names


def test_macros__are_there() -> None:
    # not the tables of the schema `tidemark`, which have two underscores in their names, nor a file's ending
    named = set(re.findall(r"(?<!/)\btidemark\.(\w+)", TEXT))
    names = {name for name in named if "__" not in name}
    python = {path.stem for path in (ROOT / "python" / "src" / "tidemark").iterdir()} | {"dedup"}
    assert len(names) > 10
    assert names <= MACROS.keys() | GENERIC_TESTS | python


def test_macros__verbs_of_the_diagram_are_there() -> None:
    diagrams = "".join(blocks("mermaid"))
    code = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("materializations", "load")
        for path in (ROOT / "macros" / folder).rglob("*.sql")
    )
    names = re.findall(r"\b(\w+)\(\)", diagrams)
    assert names and all(f"tidemark.{name}(" in code for name in names)


def test_macro_reference__every_argument_is_named() -> None:
    reference = README.partition("## Macro reference")[2].partition("\n## ")[0]
    for part in reference.split("\n### ")[1:]:
        heading, _, body = part.partition("\n")
        for name, path in re.findall(r"\[(\w+)\]\(([^)]+)\)", heading):
            assert f"macro {name}(" in (ROOT / path).read_text(encoding="utf-8")
            for argument in MACROS[name]:
                # `info` is dbt's, see macros/read/log.sql
                assert argument == "info" or f"`{argument}`" in body, f"{name}: {argument}"


@pytest.mark.parametrize("page", PAGES)
def test_links__exist(page: str) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", PAGES[page])
    for link in links:
        if not link.startswith(("http://", "https://", "#")):
            assert (ROOT / link.partition("#")[0]).exists(), link


def test_guarantees__name_tests_that_are_there() -> None:
    named = re.findall(r"`(test_\w+\.py)::(\w+)`", section("Guarantees"))
    assert len(named) > 15
    for file, test in named:
        paths = list((ROOT / "python" / "tests").rglob(file))
        assert paths and f"def {test}(" in paths[0].read_text(encoding="utf-8"), f"{file}::{test}"


def test_generic_tests__all_of_them() -> None:
    names = {name.removeprefix("tidemark.") for name in first_cells("Generic tests")}
    assert names == GENERIC_TESTS


# --- the worked table


def extract_of(date: str) -> dict[str, dict[str, str]]:
    path = ROOT / "seeds" / "airports" / f"airports_{date}.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return {row["icao"]: row for row in csv.DictReader(file)}


def table_below(heading: str) -> list[dict[str, str]]:
    lines = README.partition(heading)[2].partition("|")[2].partition("\n\n")[0].splitlines()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in ["|" + lines[0], *lines[1:]]
    ]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[2:]]


def test_worked_table__is_the_data() -> None:
    before, after = extract_of("2026-02-05"), extract_of("2026-03-04")
    shown = {"00AA", "00MD", "00TN", "LSZH"}
    for heading, extract in (("**Yesterday's rows**", before), ("**Today's rows**", after)):
        rows = table_below(heading)
        assert {row["icao"] for row in rows} == shown & extract.keys()
        for row in rows:
            assert row == {name: extract[row["icao"]][name] for name in row}
    operations = {
        key: "I"
        if key not in before
        else "D"
        if key not in after
        else "N"
        if before[key] == after[key]
        else "U"
        for key in shown
    }
    changes = {row["icao"]: row["operation"] for row in table_below("**The changes**")}
    assert changes == operations
    current = {row["icao"]: row for row in table_below("**Current**")}
    assert current.keys() == shown & after.keys()
    for key, row in current.items():
        assert (row["lat"], row["lon"]) == (after[key]["lat"], after[key]["lon"])
    for row in table_below("**History**"):
        key, date = row["icao"], row["_business_date"]
        values = (before if row["_operation"] == "D" else extract_of(date))[key]
        assert (row["lat"], row["lon"]) == (values["lat"], values["lon"])


# --- the worked table of change events


def test_worked_table_of_events__replays_to_current() -> None:
    changes = section("Change events").partition("| event |")[2].partition("\n\n")[0].splitlines()
    state: dict[str, dict[str, str]] = {}
    for line in changes[2:]:
        number, _, _, operation, key, name = (cell.strip() for cell in line.strip("|").split("|"))
        if operation in ("I", "U"):
            assert (key in state) == (operation == "U")
            state[key] = {
                "id": key, "name": name, "_operation": operation, "_sequence_num": number,
            }  # fmt: skip
        elif operation == "D":
            assert state.pop(key)["name"] == name
    rows = table_below("`customers`, one row per key")
    assert rows == list(state.values()) and len(rows) == 2
