"""What a plan needs to know of a parsed dbt project."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tidemark.plan.model import NotPlanned

_FOLLOWS = {
    "scd2": "intervals follow the log of their entity",
    "feed": "a feed follows what is committed",
    "shred": "it follows the enriched events",
    "atomic": "batches of enriched events are not planned",
}
# dbt cuts selectors at blanks and commas, and `!` cannot stand in brackets alone: the nearest to it
_WILDCARDS = {" ": "[!!-~]", ",": "[+--]", "!": "?"}


def entities_among(manifest: Any, chosen: Iterable[str]) -> tuple[list[Any], list[NotPlanned]]:
    """Return the entities among selected models, and of what else has commits why it is left out.

    Args:
        manifest: dbt's.
        chosen: Unique ids of models.
    """
    entities, others = [], []
    for unique_id in chosen:
        node = manifest.nodes[unique_id]
        kind = str(node.config.materialized)
        if kind == "cdc":
            entities.append(node)
        elif kind in _FOLLOWS:
            others.append(NotPlanned(model=node.name, why=f"{kind}: {_FOLLOWS[kind]}"))
    return entities, sorted(others, key=lambda one: one.model)


def selector(node: Any) -> str:
    """Return what selects one model and no other.

    Without a wildcard dbt takes a name for a folder's too: `fqn:shop.sales` also selects what lies
    in `models/sales/`. From a part with a wildcard on it compares the rest as a whole.

    Example:
        >>> selector(SimpleNamespace(package_name="shop", fqn=["shop", "my folder", "sales"]))
        'package:shop,fqn:[s]hop.my[!!-~]folder.sales'
    """
    name = re.sub(
        r"[^\w.]", lambda found: _WILDCARDS.get(found[0], f"[{found[0]}]"), ".".join(node.fqn)
    )
    return f"package:{node.package_name},fqn:[{name[0]}]{name[1:]}"


def relation_of(node: Any) -> str:
    """Return schema.table, as commits name it."""
    return f"{node.schema}.{node.alias}"


def model_checksum(node: Any) -> str:
    """Return a checksum of what a model says of a load: its SQL, configuration and columns."""
    config = node.config.to_dict(omit_none=True) if hasattr(node.config, "to_dict") else {}
    columns = {
        name: [column.data_type, column.meta, [str(rule) for rule in column.constraints]]
        for name, column in node.columns.items()
    }
    text = json.dumps([node.raw_code, config, columns], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def read_before(manifest: Any, node: Any, others: Mapping[str, str]) -> str | None:
    """Return the name of one of `others` (by unique id) that a model reads, directly or not."""
    seen: set[str] = set()
    waiting = list(node.depends_on.nodes)
    while waiting:
        unique_id = waiting.pop()
        if unique_id in seen:
            continue
        seen.add(unique_id)
        if unique_id in others:
            return others[unique_id]
        parent = manifest.nodes.get(unique_id)
        waiting += list(parent.depends_on.nodes) if parent is not None else []
    return None
