"""The columns of a source's tables, as its catalogue has them."""

from __future__ import annotations

from tidemark.capture.checks.findings import Queries
from tidemark.capture.config import BINLOG, CaptureConfig
from tidemark.capture.properties import selects
from tidemark.replicator.reconcile.dialects import form_of
from tidemark.replicator.reconcile.forms import SourceColumn

_POSTGRES = """
select n.nspname || '.' || c.relname, a.attname,
       case when a.attndims > 1 then format_type(a.atttypid, a.atttypmod) || '[]'
            when t.typtype = 'e' then 'enum'
            when i.typtype = 'e' then 'enum[]'
            when t.typtype = 'd' then format_type(t.typbasetype, t.typtypmod)
            else format_type(a.atttypid, a.atttypmod) end
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
join pg_type t on t.oid = a.atttypid
left join pg_type i on i.oid = t.typelem and t.typelem <> 0 and t.typlen = -1
where c.relkind in ('r', 'p')
  and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\\_%'
order by n.nspname, c.relname, a.attnum
"""
_BINLOG = """
select concat(c.table_schema, '.', c.table_name), c.column_name,
       case when c.data_type = 'bit' then c.column_type else c.data_type end
from information_schema.columns c
join information_schema.tables t
  on t.table_schema = c.table_schema and t.table_name = c.table_name and t.table_type = 'BASE TABLE'
where c.table_schema not in ('mysql', 'sys', 'performance_schema', 'information_schema')
order by c.table_schema, c.table_name, c.ordinal_position
"""
_SQLSERVER = """
select c.table_schema + '.' + c.table_name, c.column_name, c.data_type
from information_schema.columns c
join information_schema.tables t
  on t.table_schema = c.table_schema and t.table_name = c.table_name and t.table_type = 'BASE TABLE'
order by c.table_schema, c.table_name, c.ordinal_position
"""
_ORACLE = """
select c.owner || '.' || c.table_name, c.column_name, regexp_replace(c.data_type, '[(][0-9]+[)]')
from all_tab_columns c
join all_tables t on t.owner = c.owner and t.table_name = c.table_name
order by c.owner, c.table_name, c.column_id
"""


def source_columns(config: CaptureConfig, database: Queries) -> dict[str, list[SourceColumn]]:
    """Return the columns of the captured tables, in order, by `schema.table`."""
    if config.connector in BINLOG:
        question = _BINLOG
    else:
        question = {"postgresql": _POSTGRES, "sqlserver": _SQLSERVER, "oracle": _ORACLE}[
            config.connector
        ]
    tables: dict[str, list[SourceColumn]] = {}
    for table, column, type_ in database.query(question):
        if selects(config, table):
            form = form_of(config.connector, str(type_))
            tables.setdefault(str(table), []).append(SourceColumn(str(column), str(type_), form))
    return tables
