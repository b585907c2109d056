"""What the hash recipe is made with."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import xxhash

RECIPE_VERSION = 1
ALGORITHMS = ("md5", "sha256", "xxhash64x2")
PEPPER_VARIABLE = "TIDEMARK_PEPPER"
SPARK_SEED = 42
SECOND_SEED = xxhash.xxh64_intdigest(b"tidemark", SPARK_SEED)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)
Encoder = Callable[[Any], str]
Reader = Callable[[str], Any]


@dataclass(frozen=True)
class Column:
    """A column that is hashed: its name, its Spark type, and whether its value is peppered."""

    name: str
    type: str
    sensitive: bool = False
