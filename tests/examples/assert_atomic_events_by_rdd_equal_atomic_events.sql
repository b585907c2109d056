-- The lines read by RDD become the same events as those that SQL reads, every column compared.
{%- set names = tidemark.column_list_expr(tidemark.enriched_columns() | map(attribute='name')) %}
(
    select {{ names }} from {{ ref('atomic_events') }}
    except all
    select {{ names }} from {{ ref('atomic_events_by_rdd') }}
)
union all
(
    select {{ names }} from {{ ref('atomic_events_by_rdd') }}
    except all
    select {{ names }} from {{ ref('atomic_events') }}
)
