"""Keys that stand twice in the YAML of a project: YAML's readers keep the last, and say nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from tidemark.errors import ConfigError
from tidemark.project import model_folders, property_files

_MERGE = "<<"


def doubled_keys(root: Path) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return sentences on keys that stand twice, by file and model.

    Args:
        root: The project's folder. Files of its packages are not the user's.

    Returns:
        By the file's path from the folder, and the name of a model, which is empty for what stands
        outside of models.
    """
    try:
        folders = model_folders(root)
    except (ConfigError, OSError):  # dbt says what is wrong with dbt_project.yml
        return {}
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for path in [root / "dbt_project.yml", *property_files(folders)]:
        shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
        try:
            tree = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
        except (yaml.YAMLError, OSError, ValueError):  # of which dbt says why
            continue
        for name, sentence in _doubled(tree, ()):
            found[shown, name] = (*found.get((shown, name), ()), sentence)
    return found


def _doubled(node: yaml.Node | None, above: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the model that each second key of a mapping is in, and a sentence about it."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _doubled(item, (*above, _name_of(item)))
    elif isinstance(node, yaml.MappingNode):
        first: dict[str, int] = {}
        for key, value in node.value:
            name = str(key.value)
            line = key.start_mark.line + 1
            if name in first and name != _MERGE:
                again = f"on line {first[name]} too" if first[name] != line else "twice"
                yield (
                    above[1] if len(above) > 1 and above[0] == "models" else "",
                    f"line {line}: the key `{name}` stands {again}, and only the last counts. "
                    "Make them one",
                )
            first.setdefault(name, line)
            yield from _doubled(value, (*above, name))


def _name_of(item: yaml.Node) -> str:
    """Return what an entry of a list is called: a model, a column."""
    pairs = item.value if isinstance(item, yaml.MappingNode) else []
    return next((str(value.value) for key, value in pairs if key.value == "name"), "")
