{#-
    An entity's current table, log or history with its sensitive columns joined back.

        select * from ({{ tidemark.with_sensitive(ref('customers')) }})
        select * from ({{ tidemark.with_sensitive(tidemark.history(ref('customers'))) }})

    A change has its own sensitive values, those its commit wrote. Current has those of the last change that gave the
    row its present hash.
-#}
{%- macro with_sensitive(relation) -%}
{%- if relation is string or relation is none -%}{%- do tidemark._check_entity_relation(relation, 'with_sensitive') -%}{%- endif -%}
{%- set base, _, side = relation.identifier.rpartition('__') -%}
{%- set is_current = not (base and side in ['log', 'history']) -%}
{%- set entity = relation if is_current else relation.incorporate(path={'identifier': base}) -%}
{%- set by_event = tidemark.flow_of(entity)['flow'] == 'events' -%}
{%- set own = '_key_hash, _row_hash, _business_date, _commit_id' ~ (', _event_id' if by_event else '') -%}
{%- set sensitive = tidemark.sensitive(entity) -%}
{%- if is_current -%}
select
    stored.*,
    sensitive.* except ({{ own }}, _tidemark_rank)
from {{ relation }} as stored
left join (
    select
        *,
        row_number() over (
            partition by _key_hash, _row_hash
            order by _commit_id desc nulls last, _business_date desc nulls last
        ) as _tidemark_rank
    from {{ sensitive }}
) as sensitive
    on stored._key_hash <=> sensitive._key_hash and stored._row_hash <=> sensitive._row_hash and sensitive._tidemark_rank = 1
{%- else -%}
select
    stored.*,
    sensitive.* except ({{ own }})
from {{ relation }} as stored
left join {{ sensitive }} as sensitive
    on
        stored._key_hash <=> sensitive._key_hash
        and stored._business_date <=> sensitive._business_date
        and stored._commit_id <=> sensitive._commit_id
        {%- if by_event %}
        and stored._event_id <=> sensitive._event_id
        {%- endif %}
{%- endif -%}
{%- endmacro -%}
