"""From a Java exception of hundreds of lines to the sentence that its reader needs."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tidemark.engine.quoted import PEPPER
from tidemark.hashing.recipe import PEPPER_VARIABLE
from tidemark.home import tidemark_home

_SHORTEST_SECRET = 4
"""A shorter one would stand in many messages, and is none."""
MAX_LINES = 12
MAX_CHARACTERS = 3000

_CONDITION = re.compile(r"\[(?P<name>[A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\] ?")
_SQLSTATE = re.compile(r"[ .]*\s*SQLSTATE: [0-9A-Z]{5}\b")
_POSITION = re.compile(r"(?:;\s*|\s*\()line (\d+),? pos(?:ition)? (\d+)\)?;?\s*$")
_CLASS_NAME = re.compile(r"^(?:[a-z][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error|Throwable)[\w$]*: ?")
_LOST_TASK = re.compile(r"Lost task [\d.]+ in stage [\d.]+ \(.*?\)(?: \(.*?\))?: ", re.DOTALL)
_CUTS = (
    re.compile(r"\n\s+at [\w.$/<>]+\("),  # a Java stack trace
    re.compile(r"\n+JVM stacktrace:"),
    re.compile(r"\n+Driver stacktrace:"),
    re.compile(r"\n+Caused by: "),
    re.compile(r";?\n+'?[A-Z][A-Za-z]+ ?[\[(]"),  # a logical plan
    re.compile(r";?\n+'[A-Z][A-Za-z]+ `"),
    re.compile(r";?\n+[+:]- "),
    re.compile(r"\n+== SQL"),
    re.compile(r"\n+== DataFrame"),
)
_HOW_TO = "python/docs/how-to/cluster.md"
_NO_MEMORY = (
    "Spark has run out of memory. Raise spark.driver.memory (on a cluster "
    "spark.executor.memory). If the rows are small, look for an open quote in the file: the "
    "value behind it may have hundreds of MB"
)
_IS_ENDED = (
    "this application of Spark has ended. The cluster removed the application or does not "
    "answer, or the JVM was stopped. Read logs/spark.log for the cause"
)
_OF_CLUSTERS = (
    (
        re.compile(
            r"OutOfMemoryError|Java heap space|array size exceeds VM limit|GC overhead limit"
        ),
        _NO_MEMORY,
    ),
    (
        re.compile(r"(?:python worker|/pyspark[./]).*?No module named '(?P<name>\w+)", re.DOTALL),
        "the Python of Spark's workers has no module {name}: install it there, or name another "
        f"Python by spark.pyspark.python ({_HOW_TO})",
    ),
    (
        re.compile(
            r"Python in worker has different version: (?P<worker>[\d.]+) than .*?(?P<own>\d+\.\d+)"
        ),
        "Spark's workers run Python {worker}, and this process Python {own}: name the same version "
        f"by spark.pyspark.python ({_HOW_TO})",
    ),
    (
        re.compile(r"Cannot run program \"(?P<name>[^\"]*python[^\"]*)\""),
        "Spark's workers cannot run {name}: name a Python that every node has by "
        f"spark.pyspark.python ({_HOW_TO})",
    ),
    (
        re.compile(r"Master removed our application"),
        "the cluster removed this application, as its executors ended one after the other. "
        "Read their logs in the work folders of Spark's workers",
    ),
    (
        re.compile(r"All masters are unresponsive"),
        "the cluster's master does not answer. Check the address in spark.master",
    ),
    (
        re.compile(r"stopped SparkContext|SparkContext (?:was|has been) shut ?down"),
        _IS_ENDED,
    ),
    (
        re.compile(r"PARQUET_TYPE_\w+\] .*?TIMESTAMP\(NANOS"),
        "a Parquet file has timestamps in nanoseconds, which Spark does not read. Write "
        "microseconds (pandas and pyarrow: coerce_timestamps='us')",
    ),
    (
        re.compile(r"PARQUET_TYPE_\w+\] .*?Parquet type: (?P<type>.+?)\.?(?: SQLSTATE|\s*$|\n)"),
        "a Parquet file has a column of {type}, a type that Spark does not read. Write "
        "another type",
    ),
    (
        re.compile(
            r"Invalid update timestamp \d+: before (?:last snapshot|the latest metadata) log entry"
            r"|Expected sorted (?:snapshot|previous metadata) log entries"
        ),
        "the clock of this machine is minutes or more behind the clock that the table was "
        "written by. Iceberg takes no commit that is older than the last one. This run wrote "
        "nothing. Set the clock right, and run the model again",
    ),
    (
        re.compile(r"\[UNSUPPORTED_TIME_TYPE\]"),
        "a column is of the type TIME, which tables do not have. Cast the column to a text at "
        "its source",
    ),
)
"""What Spark says of a machine, cluster or type that will not do, and what its reader needs."""
# with what the JVM ends where a task of it has no memory, and seconds that it may take
_EXIT_NO_MEMORY = 52
_ENDING = 5.0
_CONFLICT = re.compile(
    r"Found (?:new )?conflicting (?:delete )?files|Missing required files to delete"
    r"|\[DELTA_(?:CONCURRENT_(?:APPEND|DELETE_DELETE|DELETE_READ|WRITE)|METADATA_CHANGED)\b"
    r"(?:.*? (?:from|to|Delta) table (?P<table>[\w.]+\w))?"
)
"""What Iceberg and Delta say of a commit that another one came before."""
_SLICE_IS_GONE = re.compile(
    r"(?:\[TABLE_OR_VIEW_NOT_FOUND\]|\[PATH_NOT_FOUND\]|FILE_NOT_EXIST\]|FileNotFoundException)"
    r"[^\n]*?(?P<entity>\w+)__slice_\d+_"
)
"""What Spark says where another run took a slice away: drop_slices() of the macros."""
_NO_FOLDER = re.compile(r"Mkdirs failed to create (?P<folder>\S+) \(exists=false.*?\)")
_DENIED = re.compile(r"(?P<file>/[^\n]+?) \(Permission denied\)")
_TRACEBACK = "Traceback (most recent call last):"
_USER_RAISED = "USER_RAISED_EXCEPTION"
_UNREAD_FILE = re.compile(
    r"\[FAILED_READ_FILE\.(?P<kind>[A-Z_]+)\] Encountered error while reading file "
    r"(?P<file>\S+?)\.?(?=\s|$)"
)
_UNWRITTEN = re.compile(
    r"\[TASK_WRITE_FAILED\] Task failed while writing rows to (?P<folder>\S+?)\.?$"
)
_WHY_UNREAD = {
    "CANNOT_READ_FILE_FOOTER": "it is cut, or no Parquet file",
    "FILE_NOT_EXIST": "it is gone",
}
_OTHER_HEADER = re.compile(
    r"CSV header does not conform to the schema|Number of column in CSV header is not equal"
)
_OTHER_TYPE = re.compile(
    r"column: \[(?P<name>.*)\], physicalType: (?P<there>\w+), logicalType: (?P<wanted>.+)"
)
_MADE_AT_ONCE = re.compile(
    r"DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION|DELTA_STATE_RECOVER_ERROR"
    r"|DELTA_PROTOCOL_CHANGED|TABLE_OR_VIEW_ALREADY_EXISTS"
    r"|SCHEMA_ALREADY_EXISTS|^\s*(?:Table|Database) \S+ already exists",
    re.MULTILINE,
)
_NOT_KNOWN = re.compile(
    r"\[(?P<condition>DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION)\]"
    r"[^']*'(?P<table>[^']+)'[^']*'(?:file:/*)?(?P<folder>/.+)'\) is not empty"
)
_AT_ONCE = "Another run may have made the table at the same moment. If so, run the model again"


def clean_message(text: str) -> str:
    """Return one readable message: error class and sentence, without stack traces, plans and codes.

    Example:
        >>> clean_message("[USER_RAISED_EXCEPTION] no extract for 2026-03-05 SQLSTATE: P0001")
        'no extract for 2026-03-05'
    """
    text = text.strip()
    if message := _of_cluster(text):
        return message
    lost = _LOST_TASK.search(text)
    if lost is not None:
        text = text[lost.end() :]
    while (stripped := _CLASS_NAME.sub("", text)) != text:
        text = stripped
    if gone := _SLICE_IS_GONE.search(text):
        return (
            f"another run of {gone['entity']} began after this run, and removed the staged rows "
            "of this run. Run the model again"
        )
    if conflict := _CONFLICT.match(text):
        name = (conflict["table"] or "this table").removeprefix("spark_catalog.")
        return (
            f"another run has written to the same rows of {name} since this run began. This run "
            "wrote nothing there. Run the model again"
        )
    condition = _CONDITION.match(text)
    if condition is not None and condition["name"] == _USER_RAISED:
        return text[condition.end() :].partition(" SQLSTATE: P0001")[0].strip()
    if _TRACEBACK in text:
        return _shorten(_own_frames(text))
    pointed = _pointed_at(text)
    for cut in _CUTS:
        found = cut.search(text)
        if found is not None:
            text = text[: found.start()]
    placed = _POSITION.search(text)
    if placed is not None:
        text = text[: placed.start()]
    text = _SQLSTATE.sub("", text).rstrip("; \n")
    text = _NO_FOLDER.sub(
        r"the folder \g<folder> cannot be made: the disk is full or read-only, or not this user's",
        text,
    )
    if placed is not None:
        text += f" (line {placed[1]}, pos {placed[2]})"
    if pointed:
        text += f"\n{pointed}"
    return _shorten(text)


def _of_cluster(text: str) -> str | None:
    """Return what is wrong with the cluster, if that is what a message tells."""
    for pattern, template in _OF_CLUSTERS:
        if found := pattern.search(text):
            return template.format(**found.groupdict())
    return None


def _own_frames(text: str) -> str:
    """Return the traceback of a Python worker without the frames of PySpark and other libraries."""
    lines = text[text.index(_TRACEBACK) :].splitlines()
    kept = [lines[0]]
    skipping = False
    for line in lines[1:]:
        if line.startswith(("\tat ", "Caused by: ")):
            break
        if line.startswith("  File "):
            skipping = re.search(r"[/\\](?:pyspark|site-packages)[/\\]|<frozen ", line) is not None
        elif not line.startswith("    "):
            skipping = False
        if line.strip() and not skipping:
            kept.append(line)
    if len(kept) > 1 and not kept[1].startswith("  File "):
        del kept[0]
    return "\n".join(kept)


def _pointed_at(text: str) -> str:
    """Return the line of SQL that Spark's parser points at with ^^^, with its pointer."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if number and re.fullmatch(r"-*\^+\s*", line):
            return f"{lines[number - 1]}\n{line}"
    return ""


def _shorten(text: str) -> str:
    lines = text.strip().splitlines()
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], "…"]
    short = "\n".join(lines)
    return short if len(short) <= MAX_CHARACTERS else short[:MAX_CHARACTERS] + " …"


def best_message(causes: list[str]) -> str:
    """Choose among the messages of a chain of causes, outermost first.

    The deepest one that carries an error class says what is wrong; a deeper one without says why.
    """
    cleaned = [(raw, clean_message(raw)) for raw in causes if raw and raw.strip()]
    if not cleaned:
        return "Spark gave no message"
    raised = [message for raw, message in cleaned if f"[{_USER_RAISED}]" in raw]
    if raised:
        return raised[-1]
    for raw, _ in cleaned:
        if denied := _DENIED.search(raw):
            return (
                f"{denied['file']} cannot be opened: permission denied. Give this user the right "
                "to read the files that land, and to write the tables"
            )
    for raw, message in cleaned:
        if _of_cluster(raw) or _SLICE_IS_GONE.search(raw):
            return message
    classed = [number for number, (_, message) in enumerate(cleaned) if _CONDITION.match(message)]
    if not classed:
        return cleaned[-1][1]
    named = cleaned[classed[-1]][1]
    deepest = cleaned[-1][1]
    unread = _UNREAD_FILE.match(named)
    if unread is not None:
        known = _WHY_UNREAD.get(unread["kind"])
        why = known or (
            deepest.partition("\n")[0] if deepest != named else "what is in it is broken"
        )
        if _OTHER_HEADER.search(deepest):
            why = (
                "its columns are not those of the other files, in their order. Write all files of "
                "a date with the same columns"
            )
        elif other := _OTHER_TYPE.search(deepest):
            why = (
                f"column {other['name']} is {other['there']} in it, and {other['wanted']} in "
                "another file: write all files with the same types"
            )
        return f"{unread['file']} cannot be read: {why}"
    if deepest in named or "\n" in deepest:
        return named
    unwritten = _UNWRITTEN.match(named)
    if unwritten is not None:
        return f"{unwritten['folder']} cannot be written: {deepest}"
    return f"{named}\ncaused by: {deepest}"


def made_at_once(message: str) -> bool:
    """Say whether a table or view could not be made because another run makes it at this moment.

    Example:
        >>> made_at_once("Table tidemark_commits already exists")
        True
    """
    return _MADE_AT_ONCE.search(message) is not None


def readable_error(error: BaseException, statement: str = "") -> str:
    """Return the one message that says what is wrong, whatever was raised.

    Args:
        error: What was raised.
        statement: The statement, or what else names the tables that were at work.
    """
    from tidemark.spark.broken import with_cure

    message = with_cure(_readable(error), statement)
    is_end = type(error).__name__ == "Py4JNetworkError" or isinstance(error, ConnectionError)
    if (is_end or message == _IS_ENDED) and _jvm_had_no_memory():
        message = _NO_MEMORY
    if message == _NO_MEMORY:
        return f"Spark has run out of memory{_why_no_memory()}"
    return _without_pepper(message)


def _without_pepper(text: str) -> str:
    """Return a text of Spark's, whose plans show literals, without the secret among them."""
    pepper = os.environ.get(PEPPER_VARIABLE, "")
    is_told = len(pepper) >= _SHORTEST_SECRET and pepper in text
    return text.replace(pepper, PEPPER) if is_told else text


def _why_no_memory() -> str:
    from tidemark.spark.long_lines import why_no_memory

    found = why_no_memory()
    if found is None:
        return _NO_MEMORY.removeprefix("Spark has run out of memory")
    return f": {found}. Mend the file, or give Spark more (spark.driver.memory)"


def _jvm_had_no_memory() -> bool:
    """Say whether the JVM ends for want of memory, where an error tells no more than its end."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    try:
        return process is not None and int(process.wait(_ENDING)) == _EXIT_NO_MEMORY
    except subprocess.TimeoutExpired:
        return False


def _readable(error: BaseException) -> str:
    throwable = java_throwable(error)
    if throwable is not None:
        try:
            message = best_message(list(_java_messages(throwable)))
            if made_at_once(message):
                return _of_unknown_table(message) or f"{message}\n{_AT_ONCE}"
            return message
        except Exception as gone:  # the JVM has ended: what Python knows must do
            _ = gone
    description = getattr(error, "_desc", None) or str(error)
    return clean_message(description) or type(error).__name__


def _of_unknown_table(message: str) -> str | None:
    """Return what to do where a table lies that the metastore, this process's own, has not."""
    found = _NOT_KNOWN.search(message)
    if not found or not _is_alone() or not Path(found["folder"], "_delta_log").is_dir():
        return None
    table = found["table"].replace("`", "").removeprefix("spark_catalog.")
    return (
        f"{found['folder']} has a table that the metastore does not know ({found['condition']}). "
        "If no other TIDEMARK_HOME writes to the table, register the table, by `sql create "
        f"table {table} using delta location '{found['folder']}'` in `tidemark shell`; else "
        "choose another schema or warehouse"
    )


def _is_alone() -> bool:
    """Say whether this process has an embedded metastore: nobody else makes tables by it."""
    try:
        holder = tidemark_home().metastore_lock.with_suffix(".pid").read_text(encoding="utf-8")
    except OSError:
        return False
    return holder.strip() == str(os.getpid())


def java_throwable(error: BaseException) -> Any:
    """Return the Java exception behind one of PySpark or Py4J, or None."""
    return getattr(error, "_origin", None) or getattr(error, "java_exception", None)


def _java_messages(throwable: Any) -> Iterator[str]:
    for _ in range(25):
        if throwable is None:
            return
        message = throwable.getMessage()
        yield str(message) if message else str(throwable.getClass().getSimpleName())
        throwable = throwable.getCause()


def error_details(error: BaseException) -> str:
    """Return all that is known about an error, for the log."""
    trace = getattr(error, "_stackTrace", None) or error
    return _without_pepper(f"{type(error).__name__}: {trace}")
