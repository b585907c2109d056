"""A dbt project of another name that installs the package, with one entity. No JVM."""

from __future__ import annotations

from pathlib import Path

from .macros import ROOT

MODELS = """
models:
  - name: orders
    config:
      materialized: cdc
      unique_key: [id]
      meta: {tidemark: {extract: full, location: "orders/{business_date}.csv"}}
    data_tests: [tidemark.current_equals_open_intervals]
    columns: [{name: id, data_type: int}]
"""


class ForeignProject:
    """A dbt project of another name, whose profile has two lines."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("dbt_project.yml", "{name: shop, version: 1.0.0, profile: shop}")
        self.write(
            "profiles.yml", "shop: {target: a, outputs: {a: {type: tidemark, schema: shop}}}"
        )
        self.write("models/orders.sql", "{{ tidemark.extract() }}")
        self.write("models/models.yml", MODELS)
        (root / "dbt_packages").mkdir()
        (root / "dbt_packages" / "tidemark").symlink_to(ROOT, target_is_directory=True)

    def write(self, path: str, text: str) -> None:
        """Write a file of the project."""
        (self.root / path).parent.mkdir(exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")
