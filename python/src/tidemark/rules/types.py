"""Types of Spark as texts: what one is made of, and which one a stored column may become."""

from __future__ import annotations

import re
from collections.abc import Sequence

WHOLE = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
"""Whole numbers from narrow to wide, and the digits that a decimal needs before its point."""

TYPE_WORDS = frozenset(
    "string char varchar character boolean tinyint byte smallint short int integer bigint long "
    "decimal dec numeric float real double date timestamp timestamp_ltz timestamp_ntz time binary "
    "interval void variant object geometry geography array map struct".split()
)
"""What the text of a type begins with."""

Field = tuple[str, str]
"""Name and type."""


def nested_kind(kind: str | None) -> str | None:
    """Return `array`, `map` or `struct`; None of a type that holds no other, or is shortened.

    Example:
        >>> nested_kind("array<int>"), nested_kind("int")
        ('array', None)
    """
    word = (kind or "").split("<")[0].strip().lower()
    is_nested = word in ("array", "map", "struct") and kind is not None and kind.endswith(">")
    # Spark leaves out fields where a struct has more than spark.sql.debug.maxToStringFields
    is_shortened = is_nested and re.search(r"[<,]\s*[.]{3} \d+ more fields?>", kind or "")
    return word if is_nested and not is_shortened else None


def type_parts(text: str) -> list[str]:
    """Return the parts between the commas of a type's brackets, not those within inner ones.

    `describe` does not quote the names of fields, so a part without a colon is the first half of a
    name with a comma in it.

    Example:
        >>> type_parts("a:int,b:map<string,int>")
        ['a:int', 'b:map<string,int>']
    """
    parts, part, depth, is_quoted = [], "", 0, False
    for character in text:
        if character == "`" and (is_quoted or not part.strip() or part.startswith("`")):
            is_quoted = not is_quoted
        elif not is_quoted:
            depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0 and not is_quoted:
            parts.append(part)
            part = ""
        else:
            part += character
    return [*parts, part] if part.strip() else parts


def struct_fields(text: str) -> list[Field]:
    """Return the fields of a struct, by what is between its brackets.

    Example:
        >>> struct_fields("a:int,`b c`:string")
        [('a', 'int'), ('b c', 'string')]
    """
    fields, pending = [], ""
    for part in type_parts(text):
        name, kind = _struct_field(pending + part)
        if kind:
            fields.append((name, kind))
            pending = ""
        else:
            pending += part + ","
    return fields


def _struct_field(part: str) -> Field:
    """`name:type`. A bare name may hold colons: it ends at the first one that a type follows."""
    text = part.strip()
    if text.startswith("`"):
        name, *rest = text[1:].replace("``", "\0").split("`")
        return name.replace("\0", "`"), "`".join(rest).replace("\0", "``").strip(": ")
    pieces = text.split(":")
    for number in range(1, len(pieces)):
        words = re.split("[<(,`]", pieces[number])[0].strip().lower().split(" ")
        if words[0] in TYPE_WORDS:
            return ":".join(pieces[:number]), ":".join(pieces[number:]).strip()
    return "", ""


def _type_named(fields: Sequence[Field], name: str) -> str | None:
    """The type of the field of a name, in other case if there is none in this."""
    found = [kind for other, kind in fields if other == name]
    found += [kind for other, kind in fields if other.lower() == name.lower()]
    return found[0] if found else None


def type_in_lower_case(kind: str) -> str:
    """Return a type in lower case, save for the names of its fields: those of members of JSON.

    Example:
        >>> type_in_lower_case("STRUCT<Id: BIGINT>")
        'struct<Id: bigint>'
    """
    nested = nested_kind(kind)
    if not nested:
        return kind.lower()
    parts = []
    for part in map(str.strip, type_parts(_inner(kind))):
        inner = _struct_field(part)[1] if nested == "struct" else part
        parts.append(part[: len(part) - len(inner)] + type_in_lower_case(inner))
    return f"{nested}<{','.join(parts)}>"


def is_type_text(text: str) -> bool:
    """Return whether a text is a type of Spark and nothing besides: SQL can be made with it.

    It is a word, its numbers in brackets, and between angle brackets others like it.

    Example:
        >>> is_type_text("array<decimal(10, 2)>"), is_type_text("int); drop table t")
        (True, False)
    """
    left = re.sub(r"`(?:[^`]|``)+`", "a", text)
    left = re.sub(r"[(]\s*\d+\s*(?:,\s*\d+\s*)?[)]", "", left)
    for _ in range(left.count("<")):
        left = re.sub(r"<[\w\s,:]*>", "", left)
    words = left.lower().strip()
    is_plain = re.fullmatch(r"[a-z]\w*(?: \w+)*", words) is not None
    return is_plain and words.split(" ")[0] in TYPE_WORDS


def _inner(kind: str) -> str:
    return kind[kind.index("<") + 1 : -1]


def is_same_by_name(one: str | None, other: str | None) -> bool:
    """Return whether two types differ in nothing but the order of fields and the case of names.

    Example:
        >>> is_same_by_name("struct<a:int,b:int>", "struct<B:int,a:int>")
        True
    """
    kind = nested_kind(one)
    if one == other or one is None or other is None:
        return one == other
    if not kind or kind != nested_kind(other):
        return False
    if kind != "struct":
        pairs = zip(type_parts(_inner(one)), type_parts(_inner(other)), strict=False)
        return all(is_same_by_name(ours.strip(), theirs.strip()) for ours, theirs in pairs)
    ours, theirs = struct_fields(_inner(one)), struct_fields(_inner(other))
    return len(ours) == len(theirs) and all(
        is_same_by_name(inner, _type_named(theirs, name)) for name, inner in ours
    )


def is_widening(from_type: str, to_type: str, file_format: str) -> bool:
    """Return whether a stored column can change from one type to the other in place.

    No value is lost, no hash changes (the canonical text of a number does not depend on its type),
    and the table format can do it.

    Example:
        >>> is_widening("int", "bigint", "delta"), is_widening("int", "double", "iceberg")
        (True, False)

    Args:
        from_type: What the column is.
        to_type: What it is to be.
        file_format: `delta` or `iceberg`.
    """
    if from_type in WHOLE and to_type in WHOLE:
        return WHOLE[from_type] < WHOLE[to_type]
    source, target = _digits_and_scale(from_type), _digits_and_scale(to_type)
    if file_format == "iceberg":
        # numbers within their family, decimals by digits before the point
        if source and target:
            return target[0] > source[0] and target[1] == source[1]
        return (from_type, to_type) == ("float", "double")
    if to_type == "double":
        return from_type in ("float", "tinyint", "smallint", "int")
    if target and from_type in WHOLE:
        return target[0] >= WHOLE[from_type]
    return bool(
        source and target and target != source and target[0] >= source[0] and target[1] >= source[1]
    )


def _digits_and_scale(kind: str) -> tuple[int, int] | None:
    """How many digits a decimal has before its point, and behind it."""
    if not kind.startswith("decimal("):
        return None
    precision, scale = kind[8:-1].split(",")
    return int(precision) - int(scale), int(scale)


def wider_type(known: str, wanted: str, file_format: str) -> str | None:
    """Return the type that a stored column gets which is to hold `wanted`, at any depth.

    It is that of `known` with what is new, numbers that are wider and structs that have more
    fields: fields are known by their names, and those that are there keep their places. A field
    that is NULL leaves a hash as it was.

    Example:
        >>> wider_type("struct<a:int>", "struct<b:string,a:bigint>", "delta")
        'struct<a:bigint,b:string>'

    Args:
        known: What the column is.
        wanted: What comes.
        file_format: `delta` or `iceberg`.

    Returns:
        None where a value would be lost, a hash would change, or the table format cannot do it.
    """
    if is_same_by_name(known, wanted):
        return known
    kind = nested_kind(wanted)
    if not kind:
        return wanted if is_widening(known, wanted, file_format) else None
    if kind != nested_kind(known):
        return None
    if kind == "array":
        item = wider_type(_inner(known), _inner(wanted), file_format)
        return f"array<{item}>" if item else None
    if kind == "map":
        (key, value), (new_key, new_value) = type_parts(_inner(known)), type_parts(_inner(wanted))
        wider = wider_type(value.strip(), new_value.strip(), file_format)
        # no format changes what the keys of maps are
        is_kept = is_same_by_name(key.strip(), new_key.strip())
        return f"map<{key},{wider}>" if wider and is_kept else None
    ours, theirs = struct_fields(_inner(known)), struct_fields(_inner(wanted))
    fields = []
    for name, inner in ours:
        match = _type_named(theirs, name)
        wider = wider_type(inner, match, file_format) if match else None
        if not wider:
            return None
        fields.append(f"{name}:{wider}")
    fields += [f"{name}:{inner}" for name, inner in theirs if not _type_named(ours, name)]
    return f"struct<{','.join(fields)}>"
