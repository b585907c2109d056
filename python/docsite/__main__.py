"""`make docs`: write the tree of pages and have it made into a site, strictly.

With `--reference` (`make reference`) only what the pages have of the sources is written anew.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from docsite.charts import charts
from docsite.markdown import links_of
from docsite.reference import generators
from docsite.tree import (
    DOCS,
    ROOT,
    SiteError,
    navigation,
    page_anew,
    read_pages,
    site_tree,
)  # fmt: skip


def stale_pages(root: Path = ROOT) -> dict[str, str]:
    """The pages whose text of the sources is not what it would be now, as they would be.

    Example:
        >>> stale_pages()  # doctest: +SKIP
        {}
    """
    pages, makers = read_pages(root), generators(root)
    anew = {page: page_anew(page, text, makers) for page, text in pages.items()}
    return {page: text for page, text in anew.items() if text != pages[page]}


def stale_charts(root: Path = ROOT) -> dict[str, str]:
    """The charts that are not those of the measurements, as they would be."""
    return {
        name: text
        for name, text in charts(root).items()
        if not (root / name).exists() or (root / name).read_text(encoding="utf-8") != text
    }


def write_reference(root: Path = ROOT) -> list[str]:
    """Write charts and what pages have of the sources anew; return the files that changed."""
    stale = {f"{DOCS}/{page}": text for page, text in stale_pages(root).items()}
    stale |= stale_charts(root)
    for name, text in stale.items():
        (root / name).write_text(text, encoding="utf-8")
    return [*stale]


def write_tree(target: Path, root: Path = ROOT) -> Path:
    """Write what the generator reads into a folder; return its configuration."""
    pages = read_pages(root)
    tree = site_tree(pages, root)
    shutil.rmtree(target, ignore_errors=True)
    for name, text in tree.items():
        path = target / "pages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in (root / DOCS).rglob("*"):
        if path.is_file() and path.suffix != ".md":
            copy = target / "pages" / path.relative_to(root / DOCS)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".gz":  # a large script, unpacked here
                copy.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
            else:
                shutil.copyfile(path, copy)
    for image in _images(tree, root):
        copy = target / "pages" / "sources" / image
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / image, copy)
    config = target / "mkdocs.yml"
    config.write_text(
        yaml.safe_dump(
            {
                "INHERIT": str(Path(__file__).parent / "mkdocs.yml"),
                "theme": {"custom_dir": str(Path(__file__).parent / "theme")},
                "docs_dir": str(target / "pages"),
                "site_dir": str(target / "site"),
                "nav": navigation(pages),
            },
            sort_keys=False,
        ),
        encoding="utf-8",
    )
    return config


def build(target: Path, root: Path = ROOT) -> Path:
    """Make the site; return its first page. A warning of the generator is an error.

    Example:
        >>> build(Path("build/docs"))  # doctest: +SKIP
        PosixPath('build/docs/site/index.html')
    """
    config = write_tree(target, root)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config)]
    # the theme's notice that another generator is to come
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SiteError((done.stderr + done.stdout).strip())
    return target / "site" / "index.html"


def _images(tree: dict[str, str], root: Path) -> set[str]:
    found = set()
    for page, text in tree.items():
        for link in links_of(text):
            if link.endswith((".png", ".svg")) and "sources/" in link:
                found.add(os.path.normpath(Path(page).parent / link).partition("sources/")[2])
    return found


def main() -> int:
    """Write what pages have of the sources, build the site below build/docs; say what changed."""
    try:
        changed = write_reference()
        made = [] if "--reference" in sys.argv[1:] else [build(ROOT / "build" / "docs")]
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    for name in [*changed, *(path.relative_to(ROOT) for path in made)]:
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
