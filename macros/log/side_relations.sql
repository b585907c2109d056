{#- The relations of an entity, by what they hold. The names are public: `airports__log`, the view
    `airports__history`, … -#}
{%- macro side_relations(current) -%}
    {%- set relations = {'current': current} -%}
    {%- for name in ['log', 'history', 'rejects', 'sensitive', 'supplied', 'staging', 'landed'] -%}
        {%- do relations.update({name: tidemark.side_relation(current, name)}) -%}
    {%- endfor -%}
    {{ return(dict(relations, log_table=relations['log'])) }}
{%- endmacro -%}

{#- One relation beside `current`: the same place, the model's name plus two underscores plus `name`. -#}
{%- macro side_relation(current, name) -%}
    {{return(api.Relation.create(database=current.database, schema=current.schema,
        identifier=current.identifier ~ '__' ~ name)) }}
{%- endmacro -%}

{#- The relation that a full refresh fills before it takes the name of the old one. -#}
{%- macro new_relation(relation) -%}
    {{ return(relation.incorporate(path={'identifier': relation.identifier ~ '__new'})) }}
{%- endmacro -%}

{#- The name that a replaced relation is kept under. -#}
{%- macro old_relation(relation, commit_id) -%}
    {{ return(relation.incorporate(path={'identifier': relation.identifier ~ '_' ~ commit_id})) }}
{%- endmacro -%}

{#- A session-local view of one model's run; the schema is part of the name, as sessions may be shared. -#}
{%- macro run_view(current, name) -%}
    {{ return(tidemark.quote_identifier('tidemark__' ~ current.schema ~ '__' ~ current.identifier ~ '__'
        ~ name)) }}
{%- endmacro -%}
