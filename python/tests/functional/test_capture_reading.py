"""What capture lands is what an entity reads: envelopes as landed end as the rows of the servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.functional.test_debezium import (
    LINES,
    Captured,
    check_mariadb_customers,
    check_postgres_customers,
)
from tidemark.capture.config import Flush
from tidemark.capture.lander import Lander
from tidemark.capture.state import CaptureState


def _land(folder: Path, lines: list[str]) -> None:
    """Land a capture, in files of ten events, with the state that stands beside them."""
    state = CaptureState(folder)
    state.open()
    lander = Lander(folder, Flush(rows=10))
    for line in lines:
        content = json.loads(line)
        key, value = (
            None if content[part] is None else json.dumps(content[part], separators=(",", ":"))
            for part in ("key", "value")
        )
        lander.add(content["topic"], key, value, "token")
        if lander.is_due():
            lander.land()
    lander.land()
    state.positions.offsets.write_bytes(b"positions")
    state.positions.history.write_text('{"source": {}}\n')
    state.positions.copy(lander.number, 0)
    state.write_status({"state": "STOPPED", "last_file": lander.number})
    state.close()


def test_entities_read_what_has_landed(project: Any) -> None:
    settings: dict[str, Any] = {
        "columns_declared": {"created": "string"},
        "previous_names": {"mail": "email"},
    }
    postgres = Captured(
        project, "pg_customers", "postgres_inline_schema", "customers", "id", **settings
    )
    mariadb = Captured(
        project,
        "my_customers",
        "mariadb_inline_schema",
        "customers",
        "id",
        ddl={"drop_column": "apply"},
    )
    for source in ("postgres_inline_schema", "mariadb_inline_schema"):
        _land(project.root / "landing" / source, LINES[source])
    project.dbt("run", "--select", "pg_customers", "my_customers")
    check_postgres_customers(postgres)
    check_mariadb_customers(mariadb)
    # nothing has landed since: nothing changes
    project.dbt("run", "--select", "pg_customers", "my_customers")
    check_postgres_customers(postgres)
