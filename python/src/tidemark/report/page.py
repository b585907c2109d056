"""The report as one HTML file: data, libraries and styles are in it, nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template

from tidemark.report.data import Report
from tidemark.report.differences import differences_html

SCRIPTS = ("d3.min.js", "plot.umd.min.js", "report.js")
"""What the page runs, in this order."""

_ADDED = ("head", "above", "lookup", "questions", "below", "made_by")


def page(report: Report) -> str:
    """Return the page.

    Its policy lets a browser run the scripts that are in it, known by their hashes, and nothing
    else: what comes with the data cannot become one, nor fetch anything.
    """
    scripts = [asset("tidemark.report", name) for name in SCRIPTS]
    style, added = asset("tidemark.report", "report.css"), differences_html(report.differences)
    return assembled(report, policy(scripts), scripts, style, {"lookup": added})


def policy(scripts: Sequence[str]) -> str:
    """Return the content security policy of a page with these scripts in it."""
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {hashes}"


def assembled(
    report: Report,
    policy: str,
    scripts: Sequence[str],
    style: str,
    added: Mapping[str, str] | None = None,
) -> str:
    """Return a page of the report.

    Args:
        report: Its data.
        policy: What a browser may do with it.
        scripts: What it runs.
        style: How it looks.
        added: HTML for places of report.html: `head`, `above` the entities, before the histories of
            keys (`lookup`) and after them (`questions`), `below` the charts, and `made_by` in place
            of the last line.
    """
    places = dict.fromkeys(_ADDED, "")
    places["made_by"] = "<code>tidemark report --json</code> prints the data of this page."
    return Template(asset("tidemark.report", "report.html")).substitute(
        {**places, **(added or {})},
        policy=policy,
        style=style,
        data=within_html(report.model_dump_json()),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def within_html(data: str) -> str:
    """Return JSON as it may stand in an HTML element, which no text of the data may end."""
    return data.replace("<", "\\u003c")


def asset(package: str, name: str) -> str:
    """Return a file that comes with a package of ours."""
    return (files(package) / "assets" / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
