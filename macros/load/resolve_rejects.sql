{#- Mark the rejects of earlier loads of a date that this one mended. -#}
{%- macro resolve_rejects(cfg, relations, business_date, commit_id) -%}
    {%- set rejects = relations['rejects'] -%}
    {%- if tidemark.has_rows(rejects ~ ' as rejects', tidemark._open_rejects_expr(business_date, commit_id)) -%}
        {%- do run_query(tidemark.resolve_rejects_sql(rejects, business_date, commit_id)) -%}
    {%- endif -%}
{%- endmacro -%}

{#- After a rollback: what the loads that it undid had mended is open again, and what those that hold again had is not. -#}
{%- macro reopen_rejects(cfg, relations, commit, steps) -%}
    {%- if cfg['extract'] == 'events' or not tidemark.has_resolved_by(relations['rejects']) -%}{{ return(none) }}{%- endif -%}
    {%- set undone = steps['undone'] | map(attribute='commit_id') | list -%}
    {%- set condition = '_resolved_by in (' ~ undone | join(', ') ~ ')' -%}
    {%- if undone -%}
        {%- do run_query('update ' ~ relations['rejects'] ~ ' set _resolved_by = null where ' ~ condition) -%}
    {%- endif -%}
    {%- for load in steps['redone'] if load['kind'] == 'load' and load['business_date'] -%}
        {%- do tidemark.resolve_rejects(cfg, relations, load['business_date'], load['commit_id']) -%}
    {%- endfor -%}
{%- endmacro -%}

{%- macro has_resolved_by(rejects) -%}
    {{ return(tidemark.relation_exists(rejects) and '_resolved_by' in tidemark.names_in(rejects)) }}
{%- endmacro -%}

{#- A table of rejects that an earlier version made has no `_resolved_by`. -#}
{%- macro evolve_rejects(rejects) -%}
    {%- if tidemark.relation_exists(rejects) and not tidemark.has_resolved_by(rejects) -%}
        {%- do run_query('alter table ' ~ rejects ~ ' add columns (_resolved_by bigint)') -%}
    {%- endif -%}
{%- endmacro -%}
