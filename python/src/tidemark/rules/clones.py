"""Where the clones of a target's models lie."""

from __future__ import annotations

import hashlib
import re

from tidemark.errors import UsageError


def schema_there(name: str, own: str, was: str, now: str) -> str:
    """Return the schema of a model's clone.

    Example:
        >>> schema_there("orders", "shop_sales", "shop", "dev")
        'dev_sales'

    Args:
        name: The model.
        own: Its schema.
        was: That of the target.
        now: What clones have in its place.

    Raises:
        UsageError: It has no other one.
    """
    if own.lower() != was.lower() and not own.lower().startswith(f"{was.lower()}_"):
        raise UsageError(
            f"{name}: its schema {own} does not begin with that of the target, {was}, so its "
            "clone has no name. Leave the model out with --exclude"
        )
    there = now + own[len(was) :]
    if there.lower() == own.lower():
        raise UsageError(f"{name}: {there} is the schema of the original. Name another schema")
    return there


def commits_schema_there(own: str, was: str, now: str) -> str:
    """Return the schema of the commits of clones: their own, unless all targets have a common one.

    Args:
        own: That of the commits of the originals.
        was: The schema of the target.
        now: What clones have in its place.
    """
    return now if own.lower() == was.lower() else own


def deferred_schemas(target: str, own: str, other: str) -> tuple[str, str] | None:
    """Return what the schema of a model that is deferred to begins with, and what its own does.

    Example:
        >>> deferred_schemas("dev", "dev_sales", "prod_sales")
        ('prod', 'dev')

    Args:
        target: The schema of the target.
        own: That of the model.
        other: That of the model that it is deferred to.
    """
    added = own[len(target) :] if own.startswith(target) else None
    if added is None or other == own or not other.endswith(added):
        return None
    return other[: len(other) - len(added)], target


def body_hash(body: str, schema: str) -> str:
    """Return what tells one SQL of a model from another; that of its clone is the same.

    Example:
        >>> body_hash("select * from shop.a", "shop") == body_hash("select * from dev.a", "dev")
        True

    Args:
        body: The compiled SQL, which names tables.
        schema: That of what it reads, which a clone has elsewhere: it does not count.
    """
    name = re.compile(rf"(?<![\w.`])`?{re.escape(schema)}`?(?=\.)", re.IGNORECASE)
    return hashlib.md5(name.sub("{schema}", body).encode()).hexdigest()
