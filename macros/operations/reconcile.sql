{#- What `tidemark replicator reconcile` asks of a mirrored table; the answer is a line of JSON. Without `ask`
    the columns of the current table are described; else see reconcile_sql(). -#}
{%- macro reconcile(entity, ask=none, columns=none, keys=0, scope=none) -%}
    {%- set cfg = tidemark.entity_config(tidemark.entity_node(entity)) -%}
    {%- set relation = cfg['target'] -%}
    {%- if ask is none -%}
        {%- set found = tidemark.describe_query('select * from ' ~ relation)
            if tidemark.relation_exists(relation) else [] -%}
        {%- set found = found | rejectattr('name', 'in', tidemark.reserved_columns()) | list -%}
        {%- set answer = {
            'relation': relation | string, 'columns': found, 'keys': cfg['keys'],
            'sensitive': cfg['sensitive'],
            'ordered': cfg['sequence_by'] | length > 0,
        } -%}
    {%- else -%}
        {%- set answer = tidemark.json_rows(tidemark.reconcile_sql(relation, columns, keys, ask, scope)) -%}
    {%- endif -%}
    {%- do log('tidemark reconcile ' ~ tojson(answer), info=true) -%}
{%- endmacro -%}
