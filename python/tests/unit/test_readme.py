"""What README.md and the pages say exists: commands, targets, macros, files, tests, messages, and the airports' values."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import click
import jsonschema
import pytest
import yaml

from docsite.markdown import links_of
from docsite.reference import macros_of
from docsite.tree import written
from tests.macros import ROOT
from tests.pages import ALL, PAGES, README, all_blocks, page_of, script_of, section
from tidemark import DISTRIBUTION
from tidemark.cli import cli
from tidemark.model.settings import ENCODINGS, EventSettings, LogSettings
from tidemark.scaffold.schema import models_schema

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TEXT = "\n".join(written(text) for text in ALL.values())
#: In it, that no test runs a block would say nothing
RUNNABLE = ("bash", "sql", "python")
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
    return [block.text for block in all_blocks() if block.language == language]


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
    # editors read a date as text
    as_json = json.loads(json.dumps(content, default=str))
    jsonschema.Draft7Validator(models_schema()).validate(as_json)
    for model in content.get("models") or []:
        for test in model.get("data_tests") or []:
            name = test if isinstance(test, str) else next(iter(test))
            assert not name.startswith("tidemark.") or name[len("tidemark.") :] in GENERIC_TESTS


def test_settings__are_generated() -> None:
    """Tables that are made of the classes need no comparison with them; what stands beside them does."""
    page = PAGES[page_of("Settings")]
    made = re.findall(r"^<!-- generate: settings (\w+)", page, flags=re.MULTILINE)
    assert {"ExtractSettings", "EventSettings", "AtomicSettings", "ShredSettings"} <= set(made)
    # settings that are in the other table are named above this one
    above = section("`meta.tidemark` with `extract: events`").partition("<!--")[0]
    assert sorted(re.findall(r"`(\w+)`", above)) == sorted(LogSettings.model_fields)
    described = EventSettings.model_fields["encodings"].description or ""
    assert all(name in described for name in ENCODINGS)


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
        assert name in section("Environment variables")


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
        assert f"`{option}" in README and option in known, option


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
        *(ROOT / name for name in (*ALL, "Makefile", "pyproject.toml")),
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
    assert not {"pytest", "mypy", "jpype1", "openlineage-python"} & {
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
    properties = {"layout", "table"}  # of tables
    assert len(names) > 10
    assert names <= MACROS.keys() | GENERIC_TESTS | python | properties


def test_macros__verbs_of_the_diagram_are_there() -> None:
    diagrams = "".join(blocks("mermaid"))
    code = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "python" / "src" / "tidemark" / "pipeline").glob("*.py")
    )
    names = re.findall(r"\b(\w+)\(\)", diagrams)
    assert names and all(f"def {name}(" in code for name in names)


def test_macro_reference__describes_what_is_there() -> None:
    """Arguments are made of the YAML, which tells all of them, in their order."""
    described = macros_of()
    shown = re.findall(
        r"^### \[(\w+)\]\(([^)]+)\)\n\n<!-- generate: macro (\w+) -->$",
        PAGES[page_of("Macros")],
        flags=re.MULTILINE,
    )
    assert len(shown) > 30
    for name, link, generated in shown:
        path = (ROOT / "python/docs/reference" / link).resolve()
        assert name == generated and f"macro {name}(" in path.read_text(encoding="utf-8")
        told = [argument["name"] for argument in described[name].get("arguments") or []]
        assert told == MACROS[name], name


@pytest.mark.parametrize("page", ALL)
def test_links__exist(page: str) -> None:
    """Files, also where a page is read in the repository; the site's own test looks at anchors."""
    for link in links_of(ALL[page]):
        if not link.startswith(("http://", "https://", "#")):
            path = (ROOT / page).parent / link.partition("#")[0]
            assert path.resolve().is_relative_to(ROOT) and path.exists(), link


def test_readme__is_short_and_leads_to_every_flow() -> None:
    assert len(README.splitlines()) < 300
    links = set(links_of(README))
    for name in (
        "extracts",
        "change-events",
        "mirror-a-database",
        "read",
        "change-feed",
        "operations",
    ):
        assert f"python/docs/how-to/{name}.md" in links


@pytest.mark.parametrize(
    "block",
    [block for block in all_blocks() if block.language in RUNNABLE],
    ids=lambda block: f"{block.page}: {block.text.splitlines()[0]}",
)
def test_blocks__are_run_or_say_why_not(block: Any) -> None:
    """`<!-- run: test_file.py::test_name -->` or `<!-- not run: why -->` stands above each block."""
    assert block.mark, "nothing says which test runs this block, or why none does"
    kind, told = block.mark
    if kind == "not run":
        assert len(told.split()) >= 4, f"no reason: {told}"
        return
    file, _, test = told.partition("::")
    texts = [one.read_text(encoding="utf-8") for one in (ROOT / "python" / "tests").rglob(file)]
    (code,) = (text for text in texts if f"def {test}(" in text)
    # the test takes the block from the page: by its mark, or by the title that it stands below
    assert "from tests.pages import" in code or "from ..pages import" in code


def test_scripts__are_found_where_they_stand() -> None:
    for title, line in [
        ("A first entity in five minutes", "tidemark init 'landing/sales_*.csv' --name sales\n"),
        ("In your own dbt project", "cat > profiles.yml"),
        ("Coming from dbt snapshots", "dbt run-operation adopt"),
    ]:
        assert line in script_of(title)


def test_messages__are_those_of_the_code() -> None:
    """Each part between two … of a message stands so in a text of the code, or in two that follow each other."""
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("macros", "python/src")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".sql", ".py")
    )
    joined = re.sub(r"([\"'])\s*(?:~\s*)?f?\1", "", code)
    messages = [
        message
        for line in PAGES[page_of("Messages")].splitlines()
        for message in re.findall(r"^\| `([^`]+)` \|", line)
    ]
    assert len(messages) > 25
    for message in messages:
        for part in message.split("…"):
            assert part.strip() in joined, part


@pytest.mark.parametrize(("title", "least"), [("Guarantees", 75), ("Security", 25)])
def test_promises__name_tests_that_are_there(title: str, least: int) -> None:
    tables = re.findall(r"^\|.* test \|\n\|[-|]+\|\n((?:\|.*\n)+)", PAGES[page_of(title)], re.M)
    rows = [row for table in tables for row in table.splitlines()]
    assert len(rows) >= least
    for row in rows:
        named = re.findall(r"`(test_\w+\.py)::(\w+)`", row.rstrip("| ").rpartition("|")[2])
        assert named, row
        for file, test in named:
            paths = list((ROOT / "python" / "tests").rglob(file))
            texts = [path.read_text(encoding="utf-8") for path in paths]
            assert any(f"def {test}(" in text for text in texts), f"{file}::{test}"


def test_limits__say_since_when() -> None:
    """The day on which the pages first named each, in the last cell."""
    rows = re.findall(r"^\| (?!limit |event ).*", PAGES[page_of("Limits")], re.M)
    assert len(rows) > 50
    for row in rows:
        assert re.search(r"\| 20\d\d-[01]\d-[0-3]\d \|$", row), row


def test_generic_tests__all_of_them() -> None:
    names = {name.removeprefix("tidemark.") for name in first_cells("Generic tests")}
    assert names == GENERIC_TESTS


# --- the worked table


def extract_of(date: str) -> dict[str, dict[str, str]]:
    path = ROOT / "seeds" / "airports" / f"airports_{date}.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return {row["icao"]: row for row in csv.DictReader(file)}


def table_below(heading: str, page: str = "README.md") -> list[dict[str, str]]:
    lines = PAGES[page].partition(heading)[2].partition("|")[2].partition("\n\n")[0].splitlines()
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
    changes = (
        section("How do I apply change events (CDC, Debezium)?")
        .partition("| event |")[2]
        .partition("\n\n")[0]
        .splitlines()
    )
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
    rows = table_below(
        "`customers`, one row per key", page_of("How do I apply change events (CDC, Debezium)?")
    )
    assert rows == list(state.values()) and len(rows) == 2
