{#- The log of an entity: every change ever recorded, superseded rows included. In this project itself the
    name hides dbt's own `log(message, info)`, which dbt's macros call too: so a message goes where it would
    have gone, as far as a macro can send it. -#}
{%- macro log(relation, info=false) -%}
    {%- if relation is string -%}
        {%- if info -%}{%- do print(relation) -%}{%- endif -%}
        {{ return('') }}
    {%- endif -%}
    {{ return(tidemark._beside(relation, 'log')) }}
{%- endmacro -%}

{#- A side relation that, as `ref()` does, yields no rows under --empty. -#}
{%- macro _beside(relation, name) -%}
    {%- do tidemark._check_entity_relation(relation, name) -%}
    {{ return(tidemark.side_relation(relation, name).incorporate(limit=relation.limit)) }}
{%- endmacro -%}

{#- Only the entity itself has side relations. While dbt parses, ref() is the model's own relation: nothing to
    check. -#}
{%- macro _check_entity_relation(relation, macro_name) -%}
    {%- if not execute -%}{{ return(none) }}{%- endif -%}
    {%- if relation is string or relation is none or not relation.identifier -%}
        {%- do tidemark.raise_error('usage',
            'tidemark.' ~ macro_name ~ " takes the relation of an entity, found: " ~ relation
                ~ ". Write the call as in tidemark." ~ macro_name ~ "(ref('airports'))"
        ) -%}
    {%- endif -%}
    {%- set base, _, side = relation.identifier.rpartition('__') -%}
    {%- if base and side in ['log', 'history', 'rejects', 'sensitive', 'supplied', 'staging'] -%}
        {%- do tidemark.raise_error('usage',
            'tidemark.' ~ macro_name ~ ' takes the entity itself, not its ' ~ side ~ ": write ref('" ~ base
                ~ "'), found: " ~ relation
        ) -%}
    {%- endif -%}
{%- endmacro -%}
