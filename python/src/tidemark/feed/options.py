"""What `tidemark feed` was asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class FeedOptions:
    """What was asked for, validated."""

    entity: str
    since: str | None = None
    until: str | None = None
    images: list[str] | None = None
    net: bool = False
    where: str | None = None
    follow: bool = False
    interval: float = 5.0
    limit: int | None = None
    vars: dict[str, Any] = field(default_factory=dict)
    project_dir: Path = field(default_factory=Path.cwd)
    profiles_dir: Path | None = None
    target: str | None = None
