"""The report as one HTML file: data, libraries and styles are in it, nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from string import Template

from tidemark.report.data import Report

_LIBRARIES = ("d3.min.js", "plot.umd.min.js")


def page(report: Report) -> str:
    """Return the page.

    Its policy lets a browser run the scripts that are in it, known by their hashes, and nothing
    else: what comes with the data cannot become one, nor fetch anything.
    """
    # within an HTML element no text of the data may end it
    data = report.model_dump_json().replace("<", "\\u003c")
    scripts = [*(_asset(name) for name in _LIBRARIES), _asset("report.js")]
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return Template(_asset("report.html")).substitute(
        policy=f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {hashes}",
        style=_asset("report.css"),
        data=data,
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def _asset(name: str) -> str:
    return (files("tidemark.report") / "assets" / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
