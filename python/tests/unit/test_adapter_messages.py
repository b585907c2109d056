"""Error texts as Spark 4.1 and Delta 4.4 give them, and what is left for the reader."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from tidemark.spark.messages import best_message, clean_message, error_details, readable_error

UNRESOLVED = """[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `nope` cannot be resolved. Did you mean one of the following? [`id`, `v`]. SQLSTATE: 42703; line 1 pos 7;
'Project ['nope]
+- SubqueryAlias spark_catalog.default.d
   +- Relation spark_catalog.default.d[id#1582L,v#1583] parquet
"""

PARSE = """
[PARSE_SYNTAX_ERROR] Syntax error at or near 'selec'. SQLSTATE: 42601 (line 3, pos 0)

== SQL ==
/* {"app": "dbt"} */

selec 1
^^^
"""

TASK = """Job aborted due to stage failure: Task 0 in stage 25.0 failed 1 times, most recent failure: Lost task 0.0 in stage 25.0 (TID 266) (192.0.2.2 executor driver): org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] bad row SQLSTATE: P0001
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.raiseError(QueryExecutionErrors.scala:2746)
\tat java.base/java.lang.Thread.run(Thread.java:840)

Driver stacktrace:
"""

WORKER = """org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/pyspark/python/lib/pyspark.zip/pyspark/worker.py", line 1890, in main
    process()
  File "models/cities.py", line 5, in check
    raise ValueError(f"odd name {name}")
ValueError: odd name Oslo

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:604)
"""

SLICE_IS_GONE = (
    "another run of cities began after this run, and removed the staged rows of this run. Run "
    "the model again"
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            UNRESOLVED,
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with "
            "name `nope` cannot be resolved. Did you mean one of the following? [`id`, `v`] "
            "(line 1, pos 7)",
        ),
        (
            PARSE,
            "[PARSE_SYNTAX_ERROR] Syntax error at or near 'selec' (line 3, pos 0)\nselec 1\n^^^",
        ),
        (TASK, "bad row"),
        (
            "org.apache.iceberg.exceptions.ValidationException: Found conflicting files that can contain "
            'records matching ref(name="_commit_id") > 12: [file:/lake/log/00000-29.parquet]',
            "another run has written to the same rows of this table since this run began. This "
            "run wrote nothing there. Run the model again",
        ),
        (
            "io.delta.exceptions.ConcurrentAppendException: [DELTA_CONCURRENT_APPEND.WITHOUT_HINT] Transaction conflict "
            "detected. a concurrent MERGE added data to table spark_catalog.shop.claims committed at version 2. The concurrent "
            "operation modified data that should have been read by this operation. Please retry the operation.",
            "another run has written to the same rows of shop.claims since this run began. "
            "This run wrote nothing there. Run the model again",
        ),
        (
            "[TABLE_OR_VIEW_NOT_FOUND] The table or view `shop`.`cities__slice_260304093000123_log` cannot be found. Verify "
            "the spelling and correctness of the schema and catalog. SQLSTATE: 42P01; line 3 pos 5;\n'Project [*]",
            SLICE_IS_GONE,
        ),
        (
            "org.apache.spark.SparkException: [FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file "
            "file:/lake/shop.db/cities__slice_260304093000123_log/part-00000.snappy.parquet. File does not exist.",
            SLICE_IS_GONE,
        ),
        (
            "[DELTA_CONCURRENT_DELETE_READ.WITH_PARTITION_HINT] Transaction conflict detected, a concurrent DELETE deleted data "
            "from table shop.cities (committed at version 7) that this transaction read.",
            "another run has written to the same rows of shop.cities since this run began. "
            "This run wrote nothing there. Run the model again",
        ),
        (
            "[DELTA_METADATA_CHANGED] MetadataChangedException: The metadata of the Delta table shop.cities has been changed by a "
            "concurrent update. Please try the operation again.\nConflicting commit: {}",
            "another run has written to the same rows of shop.cities since this run began. "
            "This run wrote nothing there. Run the model again",
        ),
        (
            "[DELTA_CONCURRENT_WRITE] ConcurrentWriteException: A concurrent transaction has written new data since the current "
            "transaction read the table. Please try the operation again.\nConflicting commit: {}\nRefer to the docs for more.",
            "another run has written to the same rows of this table since this run began. This "
            "run wrote nothing there. Run the model again",
        ),
        (
            "java.io.IOException: Mkdirs failed to create file:/lake/log/x (exists=false, cwd=file:/shop)",
            "the folder file:/lake/log/x cannot be made: the disk is full or read-only, or not this user's",
        ),
        (
            WORKER,
            'Traceback (most recent call last):\n  File "models/cities.py", line 5, in check\n'
            '    raise ValueError(f"odd name {name}")\nValueError: odd name Oslo',
        ),
        (
            "[PATH_NOT_FOUND] Path does not exist: file:/nowhere. SQLSTATE: 42K03; line 1 pos 14;\n"
            "'Project [*]\n+- 'UnresolvedRelation [csv, /nowhere]",
            "[PATH_NOT_FOUND] Path does not exist: file:/nowhere (line 1, pos 14)",
        ),
        (
            "[TABLE_OR_VIEW_NOT_FOUND] The table `evnts` cannot be found. SQLSTATE: 42P01; line 3 pos 83;\n"
            "'CreateViewCommand `x`, select * from evnts, false, true",
            "[TABLE_OR_VIEW_NOT_FOUND] The table `evnts` cannot be found (line 3, pos 83)",
        ),
        (
            "org.apache.hadoop.hive.ql.metadata.HiveException: java.lang.RuntimeException: no room",
            "no room",
        ),
        ("x\n\nJVM stacktrace:\norg.apache.spark.Foo\n\tat a.b.C(D.scala:1)", "x"),
        ("", ""),
    ],
)
def test_clean_message(text: str, wanted: str) -> None:
    assert clean_message(text) == wanted


WORKERS_PYTHON = """org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, most recent failure: Lost task 0.3 in stage 3.0 (TID 9) (127.0.0.1 executor 1): org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/pyspark/worker.py", line 1890, in main
    raise PySparkRuntimeError(
{error}

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:604)
"""
HOW_TO = "by spark.pyspark.python (python/docs/how-to/cluster.md)"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            # as the cause has it, without the name of its class
            WORKERS_PYTHON.replace(
                "{error}", "ModuleNotFoundError: No module named 'tidemark'"
            ).partition("PythonException: ")[2],
            "the Python of Spark's workers has no module tidemark: install it there, or name "
            f"another Python {HOW_TO}",
        ),
        (
            "Error from python worker:\n  /usr/bin/python3: Error while finding module specification for "
            "'pyspark.daemon' (ModuleNotFoundError: No module named 'pyspark')\nPYTHONPATH was:\n  /x",
            "the Python of Spark's workers has no module pyspark: install it there, or name "
            f"another Python {HOW_TO}",
        ),
        (
            WORKERS_PYTHON.replace(
                "{error}",
                "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has "
                "different version: 3.9 than that in driver: 3.11, PySpark cannot run with different minor versions.",
            ),
            "Spark's workers run Python 3.9, and this process Python 3.11: name the same version "
            + HOW_TO,
        ),
        (
            'Cannot run program "/opt/env/bin/python": error=2, No such file or directory',
            "Spark's workers cannot run /opt/env/bin/python: name a Python that every node has "
            + HOW_TO,
        ),
        (
            "Job aborted due to stage failure: Master removed our application: FAILED\nDriver stacktrace:\n",
            "the cluster removed this application, as its executors ended one after the other. "
            "Read their logs in the work folders of Spark's workers",
        ),
        (
            "Cannot call methods on a stopped SparkContext.\nThis stopped SparkContext was created at:\n\n"
            "org.apache.spark.api.java.JavaSparkContext.<init>(JavaSparkContext.scala:59)",
            "this application of Spark has ended. The cluster removed the application or does "
            "not answer, or the JVM was stopped. Read logs/spark.log for the cause",
        ),
    ],
)
def test_messages_of_a_cluster(text: str, wanted: str) -> None:
    assert clean_message(text) == wanted
    assert best_message(["[STAGE_FAILED] a stage failed", text]) == wanted


def test_raised_text_comes_out_untouched() -> None:
    text = "3 rows were rejected:\n'Project [x]\n== SQL ==\n  line 4 pos 2;\n" + "\n".join(
        f"row {number}" for number in range(50)
    )
    assert clean_message(f"[USER_RAISED_EXCEPTION] {text} SQLSTATE: P0001") == text


def test_long_messages_are_cut() -> None:
    assert len(clean_message("[X] y\n" + "- column\n" * 500).splitlines()) == 13
    assert len(clean_message("[X] " + "y" * 50_000)) < 3100


def test_best_message__of_a_closed_file() -> None:
    causes = [
        "[FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY] Failed to create plan for direct query on files: csv",
        "Job aborted due to stage failure: java.io.FileNotFoundException: /in/a_2026-03-04.csv (Permission denied)",
    ]
    assert best_message(causes).startswith(
        "/in/a_2026-03-04.csv cannot be opened: permission denied"
    )


def test_best_message__what_and_why() -> None:
    footer = (
        "[FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER] Encountered error while reading file x. "
        "Could not read footer. SQLSTATE: KD001"
    )
    assert (
        best_message(
            [
                "[FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY] Failed to create plan SQLSTATE: 58030",
                "Exception thrown in awaitResult: ",
                footer,
                "x is not a Parquet file. Expected magic number at tail",
            ]
        )
        == "x cannot be read: it is cut, or no Parquet file"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[PARQUET_TYPE_ILLEGAL] Illegal Parquet type: INT64 (TIMESTAMP(NANOS,false)). SQLSTATE: 42846", "a Parquet file has timestamps in nanoseconds, which Spark does not read. Write "
"microseconds (pandas and pyarrow: coerce_timestamps='us')"),
        ("[PARQUET_TYPE_ILLEGAL] Illegal Parquet type: FIXED_LEN_BYTE_ARRAY (FLOAT16). SQLSTATE: 42846", "a Parquet file has a column of FIXED_LEN_BYTE_ARRAY (FLOAT16), a type that Spark does "
"not read. Write another type"),
        ("[UNSUPPORTED_TIME_TYPE] The data type TIME is not supported. SQLSTATE: 0A000", "a column is of the type TIME, which tables do not have. Cast the column to a text at "
"its source"),
    ],
)  # fmt: skip
def test_types_that_are_not_read(text: str, said: str) -> None:
    assert clean_message(text) == said
    assert best_message(["An error occurred while calling o1.sql.", text]) == said


@pytest.mark.parametrize(
    "text",
    [
        "Invalid update timestamp 1795606086000: before last snapshot log entry at 1795652886000",
        "java.lang.IllegalArgumentException: Invalid update timestamp 1795606086000: before the latest metadata log entry timestamp 1795652886000",
        "[BUG] Expected sorted snapshot log entries.",
    ],
)
def test_clock_is_behind_that_of_an_iceberg_table(text: str) -> None:
    said = best_message(["An error occurred while calling o1.sql.", text])
    assert said.startswith("the clock of this machine is minutes or more behind")
    assert said.endswith("and run the model again") and "\n" not in said


def test_best_message__raised_by_the_user_wins() -> None:
    assert (
        best_message(
            [
                "[TASK_WRITE_FAILED] Task failed while writing rows. SQLSTATE: 58030",
                "[USER_RAISED_EXCEPTION] bad row SQLSTATE: P0001",
            ]
        )
        == "bad row"
    )


def test_best_message__without_any_text() -> None:
    assert best_message(["", "  "]) == "Spark gave no message"


def test_readable_error__of_a_python_exception() -> None:
    assert readable_error(ValueError("odd")) == "odd"
    assert readable_error(KeyError()) == "KeyError"


@pytest.mark.parametrize(
    ("causes", "said"),
    [
        (
            [
                "Job aborted due to stage failure",
                "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:/a/b%201.csv.gz. SQLSTATE: KD001",
                "java.io.EOFException: Unexpected end of input stream",
            ],
            "file:/a/b%201.csv.gz cannot be read: Unexpected end of input stream",
        ),
        (
            [
                "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:/a/b.csv.gz. SQLSTATE: KD001",
                "Unexpected end of input stream",
            ],
            "file:/a/b.csv.gz cannot be read: Unexpected end of input stream",
        ),
        (
            [
                "[FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER] Encountered error while reading file file:/a/b.parquet. "
                "Could not read footer. Please ensure that the file is in either ORC or Parquet format.\nIf not, …",
                "file:/a/b.parquet is not a Parquet file. Expected magic number at tail, but found [1, 2, 3, 4]",
            ],
            "file:/a/b.parquet cannot be read: it is cut, or no Parquet file",
        ),
        (
            [
                "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:/a/2.csv. SQLSTATE: KD001",
                "CSV header does not conform to the schema.\n Header: v, id\n Schema: id, v\nExpected: id but found: v",
            ],
            "file:/a/2.csv cannot be read: its columns are not those of the other files, in their order. "
            "Write all files of a date with the same columns",
        ),
        (
            [
                "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:/a/2.csv. SQLSTATE: KD001",
                "Number of column in CSV header is not equal to number of fields in the schema:\n Header length: 2, schema size: 3",
            ],
            "file:/a/2.csv cannot be read: its columns are not those of the other files, in their order. "
            "Write all files of a date with the same columns",
        ),
        (
            [
                "[FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH] Encountered error while reading file file:/a/2.parquet. SQLSTATE: KD001",
                "column: [n], physicalType: INT64, logicalType: int",
            ],
            "file:/a/2.parquet cannot be read: column n is INT64 in it, and int in another file: write all files with the same types",
        ),
    ],
)
def test_file_that_is_not_read(causes: list[str], said: str) -> None:
    assert best_message(causes) == said


def test_best_message__a_table_that_cannot_be_written() -> None:
    causes = [
        "[TASK_WRITE_FAILED] Task failed while writing rows to file:/lake/shop__log. SQLSTATE: 58030",
        "java.io.IOException: No space left on device",
    ]
    assert best_message(causes) == "file:/lake/shop__log cannot be written: No space left on device"


@pytest.mark.parametrize(
    "text",
    [
        "java.lang.OutOfMemoryError: Java heap space",
        "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: "
        "Lost task 0.0 in stage 3.0 (TID 7) (host executor driver): java.lang.OutOfMemoryError: "
        "Requested array size exceeds VM limit\n\tat java.base/java.util.Arrays.copyOf(Arrays.java:3481)",
    ],
)
def test_no_memory(text: str) -> None:
    said = best_message(["An error occurred while calling o7.count", text])
    assert said.startswith("Spark has run out of memory. Raise spark.driver.memory")
    assert "\n" not in said


def test_no_memory__of_a_jvm_that_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Python learns is that nobody answers; the JVM's exit code says why."""
    from pyspark import SparkContext

    ended = subprocess.Popen([sys.executable, "-c", "raise SystemExit(52)"])
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=ended))
    refused = ConnectionRefusedError(111, "Connection refused")
    assert readable_error(refused).startswith("Spark has run out of memory")
    other = subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"])
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=other))
    assert "Connection refused" in readable_error(refused)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    assert "Connection refused" in readable_error(refused)


def test_messages_and_details__without_the_pepper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's plans show literals, and so the secret that it has put into a statement."""
    monkeypatch.setenv("TIDEMARK_PEPPER", "a grain of salt")
    told = ValueError("cannot resolve sha2(concat(15, :, a grain of salt, 'phone)")
    for text in (readable_error(told), error_details(told)):
        assert "grain" not in text
        assert "${env:TIDEMARK_PEPPER}, 'phone" in text
    monkeypatch.setenv("TIDEMARK_PEPPER", "e")
    assert error_details(told) == f"ValueError: {told}"
