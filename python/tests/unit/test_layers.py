"""Who may call whom: folders of macros by flow, and what may ask or write."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import yaml
from dbt.parser.schemas import is_valid_type
from dbt_common.clients import jinja
from jinja2 import nodes

from ..macros import ROOT, SQL_FOLDERS

MACROS = ROOT / "macros"

#: A folder's macros call macros of their own folder and of these.
CALLS = {
    "expr": "",
    "query": "expr",
    "config": "expr",
    "log": "expr config",
    "log/format": "expr config log",
    "extract": "expr config log",
    "events": "expr config log",
    "enriched": "expr config log",
    "plan": "expr config log",
    "read": "expr query config log events read/feed",
    "read/feed": "expr query config log log/format read",
    "operations/sql": "expr config log log/format extract events enriched read",
    "load": "expr query config log log/format extract events enriched plan read read/feed",
    "materializations": "expr query config log log/format enriched read read/feed load",
    "operations": (
        "expr query config log log/format extract events enriched read read/feed load operations/sql"
    ),
}
#: What of `read` asks the database: it is called while a model is compiled
ASKING = {"tracked_flow", "optimized_version", "feed_range", "feed_marks", "check_sequence"}
#: Whoever uses Tidemark names these arguments, in a model or in `--args`: no dict may take their place
WORDY = {"adopt", "change_feed", "compact", "feed_query", "net_changes", "scd2"}

_DEFINED = re.compile(r"{%-? *macro (\w+)")
_CALLED = re.compile(r"\btidemark\.(\w+)\((?!ref\()")
_ASKS = re.compile(
    r"\b(run_query|query_rows|first_column|json_rows|row_count|has_rows|names_in|describe_query|run_statements)\(|call (noop_)?statement|"
    r"adapter\.(?!type\(|has_session\(|quote\(|raise_|dispatch|call_function\(\s*'tidemark\.(model|rules)\.)"
)
_READS_SETTINGS = re.compile(r"\bconfig\.(get|meta_\w+)\(|(?<![.\w])var\(")


def _files() -> dict[Path, str]:
    """Macros by file, without comments."""
    return {
        path: re.sub(r"{#.*?#}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for path in sorted(MACROS.rglob("*.sql"))
    }


FILES = _files()
HOMES = {name: path for path, text in FILES.items() for name in _DEFINED.findall(text)}


def _folder(path: Path) -> str:
    return path.parent.relative_to(MACROS).as_posix()


def test_every_folder_has_its_rule() -> None:
    assert {_folder(path) for path in FILES} == set(CALLS)


@pytest.mark.parametrize("folder", CALLS)
def test_macros__call_only_what_lies_below(folder: str) -> None:
    allowed = {folder, *CALLS[folder].split()}
    wrong = [
        f"{path.stem} calls {name} of {_folder(HOMES[name])}"
        for path, text in FILES.items()
        if _folder(path) == folder
        for name in _CALLED.findall(text)
        if name in HOMES and _folder(HOMES[name]) not in allowed
    ]
    assert wrong == []


def test_macros__that_make_sql_run_none() -> None:
    wrong = [
        path.stem
        for path, text in FILES.items()
        if any(_folder(path).startswith(folder) for folder in SQL_FOLDERS)
        and path.stem not in ASKING
        and _ASKS.search(text)
    ]
    assert wrong == []


def test_settings__are_read_in_one_folder() -> None:
    wrong = [
        path.stem
        for path, text in FILES.items()
        if _folder(path) not in ("config", "materializations") and _READS_SETTINGS.search(text)
    ]
    assert wrong == []


def test_macros__are_short_and_take_few_arguments() -> None:
    found = re.findall(
        r"{%-? *macro (\w+)\((.*?)\) *-?%}(.*?){%-? *endmacro", "\n".join(FILES.values()), re.DOTALL
    )
    assert {name for name, _, body in found if body.count("\n") > 110} == set()
    assert {
        name
        for name, arguments, _ in found
        if len([one for one in re.sub(r"\[.*?\]", "", arguments).split(",") if one.strip()]) > 5
    } == WORDY


def test_macros__have_arguments_of_types_that_dbt_knows() -> None:
    """Of others dbt prints a line, at each parse of a user's project."""
    wrong = [
        f"{macro['name']}: {argument['name']} is {argument['type']}"
        for path in sorted(MACROS.rglob("*.yml"))
        for macro in yaml.safe_load(path.read_text(encoding="utf-8")).get("macros", [])
        for argument in macro.get("arguments", [])
        if not is_valid_type(argument["type"])
    ]
    assert wrong == []


def test_macros__choose_between_two_at_a_time() -> None:
    environment = jinja.get_environment()
    choices = {
        (path.stem, choice.lineno)
        for path, text in FILES.items()
        for choice in environment.parse(text).find_all(nodes.CondExpr)
        if any(
            isinstance(part, nodes.CondExpr) for part in (choice.test, choice.expr1, choice.expr2)
        )
    }
    assert choices == set()


def test_files__are_named_as_a_macro_of_theirs() -> None:
    wrong = [
        path.stem
        for path, text in FILES.items()
        if not re.search(rf"(macro|materialization) (\w+__)?{path.stem}\b", text)
        and len(_DEFINED.findall(text)) == 1
    ]
    assert wrong == []


# --- Python


def _modules() -> dict[str, Path]:
    source = ROOT / "python" / "src"
    return {
        ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__"): path
        for path in source.rglob("*.py")
    }


def _imports(path: Path, modules: dict[str, Path]) -> set[str]:
    """What a module imports of ours, also inside its functions and for types only."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return {name for name in found if name in modules}


def test_modules__import_each_other_in_one_direction() -> None:
    modules = _modules()
    graph = {name: _imports(path, modules) - {name} for name, path in modules.items()}
    assert len(list(TopologicalSorter(graph).static_order())) >= len(modules)


@pytest.mark.parametrize(
    ("room", "allowed"),
    [
        (
            "rules",
            (
                "tidemark.rules",
                "tidemark.model",
                "tidemark.shapes",
                "tidemark.errors",
                "tidemark.printable",
            ),
        ),
        ("shapes", ("tidemark.shapes", "typing_extensions")),
    ],
)
def test_rules_and_shapes__know_nothing_but_errors(room: str, allowed: tuple[str, ...]) -> None:
    """They are functions of plain values, and their types: no engine, no format, no connection, no other room."""
    source = ROOT / "python" / "src"
    for path in (source / "tidemark" / room).rglob("*.py"):
        found = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, path.name
                found.add(node.module or "")
        foreign = {name for name in found if name.split(".")[0] not in sys.stdlib_module_names}
        assert {name for name in foreign if not name.startswith(allowed)} == set(), path.name


def test_doors_of_rules__lead_to_functions() -> None:
    called = {
        name
        for text in FILES.values()
        for name in re.findall(r"call_function\(\s*'(tidemark\.rules\.\w+\.\w+)'", text)
    }
    for name in called:
        module, _, function = name.rpartition(".")
        assert callable(getattr(importlib.import_module(module), function, None)), name


@pytest.mark.parametrize(
    ("module", "others"),
    [
        (r"tidemark\.(hashing|dedup|shred|datagen)\b", r"dbt\b|tidemark\.cli|tidemark\.run\b"),
        (r"dbt\.adapters\.tidemark", r"tidemark\.(run|feed|replicator|capture|lineage|scaffold)\b"),
        (r"tidemark\.spark\b", r"dbt\b"),
        (
            r"tidemark\.model\b",
            r"(dbt|pyspark|duckdb)\b|tidemark\.(engine|spark|cli|run|scaffold)\b",
        ),
        (r"tidemark\.(?!check|lineage|run|replicator)", r"dbt\.adapters"),
        (r"tidemark\.capture", r"tidemark\.(replicator|feed|lineage|shred)\b"),
    ],
)
def test_modules__know_nothing_of(module: str, others: str) -> None:
    for name, path in _modules().items():
        if re.match(module, name):
            imported = {
                line
                for line in re.findall(
                    r"^ *(?:from|import) +([\w.]+)", path.read_text(encoding="utf-8"), re.MULTILINE
                )
                if re.match(others, line)
            }
            assert not imported, name


def test_map__has_every_folder() -> None:
    """Where a newcomer looks first: the block of CONTRIBUTING.md on where things are."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = text.partition("```text")[2].partition("```")[0]
    macros, _, python = block.partition("python/src/tidemark ")
    for words, folder in ((macros, MACROS), (python, ROOT / "python/src/tidemark")):
        folders = {
            path.name
            for path in folder.iterdir()
            if any(path.glob("*.sql")) or any(path.glob("*.py"))
        }
        assert folders - set(re.findall(r"\w+", words)) == set()
        rows = set(re.findall(r"(?m)^  (\w+(?:, \w+)*) {2}", words))
        assert {name for row in rows for name in row.split(", ")} - {
            *(path.name for path in folder.iterdir()),
            *(path.stem for path in folder.iterdir()),
        } == set()
