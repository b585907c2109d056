{#- The relations of an entity, by what they hold. The names are public: `airports__log`, the view `airports__history`, … -#}
{%- macro side_relations(current, file_format='delta') -%}
    {%- set relations = {'current': current} -%}
    {%- for name in ['log', 'history', 'rejects', 'sensitive', 'supplied', 'staging', 'landed'] -%}
        {%- do relations.update({name: tidemark.side_relation(current, name)}) -%}
    {%- endfor -%}
    {#- A Parquet log is a view over immutable slices, see parquet__create_log(). -#}
    {%- do relations.update({
        'log_table': tidemark.side_relation(current, 'log_slices') if file_format == 'parquet' else relations['log'],
    }) -%}
    {{ return(relations) }}
{%- endmacro -%}

{#- Whether an entity's log has another table format than its settings: only a full refresh goes from one to the other. -#}
{%- macro changes_format(cfg, recorded) -%}
    {{ return(recorded is not none and recorded['file_format'] != cfg['file_format']) }}
{%- endmacro -%}

{#- One relation beside `current`: the same place, the model's name plus two underscores plus `name`. -#}
{%- macro side_relation(current, name) -%}
    {{return(api.Relation.create(database=current.database, schema=current.schema, identifier=current.identifier ~ '__' ~ name)) }}
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
    {{ return(tidemark.quote_identifier('tidemark__' ~ current.schema ~ '__' ~ current.identifier ~ '__' ~ name)) }}
{%- endmacro -%}
