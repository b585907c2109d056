"""The project that the demo makes, and the files that land in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tidemark.datagen.csv_text import csv_line, open_csv
from tidemark.datagen.customers import COLUMNS, TYPES, customers
from tidemark.datagen.scenarios import Day
from tidemark.scaffold.inference import Column
from tidemark.scaffold.new_project import Package, project_files, write_project
from tidemark.scaffold.properties import ModelEntry

ENTITY = "customers"
LOCATION = "landing/customers_{business_date}.csv"


@dataclass(frozen=True)
class Landing:
    """An extract that comes.

    Attributes:
        date: Its business date.
        day: Its rows, and what loading them must give.
        said: What it is about.
    """

    date: str
    day: Day
    said: str

    @property
    def path(self) -> str:
        """Where it lands, from the project's folder."""
        return LOCATION.replace("{business_date}", self.date)


def landings() -> list[Landing]:
    """Return the extracts in the order in which they come."""
    scenario = customers()
    texts = [
        ("2026-03-01", "Day 1: a shop delivers all of its customers."),
        (
            "2026-03-02",
            "Day 2: some customers are new, some changed, some are gone. One has a credit "
            "limit that is no number. That row goes to quarantine, as the YAML says "
            "(on_reject). The other rows are loaded.",
        ),
        (
            "2026-03-03",
            "Day 3: the delivery was cut off, so most customers would be deleted. The "
            "guard stops the load before it writes (max_delete_fraction), and nothing is "
            "deleted. This failure is meant.",
        ),
        ("2026-03-03", "Day 3 again: the whole file came, with the credit limit mended."),
    ]
    return [
        Landing(date, day, text) for (date, text), day in zip(texts, scenario.days, strict=True)
    ]


def make_project(folder: Path, macros: Package) -> list[str]:
    """Write the project; return the paths of its files.

    Args:
        folder: Where to.
        macros: Where dbt finds the package.

    Raises:
        ConfigError: The folder is there and is not empty.
    """
    scenario = customers()
    entry = ModelEntry(
        name=ENTITY,
        keys=scenario.keys,
        settings={"extract": "full", "location": LOCATION, "format": "csv", **scenario.settings},
        columns=[Column(name, TYPES.get(name, "string"), "", 0, 0) for name in COLUMNS],
        comment=(
            "`tidemark demo` made this file; `tidemark init` writes such a file for your own "
            "files.",
        ),
    ).to_yaml()
    indented = "".join(f"  {line}\n" for line in entry.splitlines())
    files = project_files(project_name(folder), macros)
    files.pop("models/.gitkeep")
    files |= {
        f"models/{ENTITY}.sql": "{{ tidemark.extract() }}\n",
        "models/_models.yml": f"version: 2\n\nmodels:\n{indented}",
    }
    write_project(folder, files)
    return list(files)


def project_name(folder: Path) -> str:
    """Return a name for the project in a folder.

    Example:
        >>> project_name(Path("/tmp/tidemark-demo")), project_name(Path("2 try"))
        ('tidemark_demo', 'demo_2_try')
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", folder.name).strip("_").lower()
    return name if re.match(r"[a-z]", name) and name != "tidemark" else f"demo_{name}".strip("_")


def land(root: Path, landing: Landing) -> None:
    """Write an extract to where the project looks for it."""
    with open_csv(root / landing.path) as file:
        for row in (landing.day.columns, *landing.day.rows):
            file.write(csv_line(row).encode("utf-8"))
