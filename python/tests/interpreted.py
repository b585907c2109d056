"""Which test modules have Spark compile its expressions, as it does for users, and which have it interpret them.

What both ways of Spark compute must be one answer. To compile costs a quarter more on two slow cores, so each day it is done
for three tenths of the modules, other ones the next day. `TIDEMARK_TEST_COMPILED` names the first of the tenths (0 to 9),
`all` or `none`, to repeat a day or to compare.
"""

from __future__ import annotations

import datetime as dt
import os
import zlib

COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings of Spark. Both are written out: a session keeps what the module before had set."""
TENTHS = 3


def wanted() -> str:
    """Return the first tenth that is compiled: of the environment, else of the day.

    Example:
        >>> wanted() in [*"0123456789", "all", "none"]
        True
    """
    day = dt.date.today().toordinal()
    return os.environ.get("TIDEMARK_TEST_COMPILED") or str(day * TENTHS % 10)


def is_compiled(module: str, first: str) -> bool:
    """Say whether a module belongs to the tenths that are compiled.

    Example:
        >>> [is_compiled("test_cdc", first) for first in ("all", "none")]
        [True, False]

    Args:
        module: The name of a test module, without its packages.
        first: As wanted() returns it.
    """
    if first in ("all", "none"):
        return first == "all"
    return (zlib.crc32(module.encode()) - int(first)) % 10 < TENTHS
