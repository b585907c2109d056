"""Options of Spark's reader of files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tidemark.model.given import Config
from tidemark.model.suggestions import nearest

_OF_FILES = (
    *("compression", "pathGlobFilter", "recursiveFileLookup", "modifiedBefore", "modifiedAfter"),
    *("ignoreCorruptFiles", "ignoreMissingFiles"),
)
_OF_TEXTS = (
    *("encoding", "charset", "dateFormat", "timestampFormat", "lineSep", "multiLine", "locale"),
    *("timeZone", "mode", "timestampNTZFormat", "enableDateTimeParsingFallback"),
    "columnNameOfCorruptRecord",
)
_READER_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "csv": (
        *_OF_TEXTS,
        *("sep", "delimiter", "quote", "escape", "escapeQuotes", "comment", "header", "nullValue"),
        *("emptyValue", "nanValue", "positiveInf", "negativeInf", "ignoreLeadingWhiteSpace"),
        *("ignoreTrailingWhiteSpace", "maxColumns", "maxCharsPerColumn"),
        *("charToEscapeQuoteEscaping", "unescapedQuoteHandling", "inferSchema", "enforceSchema"),
    ),
    "json": (
        *_OF_TEXTS,
        *("primitivesAsString", "prefersDecimal", "allowComments", "allowUnquotedFieldNames"),
        *("allowSingleQuotes", "allowNumericLeadingZeros"),
        *("allowBackslashEscapingAnyCharacter", "allowUnquotedControlChars"),
        *("allowNonNumericNumbers", "dropFieldIfAllNull", "samplingRatio"),
    ),
    "parquet": ("mergeSchema", "datetimeRebaseMode", "int96RebaseMode"),
}
_ONE_OPTION = {"delimiter": "sep", "charset": "encoding"}

# --- options without effect, each with what to write instead

_CAST = (
    "a value is cast to the data_type of its column as Spark SQL casts a text. Turn others round in"
    " the model's SELECT, such as replace(replace(amount, '.', ''), ',', '.')"
)
_REJECT = (
    "a line that cannot be read is a reject, and on_reject says what becomes of it: take it out"
)
_LINES = "JSON is read as lines, an object on each: have the files written so, and take it out"
_DECLARED = "a column has the data_type that the YAML declares: take it out"
_VAIN_OF_FILES = {
    "compression": "a file's compression is told by its name, such as .gz: take it out"
}
_VAIN_OF_TEXTS = {**_VAIN_OF_FILES, "mode": _REJECT, "columnNameOfCorruptRecord": _REJECT}
_VAIN_OF_VALUES = {
    "locale": _CAST,
    "timeZone": (
        "a time without a zone is one of the session's: set spark.sql.session.timeZone in the"
        " profile"
    ),
    "timestampNTZFormat": "write timestampFormat, which is that of timestamp_ntz too",
    "enableDateTimeParsingFallback": (
        "a date that its format does not read is a reject: take it out"
    ),
}
"""In vain where no `from_json()` reads: it makes nested columns of JSON by these."""
_VAIN: Mapping[str, Mapping[str, str]] = {
    "parquet": _VAIN_OF_FILES,
    "json": {
        **_VAIN_OF_TEXTS,
        **dict.fromkeys(("multiLine", "lineSep"), _LINES),
        **dict.fromkeys(("primitivesAsString", "prefersDecimal", "dropFieldIfAllNull"), _DECLARED),
    },
}
_VAIN_OF_CSV = {
    **_VAIN_OF_TEXTS,
    **_VAIN_OF_VALUES,
    "inferSchema": _DECLARED,
    "enforceSchema": "the header of each file is compared with the first: take it out",
    "escapeQuotes": "it is for writing: take it out",
    **dict.fromkeys(("nanValue", "positiveInf", "negativeInf"), _CAST),
}


def spelled_options(given: Any, file_format: Any, errors: list[str]) -> Any:
    """Return options as Spark spells them: to it their case is one, here it is not.

    Example:
        >>> spelled_options({"SEP": ";", "dateformat": "d"}, "csv", [])
        {'sep': ';', 'dateFormat': 'd'}
    """
    if not isinstance(given, Mapping):
        return given
    spelled = {name.lower(): name for name in _reader_options(file_format)}
    taken: dict[str, Any] = {}
    for name in given:
        meant = _ONE_OPTION.get(str(name).lower(), str(name).lower())
        if meant in taken:
            errors.append(
                f"options.{name} and options.{taken[meant]} are one option: remove one of them"
            )
        taken[meant] = name
    return {spelled.get(str(name).lower(), name): value for name, value in given.items()}


def _reader_options(file_format: Any) -> tuple[str, ...]:
    return _OF_FILES + _READER_OPTIONS.get(str(file_format), ())


def option_problems(options: Config, file_format: Any, columns: Iterable[Config]) -> Iterator[str]:
    """Yield what is wrong with options that Spark would pass over, or that would change nothing.

    Values are read as texts and cast by Spark SQL, so that much of what Spark's reader can is not
    asked of it.

    Args:
        options: What `spelled_options` returns.
        file_format: The format of the files.
        columns: What `declared_columns` returns.
    """
    vain = _VAIN.get(str(file_format), _VAIN_OF_CSV)
    if file_format == "json" and not any("<" in str(column["data_type"]) for column in columns):
        vain = {**vain, **_VAIN_OF_VALUES}
    for name in options:
        if name in vain:
            yield f"options.{name} has no effect: {vain[name]}"
    known = _reader_options(file_format)
    others = ("separator",) if file_format == "csv" else ()
    for name in options:
        meant = None if name in known else nearest(name, known + others, 0.6)
        if meant:
            meant = "sep" if meant == "separator" else meant
            problem = f"is no option of Spark for {file_format}; did you mean `{meant}`?"
            yield f"options.{name} {problem}"
    for name in ("dateFormat", "timestampFormat"):
        pattern = str(options.get(name) or "")
        meant = meant_pattern(pattern)
        if meant != pattern:
            yield (
                f"options.{name}: `{pattern}` is no pattern of dates; did you mean `{meant}`? "
                "y is the year, M the month, d the day, H the hour, m the minute"
            )
    for name in options if file_format == "json" else ():
        encoding = str(options[name] or "UTF-8").lower().replace("_", "-")
        if str(name).lower() in ("encoding", "charset") and encoding not in ("utf-8", "utf8"):
            problem = f"JSON lines are UTF-8, found: {options[name]}. Have the files written so"
            yield f"options.{name}: {problem}"


def meant_pattern(pattern: str) -> str:
    """Return a pattern of dates as it was meant: other systems have other letters.

    Spark refuses Y, and reads m between day and year as minutes of some date in January.

    Example:
        >>> meant_pattern("DD.MM.YYYY"), meant_pattern("yyyy-mm-dd HH:MM:ss")
        ('dd.MM.yyyy', 'yyyy-MM-dd HH:mm:ss')
    """
    parts = [one[0] for one in re.finditer(r"'[^']*'?|([A-Za-z])\1*|[^A-Za-z']+", pattern)]
    places = [place for place, part in enumerate(parts) if part[0].isalpha()]
    letters = [parts[place][0] for place in places]
    for number, (place, letter) in enumerate(zip(places, letters, strict=True)):
        before = letters[number - 1] if number else ""
        after = letters[number + 1] if number + 1 < len(letters) else ""
        meant = letter
        if letter == "Y" or (letter == "D" and {"M", "L", "m"} & {*letters}):
            meant = letter.lower()
        elif letter == "m" and (before or after) and {before, after} <= {*"dyDY", ""}:
            meant = "M"
        elif letter == "M" and before in tuple("HhKk"):
            meant = "m"
        parts[place] = meant * len(parts[place])
    return "".join(parts)
