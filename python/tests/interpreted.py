"""Which test modules have Spark interpret its expressions; all others have it compile them, as it does for users.

What both ways of Spark compute must be one answer: they have differed. Each day another tenth of the modules is interpreted.
`TIDEMARK_TEST_INTERPRETED` names the tenth (0 to 9), `all` or `none`, to repeat a day or to compare.
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
"""Settings of Spark, the former its own defaults. Both are written out: a session keeps what the module before had set."""
VARIABLE = "TIDEMARK_TEST_INTERPRETED"
TENTHS = 10


def wanted() -> str:
    """Return the tenth that is interpreted: of the environment, else of the day.

    Example:
        >>> wanted() in [*"0123456789", "all", "none"]
        True
    """
    return os.environ.get(VARIABLE) or str(dt.date.today().toordinal() % TENTHS)


def is_interpreted(module: str, tenth: str) -> bool:
    """Say whether a module belongs to the tenth that is interpreted.

    Example:
        >>> [is_interpreted("test_cdc", tenth) for tenth in ("all", "none")]
        [True, False]

    Args:
        module: The name of a test module, without its packages.
        tenth: As wanted() returns it.
    """
    if tenth in ("all", "none"):
        return tenth == "all"
    return zlib.crc32(module.encode()) % TENTHS == int(tenth)
