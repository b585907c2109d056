"""Enriched events and their entities are written as files for a warehouse loader."""

from __future__ import annotations

import re
from typing import Any

from tidemark.errors import UsageError
from tidemark.operations.entity import is_true, open_atomic, report
from tidemark.pipeline.warehouse import Warehouse
from tidemark.printable import counted

_WHOLE_PATH = re.compile(r"(/|[A-Za-z][A-Za-z0-9+.-]*:/)")


def export(
    warehouse: Warehouse, entity: str, path: Any, start: Any, end: Any, json_columns: Any
) -> None:
    """Write events and entities of the commits after `start`, up to `end`.

    A folder of the same last commit is written anew, and is whole once there is
    atomic-events/_SUCCESS, which comes last:

        <path>/run=<last commit>/atomic-events/part-…    lines of the canonical TSV
        <path>/run=<last commit>/shredded-types/vendor=…/name=…/format=…/version=…/part-…   JSON
    """
    macro = warehouse.macro
    # Spark takes the two folders of a relative path to lie in different places.
    if not isinstance(path, str) or not _WHOLE_PATH.match(path):
        raise UsageError(
            "export: path must be absolute, such as /lake/shredded or s3a://bucket/shredded, "
            f"found: {path or 'nothing'}"
        )
    opened = open_atomic(warehouse, macro("entity_node", entity, ["atomic"]))
    cfg, current = opened["cfg"], opened["relations"]["current"]
    entities = opened["relations"]["entities"]
    ends = {"from": start, "to": end}
    span = macro("span_of", cfg, opened["commits"], ends, "export")
    first, last = span["from"], span["to"]
    condition = f"_commit_id > {first} and _commit_id <= {last}"
    counts = [macro("row_count", table, condition) for table in (current, entities)]
    folder = f"{path.rstrip('/')}/run={last}"
    if not counts[0]:
        nothing = f"no events between commits {first} and {last}, nothing to export"
        report(warehouse, entity, nothing)
        return
    to_lines = f"{folder}/atomic-events"
    lines = f"insert overwrite directory {macro('string_literal', to_lines)} using text"
    events = macro("exported_events_sql", current, first, last, is_true(json_columns))
    # A table over the folder, as `insert overwrite directory` cannot partition; dropping it leaves
    # the files. It is written without entities too, so that none of an earlier export stays.
    files = macro("side_relation", cfg["target"], "slice_export")
    location = macro("string_literal", f"{folder}/shredded-types")
    warehouse.run_all(
        [
            f"{lines} options ('mapreduce.fileoutputcommitter.marksuccessfuljobs' 'false')\n"
            "select '' as value where false",
            f"drop table if exists {files}",
            f"create table {files} (value string, vendor string, name string, format string, "
            "version string) using text options ('partitionOverwriteMode' 'static') partitioned by "
            f"(vendor, name, format, version) location {location}",
            f"insert overwrite {files}\n{macro('exported_entities_sql', entities, first, last)}",
            f"drop table {files}",
            f"{lines}\n{events}",
        ]
    )
    parts = f"{counts[1]:,} {'entity' if counts[1] == 1 else 'entities'}"
    what = f"{counted(counts[0], 'event')} and {parts} of the commits after {first} up to {last}"
    report(warehouse, entity, f"{what} are in {folder}")
