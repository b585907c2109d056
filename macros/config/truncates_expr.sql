{#- The condition for events that delete all rows: what is a truncate by itself, and what a setting says
    beside it. Rows that are no events have only the latter. -#}
{%- macro truncates_expr(cfg) -%}
    {%- set given = cfg['apply_as_truncates'] -%}
    {{ return(given if cfg['format'] == 'rows' or given == tidemark.usual_truncates()
        else tidemark.usual_truncates() ~ ' or coalesce((' ~ given ~ '), false)') }}
{%- endmacro -%}

{#- What is a truncate unless a setting says otherwise. -#}
{%- macro usual_truncates() -%}
    {{ return("_operation in ('TRUNCATE', 'TRUNCATE_TABLE')") }}
{%- endmacro -%}
