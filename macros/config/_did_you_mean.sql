{#- What a name that is none may have meant, and other parts of messages about settings. -#}

{#- "; did you mean `extract`?" for the nearest known name, else the list of names. -#}
{%- macro _did_you_mean(name, known) -%}
    {%- if execute and tidemark.can('call_python') -%}
        {{ return(adapter.call_function('tidemark.model.suggestions.did_you_mean', name, known)) }}
    {%- endif -%}
    {{ return('; there are ' ~ known | sort | join(', ')) }}
{%- endmacro -%}

{#- The known name that is most like this one; none where the best shares less than `least` of its letters. -#}
{%- macro _nearest(name, known, least=0.4) -%}
    {{ return(adapter.call_function('tidemark.model.suggestions.nearest', name, known, least)) }}
{%- endmacro -%}

{#- Raise every problem that was found, at once; `holder` has them. -#}
{%- macro _raise_config_errors(entity, errors, holder='the configuration has') -%}
    {%- if errors -%}{%- do adapter.call_function('tidemark.model.problems.raise_problems', entity, errors, holder) -%}{%- endif -%}
{%- endmacro -%}

{#- A length of time such as `30 days`; none keeps everything. -#}
{%- macro _retention(value, name, errors) -%}
    {{ return(adapter.call_function('tidemark.model.given.retention', value, name, errors)) }}
{%- endmacro -%}

{#- Rules about retention that look at more than one setting. -#}
{%- macro _check_retentions(cfg, retentions, errors) -%}
    {%- do errors.extend(adapter.call_function('tidemark.model.logged.retention_problems', cfg, retentions)) -%}
{%- endmacro -%}

{#- What lays out the current table and is no column of it; its fields and the columns that Tidemark adds are left to Spark. -#}
{%- macro misplaced_layout(cfg, present, lacks) -%}
    {{ return(adapter.call_function('tidemark.model.columns.misplaced_layout', cfg, present, lacks)) }}
{%- endmacro -%}
