"""What a model's config gives: settings by the classes of `tidemark.model.settings`, and values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from tidemark.model import settings as tree
from tidemark.model.problems import raise_problems
from tidemark.model.suggestions import did_you_mean, nearest

Config = Mapping[str, Any]
"""What dbt has under `config`, a node, or settings by name."""

FLOWS: Mapping[str, type[BaseModel]] = {
    "extract: full and delta": tree.ExtractSettings,
    "extract: events": tree.EventSettings,
    "materialized: atomic": tree.AtomicSettings,
    "materialized: shred": tree.ShredSettings,
    "materialized: scd2": tree.Scd2Settings,
    "materialized: feed": tree.FeedSettings,
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


class Given:
    """A model's settings while they are read, with the problems that were found so far.

    Example:
        >>> given = Given(node, tree.FeedSettings, "delta")
        >>> given.read("feed_buckets"), given.errors
        ({'feed_buckets': 1}, [])

    Args:
        node: The model, as dbt's graph has it.
        flow: The class of its settings.
        lake_format: The format of the project's tables whose rows can change: delta or iceberg.
    """

    def __init__(self, node: Config, flow: type[BaseModel], lake_format: str) -> None:
        self.node, self.flow, self.lake_format = node, flow, lake_format
        self.config: Config = node["config"]
        self.errors: list[str] = []
        self.settings = _given_settings(self.config, flow, self.errors)

    def read(self, *names: str) -> dict[str, Any]:
        """Return settings as their types in the tree say; the default of those left out."""
        read: dict[str, Any] = {}
        for name in names:
            field = self.flow.model_fields[name]
            usual = None if field.is_required() else field.get_default()
            value, kinds = self.settings.get(name, usual), get_args(field.annotation)
            if field.annotation is bool:
                value = as_flag(value, name, self.errors)
            elif tree.ColumnsIncluded in kinds:
                value = as_choice(True if value is None else value, name, self.errors)
            elif _is_list(field.annotation):
                value = as_names(value, name, self.errors)
            read[name] = value
        return read

    def allow(self, values: Config, *names: str) -> None:
        """Note values that the tree does not have among those of their setting."""
        for name in names:
            annotation = self.flow.model_fields[name].annotation
            several = values[name] if _is_list(annotation) else [values[name]]
            if several != [None] or NoneType not in get_args(annotation):
                for value in several:
                    self.errors += one_of(name, value, allowed_of(annotation))

    def retention(self, name: str) -> str | None:
        """Return a length of time that a setting says."""
        return retention(self.settings.get(name), name, self.errors)

    def names(self, key: str) -> list[str]:
        """Return the columns that one of dbt's own keys names."""
        return as_names(self.config.get(key), key, self.errors)

    def complete(self, cfg: dict[str, Any]) -> dict[str, Any]:
        """Return the settings, unless there are problems: then these are raised."""
        raise_problems(self.node["alias"], self.errors)
        return cfg


def _given_settings(config: Config, flow: type[BaseModel], errors: list[str]) -> dict[str, Any]:
    """The settings under `meta.tidemark`; any other name there is a problem.

    A setting that stands elsewhere is one too. What it was meant for is taken from it all the same,
    so that one mistake is one problem.
    """
    known = list(flow.model_fields)
    meta = config.get("meta") or _misspelt_meta(config, errors)
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


def _misspelt_meta(config: Config, errors: list[str]) -> Config:
    """Return what stands under a name that is nearly meta, so that one mistake is one problem."""
    for name, value in config.items():
        is_ours = isinstance(value, Mapping) and "tidemark" in value
        if is_ours and name not in _DBT_KEYS:
            errors.append(f"config.{name} is not read; did you mean `meta`?")
            return dict(value)
    return {}


def _note_strays(names: Sequence[str], place: str, errors: list[str]) -> None:
    if names:
        errors.append(
            f"{', '.join(names)} {'stands' if len(names) == 1 else 'stand'} directly under "
            f"{place}, where Tidemark does not read settings. Move the setting to "
            "config.meta.tidemark"
        )


def _take(given: Config, settings: dict[str, Any], known: list[str], errors: list[str]) -> None:
    """Take what is known, also under the name that a misspelt one was meant to have."""
    for name, value in given.items():
        place = f"meta.tidemark.{name}"
        if name in known:
            if value is not None or name.endswith("_retention"):
                settings[name] = value
            elif name not in _MAY_HAVE_NO_VALUE:
                errors.append(f"{place} has no value: give a value, or remove the line")
        elif name in _DBT_KEYS:
            errors.append(
                f"{place} is not read, as `{name}` is a setting of dbt. Move the setting "
                "directly under config"
            )
            settings[name] = value
        elif whose := [kind for kind, flow in FLOWS.items() if name in flow.model_fields]:
            errors.append(
                f"{place} is a setting of {', '.join(whose)}, and has no effect here: remove "
                "the setting"
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


def one_of(name: str, value: Any, allowed: Collection[Any]) -> Iterator[str]:
    """Yield what is wrong with a value that is none of those allowed.

    Example:
        >>> [*one_of("hash", "md6", ["md5", "sha256"])]
        ['hash must be one of md5, sha256 (found: md6); did you mean `md5`?']
    """
    if value not in allowed:
        near = nearest(value, allowed) if value and isinstance(value, str) else None
        found = "missing" if value is None else f"found: {value}"
        hint = f"; did you mean `{near}`?" if near else ""
        yield f"{name} must be one of {', '.join(allowed)} ({found}){hint}"


def as_names(value: Any, name: str, errors: list[str]) -> list[str]:
    """Return a list of names; a text is a list of one, nothing is none.

    Example:
        >>> as_names("id", "unique_key", [])
        ['id']
    """
    if value is None or value == "":
        return []
    given = [value] if isinstance(value, str) else value
    # YAML takes some names for something else
    words = ". A name such as no, on or 2024 stands in quotes"
    must = f"{name} must be a name or a list of names, found"
    if not isinstance(given, list | tuple):
        errors.append(f"{must}: {given}{words if isinstance(given, int | float) else ''}")
        return []
    for one in given:
        if not isinstance(one, str):
            errors.append(f"{must} in it: {one}{words if isinstance(one, int | float) else ''}")
    return [one for one in given if isinstance(one, str)]


def as_flag(value: Any, name: str, errors: list[str]) -> bool:
    """Return true or false, also of their texts."""
    if not isinstance(value, bool | str) or str(value).lower() not in ("true", "false"):
        errors.append(f"{name} must be true or false, found: {value}")
    return isinstance(value, bool | str) and str(value).lower() == "true"


def as_choice(value: Any, name: str, errors: list[str]) -> dict[str, Any]:
    """Return a choice of columns: true, false, a list, {include: […]} or {exclude: […]}.

    Example:
        >>> as_choice({"exclude": ["Note"]}, "columns", [])
        {'all': True, 'include': [], 'exclude': ['note']}
    """
    known, every = len(errors), str(value).lower() == "true"
    included: Sequence[str] = ()
    excluded: Sequence[str] = ()
    if isinstance(value, Mapping):
        sides = ("include", "exclude")
        errors += [
            f"{name} takes include or exclude, found: {key}" for key in value if key not in sides
        ]
        if len(value) != 1:
            errors.append(f"{name} takes either include or exclude")
        errors += [
            f"{name}.{key} names no column: for all of them say {name}: true, for none false"
            for key in value
            if key in sides and not value[key]
        ]
        every = "exclude" in value
        excluded = as_names(value.get("exclude"), f"{name}.exclude", errors)
        included = as_names(value.get("include"), f"{name}.include", errors)
    elif str(value).lower() not in ("true", "false"):
        included = as_names(value, name, errors)
        if len(errors) > known:
            every, included = True, ()
        elif not value:
            errors.append(
                f"{name} names no column: say true for all, false for none, or leave it out"
            )
    return {
        "all": every,
        "include": [one.lower() for one in included],
        "exclude": [one.lower() for one in excluded],
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
    if text == "none" or re.fullmatch("[0-9]{1,6} (minute|hour|day|week|month|year)s?", text):
        return None if text == "none" else text
    errors.append(
        f"{name} must be a length of time such as '30 days' or '12 hours', or none to keep "
        f"everything, found: {value}"
    )
    return None


def is_text(value: Any) -> bool:
    """Return whether a value is a text with more in it than blanks."""
    return isinstance(value, str) and bool(value.strip())
