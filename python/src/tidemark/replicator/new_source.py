"""The YAML of a new source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tidemark.capture.config import CaptureConfig
from tidemark.capture.project import replicator_settings
from tidemark.errors import ConfigError
from tidemark.replicator.models import model_folder

_TEXT = """\
# How source {source} is captured and operated. Passwords stay in the environment.
version: 2

sources:
  - name: {source}
    description: {description}
    config:
      meta:
        tidemark:
          replicator:
{settings}
"""


def write_source(project: Path, source: str, settings: dict[str, Any], description: str) -> Path:
    """Write the YAML of a source; return its path.

    Raises:
        ConfigError: The settings have errors, or the project has a source of this name.
    """
    config = CaptureConfig.from_dict(source, settings)
    try:
        replicator_settings(project, source)
    except ConfigError:
        pass
    else:
        raise ConfigError(
            f"source {source!r} is there already: edit its YAML, or choose another name"
        )
    path = model_folder(project, config) / f"_{source}__source.yml"
    path.parent.mkdir(parents=True, exist_ok=True)
    # JSON values are YAML, and quoted as it needs
    lines = [
        f"            {name}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in settings.items()
    ]
    text = _TEXT.format(
        source=source, description=json.dumps(description), settings="\n".join(lines)
    )
    path.write_text(text, encoding="utf-8")
    return path
