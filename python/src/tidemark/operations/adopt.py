"""The log of an entity is made from a table with intervals, such as a dbt snapshot."""

from __future__ import annotations

from typing import Any

from tidemark.errors import DataError, UsageError
from tidemark.model.problems import raise_problems
from tidemark.model.suggestions import did_you_mean
from tidemark.operations.entity import asked_run, entity_config, is_true, report
from tidemark.pipeline.opening import open_load, opened_anew
from tidemark.pipeline.steps import load_entity, summary
from tidemark.pipeline.tables import relation_exists
from tidemark.pipeline.timeline import timeline as timeline_of
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.printable import counted
from tidemark.rules.timeline import loaded_dates
from tidemark.shapes.opened import Opened, Run
from tidemark.shapes.settings import Settings

_DBT_COLUMNS = ("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to", "dbt_is_deleted")


def adopt(
    warehouse: Warehouse,
    entity: str,
    table: str,
    valid_from: str,
    valid_to: str,
    inclusive: Any,
    dry_run: Any,
) -> None:
    """Load each date at whose end other rows hold as a full extract of that date.

    So it has the checks, hashes and types of the model; then the log is replayed and compared with
    the table. Run again, it goes on where it stopped.
    """
    macro, is_dry, cfg = warehouse.macro, is_true(dry_run), entity_config(warehouse, entity)
    if cfg["extract"] != "full":
        raise UsageError(
            f"adopt needs extract: full, but {entity} has extract: {cfg['extract']}. Set "
            "extract to "
            "full"
        )
    cfg = {**cfg, "location": None, "scope": []}
    run: Run = {**asked_run(warehouse, is_dry), "allow_deletes": True}
    ends = {"from": valid_from, "to": valid_to, "inclusive": is_true(inclusive)}
    versions = _adopted_versions(warehouse, cfg, table, ends)
    figures, dates = versions["figures"], _adopted_dates(warehouse, cfg, versions)
    opened = open_load(warehouse, cfg, run)
    loaded = _adopted_so_far(warehouse, opened, dates)

    does = "would load" if is_dry else "loading"
    until = f" to {dates[-1]}" if len(dates) > 1 else ""
    known = f" ({len(loaded)} of them are loaded)" if loaded else ""
    versions_of = counted(int(figures["version_count"]), "version")
    of = f"from {versions_of} of {table}: {dates[0]}{until}{known}"
    report(warehouse, entity, f"{does} {counted(len(dates), 'business date')} {of}")
    if int(figures["within_count"] or 0) > 0:
        lost = "which an entity of business dates does not keep"
        count = counted(int(figures["within_count"]), "version")
        report(warehouse, entity, f"{count} began and ended within a day, {lost}")
    if is_dry:
        return
    missing = [date for date in dates if date not in loaded]
    for number, date in enumerate(missing, 1):
        of_date = opened_anew(warehouse, opened, {**run, "business_date": date})
        body = macro("adopted_extract_sql", versions, date)
        counts = summary(load_entity(warehouse, of_date, body))
        report(warehouse, entity, f"  {number} of {len(missing)}, {date}: {counts}")
    check_adopted(warehouse, opened, versions, dates, table)


def _adopted_versions(warehouse: Warehouse, cfg: Settings, table: str, ends: Values) -> Values:
    """Return what is to know of a table with intervals: its columns as the model has them.

    Raises:
        ConfigError: It lacks columns.
        UsageError: It is not there.
    """
    macro, quote = warehouse.macro, "quote_identifier"
    relation = macro("table_named", table)
    if relation is None:
        raise UsageError(
            f"{cfg['entity']}: there is no table {table} to adopt. Write the name as "
            "<schema>.<table>"
        )
    found = macro("names_in", relation)
    lower = [name.lower() for name in found]
    named = [("valid_from", ends["from"]), ("valid_to", ends["to"])]
    named += [("unique_key", key) for key in cfg["keys"]]
    errors = [
        f"{argument} names column `{name}`, which {table} does not have{did_you_mean(name, found)}"
        for argument, name in named
        if name.lower() not in lower
    ]
    raise_problems(cfg["entity"], errors)
    meta = {*_DBT_COLUMNS, ends["from"].lower(), ends["to"].lower()}
    columns = [macro(quote, name) for name in found if name.lower() not in meta]
    columns += [
        f"cast(null as {one['data_type'] or 'string'}) as {macro(quote, one['name'])}"
        for one in cfg["columns"]
        if one["name"].lower() not in lower
    ]
    deleted = "dbt_is_deleted" if "dbt_is_deleted" in lower else None
    versions = {**ends, "table": relation, "columns": columns, "deleted": deleted}
    sql = macro("adopted_figures_sql", versions, cfg["keys"])
    return {**versions, "figures": warehouse.rows(sql)[0]}


def _adopted_dates(warehouse: Warehouse, cfg: Settings, versions: Values) -> list[str]:
    """Return the dates to load.

    Raises:
        DataError: Intervals are none, or there are none.
    """
    figures, table = versions["figures"], versions["table"]
    of_key = f"that hold while the next one of their key does, such as {figures['overlapping_key']}"
    kinds = {
        "beginless_count": f"without {versions['from']}",
        "reversed_count": "that end before they begin",
        "overlapping_count": of_key,
    }
    wrong = [
        f"versions {text}: {figures[name]}"
        for name, text in kinds.items()
        if int(figures[name] or 0) > 0
    ]
    if wrong:
        problems = "\n  - ".join(wrong)
        last_day = f"; where {versions['to']} is the last day of a version, say inclusive: true"
        raise DataError(
            f"{cfg['entity']}: {table} has intervals that cannot be used; nothing was written\n "
            f" - {problems}\nAdopt a table or view without "
            f"them{'' if versions['inclusive'] else last_day}"
        )
    rows = warehouse.rows(warehouse.macro("adopted_dates_sql", versions))
    if not rows:
        raise DataError(
            f"{cfg['entity']}: {table} has no versions to adopt. Name a table that has rows"
        )
    return [row["business_date"] for row in rows]


def _adopted_so_far(warehouse: Warehouse, opened: Opened, dates: list[str]) -> list[str]:
    """Return the dates that an adoption before this one has loaded.

    Raises:
        UsageError: The entity has others.
    """
    cfg = opened["cfg"]
    if not opened["state"]["recorded"]:
        return []
    loaded = loaded_dates(timeline_of(warehouse, opened["commits"], cfg["relation"]))
    others = [date for date in loaded if date not in dates]
    if others:
        raise UsageError(
            f"{cfg['entity']} has loaded {others[0]} already, but adopt needs an empty log. "
            "Give the model another name, or drop the entity first: dbt run-operation "
            f"drop_entity --args '{{entity: {cfg['entity']}}}'"
        )
    return loaded


def check_adopted(
    warehouse: Warehouse, opened: Opened, versions: Values, dates: list[str], table: str
) -> None:
    """Compare the log replayed with the table.

    Raises:
        DataError: They have other rows, and nothing was rejected.
    """
    macro, entity, relations = warehouse.macro, opened["cfg"]["entity"], opened["relations"]
    rejects = relations["rejects"]
    # of calls before this one, too
    rejected = macro("row_count", rejects) if relation_exists(warehouse, rejects) else 0
    sql = macro("adopted_differences_sql", versions, relations["log"], dates)
    differences = warehouse.rows(sql)
    if differences and not rejected:
        raise DataError(
            f"{entity}: the replayed log has other rows than {table} at the end of "
            f"{counted(int(differences[0]['date_count']), 'date')}. The first date is "
            f"{differences[0]['first_date']}. Another program may have written to the table. "
            "Drop the entity and adopt again"
        )
    whole = ": replayed, the log has its rows at the end of every date"
    lacks = f", without the {counted(rejected, 'row')} in {rejects}"
    report(warehouse, entity, f"adopted {table}{lacks if differences else whole}")
