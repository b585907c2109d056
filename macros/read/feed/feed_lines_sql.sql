{#- The rows of a feed as JSON text: `line` without `_change`, and `change`. -#}
{%- macro feed_lines_sql(query, has_change=true, where=none, limit=none) -%}
select
    {{ tidemark._json_expr('struct(*' ~ (' except (_change)' if has_change else '') ~ ')') }} as line,
    {{ '_change' if has_change else 'cast(null as string)' }} as change
from (
{{ query }}
)
{%- if where is not none %}
where {{ where }}
{%- endif %}
{%- if limit is not none %}
limit {{ limit | int }}
{%- endif %}
{%- endmacro -%}
