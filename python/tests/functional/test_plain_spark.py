"""Plain `type: spark`, here on the session of this process: test_thrift.py tells more, through a server."""

from __future__ import annotations

from typing import Any

from .entities import Entity

PLAIN = "    plain: {type: spark, method: session, host: localhost, schema: \"{{ env_var('TIDEMARK_SCHEMA') }}\", threads: 2}\n"


def test_extracts(module_project: Any) -> None:
    profiles = module_project.root / "profiles.yml"
    profiles.write_text(profiles.read_text(encoding="utf-8") + PLAIN, encoding="utf-8")
    # Spark is started by our adapter, which the tests ask by
    assert module_project.session is not None
    module_project.target = "plain"
    one = Entity(module_project, "one", {"id": "int", "name": "string"}, not_null=("name",))
    one.load("2026-01-01", "id,name\n1,ann\n2,bob\n")
    missing = one.run("2026-01-02", expect_pass=False)
    assert "no extract for business date 2026-01-02: there is nothing at" in missing.error
    one.load("2026-01-03", "id,name\n1,anna\n3,cy\n")
    assert one.rows("id, name, _operation") == [(1, "anna", "U"), (3, "cy", "I")]
    assert one.commits("kind, state, rows_deleted") == [
        ("load", "completed", 0),
        ("load", "completed", 1),
    ]
    # the NOT NULL of current goes with that of the YAML
    one.not_null = ()
    one.write()
    one.load("2026-01-04", "id,name\n1,anna\n3,\n")
    assert one.rows("id, name, _operation") == [(1, "anna", "U"), (3, None, "U")]
