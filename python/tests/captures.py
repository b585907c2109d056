"""Change events that Debezium 3.5.0 sent of PostgreSQL 15 and MariaDB 10.11, and the rows that those servers had then."""

from __future__ import annotations

import gzip
from pathlib import Path

FOLDER = Path(__file__).parent / "fixtures" / "debezium"


def read(name: str) -> str:
    """The text of a captured file, by its name without `.gz`."""
    return gzip.decompress((FOLDER / f"{name}.gz").read_bytes()).decode()
