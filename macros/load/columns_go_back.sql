{#- Bring the tables from the columns that the last commit recorded (`now`) to those of a rollback, once the log has that: see
    recorded_back(). Doing it twice does nothing the second time. Returns whether current is to be built again, as it has other columns. -#}
{%- macro columns_go_back(cfg, relations, now, back) -%}
    {%- set renames = tidemark.renames_back(cfg['entity'], now['columns'], back['columns']) -%}
    {%- set is_remade = tidemark.columns_return(now['columns'], back['columns']) -%}
    {%- if not renames and not is_remade -%}{{ return(false) }}{%- endif -%}
    {%- for name in ['log_table', 'staging', 'sensitive'] + ([] if is_remade else ['current']) if tidemark.relation_exists(relations[name]) -%}
        {%- do tidemark.free_names(relations[name], renames, renames) -%}
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
        {%- do tidemark.rename_stored(relation, prefix ~ old, prefix ~ new) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Take away what a run that died left under the names which columns (`freed`, of all `renames`) are to have again: it has no values. None in
    a table where one of them is there already, as the name that is taken may be another one's. -#}
{%- macro free_names(relation, freed, renames) -%}
    {%- set present = adapter.get_columns_in_relation(relation) | map(attribute='name') | map('lower') | list if freed else [] -%}
    {%- for prefix in ['', '_before_'] -%}
        {%- set taken, begun = [], [] -%}
        {%- for old, new in freed if (prefix ~ new) | lower in present -%}
            {%- do (taken if (prefix ~ old) | lower in present else begun).append(new) -%}
        {%- endfor -%}
        {%- for name in taken if not begun and name | lower not in renames | map('first') | map('lower') -%}
            {%- if not tidemark.has_rows(relation, tidemark.quote_identifier(prefix ~ name) ~ ' is not null') -%}
                {%- do tidemark.drop_stored(relation, prefix ~ name) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Bring the tables from the columns that a commit was to have, see begin_statement(), back to those that are recorded: its run died after it
    had altered them, or half way. What it took away as it had no values is there again. -#}
{%- macro undo_statement(opened, commit) -%}
    {%- set relations, state, recorded = opened['relations'], opened['state'], opened['state']['recorded'] -%}
    {%- set now = adapter.call_function('tidemark.rules.columns_back.columns_meant', recorded['columns'], commit['config']['columns']) -%}
    {%- if now is none -%}{{ return(none) }}{%- endif -%}
    {%- set cfg = tidemark.recorded_cfg(opened['cfg'], recorded) -%}
    {%- set plan = tidemark.recorded_plan(recorded, cfg) -%}
    {%- set is_remade = tidemark.columns_return(now, recorded['columns']) -%}
    {%- set renames = tidemark.renames_back(cfg['entity'], now, recorded['columns']) -%}
    {#- which in a table was put aside before its name went to another column -#}
    {%- set aside = now | selectattr('gone', 'defined') | selectattr('gone') | map(attribute='name') | list -%}
    {%- for name, columns in {
        'log_table': tidemark.log_columns(plan), 'current': tidemark.current_columns(cfg, plan), 'staging': tidemark.staging_columns(cfg, plan),
        'sensitive': tidemark.sensitive_columns(dict(plan, sensitive=plan['sensitive'] + plan['gone_sensitive'])),
    }.items() if tidemark.relation_exists(relations[name]) and not (name == 'current' and is_remade) -%}
        {%- do tidemark.free_names(relations[name], renames | selectattr(0, 'in', aside) | list, renames) -%}
        {%- for old, new in renames -%}{%- do tidemark.rename_in(relations[name], old, new) -%}{%- endfor -%}
        {%- set present = adapter.get_columns_in_relation(relations[name]) | map(attribute='name') | map('lower') | list -%}
        {%- set missing = [] -%}
        {%- for column in columns if column['name'] | lower not in present -%}{%- do missing.append(column) -%}{%- endfor -%}
        {%- do tidemark.add_columns(relations[name], tidemark._nullable(missing)) -%}
    {%- endfor -%}
    {%- if is_remade -%}{%- do tidemark.make_current(cfg, plan, relations) -%}{%- endif -%}
    {%- do tidemark.make_history_view(cfg, plan, relations) -%}
    {%- if is_remade -%}{%- do tidemark.rebuild_current(cfg, plan, state, relations) -%}{%- endif -%}
{%- endmacro -%}
