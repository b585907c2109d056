"""Settings of the user's own Spark installation: spark-defaults.conf."""

from __future__ import annotations

import os
import re
from pathlib import Path


def spark_defaults() -> dict[str, str]:
    """Return the settings of spark-defaults.conf, found as Spark itself finds it.

    It lies in SPARK_CONF_DIR, else in `conf/` of SPARK_HOME. Empty if there is none.
    """
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (home and str(Path(home) / "conf"))
    file = Path(folder or "") / "spark-defaults.conf"
    if not folder or not file.is_file():
        return {}
    settings = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        # as Java reads properties: a key ends at a blank, `=` or `:`
        if found := re.match(r"\s*([^\s#!=:][^\s=:]*+)\s*[=:]?\s*(.*\S)", line):
            settings[found[1]] = found[2]
    return settings
