"""The `tidemark` adapter: dbt-spark in this process, with Python models and readable errors."""

from __future__ import annotations

from dbt.adapters.base.plugin import AdapterPlugin

from dbt.adapters.tidemark.connections import TidemarkConnectionManager, TidemarkCredentials
from dbt.adapters.tidemark.impl import TidemarkAdapter
from dbt.include import tidemark

__all__ = ["Plugin", "TidemarkAdapter", "TidemarkConnectionManager", "TidemarkCredentials"]

Plugin = AdapterPlugin(
    adapter=TidemarkAdapter,  # type: ignore[arg-type]
    credentials=TidemarkCredentials,
    include_path=tidemark.PACKAGE_PATH,
    dependencies=["spark"],
)
