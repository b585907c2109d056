"""Names of columns: which none may have, which a setting chooses, what a wrong one may mean."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tidemark.errors import ConfigError

_SHOWN = 30


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Return the end of a sentence about a name that is not among those known.

    Example:
        >>> did_you_mean("nam", ["name", "id"]), did_you_mean("x", ["b", "a"])
        ('; did you mean `name`?', '; there are a, b')
    """
    near = nearest(name, known)
    if near:
        return f"; did you mean `{near}`?"
    others = len(known) - _SHOWN
    names = sorted(known, key=str.lower)[:_SHOWN]
    return f"; there are {', '.join(names)}" + (f" and {others} more" if others > 0 else "")


def nearest(name: str, known: Iterable[str], least: float = 0.4) -> str | None:
    """Return the known name that shares most letter pairs with this one.

    Example:
        >>> nearest("nam", ["id", "name"]), nearest("x", ["id"])
        ('name', None)

    Args:
        name: What was written.
        known: What could have been meant; of several that are as near, the first.
        least: How large a part is to be shared.
    """
    wanted = _letter_pairs(name.lower())
    best, score = None, 0.0
    for candidate in known:
        pairs = _letter_pairs(candidate.lower())
        shared = 2.0 * len(pairs & wanted) / (len(wanted) + len(pairs))
        if shared > score:
            best, score = candidate, shared
    return best if score >= least else None


def _letter_pairs(word: str) -> set[str]:
    """Each letter with the next and with the one after that: some may have changed places."""
    framed = f" {word} "
    near = {framed[at : at + 2] for at in range(len(framed) - 1)}
    return near | {framed[at] + framed[at + 2] for at in range(len(framed) - 2)}


def refused_name(name: str, reserved: Collection[str], whose: str = "") -> str | None:
    """Return what is wrong with the name of a column, as the sentence that says it.

    A line break does not survive in SQL that is indented, and Spark replaces `${…}`, which has no
    escape in a name, by what an environment variable or a setting holds.

    Example:
        >>> refused_name("_tidemark_x", [], " of the extract")
        'column `_tidemark_x` of the extract is reserved'
    """
    shown = name.replace("\n", "\\n").replace("\r", "\\r").replace("\x00", "\\0")
    if name.lower() in reserved or name.lower().startswith("_tidemark_"):
        return f"column `{shown}`{whose} is reserved"
    if shown != name:
        return f"column `{shown}`{whose} has a line break or a NUL in its name"
    if "${" in name:
        return f"column `{shown}`{whose} has `${{` in its name, which Spark takes for a variable"
    return None


def is_chosen(choice: Mapping[str, Any], name: str) -> bool:
    """Return whether a column is in a choice, whether it is there or not."""
    lower = name.lower()
    return lower in choice["include"] or (choice["all"] and lower not in choice["exclude"])


def misplaced_layout(cfg: Mapping[str, Any], present: Collection[str], lacks: str) -> list[str]:
    """Return a sentence for every name that lays out a table and is no column of it.

    Its fields and the columns that Tidemark adds are left to Spark.

    Args:
        cfg: The model's settings.
        present: The columns that there are.
        lacks: What is said of others, such as `no event has`.
    """
    there = lowered(present)
    return [
        f"{setting} names column `{name}`, which {lacks}{did_you_mean(name, present)}"
        for setting, key in (("partition_by",) * 2, ("liquid_clustered_by", "cluster_by"))
        for name in cfg[key]
        if name.lower() not in there and "." not in name and not name.startswith("_")
    ]


def raise_problems(entity: str, errors: Sequence[str], holder: str) -> None:
    """Raise every problem that was found, at once.

    Args:
        entity: Whose they are.
        errors: The problems, each a sentence.
        holder: What has them, and the verb.

    Raises:
        ConfigError: There are some.
    """
    if errors:
        noun = "problem" if len(errors) == 1 else "problems"
        raise ConfigError("\n  - ".join([f"{entity}: {holder} {len(errors)} {noun}", *errors]))


def lowered(names: Iterable[str]) -> list[str]:
    """Return names in lower case."""
    return [name.lower() for name in names]


def names_of(columns: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what columns are called."""
    return [column["name"] for column in columns]


def unique(names: Iterable[str]) -> list[str]:
    """Return each name once, as it is written first.

    Example:
        >>> unique(["Id", "name", "id"])
        ['Id', 'name']
    """
    spelt: dict[str, str] = {}
    for name in names:
        spelt.setdefault(name.lower(), name)
    return list(spelt.values())
