"""The columns of a model's YAML, and names that none may have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tidemark.model.given import Config
from tidemark.model.suggestions import did_you_mean, nearest

_OF_TIDEMARK = (
    *("_key_hash", "_row_hash", "_operation", "_eff_start_date", "_business_date"),
    *("_changed_columns", "_commit_id", "_superseded_by", "_sequence_num", "_event_time"),
    *("_batch_id", "_valid_from", "_valid_to", "_is_current", "_reject_reason", "_raw_payload"),
    *("_unreadable", "_malformed", "_supersedes", "_sequence_by", "_source_operation", "_event_id"),
    *("_transaction_id", "_offset", "_unsupplied", "_moved_from", "_landing_num", "_is_snapshot"),
    *("_database", "_table", "_schema", "_primary_key", "_prev_table"),
)
_OF_ICEBERG = (
    *("_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id"),
    "_last_updated_sequence_number",
)


_MISSPELT_KEYS = ("data_type", "constraints")
_DBT_KEYS = frozenset(
    (
        *("name", "description", "meta", "data_type", "constraints", "quote", "config", "tags"),
        *("granularity", "doc_blocks", "data_tests", "tests", "dimension", "entity"),
    )
)
"""What dbt itself reads of a column."""


def reserved_columns(lake_format: str) -> tuple[str, ...]:
    """Return the names of the columns that Tidemark or the format adds.

    A macro of this name has the same list, for SQL: a project reads without Python, too.
    """
    return _OF_TIDEMARK + (_OF_ICEBERG if lake_format == "iceberg" else ())


def refused_name(name: str, reserved: Collection[str], whose: str = "") -> str | None:
    """Return what is wrong with the name of a column, as the sentence that says it.

    A line break does not survive in SQL that is indented, and Spark replaces `${…}`, which has no
    escape in a name, by what an environment variable or a setting holds.

    Example:
        >>> refused_name("_key_hash", reserved_columns("delta"))
        'column `_key_hash` is reserved'
    """
    shown = name.replace("\n", "\\n").replace("\r", "\\r").replace("\x00", "\\0")
    if name.lower() in reserved or name.lower().startswith("_tidemark_"):
        return f"column `{shown}`{whose} is reserved"
    if shown != name:
        return f"column `{shown}`{whose} has a line break or a NUL in its name"
    if "${" in name:
        return f"column `{shown}`{whose} has `${{` in its name, which Spark takes for a variable"
    return None


def declared_columns(node: Config) -> list[dict[str, Any]]:
    """Return the columns of the YAML, in its order: what they are and what is set of them.

    Example:
        >>> declared_columns({"columns": {"id": {"name": "id", "data_type": "int"}}})[0]["not_null"]
        False
    """
    return [
        {
            "name": column["name"],
            "data_type": column.get("data_type"),
            "not_null": any(
                str(constraint["type"]) == "not_null"
                for constraint in column.get("constraints", [])
            ),
            "description": column.get("description", ""),
            "settings": {
                name: value
                for meta in _metas(column)
                if isinstance(meta.get("tidemark"), Mapping)
                for name, value in meta["tidemark"].items()
            },
        }
        for column in node["columns"].values()
    ]


def column_meta_problems(node: Config, setting: str) -> Iterator[str]:
    """Yield where the one setting that a column may have stands elsewhere, or a key is misspelt.

    Args:
        node: The model.
        setting: Its name.
    """
    for column in node["columns"].values():
        # dbt gives what stands under `config` directly, too
        for problem in dict.fromkeys(_meta_problems(column, setting)):
            yield f"column `{column['name']}`: {problem}"
        for key in column.keys() - _DBT_KEYS:
            if column[key] is not None and (meant := nearest(key, _MISSPELT_KEYS, 0.75)):
                yield f"column `{column['name']}`: {key} is not read; did you mean `{meant}`?"


def _meta_problems(column: Config, setting: str) -> Iterator[str]:
    elsewhere = "is not read here: it stands under config.meta.tidemark of the column"
    if column.get(setting) is not None:
        yield f"{setting} {elsewhere}"
    for meta in _metas(column):
        for name, value in meta.items():
            if name == "tidemark":
                if not isinstance(value, Mapping):
                    yield f"meta.tidemark must be a mapping of settings, found: {value}"
            elif name == setting:
                yield f"meta.{name} {elsewhere}"
            elif isinstance(value, Mapping) and nearest(name, ["tidemark"], 0.6):
                yield f"meta.{name} is not read; did you mean `tidemark`?"


def _metas(column: Config) -> list[Config]:
    metas = (column.get("meta"), (column.get("config") or {}).get("meta"))
    return [meta for meta in metas if isinstance(meta, Mapping)]


def misplaced_layout(cfg: Config, present: Collection[str], lacks: str) -> list[str]:
    """Return a sentence for every name that lays out a table and is no column of it.

    Its fields and the columns that Tidemark adds are left to Spark.

    Args:
        cfg: The model's settings.
        present: The columns that there are.
        lacks: What is said of others, such as `no event has`.
    """
    there = {name.lower() for name in present}
    return [
        f"{setting} names column `{name}`, which {lacks}{did_you_mean(name, present)}"
        for setting, key in (
            ("partition_by", "partition_by"),
            ("liquid_clustered_by", "cluster_by"),
        )
        for name in cfg[key]
        if name.lower() not in there and "." not in name and not name.startswith("_")
    ]
