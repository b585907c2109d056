"""What Tidemark is made of, with licences: bundled files and locked dependencies.

A page shows them; `python -m docsite.bill FILE` writes them as CycloneDX.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from docsite.markdown import table
from docsite.tree import ROOT

_PINNED = re.compile(r"(?m)^([A-Za-z0-9][\w.-]*)==([^\s;]+)")
_CLASSIFIER = "License :: "
#: Licences that are told in words, by what is told; what is not here is shown as it is told
_SPDX = {
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "3-Clause BSD License": "BSD-3-Clause",
}
_IS_SPDX = re.compile(r"[A-Za-z0-9.+-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+-]+|\([^()]*\)| )*")


@dataclass(frozen=True)
class Part:
    """Something of others that Tidemark has in it or needs.

    Attributes:
        name: As its project calls it.
        version: Which.
        licence: Its licence, as SPDX has it where that is certain.
        files: Where it lies in the repository; none: it is installed.
        purl: Its package URL.
    """

    name: str
    version: str
    licence: str
    files: tuple[str, ...] = ()
    purl: str = ""


BUNDLED = (
    Part(
        "d3",
        "7.9.2",
        "ISC",
        ("python/src/tidemark/report/assets/d3.min.js",),
        "pkg:npm/d3@7.9.2",
    ),
    Part(
        "@observablehq/plot",
        "0.6.17",
        "ISC",
        ("python/src/tidemark/report/assets/plot.umd.min.js",),
        "pkg:npm/%40observablehq/plot@0.6.17",
    ),
    Part(
        "@mermaid-js/tiny",
        "11.17.2",
        "MIT",
        ("python/docs/assets/mermaid.tiny.js.gz",),
        "pkg:npm/%40mermaid-js/tiny@11.17.2",
    ),
    Part(
        "iframe-worker",
        "1.0.4",
        "MIT",
        ("python/docs/assets/iframe-worker.js",),
        "pkg:npm/iframe-worker@1.0.4",
    ),
    Part(
        "airportsdata",
        "2025-08-11 to 2026-03-04",
        "MIT",
        ("seeds/airports/", "python/tests/fixtures/airports_2026-03-04.csv.gz"),
    ),
)
"""Files of others in the repository: of the site, of the wheel, of the examples."""


def dependencies(lock: Path = ROOT / "requirements.lock") -> list[Part]:
    """Return what a lock file pins, with the licence that each distribution tells.

    Raises:
        PackageNotFoundError: One of them is not installed here.
    """
    pinned = _PINNED.findall(lock.read_text(encoding="utf-8"))
    return [
        Part(name, version, licence_of(name), purl=f"pkg:pypi/{name.lower()}@{version}")
        for name, version in pinned
    ]


def licence_of(name: str) -> str:
    """Return the licence that an installed distribution tells in one of three places.

    Example:
        >>> licence_of("click")
        'BSD-3-Clause'
    """
    told: Any = metadata.metadata(name)
    if expression := told.get("License-Expression"):
        return str(expression)
    field = str(told.get("License") or "").strip()
    words = [
        str(text).removeprefix(_CLASSIFIER).removeprefix("OSI Approved :: ")
        for text in told.get_all("Classifier") or []
        if str(text).startswith(_CLASSIFIER)
    ]
    # some put the whole text there, and some no licence
    if field and "\n" not in field and len(field) < 40 and not field.startswith("Dual"):
        field = field.removeprefix(_CLASSIFIER).removeprefix("OSI Approved :: ")
        return _SPDX.get(field, field)
    return " or ".join(sorted({_SPDX.get(word, word) for word in words})) or "not told"


def bundled_table() -> str:
    """The table of what lies in the repository and is others' work."""
    rows = [
        [part.name, part.version, part.licence, ", ".join(f"`{file}`" for file in part.files)]
        for part in BUNDLED
    ]
    return table(["what", "version", "licence", "where"], rows)


def dependencies_table() -> str:
    """The table of what `requirements.lock` installs."""
    rows = [[f"`{part.name}`", part.version, part.licence] for part in dependencies()]
    return table(["distribution", "version", "licence"], rows)


def cyclonedx(version: str) -> dict[str, Any]:
    """Return the bill in CycloneDX 1.6, the same for the same sources."""

    def licence(text: str) -> dict[str, Any]:
        if _IS_SPDX.fullmatch(text) and "License" not in text:
            return {"expression": text}
        return {"license": {"name": text}}

    def component(part: Part) -> dict[str, Any]:
        found: dict[str, Any] = {
            "type": "library" if part.purl else "data",
            "bom-ref": part.purl or part.name,
            "name": part.name,
            "version": part.version,
            "licenses": [licence(part.licence)],
        }
        if part.purl:
            found["purl"] = part.purl
        if part.files:
            found["evidence"] = {"occurrences": [{"location": file} for file in part.files]}
        return found

    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": "dbt-tidemark",
                "name": "dbt-tidemark",
                "version": version,
                "licenses": [{"expression": "Apache-2.0"}],
            }
        },
        "components": [component(part) for part in (*BUNDLED, *dependencies())],
    }


def main() -> None:
    """Write the bill to the file that is named."""
    bill = cyclonedx(metadata.version("dbt-tidemark"))
    Path(sys.argv[1]).write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
