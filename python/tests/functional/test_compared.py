"""What of an extract is compared: a choice of columns, and expressions in place of values."""

from __future__ import annotations

import json
from typing import Any

from tidemark.rules.drift import config_drift, sentences

from ..rendering import load_sql_macros
from .entities import Entity


def as_(expression: str) -> dict[str, Any]:
    return {"config": {"meta": {"tidemark": {"compare_as": expression}}}}


def node(**compare: Any) -> dict[str, Any]:
    settings = {"extract": "full", "compare": compare}
    return {
        "alias": "places",
        "schema": "shop",
        "columns": {
            "id": {"name": "id"},
            "lat": {"name": "lat", **as_("round(lat, 2)")},
            "name": {"name": "name", **as_("lower(trim(name))")},
        },
        "config": {"unique_key": "id", "meta": {"tidemark": settings}},
    }


DAY_1 = """
    select * from values
        (1, 1.001, 'Ann', 'a'), (2, 2.001, 'Bob', 'b'), (3, 3.0, 'Cy', 'c'), (4, null, null, 'd')
        as places (id, lat, name, note)
"""
DAY_2 = """
    select * from values
        (1, 1.002, ' ann', 'x', 'new'), (2, 2.009, 'Bob', 'b', 'new'), (3, 3.0, 'Di', 'c', null),
        (4, null, null, 'd', null), (5, 5.0, 'Ed', 'e', null), (5, 5.001, 'ed', 'e', null)
        as places (id, lat, name, note, extra)
"""


def test_compare(module_project: Any) -> None:
    macros, session = load_sql_macros(), module_project.session

    def staged(day: str, config: Any, recorded: Any, view: str) -> tuple[Any, Any, Any]:
        cfg = macros["entity_config"](config)
        typed = session.sql(day).dtypes
        source = [{"name": name, "type": kind} for name, kind in typed]
        roles = macros["column_roles"](cfg, source, {}, recorded)
        for column in roles["compared"]:
            null = f"cast(null as {column['type']})"
            value = macros["compared_value_expr"](column, null)
            column["compare_type"] = session.sql(f"select {value} as v").dtypes[0][1]
        rows = session.sql(macros["staged_rows_sql"](cfg, roles, day))
        rows.createOrReplaceTempView(view)
        drift = sentences(config_drift(cfg, roles, recorded)) if recorded else None
        return cfg, roles, drift

    # a name may be listed before its column is there
    chosen = node(include=["lat", "name", "phone"])
    _, first, _ = staged(DAY_1, chosen, None, "compared_before")
    cfg, roles, drift = staged(DAY_2, chosen, first["recorded"], "compared_after")
    assert drift == []
    assert [column["name"] for column in roles["compared"]] == ["lat", "name"]
    assert roles["compared"][0]["compare_as"] == "round(lat, 2)"
    existing = "select *, cast(null as string) as extra from compared_before"
    session.sql(existing).createOrReplaceTempView("compared_existing")
    classified = macros["classified_rows_sql"](
        cfg, roles, "compared_after", "compared_existing", "2026-01-02"
    )
    found = session.sql(classified).orderBy("id").collect()
    assert [
        (row.id, row._operation, row._changed_columns, row._tidemark_copies) for row in found
    ] == [
        (2, "U", ["lat"], 1),
        (3, "U", ["name"], 1),
        (5, "I", None, 2),
    ]
    # what is stored is what came
    assert [(float(row.lat), row["name"], row.extra) for row in found] == [
        (2.009, "Bob", "new"),
        (3.0, "Di", None),
        (5.001, "ed", None),
    ]

    # by exclude a new column is compared, where it has a value
    rest = node(exclude=["note", "gone"])
    _, first, _ = staged(DAY_1, rest, None, "compared_before")
    cfg, roles, drift = staged(DAY_2, rest, first["recorded"], "compared_after")
    assert (drift, [column["name"] for column in roles["ignored"]]) == ([], ["note"])
    classified = macros["classified_rows_sql"](
        cfg, roles, "compared_after", "compared_existing", "2026-01-02"
    )
    session.sql(existing).createOrReplaceTempView("compared_existing")
    found = session.sql(classified).where("_operation = 'U'").orderBy("id").collect()
    assert [(row.id, row._changed_columns) for row in found] == [
        (1, ["extra"]),
        (2, ["lat", "extra"]),
        (3, ["name"]),
    ]

    # another choice, and another expression, are drift
    rest["columns"]["lat"] = {"name": "lat", **as_("round(lat, 1)")}
    rest["columns"]["name"] = {"name": "name"}
    rest["config"]["meta"]["tidemark"]["compare"] = {"exclude": ["extra"]}
    _, _, drift = staged(DAY_1, rest, first["recorded"], "compared_after")
    assert drift == [
        "column `lat` was compared as round(lat, 2) and is now compared as round(lat, 1)",
        "column `name` was compared as lower(trim(name)) and is now compared as it is",
        "column `note` was ignored and is now compared",
    ]


def test_compare_as__column_that_is_not_there(module_project: Any) -> None:
    entity = Entity(module_project, "spots", {"id": "int", "lat": "double", "lon": "double"})
    path = module_project.root / "models/spots.yml"
    properties = json.loads(path.read_text())
    properties["models"][0]["columns"][1].update(as_("round(latt, 2)"))
    properties["models"][0]["columns"][2].update(as_("round(lon, lat)"))
    path.write_text(json.dumps(properties))
    error = entity.load("2026-01-01", "id,lat,lon\n1,2.0,3.0\n", expect_pass=False).error
    told = "meta.tidemark.compare_as names column"
    alone = "which it does not see: it is an expression of the column alone"
    assert f"  - column `lat`: {told} `latt`, {alone}; did you mean `lat`?" in error
    assert f"  - column `lon`: {told} `lat`, {alone}; there are lon" in error
    assert not entity.exists("__log")
