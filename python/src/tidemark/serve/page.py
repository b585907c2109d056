"""The page of the report with what is live about it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from string import Template

from tidemark.report.data import Report
from tidemark.report.page import SCRIPTS, assembled, asset, policy, within_html

_HERE = "tidemark.serve"
# only in a header may a policy say who may put the page into a frame
_SERVED = "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def live_page(
    report: Report, mark: str, keys: Mapping[str, Sequence[str]], action: str | None
) -> tuple[str, str]:
    """Return the page, and the policy that goes with it in a header.

    Args:
        report: Its data, until it asks for newer one.
        mark: What changes when there is newer one.
        keys: The key columns of entities whose rows can be looked up.
        action: The token of what changes something; None if nothing may.
    """
    scripts = [*(asset("tidemark.report", name) for name in SCRIPTS), asset(_HERE, "serve.js")]
    style = asset("tidemark.report", "report.css") + asset(_HERE, "serve.css")
    known = json.dumps({"mark": mark, "keys": keys, "action": action}, ensure_ascii=False)
    parts = {
        name: asset(_HERE, f"{name}.html") for name in ("above", "lookup", "questions", "below")
    }
    parts["below"] = Template(parts["below"]).substitute(known=within_html(known))
    added = {
        **parts,
        # browsers ask for an icon, and say so when there is none
        "head": '<link rel="icon" href="data:,">\n',
        "made_by": "The page updates itself while <code>tidemark serve</code> runs.",
    }
    inner = f"{policy(scripts)}; connect-src 'self'"
    return assembled(report, inner, scripts, style, added), f"{policy(scripts)}; {_SERVED}"
