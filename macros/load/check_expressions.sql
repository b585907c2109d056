{#- Refuse SQL of the YAML that Spark cannot parse, by its setting: of the statement that it is put into Spark would tell a line. -#}
{%- macro check_expressions(cfg) -%}
    {%- if not tidemark.can('tell_errors') -%}{{ return(none) }}{%- endif -%}
    {%- set given, errors = [], [] -%}
    {%- for expression in cfg.get('sequence_by', []) -%}{%- do given.append(('sequence_by', expression)) -%}{%- endfor -%}
    {%- for name in ['apply_as_deletes', 'apply_as_truncates'] if cfg.get(name) -%}{%- do given.append((name, cfg[name])) -%}{%- endfor -%}
    {%- for column in cfg.get('columns', []) if column.get('settings', {}).get('compare_as') -%}
        {%- do given.append(('column `' ~ column['name'] ~ '`: meta.tidemark.compare_as', column['settings']['compare_as'])) -%}
    {%- endfor -%}
    {%- set problems = adapter.syntax_errors(given | map('last') | list) if given else [] -%}
    {%- for setting, expression in given -%}
        {%- set problem = problems[loop.index0] -%}
        {%- if problem -%}{%- do errors.append(setting ~ ': `' ~ expression | trim ~ '` is no SQL expression: ' ~ problem) -%}{%- endif -%}
    {%- endfor -%}
    {%- do tidemark._raise_config_errors(cfg['entity'], errors) -%}
{%- endmacro -%}
