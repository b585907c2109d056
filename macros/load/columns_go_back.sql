{#- Bring the tables from the columns that the last commit recorded (`now`) to those of a rollback, once the log has that: see
    recorded_back(). Doing it twice does nothing the second time. Returns whether current is to be built again, as it has other columns. -#}
{%- macro columns_go_back(cfg, relations, now, back) -%}
    {%- set renames = tidemark.renames_back(cfg['entity'], now['columns'], back['columns']) -%}
    {%- set is_remade = tidemark.columns_return(now['columns'], back['columns']) -%}
    {%- if not renames and not is_remade -%}{{ return(false) }}{%- endif -%}
    {%- for name in ['log_table', 'staging', 'sensitive'] + ([] if is_remade else ['current']) if tidemark.relation_exists(relations[name]) -%}
        {%- for old, new in renames -%}{%- do tidemark.rename_in(relations[name], old, new) -%}{%- endfor -%}
    {%- endfor -%}
    {%- set plan = tidemark.recorded_plan(back, cfg) -%}
    {%- if is_remade -%}{%- do tidemark.make_current(cfg, plan, relations) -%}{%- endif -%}
    {%- do tidemark.make_history_view(cfg, plan, relations) -%}
    {{ return(is_remade) }}
{%- endmacro -%}

{#- Rename a column of one table, and that of the image before, unless it has the new name. -#}
{%- macro rename_in(relation, old, new) -%}
    {%- set present = adapter.get_columns_in_relation(relation) | map(attribute='name') | map('lower') | list -%}
    {%- for prefix in ['', '_before_'] if (prefix ~ old) | lower in present and (prefix ~ new) | lower not in present -%}
        {%- do run_query('alter table ' ~ relation ~ ' rename column ' ~ tidemark.quote_identifier(prefix ~ old)
            ~ ' to ' ~ tidemark.quote_identifier(prefix ~ new)) -%}
    {%- endfor -%}
{%- endmacro -%}
