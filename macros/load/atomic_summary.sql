{#- The line that dbt prints about a batch. -#}
{%- macro atomic_summary(figures) -%}
    {%- if not figures -%}{{ return('nothing new') }}{%- endif -%}
    {%- set parts = ['stored ' ~ figures['rows_inserted']] -%}
    {%- for label, name in [('duplicate', 'rows_duplicate'), ('rejected', 'rows_rejected')] if figures[name] -%}
        {%- do parts.append(label ~ ' ' ~ figures[name]) -%}
    {%- endfor -%}
    {%- set renamed = figures.get('rows_synthetic_in_batch', 0) + figures.get('rows_synthetic_cross_batch', 0) -%}
    {{ return((parts + (['renamed ' ~ renamed] if renamed else [])) | join(', ')) }}
{%- endmacro -%}
