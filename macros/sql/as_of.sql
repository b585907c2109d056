{#-
    The rows of an entity as they stood at the end of a business date: current, travelled back. With `known_at` as it was
    known when that commit was the last, that is, before later corrections.

        select * from ({{ tidemark.as_of(ref('airports'), '2026-03-04') }})
-#}
{%- macro as_of(relation, date, known_at=none) -%}
{%- do tidemark._check_entity_relation(relation, 'as_of') -%}
{%- if execute and not date -%}
    {%- do exceptions.raise_compiler_error("as_of needs a date such as '2026-03-04', found: '" ~ date ~ "'") -%}
{%- endif -%}
select
    * except (_business_date, _changed_columns, _commit_id, _superseded_by, _tidemark_rank)
from (
    select
        *,
        row_number() over (partition by _key_hash order by _business_date desc nulls last) as _tidemark_rank
    from {{ tidemark.log(relation) }}
    where
        {{ tidemark.in_force_expr(tidemark._known_at(known_at)) }}
        and _business_date <= date'{{ tidemark._business_date(date) if execute }}'
)
where _tidemark_rank = 1 and _operation <> 'D'
{%- endmacro -%}
