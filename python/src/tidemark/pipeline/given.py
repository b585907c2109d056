"""Declared types from the YAML, and the pepper from the environment."""

from __future__ import annotations

from tidemark.errors import ConfigError
from tidemark.hashing.rows import check_pepper
from tidemark.pipeline.warehouse import Warehouse
from tidemark.shapes.opened import Recorded
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings


def declared_types(warehouse: Warehouse, cfg: Settings) -> dict[str, str]:
    """Return declared types in Spark's own spelling, by lower-case column name."""
    typed = [column for column in cfg["columns"] if column["data_type"]]
    if not typed:
        return {}
    terms = [
        f"cast(null as {column['data_type']}) as "
        f"{warehouse.macro('quote_identifier', column['name'])}"
        for column in typed
    ]
    found = warehouse.macro("describe_query", f"select {', '.join(terms)}")
    pairs = zip(typed, found, strict=True)
    return {column["name"].lower(): one["type"] for column, one in pairs}


def pepper_of(warehouse: Warehouse, cfg: Settings, roles: Roles) -> Recorded:
    """Return what a commit records of the pepper, where there are sensitive columns."""
    return {"pepper": pepper_check(warehouse, cfg)} if roles["sensitive"] else {}


def pepper_check(warehouse: Warehouse, cfg: Settings) -> str:
    """Return the first digits of a digest of the pepper.

    By these a later run notices that it has another one. A quote in it ends the literal, and
    Spark's message shows what follows: so the adapter looks before there is a statement.

    Raises:
        ConfigError: There is no pepper, or one that a string literal does not hold as it stands.
    """
    if warehouse.macro("can", "know_pepper"):
        check_pepper()
    pepper = warehouse.macro("pepper_expr")
    row = warehouse.rows(
        f"select {pepper} = '' or {pepper} like '$%env:%' as missing, r{pepper} <> {pepper} as "
        f"is_escaped, substr(sha2(concat('tidemark pepper:', {pepper}), 256), 1, 8) as digest"
    )[0]
    if row["missing"]:
        raise ConfigError(
            f"{cfg['entity']}: sensitive columns need the environment variable TIDEMARK_PEPPER. "
            "Set the variable to a secret: export TIDEMARK_PEPPER=$(openssl rand -hex 32). "
            "Keep the secret as long as the tables"
        )
    if row["is_escaped"]:
        raise ConfigError(
            f"{cfg['entity']}: TIDEMARK_PEPPER must not hold quotes, backslashes, control "
            "characters or ${. Make another pepper with openssl rand -hex 32"
        )
    digest: str = row["digest"]
    return digest
