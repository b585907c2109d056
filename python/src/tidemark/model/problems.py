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
# for a union, pydantic names the member that it tried
_MEMBERS = ("str", "float", "int", "bool")


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
            errors += [f"{setting}: {problem}" for problem in _validation_problems(error, model)]


def repeated_names(names: Sequence[str]) -> list[str]:
    """Return the names that are there more than once."""
    return [name for name, times in Counter(names).items() if times > 1]


def _validation_problems(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Return what is wrong with values of the YAML, each mistake once, by its place."""
    problems, meant = [], set()
    found = [(*_place(item["loc"], model), item) for item in error.errors()]
    for place, known, item in found:
        if item["type"] == "extra_forbidden":
            name = str(item["loc"][-1])
            problems.append(f"{place} is not read{did_you_mean(name, known)}")
            meant.add((item["loc"][:-1], nearest(name, known)))
    for place, _, item in found:
        if item["type"] == "missing":
            # a name that is misspelt is one mistake
            if (item["loc"][:-1], item["loc"][-1]) not in meant:
                problems.append(f"{place} is missing")
        elif item["type"] != "extra_forbidden":
            problems.append(f"{place}: {item['msg']}, found: {item['input']!r}")
    return list(dict.fromkeys(problems))


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
