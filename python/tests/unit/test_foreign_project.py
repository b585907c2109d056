"""What dbt says in a project that installs the package: nothing but its own few lines. No JVM."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from dbt.cli.main import dbtRunner
from dbt_common.clients.jinja import MacroFuzzEnvironment, get_environment
from jinja2 import nodes

from dbt.adapters.tidemark.console import without_colours
from dbt.adapters.tidemark.parsing import ENOUGH_NEW, read_macros_once

from ..foreign_project import ForeignProject


class Shop(ForeignProject):
    """The same, with what dbt says of it."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(root)
        self.capsys = capsys
        self.manifest: Any = None

    def parse(self, *options: str) -> tuple[list[Any], str]:
        """`dbt parse`: its warnings and errors, and what it printed."""
        events: list[Any] = []
        folder = str(self.root)
        command = ["parse", "--project-dir", folder, "--profiles-dir", folder, *options]
        command += ["--no-send-anonymous-usage-stats", "--no-version-check"]
        raw = dbtRunner(callbacks=[events.append]).invoke(command)
        self.manifest = raw.result
        bad = [event.info.msg for event in events if event.info.level in ("warn", "error")]
        if raw.exception is not None:
            bad.append(str(raw.exception))
        return bad, self.capsys.readouterr().out

    @property
    def log(self) -> str:
        return (self.root / "logs" / "dbt.log").read_text(encoding="utf-8")


def test_a_project_that_installs_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DBT_USE_COLORS", "DBT_USE_COLORS_FILE", "DBT_TARGET_PATH", "DBT_PROFILES_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DBT_LOG_PATH", str(tmp_path / "logs"))
    monkeypatch.setenv("TIDEMARK_CLASS_ARCHIVE", str(tmp_path / "kept"))
    monkeypatch.chdir(tmp_path)
    shop = Shop(tmp_path, capsys)
    parsed = MacroFuzzEnvironment._parse
    read: list[str] = []

    def note(self: Any, source: str, *others: Any) -> Any:
        read.append(source)
        return parsed(self, source, *others)

    monkeypatch.setattr(MacroFuzzEnvironment, "_parse", note)

    # not one warning, no colours but for what comes before dbt loads the adapter
    bad, printed = shop.parse()
    assert bad == []
    # the package's examples and their tests are not there, its macros and generic tests are
    assert {node.package_name for node in shop.manifest.nodes.values()} == {"shop"}
    assert not shop.manifest.disabled
    macros = shop.manifest.macros
    assert "macro.tidemark.test_no_open_rejects" in macros
    # what parsing them costs, it costs once
    texts = {macro.macro_sql for macro in macros.values()}
    assert sum(source in texts for source in read) < len(macros) * 1.1
    assert (
        "macro.tidemark.quote_identifier"
        in macros["macro.tidemark.column_list_expr"].depends_on.macros
    )
    first, *others = printed.splitlines()
    assert "Running with dbt" in first and others
    assert "\x1b" not in "".join(others)
    assert "\x1b" not in shop.log.partition("Registered adapter")[2]

    # and once in an environment, also for other projects
    read.clear()
    bad, _ = shop.parse("--no-partial-parse")
    assert bad == [] and not texts & {*read}
    again = shop.manifest.macros
    assert {name: macro.depends_on for name, macro in again.items()} == {
        name: macro.depends_on for name, macro in macros.items()
    }

    # what a macro of ours refuses has a heading of its own, and which macros were at work is in the log;
    # colours that were asked for are given
    shop.write(
        "macros/soon.sql", "{% macro soon() %}{{ tidemark.moment_of('soon', 'to') }}{% endmacro %}"
    )
    shop.write("models/products.sql", "{{ soon() }}")
    bad, printed = shop.parse("--use-colors")
    assert "Usage Error in model products (models/products.sql)\n  to must be a commit" in bad[0]
    assert "in macro" not in "".join(bad) + printed
    assert "> in macro.tidemark.moment_of\n> called by macro.shop.soon" in shop.log
    assert "\x1b" in printed.partition("\n")[2]

    # that each business date changes the vars is no news; dbt's log has it
    shop.write("models/products.sql", "select 1 as id")
    bad, printed = shop.parse("--vars", "{business_date: 2026-03-04}")
    said = "Unable to do partial parsing because config vars"
    assert bad == [] and said not in printed and said in shop.log


def test_macros_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_CLASS_ARCHIVE", "off")
    read_macros_once()
    text = "\n{%- macro total(rows) -%}{{ sum_of(rows) }}{%- endmacro -%}"
    first = get_environment().parse(text)
    assert get_environment(capture_macros=True).parse(text) is first
    # for its two readers: whoever comes then has a tree of his own, and so has each who reads anything else
    other = get_environment().parse(text)
    assert other is not first and other == first
    assert get_environment().parse("{{ total(1) }}") is not get_environment().parse(
        "{{ total(1) }}"
    )


def test_macros_that_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call keeps those in its arguments, adapter.dispatch() what it is given; what is no file of nodes is none."""
    monkeypatch.setenv("TIDEMARK_CLASS_ARCHIVE", str(tmp_path))
    texts = [
        f"{{% macro m{number}(a, b=one(two())) %}}{{{{ tidemark.x(y(1) ~ z, c=[w()]) }}}}"
        "{{ adapter.dispatch('m', macro_namespace='tidemark')(a) }}{% if v() %}{{ u(k=t()) }}{% endif %}"
        "{% call s(r()) %}{{ q() }}{% endcall %}{% endmacro %}"
        for number in range(ENOUGH_NEW)
    ]

    def read() -> list[Any]:
        read_macros_once()
        trees = [get_environment().parse(text) for text in texts]
        assert [get_environment().parse(text) for text in texts] == trees
        return trees

    def calls(tree: Any) -> list[Any]:
        return [call.node for call in tree.find_all(nodes.Call)]

    whole = [MacroFuzzEnvironment._parse(get_environment(), text, None, None) for text in texts]
    first = read()
    (kept,) = tmp_path.iterdir()
    second = read()
    assert second == first
    for tree, other in zip(whole, second, strict=True):
        assert calls(other) == calls(tree)
        assert other.body[0].args == tree.body[0].args
    (dispatch,) = [call for call in second[0].find_all(nodes.Call) if getattr(call.node, "attr", "") == "dispatch"]  # fmt: skip
    assert [argument.value for argument in dispatch.args] == ["m"]
    assert dispatch.kwargs[0].value.value == "tidemark"
    for data in (b"", b"no pickle", pickle.dumps(Path()), pickle.dumps([1])):
        kept.write_bytes(data)
        assert read() == first


def test_without_colours() -> None:
    assert without_colours("\x1b[0m12:00:00  [\x1b[33mWARNING\x1b[0m]") == "12:00:00  [WARNING]"
