"""Charts of what loads cost beside peers: SVG of the results that `make bench` keeps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from statistics import median

from docsite.tree import DOCS, ROOT

RESULTS = "python/benchmarks/results"
_WIDTH, _LABELS, _ROW, _TOP = 760, 290, 24, 46
# an image does not know which scheme the page has: it brings its own paper, so it reads on both
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1b2733}.paper{fill:#fff}.peer{fill:#9aa7b4}"
    ".ours{fill:#00897b}.dim{fill:#5b6773;stroke:#fff;stroke-width:4px;paint-order:stroke}"
    ".one{stroke:#00897b;stroke-dasharray:4 3}"
    ".title{font-weight:600}"
    "@media(prefers-color-scheme:dark){text{fill:#e6ebf0}.paper{fill:#1c2229}.peer{fill:#66727e}"
    ".ours{fill:#26a69a}.dim{fill:#a7b2bd;stroke:#1c2229}.one{stroke:#26a69a}}"
)


@dataclass(frozen=True)
class Group:
    """A load that several programs did in one run.

    Attributes:
        letter: Its workload.
        title: What is loaded.
        ours: The series of Tidemark.
        peers: Series of others → who they are and what they write.
        writes: What Tidemark writes.
    """

    letter: str
    title: str
    ours: str
    peers: dict[str, str]
    writes: str = "current, history, feed"


_FOREACH = "MERGE in foreachBatch: current only"
_FLOOR = "floor: read, overwrite a table"
_HAND = "by hand: current and history"
_MERGE = "MERGE by hand: current only"
CHARTS: dict[str, tuple[str, list[Group]]] = {
    "extracts": (
        "Extracts",
        [
            Group("a", "1,000,000 rows, many changed", "tidemark",
                  {"floor": _FLOOR, "hand": _HAND, "merge": _MERGE, "snapshot": "dbt snapshot"}),
            Group("b", "1,000,000 rows, 1 % changed", "tidemark",
                  {"floor": _FLOOR, "hand": _HAND, "merge": _MERGE}),
            Group("g", "28,000 airports", "tidemark",
                  {"floor": _FLOOR, "snapshot": "dbt snapshot"}),
        ],
    ),
    "events": (
        "Events",
        [
            Group("e", "1,000,000 Debezium events", "debezium",
                  {"floor": _FLOOR, "foreach": _FOREACH, "hand": _HAND}),
            Group("t", "1,000 events onto 10,000,000 rows", "many", {"merged many": _MERGE}),
            Group("t", "10 events onto 10,000,000 rows", "few", {"merged few": _MERGE}),
            Group("f", "1,000,000 enriched events", "tidemark",
                  {"floor": "floor: split lines, write", "hand": "the leanest shredder by hand"},
                  "events, entities, rejects"),
        ],
    ),
}  # fmt: skip


def charts(root: Path = ROOT) -> dict[str, str]:
    """The files of all charts by their place in the repository; none where nothing was measured.

    Example:
        >>> list(charts())
        ['python/docs/assets/cost-extracts.svg', 'python/docs/assets/cost-events.svg']
    """
    if not (root / RESULTS).exists():
        return {}
    return {
        f"{DOCS}/assets/cost-{name}.svg": chart(title, groups, root / RESULTS)
        for name, (title, groups) in CHARTS.items()
    }


def bars_of(group: Group, results: Path) -> list[tuple[str, float, float, bool]]:
    """Label, seconds, ratio to Tidemark, and whether it is Tidemark: the fastest first."""
    rounds = json.loads((results / f"{group.letter}.json").read_text(encoding="utf-8"))["rounds"]
    labels = {group.ours: f"Tidemark: {group.writes}", **group.peers}
    seconds = {name: median(one["seconds"] for one in rounds[name]) for name in labels}
    return [
        (labels[name], seconds[name], seconds[name] / seconds[group.ours], name == group.ours)
        for name in sorted(labels, key=lambda name: seconds[name])
    ]


def chart(title: str, groups: list[Group], results: Path) -> str:
    """A chart of bars: each as long as its ratio to Tidemark, which ends at the broken line."""
    found = [(group.title, bars_of(group, results)) for group in groups]
    longest = max(ratio for _, bars in found for _, _, ratio, _ in bars)
    scale = (_WIDTH - _LABELS - 130) / longest
    body, height = [], _TOP
    for heading, bars in found:
        body.append(_text(16, height + 16, heading, "title"))
        body += _bars(bars, height + _ROW, scale)
        height += _ROW * (len(bars) + 1) + 12
    name = f"{title}: time as a multiple of Tidemark's; shorter is faster"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
            f'width="{_WIDTH}" height="{height}" role="img" aria-label="{escape(name)}">',
            f"<title>{escape(name)}</title><style>{_STYLE}</style>",
            f'<rect class="paper" width="{_WIDTH}" height="{height}" rx="8"/>',
            _text(16, 26, name, "dim"),
            *body,
            "</svg>\n",
        ]
    )


def _bars(bars: list[tuple[str, float, float, bool]], top: int, scale: float) -> Iterator[str]:
    one = _LABELS + scale
    yield f'<path class="one" d="M{one:.1f} {top}V{top + _ROW * len(bars)}"/>'
    for place, (label, seconds, ratio, ours) in enumerate(bars):
        y = top + place * _ROW
        length = ratio * scale
        kind = "ours" if ours else "peer"
        yield _text(_LABELS - 10, y + 16, label, anchor="end")
        yield f'<rect class="{kind}" x="{_LABELS}" y="{y + 4}" width="{length:.1f}" height="16"/>'
        yield _text(_LABELS + length + 6, y + 16, f"{ratio:.2f} x · {seconds:.1f} s", "dim")


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "") -> str:
    more = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{x:.0f}" y="{y:.0f}"{more}>{escape(text)}</text>'
