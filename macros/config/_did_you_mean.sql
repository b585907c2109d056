{#- What a name that is none may have meant, and other parts of messages about settings. -#}

{#- "; did you mean `extract`?" for the nearest known name, else the list of names. -#}
{%- macro _did_you_mean(name, known) -%}
    {%- if execute and tidemark.can('call_python') -%}
        {{ return(adapter.call_function('tidemark.model.suggestions.did_you_mean', name, known)) }}
    {%- endif -%}
    {{ return('; there are ' ~ known | sort | join(', ')) }}
{%- endmacro -%}

{#- Raise every problem that was found, at once; `holder` has them. -#}
{%- macro _raise_config_errors(entity, errors, holder='the configuration has') -%}
    {%- if errors -%}{%- do adapter.call_function('tidemark.model.problems.raise_problems', entity, errors,
        holder) -%}{%- endif -%}
{%- endmacro -%}

{#- A length of time such as `30 days`; none keeps everything. -#}
{%- macro _retention(value, name, errors) -%}
    {{ return(adapter.call_function('tidemark.model.given.retention', value, name, errors)) }}
{%- endmacro -%}
