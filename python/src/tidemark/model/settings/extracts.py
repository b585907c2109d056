"""Settings of entities that are read from extracts."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tidemark.model.settings.constraints import (
    FORBID_WHERE_NO_LOCATION,
    NO_PEPPER_FOR_STORED_HASHES,
    MaxRejectFraction,
    Name,
    Names,
    OptionValue,
    Retention,
)
from tidemark.model.settings.row_rules import RULES, RowRule
from tidemark.model.settings.unit_tests import UNIT_TESTS, UnitTest


class LogSettings(BaseModel):
    """Settings of every entity that has a log, wherever its changes come from."""

    model_config = ConfigDict(extra="forbid")

    ignore: Names = Field(
        default=[],
        description=(
            "Columns carried but never compared, such as loaded_at. They take the value of "
            "the last real change."
        ),
    )
    sensitive: Names = Field(
        default=[],
        description=(
            "Columns stored apart, in <entity>__sensitive, so that they can be granted, "
            "masked or erased apart. A secret (TIDEMARK_PEPPER) goes into their hash. Rejects, "
            "staging and messages mask them."
        ),
    )
    hash: Literal["md5", "sha256"] = Field(
        default="md5",
        description=(
            "The hash function for keys and rows. md5 is good enough to find changes. Take sha256 "
            "if a policy asks for it. A change needs `rehash` or --full-refresh."
        ),
    )
    soft_delete: bool = Field(
        default=False,
        description=(
            "true: deleted rows stay in the current table with _operation D. false: they leave it."
        ),
    )
    changed_columns: bool = Field(
        default=True,
        description=(
            "Record in the log which columns an update changed (_changed_columns, an array of"
            " names)."
        ),
    )
    null_keys: Literal["reject", "allow"] = Field(
        default="reject",
        description=(
            "reject: a row with NULL in a key column is a reject. allow: NULL is a value of a"
            " composite key."
        ),
    )
    on_reject: Literal["fail", "quarantine"] = Field(
        default="fail",
        description=(
            "What happens to rows that cannot be used (NULL or duplicate key, failed cast, "
            "broken not_null). fail: the load stops before anything is written. quarantine: they "
            "go to <entity>__rejects, and the load goes on. The run counts them by reason."
        ),
    )
    max_reject_fraction: MaxRejectFraction = 0.5
    feed_images: list[Literal["change", "pre", "post"]] | Literal["change", "pre", "post"] = Field(
        default=["change", "pre", "post"],
        description=(
            "What the change feed shows for a change, if the query does not choose. change: the "
            "new values of the columns that changed. pre: the row before. post: the row after."
        ),
    )
    feed_retention: Retention | None = Field(
        default=None,
        description=(
            "How far back you can ask the change feed, such as '30 days'. `clean` draws the "
            "line. Left out: always."
        ),
    )
    superseded_retention: Retention | None = Field(
        default=None,
        description=(
            "How long `clean` keeps log rows that a correction replaced, and the logs that a "
            "full refresh or a rehash replaced. Left out: always."
        ),
    )
    history_retention: Retention | None = Field(
        default=None,
        description=(
            "How long `clean` keeps rows of the history that later ones followed. It never "
            "removes rows of the current table. Left out: always. Needs a unique_key."
        ),
    )
    rejects_retention: Retention | None = Field(
        default=None,
        description=(
            "How long `clean` keeps rejects. Those of the last load of a date stay, because a "
            "late date needs them. Left out: always."
        ),
    )
    write_mode: Literal["copy_on_write", "merge_on_read"] = Field(
        default="copy_on_write",
        description=(
            "copy_on_write: a change writes each file again that has one of its rows. "
            "merge_on_read: it marks rows in these files (deletion vectors), until `compact` "
            "writes them. Only for file_format: delta."
        ),
    )
    engine: Literal["auto", "spark", "workers"] | None = Field(
        default=None,
        description=(
            "The engine that loads. spark: Spark SQL, which can do everything. workers: DuckDB in "
            "Spark's workers, which is faster, if the result is the same. Otherwise Spark SQL "
            "does it, and the console says why. auto: the same, but only the log says why. Left "
            "out: the var tidemark__engine, or auto."
        ),
    )
    rules: list[RowRule] = Field(default=[], description=RULES)
    unit_tests: list[UnitTest] = Field(default=[], description=UNIT_TESTS)


class ColumnsIncluded(BaseModel):
    """A choice of columns by those that it has."""

    model_config = ConfigDict(extra="forbid")

    include: Names = Field(description="These columns and no others.")


class ColumnsExcluded(BaseModel):
    """A choice of columns by those that it leaves out."""

    model_config = ConfigDict(extra="forbid")

    exclude: Names = Field(description="All columns but these.")


class Scope(BaseModel):
    """The columns that say which part of all rows a full extract holds."""

    model_config = ConfigDict(extra="forbid")

    columns: Names = Field(
        description=(
            "Columns of the model. Each is in unique_key or is compared as it is; it is not "
            "sensitive and has no compare_as. NULL is a value like others."
        ),
    )


class ExtractSettings(LogSettings):
    """Settings of a `materialized: cdc` model whose SQL yields extracts."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"allOf": [*FORBID_WHERE_NO_LOCATION, NO_PEPPER_FOR_STORED_HASHES]},
    )

    extract: Literal["full", "delta"] = Field(
        description=(
            "What an extract holds. full: every row, so a missing key was deleted. delta: only "
            "rows that may have changed, so a missing key was not supplied. A change holds from "
            "the next date on."
        ),
    )
    scope: Scope | None = Field(
        default=None,
        description=(
            "For extract: full. An extract is complete only for the values that it holds in "
            "these columns, such as {columns: [region]}. Rows with other values were not "
            "supplied, and stay. A scope that you add or take out holds from the next date on. "
            "Other columns need a new log. Left out: an extract holds every row."
        ),
    )
    location: Name | None = Field(
        default=None,
        description=(
            "File, folder or glob that tidemark.extract() reads. {business_date} stands for "
            "the date of the run as 2026-03-04; {yyyy}, {mm} and {dd} stand for its parts. "
            "Left out: the model's SQL says where rows come from."
        ),
    )
    format: Literal["csv", "json", "parquet"] = Field(
        default="csv",
        description="Format of the files at location. json is JSON lines: one object per line.",
    )
    options: dict[str, OptionValue] = Field(
        default={},
        description=(
            "Spark reader options for location, such as sep, nullValue, encoding, dateFormat. "
            "CSV has a header, UTF-8 and RFC 4180 quotes by default. An empty field is NULL, a "
            "quoted empty one is ''. For a CSV file in another encoding write, for example, "
            "encoding: windows-1252. JSON lines are UTF-8. Options without effect, such as "
            "locale, are refused: values are read as text, and Spark SQL casts them."
        ),
    )
    compare: ColumnsIncluded | ColumnsExcluded | None = Field(
        default=None,
        description=(
            "Which columns are compared: {include: […]} or {exclude: […]}. ignore is the short "
            "form of exclude. The other columns are carried, and make no versions. With include, "
            "this holds for columns that appear later, too. You may name a column before it "
            "exists. Left out: all columns."
        ),
    )
    stored_hashes: bool = Field(
        default=False,
        description=(
            "true: the model itself supplies _key_hash and _row_hash. They are taken as they are."
        ),
    )
    tag_unchanged: bool = Field(
        default=False,
        description=(
            "true: every row of the current table has its operation for the last business date, "
            "also N (unchanged) and X (not supplied). false: only changed rows are written, "
            "which is cheaper."
        ),
    )
    effective_from: str | None = Field(
        default=None,
        description=(
            "The column of dates or timestamps that says since when a row holds. An interval of "
            "scd2 begins at its value, if that is later than the begin of the version before. "
            "Otherwise, and for a delete, it begins at the business date."
        ),
    )
    max_delete_fraction: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description=(
            "Guard of deletes (delete storm). A full extract that is empty, or would delete more "
            "than this part of the current table, stops the run. --vars 'allow_deletes: true' "
            "lets it through once. For a date that comes again, the part is of the rows of that "
            "date. With scope, it is of the rows in the scopes that came, and an empty extract "
            "deletes nothing."
        ),
    )


Policy = Literal["apply", "ignore", "fail"]
