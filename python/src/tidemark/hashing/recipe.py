"""What the hash recipe is made with."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

RECIPE_VERSION = 1
ALGORITHMS = ("md5", "sha256")
PEPPER_VARIABLE = "TIDEMARK_PEPPER"
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
