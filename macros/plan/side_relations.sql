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


{#- One relation beside `current`: the same place, the model's name plus two underscores plus `name`. -#}
{%- macro side_relation(current, name) -%}
    {{ return(api.Relation.create(
        database=current.database, schema=current.schema, identifier=current.identifier ~ '__' ~ name
    )) }}
{%- endmacro -%}
