{#- What a batch of events holds, up to a landing number if one is given, a row per kind, problem, schema and
    table: counts and the shapes of its images. -#}
{%- macro event_figures_sql(events, up_to=none) -%}
select
    _kind,
    if(_kind = 'unreadable', _problem, null) as _problem,
    if(_kind = 'row', md5(_schema_text), null) as _schema_id,
    if(_kind = 'row', any_value(_schema_text), null) as _schema_text,
    if(_kind in ('row', 'truncate'), concat_ws('.', _database, _table), null) as _table_name,
    count(*) as _row_count,
    min(_landing_num) as _first_num,
    max(_landing_num) as _last_num,
    to_json(collect_set(map_keys(_after))) as _after_shapes,
    to_json(collect_set(map_keys(_before))) as _before_shapes
from {{ events }}
{%- if up_to is not none %}
where _landing_num < {{ up_to }}
{%- endif %}
group by all
{%- endmacro -%}

{#- The DDL events of a batch, in landing order. The number of a row, which is not deterministic, keeps Spark
    from working out the kind within the filter: where a stage is too large to be compiled as a whole, the
    code that Spark 4.1 makes of such a predicate alone ends in a NullPointerException, as a common part of it
    is taken before it is there. -#}
{%- macro ddl_events_sql(events) -%}
select
    _landing_num,
    _sequence_num,
    _operation,
    _database,
    _table,
    _prev_table,
    _schema,
    _primary_key,
    _ddl,
    _ddl_database,
    _table_changes,
    _is_snapshot,
    _is_captured,
    -- with its offset: an hour that comes twice is told apart by nothing else
    date_format(_event_time, 'yyyy-MM-dd HH:mm:ss.SSSSSSXXX') as _event_time,
    md5(concat_ws('|', _identity, _content)) as _event_id
from (
    select
        *,
        monotonically_increasing_id() as _tidemark_row
    from {{ events }}
)
where _kind = 'ddl'
order by _landing_num asc nulls last, _sequence_num asc nulls last, _tidemark_row asc nulls last
{%- endmacro -%}

{#- The type of the after images, as Spark sees their JSON: `OBJECT<id: BIGINT, name: STRING>`. -#}
{%- macro inferred_schema_sql(events) -%}
select schema_of_variant_agg(try_parse_json(_after_json))
from (
    {#- for the same reason as above #}
    select
        _after_json,
        if(monotonically_increasing_id() >= 0, _kind, null) as _parsed_kind
    from {{ events }}
)
where _parsed_kind = 'row' and _after_json is not null
{%- endmacro -%}

{#- The figures of a stretch of events as aggregates over the rows that it adds to the log. -#}
{%- macro figures_of_events() -%}
    {%- set figures = tidemark.figures_of_operations() -%}
    {%- do figures.update({'rows_logged': 'count(*)'}) -%}
    {{ return(figures) }}
{%- endmacro -%}
