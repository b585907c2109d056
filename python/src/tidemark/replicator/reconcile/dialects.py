"""The SQL that a source is asked with: canonical texts, digests of rows, figures of buckets."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from tidemark.replicator.reconcile.forms import Column, Pairing
from tidemark.rules.quoted import back_ticked


@dataclass(frozen=True)
class Scope:
    """Some buckets: rows whose key has one of these remainders; without any, all rows.

    Attributes:
        modulus: How many buckets there are.
        residues: Which of them.
    """

    modulus: int
    residues: Sequence[int] | None = None


class Dialect(ABC):
    """A database's SQL. The canonical texts are those of `forms`."""

    # what makes times read as UTC and texts as they are
    session: Sequence[str] = ()

    # --- what differs

    def quote(self, name: str) -> str:
        """Return a name as SQL."""
        return '"' + name.replace('"', '""') + '"'

    @abstractmethod
    def text(self, value: str, type_: str, form: str) -> str:
        """Return the expression of a value's canonical text."""

    @abstractmethod
    def item(self, text: str) -> str:
        """Return a text with its length before it, so that joined texts stay apart."""

    def join(self, items: Sequence[str]) -> str:
        """Return the expression of joined texts."""
        return " || ".join(items)

    @abstractmethod
    def digest(self, text: str) -> str:
        """Return the MD5 of a text's UTF-8 bytes, in lower-case hexadecimal."""

    @abstractmethod
    def number(self, digest: str) -> str:
        """Return the first 60 bits of a digest as a number."""

    def modulo(self, number: str, modulus: int) -> str:
        """Return a remainder."""
        return f"mod({number}, {modulus})"

    @abstractmethod
    def total(self, number: str) -> str:
        """Return the exact sum of a group's numbers, as text."""

    # --- queries

    def table(self, name: str) -> str:
        """Return `schema.table` as SQL."""
        return ".".join(self.quote(part) for part in name.split(".", 1))

    def _rows(self, table: str, pairing: Pairing, *, texts: bool = False) -> list[str]:
        names = [f"c{number}" for number in range(1, len(pairing.columns) + 1)]
        keys = names[: pairing.keys] if pairing.keys else names
        kept = [f"        {name}," for name in names] if texts else []
        return [
            "with texts as (",
            "    select",
            ",\n".join(
                f"        {self.column_text(column)} as {name}"
                for name, column in zip(names, pairing.columns, strict=True)
            ),
            f"    from {self.table(table)}",
            "),",
            "",
            "digests as (",
            "    select",
            *kept,
            f"        {self.digest(self.join([self.item(name) for name in keys]))} as key_digest,",
            f"        {self.digest(self.join([self.item(name) for name in names]))} as row_digest",
            "    from texts",
            ")",
            "",
        ]

    def column_text(self, column: Column) -> str:
        """Return the canonical text of a column."""
        return self.text(self.quote(column.source), column.type, column.form)

    def _where(self, scope: Scope) -> list[str]:
        if scope.residues is None:
            return []
        numbers = ", ".join(str(number) for number in scope.residues)
        return [f"where {self.modulo(self.number('key_digest'), scope.modulus)} in ({numbers})"]

    def figures_sql(self, table: str, pairing: Pairing, modulus: int, scope: Scope) -> str:
        """Return the query of buckets: number, count of rows, sum of their digests."""
        bucket = self.modulo(self.number("key_digest"), modulus)
        lines = [
            *self._rows(table, pairing),
            "select",
            f"    {bucket} as bucket,",
            "    count(*) as row_count,",
            f"    {self.total(self.number('row_digest'))} as total",
            "from digests",
            *self._where(scope),
            f"group by {bucket}",
        ]
        return "\n".join(lines)

    def digests_sql(self, table: str, pairing: Pairing, scope: Scope) -> str:
        """Return the query of the rows of some buckets: digests of key and row, copies."""
        lines = [
            *self._rows(table, pairing),
            "select",
            "    key_digest,",
            "    row_digest,",
            "    count(*) as copies",
            "from digests",
            *self._where(scope),
            "group by key_digest, row_digest",
        ]
        return "\n".join(lines)

    def rows_sql(self, table: str, pairing: Pairing, digests: Sequence[str]) -> str:
        """Return the query of rows with their texts, by the digests of their keys."""
        names = [f"c{number}" for number in range(1, len(pairing.columns) + 1)]
        wanted = ", ".join(f"'{digest}'" for digest in digests)
        lines = [
            *self._rows(table, pairing, texts=True),
            "select",
            "    key_digest,",
            "    row_digest,",
            ",\n".join(f"    {name}" for name in names),
            "from digests",
            f"where key_digest in ({wanted})",
        ]
        return "\n".join(lines)


class Postgres(Dialect):
    """PostgreSQL."""

    session = ("set time zone 'UTC'", "set datestyle = 'ISO'", "set extra_float_digits = 3")

    _PLAIN = ("text", "character varying", "uuid", "json", "jsonb", "xml", "tsvector", "citext")

    def text(self, value: str, type_: str, form: str) -> str:
        if form.startswith("array:"):
            inner = self.text("e", type_.removesuffix("[]"), form.removeprefix("array:"))
            return (
                f"case when {value} is not null then (select '[' || coalesce(string_agg("
                f"{self.item('t')}, '' order by n), '') || ']' from (select n, {inner} as t "
                f"from unnest({value}) with ordinality as u (e, n)) as items) end"
            )
        if form == "boolean":
            return f"({value} = B'1')::text" if type_.startswith("bit") else f"{value}::text"
        if form == "decimal":
            plain = f"upper({value}::numeric::text)"
            return (
                f"case when {plain} like '%.%' then rtrim(rtrim({plain}, '0'), '.') "
                # as Debezium writes them
                f"when {plain} = 'INFINITY' then 'POSITIVE_INFINITY' "
                f"when {plain} = '-INFINITY' then 'NEGATIVE_INFINITY' else {plain} end"
            )
        if form == "double":
            return _postgres_double(f"{value}::float8")
        if form == "timestamp":
            return (
                f"case when isfinite({value}) then "
                f"(extract(epoch from date_trunc('second', {value}))::bigint * 1000000 "
                f"+ extract(microseconds from {value})::bigint % 1000000)::text "
                f"else {value}::text end"
            )
        if form == "time":
            return (
                f"to_char({value}, 'HH24:MI:SS') || case when extract(microseconds from {value})"
                f"::bigint % 1000000 = 0 then '' else to_char({value}, '.US') end"
            )
        if form == "bytes":
            return f"upper(encode({value}, 'hex'))"
        if form == "text" and type_ not in self._PLAIN:
            # a cast would take the padding of char(n) off, and add /32 to an address
            return f"case when {value} is not null then format('%s', {value}) end"
        return f"{value}::text"

    def item(self, text: str) -> str:
        return f"coalesce(char_length({text}) || ':' || {text} || ';', 'N;')"

    def digest(self, text: str) -> str:
        return f"md5(convert_to({text}, 'UTF8'))"

    def number(self, digest: str) -> str:
        return f"('x' || left({digest}, 15))::bit(60)::bigint"

    def total(self, number: str) -> str:
        return f"sum({number})::text"


def _postgres_double(value: str) -> str:
    bits = f"encode(float8send(abs({value})), 'hex')"
    exponent = f"('x' || lpad(left({bits}, 3), 8, '0'))::bit(32)::int"
    fraction = f"coalesce(nullif(rtrim(right({bits}, 13), '0'), ''), '0')"
    return (
        f"case when {value} in ('NaN', 'Infinity', '-Infinity') then {value}::text "
        f"when abs({value}) < 9007199254740992 and {value} = trunc({value}) "
        f"then {value}::bigint::text "
        f"when {value} is not null then case when {value} < 0 then '-' else '' end || "
        f"case when {exponent} = 0 then '0x0.' || {fraction} || 'p-1022' "
        f"else '0x1.' || {fraction} || 'p' || ({exponent} - 1023) end end"
    )


class MySql(Dialect):
    """MySQL and MariaDB."""

    session = ("set time_zone = '+00:00'", "set names utf8mb4")

    def quote(self, name: str) -> str:
        return back_ticked(name)

    def text(self, value: str, type_: str, form: str) -> str:
        if form == "boolean":
            return f"case when {value} = 0 then 'false' when {value} is not null then 'true' end"
        if form == "decimal":
            plain = f"cast({value} as char)"
            return (
                f"case when {plain} like '%.%' then trim(trailing '.' from "
                f"trim(trailing '0' from {plain})) else {plain} end"
            )
        if form == "double":
            return _mysql_double(f"cast({value} as double)")
        if form == "date":
            return f"date_format({value}, '%Y-%m-%d')"
        if form == "timestamp":
            return f"cast(timestampdiff(microsecond, '1970-01-01 00:00:00', {value}) as char)"
        if form == "time":
            return (
                f"concat(time_format({value}, '%H:%i:%s'), "
                f"case when microsecond({value}) = 0 then '' "
                # the sign would come again with %f
                f"else concat('.', lpad(microsecond({value}), 6, '0')) end)"
            )
        if form == "bytes":
            return f"hex({value})"
        if form == "text":
            return f"convert({value} using utf8mb4)"
        return f"cast({value} as char)"

    def item(self, text: str) -> str:
        return f"coalesce(concat(char_length({text}), ':', {text}, ';'), 'N;')"

    def join(self, items: Sequence[str]) -> str:
        return f"concat({', '.join(items)})"

    def digest(self, text: str) -> str:
        return f"md5(convert({text} using utf8mb4))"

    def number(self, digest: str) -> str:
        return f"cast(conv(left({digest}, 15), 16, 10) as unsigned)"

    def total(self, number: str) -> str:
        return f"cast(sum({number}) as char)"


def _mysql_double(value: str) -> str:
    size = f"abs({value})"
    # log2 may be off by one next to a power of 2, so that the exponent is looked at again
    near = f"least(greatest(floor(log2({size})), -1022), 1023)"
    ratio = f"({size} / pow(2, {near}))"
    exponent = f"({near} + ({ratio} >= 2) - ({ratio} < 1 and {near} > -1022))"
    mantissa = f"({size} / pow(2, {exponent}))"
    bits = f"cast(({mantissa} - ({mantissa} >= 1)) * 4503599627370496 as unsigned)"
    fraction = f"trim(trailing '0' from lpad(lower(conv({bits}, 10, 16)), 13, '0'))"
    return (
        f"case when {size} < 9007199254740992 and {value} = floor({value}) "
        f"then cast(cast({value} as signed) as char) "
        f"when {value} is not null then concat(case when {value} < 0 then '-' else '' end, "
        f"case when {mantissa} < 1 then '0x0.' else '0x1.' end, "
        f"coalesce(nullif({fraction}, ''), '0'), 'p', cast({exponent} as signed)) end"
    )


class SqlServer(Dialect):
    """SQL Server from 2019 on: collations of UTF-8 came with it."""

    _UTF8 = "collate Latin1_General_100_BIN2_UTF8"

    def quote(self, name: str) -> str:
        return "[" + name.replace("]", "]]") + "]"

    def text(self, value: str, type_: str, form: str) -> str:
        if form == "boolean":
            return f"case {value} when 0 then 'false' when 1 then 'true' end"
        if form == "decimal":
            plain = f"convert(varchar(50), {value})"
            # 2022 has rtrim with characters; this works everywhere
            zeros = f"patindex('%[^0]%', reverse({plain}) + '.')"
            cut = f"left({plain}, len({plain}) - {zeros} + 1)"
            return (
                f"case when {plain} like '%.%' then case when {cut} like '%.' "
                f"then left({cut}, len({cut}) - 1) else {cut} end else {plain} end"
            )
        if form == "date":
            return f"convert(char(10), {value}, 23)"
        if form == "timestamp":
            utc = f"switchoffset({value}, 0)" if type_ == "datetimeoffset" else value
            if type_ == "datetime":
                # three-hundredths of a second, sent as milliseconds
                utc = f"cast({value} as datetime2(3))"
            moment = f"cast({utc} as datetime2(6))"
            return (
                f"convert(varchar(20), datediff_big(second, '1970-01-01', {moment}) * 1000000 "
                f"+ datepart(microsecond, {moment}))"
            )
        if form == "bytes":
            return f"convert(varchar(max), {value}, 2)"
        if form == "text":
            if type_ == "uniqueidentifier":
                return f"convert(varchar(36), {value})"
            return f"convert(nvarchar(max), {value})"
        return f"convert(varchar(20), {value})"

    def item(self, text: str) -> str:
        # the length of SQL Server's own ignores blanks at the end, and counts UTF-16
        wide = f"({text} collate Latin1_General_100_BIN2_SC)"
        return (
            f"case when {text} is null then 'N;' "
            f"else concat(len({wide} + '.') - 1, ':', {text}, ';') end"
        )

    def join(self, items: Sequence[str]) -> str:
        return " + ".join(items)

    def digest(self, text: str) -> str:
        utf8 = f"convert(varchar(max), ({text}) {self._UTF8})"
        return f"lower(convert(char(32), hashbytes('MD5', {utf8}), 2))"

    def number(self, digest: str) -> str:
        return f"convert(bigint, convert(varbinary(8), '0' + left({digest}, 15), 2))"

    def modulo(self, number: str, modulus: int) -> str:
        return f"{number} % {modulus}"

    def total(self, number: str) -> str:
        return f"convert(varchar(40), sum(convert(decimal(38, 0), {number})))"


class Oracle(Dialect):
    """Oracle: of rows whose texts together stay below 4000 bytes."""

    session = ("alter session set time_zone = 'UTC'",)

    def text(self, value: str, type_: str, form: str) -> str:
        if form in ("integer", "decimal"):
            plain = f"to_char({value}, 'TM9', 'NLS_NUMERIC_CHARACTERS = ''.,''')"
            # Oracle leaves out the 0 before the point
            return f"regexp_replace({plain}, '^(-?)[.]', '\\10.')"
        if form == "timestamp":
            utc = f"sys_extract_utc({value})" if "TIME ZONE" in type_.upper() else value
            moment = f"cast({utc} as timestamp(6))"
            return (
                f"to_char((cast({moment} as date) - date '1970-01-01') * 86400 * 1000000 "
                f"+ to_number(to_char({moment}, 'FF6')), 'TM9')"
            )
        if form == "bytes":
            return f"rawtohex({value})"
        return f"to_char({value})"

    def item(self, text: str) -> str:
        return f"nvl2({text}, length({text}) || ':' || {text} || ';', 'N;')"

    def digest(self, text: str) -> str:
        return f"lower(rawtohex(standard_hash({text}, 'MD5')))"

    def number(self, digest: str) -> str:
        return f"to_number(substr({digest}, 1, 15), 'xxxxxxxxxxxxxxx')"

    def total(self, number: str) -> str:
        return f"to_char(sum({number}), 'TM9')"


DIALECTS: dict[str, Dialect] = {
    "postgresql": Postgres(),
    "mysql": MySql(),
    "mariadb": MySql(),
    "sqlserver": SqlServer(),
    "oracle": Oracle(),
}

_FORMS: dict[str, dict[str, str]] = {
    "postgresql": {
        "boolean": "boolean",
        **dict.fromkeys(("smallint", "integer", "bigint", "oid"), "integer"),
        **dict.fromkeys(("numeric", "money"), "decimal"),
        **dict.fromkeys(("real", "double precision"), "double"),
        "date": "date",
        "timestamp without time zone": "timestamp",
        "timestamp with time zone": "timestamp",
        "time without time zone": "time",
        "bytea": "bytes",
        **dict.fromkeys(
            (
                *("text", "character varying", "character", "citext", "ltree", "uuid", "json"),
                *("jsonb", "xml", "inet", "cidr", "macaddr", "macaddr8", "tsvector", "enum"),
                *("int4range", "int8range", "numrange", "tsrange", "daterange"),
            ),
            "text",
        ),
    },
    "mysql": {
        **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", "year"), "integer"),
        "decimal": "decimal",
        **dict.fromkeys(("float", "double"), "double"),
        "date": "date",
        **dict.fromkeys(("datetime", "timestamp"), "timestamp"),
        "time": "time",
        **dict.fromkeys(
            ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), "bytes"
        ),
        **dict.fromkeys(
            ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"), "text"
        ),
    },
    "sqlserver": {
        "bit": "boolean",
        **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
        **dict.fromkeys(("decimal", "numeric"), "decimal"),
        "date": "date",
        **dict.fromkeys(("datetime2", "datetime", "smalldatetime", "datetimeoffset"), "timestamp"),
        **dict.fromkeys(("binary", "varbinary"), "bytes"),
        **dict.fromkeys(("char", "varchar", "nchar", "nvarchar", "uniqueidentifier"), "text"),
    },
    "oracle": {
        "NUMBER": "decimal",
        "DATE": "timestamp",
        **dict.fromkeys(
            ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH LOCAL TIME ZONE"),
            "timestamp",
        ),
        "RAW": "bytes",
        **dict.fromkeys(("CHAR", "VARCHAR2", "NCHAR", "NVARCHAR2"), "text"),
    },
}


def form_of(connector: str, type_: str) -> str | None:
    """Return the canonical form of a source's type, None if it has none.

    Example:
        >>> form_of("postgresql", "numeric(12,3)"), form_of("postgresql", "uuid[]")
        ('decimal', 'array:text')
        >>> form_of("postgresql", "interval") is None
        True
    """
    forms = _FORMS["mysql" if connector == "mariadb" else connector]
    if connector == "postgresql" and type_.endswith("[]"):
        inner = form_of(connector, type_[:-2])
        # an item has no place for what to_char() needs
        return f"array:{inner}" if inner is not None and not inner.startswith("array") else None
    if (connector, type_) == ("postgresql", "bit(1)") or type_ == "bit(1)":
        return "boolean"
    return forms.get(re.sub(r"\([^)]*\)", "", type_).split(" unsigned")[0])
