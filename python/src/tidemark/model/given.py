"""What stands in a model's config, and values of settings by the tree of `tidemark.model.settings`."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from tidemark.errors import ConfigError
from tidemark.model.settings import (
    AtomicSettings,
    EventSettings,
    ExtractSettings,
    FeedSettings,
    Scd2Settings,
    ShredSettings,
)
from tidemark.model.settings.extracts import ColumnsIncluded
from tidemark.model.suggestions import did_you_mean, nearest

Config = Mapping[str, Any]
"""What dbt has under `config`, a node, or settings by name."""

FLOWS: Mapping[str, type[BaseModel]] = {
    "extract: full and delta": ExtractSettings,
    "extract: events": EventSettings,
    "materialized: atomic": AtomicSettings,
    "materialized: shred": ShredSettings,
    "materialized: scd2": Scd2Settings,
    "materialized: feed": FeedSettings,
}
"""The settings of every kind of model, by what tells the kind."""

# without a value they are as if left out; of lengths of time that means all is kept
_MAY_HAVE_NO_VALUE = ("extract", "location", "table", "engine", "manifest", "registry")
_MISSPELT_KEYS = (
    *("unique_key", "file_format", "partition_by", "liquid_clustered_by", "location_root"),
    "tblproperties",
)
_DBT_KEYS = frozenset(
    (
        *_MISSPELT_KEYS,
        *("materialized", "clustered_by", "buckets", "persist_docs", "grants", "meta", "tags"),
        *("alias", "schema", "database", "enabled", "full_refresh", "pre_hook", "post_hook"),
        *("pre-hook", "post-hook", "on_schema_change", "on_configuration_change", "lookback"),
        *("incremental_strategy", "batch_size", "begin", "quoting", "column_types", "group"),
        *("packages", "docs", "contract", "event_time", "concurrent_batches", "access"),
        *("freshness", "static_analysis", "merge_update_columns", "merge_exclude_columns"),
        *("incremental_predicates", "sql_header"),
    )
)
"""What dbt and dbt-spark themselves read of a model's config."""


def given_settings(config: Config, flow: type[BaseModel], errors: list[str]) -> dict[str, Any]:
    """Return the settings under `meta.tidemark`; any other name there is a problem.

    A setting that stands elsewhere is one too. What it was meant for is taken from it all the same,
    so that one mistake is one problem.

    Example:
        >>> given_settings({"meta": {"tidemark": {"feed_bucket": 4}}}, FeedSettings, errors := [])
        {'feed_buckets': 4}

    Args:
        config: The model's.
        flow: The class of its settings.
        errors: Where problems are noted.
    """
    known = list(flow.model_fields)
    meta = config.get("meta") or {}
    settings: dict[str, Any] = {}
    for key, value in meta.items():
        if key != "tidemark":
            if not isinstance(value, Mapping) or not nearest(key, ["tidemark"], 0.6):
                continue
            errors.append(f"meta.{key} is not read; did you mean `tidemark`?")
        if isinstance(value, Mapping):
            _take(value, settings, known, errors)
        elif value is not None:
            errors.append(f"meta.tidemark must be a mapping of settings, found: {value}")
    strays = []
    for name, value in config.items():
        meant = _misplaced(name, known) if value is not None else None
        if meant:
            settings.setdefault(meant, value)
        if meant == name:
            strays.append(name)
        elif meant:
            where = "?" if meant in _DBT_KEYS else ", under config.meta.tidemark?"
            errors.append(f"config.{name} is not read; did you mean `{meant}`{where}")
    _note_strays(strays, "config", errors)
    within = [name for name in meta if name in known and "tidemark" not in meta]
    _note_strays(within, "meta", errors)
    return {**{name: meta[name] for name in within}, **settings}


def _note_strays(names: Sequence[str], place: str, errors: list[str]) -> None:
    if names:
        errors.append(
            f"{', '.join(names)} {'stands' if len(names) == 1 else 'stand'} directly under {place},"
            " where it is not read: settings of Tidemark stand under config.meta.tidemark"
        )


def _take(given: Config, settings: dict[str, Any], known: list[str], errors: list[str]) -> None:
    """Take what is known, also under the name that a misspelt one was meant to have."""
    for name, value in given.items():
        place = f"meta.tidemark.{name}"
        if name in known:
            if value is not None or name.endswith("_retention"):
                settings[name] = value
            elif name not in _MAY_HAVE_NO_VALUE:
                errors.append(f"{place} has no value: give it one, or take the line out")
        elif name in _DBT_KEYS:
            errors.append(
                f"{place} is not read: `{name}` is a key of dbt's own and stands directly under"
                " config"
            )
            settings[name] = value
        elif whose := [kind for kind, flow in FLOWS.items() if name in flow.model_fields]:
            errors.append(
                f"{place} is a setting of {', '.join(whose)}, and has no effect here: take it out"
            )
        else:
            errors.append(f"{place} is not a setting{did_you_mean(name, known)}")
            meant = nearest(name, known)
            if meant and meant not in given:
                settings[meant] = value


def _misplaced(name: str, known: list[str]) -> Any:
    """Return what a name directly under config stands for by mistake, if that is one."""
    if name in known:
        return name
    return None if name in _DBT_KEYS else nearest(name, [*known, *_MISSPELT_KEYS], 0.75)


# --- values


def read_values(
    flow: type[BaseModel], settings: Config, names: Iterable[str], errors: list[str]
) -> dict[str, Any]:
    """Return settings as their types in the tree say; the default of those that are left out.

    Example:
        >>> read_values(ExtractSettings, {"ignore": "a"}, ["ignore", "soft_delete"], [])
        {'ignore': ['a'], 'soft_delete': False}

    Args:
        flow: The class of settings.
        settings: What `given_settings` returns.
        names: Which of them.
        errors: Where problems are noted.
    """
    read: dict[str, Any] = {}
    for name in names:
        field = flow.model_fields[name]
        value = settings.get(name, None if field.is_required() else field.get_default())
        parts = get_args(field.annotation)
        if field.annotation is bool:
            value = as_flag(value, name, errors)
        elif ColumnsIncluded in parts:
            value = as_choice(True if value is None else value, name, errors)
        elif _is_list(field.annotation):
            value = as_names(value, name, errors)
        read[name] = value
    return read


def check_allowed(
    flow: type[BaseModel], values: Config, names: Iterable[str], errors: list[str]
) -> None:
    """Note values that the tree does not have among those of their setting.

    Args:
        flow: The class of settings.
        values: What `read_values` returns.
        names: Which of them.
        errors: Where problems are noted.
    """
    for name in names:
        annotation = flow.model_fields[name].annotation
        if values[name] is None and NoneType in get_args(annotation):
            continue
        for value in values[name] if _is_list(annotation) else [values[name]]:
            check_one_of(name, value, allowed_of(annotation), errors)


def _is_list(annotation: Any) -> bool:
    """Whether a setting may be a list; where it may be a text too, that is a list of one."""
    return any(get_origin(part) is list for part in get_args(annotation))


def allowed_of(annotation: Any) -> tuple[Any, ...]:
    """Return what the Literal in a type allows.

    Example:
        >>> allowed_of(Literal["fail", "quarantine"] | None)
        ('fail', 'quarantine')
    """
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return next((found for part in get_args(annotation) if (found := allowed_of(part))), ())


def check_one_of(name: str, value: Any, allowed: Collection[Any], errors: list[str]) -> None:
    """Note a value that is none of those allowed, with the one that was meant.

    Example:
        >>> check_one_of("hash", "md6", ["md5", "sha256"], errors := []), errors
        (None, ['hash must be one of md5, sha256 (found: md6); did you mean `md5`?'])
    """
    if value not in allowed:
        hint = did_you_mean(value, allowed) if value and isinstance(value, str) else ""
        found = "missing" if value is None else f"found: {value}"
        errors.append(
            f"{name} must be one of {', '.join(allowed)} ({found})"
            + (hint if hint.startswith("; did") else "")
        )


def as_names(value: Any, name: str, errors: list[str]) -> list[str]:
    """Return a list of names; a text is a list of one, nothing is none.

    YAML takes some names, such as no, on or 2024, for something else.

    Example:
        >>> as_names("id", "unique_key", [])
        ['id']
    """
    if value is None or value == "":
        return []
    if not isinstance(value, str | list | tuple):
        errors.append(f"{name} must be a name or a list of names, found: {value}{_quoted(value)}")
        return []
    given = [value] if isinstance(value, str) else value
    errors += [
        f"{name} must be a name or a list of names, found in it: {one}{_quoted(one)}"
        for one in given
        if not isinstance(one, str)
    ]
    return [one for one in given if isinstance(one, str)]


def _quoted(value: Any) -> str:
    is_word = isinstance(value, int | float)
    return ". A name such as no, on or 2024 stands in quotes" if is_word else ""


def as_flag(value: Any, name: str, errors: list[str]) -> bool:
    """Return true or false, also of their texts."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    errors.append(f"{name} must be true or false, found: {value}")
    return False


def as_choice(value: Any, name: str, errors: list[str]) -> dict[str, Any]:
    """Return a choice of columns: true, false, a list, {include: […]} or {exclude: […]}.

    Example:
        >>> as_choice({"exclude": ["Note"]}, "columns", [])
        {'all': True, 'include': [], 'exclude': ['note']}
    """
    if str(value).lower() in ("true", "false"):
        return _choice(str(value).lower() == "true")
    if isinstance(value, Mapping):
        for key in value:
            if key not in ("include", "exclude"):
                errors.append(f"{name} takes include or exclude, found: {key}")
        if len(value) != 1:
            errors.append(f"{name} takes either include or exclude")
        for key, names in value.items():
            if key in ("include", "exclude") and not names:
                errors.append(
                    f"{name}.{key} names no column: for all of them say {name}: true, for none"
                    " false"
                )
        excluded = as_names(value.get("exclude"), f"{name}.exclude", errors)
        included = as_names(value.get("include"), f"{name}.include", errors)
        return _choice("exclude" in value, included, excluded)
    known = len(errors)
    included = as_names(value, name, errors)
    if len(errors) > known:
        return _choice(True)
    if not value:
        errors.append(f"{name} names no column: say true for all, false for none, or leave it out")
    return _choice(False, included)


def _choice(
    every: bool, include: Iterable[str] = (), exclude: Iterable[str] = ()
) -> dict[str, Any]:
    return {
        "all": every,
        "include": [name.lower() for name in include],
        "exclude": [name.lower() for name in exclude],
    }


def is_chosen(choice: Config, name: str) -> bool:
    """Return whether a column is in a choice, whether it is there or not."""
    lower = name.lower()
    return lower in choice["include"] or (choice["all"] and lower not in choice["exclude"])


def retention(value: Any, name: str, errors: list[str]) -> str | None:
    """Return a length of time; None keeps everything.

    Example:
        >>> retention("30 Days", "feed_retention", []), retention("none", "feed_retention", [])
        ('30 days', None)
    """
    text = str(value).strip().lower()
    if text == "none":
        return None
    if not re.fullmatch("[0-9]{1,6} (minute|hour|day|week|month|year)s?", text):
        errors.append(
            f"{name} must be a length of time such as '30 days' or '12 hours', or none to keep all,"
            f" found: {value}"
        )
        return None
    return text


def check_fraction(name: str, value: Any, errors: list[str]) -> None:
    """Note what is no part of a whole."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        errors.append(f"{name} must be a number from 0 to 1, found: {shown(value)}")


def is_text(value: Any) -> bool:
    """Return whether a value is a text with more in it than blanks."""
    return isinstance(value, str) and bool(value.strip())


def shown(value: Any) -> str:
    """Return a value for a message about numbers, where a text is in quotes."""
    return json.dumps(value) if isinstance(value, str) else str(value)


def note_broken(rules: Iterable[tuple[Any, str]], errors: list[str]) -> None:
    """Note the sentence of every rule that is broken."""
    errors += [problem for is_broken, problem in rules if is_broken]


def raise_problems(
    entity: str, errors: Sequence[str], holder: str = "the configuration has"
) -> None:
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
