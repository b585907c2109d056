"""Problems of a configuration: all of them are raised at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tidemark.errors import ConfigError
from tidemark.model.suggestions import did_you_mean, nearest
from tidemark.printable import counted

_Named = TypeVar("_Named", bound=BaseModel)
# of a union pydantic names the member that it tried, of a mapping that it is the key
_MEMBERS = ("str", "float", "int", "bool", "constrained-str", "list[constrained-str]", "[key]")
_MAPPING = "must be a mapping of names and values"
_MUST = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "date_from_datetime_inexact": "must be a date such as 2026-03-04",
    "date_from_datetime_parsing": "must be a date such as 2026-03-04",
    "date_type": "must be a date such as 2026-03-04",
    "dict_type": _MAPPING,
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "invalid_key": "must have names in quotes",
    "list_type": "must be a list",
    "model_attributes_type": _MAPPING,
    "model_type": _MAPPING,
    "string_pattern_mismatch": "must have only letters, digits and underscores",
    "string_too_short": "must not be empty",
    "string_type": "must be a text",
    "too_short": "must not be empty",
}
"""What a value must be, by pydantic's word for what is wrong with it."""


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
        count = counted(len(errors), "problem")
        raise ConfigError("\n  - ".join([f"{entity}: {holder} {count}", *errors]))


def read_named(
    given: Any, model: type[_Named], nouns: str, place: str, errors: list[str]
) -> Iterator[tuple[str, _Named]]:
    """Yield what a list of the YAML has, each with its place, by its name.

    Args:
        given: The list; None is an empty one.
        model: The class of its members, which have a name.
        nouns: What they are called.
        place: Where the list stands.
        errors: Where problems go.
    """
    if given is not None and not isinstance(given, list):
        errors.append(f"{place} must be a list of {nouns}, found: {given}")
        return
    for number, one in enumerate(given or [], start=1):
        name = one.get("name") if isinstance(one, Mapping) else None
        setting = f"{place}.{name or number}"
        try:
            yield setting, model.model_validate(one)
        except ValidationError as error:
            for problem in _validation_problems(error, model):
                errors.append(f"{setting}{problem if problem[0] == ' ' else f': {problem}'}")


def repeated_names(names: Sequence[str]) -> list[str]:
    """Return the names that are there more than once."""
    return [name for name, times in Counter(names).items() if times > 1]


def _validation_problems(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Return what is wrong with values of the YAML, each mistake once, by its place."""
    problems, meant = [], set()
    found = [(*_place(_location(item), model), item) for item in error.errors()]
    for place, known, item in found:
        if item["type"] == "extra_forbidden":
            name = str(item["loc"][-1])
            problems.append(f"{place} is not read{did_you_mean(name, known)}")
            meant.add((item["loc"][:-1], nearest(name, known)))
    # a value that is neither of two types is one mistake
    wrong: dict[tuple[str, str], list[str]] = {}
    for place, _, item in found:
        if item["type"] == "missing":
            # a name that is misspelt is one mistake
            if (item["loc"][:-1], item["loc"][-1]) not in meant:
                problems.append(f"{place} is missing")
        elif item["type"] != "extra_forbidden":
            wrong.setdefault((place, repr(item["input"])), []).append(_must(item))
    for (place, value), sentences in wrong.items():
        first, *others = dict.fromkeys(sentences)
        others = [one.removeprefix("must be ") for one in others]
        problems.append(f"{place} {' or '.join([first, *others])}, found: {value}")
    return list(dict.fromkeys(problems))


def _must(item: Mapping[str, Any]) -> str:
    """Return what a value must be, in words for someone who has the YAML open."""
    if item["type"] == "literal_error":
        names = str(item["ctx"]["expected"]).replace("'", "").replace(" or ", ", ")
        is_name = item["loc"][-1] == "[key]"
        return f"must have names of {names}" if is_name else f"must be one of {names}"
    return _MUST.get(item["type"]) or str(item["msg"])


def _location(item: Mapping[str, Any]) -> tuple[str | int, ...]:
    """Return where a value stands; a name that is wrong stands in its mapping."""
    location: tuple[str | int, ...] = item["loc"]
    if item["type"] == "invalid_key":
        return location[:-1]
    return location[:-2] if location[-1:] == ("[key]",) else location


def _place(location: Sequence[str | int], model: Any) -> tuple[str, list[str]]:
    """Return where a problem is, as a path of names, and what may stand there."""
    parts: list[str] = []
    *above, last = location or ("",)
    for part in above:
        if isinstance(part, int):
            parts.append(str(part + 1))
        elif part not in _MEMBERS:
            parts.append(part)
            model = _model_of(model, part)
    if last not in _MEMBERS:
        parts.append(str(last + 1) if isinstance(last, int) else str(last))
    return ".".join(parts), sorted(getattr(model, "model_fields", {}))


def _model_of(model: Any, name: str) -> Any:
    """Return the class of what a field holds, one or a list of them."""
    field = getattr(model, "model_fields", {}).get(name)
    pending = [field.annotation] if field is not None else []
    while pending:
        kind = pending.pop()
        if hasattr(kind, "model_fields"):
            return kind
        pending += getattr(kind, "__args__", ())
    return None
