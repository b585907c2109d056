{#- An entity's current table, log or history with its sensitive columns joined back. A change has its own
    sensitive values, those its commit wrote. Current has those of the change that its row is of. -#}
{%- macro with_sensitive(relation) -%}
{%- if relation is string or relation is none -%}{%- do tidemark._check_entity_relation(relation,
    'with_sensitive') -%}{%- endif -%}
{%- set base, _, side = relation.identifier.rpartition('__') -%}
{%- set is_current = not (base and side in ['log', 'history']) -%}
{%- set entity = relation if is_current else relation.incorporate(path={'identifier': base}) -%}
{%- set flow = tidemark.flow_of(entity) -%}
{%- set own = '_key_hash, _row_hash, _business_date, _commit_id'
    ~ (', _event_id' if flow['flow'] == 'events' else '') -%}
{%- set sensitive = tidemark.sensitive(entity) -%}
{%- if is_current -%}
{%- set node = tidemark.node_of(entity) if execute and graph is defined -%}
{%- set cfg = flow.get('cfg') or (tidemark.entity_config(node) if node else {}) -%}
{%- set by_change = tidemark.is_sensitive_by_change(tidemark.sensitive_columns_of(cfg)) if cfg else false -%}
select
    stored.*,
    sensitive.* except ({{ own }}, _tidemark_rank)
from {{ relation }} as stored
left join (
    {{ tidemark.sensitive_of_current_sql(flow, tidemark.log(entity), sensitive, by_change) | indent(4) }}
) as sensitive
    on stored._key_hash <=> sensitive._key_hash and stored._row_hash <=> sensitive._row_hash
        and sensitive._tidemark_rank = 1
    {%- if by_change %}
    and stored._eff_start_date <=> sensitive._business_date
    {%- endif %}
{%- else -%}
select
    stored.*,
    sensitive.* except ({{ own }})
from {{ relation }} as stored
left join {{ sensitive }} as sensitive
    on
        {{ tidemark.same_row_expr(tidemark.sensitive_key(flow), 'stored', 'sensitive', '<=>') | indent(8) }}
{%- endif -%}
{%- endmacro -%}
