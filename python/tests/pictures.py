"""The pictures in the docs, and what each was made of: a record tells without a browser which are stale.

`pytest --update-pictures` of the two tests that draw them takes pictures and record anew, see CONTRIBUTING.md.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from filelock import FileLock

from tests import stored
from tests.macros import ROOT
from tests.reports import differing, example
from tidemark.report.data import Report
from tidemark.report.page import page
from tidemark.serve.page import live_page

COMMAND = (
    "pytest --update-pictures python/tests/functional/test_report_page.py "
    "python/tests/functional/test_serve_page.py"
)
VIEWS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1300, "height": 900}},
    "dark": {"viewport": {"width": 1300, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 800}},
}
RECORD = ROOT / "python" / "tests" / "pictures.json"


@dataclass(frozen=True)
class OfReport:
    """A picture of the report.

    Attributes:
        report: What the page shows.
        view: A name in VIEWS.
        part: The part of the page that is shown, or None for as much as the view holds.
    """

    report: Report
    view: str
    part: str | None = None


OF_REPORT = {
    "python/examples/report.png": OfReport(example(), "light"),
    "python/docs/assets/report-phone.png": OfReport(example(), "phone"),
    "python/docs/assets/diff.png": OfReport(
        differing(), "light", "section[aria-labelledby=differences-title]"
    ),
}
OF_SERVE = "python/docs/assets/serve.png"
NAMES = (*OF_REPORT, OF_SERVE)


@cache
def made_of(name: str) -> str:
    """The digest of what a browser draws: the page with its scripts, styles and data, and the view.

    The data of `tidemark serve` is fetched later, so for its picture the tables of `tests.stored` count.
    """
    if name == OF_SERVE:
        html, _ = live_page(example(), "mark", {"cities": ["id"]}, "token")
        parts: list[Any] = [html, stored.COMMITS, stored.LOG, stored.REJECTS]
    else:
        of = OF_REPORT[name]
        parts = [page(of.report), VIEWS[of.view], of.part]
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


def digest(name: str) -> str:
    return hashlib.sha256((ROOT / name).read_bytes()).hexdigest()


def recorded() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def record(name: str) -> None:
    """Write down what the picture, which has just been taken, was made of. Tests run side by side."""
    with FileLock(Path(gettempdir()) / "tidemark-pictures.lock"):
        known = {**recorded(), name: {"picture": digest(name), "made_of": made_of(name)}}
        text = json.dumps(dict(sorted(known.items())), indent=2)
        RECORD.write_text(f"{text}\n", encoding="utf-8")
