"""What the adapter sets where a profile is silent: `type: tidemark` and `schema` are a whole one.

What the profile gives wins, then what spark-defaults.conf gives, then this table.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pyspark

from tidemark.spark.conf import spark_defaults

MASTER = "spark.master"
PYTHON = "spark.pyspark.python"
PACKAGES = "spark.jars.packages"
EXTENSIONS = "spark.sql.extensions"
CATALOG = "spark.sql.catalog.spark_catalog"
ANSI = "spark.sql.ansi.enabled"  # dbt-spark sets it, whatever the profile says
DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
EXECUTOR_OPTIONS = "spark.executor.extraJavaOptions"
JAVA_OPTIONS = (
    "-XX:-DontCompileHugeMethods -XX:+UseParallelGC"
    " -XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000"
    " -XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)


class Default(NamedTuple):
    """A setting of Spark, and why it is set.

    Attributes:
        key: Its name.
        value: What it is set to.
        why: The reason, for the reference.
        local: Whether it is set only where Spark runs in dbt's process, not on a cluster.
    """

    key: str
    value: str
    why: str
    local: bool = False


DEFAULTS = (
    Default(MASTER, "local[*]", "Spark in dbt's process, on all cores", local=True),
    Default("spark.driver.memory", "2g", "1 GiB, Spark's default, spills early"),
    Default(
        PACKAGES,
        "io.delta:delta-spark_4.1_2.13:4.4.0",
        "Delta, fetched once from Maven Central into your Ivy cache",
    ),
    Default(EXTENSIONS, "io.delta.sql.DeltaSparkSessionExtension", "Delta's statements"),
    Default(CATALOG, "org.apache.spark.sql.delta.catalog.DeltaCatalog", "Delta's tables"),
    Default(
        "spark.sql.shuffle.partitions",
        "16",
        "Spark joins small partitions but does not split large ones; 16 keep ten million rows in "
        "memory",
        local=True,
    ),
    Default(
        "spark.databricks.delta.snapshotPartitions",
        "1",
        "the log of a table on one machine is small",
        local=True,
    ),
    Default(
        "spark.sql.maxConcurrentOutputFileWriters",
        "4",
        "a commit writes one date or a few; with a file open for each, it need not sort",
    ),
    Default(
        "spark.hadoop.parquet.page.verify-checksum.enabled",
        "true",
        "without it a flipped bit in a data file is read silently",
    ),
    Default(
        "spark.sql.legacy.javaCharsets",
        "true",
        "files may have any encoding that Java knows, such as windows-1252",
    ),
    Default(
        "spark.sql.legacy.storeAnalyzedPlanForView",
        "true",
        "a temporary view is worked out once, not each time it is read: a quarter of a small run",
    ),
    Default("spark.sql.session.timeZone", "UTC", "the same timestamps on every machine"),
    Default("spark.ui.enabled", "false", "a run is over before you could look", local=True),
    *(
        Default(
            f"spark.{kept}",
            "50",
            "with Spark's 1000, a process that loads for weeks keeps their plans in its memory",
            local=True,
        )
        for kept in ("sql.ui.retainedExecutions", "ui.retainedJobs", "ui.retainedStages")
    ),
    Default(
        "spark.sql.ui.explainMode",
        "simple",
        "plans described for a user interface that is off cost a tenth of a small run",
        local=True,
    ),
    Default(
        DRIVER_OPTIONS,
        JAVA_OPTIONS,
        "methods for rows of many columns are compiled (3 times faster); a collector for batches; "
        "the costly compiler only for what runs long (a third less CPU in a small run)",
    ),
    Default(EXECUTOR_OPTIONS, JAVA_OPTIONS, "the same on a cluster's nodes"),
)

ICEBERG = (
    Default(
        PACKAGES,
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        "Iceberg, fetched once from Maven Central into your Ivy cache",
    ),
    Default(
        EXTENSIONS,
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "Iceberg's statements",
    ),
    Default(CATALOG, "org.apache.iceberg.spark.SparkSessionCatalog", "Iceberg's tables"),
    Default(f"{CATALOG}.type", "hive", "tables stand in the metastore, beside views"),
    Default(
        f"{CATALOG}.unique-table-location",
        "true",
        "a table that takes the name of another one does not share its folder",
    ),
)
"""What stands in the place of Delta where `tidemark_commits` is an Iceberg table."""

_SECRET = re.compile(r"secret|password|passwd|token|access[._-]?key|credential", re.IGNORECASE)
_SECRET_IN_ADDRESS = re.compile(r"://[^/\s,@]+@")


def with_defaults(settings: Mapping[str, str]) -> dict[str, str]:
    """Return all that Spark is started with, but for what follows from TIDEMARK_HOME.

    Example:
        >>> with_defaults({"spark.driver.memory": "8g"})["spark.driver.memory"]
        '8g'

    Args:
        settings: `server_side_parameters` of the profile.
    """
    given = {**spark_defaults(), **{str(key): str(value) for key, value in settings.items()}}
    conf = dict(given)
    for default in _defaults(given):
        conf.setdefault(default.key, default.value)
    if _wants_delta(given) and not _has_delta(given):
        conf[PACKAGES] = _joined(given.get(PACKAGES, ""), _value(PACKAGES))
    for key in (DRIVER_OPTIONS, EXECUTOR_OPTIONS):
        # proxies and the like say nothing about the compiler or the collector
        if key in given and "-XX:" not in given[key]:
            conf[key] = f"{JAVA_OPTIONS} {given[key]}"
    return conf


def is_local(master: str) -> bool:
    """Say whether Spark does all of its work in the process that started it.

    Example:
        >>> is_local("local[2]"), is_local("local-cluster[2,1,1024]"), is_local("yarn")
        (True, False, False)
    """
    return master.startswith("local") and not master.startswith("local-cluster")


def with_iceberg(settings: Mapping[str, str]) -> dict[str, str]:
    """Return a profile's settings with Iceberg's catalogue in the place of Delta's.

    Example:
        >>> with_iceberg({})["spark.sql.catalog.spark_catalog"]
        'org.apache.iceberg.spark.SparkSessionCatalog'

    Args:
        settings: `server_side_parameters` of the profile. What they give wins.
    """
    given = {**spark_defaults(), **settings}
    packages = given.get(PACKAGES, "")
    others = [one for one in ICEBERG if one.key != PACKAGES and one.key not in given]
    added = {default.key: default.value for default in others}
    if "iceberg-spark-runtime" not in packages + given.get("spark.jars", ""):
        added[PACKAGES] = _joined(packages, ICEBERG[0].value)
    return {**settings, **added}


def shown_settings(settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each setting in force, with where it comes from: for `dbt debug`.

    Args:
        settings: As for with_defaults().
    """
    file = spark_defaults()
    for key, value in sorted(with_defaults(settings).items()):
        given = settings.get(key, file.get(key))
        origin = "profile" if key in settings else "spark-defaults.conf"
        if given is None:
            origin = "default"
        elif key == ANSI:
            origin = "dbt-spark"
        elif str(given) != value:
            origin += ", with the default"
        yield key, f"{_redacted(key, value)}  ({origin})"


def _defaults(given: Mapping[str, str]) -> Iterator[Default]:
    """The defaults that fit what is given."""
    has_workers = not is_local(given.get(MASTER, _value(MASTER)))
    for default in DEFAULTS:
        if default.key in (EXTENSIONS, CATALOG) and not _wants_delta(given):
            continue
        if default.key == PACKAGES:  # goes with what is given
            continue
        if not (has_workers and default.local):
            yield default


def _wants_delta(given: Mapping[str, str]) -> bool:
    """Whether nothing is given that puts another table format in Delta's place."""
    return all("delta" in given[key].lower() for key in (EXTENSIONS, CATALOG) if key in given)


def _has_delta(given: Mapping[str, str]) -> bool:
    """Whether Delta's jar comes otherwise: another version, a file, the installation."""
    keys = (PACKAGES, "spark.jars", "spark.driver.extraClassPath")
    if any("delta-spark" in given.get(key, "") for key in keys):
        return True
    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    return any((Path(home) / "jars").glob("delta-spark_*.jar"))


def _joined(*lists: str) -> str:
    return ",".join(text for text in lists if text)


def _value(key: str) -> str:
    return next(default.value for default in DEFAULTS if default.key == key)


def has_secret(key: str, value: str) -> bool:
    """Say whether others must not see a setting.

    Example:
        >>> has_secret("spark.hadoop.fs.s3a.secret.key", "k"), has_secret("spark.master", "local")
        (True, False)
    """
    return _redacted(key, value) != value


def _redacted(key: str, value: str) -> str:
    return "*****" if _SECRET.search(key) else _SECRET_IN_ADDRESS.sub("://*****@", value)
