{#- How many of the updates that a load would log change each column. -#}
{%- macro planned_columns_sql(rows, has_marks) -%}
select
    column_name,
    count(*) as row_count
from (
    select explode(_changed_columns) as column_name
    from {{ rows }}
    where _operation = 'U' {{- ' and _supersedes is null' if has_marks }}
)
group by column_name
order by row_count desc nulls last, column_name asc nulls last
{%- endmacro -%}

{#- How many rows of other business dates a load would log, and mark as superseded. -#}
{%- macro planned_dates_sql(rows, has_marks, business_date) -%}
select
    _business_date,
    count_if({{ '_supersedes is null' if has_marks else 'true' }}) as rows_logged,
    count_if({{ '_supersedes is not null' if has_marks else 'false' }}) as rows_superseded
from {{ rows }}
where _business_date <> date'{{ business_date }}'
group by _business_date
order by _business_date asc nulls last
{%- endmacro -%}

{#- How many rows cannot be used, by reason. -#}
{%- macro planned_rejects_sql(rejects) -%}
select
    _reject_reason,
    count(*) as row_count
from {{ rejects }}
where _reject_reason is not null
group by _reject_reason
order by row_count desc nulls last, _reject_reason asc nulls last
{%- endmacro -%}

{#- How many files of current have a row that a load would change or take away. -#}
{%- macro planned_files_sql(current, rows, has_marks) -%}
select count(distinct current._metadata.file_path) as file_count
from {{ current }} as current
left semi join (
    select _key_hash
    from {{ rows }}
    where _operation in ('U', 'D') {{- ' or _supersedes is not null' if has_marks }}
) as touched on current._key_hash = touched._key_hash
{%- endmacro -%}
