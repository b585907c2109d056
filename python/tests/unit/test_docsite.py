"""The documentation site: it builds without a warning, all pages are in it, and it fetches nothing."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from markdown import markdown
from markdown_it import MarkdownIt

from docsite.__main__ import build, stale_charts, stale_pages, write_reference
from docsite.charts import CHARTS, RESULTS, bars_of
from docsite.markdown import anchor_of, demote, links_of, map_links, section_of, table
from docsite.reference import commands_of, docs_blocks, generators, settings_table
from docsite.sources import show_file
from docsite.tree import COMMAND, SiteError, navigation, page_anew, read_pages, site_tree, written
from tests.macros import ROOT
from tidemark.cli import COMMANDS, cli

_FETCHING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page of the site loads, and where it leads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        loaded = given.get(_FETCHING.get(tag, ""))
        if loaded and given.get("rel") not in ("canonical", "prev", "next"):
            self.loads.append(loaded)
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, made strictly: a dead link or anchor is an error."""
    return build(tmp_path_factory.mktemp("docs")).parent


def test_site__leads_to_every_page_and_fetches_nothing(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html")}
    first = site / "index.html"
    reached, todo = {first}, [first]
    while todo:
        path = todo.pop()
        for link in pages[path].links:
            parts = urlparse(link)
            target = (path.parent / unquote(parts.path)).resolve()
            if (
                not parts.scheme
                and parts.path
                and target.suffix == ".html"
                and target not in reached
            ):
                reached.add(target)
                todo.append(target)
    for name in read_pages():
        assert site / name.replace(".md", ".html") in reached, name
    assert set(pages) - reached <= {site / "404.html"}

    for path, page in pages.items():
        for loaded in page.loads:
            parts = urlparse(loaded)
            assert not parts.netloc, f"{path.name} fetches {loaded}"
            if not parts.scheme:
                there = (
                    site / parts.path.lstrip("/")
                    if path.name == "404.html"
                    else path.parent / parts.path
                )
                assert there.exists(), f"{path.name}: no {loaded}"
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(.?https?:|@import", style.read_text(encoding="utf-8"))


def test_site__diagrams_have_their_library(site: Path) -> None:
    drawn = [path for path in site.rglob("*.html") if 'class="mermaid"' in path.read_text()]
    assert len(drawn) >= 4
    for path in site.rglob("*.html"):
        loads = [loaded for loaded in Page(path).loads if "mermaid" in loaded]
        assert bool(loads) == (path in drawn), path


@pytest.mark.parametrize(
    "query",
    [
        "decimal comma", "airflow", "dagster", "cron", "gdpr", "duckdb", "renamed column", "late file",
        "corrected file", "backfill", "two files a day", "scd 2", "star schema", "time travel", "cdc",
        "pii", "quarantine", "rollback", "schema evolution", "snapshot of a database", "retention",
        "same file twice", "duplicate file", "change column type", "null in key", "timezone", "emr", "databricks",
        "kafka", "memory", "performance", "crash", "excel", "permissions", "deletes",
        "go back", "monitoring", "iceberg", "debezium",
    ],
)  # fmt: skip
def test_search__finds_what_people_type(site: Path, query: str) -> None:
    """Titles weigh most in the search of the site: one of them has all words, as the search cuts them."""
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    cut = index["config"]["separator"]
    titles = [set(re.split(cut, entry["title"].lower())) for entry in index["docs"]]
    assert any(set(query.split()) <= title for title in titles)


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("databricks", "how-to/cluster"), ("kubernetes", "how-to/cluster"), ("emr", "how-to/cluster"),
        ("docker", "start/install"), ("container", "start/install"), ("windows", "start/install"),
        ("macos", "start/install"), ("airflow", "how-to/recipes"), ("gdpr", "how-to/recipes"),
        ("right to be forgotten", "how-to/recipes"), ("change column type", "how-to/change-columns"),
        ("alter column", "how-to/change-columns"), ("rename column", "how-to/change-columns"),
        ("add column", "how-to/change-columns"), ("drop column", "how-to/change-columns"),
        ("column type", "how-to/change-columns"), ("where are tables stored", "reference/tables"),
        ("soft delete", "how-to/extracts"), ("composite key", "how-to/extracts"),
        ("csv without header", "how-to/extracts"), ("nested json", "how-to/extracts"),
        ("ignore column", "how-to/extracts"), ("schedule", "how-to/recipes"),
        ("power bi", "how-to/formats"), ("dbt cloud", "start/install"), ("proxy", "start/install"),
        ("java version", "start/install"), ("spark version", "start/install"),
        ("parallel", "explanation/crash-safety"), ("lock", "explanation/crash-safety"),
        ("log file", "how-to/console"), ("debug", "how-to/console"), ("restore", "how-to/house-keeping"),
        ("collision", "explanation/hash-recipe"), ("billions of rows", "explanation/cost"),
    ],
)  # fmt: skip
def test_search__finds_the_page_that_answers(site: Path, query: str, page: str) -> None:
    """As above; a title that has a word more often, or has fewer others, counts no more."""
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    cut = index["config"]["separator"]
    found = {
        entry["location"].partition("#")[0]
        for entry in index["docs"]
        if set(query.split()) <= set(re.split(cut, entry["title"].lower()))
    }
    assert f"{page}.html" in found
    assert len(found) <= 3, "too many pages to find it among"


def test_site__has_generated_tables(site: Path) -> None:
    def text(page: str) -> str:
        return (site / "reference" / page).read_text(encoding="utf-8")

    assert "max_delete_fraction</code></td>" in text("settings.html")
    assert "tidemark replicator start" in text("commands.html")
    assert "spark.databricks.delta.snapshotPartitions" in text("spark.html")
    assert "known_at</code></td>" in text("macros.html")
    assert "generate:" not in text("settings.html") and "run: test_" not in text("macros.html")
    assert COMMAND not in text("settings.html")


# --- what pages have of the sources


def test_reference__is_that_of_the_sources() -> None:
    stale = sorted(stale_pages())
    assert not stale, f"`{COMMAND}` writes anew what {', '.join(stale)} has of the sources"


def test_charts__are_of_the_measurements() -> None:
    stale = sorted(stale_charts())
    assert not stale, f"`{COMMAND}` draws {', '.join(stale)} anew"
    cost = read_pages()["explanation/cost.md"]
    for name, (_, groups) in CHARTS.items():
        assert f"](../assets/cost-{name}.svg)" in cost
        for group in groups:
            bars = bars_of(group, ROOT / RESULTS)
            assert [bar[1] for bar in bars] == sorted(bar[1] for bar in bars)
            assert [ratio for _, _, ratio, ours in bars if ours] == [1]


def test_reference__stands_on_the_pages() -> None:
    """A reader of the repository finds it where a reader of the site does."""
    pages = read_pages()
    assert "| `max_delete_fraction` | `0.5` |" in pages["reference/settings.md"]
    assert "\n## tidemark replicator start\n" in pages["reference/commands.md"]
    assert "max_delete_fraction" not in written(pages["reference/settings.md"])


def test_reference__reads_alike_on_a_git_host() -> None:
    """The Markdown of git hosts and that of the site differ in bars of tables, escapes and tags."""
    on_host = MarkdownIt("gfm-like", {"linkify": False})
    for page, text in read_pages().items():
        if page.startswith("reference/"):
            shown = markdown(text, extensions=["tables", "fenced_code", "sane_lists"])
            assert _words(on_host.render(text)) == _words(shown), page


def _words(page: str) -> str:
    return "".join(unescape(re.sub(r"<[^>]+>", "", page)).split())


def test_reference__is_written_anew_in_its_places(tmp_path: Path) -> None:
    page = tmp_path / "python/docs/a.md"
    page.parent.mkdir(parents=True)
    (tmp_path / "README.md").write_text("# R\n\n## One\n\n[l](LICENSE)\n\n<!-- run: t.py::t -->\n")
    page.write_text(
        "# A\n\n<!-- generate: readme One -->\n\nby hand\n\n<!-- generate: spark-settings -->\n"
        "```text\n<!-- generate: poems -->\n```\n"
    )
    assert write_reference(tmp_path) == ["python/docs/a.md"]
    once = page.read_text()
    assert once.count(f"<!-- end of what {COMMAND} writes -->") == 2
    assert "[l](../../LICENSE)" in once and "\nby hand\n" in once and "run: t.py" not in once
    # again: the same; what somebody changed in it is gone
    assert write_reference(tmp_path) == []
    page.write_text(once.replace("LICENSE", "LICENCE").replace("| setting |", "| sitting |"))
    assert write_reference(tmp_path) == ["python/docs/a.md"] and page.read_text() == once


# --- what stops it


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a](nowhere.md)", "there is no python/docs/how-to/nowhere.md"),
        ("[a](../../../../etc/passwd)", "lies outside of the repository"),
        ("[a](../../../README.md#nothing)", "no page shows README.md#nothing"),
    ],
)
def test_error(text: str, message: str) -> None:
    with pytest.raises(SiteError, match=re.escape(message)):
        site_tree({"how-to/a.md": f"# A\n\n{text}\n", "index.md": "# I"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- generate: poems -->", "nothing generates `poems`"),
        ("<!-- generate: macro mcaro -->", "no YAML describes a macro `mcaro`"),
        ("<!-- generate: settings Setings -->", "no class of settings `Setings`"),
        ("<!-- generate: docs poem -->", "models/ has no docs block `poem`"),
        ("<!-- generate: readme Nothing -->", "README.md has no section `Nothing`"),
    ],
)
def test_error_of_the_reference(text: str, message: str) -> None:
    with pytest.raises(SiteError, match=re.escape(message)):
        page_anew("how-to/a.md", f"# A\n\n{text}\n", generators())


def test_dead_anchor__stops_the_build(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    (root / "python/docs").mkdir(parents=True)
    (root / "README.md").write_text("# R\n")
    (root / "python/docs/index.md").write_text("# I\n\n[b](b.md#gone)\n")
    (root / "python/docs/b.md").write_text("# B\n")
    for name in ("mermaid.tiny.js", "iframe-worker.js", "search-words.js", "site.css"):
        (root / "python/docs/assets").mkdir(exist_ok=True)
        (root / "python/docs/assets" / name).write_text("")
    with pytest.raises(SiteError, match="does not contain an anchor '#gone'"):
        build(tmp_path / "out", root)


# --- the parts


def test_navigation__takes_up_what_is_there() -> None:
    pages = dict.fromkeys(
        ["index.md", "how-to/zebra.md", "how-to/apple.md", "how-to/extracts.md", "more/a.md"], ""
    )
    assert navigation(pages) == [
        "index.md",
        {"How to": ["how-to/extracts.md", "how-to/apple.md", "how-to/zebra.md"]},
        {"More": ["more/a.md"]},
    ]
    shown = str(navigation(read_pages()))
    assert all(f"'{page}'" in shown for page in read_pages())


def test_tree__links_to_files_of_the_repository() -> None:
    text = "# A\n[s](../../../macros/read/scd2.sql), [m](../../../models/hash_cdc), `[c](d)`\n"
    tree = site_tree({"how-to/a.md": text})
    assert "[s](../sources/macros/read/scd2.sql.md)" in tree["how-to/a.md"]
    assert "`[c](d)`" in tree["how-to/a.md"]
    assert "```sql+jinja\n" in tree["sources/macros/read/scd2.sql.md"]
    folder = tree["sources/models/hash_cdc.md"]
    assert "[airports.sql](hash_cdc/airports.sql.md)" in folder
    assert "sources/models/hash_cdc/airports.sql.md" in tree


def test_tree__readme_sections_keep_their_links() -> None:
    pages = {
        "start/a.md": "# A\n<!-- generate: readme Two -->\n",
        "b.md": "# B\n[a](../../README.md#two)\n",
    }
    made = {"readme": lambda title: f"{title}: [x](python/docs/b.md), [l](LICENSE)"}
    pages["start/a.md"] = page_anew("start/a.md", pages["start/a.md"], made)
    tree = site_tree(pages)
    assert tree["start/a.md"] == "# A\n\nTwo: [x](../b.md), [l](../sources/LICENSE.md)\n\n"
    assert tree["b.md"] == "# B\n[a](start/a.md)\n"


def test_show_file() -> None:
    assert "bytes, in the repository" in show_file(ROOT, "python/docs/assets/mermaid.tiny.js.gz")
    assert show_file(ROOT, "CHANGELOG.md").endswith((ROOT / "CHANGELOG.md").read_text())
    # dbt's docs blocks are code here
    assert "````markdown" in show_file(ROOT, "models/overview.md") or "```markdown" in show_file(
        ROOT, "models/overview.md"
    )


def test_commands__all_of_them() -> None:
    shown = {path[1] for path, _ in commands_of(cli)}
    assert shown == set(COMMANDS)


def test_settings_table() -> None:
    lines = settings_table("EventSettings without LogSettings").splitlines()
    assert lines[2].startswith("| `extract` | required |")
    assert any(line.startswith("| `on_tie` | `later` |") for line in lines)
    assert not any("`ignore`" in line.split("|")[1] for line in lines)
    # what Markdown would read is told as letters or as code
    assert "`decimal_bytes:<scale>`" in settings_table("EventSettings")
    assert "(with a / or a \\*)" in settings_table("EventSettings")


def test_docs_blocks() -> None:
    blocks = docs_blocks()
    assert {"hash_recipe", "canonical_events", "change_feed", "enriched_events"} <= blocks.keys()
    assert blocks["hash_recipe"].startswith("How `_key_hash`")
    assert "\n### 1. The text of a row\n" in blocks["hash_recipe"]


def test_markdown() -> None:
    text = "# A\n\n```sh\n# no heading\n[no](link)\n```\n\n## B [x](y)\n\nz\n"
    assert links_of(text) == ["y"]
    assert section_of(text, "A", whole=False) == "\n```sh\n# no heading\n[no](link)\n```\n"
    assert demote(text, 1).startswith("## A\n") and "\n# no heading" in demote(text, 1)
    assert map_links("[`a[0]`](b)", lambda link: link * 2) == "[`a[0]`](bb)"
    assert anchor_of("`ref()`: a, b") == "ref-a-b"
    assert table(["a"], [["x | y\nz"]]).endswith("| x \\| y z |")
