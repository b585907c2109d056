{#- Refuse SQL of the YAML that Spark cannot parse, by its setting: of the statement that it is put into Spark would tell a line. -#}
{%- macro check_expressions(cfg) -%}
    {%- if not tidemark.can('parse_expressions') -%}{{ return(none) }}{%- endif -%}
    {%- set given, errors = tidemark.event_expressions(cfg), [] -%}
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

{#- The settings of change events that are expressions of their columns, each with its text. -#}
{%- macro event_expressions(cfg) -%}
    {%- set given = [] -%}
    {%- for expression in cfg.get('sequence_by', []) -%}{%- do given.append(('sequence_by', expression)) -%}{%- endfor -%}
    {%- for name in ['apply_as_deletes', 'apply_as_truncates'] if cfg.get(name) -%}{%- do given.append((name, cfg[name])) -%}{%- endfor -%}
    {{ return(given) }}
{%- endmacro -%}

{#- What is wrong with an expression of the YAML that Spark can parse, by its setting; none if nothing is. `sql` is a query of it, `lacks`
    says what has no column of that name, and `columns` are those that there are. -#}
{%- macro meaning_problem(setting, expression, sql, lacks, columns) -%}
    {%- set refused = adapter.analysis_error(sql) -%}
    {%- if not refused -%}{{ return(none) }}{%- endif -%}
    {%- if refused['column'] -%}
        {{ return(setting ~ ' names column `' ~ refused['column'] ~ '`, which ' ~ lacks ~ tidemark._did_you_mean(refused['column'], columns)) }}
    {%- endif -%}
    {{ return(setting ~ ': `' ~ expression | trim ~ '` is no SQL expression: ' ~ refused['reason']) }}
{%- endmacro -%}
