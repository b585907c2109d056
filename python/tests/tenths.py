"""Which test modules run otherwise than users do today: a tenth of them interpreted, another tenth once more by Spark SQL alone.

All others have Spark compile its expressions, as it does for users, and the engine in the workers take what it can. Whatever
two ways compute must be one answer: they have differed. Each day brings other tenths. A variable names the tenth (0 to 9), `all`
or `none`, to repeat a day or to compare.
"""

from __future__ import annotations

import datetime as dt
import os
import zlib
from dataclasses import dataclass

COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings of Spark, the former its own defaults. Both are written out: a session keeps what the module before had set."""
TENTHS = 10


@dataclass(frozen=True)
class Tenth:
    """A way in which a tenth of the modules runs.

    Attributes:
        variable: The environment variable that names the tenth.
        what: What happens to its modules.
        after: How many days after the first way a module has its turn.
    """

    variable: str
    what: str
    after: int

    def wanted(self) -> str:
        """Return the tenth: of the environment, else of the day.

        Example:
            >>> BY_SPARK.wanted() in [*"0123456789", "all", "none"]
            True
        """
        day = dt.date.today().toordinal() - self.after
        return os.environ.get(self.variable) or str(day % TENTHS)

    def has(self, module: str, tenth: str | None = None) -> bool:
        """Say whether a module belongs to the tenth that is wanted, or to one that is given.

        Example:
            >>> [BY_SPARK.has("test_cdc", tenth) for tenth in ("all", "none")]
            [True, False]

        Args:
            module: The name of a test module, without its packages.
            tenth: As wanted() returns it.
        """
        tenth = tenth or self.wanted()
        if tenth in ("all", "none"):
            return tenth == "all"
        return zlib.crc32(module.encode()) % TENTHS == int(tenth)

    def told(self) -> str:
        """Return what the header of a test run says."""
        return f"{self.what} the modules of tenth {self.wanted()} ({self.variable})"


IS_INTERPRETED = Tenth("TIDEMARK_TEST_INTERPRETED", "Spark interprets", 0)
BOTH_WAYS = Tenth("TIDEMARK_TEST_BOTH_WAYS", "the workers and Spark SQL both load", 5)
